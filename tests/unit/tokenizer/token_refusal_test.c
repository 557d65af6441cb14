/*
 * token_refusal_test.c - vocabularies with one fault each: create() fails, names the key and leaves no memory
 * behind.
 */
#include "token_fixture.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>

#define KEY(name) "tokenizer.ggml." name

static const char *const merges[] = {"a b", "ab c"};
static const char *const bpe_texts[] = {"ab", "abc", "<|end|>"};
static const int32_t bpe_types[] = {1, 1, 3};
static const char *const spm_texts[] = {"\xe2\x96\x81", "a", "\342\226\201a"};
static const int32_t spm_types[] = {1, 1, 1};
static const float spm_scores[] = {-3, -2, -1};

static void make_bpe(test_meta *m) {
    test_meta_bpe(m, "gpt-2", 3, bpe_texts, bpe_types, 2, merges);
}
static void make_spm(test_meta *m) {
    test_meta_spm(m, 3, spm_texts, spm_types, spm_scores);
}

static void make_wordpiece(test_meta *m) {
    static const char *const texts[] = {"\342\226\201a", "a", "<u>"};
    test_meta_wordpiece(m, 3, texts, (const int32_t[]){1, 1, 4});
}

/* Creates and expects exactly one fault, of this key and code, whose text has these words. */
static void refused(test_meta *m, const char *id, const char *key, int32_t code, const char *words) {
    test_host host;
    test_report report;
    tn_error err = TN_ERROR_INIT;
    void *tokenizer = NULL;
    test_host_init(&host);
    test_report_init(&report);
    int32_t got = test_plugin(id)->create(&host.host, &m->meta, &report.report, &tokenizer, &err);
    cr_expect_eq(got, code, "%s: code %d, wanted %d (%s)", key, got, code, err.text);
    cr_expect_eq(report.count, 1, "%s: %u faults (%s: %s)", key, report.count, report.subject[0],
                 report.text[0]);
    cr_expect_str_eq(report.subject[0], key, "subject %s, wanted %s", report.subject[0], key);
    cr_expect(strstr(report.text[0], words), "%s: \"%s\" does not say \"%s\"", key, report.text[0], words);
    cr_expect(strstr(err.text, key), "\"%s\" does not say \"%s\"", err.text, key);
    cr_expect_eq(host.out, 0, "%s: %llu blocks are left", key, (unsigned long long)host.out);
    test_meta_free(m);
}

static void refused_bpe(test_meta *m, const char *key, const char *words) {
    refused(m, "tokenizer.bpe", key, TN_E_TOKENIZER_INVALID, words);
}

static void refused_spm(test_meta *m, const char *key, const char *words) {
    refused(m, "tokenizer.spm", key, TN_E_TOKENIZER_INVALID, words);
}

static void refused_wordpiece(test_meta *m, const char *key, const char *words) {
    refused(m, "tokenizer.wordpiece", key, TN_E_TOKENIZER_INVALID, words);
}

Test(token_refusal, sound_ones_load) {
    test_meta m;
    test_tokenizer t;
    make_bpe(&m);
    test_tokenizer_make(&t, "tokenizer.bpe", &m.meta);
    test_tokenizer_close(&t);
    test_meta_free(&m);
    make_spm(&m);
    test_tokenizer_make(&t, "tokenizer.spm", &m.meta);
    test_tokenizer_close(&t);
    test_meta_free(&m);
    make_wordpiece(&m);
    test_tokenizer_make(&t, "tokenizer.wordpiece", &m.meta);
    test_tokenizer_close(&t);
    test_meta_free(&m);
}

