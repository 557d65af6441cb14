/*
 * token_property_test.c - what holds for every text: what encode promises to keep comes back, any bytes are
 * taken, and a megabyte of anything is done quickly (the test's own time limit is the only judge of that).
 */
#include "token_fixture.h"

#include <criterion/criterion.h>
#include <stdlib.h>

enum { BPE, SPM, WORDPIECE, FAMILIES };
static const char *const ids_of[] = {"tokenizer.bpe", "tokenizer.spm", "tokenizer.wordpiece"};

static void make_small(test_meta *m, int family) {
    static const char *const bpe_texts[] = {"\304\240a",        "aa",    "aaaa", "11", "\xcc\x81",
                                            "\xc4\xa0\xc4\xa0", "<|x|>", "<u>"};
    static const int32_t bpe_types[] = {1, 1, 1, 1, 1, 1, 3, 4};
    static const char *const merges[] = {"\xc4\xa0 a", "a a", "aa aa", "1 1", "\xc4\xa0 \xc4\xa0"};
    static const char *const spm_texts[] = {
        "\xe2\x96\x81", "a", "aa", "aaaa", "\342\226\201a", "\xe2\x96\x81\xe2\x96\x81", "11", "1"};
    static const int32_t spm_types[] = {1, 1, 1, 1, 1, 1, 1, 1};
    static const float scores[] = {-9, -8, -1, -2, -3, -4, -5, -9};
    static const char *const wordpiece_texts[] = {"\342\226\201a", "a", "aa", "\342\226\2011", "1", "<u>"};
    static const int32_t wordpiece_types[] = {1, 1, 1, 1, 1, 4};
    if (family == WORDPIECE) {
        test_meta_wordpiece(m, 6, wordpiece_texts, wordpiece_types);
    } else if (family == SPM) {
        test_meta_spm(m, 8, spm_texts, spm_types, scores);
    } else {
        test_meta_bpe(m, "llama-bpe", 8, bpe_texts, bpe_types, 5, merges);
    }
}

static void comes_back(const test_tokenizer *t, const char *text, uint64_t size) {
    uint64_t count, back_size;
    int32_t *ids = test_encode(t, text, size, 0, &count);
    char *back = test_decode(t, ids, count, 0, &back_size);
    cr_expect(count <= 3 * size + 4, "%llu ids for %llu bytes", (unsigned long long)count,
              (unsigned long long)size);
    cr_expect(back_size == size && memcmp(back, text, size) == 0, "\"%.*s\" came back as \"%s\"", (int)size,
              text, back);
    free(back);
    free(ids);
}

static uint32_t exactness(const test_tokenizer *t) {
    tn_vocab facts = {.struct_size = sizeof facts};
    t->table->vocab((void *)&t->host.host, t->tokenizer, &facts);
    return facts.exact;
}

static void check_exact(const test_tokenizer *t, int rounds) {
    uint64_t state = 0x9e3779b97f4a7c15u;
    for (int i = 0; i < rounds; i++) {
        char text[512];
        uint64_t size = test_random_text(&state, text, sizeof text);
        if (!memmem(text, size, "\xe2\x96\x81", 3)) { comes_back(t, text, size); }
    }
}

Test(token_property, text_comes_back) {
    for (int family = 0; family < WORDPIECE; family++) {
        test_meta m;
        test_tokenizer t;
        make_small(&m, family);
        test_tokenizer_make(&t, ids_of[family], &m.meta);
        cr_assert_eq(exactness(&t), 1);
        check_exact(&t, 20000);
        test_tokenizer_close(&t);
        test_meta_free(&m);
    }
}

/* A vocabulary says itself whether it is exact; qwen2 composes, falcon has no entry for byte 0x0B. */
Test(token_property, published_vocabularies_come_back) {
    static const struct {
        const char *name;
        uint32_t exact;
    } files[] = {{"ggml-vocab-llama-bpe", 1}, {"vocab-smollm2", 0},     {"ggml-vocab-gpt-2", 1},
                 {"ggml-vocab-qwen2", 0},     {"ggml-vocab-falcon", 0}, {"ggml-vocab-llama-spm", 1},
                 {"ggml-vocab-bert-bge", 0}};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        char path[4096], name[256];
        snprintf(name, sizeof name, "tokenizer/vocabs/%s.gguf", files[i].name);
        if (!test_path("TENON_TEST_SHARED", name, path, sizeof path)) { cr_skip_test("no %s", name); }
        test_tokenizer t;
        test_tokenizer_open(&t, path);
        uint32_t exact = exactness(&t);
        cr_expect_eq(exact, files[i].exact, "%s: exact %u, wanted %u", files[i].name, exact, files[i].exact);
        if (exact) { check_exact(&t, 3000); }
        test_tokenizer_close(&t);
    }
}

