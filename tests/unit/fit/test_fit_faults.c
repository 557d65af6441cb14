/*
 * Files made from a sound one with faults put in: several at once, of one stage and of many; thousands of one
 * kind; files that are no models; what the options ask that is not there.
 */
#include "fit_rig.h"

#include <criterion/criterion.h>
#include <string.h>

#define LLAMA .source = "models/llama.gguf"
static const tn_model_options reference = {.backend = "reference"};

static void expect_words(const rig_result *result, const char *const *words) {
    for (; *words; words++) {
        cr_expect(strstr(result->text, *words), "no \"%s\" in:\n%s", *words, result->text);
    }
}
#define EXPECT_WORDS(result, ...) expect_words(result, (const char *const[]){__VA_ARGS__, NULL})

Test(fit_faults, an_unchanged_copy_fits) {
    rig_result result;
    rig_fit(rig_make(&(rig_edit){LLAMA}), &reference, &result);
    cr_expect_eq(tn_fit_code(result.fit), TN_OK, "%s", result.text);
    cr_expect_str_eq(tn_fit_architecture(result.fit), "llama");
    rig_end(&result);
}

/* Keys and values of 2 layers: 2 heads of 16, in 2 bytes and in 4. */
Test(fit_faults, cache_bytes) {
    static const struct {
        const char *type;
        uint64_t number;
    } types[] = {{NULL, 2}, {"f16", 2}, {"F32", 4}};
    for (size_t i = 0; i < 3; i++) {
        tn_model_options options = {.backend = "reference", .cache_type = types[i].type};
        rig_result result;
        rig_fit(rig_data("models/llama.gguf"), &options, &result);
        const tn_facts *facts = tn_fit_facts(result.fit);
        cr_assert_not_null(facts);
        uint64_t wanted =
            (uint64_t)facts->layers * facts->kv_heads * (facts->key_dim + facts->value_dim) * types[i].number;
        cr_expect_eq(tn_fit_kv_bytes(result.fit), wanted, "%zu, expected %zu",
                     (size_t)tn_fit_kv_bytes(result.fit), (size_t)wanted);
        rig_end(&result);
    }
}

Test(fit_faults, several_tensors_at_once) {
    static const char *const gone[] = {"blk.0.ffn_down.weight", "blk.1.attn_q.weight", "output_norm.weight",
                                       NULL};
    rig_edit edit = {LLAMA, .drop_tensors = gone, .extra = 2, .retype = "blk.1.ffn_up.weight", .type = 19};
    rig_result result;
    rig_fit(rig_make(&edit), &reference, &result);
    cr_expect_eq(rig_count(&result, TN_E_TENSOR_MISSING), 3, "%s", result.text);
    cr_expect_eq(rig_count(&result, TN_E_TENSOR_UNREAD), 2, "%s", result.text);
    cr_expect_eq(rig_count(&result, TN_E_FORMAT_REFUSED), 1, "%s", result.text);
    cr_expect_eq(tn_fit_total(result.fit), 6, "%s", result.text);
    EXPECT_WORDS(&result, "blk.0.ffn_down.weight", "blk.1.attn_q.weight", "output_norm.weight", "extra.0",
                 "extra.1", "IQ1_S (19)", "blk.1.ffn_up.weight");
    rig_end(&result);
}

/* One fault a stage: hyperparameters and tokenizer and format are all said at once. */
Test(fit_faults, every_stage_at_once) {
    static const char *const gone[] = {"llama.embedding_length", NULL};
    rig_edit edit = {.source = "models/llama3-ropefreqs.gguf",
                     .drop_keys = gone,
                     .key = "tokenizer.ggml.pre",
                     .text = "no-such-pre",
                     .retype = "blk.0.attn_k.weight",
                     .type = 200};
    tn_model_options options = {.backend = "abacus"};
    rig_result result;
    rig_fit(rig_make(&edit), &options, &result);
    cr_expect_eq(tn_fit_code(result.fit), TN_E_PARAM_MISSING, "%s", result.text);
    cr_expect_eq(rig_count(&result, TN_E_FORMAT_UNKNOWN), 1, "%s", result.text);
    cr_expect_eq(rig_count(&result, TN_E_TOKENIZER_PRE), 1, "%s", result.text);
    cr_expect_eq(rig_count(&result, TN_E_PLUGIN_MISSING), 1, "%s", result.text);
    EXPECT_WORDS(&result, "llama.embedding_length", "no-such-pre", "type 200", "blk.0.attn_k.weight",
                 "abacus", "reference");
    rig_end(&result);
}

