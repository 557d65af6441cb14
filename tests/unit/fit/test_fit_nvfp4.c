/*
 * test_fit_nvfp4.c - a weight in NVFP4 with and without its companions: the scale multiplies the product,
 * the scale for inputs counts as read, and what a companion may not be is refused by its name. Powers of two
 * make the expected results exact: half the scale bytes' numbers and a companion of 2 are the same model.
 */
#include "session_rig.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <unistd.h>

enum { NVFP4 = 40, BLOCK = 64, BLOCK_BYTES = 36, IDS = 6 };

/* How a copy of the llama fixture differs: one weight in NVFP4, and what lies beside it. */
typedef struct variant {
    const char *weight;    /* "output.weight" */
    uint32_t octave;       /* how often the numbers of its scale bytes are halved */
    const char *companion; /* "output.scale", or NULL */
    uint32_t type;         /* the companion's type */
    uint32_t elements;     /* its elements, of four bytes each */
    float value;           /* each of them */
    const char *input;     /* "output.input_scale", or NULL */
} variant;

static char folder[] = "fit_nvfp4_XXXXXX", path[64];

static void remove_file(void) {
    unlink(path);
    rmdir(folder);
}

static void must(int32_t code, const tn_error *err) {
    cr_assert_eq(code, TN_OK, "%s", err->text);
}

/* Any codes; scale bytes of the exponents 4 to 7 (16, 8, 4 or 2 times less than 1) less the octave. */
static void write_blocks(tn_gguf_writer *writer, uint64_t blocks, uint32_t octave) {
    tn_error err = TN_ERROR_INIT;
    uint32_t state = 1;
    for (uint64_t b = 0; b < blocks; b++) {
        uint8_t block[BLOCK_BYTES];
        for (uint32_t i = 0; i < BLOCK_BYTES; i++) {
            state = state * 1664525u + 1013904223u;
            block[i] = (uint8_t)(state >> 24);
            if (i < 4) { block[i] = (uint8_t)((0x20 | (block[i] & 0x1f)) - 8 * octave); }
        }
        must(tn_gguf_writer_write(writer, block, sizeof block, &err), &err);
    }
}

static void put_tensors(tn_gguf_writer *writer, const tn_gguf *from, const variant *v) {
    uint64_t dims[] = {v->elements}, one[] = {1};
    float unused = 7;
    tn_error err = TN_ERROR_INIT;
    int found = 0;
    for (uint64_t i = 0; i < tn_gguf_tensor_count(from); i++) {
        const tn_gguf_tensor *t = tn_gguf_tensor_at(from, i);
        int chosen = strcmp(t->name, v->weight) == 0;
        uint64_t size = chosen ? t->elements / BLOCK * BLOCK_BYTES : t->size;
        must(tn_gguf_writer_declare(writer, t->name, chosen ? NVFP4 : t->type, t->dim_count, t->dims, size,
                                    &err),
             &err);
        found += chosen;
    }
    cr_assert_eq(found, 1, "no %s", v->weight);
    if (v->companion) {
        must(tn_gguf_writer_declare(writer, v->companion, v->type, 1, dims, 4 * v->elements, &err), &err);
    }
    if (v->input) { must(tn_gguf_writer_declare(writer, v->input, 0, 1, one, sizeof unused, &err), &err); }
    for (uint64_t i = 0; i < tn_gguf_tensor_count(from); i++) {
        const tn_gguf_tensor *t = tn_gguf_tensor_at(from, i);
        if (strcmp(t->name, v->weight) == 0) {
            write_blocks(writer, t->elements / BLOCK, v->octave);
        } else {
            must(tn_gguf_writer_write(writer, t->data, t->size, &err), &err);
        }
    }
    for (uint32_t i = 0; v->companion && i < v->elements; i++) {
        must(tn_gguf_writer_write(writer, &v->value, sizeof v->value, &err), &err);
    }
    if (v->input) { must(tn_gguf_writer_write(writer, &unused, sizeof unused, &err), &err); }
}

static const char *make(const variant *v) {
    tn_error err = TN_ERROR_INIT;
    tn_gguf *from = NULL;
    tn_gguf_writer *writer = NULL;
    if (!path[0]) {
        cr_assert_not_null(mkdtemp(folder));
        snprintf(path, sizeof path, "%s/made.gguf", folder);
        atexit(remove_file);
    }
    must(tn_gguf_open(rig_data("models/llama.gguf"), tn_engine_types(rig_engine()), &from, &err), &err);
    must(tn_gguf_writer_create(path, &writer, &err), &err);
    for (uint64_t i = 0; i < tn_gguf_kv_count(from); i++) {
        tn_kv kv = {.struct_size = sizeof kv};
        const char *key = tn_gguf_kv_at(from, i, &kv);
        must(tn_gguf_writer_put(writer, key, &kv, &err), &err);
    }
    put_tensors(writer, from, v);
    must(tn_gguf_writer_finish(writer, &err), &err);
    tn_gguf_close(from);
    return path;
}