/* Any bytes with any flags: no crash, no id outside, and the pieces are what decode puts together. */
Test(token_property, any_bytes) {
    for (int family = 0; family < FAMILIES; family++) {
        test_meta m;
        test_tokenizer t;
        uint64_t state = 123456789;
        make_small(&m, family);
        test_tokenizer_make(&t, ids_of[family], &m.meta);
        for (int i = 0; i < 20000; i++) {
            char text[64];
            uint64_t size = test_random(&state) % 64, count, decoded;
            for (uint64_t k = 0; k < size; k++) {
                uint64_t r = test_random(&state);
                text[k] = r & 0x300 ? (char)r : "a 1<|x|>u[CLS]"[(r >> 16) % 14];
            }
            int32_t *ids = test_encode(&t, text, size, (uint32_t)(i % 4), &count);
            cr_assert(count <= 3 * size + 4);
            char *whole = test_decode(&t, ids, count, 0, &decoded);
            uint64_t at = 0, leading = count ? t.table->leading(&t.host.host, t.tokenizer, ids[0]) : 0;
            for (uint64_t k = 0; k < count; k++) {
                char piece[64];
                int64_t n = t.table->piece(&t.host.host, t.tokenizer, ids[k], 0, piece, sizeof piece);
                uint64_t drop = k == 0 ? leading : 0;
                cr_assert(n >= 0 && at + (uint64_t)n - drop <= decoded &&
                          memcmp(whole + at, piece + drop, (uint64_t)n - drop) == 0);
                at += (uint64_t)n - drop;
            }
            cr_assert_eq(at, decoded);
            free(whole);
            free(ids);
        }
        test_tokenizer_close(&t);
        test_meta_free(&m);
    }
}

/* Sanitizers make all of it some thirty times as slow; what is not linear in the size takes minutes at either. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { LONG = 200000 };
#else
enum { LONG = 1000000 };
#endif

/* A malloc'd text of a pattern. */
static char *repeat(const char *pattern, uint64_t size) {
    char *text = malloc(size);
    uint64_t length = strlen(pattern);
    for (uint64_t i = 0; i < size; i += length) { memcpy(text + i, pattern, length); }
    return text;
}

static void check_long_texts(const test_tokenizer *t, uint64_t wanted_size) {
    static const char *const patterns[] = {"a", " ", "1",         "\xcc\x81", "\xff", "\n",
                                           "'", "<", "\327\220A", " \n",      "ab"};
    for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++) {
        uint64_t size = wanted_size - wanted_size % strlen(patterns[i]), count, back_size;
        char *text = repeat(patterns[i], size);
        int32_t *ids = test_encode(t, text, size, TN_ENCODE_SPECIAL, &count);
        char *back = test_decode(t, ids, count, 0, &back_size);
        int same = back_size == size && memcmp(back, text, size) == 0;
        cr_expect(same || !exactness(t) || patterns[i][0] == '\xff', "a long text of \"%s\"", patterns[i]);
        free(back);
        free(ids);
        free(text);
    }
}

Test(token_property, megabytes_of_one_thing) {
    for (int family = 0; family < FAMILIES; family++) {
        test_meta m;
        test_tokenizer t;
        make_small(&m, family);
        test_tokenizer_make(&t, ids_of[family], &m.meta);
        check_long_texts(&t, LONG);
        test_tokenizer_close(&t);
        test_meta_free(&m);
    }
}

Test(token_property, long_texts_in_every_rule_set) {
    static const char *const pres[] = {
        "gemma4",     "mmbert",     "whitespace",   "gpt-2",          "qwen2",       "gpt-4o",
        "starcoder",  "falcon",     "jais-2",       "minicpm5",       "qwen35",      "laguna",
        "exaone-moe", "tekken",     "tiny_aya",     "youtu",          "kimi-k2",     "default",
        "bloom",      "seed-coder", "deepseek-llm", "deepseek-coder", "deepseek-v3", "spark2_5",
        "afmoe",      "superbpe",   "viking",       "chameleon",      "mpt"};
    static const char *const texts[] = {"\342\226\201", "a", "\342\226\201a"};
    static const char *const merges[] = {"\342\226\201 a"};
    static const int32_t types[] = {1, 1, 1};
    enum { UTF8 = 3 };
    for (size_t i = 0; i < sizeof pres / sizeof *pres; i++) {
        test_meta m;
        test_tokenizer t;
        if (i < UTF8) {
            test_meta_utf8(&m, pres[i], 3, texts, types, 1, merges);
        } else {
            make_small(&m, BPE);
            test_meta_string(&m, "tokenizer.ggml.pre", pres[i]);
        }
        test_tokenizer_make(&t, "tokenizer.bpe", &m.meta);
        check_long_texts(&t, 20000);
        test_tokenizer_close(&t);
        test_meta_free(&m);
    }
}

/* Short words scan, long ones use a heap; both must give the same, around the border and far from it. */
Test(token_property, short_and_long_words_agree) {
    test_meta m;
    test_tokenizer t;
    make_small(&m, BPE);
    test_tokenizer_make(&t, "tokenizer.bpe", &m.meta);
    for (uint64_t length = 1; length < 200; length++) {
        char *text = repeat("a", length);
        uint64_t count, fours = length / 4, twos = length % 4 / 2, ones = length % 2;
        int32_t *ids = test_encode(&t, text, length, 0, &count);
        cr_expect_eq(count, fours + twos + ones, "%llu letters: %llu ids", (unsigned long long)length,
                     (unsigned long long)count);
        cr_expect(!fours || ids[0] == 258);
        cr_expect(!ones || ids[count - 1] == 'a');
        free(ids);
        free(text);
    }
    test_tokenizer_close(&t);
    test_meta_free(&m);
}