Test(fit_faults, an_unknown_architecture_does_not_hide_the_rest) {
    rig_edit edit = {LLAMA, .key = "general.architecture", .text = "frob\nnicate", .retype = "output.weight",
                     .type = 29};
    rig_result result;
    rig_fit(rig_make(&edit), &reference, &result);
    cr_expect_eq(tn_fit_code(result.fit), TN_E_ARCH_UNKNOWN, "%s", result.text);
    EXPECT_WORDS(&result, "frob?nicate", "llama", "IQ1_M", "output.weight");
    rig_end(&result);
}

Test(fit_faults, thousands_of_unread_tensors) {
    rig_result result;
    const char *path = rig_make(&(rig_edit){LLAMA, .extra = 3000});
    double before = rig_cpu_ms();
    rig_fit(path, &reference, &result);
    double took = rig_cpu_ms() - before;
    cr_expect_eq(tn_fit_code(result.fit), TN_E_TENSOR_UNREAD);
    cr_expect_eq(tn_fit_total(result.fit), 3000, "%zu", (size_t)tn_fit_total(result.fit));
    cr_expect_leq(tn_fit_reason_count(result.fit), 20);
    if (rig_timed()) { cr_expect(took < 50, "refused after %.1f ms", took); }
    rig_end(&result);
}

/* As many layers as the architecture takes: nearly every tensor asked for is absent. */
Test(fit_faults, thousands_of_missing_tensors) {
    uint32_t layers = 65535;
    rig_result result;
    rig_edit edit = {LLAMA, .number_key = "llama.block_count", .number = layers};
    do {
        edit.number = layers;
        const char *path = rig_make(&edit);
        double before = rig_cpu_ms();
        rig_fit(path, &reference, &result);
        double took = rig_cpu_ms() - before;
        if (rig_timed()) { cr_expect(took < 50, "%u layers: refused after %.1f ms", layers, took); }
        cr_expect_neq(tn_fit_code(result.fit), TN_OK);
        cr_expect_leq(tn_fit_reason_count(result.fit), 20);
        layers /= 2;
        rig_end(&result);
    } while (layers > 1024);
}

Test(fit_faults, trailing_dimensions_of_one) {
    rig_edit edit = {LLAMA, .reshape = "output_norm.weight", .dim_count = 3};
    rig_result result;
    tn_gguf *file = NULL;
    tn_error err = TN_ERROR_INIT;
    cr_assert_eq(tn_gguf_open(rig_data(edit.source), tn_engine_types(rig_engine()), &file, &err), TN_OK);
    memcpy(edit.dims, tn_gguf_tensor_find(file, edit.reshape)->dims, sizeof edit.dims);
    tn_gguf_close(file);
    rig_fit(rig_make(&edit), &reference, &result);
    cr_expect_eq(tn_fit_code(result.fit), TN_OK, "[E, 1, 1] is [E]: %s", result.text);
    rig_end(&result);
    uint64_t swapped = edit.dims[0];
    edit.dims[0] = 1, edit.dims[1] = swapped, edit.dim_count = 2;
    rig_fit(rig_make(&edit), &reference, &result);
    cr_expect_eq(tn_fit_code(result.fit), TN_E_TENSOR_SHAPE, "[1, E] is not [E]: %s", result.text);
    rig_end(&result);
}

/* ---- what is not a model ---------------------------------------------------------------------------- */

Test(fit_faults, files_that_are_no_models) {
    static const struct {
        rig_edit edit;
        const char *what;
    } kinds[] = {
        {{LLAMA, .key = "general.type", .text = "adapter"}, "an adapter"},
        {{LLAMA, .key = "general.type", .text = "imatrix"}, "an importance matrix"},
        {{LLAMA, .key = "general.type", .text = "mmproj"}, "projector"},
        {{LLAMA, .key = "general.type", .text = "vocab"}, "a vocabulary"},
        {{LLAMA, .key = "general.type", .text = "poem"}, "poem"},
        {{LLAMA, .key = "general.architecture", .text = "clip"}, "projector"},
        {{LLAMA, .key = "general.architecture", .text = "imatrix"}, "an importance matrix"},
        {{LLAMA, .key = "general.architecture", .text = "controlvector"}, "a control vector"},
        {{LLAMA, .no_tensors = 1}, "a vocabulary without a model"},
    };
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        rig_result result;
        rig_fit(rig_make(&kinds[i].edit), &reference, &result);
        cr_expect_eq(tn_fit_code(result.fit), TN_E_FILE_KIND, "%s: %s", kinds[i].what, result.text);
        cr_expect_eq(tn_fit_total(result.fit), 1, "%s: one reason is enough:\n%s", kinds[i].what,
                     result.text);
        EXPECT_WORDS(&result, kinds[i].what);
        rig_end(&result);
    }
}

