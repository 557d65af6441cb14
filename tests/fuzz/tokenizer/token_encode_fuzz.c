/*
 * token_encode_fuzz.c - any text through small vocabularies, under every rule set. First byte: rule set; second:
 * flags; the rest is the text.
 */
#include "token_fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* One name of each set; the first four are of UTF-8 as it stands, the empty one is the other family. */
static const char *const pres[] = {
    "gemma4",       "sarvam-moe",     "mmbert",      "whitespace", "gpt-2",      "llama-bpe",
    "qwen2",        "gpt-4o",         "starcoder",   "falcon",     "jina-v2-de", "",
    "jais-2",       "minicpm5",       "qwen35",      "ufakzeka",   "laguna",     "seed-coder",
    "exaone-moe",   "tekken",         "tiny_aya",    "youtu",      "kimi-k2",    "default",
    "deepseek-llm", "deepseek-coder", "deepseek-v3", "spark2_5",   "afmoe",      "superbpe",
    "bloom",        "viking",         "chameleon",   "mpt"};
enum { RAW = 4 };
static const char *const bpe_texts[] = {"\304\240a", "aa",    "aaaa", "11", "ab",
                                        "abc",       "<|x|>", "<u>",  "  ", "<mask>"};
static const int32_t bpe_types[] = {1, 1, 1, 1, 1, 1, 3, 4, 4, 3};
static const char *const merges[] = {"\xc4\xa0 a", "a a", "aa aa", "1 1", "a b", "ab c", "x y", "xy z"};
static const char *const raw_texts[] = {"\xe2\x96\x81", "a",    "\342\226\201a", "aa",
                                        "\n",           "\n\n", "a\342\226\201", "<u>"};
static const int32_t raw_types[] = {1, 1, 1, 1, 1, 1, 1, 4};
static const char *const raw_merges[] = {"\xe2\x96\x81 a", "a a", "a \xe2\x96\x81",
                                         "\xe2\x96\x81 \xe2\x96\x81"};
static const char *const spm_texts[] = {"\xe2\x96\x81", "a", "aa", "aaaa", "\342\226\201a", "b", "ab", "<u>"};
static const int32_t spm_types[] = {1, 1, 1, 1, 1, 1, 1, 4};
static const float scores[] = {-9, -8, -1, -2, -3, -4, -5, 0};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size < 2) { return 0; }
    uint32_t number = data[0] % (sizeof pres / sizeof *pres);
    const char *pre = pres[number];
    const fuzz_family *family = &fuzz_families[*pre == 0];
    test_host host;
    test_meta meta;
    test_report report;
    void *tokenizer = NULL;
    test_host_init(&host);
    test_report_init(&report);
    if (number < RAW) {
        test_meta_utf8(&meta, pre, 8, raw_texts, raw_types, 4, raw_merges);
        test_meta_bool(&meta, "tokenizer.ggml.normalizer.lowercase", data[1] >> 5 & 1);
    } else if (*pre) {
        test_meta_bpe(&meta, pre, 10, bpe_texts, bpe_types, 8, merges);
    } else {
        test_meta_spm(&meta, 8, spm_texts, spm_types, scores);
        test_meta_bool(&meta, "tokenizer.ggml.add_space_prefix", data[1] >> 5 & 1);
    }
    if (strcmp(pre, "kimi-k2") == 0) { test_meta_remove(&meta, "tokenizer.ggml.merges"); }
    if (family->create(&host.host, &meta.meta, &report.report, &tokenizer, NULL) != TN_OK) {
        __builtin_trap();
    }
    fuzz_use(family, &host, tokenizer, (const char *)data + 2, size - 2, data[1] >> 3 & 3);
    family->destroy(&host.host, tokenizer);
    if (host.out) { __builtin_trap(); }
    test_meta_free(&meta);
    return 0;
}
