/*
 * The published mixes against what the peer's quantiser chose: tests/data/mix/NAME.json has for ten models and 32
 * file types, with and without importance data, the type of every tensor. Blocks come from a table here, so that
 * types which no plugin reads are chosen as well.
 */
#include "quant_choose.h"
#include "support.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

static tn_error error = TN_ERROR_INIT;

/* FORMATS: a block of any other type has 256. */
static int32_t block_of(void *context, const char *type, uint32_t *out, tn_error *err) {
    static const struct {
        const char *type;
        uint32_t block;
    } blocks[] = {{"F32", 1},   {"F16", 1},   {"BF16", 1},   {"Q4_0", 32},   {"Q4_1", 32},  {"Q5_0", 32},
                  {"Q5_1", 32}, {"Q8_0", 32}, {"Q1_0", 128}, {"IQ4_NL", 32}, {"MXFP4", 32}, {"Q2_0", 64}};
    (void)context;
    (void)err;
    *out = 256;
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) {
        if (strcmp(blocks[i].type, type) == 0) { *out = blocks[i].block; }
    }
    return TN_OK;
}

static tn_mix published;

static void read_published(void) {
    char *path = tn_test_build("lib/tenon/plugins/published.mix");
    size_t size;
    unsigned char *text = tn_test_read(path, &size);
    cr_assert(eq(i32, tn_mix_read(path, (const char *)text, size, &published, &error), TN_OK), "%s",
              error.text);
    free(text);
    free(path);
}

static void free_published(void) {
    tn_mix_free(&published);
}

TestSuite(quant_mix, .init = read_published, .fini = free_published, .timeout = 120);

static int64_t number(const json_t *object, const char *key) {
    return json_integer_value(json_object_get(object, key));
}

/* One model of the data: its tensors, and a pointer to each. */
typedef struct model_shape {
    json_t *root;
    tn_mix_model model;
    uint64_t count;
    tn_gguf_tensor *tensors;
    const tn_gguf_tensor **at;
} model_shape;

static void read_shape(const char *name, model_shape *out) {
    json_error_t why;
    char *folder = tn_test_data("mix"), *path = tn_test_path(folder, name);
    *out = (model_shape){.root = json_load_file(path, 0, &why)};
    cr_assert(out->root != NULL, "%s: %s", path, why.text);
    const json_t *model = json_object_get(out->root, "model"),
                 *tensors = json_object_get(out->root, "tensors");
    snprintf(out->model.architecture, sizeof out->model.architecture, "%s",
             json_string_value(json_object_get(model, "arch")));
    out->model.layers = (uint64_t)number(model, "layers");
    out->model.gqa = (uint64_t)number(model, "gqa");
    out->model.experts = (uint64_t)number(model, "experts");
    out->count = json_array_size(tensors);
    out->tensors = calloc(out->count, sizeof *out->tensors);
    out->at = calloc(out->count, sizeof *out->at);
    for (uint64_t i = 0; i < out->count; i++) {
        const json_t *row = json_array_get(tensors, i), *dims = json_array_get(row, 1);
        tn_gguf_tensor *tensor = &out->tensors[i];
        *tensor = (tn_gguf_tensor){.name = json_string_value(json_array_get(row, 0)), .elements = 1};
        tensor->dim_count = (uint32_t)json_array_size(dims);
        for (uint32_t d = 0; d < 4; d++) {
            tensor->dims[d] =
                d < tensor->dim_count ? (uint64_t)json_integer_value(json_array_get(dims, d)) : 1;
            tensor->elements *= tensor->dims[d];
        }
        out->at[i] = tensor;
    }
    free(path);
    free(folder);
}

static void free_shape(model_shape *shape) {
    json_decref(shape->root);
    free(shape->tensors);
    free(shape->at);
}

static const char *wanted_type(const json_t *wanted, uint64_t tensor) {
    const char *type;
    const json_t *list, *item;
    size_t i;
    json_object_foreach (json_object_get(wanted, "except"), type, list) {
        json_array_foreach (list, i, item) {
            if ((uint64_t)json_integer_value(item) == tensor) { return type; }
        }
    }
    return json_string_value(json_object_get(wanted, "most"));
}

