/*
 * test_fit_adapters.c - adapters made for one tensor of a fixture: the shapes that fit it, those that do not, and numbers
 * that are none. What adapters compute is tested with golden values.
 */
#include "fit_rig.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { RANK = 2 };
/* Shapes of a pair for a tensor [cols, rows, count]: as a matrix has it, as a table, with all experts in one matrix. */
enum { AS_MATRIX, AS_TABLE, AS_ONE };

/* An adapter for a tensor of a model, beside the model. */
static const char *make(const char *model, const char *tensor, int shape, rig_adapter adapter) {
    static char path[512], architecture[64];
    tn_error err = TN_ERROR_INIT;
    tn_gguf *file = NULL;
    tn_kv kv = {.struct_size = sizeof kv};
    cr_assert_eq(tn_gguf_open(model, tn_engine_types(rig_engine()), &file, &err), TN_OK, "%s", err.text);
    const tn_gguf_tensor *t = tn_gguf_tensor_find(file, tensor);
    cr_assert(t, "%s has no %s", model, tensor);
    cr_assert_eq(tn_gguf_meta(file)->find(tn_gguf_meta(file), "general.architecture", &kv), TN_OK);
    snprintf(architecture, sizeof architecture, "%.*s", (int)kv.count, (const char *)kv.data);
    uint64_t cols = t->dims[0], rows = t->dims[1], count = t->dims[2];
    const uint64_t shapes[][2][3] = {{{cols, RANK, count}, {RANK, rows, count}},
                                     {{RANK, rows, 1}, {RANK, cols, 1}},
                                     {{cols, RANK * count, 1}, {RANK, rows * count, 1}}};
    adapter.architecture = architecture;
    adapter.tensor = tensor;
    memcpy(adapter.a, shapes[shape][0], sizeof adapter.a);
    memcpy(adapter.b, shapes[shape][1], sizeof adapter.b);
    tn_gguf_close(file);
    snprintf(path, sizeof path, "%s", rig_make_adapter(&adapter));
    return path;
}

/* All reasons of the fit of a model with it; "" if it fits. To be freed. */
static char *judge(const char *name, const char *tensor, int shape, rig_adapter adapter, int32_t *code) {
    char model[512], file[64];
    snprintf(file, sizeof file, "models/%s.gguf", name);
    snprintf(model, sizeof model, "%s", rig_data(file));
    const tn_adapter asked = {
        .kind = TN_ADAPTER_LORA, .path = make(model, tensor, shape, adapter), .scale = 1000};
    const tn_model_options options = {
        .backend = "reference", .no_tokenizer = 1, .adapters = &asked, .adapter_count = 1};
    rig_result result;
    rig_fit(model, &options, &result);
    char *text = strdup(result.text);
    *code = tn_fit_code(result.fit);
    rig_end(&result);
    return text;
}

static void expect(const char *name, const char *tensor, int shape, rig_adapter adapter, int32_t code,
                   const char *words) {
    int32_t found;
    char *text = judge(name, tensor, shape, adapter, &found);
    cr_expect(found == code && strstr(text, words), "%s, %s: %s (%s), expected %s with \"%s\"", name, tensor,
              tn_code_text(found), text, tn_code_text(code), words);
    cr_expect(code == TN_OK || strstr(text, tensor), "%s is not named in: %s", tensor, text);
    free(text);
}

/* ---- shapes */

Test(fit_adapters, shapes) {
    static const struct {
        const char *model, *tensor;
        int shape;
        const char *wanted; /* NULL: it fits */
    } table[] = {
        {"llama", "blk.1.attn_q.weight", AS_MATRIX, NULL},
        {"llama", "output.weight", AS_MATRIX, NULL},
        {"llama", "token_embd.weight", AS_TABLE, NULL},
        {"gemma", "token_embd.weight", AS_TABLE, NULL}, /* which multiplies as well */
        {"gpt2", "position_embd.weight", AS_TABLE, NULL},
        {"bert-mean", "token_types.weight", AS_TABLE, NULL},
        {"mixtral", "blk.1.ffn_gate_inp.weight", AS_MATRIX, NULL},
        {"mixtral", "blk.1.ffn_gate_exps.weight", AS_MATRIX, NULL},
        {"mixtral", "blk.1.ffn_up_exps.weight", AS_MATRIX, NULL},
        {"qwen2moe", "blk.0.ffn_down_exps.weight", AS_MATRIX, NULL},
        {"gpt-oss", "blk.0.ffn_up_exps.weight", AS_MATRIX, NULL},
        {"llama", "token_embd.weight", AS_MATRIX,
         "token_embd.weight.lora_a: [64, 2, 1], expected [2, 455, 1]"},
        {"llama", "output.weight", AS_TABLE, "output.weight.lora_a: [2, 455, 1], expected [64, 2, 1]"},
        {"llama", "blk.1.attn_q.weight", AS_TABLE, "attn_q.weight.lora_a: [2, 64, 1], expected [64, 2, 1]"},
        {"mixtral", "blk.1.ffn_up_exps.weight", AS_ONE, "expected [64, 2, 8]"},
        {"mixtral", "blk.1.ffn_up_exps.weight", AS_TABLE, "expected [64, 2, 8]"},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        expect(table[i].model, table[i].tensor, table[i].shape, (rig_adapter){0},
               table[i].wanted ? TN_E_TENSOR_SHAPE : TN_OK, table[i].wanted ? table[i].wanted : "");
    }
}

