/*
 * token_wordpiece_fuzz.c - any text through a small WordPiece vocabulary: with any setting of the normaliser, as
 * one of a pair, cut anywhere, with any ranges plain. First bytes: flags, where it is seen up to, two ranges.
 */
#include "token_fuzz.h"
#include "wordpiece.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *const texts[] = {
    "\342\226\201a", "a",        "ab", "\342\226\2011",           "\342\226\201,", "<u>",
    "<ub",           "\xcc\x81", "]a", "\342\226\201\xe4\xb8\x80"};
static const int32_t types[] = {1, 1, 1, 1, 1, 4, 4, 1, 1, 1};

static void need(int condition) {
    if (!condition) { __builtin_trap(); }
}

/* The ids of a text, in memory to free. */
static int32_t *ids_of(const void *tokenizer, tn_encode call, uint64_t *count) {
    call.struct_size = sizeof call;
    call.capacity = call.text_size + call.pair_size + 3;
    call.ids = malloc(call.capacity * sizeof *call.ids);
    call.types = malloc(call.capacity);
    need(tn_wordpiece_encode(NULL, tokenizer, &call, NULL) == TN_OK);
    *count = call.count;
    free(call.types);
    return call.ids;
}

/* Both calls give the same ids; the second may be NULL, or is the rest of what the first two are parts of. */
static void same(const void *tokenizer, tn_encode whole, tn_encode first, const tn_encode *second) {
    uint64_t all_count, first_count, second_count = 0;
    int32_t *all = ids_of(tokenizer, whole, &all_count), *a = ids_of(tokenizer, first, &first_count);
    int32_t *b = second ? ids_of(tokenizer, *second, &second_count) : NULL;
    need(all_count == first_count + second_count && memcmp(all, a, first_count * sizeof *a) == 0);
    need(!second_count || memcmp(all + first_count, b, second_count * sizeof *b) == 0);
    free(all);
    free(a);
    free(b);
}

static void use(const void *tokenizer, const uint8_t head[6], const char *text, uint64_t size) {
    uint32_t flags = head[0] & (TN_ENCODE_ADD | TN_ENCODE_SPECIAL);
    tn_encode call = {.flags = flags, .text = text, .text_size = size};
    uint64_t seen = head[1] < size ? head[1] : size,
             at = tn_wordpiece_cut(NULL, tokenizer, text, seen, flags);
    need(at <= seen);
    tn_encode first = {.flags = flags | TN_ENCODE_MORE, .text = text, .text_size = at};
    tn_encode second = {.flags = flags | TN_ENCODE_CONTINUES, .text = text + at, .text_size = size - at};
    same(tokenizer, call, first, &second);
    first = second = call;
    first.flags &= ~(uint32_t)TN_ENCODE_SPECIAL;
    second.flags |= TN_ENCODE_SPECIAL;
    uint64_t ranges[4] = {0, size, size, size};
    second.plain = ranges;
    second.plain_count = 1 + head[2] % 2;
    same(tokenizer, first, second, NULL);
    for (uint32_t i = 0; i < 4; i++) { ranges[i] = (i ? ranges[i - 1] : 0) + head[2 + i] % 32; }
    second.plain_count = 2;
    second.pair = text;
    second.pair_size = size;
    uint64_t count;
    free(ids_of(tokenizer, second, &count));
}

/* One tokenizer for each setting, kept from text to text: making one takes longer than most texts. */
static struct {
    test_host host;
    test_meta meta;
    void *tokenizer;
} made[4];

static void make(uint32_t i) {
    test_report report;
    test_host_init(&made[i].host);
    test_report_init(&report);
    test_meta_wordpiece(&made[i].meta, sizeof types / sizeof *types, texts, types);
    test_meta_bool(&made[i].meta, "tokenizer.ggml.normalizer.lowercase", i & 1);
    test_meta_bool(&made[i].meta, "tokenizer.ggml.normalizer.strip_accents", i >> 1 & 1);
    need(tn_wordpiece_create(&made[i].host.host, &made[i].meta.meta, &report.report, &made[i].tokenizer,
                             NULL) == TN_OK);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    enum { HEAD = 6 };
    if (size < HEAD) { return 0; }
    uint32_t i = data[0] >> 2 & 3;
    if (!made[i].tokenizer) { make(i); }
    uint64_t before = made[i].host.calls;
    use(made[i].tokenizer, data, (const char *)data + HEAD, size - HEAD);
    fuzz_use(&fuzz_families[2], &made[i].host, made[i].tokenizer, (const char *)data + HEAD, size - HEAD,
             data[0] & 3);
    need(made[i].host.calls == before); /* encoding takes no memory */
    return 0;
}