Test(token_refusal, pre) {
    test_meta m;
    make_bpe(&m);
    test_meta_string(&m, KEY("pre"), "not-a-real-pre");
    refused(&m, "tokenizer.bpe", KEY("pre"), TN_E_TOKENIZER_PRE, "not-a-real-pre");
    make_bpe(&m);
    test_meta_string(&m, KEY("pre"), "");
    refused(&m, "tokenizer.bpe", KEY("pre"), TN_E_TOKENIZER_PRE, "\"\"");
    make_bpe(&m);
    test_meta_remove(&m, KEY("pre"));
    refused(&m, "tokenizer.bpe", KEY("pre"), TN_E_TOKENIZER_PRE, "nothing");
    make_bpe(&m);
    test_meta_u32(&m, KEY("pre"), 7);
    refused_bpe(&m, KEY("pre"), "one uint32");
    static const char *const unknown[] = {"mpt2", "gpt-22", "gpt-", "Gemma4"};
    for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++) {
        make_bpe(&m);
        test_meta_string(&m, KEY("pre"), unknown[i]);
        refused(&m, "tokenizer.bpe", KEY("pre"), TN_E_TOKENIZER_PRE, unknown[i]);
    }
    static const char *const silent[] = {"llama", "gptneox2", "gptneo", ""}; /* gptneox alone need not say */
    for (size_t i = 0; i < sizeof silent / sizeof *silent; i++) {
        make_bpe(&m);
        test_meta_remove(&m, KEY("pre"));
        test_meta_string(&m, "general.architecture", silent[i]);
        refused(&m, "tokenizer.bpe", KEY("pre"), TN_E_TOKENIZER_PRE, "nothing");
    }
}

Test(token_refusal, tokens) {
    test_meta m;
    static void (*const makes[])(test_meta *) = {make_bpe, make_spm, make_wordpiece};
    static void (*const checks[])(test_meta *, const char *, const char *) = {refused_bpe, refused_spm,
                                                                              refused_wordpiece};
    for (int family = 0; family < 3; family++) {
        void (*make)(test_meta *) = makes[family];
        void (*check)(test_meta *, const char *, const char *) = checks[family];
        make(&m);
        test_meta_remove(&m, KEY("tokens"));
        check(&m, KEY("tokens"), "nothing");
        make(&m);
        test_meta_string(&m, KEY("tokens"), "abc");
        check(&m, KEY("tokens"), "one string");
        make(&m);
        test_meta_i32s(&m, KEY("tokens"), 3, spm_types);
        check(&m, KEY("tokens"), "an array of int32");
        make(&m);
        test_meta_strings(&m, KEY("tokens"), 0, NULL);
        check(&m, KEY("tokens"), "0 entries");
    }
}

Test(token_refusal, token_type) {
    test_meta m;
    static const int32_t outside[] = {0, 7, -1, INT32_MAX};
    make_bpe(&m);
    test_meta_i32s(&m, KEY("token_type"), 3, bpe_types);
    refused_bpe(&m, KEY("token_type"), "3 entries for 259 tokens");
    make_spm(&m);
    test_meta_f32s(&m, KEY("token_type"), 3, spm_scores);
    refused_spm(&m, KEY("token_type"), "an array of float32");
    for (size_t i = 0; i < sizeof outside / sizeof *outside; i++) {
        int32_t types[259];
        for (size_t k = 0; k < 259; k++) { types[k] = 1; }
        types[17] = outside[i];
        make_bpe(&m);
        test_meta_i32s(&m, KEY("token_type"), 259, types);
        refused_bpe(&m, KEY("token_type"), "entry 17");
    }
}

Test(token_refusal, special_ids) {
    static const char *const keys[] = {
        KEY("bos_token_id"),     KEY("eos_token_id"),       KEY("eot_token_id"),     KEY("eom_token_id"),
        KEY("unknown_token_id"), KEY("seperator_token_id"), KEY("padding_token_id"), KEY("mask_token_id")};
    test_meta m;
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        make_bpe(&m);
        test_meta_u32(&m, keys[i], 259);
        refused_bpe(&m, keys[i], "259");
        make_spm(&m);
        test_meta_u32(&m, keys[i], UINT32_MAX);
        refused_spm(&m, keys[i], "4294967295");
        make_spm(&m);
        test_meta_string(&m, keys[i], "1");
        refused_spm(&m, keys[i], "one string");
        make_spm(&m);
        test_meta_bool(&m, keys[i], 1);
        refused_spm(&m, keys[i], "one bool");
        int64_t negative = -1;
        make_bpe(&m);
        test_meta_raw(&m, keys[i], &(tn_kv){.type = TN_KV_I64, .count = 1, .size = 8, .data = &negative});
        refused_bpe(&m, keys[i], "-1");
        make_wordpiece(&m);
        test_meta_u32(&m, keys[i], 8);
        refused_wordpiece(&m, keys[i], "8, the vocabulary has 8");
    }
}

