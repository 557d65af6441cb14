/*
 * bpe_encode.c - text to ids: made well-formed, cut at special entries, composed where the rules ask for it,
 * cut into words, each word merged.
 */
#include "bpe.h"
#include "token_ids.h"
#include "token_merge.h"
#include "token_utf8.h"
#include "unicode_nfc.h"

/* One call of encode. */
typedef struct encoder {
    const tn_bpe *bpe;
    tn_encode *call;
    tn_word word;
    tn_scratch clean;
    tn_nfc_room nfc;
} encoder;

static tn_pair pair_of(const void *family, uint32_t left, uint32_t right, const unsigned char *text,
                       uint32_t size) {
    (void)text, (void)size;
    const tn_merge_slot *slot = tn_bpe_merge_slot(family, left, right);
    return slot->left_1 ? (tn_pair){slot->rank, slot->product} : (tn_pair){TN_RANK_NONE, 0};
}

/* A symbol that is no entry is written byte by byte; a byte that has none is dropped. */
static void add_symbol(encoder *e, uint32_t symbol, const unsigned char *text, uint32_t size) {
    uint32_t count = e->bpe->vocabulary.facts.size;
    if (symbol < count) {
        tn_ids_add(e->call, (int32_t)symbol);
        return;
    }
    for (uint32_t i = 0; i < size; i++) {
        uint32_t byte = e->bpe->byte_symbols[text[i]];
        if (byte < count) { tn_ids_add(e->call, (int32_t)byte); }
    }
}

static int32_t encode_word(encoder *e, const unsigned char *text, uint64_t size, tn_error *err) {
    tn_word *word = &e->word;
    if (e->bpe->rules->flags & TN_RULES_WHOLE) {
        uint32_t id = tn_words_find(&e->bpe->vocabulary.words, text, size);
        if (id != TN_WORD_NONE) { return tn_ids_add(e->call, (int32_t)id), TN_OK; }
    }
    if (size >= UINT32_MAX) {
        TN_FAIL(err, TN_E_INPUT, "a word of %llu bytes; at most 4294967294", (unsigned long long)size);
    }
    uint32_t count = (uint32_t)size;
    if (tn_word_reserve(word, count) != TN_OK) {
        TN_FAIL(err, TN_E_MEMORY, "no memory for a word of %u bytes", count);
    }
    word->text = text;
    word->count = count;
    for (uint32_t i = 0; i < count; i++) {
        word->start[i] = i;
        word->symbol[i] = e->bpe->byte_symbols[text[i]];
    }
    word->start[count] = count;
    tn_word_merge(word, pair_of, e->bpe);
    for (uint32_t i = 0; i < word->count; i++) {
        add_symbol(e, word->symbol[i], text + word->start[i], word->start[i + 1] - word->start[i]);
    }
    return TN_OK;
}

static int32_t encode_stretch(encoder *e, const unsigned char *text, uint64_t size, tn_error *err) {
    if ((e->bpe->rules->flags & TN_RULES_NFC) && tn_nfc(&e->nfc, &text, &size) != TN_OK) {
        TN_FAIL(err, TN_E_MEMORY, "no memory to compose a text of %llu bytes", (unsigned long long)size);
    }
    tn_cutter cutter;
    const unsigned char *begin = NULL, *end;
    tn_cutter_begin(&cutter, e->bpe->rules, text, size);
    while ((end = tn_cutter_next(&cutter, &begin))) {
        TN_TRY(encode_word(e, begin, (uint64_t)(end - begin), err));
    }
    return TN_OK;
}

/* Copies a text so that each byte which is not part of a well-formed character is U+FFFD. */
static int32_t make_well_formed(encoder *e, const unsigned char **text, uint64_t *size) {
    uint64_t sound = tn_utf8_sound(*text, *size);
    if (sound == *size) { return TN_OK; }
    unsigned char *out = tn_scratch_get(&e->clean, *size, 3);
    if (!out) { return TN_E_MEMORY; }
    uint64_t count = 0;
    for (uint64_t at = 0; at < *size;) {
        sound = tn_utf8_sound(*text + at, *size - at);
        memcpy(out + count, *text + at, sound);
        count += sound;
        at += sound;
        if (at < *size) {
            count += tn_utf8_write(out + count, 0xfffd);
            at++;
        }
    }
    *text = out;
    *size = count;
    return TN_OK;
}

static int32_t encode_text(encoder *e, tn_error *err) {
    const unsigned char *text = (const unsigned char *)e->call->text;
    uint64_t size = e->call->text_size;
    if (make_well_formed(e, &text, &size) != TN_OK) {
        TN_FAIL(err, TN_E_MEMORY, "no memory for a text of %llu bytes", (unsigned long long)size);
    }
    for (uint64_t at = 0; at < size;) {
        tn_stretch stretch = tn_specials_next(&e->bpe->vocabulary.specials, text, size, at,
                                              (e->call->flags & TN_ENCODE_SPECIAL) != 0);
        TN_TRY(encode_stretch(e, text + stretch.begin, stretch.end - stretch.begin, err));
        if (stretch.id >= 0) { tn_ids_add(e->call, stretch.id); }
        at = stretch.next;
    }
    return TN_OK;
}

int32_t tn_bpe_encode(void *self, const void *tokenizer, tn_encode *call, tn_error *err) {
    const tn_host *host = self;
    const tn_bpe *bpe = tokenizer;
    TN_TRY(tn_bpe_make_merges((tn_bpe *)(uintptr_t)tokenizer, err)); /* its lock makes it const to callers */
    encoder e = {.bpe = bpe, .call = call, .word.scratch.host = host, .clean.host = host};
    e.nfc.characters.host = e.nfc.sorted.host = e.nfc.text.host = host;
    tn_ids_begin(call, &bpe->vocabulary.facts);
    int32_t code = encode_text(&e, err);
    tn_scratch_free(&e.word.scratch);
    tn_scratch_free(&e.clean);
    tn_nfc_free(&e.nfc);
    return code == TN_OK ? tn_ids_end(call, &bpe->vocabulary.facts, err) : code;
}
