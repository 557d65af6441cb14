/*
 * token_cut_test.c - long texts cut where the tokenizer says: the ids of the parts are those of the whole, for every
 * rule set, for published vocabularies and made-up ones with special entries, whatever the text.
 */
#include "token_fixture.h"

#include <criterion/criterion.h>
#include <stdlib.h>

/* What texts are made of: borders of all kinds, words, parts of special entries, bad bytes. */
static const char *const parts[] = {"a",
                                    " ",
                                    "  ",
                                    "\n",
                                    "\n\n",
                                    "\t",
                                    "the",
                                    " house",
                                    "Don't",
                                    "'s",
                                    "12",
                                    "3456",
                                    ".",
                                    ",",
                                    " (",
                                    "/",
                                    "é",
                                    "e\xcc\x81",
                                    "ж",
                                    "слово",
                                    "汉字",
                                    "。",
                                    "か",
                                    "हिन्दी",
                                    "ไทย",
                                    "\xc2\xa0",
                                    "\xe3\x80\x80",
                                    "\xe2\x96\x81",
                                    "\r",
                                    "\xff",
                                    "\xc3",
                                    "\xe2\x82",
                                    "\xf0\x9f",
                                    "<|x|>",
                                    "<|x",
                                    "|>",
                                    "<u>",
                                    "<u",
                                    " <mask>",
                                    "A",
                                    "CamelCase",
                                    " b",
                                    "\nz",
                                    "x\n",
                                    "IMGIMGABZ",
                                    "<sentinel:1>"};

static uint64_t random_text(uint64_t *state, char *out, uint64_t capacity) {
    uint64_t size = 0, wanted = test_random(state) % capacity;
    int plain = test_random(state) % 2;
    while (size < wanted) {
        const char *part = parts[test_random(state) % (sizeof parts / sizeof *parts)];
        if (plain && test_random(state) % 2) { part = test_random(state) % 3 ? "word" : " "; }
        uint64_t length = strlen(part);
        if (size + length > capacity) { break; }
        memcpy(out + size, part, length);
        size += length;
    }
    return size;
}

/* The cut of the first `known` bytes must hold for the whole text. Returns 1 if there was one. */
static int check_cut(const test_tokenizer *t, const char *text, uint64_t size, uint64_t known, uint32_t flags,
                     const char *name) {
    void *self = (void *)&t->host.host;
    uint64_t cut = t->table->cut(self, t->tokenizer, text, known, flags & ~TN_ENCODE_ADD), whole, first, rest;
    cr_assert(cut <= known, "%s", name);
    if (!cut || cut == size) { return 0; }
    int32_t *all = test_encode(t, text, size, flags, &whole);
    int32_t *left = test_encode(t, text, cut, flags | TN_ENCODE_MORE, &first);
    int32_t *right = test_encode(t, text + cut, size - cut, flags | TN_ENCODE_CONTINUES, &rest);
    int same = first + rest == whole && memcmp(all, left, first * sizeof *all) == 0 &&
               memcmp(all + first, right, rest * sizeof *all) == 0;
    cr_expect(same, "%s: \"%.*s\" | \"%.*s\" (%llu of %llu known): %llu + %llu ids, whole %llu", name,
              (int)cut, text, (int)(size - cut), text + cut, (unsigned long long)known,
              (unsigned long long)size, (unsigned long long)first, (unsigned long long)rest,
              (unsigned long long)whole);
    free(all);
    free(left);
    free(right);
    return 1;
}

/* Returns how many texts were cut. */
static int check_texts(const test_tokenizer *t, int rounds, const char *name) {
    uint64_t state = 0x9e3779b97f4a7c15u;
    int found = 0;
    for (int i = 0; i < rounds; i++) {
        char text[160];
        uint64_t size = random_text(&state, text, sizeof text), known = size ? test_random(&state) % size : 0;
        found += check_cut(t, text, size, known, i % 2 ? TN_ENCODE_SPECIAL | TN_ENCODE_ADD : 0, name);
    }
    return found;
}

static void make_bpe(test_meta *m, const char *pre) {
    static const char *const texts[] = {
        "\304\240a", "aa",  "\304\240h", "\304\212z", "\304\212\304\212", "th", "a\304\240",
        "<|x|>",     "<u>", "<mask>",    "z<u>"};
    static const int32_t types[] = {1, 1, 1, 1, 1, 1, 1, 3, 4, 3, 3};
    static const char *const merges[] = {"\304\240 a",        "a a", "\304\240 h", "\304\212 z",
                                         "\304\212 \304\212", "t h", "a \304\240"};
    test_meta_bpe(m, pre, 11, texts, types, 7, merges);
}

