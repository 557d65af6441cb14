/*
 * token_cases_test.c - ids and texts against goldens of Hugging Face's tokenizers and of llama.cpp: the
 * public cases of ../shared/tokenizer (skipped by name where that folder is missing) and the small fixtures
 * of tests/data.
 */
#include "token_fixture.h"

#include <criterion/criterion.h>
#include <jansson.h>
#include <stdlib.h>
#include <unistd.h>

/* The bytes of NAME, or of NAME_b64; NULL if the case has neither. */
static char *text_of(const json_t *one, const char *name, uint64_t *size) {
    const json_t *value = json_object_get(one, name);
    if (value) {
        *size = json_string_length(value);
        char *copy = malloc(*size + 1);
        memcpy(copy, json_string_value(value), *size);
        return copy;
    }
    char key[64];
    snprintf(key, sizeof key, "%s_b64", name);
    value = json_object_get(one, key);
    if (!value) { return NULL; }
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const char *from = json_string_value(value);
    char *out = malloc(strlen(from) + 1);
    uint32_t bits = 0, have = 0;
    *size = 0;
    for (; *from && *from != '='; from++) {
        bits = bits << 6 | (uint32_t)(strchr(digits, *from) - digits);
        have += 6;
        if (have >= 8) {
            have -= 8;
            out[(*size)++] = (char)(bits >> have);
        }
    }
    return out;
}

static int same_ids(const json_t *wanted, const int32_t *ids, uint64_t count) {
    if (!wanted || json_array_size(wanted) != count) { return 0; }
    for (uint64_t i = 0; i < count; i++) {
        if (json_integer_value(json_array_get(wanted, i)) != ids[i]) { return 0; }
    }
    return 1;
}

static void show_ids(const char *what, const int32_t *ids, uint64_t count) {
    fprintf(stderr, "  %s:", what);
    for (uint64_t i = 0; i < count && i < 60; i++) { fprintf(stderr, " %d", ids[i]); }
    fprintf(stderr, "\n");
}

static void show_wanted(const json_t *ids) {
    fprintf(stderr, "  wanted:");
    for (uint64_t i = 0; i < json_array_size(ids) && i < 60; i++) {
        fprintf(stderr, " %lld", json_integer_value(json_array_get(ids, i)));
    }
    fprintf(stderr, "\n");
}

/* Encodes and compares with the case's `key`; returns 1 for a difference. */
static int differs_ids(const test_tokenizer *t, const json_t *one, const char *key, uint32_t flags) {
    uint64_t size, count;
    char *text = text_of(one, "text", &size);
    int32_t *ids = test_encode(t, text, size, flags, &count);
    const json_t *wanted = json_object_get(one, key);
    int bad = wanted && !same_ids(wanted, ids, count);
    if (bad) {
        fprintf(stderr, "%s \"%.60s\" (%s)\n", json_string_value(json_object_get(one, "name")), text, key);
        show_ids("got", ids, count);
        show_wanted(wanted);
    }
    free(ids);
    free(text);
    return bad;
}

static int differs_text(const test_tokenizer *t, const json_t *one, const char *key, uint32_t flags) {
    uint64_t wanted_size, size, count = json_array_size(json_object_get(one, "ids"));
    char *wanted = text_of(one, key, &wanted_size);
    if (!wanted) { return 0; }
    int32_t *ids = malloc((count + 1) * sizeof *ids);
    for (uint64_t i = 0; i < count; i++) {
        ids[i] = (int32_t)json_integer_value(json_array_get(json_object_get(one, "ids"), i));
    }
    char *text = test_decode(t, ids, count, flags, &size);
    int bad = size != wanted_size || memcmp(text, wanted, size) != 0;
    if (bad) {
        fprintf(stderr, "%s (%s)\n  got:    %s\n  wanted: %.*s\n",
                json_string_value(json_object_get(one, "name")), key, text, (int)wanted_size, wanted);
    }
    free(text);
    free(wanted);
    free(ids);
    return bad;
}

static unsigned check_list(const test_tokenizer *t, const json_t *list) {
    unsigned bad = 0;
    size_t i;
    json_t *one;
    json_array_foreach (list, i, one) {
        uint32_t special = json_is_true(json_object_get(one, "parse_special")) ? TN_ENCODE_SPECIAL : 0;
        bad += differs_ids(t, one, "ids", special);
        bad += differs_ids(t, one, "ids_special", special | TN_ENCODE_ADD);
        bad += differs_text(t, one, "detok", 0);
        bad += differs_text(t, one, "detok_skip_special", TN_DECODE_SKIP_SPECIAL);
    }
    return bad;
}