Test(fit_faults, a_vocabulary_alone_can_still_be_shown) {
    rig_result result;
    rig_fit(rig_make(&(rig_edit){LLAMA, .no_tensors = 1}), &reference, &result);
    cr_expect_not_null(tn_fit_facts(result.fit));
    cr_expect_not_null(tn_fit_vocab(result.fit));
    rig_end(&result);
}

Test(fit_faults, general_type_model) {
    rig_result result;
    rig_fit(rig_make(&(rig_edit){LLAMA, .key = "general.type", .text = "model"}), &reference, &result);
    cr_expect_eq(tn_fit_code(result.fit), TN_OK, "%s", result.text);
    rig_end(&result);
}

Test(fit_faults, no_file_at_all) {
    tn_error opened = TN_ERROR_INIT, err = TN_ERROR_INIT;
    tn_fit *fit = NULL;
    tn_fail(&opened, TN_E_FILE_DAMAGED, "x.gguf: is empty");
    cr_assert_eq(tn_fit_run(rig_engine(), NULL, &opened, &reference, &fit, &err), TN_OK);
    cr_expect_eq(tn_fit_code(fit), TN_E_FILE_DAMAGED);
    cr_expect_str_eq(tn_fit_reason_at(fit, 0)->found, "x.gguf: is empty");
    cr_expect_null(tn_fit_facts(fit));
    cr_expect_null(tn_fit_vocab(fit));
    cr_expect_null(tn_fit_plugin(fit, 0));
    cr_expect_eq(tn_fit_node_count(fit), 0);
    tn_fit_free(fit);
}

/* ---- what the options ask --------------------------------------------------------------------------- */

static void expect_option_refused(const tn_model_options *options, int32_t code, const char *word) {
    rig_result result;
    rig_fit(rig_data("models/llama.gguf"), options, &result);
    cr_expect_eq(tn_fit_code(result.fit), code, "%s: %s", word, result.text);
    cr_expect_eq(tn_fit_total(result.fit), 1, "%s", result.text);
    EXPECT_WORDS(&result, word);
    rig_end(&result);
}

Test(fit_faults, options) {
    expect_option_refused(&(tn_model_options){.backend = "abacus"}, TN_E_PLUGIN_MISSING, "reference");
    expect_option_refused(&(tn_model_options){.backend = "reference", .cache_type = "q9_9"},
                          TN_E_FORMAT_UNKNOWN, "q9_9");
    expect_option_refused(&(tn_model_options){.backend = "reference", .context = UINT32_MAX},
                          TN_E_PARAM_INVALID, "4294967295");
}

Test(fit_faults, tokenizer_needed_or_not) {
    static const char *const gone[] = {"tokenizer.ggml.model", NULL};
    rig_edit edit = {LLAMA, .drop_keys = gone};
    rig_result result;
    tn_model_options without = {.backend = "reference", .no_tokenizer = 1};
    rig_fit(rig_make(&edit), &reference, &result);
    cr_expect_eq(rig_count(&result, TN_E_TOKENIZER_INVALID) + rig_count(&result, TN_E_TOKENIZER_UNKNOWN) +
                     rig_count(&result, TN_E_PARAM_MISSING),
                 1, "%s", result.text);
    EXPECT_WORDS(&result, "tokenizer.ggml.model");
    rig_end(&result);
    rig_fit(rig_make(&edit), &without, &result);
    cr_expect_eq(tn_fit_code(result.fit), TN_OK, "ids are given: %s", result.text);
    cr_expect_null(tn_fit_vocab(result.fit));
    rig_end(&result);
}

Test(fit_faults, plugins_that_serve) {
    rig_result result;
    int arch = 0, format = 0, tokenizer = 0, backend = 0;
    rig_fit(rig_data("models/llama.gguf"), &reference, &result);
    const char *id;
    for (uint32_t i = 0; (id = tn_fit_plugin(result.fit, i)); i++) {
        arch |= strcmp(id, "arch.llama") == 0;
        format |= strcmp(id, "format.f32") == 0;
        tokenizer |= strcmp(id, "tokenizer.spm") == 0;
        backend |= strcmp(id, "backend.reference") == 0;
    }
    cr_expect(arch && format && tokenizer && backend, "arch %d format %d tokenizer %d backend %d", arch,
              format, tokenizer, backend);
    rig_end(&result);
}