Test(token_refusal, flags) {
    test_meta m;
    make_spm(&m);
    test_meta_u32(&m, KEY("add_bos_token"), 1);
    refused_spm(&m, KEY("add_bos_token"), "one uint32");
    make_bpe(&m);
    test_meta_bool(&m, KEY("add_bos_token"), 1);
    refused_bpe(&m, KEY("bos_token_id"), "nothing");
    make_bpe(&m);
    test_meta_bool(&m, KEY("add_space_prefix"), 1);
    refused_bpe(&m, KEY("add_space_prefix"), "true");
}

Test(token_refusal, merges) {
    static const char *const bad[] = {"a", "", " ", "a ", " a"};
    test_meta m;
    make_bpe(&m);
    test_meta_remove(&m, KEY("merges"));
    refused_bpe(&m, KEY("merges"), "nothing");
    make_bpe(&m);
    test_meta_i32s(&m, KEY("merges"), 3, bpe_types);
    refused_bpe(&m, KEY("merges"), "an array of int32");
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        const char *with_bad[] = {"a b", bad[i]};
        make_bpe(&m);
        test_meta_strings(&m, KEY("merges"), 2, with_bad);
        refused_bpe(&m, KEY("merges"), "entry 1");
    }
}

Test(token_refusal, scores) {
    test_meta m;
    make_spm(&m);
    test_meta_remove(&m, KEY("scores"));
    refused_spm(&m, KEY("scores"), "nothing");
    make_spm(&m);
    test_meta_f32s(&m, KEY("scores"), 3, spm_scores);
    refused_spm(&m, KEY("scores"), "3 entries for 262 tokens");
    make_spm(&m);
    test_meta_strings(&m, KEY("scores"), 3, spm_texts);
    refused_spm(&m, KEY("scores"), "an array of string");
    float scores[262] = {0};
    scores[5] = NAN;
    make_spm(&m);
    test_meta_f32s(&m, KEY("scores"), 262, scores);
    refused_spm(&m, KEY("scores"), "entry 5");
}

Test(token_refusal, malformed_bytes) {
    static const char *const bad[] = {"<0x-1>", "<0xZZ>", "<0x4a>", "<0x1>", "<0x123>", "<0x41", "x", ""};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        test_meta m;
        const char *texts[] = {bad[i]};
        test_meta_spm(&m, 1, texts, (const int32_t[]){TN_TOKEN_BYTE}, spm_scores);
        refused_spm(&m, KEY("tokens"), "entry 259");
    }
}

Test(token_refusal, long_special) {
    char text[1026];
    memset(text, 'x', 1025);
    text[1025] = 0;
    const char *texts[] = {text};
    test_meta m;
    test_meta_bpe(&m, "gpt-2", 1, texts, (const int32_t[]){TN_TOKEN_CONTROL}, 0, NULL);
    refused_bpe(&m, KEY("tokens"), "1025 bytes at entry 256");
}

Test(token_refusal, all_at_once) {
    test_meta m;
    make_bpe(&m);
    test_meta_string(&m, KEY("pre"), "nonsense");
    test_meta_u32(&m, KEY("bos_token_id"), 1000);
    test_meta_u32(&m, KEY("eos_token_id"), 1000);
    test_meta_i32s(&m, KEY("token_type"), 3, bpe_types);
    test_meta_remove(&m, KEY("merges"));
    test_host host;
    test_report report;
    tn_error err = TN_ERROR_INIT;
    void *tokenizer = NULL;
    test_host_init(&host);
    test_report_init(&report);
    int32_t code =
        test_plugin("tokenizer.bpe")->create(&host.host, &m.meta, &report.report, &tokenizer, &err);
    cr_expect_eq(code, TN_E_TOKENIZER_PRE, "%d", code);
    cr_expect_eq(report.count, 5, "%u faults", report.count);
    test_meta_free(&m);
}

