/*
 * token_plain_test.c - plain ranges (tn_encode.plain): no control token touches a plain byte, whatever the text and
 * the ranges; entries that are always cut out are; a text whose plain parts hold no special text is read as without
 * ranges.
 */
#include "token_fixture.h"

#include <criterion/criterion.h>
#include <stdlib.h>

enum { ROUNDS = 20000, SIZE = 64, RANGES = 8 };

static const char *const families[] = {"tokenizer.bpe", "tokenizer.spm", "tokenizer.wordpiece"};

static void make(test_meta *m, int family) {
    static const char *const texts[] = {"<|x|>", "<|", "|>", "<|x|><", "<u>", "<u", "x", "a"};
    static const int32_t types[] = {3, 3, 2, 3, 4, 4, 1, 1};
    static const float scores[8] = {0};
    if (family == 0) {
        test_meta_bpe(m, "llama-bpe", 6, texts, types, 0, NULL);
    } else if (family == 1) {
        test_meta_spm(m, 8, texts, types, scores);
    } else {
        test_meta_wordpiece(m, 8, texts, types);
    }
}

static uint64_t random_text(uint64_t *state, char *out, const char *const *parts, uint64_t count) {
    uint64_t size = 0, wanted = test_random(state) % SIZE;
    while (size < wanted) {
        const char *part = parts[test_random(state) % count];
        for (; *part && size < SIZE; part++) { out[size++] = *part; }
    }
    return size;
}

static uint64_t random_ranges(uint64_t *state, uint64_t size, uint64_t *ranges) {
    uint64_t count = 0, at = 0;
    while (count < RANGES && at <= size) {
        uint64_t begin = at + test_random(state) % 12, end = begin + test_random(state) % 12;
        if (end > size) { break; }
        ranges[2 * count] = begin;
        ranges[2 * count++ + 1] = end;
        at = end;
    }
    return count;
}

static uint64_t encode(const test_tokenizer *t, const char *text, uint64_t size, const uint64_t *plain,
                       uint64_t count, int32_t *ids) {
    tn_error err = TN_ERROR_INIT;
    tn_encode call = {.struct_size = sizeof call,
                      .flags = TN_ENCODE_SPECIAL,
                      .text = text,
                      .text_size = size,
                      .ids = ids,
                      .capacity = 3 * SIZE + 4,
                      .plain = plain,
                      .plain_count = count};
    int32_t code = t->table->encode((void *)&t->host.host, t->tokenizer, &call, &err);
    cr_assert_eq(code, TN_OK, "%s", err.text);
    return call.count;
}

/* The partition by its definition: at each place the longest entry that counts there. Returns how many entries were
 * cut out, their texts' numbers in `found`. */
static uint64_t partition(const char *text, uint64_t size, const uint64_t *plain, uint64_t count,
                          int *found) {
    static const char *const entries[] = {"<|x|>", "<|", "|>", "<|x|><", "<u>", "<u"};
    uint64_t cut = 0;
    for (uint64_t at = 0; at < size;) {
        int best = -1;
        for (int i = 0; i < 6; i++) {
            uint64_t length = strlen(entries[i]);
            int counts = length <= size - at && memcmp(text + at, entries[i], length) == 0;
            for (uint64_t k = 0; k < count && i < 4; k++) {
                for (uint64_t b = plain[2 * k]; b < plain[2 * k + 1]; b++) {
                    counts = counts && !(b >= at && b < at + length);
                }
            }
            if (counts && (best < 0 || length > strlen(entries[best]))) { best = i; }
        }
        if (best >= 0) { found[cut++] = best; }
        at += best >= 0 ? strlen(entries[best]) : 1;
    }
    return cut;
}