/* Rule sets and whether texts of words can be cut. */
static const struct {
    const char *name;
    int cuts;
} sets[] = {{"gpt-2", 1},          {"llama-bpe", 1},   {"jais-2", 1},       {"minicpm5", 1},
            {"qwen2", 1},          {"qwen35", 1},      {"ufakzeka", 1},     {"laguna", 1},
            {"bailingmoe", 1},     {"seed-coder", 1},  {"exaone-moe", 1},   {"gpt-4o", 1},
            {"tekken", 1},         {"tiny_aya", 1},    {"youtu", 1},        {"kimi-k2", 1},
            {"starcoder", 1},      {"falcon", 1},      {"default", 1},      {"deepseek-llm", 1},
            {"deepseek-coder", 1}, {"deepseek-v3", 1}, {"spark2_5", 1},     {"afmoe", 1},
            {"superbpe", 0},       {"bloom", 1},       {"viking", 1},       {"chameleon", 1},
            {"modern-bert", 1},    {"olmo", 1},        {"jina-v2-code", 1}, {"command-r", 1}};

Test(token_cut, every_rule_set) {
    for (size_t i = 0; i < sizeof sets / sizeof *sets; i++) {
        test_meta m;
        test_tokenizer t;
        make_bpe(&m, sets[i].name);
        test_tokenizer_make(&t, "tokenizer.bpe", &m.meta);
        int found = check_texts(&t, 3000, sets[i].name);
        cr_expect(sets[i].cuts ? found > 100 : found == 0, "%s: %d texts were cut", sets[i].name, found);
        test_tokenizer_close(&t);
        test_meta_free(&m);
    }
}

Test(token_cut, raw_rule_sets) {
    static const char *const texts[] = {"a",
                                        "th",
                                        "t",
                                        "h",
                                        "\xe2\x96\x81",
                                        "\xe2\x96\x81h",
                                        "a\xe2\x96\x81",
                                        "\n",
                                        "\n\n",
                                        "<|x|>",
                                        "<u>",
                                        "o\xe2\x96\x81h",
                                        "o"};
    static const int32_t types[] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 3, 4, 1, 1};
    static const char *const merges[] = {"t h", "\xe2\x96\x81 h", "a \xe2\x96\x81", "o \xe2\x96\x81h"};
    static const char *const pres[] = {"gemma4", "sarvam-moe", "mmbert", "granite-embed-multi-311m",
                                       "whitespace"};
    for (size_t i = 0; i < sizeof pres / sizeof *pres; i++) {
        test_meta m;
        test_tokenizer t;
        test_meta_utf8(&m, pres[i], 13, texts, types, 4, merges);
        test_tokenizer_make(&t, "tokenizer.bpe", &m.meta);
        int found = check_texts(&t, 3000, pres[i]);
        cr_expect(i == 4 || found > 100, "%s: %d texts were cut", pres[i], found);
        test_tokenizer_close(&t);
        test_meta_free(&m);
    }
}

Test(token_cut, spm) {
    static const char *const texts[] = {
        "\xe2\x96\x81", "a", "aa", "th", "\xe2\x96\x81h", "<|x|>", "<u>", " <", "e\xe2\x96\x81", "x\n"};
    static const int32_t types[] = {1, 1, 1, 1, 1, 3, 4, 4, 1, 1};
    static const float scores[] = {-9, -8, -1, -2, -3, 0, 0, 0, -4, -5};
    static const char *const names[] = {"made up", "phi-3-mini"};
    for (int i = 0; i < 4; i++) {
        test_meta m;
        test_tokenizer t;
        test_meta_spm(&m, 10, texts, types, scores);
        test_meta_string(&m, "general.name", names[i % 2]);
        test_meta_bool(&m, "tokenizer.ggml.add_space_prefix", i < 2);
        test_tokenizer_make(&t, "tokenizer.spm", &m.meta);
        int found = check_texts(&t, 20000, "spm");
        cr_expect(found > 1000, "%d texts were cut", found);
        test_tokenizer_close(&t);
        test_meta_free(&m);
    }
}

/* Rounds are few where a vocabulary is large. */
Test(token_cut, published_vocabularies, .timeout = 60) {
    static const char *const names[] = {"ggml-vocab-llama-bpe", "vocab-smollm2",       "ggml-vocab-gpt-2",
                                        "ggml-vocab-qwen2",     "ggml-vocab-falcon",   "ggml-vocab-starcoder",
                                        "ggml-vocab-mpt",       "ggml-vocab-gpt-neox", "ggml-vocab-llama-spm",
                                        "ggml-vocab-phi-3",     "ggml-vocab-bert-bge"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char path[4096], name[256];
        snprintf(name, sizeof name, "tokenizer/vocabs/%s.gguf", names[i]);
        if (!test_path("TENON_TEST_SHARED", name, path, sizeof path)) { cr_skip_test("no %s", name); }
        test_tokenizer t;
        test_tokenizer_open(&t, path);
        int found = check_texts(&t, 5000, names[i]);
        cr_expect(found > 500, "%s: %d texts were cut", names[i], found);
        test_tokenizer_close(&t);
    }
}