/* The logits of some tokens; to be freed. `count`: how many numbers. */
static float *logits(const variant *v, const char *backend, size_t *count) {
    tn_model_options options = {.backend = backend, .cache_type = "f32"};
    tn_error err = TN_ERROR_INIT;
    tn_model *model = NULL;
    int32_t ids[IDS];
    must(tn_model_load(rig_engine(), make(v), &options, &model, NULL, &err), &err);
    rig_ids(model, 1, ids, IDS);
    float *rows = rig_alone(model, ids, IDS);
    *count = IDS * tn_model_output_width(model);
    tn_model_close(model);
    return rows;
}

/*
 * The logits of `a` are those of `b` times `factor`, up to `tolerance` of them: a backend may round once or
 * twice.
 */
static void compare(const variant *a, const variant *b, float factor, float tolerance) {
    static const char *const backends[] = {"reference", "cpu"};
    for (int k = 0; k < 2; k++) {
        size_t count, differing = 0;
        float *found = logits(a, backends[k], &count), *wanted = logits(b, backends[k], &count);
        for (size_t i = 0; i < count; i++) {
            float want = factor * wanted[i];
            cr_assert_leq(fabsf(found[i] - want), tolerance * fabsf(want),
                          "%s, %s, number %zu: %.9g, expected %.9g", a->weight, backends[k], i,
                          (double)found[i], (double)want);
            differing += wanted[i] != wanted[0];
        }
        cr_assert_gt(differing, count / 2, "%s: the rows say nothing", backends[k]);
        free(found), free(wanted);
    }
}

static void refused(const variant *v, int32_t code, const char *words) {
    rig_result result;
    rig_fit(make(v), &(tn_model_options){.backend = "reference"}, &result);
    cr_expect_eq(tn_fit_code(result.fit), code, "%s, expected %s:\n%s", tn_code_text(tn_fit_code(result.fit)),
                 tn_code_text(code), result.text);
    cr_expect(strstr(result.text, words), "no \"%s\" in:\n%s", words, result.text);
    rig_end(&result);
}

Test(fit_nvfp4, the_scale_multiplies_the_product) {
    variant plain = {.weight = "output.weight"}, scaled = plain;
    scaled.companion = "output.scale", scaled.elements = 1;
    scaled.value = 2;
    compare(&scaled, &plain, 2, 0);
    scaled.value = 1.7f;
    compare(&scaled, &plain, 1.7f, 0x1p-22f);
}

Test(fit_nvfp4, a_scale_inside_the_model_is_as_good_as_larger_scale_bytes) {
    static const char *const names[][2] = {{"blk.0.attn_q.weight", "blk.0.attn_q.scale"},
                                           {"blk.1.attn_v.weight", "blk.1.attn_v.scale"},
                                           {"blk.0.attn_output.weight", "blk.0.attn_output.scale"},
                                           {"blk.1.ffn_gate.weight", "blk.1.ffn_gate.scale"}};
    for (int i = 0; i < 4; i++) {
        variant plain = {.weight = names[i][0]}, scaled = plain;
        scaled.octave = 2, scaled.companion = names[i][1], scaled.elements = 1, scaled.value = 4;
        compare(&scaled, &plain, 1, 0);
    }
}

Test(fit_nvfp4, the_input_scale_counts_as_read) {
    variant both = {"output.weight", 0, "output.scale", 0, 1, 2, "output.input_scale"}, alone = both;
    rig_result result;
    uint64_t tensors, read;
    rig_fit(make(&both), &(tn_model_options){.backend = "reference"}, &result);
    cr_expect_eq(tn_fit_code(result.fit), TN_OK, "%s", result.text);
    tn_fit_audit(result.fit, &tensors, &read);
    cr_expect_eq(read, tensors, "%d of %d tensors read", (int)read, (int)tensors);
    rig_end(&result);
    alone.companion = NULL;
    compare(&both, &alone, 2, 0); /* and is not used */
}

Test(fit_nvfp4, what_no_companion_may_be) {
    variant v = {"output.weight", 0, "output.scale", 0, 3, 2, NULL};
    refused(&v, TN_E_TENSOR_SHAPE, "output.scale: [3]");
    v.elements = 1, v.type = 26; /* I32 */
    refused(&v, TN_E_FORMAT_REFUSED, "output.scale");
    v.type = 0, v.companion = "output.weight.scale"; /* the suffix takes the place of ".weight" */
    refused(&v, TN_E_TENSOR_UNREAD, "output.weight.scale");
    v.companion = "blk.0.attn_q.scale"; /* beside a weight of another type */
    refused(&v, TN_E_TENSOR_UNREAD, "blk.0.attn_q.scale");
}