Test(token_plain, no_control_token_touches_a_plain_byte) {
    static const char *const parts[] = {"<|x|>", "<|", "|>",   "<u>",      "<", "x",
                                        "u",     " ",  "\xff", "\xc3\xa9", "a"};
    static const int32_t first[] = {256, 259, 5};
    for (int family = 0; family < 3; family++) {
        test_meta m;
        test_tokenizer t;
        uint64_t state = 123456789;
        make(&m, family);
        test_tokenizer_make(&t, families[family], &m.meta);
        for (int i = 0; i < ROUNDS; i++) {
            char text[SIZE];
            uint64_t ranges[2 * RANGES], size = random_text(&state, text, parts, 11);
            uint64_t count = random_ranges(&state, size, ranges), cut = 0;
            int32_t ids[3 * SIZE + 4];
            int found[SIZE];
            uint64_t wanted = partition(text, size, ranges, count, found);
            uint64_t all = encode(&t, text, size, ranges, count, ids);
            for (uint64_t k = 0; k < all; k++) {
                int32_t entry = ids[k] - first[family];
                if (entry < 0 || entry >= 6) { continue; }
                cr_assert(cut < wanted && found[cut] == entry,
                          "family %d: \"%.*s\" with %llu ranges: entry %d", family, (int)size, text,
                          (unsigned long long)count, entry);
                cut++;
            }
            cr_assert_eq(cut, wanted, "family %d: \"%.*s\": %llu entries, wanted %llu", family, (int)size,
                         text, (unsigned long long)cut, (unsigned long long)wanted);
        }
        test_tokenizer_close(&t);
        test_meta_free(&m);
    }
}

/* Plain parts of ordinary text, control tokens between them. */
Test(token_plain, honest_text_is_read_the_same) {
    static const char *const words[] = {"the", " ", "x", "a", "\n", "\xc3\xa9", "\xff", ".", "u", "12"};
    for (int family = 0; family < 3; family++) {
        test_meta m;
        test_tokenizer t;
        uint64_t state = 987654321;
        make(&m, family);
        test_tokenizer_make(&t, families[family], &m.meta);
        for (int i = 0; i < ROUNDS / 4; i++) {
            char text[SIZE];
            uint64_t ranges[2], size = 5;
            int32_t with[3 * SIZE + 4], without[3 * SIZE + 4];
            memcpy(text, "<|x|>", 5);
            ranges[0] = 5;
            for (uint64_t wanted = test_random(&state) % 48; size < wanted;) {
                const char *word = words[test_random(&state) % 10];
                memcpy(text + size, word, strlen(word));
                size += strlen(word);
            }
            ranges[1] = size;
            memcpy(text + size, " <|x|>", 6);
            size += 6;
            uint64_t a = encode(&t, text, size, ranges, 1, with),
                     b = encode(&t, text, size, NULL, 0, without);
            cr_assert(a == b && memcmp(with, without, a * sizeof *with) == 0, "family %d: \"%.*s\"", family,
                      (int)size, text);
        }
        test_tokenizer_close(&t);
        test_meta_free(&m);
    }
}

/* White space that an entry takes along may be plain: so the reference reads it. */
Test(token_plain, stripping_reaches_into_plain_text) {
    static const char *const texts[] = {"<|x|>", "\xe2\x96\x81", "a"};
    static const int32_t types[] = {3, 1, 1};
    static const float scores[] = {0, -1, -2};
    const uint64_t plain[] = {5, 8};
    test_meta m;
    test_tokenizer t;
    test_meta_spm(&m, 3, texts, types, scores);
    test_meta_string(&m, "general.name", "phi-3");
    test_tokenizer_make(&t, "tokenizer.spm", &m.meta);
    int32_t a[3 * SIZE + 4], b[3 * SIZE + 4];
    uint64_t n = encode(&t, "<|x|>  a", 8, plain, 1, a), k = encode(&t, "<|x|>  a", 8, NULL, 0, b);
    cr_expect(n == k && memcmp(a, b, n * sizeof *a) == 0);
    cr_expect_eq(a[0], 259);
    test_tokenizer_close(&t);
    test_meta_free(&m);
}
