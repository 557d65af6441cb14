/*
 * token_encode_fuzz.c - any text through small vocabularies. First byte: rule set and flags; the rest is the
 * text.
 */
#include "token_fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *const pres[] = {"gpt-2",     "llama-bpe", "qwen2",      "gpt-4o",
                                   "starcoder", "falcon",    "jina-v2-de", ""};
static const char *const bpe_texts[] = {"\304\240a", "aa",    "aaaa", "11", "ab",
                                        "abc",       "<|x|>", "<u>",  "  ", "<mask>"};
static const int32_t bpe_types[] = {1, 1, 1, 1, 1, 1, 3, 4, 4, 3};
static const char *const merges[] = {"\xc4\xa0 a", "a a", "aa aa", "1 1", "a b", "ab c", "x y", "xy z"};
static const char *const spm_texts[] = {"\xe2\x96\x81", "a", "aa", "aaaa", "\342\226\201a", "b", "ab", "<u>"};
static const int32_t spm_types[] = {1, 1, 1, 1, 1, 1, 1, 4};
static const float scores[] = {-9, -8, -1, -2, -3, -4, -5, 0};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size < 1) { return 0; }
    const char *pre = pres[data[0] & 7];
    const fuzz_family *family = &fuzz_families[*pre == 0];
    test_host host;
    test_meta meta;
    test_report report;
    void *tokenizer = NULL;
    test_host_init(&host);
    test_report_init(&report);
    if (*pre) {
        test_meta_bpe(&meta, pre, 10, bpe_texts, bpe_types, 8, merges);
    } else {
        test_meta_spm(&meta, 8, spm_texts, spm_types, scores);
        test_meta_bool(&meta, "tokenizer.ggml.add_space_prefix", data[0] >> 5 & 1);
    }
    if (family->create(&host.host, &meta.meta, &report.report, &tokenizer, NULL) != TN_OK) {
        __builtin_trap();
    }
    fuzz_use(family, &host, tokenizer, (const char *)data + 1, size - 1, data[0] >> 3 & 3);
    family->destroy(&host.host, tokenizer);
    if (host.out) { __builtin_trap(); }
    test_meta_free(&meta);
    return 0;
}