/* Without merges each entry is one, cut in every way: not too long ones. */
Test(token_refusal, merges_by_id) {
    test_meta m;
    char longest[258] = "", longer[258] = "";
    const char *const two[] = {longest, longer};
    memset(longest, 'x', 256);
    memset(longer, 'x', 257);
    for (uint64_t count = 1; count <= 2; count++) {
        test_tokenizer t;
        test_meta_bpe(&m, "kimi-k2", count, two, (const int32_t[]){1, 1}, 0, NULL);
        test_meta_remove(&m, KEY("merges"));
        if (count == 2) {
            refused_bpe(&m, KEY("tokens"), "257 bytes at entry 257");
            continue;
        }
        test_tokenizer_make(&t, "tokenizer.bpe", &m.meta);
        test_tokenizer_close(&t);
        test_meta_free(&m);
    }
    make_bpe(&m);
    test_meta_remove(&m, KEY("merges"));
    refused_bpe(&m, KEY("merges"), "nothing");
}

Test(token_refusal, raw_bytes) {
    test_meta m;
    static const char *const texts[] = {"<0x4G>"};
    test_meta_bpe(&m, "gemma4", 1, texts, (const int32_t[]){TN_TOKEN_BYTE}, 0, NULL);
    refused_bpe(&m, KEY("tokens"), "entry 256");
    test_meta_utf8(&m, "mmbert", 1, texts, (const int32_t[]){TN_TOKEN_NORMAL}, 0, NULL);
    refused_bpe(&m, KEY("tokens"), "U+2581");
}

Test(token_refusal, wordpiece) {
    test_meta m;
    static const char *const texts[] = {"<0x41>"};
    make_wordpiece(&m);
    test_meta_remove(&m, KEY("unknown_token_id"));
    refused_wordpiece(&m, KEY("unknown_token_id"), "nothing");
    make_wordpiece(&m);
    test_meta_u32(&m, KEY("cls_token_id"), 8);
    refused_wordpiece(&m, KEY("cls_token_id"), "8, the vocabulary has 8");
    make_wordpiece(&m);
    test_meta_u32(&m, KEY("normalizer.lowercase"), 1);
    refused_wordpiece(&m, KEY("normalizer.lowercase"), "one uint32");
    make_wordpiece(&m);
    test_meta_string(&m, KEY("normalizer.strip_accents"), "yes");
    refused_wordpiece(&m, KEY("normalizer.strip_accents"), "one string");
    make_wordpiece(&m);
    test_meta_remove(&m, KEY("cls_token_id"));
    test_meta_bool(&m, KEY("add_bos_token"), 1);
    refused_wordpiece(&m, KEY("bos_token_id"), "nothing");
    test_meta_wordpiece(&m, 1, texts, (const int32_t[]){TN_TOKEN_BYTE});
    refused_wordpiece(&m, KEY("tokens"), "entry 5");
}

/* Whatever allocation fails, create says so and gives back what it had. */
Test(token_refusal, no_memory) {
    static void (*const makes[])(test_meta *) = {make_bpe, make_spm, make_wordpiece};
    static const char *const ids[] = {"tokenizer.bpe", "tokenizer.spm", "tokenizer.wordpiece"};
    for (int family = 0; family < 3; family++) {
        int32_t code = TN_E_MEMORY;
        for (uint64_t fail_at = 1; code != TN_OK; fail_at++) {
            test_meta m;
            test_host host;
            test_report report;
            tn_error err = TN_ERROR_INIT;
            void *tokenizer = NULL;
            makes[family](&m);
            test_host_init(&host);
            test_report_init(&report);
            host.fail_at = fail_at;
            const tn_tokenizer *table = test_plugin(ids[family]);
            code = table->create(&host.host, &m.meta, &report.report, &tokenizer, &err);
            cr_assert(code == TN_OK || code == TN_E_MEMORY, "allocation %llu: %d",
                      (unsigned long long)fail_at, code);
            if (code == TN_OK) { table->destroy(&host.host, tokenizer); }
            cr_assert_eq(host.out, 0, "allocation %llu: %llu blocks are left", (unsigned long long)fail_at,
                         (unsigned long long)host.out);
            test_meta_free(&m);
        }
    }
}