/* Opens a vocabulary of the shared folder, packed ones by way of a file that is gone at once. NULL, or what is
 * missing. */
static const char *open_public(test_tokenizer *t, const char *name) {
    static char file[256];
    char path[4096], packed[4096], folder[] = "/tmp/tenon-token-XXXXXX", unpacked[64], command[4400];
    snprintf(file, sizeof file, "tokenizer/vocabs/%s.gguf", name);
    if (test_path("TENON_TEST_SHARED", file, path, sizeof path)) {
        test_tokenizer_open(t, path);
        return NULL;
    }
    strncat(file, ".xz", sizeof file - strlen(file) - 1);
    if (!test_path("TENON_TEST_SHARED", file, packed, sizeof packed)) { return file; }
    cr_assert(mkdtemp(folder));
    snprintf(unpacked, sizeof unpacked, "%s/vocabulary.gguf", folder);
    snprintf(command, sizeof command, "xz -dc '%s' > %s 2> /dev/null", packed, unpacked);
    int status = system(command);
    if (status == 0) { test_tokenizer_open(t, unpacked); }
    unlink(unpacked);
    rmdir(folder);
    return status == 0 ? NULL : "xz";
}

static void check_public(const char *cases, const char *vocabulary) {
    char path[4096], name[256];
    snprintf(name, sizeof name, "tokenizer/cases/%s.json", cases);
    if (!test_path("TENON_TEST_SHARED", name, path, sizeof path)) { cr_skip_test("no %s", name); }
    test_tokenizer t;
    const char *missing = open_public(&t, vocabulary);
    if (missing) { cr_skip_test("no %s", missing); }
    json_error_t error;
    json_t *root = json_load_file(path, JSON_ALLOW_NUL, &error);
    cr_assert(root, "%s: %s", path, error.text);
    const json_t *list = json_object_get(root, "cases");
    cr_assert(json_array_size(list) >= 100);
    unsigned bad = check_list(&t, list);
    bad += check_list(&t, json_object_get(root, "invalid_utf8"));
    cr_expect_eq(bad, 0, "%u differences", bad);
    test_tokenizer_close(&t);
    json_decref(root);
}

Test(token_cases, llama_bpe) {
    check_public("llama-bpe", "ggml-vocab-llama-bpe");
}
Test(token_cases, smollm2) {
    check_public("smollm2", "vocab-smollm2");
}
Test(token_cases, gpt_2) {
    check_public("gpt-2", "ggml-vocab-gpt-2");
}
Test(token_cases, qwen2) {
    check_public("qwen2", "ggml-vocab-qwen2");
}
Test(token_cases, starcoder) {
    check_public("starcoder", "ggml-vocab-starcoder");
}
Test(token_cases, falcon) {
    check_public("falcon", "ggml-vocab-falcon");
}
/* GPT-NeoX's vocabulary twice: once with a `pre`, once with nothing but the architecture. The goldens compose. */
Test(token_cases, mpt) {
    check_public("mpt", "ggml-vocab-mpt");
}
Test(token_cases, gpt_neox) {
    check_public("gpt-neox", "ggml-vocab-gpt-neox");
}
Test(token_cases, gemma_4) {
    check_public("gemma-4", "ggml-vocab-gemma-4");
}
Test(token_cases, llama_spm) {
    check_public("llama-spm", "ggml-vocab-llama-spm");
}
Test(token_cases, bert_bge) {
    check_public("bert-bge", "ggml-vocab-bert-bge");
}
Test(token_cases, phi_3) {
    check_public("phi-3", "ggml-vocab-phi-3");
}

/* ---- small fixtures ----------------------------------------------------------------------------------- */

/* tests/data has some of them, the shared folder all. */