/* A norm's weights are a matrix of one row; that nobody multiplies with it shows in the graph. */
Test(fit_adapters, tensors_that_multiply_nothing) {
    expect("llama", "blk.0.attn_norm.weight", AS_MATRIX, (rig_adapter){0}, TN_E_PARAM_UNSUPPORTED,
           "neither multiplied nor looked up");
}

/* The output matrix is there, and embeddings do without: so would they without the whole adapter. */
Test(fit_adapters, an_adapter_of_which_nothing_is_used) {
    char model[512];
    snprintf(model, sizeof model, "%s", rig_data("models/llama.gguf"));
    const tn_adapter asked = {.kind = TN_ADAPTER_LORA,
                              .path = make(model, "output.weight", AS_MATRIX, (rig_adapter){0}),
                              .scale = 1};
    tn_model_options options = {
        .backend = "reference", .no_tokenizer = 1, .adapters = &asked, .adapter_count = 1};
    rig_result result;
    rig_fit(model, &options, &result);
    cr_expect_eq(tn_fit_code(result.fit), TN_OK, "%s", result.text);
    rig_end(&result);
    options.purpose = TN_PURPOSE_EMBED;
    rig_fit(model, &options, &result);
    cr_expect_eq(tn_fit_code(result.fit), TN_E_PARAM_UNSUPPORTED, "%s", result.text);
    cr_expect(strstr(result.text, asked.path) && strstr(result.text, "does not compute with"), "%s",
              result.text);
    rig_end(&result);
}

/* ---- numbers */

Test(fit_adapters, numbers_that_are_none) {
    static const struct {
        const char *model, *tensor, *poked;
        int shape;
        uint64_t at;
        const char *place;
    } table[] = {
        {"llama", "blk.1.attn_q.weight", "a", AS_MATRIX, 64 + 3,
         "lora_a: % at [3, 1, 0], expected finite numbers"},
        {"llama", "blk.1.attn_q.weight", "b", AS_MATRIX, 127,
         "lora_b: % at [1, 63, 0], expected finite numbers"},
        {"llama", "token_embd.weight", "a", AS_TABLE, 909,
         "lora_a: % at [1, 454, 0], expected finite numbers"},
        {"llama", "token_embd.weight", "b", AS_TABLE, 0, "lora_b: % at [0, 0, 0], expected finite numbers"},
        {"mixtral", "blk.0.ffn_up_exps.weight", "a", AS_MATRIX, 3 * 128 + 64,
         "lora_a: % at [0, 1, 3], expected finite numbers"},
    };
    static const struct {
        float number;
        const char *name;
    } numbers[] = {{NAN, "NaN"}, {INFINITY, "an infinite number"}, {-INFINITY, "an infinite number"}};
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        for (size_t k = 0; k < sizeof numbers / sizeof *numbers; k++) {
            char words[128];
            const char *place = table[i].place, *gap = strchr(place, '%');
            snprintf(words, sizeof words, "%.*s%s%s", (int)(gap - place), place, numbers[k].name, gap + 1);
            expect(table[i].model, table[i].tensor, table[i].shape,
                   (rig_adapter){.poked = table[i].poked, .at = table[i].at, .number = numbers[k].number},
                   TN_E_FILE_DAMAGED, words);
        }
    }
}

/* 1000 is the scale here. */
Test(fit_adapters, alphas) {
    static const struct {
        float alpha;
        int32_t code;
    } table[] = {{8, TN_OK}, {-1e30f, TN_OK}, {1e36f, TN_E_PARAM_INVALID}, {NAN, TN_E_PARAM_TYPE}};
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        int32_t code;
        char *text =
            judge("llama", "output.weight", AS_MATRIX, (rig_adapter){.alpha = table[i].alpha}, &code);
        cr_expect(code == table[i].code && !code == !strstr(text, "adapter.lora.alpha"), "%g: %s",
                  table[i].alpha, text);
        free(text);
    }
}

static void expect_control(float number, const char *words) {
    const rig_adapter adapter = {.architecture = "controlvector",
                                 .tensor = "direction.2",
                                 .a = {64, 1, 1},
                                 .poked = "a",
                                 .at = 17,
                                 .number = number};
    char path[512];
    snprintf(path, sizeof path, "%s", rig_make_adapter(&adapter));
    const tn_adapter asked = {.kind = TN_ADAPTER_CONTROL_VECTOR, .path = path, .scale = 1};
    const tn_model_options options = {
        .backend = "reference", .no_tokenizer = 1, .adapters = &asked, .adapter_count = 1};
    rig_result result;
    rig_fit(rig_data("models/llama.gguf"), &options, &result);
    cr_expect_eq(tn_fit_code(result.fit), words[0] ? TN_E_FILE_DAMAGED : TN_OK, "%s", result.text);
    cr_expect(strstr(result.text, words), "no \"%s\" in: %s", words, result.text);
    rig_end(&result);
}

Test(fit_adapters, directions_that_are_none) {
    expect_control(1, "");
    expect_control(NAN, "direction.2: NaN at [17, 0, 0], expected finite numbers");
    expect_control(INFINITY, "direction.2: an infinite number at [17, 0, 0]");
}

/* Tensors of a type that nobody knows have no numbers to look at; the type is the one reason. */
Test(fit_adapters, unknown_types) {
    for (int shape = AS_MATRIX; shape <= AS_TABLE; shape++) {
        int32_t code;
        const char *tensor = shape == AS_TABLE ? "token_embd.weight" : "blk.0.attn_k.weight";
        char *text = judge("llama", tensor, shape, (rig_adapter){.type = 200}, &code);
        cr_expect(code == TN_E_FORMAT_UNKNOWN && strchr(text, '\n') == text + strlen(text) - 1,
                  "expected one reason: %s", text);
        free(text);
    }
}
