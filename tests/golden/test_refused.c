/*
 * test_refused.c - hyperparameters that make no sense, as they come in files: refused, and the reason names
 * the key. (The other stages of tests/data/refused belong to the tests of the file reader and of fit.)
 */
#include "golden_place.h"
#include "tenon/model.h"

#include <criterion/criterion.h>
#include <stdlib.h>

static void expect(tn_engine *engine, const char *file, int32_t code, const char *key) {
    char path[4096];
    tn_error err = TN_ERROR_INIT;
    tn_model *model = NULL;
    tn_model_options options = {.backend = "reference", .no_tokenizer = 1};
    snprintf(path, sizeof path, "%s/refused/%s", getenv("TENON_TEST_DATA"), file);
    int32_t got = tn_model_load(engine, path, &options, &model, NULL, &err);
    cr_assert(got == code, "%s: %s (%s), expected %s", file, tn_code_text(got), err.text, tn_code_text(code));
    cr_assert(strstr(err.text, key), "%s: no '%s' in: %s", file, key, err.text);
}

Test(refused, hyperparameters) {
    cr_assert(getenv("TENON_TEST_DATA"), "run this through ctest");
    tn_engine *engine = tn_test_engine("", 1);
    expect(engine, "hparam-nan-rope-base.gguf", TN_E_PARAM_INVALID, "llama.rope.freq_base");
    expect(engine, "hparam-string-block-count.gguf", TN_E_PARAM_TYPE, "llama.block_count");
    expect(engine, "hparam-head-count-0.gguf", TN_E_PARAM_INVALID, "llama.attention.head_count");
    expect(engine, "hparam-block-count-huge.gguf", TN_E_PARAM_INVALID, "llama.block_count");
    expect(engine, "hparam-missing-embedding-length.gguf", TN_E_PARAM_MISSING, "llama.embedding_length");
    tn_engine_destroy(engine);
}