static unsigned check_fixture(const char *variable, const char *folder, const char *name) {
    char path[4096], file[4096], part[256];
    json_error_t error;
    snprintf(part, sizeof part, "%s/golden/%s.text.json", folder, name);
    if (!test_path(variable, part, path, sizeof path)) { return 0; }
    json_t *root = json_load_file(path, JSON_ALLOW_NUL, &error);
    cr_assert(root, "%s: %s", path, error.text);
    unsigned checked = 0;
    snprintf(part, sizeof part, "%s/models/%s.gguf", folder, name);
    if (test_path(variable, part, file, sizeof file)) {
        test_tokenizer t;
        test_tokenizer_open(&t, file);
        const json_t *list = json_object_get(root, "cases");
        size_t i;
        json_t *one;
        json_array_foreach (list, i, one) {
            /* llama.cpp, which made these goldens, lets plain text write the control tokens of this one. */
            int forged = strcmp(json_string_value(json_object_get(root, "pre")), "gpt-4o") == 0 &&
                         strstr(json_string_value(json_object_get(one, "text")), "<|start|>");
            cr_expect(forged || !differs_ids(&t, one, "ids", 0), "%s case %zu", name, i);
            cr_expect(!differs_ids(&t, one, "ids_special", TN_ENCODE_ADD | TN_ENCODE_SPECIAL), "%s case %zu",
                      name, i);
            checked++;
        }
        test_tokenizer_close(&t);
    }
    json_decref(root);
    return checked;
}

Test(token_cases, own_fixtures) {
    static const char *const names[] = {"llama", "llama3-ropefreqs", "llama-bias-linear", "llama-yarn",
                                        "mistral-gqa"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        cr_expect(check_fixture("TENON_TEST_DATA", ".", names[i]) >= 5, "%s", names[i]);
    }
}

Test(token_cases, shared_fixtures) {
    static const char *const names[] = {"bert-cls",
                                        "bert-mean",
                                        "bert-rerank",
                                        "falcon-7b-style",
                                        "falcon-40b-style",
                                        "gemma",
                                        "gemma2",
                                        "gemma3",
                                        "gpt2",
                                        "gptneox",
                                        "gptneox-sequential",
                                        "gpt-oss",
                                        "mixtral",
                                        "phi2",
                                        "phi3",
                                        "phi3-longrope",
                                        "qwen2",
                                        "qwen2moe",
                                        "qwen3",
                                        "qwen3moe",
                                        "stablelm",
                                        "stablelm-parallel"};
    char path[4096];
    if (!test_path("TENON_TEST_SHARED", "fixtures/README.md", path, sizeof path)) {
        cr_skip_test("no shared fixtures");
    }
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        cr_expect(check_fixture("TENON_TEST_SHARED", "fixtures", names[i]) >= 5, "%s", names[i]);
    }
}

/* ---- pieces ------------------------------------------------------------------------------------------- */

/* Whole characters are the host's business (streams); what each id stands for is the plugin's. */
static void check_pieces(const json_t *one) {
    char name[256];
    const char *vocabulary = json_string_value(json_object_get(one, "vocab"));
    snprintf(name, sizeof name, "%s%s", strcmp(vocabulary, "smollm2") ? "ggml-vocab-" : "vocab-", vocabulary);
    test_tokenizer t;
    if (open_public(&t, name)) { return; }
    const json_t *ids = json_object_get(one, "ids"), *pieces = json_object_get(one, "pieces_b64");
    uint64_t at = 0;
    for (size_t i = 0; i < json_array_size(ids); i++) {
        uint64_t wanted_size;
        json_t *holder = json_pack("{s:O}", "piece_b64", json_array_get(pieces, i));
        char *wanted = text_of(holder, "piece", &wanted_size), got[256];
        int32_t id = (int32_t)json_integer_value(json_array_get(ids, i));
        int64_t size = t.table->piece(&t.host.host, t.tokenizer, id, 0, got, sizeof got);
        if (at == 0) { /* the stream's own rule for the start of a text */
            uint32_t leading = t.table->leading(&t.host.host, t.tokenizer, id);
            memmove(got, got + leading, (size_t)size - leading);
            size -= leading;
        }
        at++;
        cr_expect(size == (int64_t)wanted_size && memcmp(got, wanted, wanted_size) == 0,
                  "%s: piece of %d is \"%.*s\", wanted \"%.*s\"", vocabulary, id, (int)size, got,
                  (int)wanted_size, wanted);
        free(wanted);
        json_decref(holder);
    }
    test_tokenizer_close(&t);
}

Test(token_cases, streaming_pieces) {
    char path[4096];
    json_error_t error;
    if (!test_path("TENON_TEST_SHARED", "tokenizer/cases/streaming.json", path, sizeof path)) {
        cr_skip_test("no shared/tokenizer/cases/streaming.json");
    }
    json_t *root = json_load_file(path, JSON_ALLOW_NUL, &error);
    cr_assert(root, "%s", error.text);
    size_t i;
    json_t *one;
    json_array_foreach (root, i, one) { check_pieces(one); }
    json_decref(root);
}
