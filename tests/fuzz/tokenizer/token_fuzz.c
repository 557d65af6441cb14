/*
 * token_fuzz.c - see token_fuzz.h.
 */
#include "token_fuzz.h"

#include "bpe.h"
#include "spm.h"
#include "token_utf8.h"
#include "wordpiece.h"

#include <stdlib.h>

const fuzz_family fuzz_families[3] = {
    {tn_bpe_create, tn_bpe_destroy, tn_bpe_encode, tn_bpe_cut},
    {tn_spm_create, tn_spm_destroy, tn_spm_encode, tn_spm_cut},
    {tn_wordpiece_create, tn_wordpiece_destroy, tn_wordpiece_encode, tn_wordpiece_cut}};

static void need(int condition, const char *what) {
    if (!condition) {
        fprintf(stderr, "broken promise: %s\n", what);
        abort();
    }
}

/* Every id is inside, and decode() is the pieces one after another without the leading byte. */
static void check_pieces(const void *tokenizer, const int32_t *ids, uint64_t count, const char *text,
                         uint64_t size) {
    uint64_t at = 0, drop = count ? tn_vocabulary_leading(NULL, tokenizer, ids[0]) : 0;
    for (uint64_t i = 0; i < count; i++, drop = 0) {
        char piece[4096];
        int64_t n = tn_vocabulary_read(NULL, tokenizer, ids[i], 0, piece, sizeof piece);
        need(n >= 0 && tn_vocabulary_kind(NULL, tokenizer, ids[i]) != 0, "ids are inside the vocabulary");
        uint64_t length = (uint64_t)n - drop, seen = length < sizeof piece - 1 ? length : sizeof piece - 1;
        need(at + length <= size && memcmp(text + at, piece + drop, seen) == 0, "decode gives the pieces");
        at += length;
    }
    need(at == size, "decode gives all pieces");
}

/* A text cut where its first half says has the ids of its parts. */
static void check_cut(const fuzz_family *family, test_host *host, const void *tokenizer,
                      const tn_encode *whole) {
    uint64_t cut = family->cut(&host->host, tokenizer, whole->text, whole->text_size / 2,
                               whole->flags & TN_ENCODE_SPECIAL);
    need(cut <= whole->text_size / 2, "a cut lies inside the text");
    if (!cut) { return; }
    int32_t *ids = malloc(whole->capacity * sizeof *ids);
    tn_encode left = *whole, right = *whole;
    left.ids = ids;
    left.text_size = cut;
    left.flags |= TN_ENCODE_MORE;
    need(family->encode(&host->host, tokenizer, &left, NULL) == TN_OK, "the first part is encoded");
    right.ids = ids + left.count;
    right.capacity -= left.count;
    right.text += cut;
    right.text_size -= cut;
    right.flags |= TN_ENCODE_CONTINUES;
    need(family->encode(&host->host, tokenizer, &right, NULL) == TN_OK, "the rest is encoded");
    need(left.count + right.count == whole->count && memcmp(ids, whole->ids, whole->count * sizeof *ids) == 0,
         "the parts have the ids of the whole");
    free(ids);
}

void fuzz_use(const fuzz_family *family, test_host *host, const void *tokenizer, const char *text,
              uint64_t size, uint32_t flags) {
    tn_vocab facts = {.struct_size = sizeof facts};
    tn_vocabulary_facts(NULL, tokenizer, &facts);
    tn_encode call = {.struct_size = sizeof call, .flags = flags, .text = text, .text_size = size};
    call.capacity = 3 * size + 4;
    call.ids = malloc(call.capacity * sizeof *call.ids);
    need(family->encode(&host->host, tokenizer, &call, NULL) == TN_OK, "3 size + 4 ids are enough");
    check_cut(family, host, tokenizer, &call);
    uint64_t decoded = 0;
    tn_vocabulary_decode(NULL, tokenizer, call.ids, call.count, 0, NULL, 0, &decoded, NULL);
    char *back = malloc(decoded + 1);
    need(tn_vocabulary_decode(NULL, tokenizer, call.ids, call.count, 0, back, decoded, &decoded, NULL) ==
             TN_OK,
         "decode says how much room it needs");
    check_pieces(tokenizer, call.ids, call.count, back, decoded);
    if (facts.exact && flags == 0 && tn_utf8_sound((const unsigned char *)text, size) == size &&
        !(facts.exact_except[0] && memmem(text, size, "\xe2\x96\x81", 3))) {
        need(decoded == size && memcmp(back, text, size) == 0, "decode(encode(text)) is the text");
    }
    free(back);
    free(call.ids);
}