/* What is kept is listed with the type that it had. */
static uint64_t expect_same(const model_shape *shape, const char *file, const json_t *wanted) {
    tn_mix_pick *picks = calloc(shape->count, sizeof *picks);
    char name[32];
    uint32_t number;
    snprintf(name, sizeof name, "%.*s", (int)strcspn(file, "+"), file);
    const tn_mixes all = {&published, 1};
    cr_assert(tn_mixes_find(&all, name, &number) == &published, "%s is not published", name);
    tn_mix_model model = shape->model;
    model.importance = strchr(file, '+') != NULL;
    const tn_mix_ask ask = {.mix = &published,
                            .file = number,
                            .model = &model,
                            .tensors = shape->at,
                            .count = shape->count,
                            .block = block_of};
    int32_t code = tn_mix_choose(&ask, picks, &error);
    if (json_is_null(wanted)) {
        cr_expect(eq(i32, code, TN_E_FORMAT_REFUSED), "%s: the peer refuses", file);
        free(picks);
        return 0;
    }
    cr_assert(eq(i32, code, TN_OK), "%s: %s", file, error.text);
    uint64_t compared = 0;
    for (uint64_t i = 0; i < shape->count; i++) {
        const char *type = wanted_type(wanted, i), *ours = picks[i].keep ? "kept" : picks[i].type;
        int kept = strcmp(type, "F32") == 0 || (picks[i].keep && strcmp(type, "F16") == 0);
        compared++;
        cr_expect(kept ? picks[i].keep != NULL : strcmp(type, ours) == 0, "%s %s, %s: %s, the peer chose %s",
                  shape->model.architecture, file, shape->at[i]->name, ours, type);
    }
    free(picks);
    return compared;
}

Test(quant_mix, every_tensor_of_every_model_and_file_type_is_as_published) {
    char *folder = tn_test_data("mix");
    size_t count;
    char **names = tn_test_names(folder, &count);
    uint64_t compared = 0, types = 0;
    cr_assert(eq(sz, count, 10));
    for (size_t i = 0; i < count; i++) {
        model_shape shape;
        const char *file;
        const json_t *wanted;
        read_shape(names[i], &shape);
        json_object_foreach (json_object_get(shape.root, "file_types"), file, wanted) {
            compared += expect_same(&shape, file, wanted);
            types++;
        }
        free_shape(&shape);
    }
    cr_expect(eq(u64, types, 10 * 2 * 32));
    cr_expect(compared > 100000, "only %" PRIu64 " tensors compared", compared);
    tn_test_names_free(names, count);
    free(folder);
}

/* What FORMATS says of file types, number by number. */
Test(quant_mix, file_types_have_their_numbers_and_names) {
    static const struct {
        const char *name, *is, *base;
        int64_t number;
    } wanted[] = {{"f32", "F32", "F32", 0},
                  {"F16", "F16", "F16", 1},
                  {"bf16", "BF16", "BF16", 32},
                  {"Q4_K", "Q4_K_M", "Q4_K", 15},
                  {"q3_k", "Q3_K_M", "Q3_K", 12},
                  {"Q5_K", "Q5_K_M", "Q5_K", 17},
                  {"IQ2_S", "IQ2_S", "IQ2_XS", 28},
                  {"IQ2_M", "IQ2_M", "IQ2_S", 29},
                  {"IQ3_XS", "IQ3_XS", "IQ3_S", 22},
                  {"NVFP4", "NVFP4", "NVFP4", 39},
                  {"Q2_0", "Q2_0", "Q2_0", 41},
                  {"Q2_K_S", "Q2_K_S", "Q2_K", 21},
                  {"MXFP4_MOE", "MXFP4_MOE", "MXFP4", 38}};
    const tn_mixes all = {&published, 1};
    uint32_t number;
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        cr_assert(tn_mixes_find(&all, wanted[i].name, &number) != NULL, "%s", wanted[i].name);
        const tn_mix_file *file = &published.files[number];
        cr_expect(eq(str, (char *)file->name, (char *)wanted[i].is));
        cr_expect(eq(str, (char *)file->base, (char *)wanted[i].base));
        cr_expect(eq(i64, file->number, wanted[i].number), "%s", wanted[i].name);
    }
    cr_expect(tn_mixes_find(&all, "COPY", &number) == NULL);
    cr_expect(tn_mixes_find(&all, "Q4_K_X", &number) == NULL);
    cr_expect(eq(u32, published.file_count, 36));
}

/* ---- names that are kept, and what needs importance ------------------------------------------------------ */

static void choose_one(const char *file, const char *name, const uint64_t dims[4], tn_mix_pick *out) {
    const tn_gguf_tensor tensor = {.name = name,
                                   .dim_count = 4,
                                   .dims = {dims[0], dims[1], dims[2], dims[3]},
                                   .elements = dims[0] * dims[1] * dims[2] * dims[3]};
    const tn_gguf_tensor *at = &tensor;
    const tn_mix_model model = {.architecture = "none", .layers = 8, .gqa = 1};
    const tn_mixes all = {&published, 1};
    tn_mix_ask ask = {.mix = &published, .model = &model, .tensors = &at, .count = 1, .block = block_of};
    cr_assert(tn_mixes_find(&all, file, &ask.file) != NULL);
    cr_assert(eq(i32, tn_mix_choose(&ask, out, &error), TN_OK), "%s", error.text);
}

Test(quant_mix, tensors_that_are_small_or_sensitive_are_kept) {
    static const char *const kept[] = {"blk.0.attn_norm.weight",
                                       "blk.0.ffn_gate_inp.weight",
                                       "blk.0.ffn_gate_tid2eid.weight",
                                       "blk.0.altup_x.weight",
                                       "blk.0.laurel_l.weight",
                                       "per_layer_model_proj.weight",
                                       "blk.0.ssm_conv1d.weight",
                                       "blk.3.shortconv.conv.weight",
                                       "blk.0.indexer.k_proj.weight",
                                       "blk.0.indexer.q_proj.weight",
                                       "enc.blk.0.attn_rel_b.weight",
                                       "position_embd.weight",
                                       "token_types.weight",
                                       "blk.0.time_mix_first.weight",
                                       "blk.0.time_mix_w0.weight",
                                       "blk.0.time_mix_v2.weight",
                                       "blk.0.time_mix_a1.weight",
                                       "blk.0.time_mix_g1.weight",
                                       "blk.0.time_mix_g2.weight",
                                       "blk.0.time_mix_decay_w2.weight",
                                       "blk.0.time_mix_lerp_fused.weight",
                                       "v.position_embd.weight",
                                       "v.rel_pos_h.weight",
                                       "v.patch_embd.weight",
                                       "mm.patch_merger.weight",
                                       "v.sam.pos_embd.weight",
                                       "v.sam.neck.0.weight",
                                       "v.sam.net_2.weight",
                                       "a.rvq.codebook.weight",
                                       "mm.a.code_embd.weight",
                                       "blk.0.attn_q.bias",
                                       "blk.0.attn_q.scale"};
    static const char *const converted[] = {"blk.0.attn_q.weight",   "blk.0.time_mix_w3.weight", "cls.weight",
                                            "v.blk.0.ffn_up.weight", "blk.0.time_mix_g3.weight", "weight"};
    static const uint64_t dims[4] = {512, 64, 1, 1};
    tn_mix_pick pick;
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++) {
        choose_one("Q8_0", kept[i], dims, &pick);
        cr_expect(pick.keep != NULL, "%s is converted", kept[i]);
    }
    for (size_t i = 0; i < sizeof converted / sizeof *converted; i++) {
        choose_one("Q8_0", converted[i], dims, &pick);
        cr_expect(pick.keep == NULL, "%s is kept", converted[i]);
    }
    choose_one("Q8_0", "blk.0.attn_q.weight", (uint64_t[]){512, 1, 1, 1}, &pick);
    cr_expect(pick.keep != NULL, "one dimension is kept");
}

Test(quant_mix, importance_is_needed_where_a_type_is_too_coarse_without) {
    static const struct {
        const char *file, *tensor, *type;
        int needed;
    } wanted[] = {
        {"IQ2_XXS", "blk.0.attn_q.weight", "IQ2_XXS", 1}, {"IQ2_S", "blk.7.ffn_down.weight", "IQ3_S", 0},
        {"IQ2_S", "blk.0.attn_q.weight", "IQ2_XS", 1},    {"IQ3_XXS", "blk.0.attn_q.weight", "IQ2_S", 1},
        {"IQ3_XXS", "blk.0.ffn_up.weight", "IQ3_XXS", 1}, {"IQ3_S", "blk.0.ffn_up.weight", "IQ3_S", 0},
        {"Q2_K_S", "blk.0.ffn_up.weight", "Q2_K", 1},     {"Q2_K", "blk.0.ffn_up.weight", "Q2_K", 0},
        {"IQ2_XXS", "token_embd.weight", "Q5_K", 0},      {"Q2_K_S", "token_embd.weight", "Q6_K", 0},
        {"IQ4_XS", "blk.0.ffn_up.weight", "IQ4_XS", 0},   {"F16", "blk.0.ffn_up.weight", "F16", 0}};
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        tn_mix_pick pick;
        choose_one(wanted[i].file, wanted[i].tensor, (uint64_t[]){512, 64, 1, 1}, &pick);
        cr_assert(pick.keep == NULL);
        cr_expect(eq(str, (char *)pick.type, (char *)wanted[i].type), "%s %s", wanted[i].file,
                  wanted[i].tensor);
        cr_expect(eq(i32, pick.needs_importance, wanted[i].needed), "%s %s", wanted[i].file,
                  wanted[i].tensor);
    }
}

/* Float files have no mix: the output is as all others. */
Test(quant_mix, float_files_are_of_one_type) {
    tn_mix_pick pick;
    choose_one("F16", "output.weight", (uint64_t[]){100, 64, 1, 1}, &pick);
    cr_expect(eq(str, (char *)pick.type, "F16"));
    choose_one("BF16", "token_embd.weight", (uint64_t[]){100, 64, 1, 1}, &pick);
    cr_expect(eq(str, (char *)pick.type, "BF16"));
}
