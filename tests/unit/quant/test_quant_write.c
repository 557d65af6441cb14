/* What is written: numbers, metadata, shards; and what is not, when something goes wrong. */
#include "imatrix.h"
#include "quant_rig.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

TestSuite(quant_write, .fini = rig_end, .timeout = 120);

static tn_error error = TN_ERROR_INIT;

static const rig_tensor some[] = {{"token_embd.weight", F32, 2, {256, 40}},
                                  {"blk.0.attn_norm.weight", F32, 1, {256}},
                                  {"blk.0.ids", 26, 1, {77}},
                                  {"blk.0.attn_q.weight", F32, 2, {256, 64}},
                                  {"blk.0.attn_v.weight", F16, 2, {256, 64}},
                                  {"blk.0.ffn_down_exps.weight", F32, 3, {96, 32, 5}},
                                  {"output.weight", F32, 2, {256, 40}}};
enum { SOME = sizeof some / sizeof *some };
static const rig_model some_model = {.tensors = some, .count = SOME};

/* ---- numbers --------------------------------------------------------------------------------------------- */

/* Rows as the format's own encoder makes them, all of a matrix at once. */
static void *encoded(size_t tensor, const char *type, const float *importance, uint64_t *size) {
    const rig_tensor *from = &some[tensor];
    tn_format_use use;
    tn_engine *engine = rig_engine(3);
    uint64_t cols = from->dims[0], rows = from->dims[1], matrices = from->dim_count > 2 ? from->dims[2] : 1;
    cr_assert(eq(i32, tn_engine_format(engine, (uint32_t)tn_engine_type_number(engine, type), &use, &error),
                 TN_OK));
    uint64_t bytes = rows * cols / use.format->block * use.format->block_bytes;
    unsigned char *blocks = malloc(*size = matrices * bytes);
    float *x = malloc(rows * cols * sizeof *x);
    for (uint64_t m = 0; m < matrices; m++) {
        for (uint64_t i = 0; i < rows * cols; i++) { x[i] = rig_value(tensor, m * rows * cols + i); }
        int32_t code = use.format->encode(use.self, x, rows, cols, importance ? importance + m * cols : NULL,
                                          blocks + m * bytes, &error);
        cr_assert(eq(i32, code, TN_OK), "%s", error.text);
    }
    free(x);
    return blocks;
}

static void expect_encoded(const tn_gguf *file, size_t tensor, const char *type, const float *importance) {
    const tn_gguf_tensor *found = tn_gguf_tensor_find(file, some[tensor].name);
    uint64_t size;
    void *wanted = encoded(tensor, type, importance, &size);
    cr_assert(found != NULL);
    cr_expect(eq(i64, found->type, tn_engine_type_number(rig_engine(3), type)), "%s", found->name);
    cr_assert(eq(u64, found->size, size), "%s", found->name);
    cr_expect(memcmp(found->data, wanted, size) == 0, "%s is not as its encoder makes it", found->name);
    free(wanted);
}

Test(quant_write, every_matrix_is_as_the_encoder_of_its_type_makes_it) {
    static float sums[5 * 96], ones[256], importance[5 * 96];
    static const float counts[5] = {1, 2, 0, 4, 5};
    for (size_t i = 0; i < 5 * 96; i++) {
        sums[i] = (float)(1 + i * 7 % 13);
        importance[i] = counts[i / 96] > 0 ? sums[i] / counts[i / 96] : 1;
    }
    for (size_t i = 0; i < 256; i++) { ones[i] = (float)(1 + i % 5); }
    const rig_entry entries[] = {{"blk.0.ffn_down_exps.weight", 96, 5, sums, counts},
                                 {"blk.0.attn_q.weight", 256, 1, ones, (float[]){1}}};
    const tn_quantize_options options = {.type = "Q4_0", .importance = rig_importance("i.gguf", entries, 2)};
    const char *from = rig_write("a.gguf", &some_model), *to = rig_path("b.gguf");
    rig_quantize(from, &options, to);
    tn_gguf *file = rig_open(to), *source = rig_open(from);
    expect_encoded(file, 0, "Q4_0", NULL);
    expect_encoded(file, 3, "Q4_0", ones);
    expect_encoded(file, 4, "Q4_0", NULL);       /* F16, exact */
    expect_encoded(file, 5, "Q4_1", importance); /* early ffn_down with importance */
    expect_encoded(file, 6, "Q6_K", NULL);
    for (size_t i = 1; i < 3; i++) { /* one dimension; a type that nobody reads */
        const tn_gguf_tensor *a = tn_gguf_tensor_find(source, some[i].name),
                             *b = tn_gguf_tensor_find(file, some[i].name);
        const unsigned char *x =
            (const unsigned char *)tn_gguf_tensor_find(source, "token_embd.weight")->data +
            (a->offset - tn_gguf_tensor_find(source, "token_embd.weight")->offset);
        const unsigned char *y = (const unsigned char *)tn_gguf_tensor_find(file, "token_embd.weight")->data +
                                 (b->offset - tn_gguf_tensor_find(file, "token_embd.weight")->offset);
        cr_expect(eq(u32, a->type, b->type));
        cr_expect(memcmp(x, y, i == 1 ? 1024 : 77) == 0, "%s", some[i].name);
    }
    tn_gguf_close(source);
    tn_gguf_close(file);
}

static int same_files(const char *a, const char *b) {
    size_t x, y;
    unsigned char *p = tn_test_read(a, &x), *q = tn_test_read(b, &y);
    int same = x == y && memcmp(p, q, x) == 0;
    free(p);
    free(q);
    return same;
}

Test(quant_write, the_number_of_workers_changes_nothing) {
    static const rig_tensor big[] = {{"a.weight", F32, 2, {4096, 300}},
                                     {"b.weight", F16, 3, {32, 7, 900}},
                                     {"n.weight", F32, 1, {7}},
                                     {"c.weight", F32, 2, {512, 1111}}};
    const rig_model model = {.tensors = big, .count = 4};
    const tn_quantize_options options = {.type = "Q4_1"};
    rig_engine(1);
    rig_quantize(rig_write("a.gguf", &model), &options, rig_path("1.gguf"));
    for (uint32_t threads = 2; threads < 10; threads += 3) {
        char name[16];
        snprintf(name, sizeof name, "%u.gguf", threads);
        rig_engine(threads);
        rig_quantize(rig_path("a.gguf"), &options, rig_path(name));
        cr_expect(same_files(rig_path("1.gguf"), rig_path(name)), "%u threads", threads);
    }
}

/* Longer than a piece: cut into blocks, and the last cut is shorter. */
Test(quant_write, rows_that_are_longer_than_a_piece) {
    static const rig_tensor lengthy[] = {{"a.weight", F32, 2, {(1 << 17) * 2 + 96, 3}}};
    const rig_model model = {.tensors = lengthy, .count = 1};
    const tn_quantize_options options = {.type = "Q8_0", .pure = 1};
    rig_quantize(rig_write("a.gguf", &model), &options, rig_path("b.gguf"));
    tn_gguf *file = rig_open(rig_path("b.gguf"));
    float *numbers = rig_numbers(file, "a.weight");
    for (uint64_t i = 0; i < 3 * ((1 << 17) * 2 + 96); i++) {
        cr_assert(fabsf(numbers[i] - rig_value(0, i)) < 1.0f / 200, "number %" PRIu64 ": %g, %g", i,
                  (double)numbers[i], (double)rig_value(0, i));
    }
    free(numbers);
    tn_gguf_close(file);
}

/* Each piece gets the importance of its own columns. */
Test(quant_write, importance_of_rows_that_are_longer_than_a_piece) {
    enum { PIECE = 1 << 17, COLUMNS = 2 * PIECE + 96, ROWS = 2, BYTES = COLUMNS / 32 * 18 };
    static const rig_tensor lengthy[] = {{"a.weight", F32, 2, {COLUMNS, ROWS}}};
    static float sums[COLUMNS], x[PIECE];
    static unsigned char blocks[PIECE / 32 * 18];
    for (size_t i = 0; i < COLUMNS; i++) { sums[i] = (float)(1 + i * 7 % 1013); }
    const rig_entry entry = {"a.weight", COLUMNS, 1, sums, (float[]){1}};
    const rig_model model = {.tensors = lengthy, .count = 1};
    const tn_quantize_options options = {
        .type = "Q4_0", .pure = 1, .importance = rig_importance("i.gguf", &entry, 1)};
    rig_quantize(rig_write("a.gguf", &model), &options, rig_path("b.gguf"));
    tn_gguf *file = rig_open(rig_path("b.gguf"));
    const unsigned char *data = tn_gguf_tensor_find(file, "a.weight")->data;
    tn_format_use use;
    cr_assert(eq(i32, tn_engine_format(rig_engine(3), Q4_0, &use, &error), TN_OK));
    for (uint64_t row = 0; row < ROWS; row++) {
        for (uint64_t from = 0; from < COLUMNS; from += PIECE) {
            uint64_t size = COLUMNS - from < PIECE ? COLUMNS - from : PIECE;
            for (uint64_t i = 0; i < size; i++) { x[i] = rig_value(0, row * COLUMNS + from + i); }
            cr_assert(eq(i32, use.format->encode(use.self, x, 1, size, sums + from, blocks, &error), TN_OK));
            cr_expect(memcmp(data + row * BYTES + from / 32 * 18, blocks, size / 32 * 18) == 0,
                      "row %" PRIu64 " from column %" PRIu64, row, from);
        }
    }
    tn_gguf_close(file);
}

/* Memory is a matter of workers and types, and of no tensor. */
Test(quant_write, buffers_do_not_grow_with_tensors) {
    static const rig_tensor large[] = {{"a.weight", F32, 2, {1 << 19, 4}}},
                            small[] = {{"a.weight", F32, 2, {4096, 64}}};
    const rig_model models[] = {{.tensors = large, .count = 1}, {.tensors = small, .count = 1}};
    static float sums[1 << 19];
    for (int importance = 0; importance < 2; importance++) {
        tn_quantize_options options = {.type = "Q4_0"};
        uint64_t bytes[2];
        for (int i = 0; i < 2; i++) {
            const rig_entry entry = {"a.weight", models[i].tensors[0].dims[0], 1, sums, (float[]){1}};
            if (importance) { options.importance = rig_importance("i.gguf", &entry, 1); }
            tn_gguf *file = rig_open(rig_write("a.gguf", &models[i]));
            tn_quantize_plan *plan = rig_plan(file, &options);
            cr_expect(eq(u32, tn_quantize_at(plan, 0)->importance, (uint32_t)importance));
            bytes[i] = tn_quantize_memory(plan);
            tn_quantize_plan_free(plan);
            tn_gguf_close(file);
        }
        cr_expect(importance ? bytes[0] <= 3 * (3u << 20) : bytes[0] == bytes[1]);
        cr_expect(bytes[0] <= 3 * (3u << 20), "%" PRIu64 " bytes for 3 workers", bytes[0]);
    }
}

/* ---- scales that belong to a format ---------------------------------------------------------------------- */

Test(quant_write, scales_of_a_format_are_multiplied_into_its_tensors) {
    if (!rig_writes("NVFP4")) { cr_skip_test("this build does not write NVFP4"); }
    static const rig_tensor tensors[] = {{"blk.0.ffn_up_exps.weight", NVFP4, 3, {64, 2, 3}},
                                         {"blk.0.ffn_up_exps.scale", F32, 1, {3}},
                                         {"blk.0.ffn_up_exps.input_scale", F32, 1, {1}},
                                         {"blk.0.attn_q.weight", NVFP4, 2, {64, 2}},
                                         {"blk.0.attn_q.scale", F32, 1, {1}},
                                         {"blk.0.attn_k.weight", F32, 2, {64, 2}},
                                         {"blk.0.attn_k.scale", F32, 1, {1}}};
    const rig_model model = {.tensors = tensors, .count = 7};
    tn_quantize_options options = {.type = "F32", .allow_requantize = 1};
    const char *from = rig_write("a.gguf", &model), *to = rig_path("b.gguf");
    rig_quantize(from, &options, to);
    tn_gguf *source = rig_open(from), *file = rig_open(to);
    cr_expect(
        eq(u64, tn_gguf_tensor_count(file), 4)); /* a scale beside another format is a tensor like others */
    cr_expect(tn_gguf_tensor_find(file, "blk.0.attn_k.scale") != NULL);
    for (int single = 0; single < 2; single++) {
        const char *name = single ? "blk.0.attn_q.weight" : "blk.0.ffn_up_exps.weight";
        float *before = rig_numbers(source, name), *after = rig_numbers(file, name);
        for (uint64_t i = 0; i < (single ? 128 : 384); i++) {
            float factor = single ? rig_value(4, 0) : rig_value(1, i / 128);
            cr_assert(eq(flt, after[i], before[i] * factor), "%s %" PRIu64, name, i);
        }
        free(before);
        free(after);
    }
    tn_gguf_close(file);
    options.type = "NVFP4"; /* a tensor like others would become a scale */
    rig_refused(
        source, &options, TN_E_INPUT,
        "with tensor blk.0.attn_k.weight in NVFP4, tensor blk.0.attn_k.scale would be taken for a scale");
    options.rules = &(tn_type_rule){"attn_k", "F32"};
    options.rule_count = 1; /* where the tensor stays as it is, so does its scale */
    rig_quantize(from, &options, rig_path("c.gguf"));
    file = rig_open(rig_path("c.gguf"));
    cr_expect(eq(u64, tn_gguf_tensor_count(file), 7));
    tn_gguf_close(file);
    tn_gguf_close(source);
}

/* The rule of names is that of the loader: a companion of any X, with ".weight" or without. */
Test(quant_write, companions_are_named_as_the_loader_names_them) {
    if (!rig_writes("NVFP4")) { cr_skip_test("this build does not write NVFP4"); }
    static const rig_tensor bare[] = {{"some_weight", NVFP4, 2, {64, 2}},
                                      {"some_weight.scale", F32, 1, {1}},
                                      {"a.weight", F32, 2, {64, 2}}};
    static const rig_tensor plain[] = {{"some_weight", F32, 2, {64, 2}},
                                       {"some_weight.input_scale", F32, 1, {1}},
                                       {"a.weight", F32, 2, {64, 2}}};
    const rig_model models[] = {{.tensors = bare, .count = 3}, {.tensors = plain, .count = 3}};
    const tn_type_rule all[] = {{"some_weight", "F32"}, {"some_weight", "NVFP4"}};
    tn_quantize_options options = {
        .type = "F32", .allow_requantize = 1, .rules = all, .rule_count = 1, .pure = 1};
    rig_quantize(rig_write("a.gguf", &models[0]), &options, rig_path("b.gguf"));
    tn_gguf *source = rig_open(rig_path("a.gguf")), *file = rig_open(rig_path("b.gguf"));
    float *before = rig_numbers(source, "some_weight"), *after = rig_numbers(file, "some_weight");
    cr_expect(eq(u64, tn_gguf_tensor_count(file), 2));
    for (uint64_t i = 0; i < 128; i++) { cr_assert(eq(flt, after[i], before[i] * rig_value(1, 0))); }
    free(before);
    free(after);
    tn_gguf_close(file);
    tn_gguf_close(source);
    options.rules = &all[1];
    source = rig_open(rig_write("c.gguf", &models[1]));
    rig_refused(
        source, &options, TN_E_INPUT,
        "with tensor some_weight in NVFP4, tensor some_weight.input_scale would be taken for a scale of it");
    tn_gguf_close(source);
}

/* ---- metadata -------------------------------------------------------------------------------------------- */

static uint32_t number_at(const tn_gguf *file, const char *key) {
    tn_kv kv = {.struct_size = sizeof kv};
    uint32_t value;
    cr_assert(eq(i32, tn_gguf_meta(file)->find(tn_gguf_meta(file), key, &kv), TN_OK), "%s", key);
    cr_assert(eq(u32, kv.type, TN_KV_U32), "%s", key);
    memcpy(&value, kv.data, sizeof value);
    return value;
}

static void expect_text(const tn_gguf *file, const char *key, const char *wanted) {
    tn_kv kv = {.struct_size = sizeof kv};
    cr_assert(eq(i32, tn_gguf_meta(file)->find(tn_gguf_meta(file), key, &kv), TN_OK), "%s", key);
    cr_expect(kv.size == strlen(wanted) && memcmp(kv.data, wanted, kv.size) == 0, "%s is \"%.*s\"", key,
              (int)kv.size, (const char *)kv.data);
}

/* All keys of `a` are in `b`, in the same order; all but the file type with the same value. */
static void expect_keys(const tn_gguf *a, const tn_gguf *b) {
    uint64_t at = 0;
    for (uint64_t i = 0; i < tn_gguf_kv_count(a); i++) {
        tn_kv x = {.struct_size = sizeof x}, y = {.struct_size = sizeof y};
        const char *key = tn_gguf_kv_at(a, i, &x);
        while (at < tn_gguf_kv_count(b) && strcmp(tn_gguf_kv_at(b, at, &y), key) != 0) { at++; }
        cr_assert(at < tn_gguf_kv_count(b), "%s is not there, or not in its place", key);
        if (strcmp(key, "general.file_type") == 0) { continue; }
        cr_expect(x.type == y.type && x.size == y.size && memcmp(x.data, y.data, x.size) == 0, "%s differs",
                  key);
    }
}

Test(quant_write, metadata_are_kept_but_for_what_must_change) {
    const rig_model model = {.tensors = some, .count = SOME, .alignment = 128};
    const rig_entry entry = {"blk.0.attn_q.weight", 256, 1, (float[256]){1}, (float[]){1}};
    tn_quantize_options options = {.type = "Q4_0"};
    const char *from = rig_write("a.gguf", &model);
    rig_quantize(from, &options, rig_path("b.gguf"));
    tn_gguf *source = rig_open(from), *file = rig_open(rig_path("b.gguf"));
    expect_keys(source, file);
    cr_expect(eq(u64, tn_gguf_kv_count(file), tn_gguf_kv_count(source) + 1));
    cr_expect(eq(u32, number_at(file, "general.file_type"), 2));
    cr_expect(eq(u32, number_at(file, "general.quantization_version"), 2));
    cr_expect(eq(u32, tn_gguf_alignment(file), 128));
    tn_gguf_close(file);
    options.importance = rig_importance("i.gguf", &entry, 1);
    rig_quantize(from, &options, rig_path("c.gguf"));
    file = rig_open(rig_path("c.gguf"));
    expect_keys(source, file);
    expect_text(file, "quantize.imatrix.file", options.importance);
    expect_text(file, "quantize.imatrix.dataset", "a.txt");
    cr_expect(eq(u32, number_at(file, "quantize.imatrix.entries_count"), 1));
    cr_expect(eq(u32, number_at(file, "quantize.imatrix.chunks_count"), 7));
    tn_gguf_close(source);
    tn_gguf_close(file);
    options =
        (tn_quantize_options){.type = "Q8_0", .allow_requantize = 1}; /* a value that is there is replaced */
    rig_quantize(rig_path("c.gguf"), &options, rig_path("d.gguf"));
    file = rig_open(rig_path("d.gguf"));
    cr_expect(eq(u32, number_at(file, "general.file_type"), 7));
    expect_text(file, "quantize.imatrix.dataset", "a.txt"); /* where the numbers came from still holds */
    tn_gguf_close(file);
}

Test(quant_write, a_copy_is_the_same_file_and_shards_of_it_are_the_same_model) {
    const tn_quantize_options copy = {.type = "COPY"}, shards = {.type = "COPY", .split_size = 60000};
    const rig_model model = {.tensors = some, .count = SOME, .alignment = 64};
    const char *from = rig_write("a.gguf", &model);
    rig_quantize(from, &copy, rig_path("b.gguf"));
    cr_expect(same_files(from, rig_path("b.gguf")));
    rig_quantize(from, &shards, rig_path("c.gguf"));
    rig_quantize(rig_path("c-00001-of-00005.gguf"), &copy, rig_path("d.gguf"));
    cr_expect(same_files(from, rig_path("d.gguf")), "put together again");
    const tn_quantize_options keep = {.type = "COPY", .keep_split = 1};
    rig_quantize(rig_path("c-00003-of-00005.gguf"), &keep, rig_path("e.gguf"));
    for (int i = 1; i <= 5; i++) {
        char c[64], e[64];
        snprintf(c, sizeof c, "c-%05d-of-00005.gguf", i);
        snprintf(e, sizeof e, "e-%05d-of-00005.gguf", i);
        cr_expect(same_files(rig_path(c), rig_path(e)), "shard %d", i);
    }
}

Test(quant_write, split_sources_are_read_whole) {
    rig_model model = {.tensors = some, .count = SOME, .shards = 3};
    const tn_quantize_options options = {.type = "Q8_0"}, keep = {.type = "Q8_0", .keep_split = 1};
    const char *from = rig_write("a.gguf", &model);
    rig_quantize(from, &options, rig_path("b.gguf"));
    model.shards = 0;
    rig_quantize(rig_write("one.gguf", &model), &options, rig_path("c.gguf"));
    cr_expect(same_files(rig_path("b.gguf"), rig_path("c.gguf")));
    rig_quantize(from, &keep, rig_path("d.gguf"));
    tn_gguf *file = rig_open(rig_path("d-00002-of-00003.gguf")), *source = rig_open(from);
    for (uint64_t i = 0; i < SOME; i++) {
        cr_expect(eq(u32, tn_gguf_tensor_at(file, i)->file, tn_gguf_tensor_at(source, i)->file));
        cr_expect(eq(str, (char *)tn_gguf_tensor_at(file, i)->name, (char *)some[i].name));
    }
    tn_gguf_close(file);
    tn_gguf_close(source);
}

/* ---- what is refused --------------------------------------------------------------------------------------- */

static void write_fails(const char *from, const tn_quantize_options *options, const char *to,
                        uint32_t replace, const tn_quantize_progress *progress, int32_t code,
                        const char *words) {
    tn_gguf *file = rig_open(from);
    tn_quantize_plan *plan = rig_plan(file, options);
    int32_t found = tn_quantize_write(plan, to, replace, progress, &error);
    cr_expect(eq(i32, found, code), "%s", error.text);
    cr_expect(strstr(error.text, words) != NULL, "\"%s\" is not in: %s", words, error.text);
    tn_quantize_plan_free(plan);
    tn_gguf_close(file);
}

static size_t files_there(void) {
    size_t count;
    char *folder = strdup(rig_path(""));
    char **names = tn_test_names(folder, &count);
    tn_test_names_free(names, count);
    free(folder);
    return count;
}

Test(quant_write, numbers_that_are_none_are_named_by_their_place) {
    static const struct {
        const char *tensor, *words;
        uint64_t at;
        float value;
    } spoiled[] = {
        {"token_embd.weight", "tensor token_embd.weight: row 39, column 255 is nan", 40 * 256 - 1, NAN},
        {"blk.0.attn_q.weight", "tensor blk.0.attn_q.weight: row 2, column 7 is inf", 2 * 256 + 7, INFINITY},
        {"blk.0.ffn_down_exps.weight",
         "tensor blk.0.ffn_down_exps.weight: matrix 3, row 31, column 5 is -inf", (3 * 32 + 31) * 96 + 5,
         -INFINITY}};
    for (size_t i = 0; i < sizeof spoiled / sizeof *spoiled; i++) {
        const rig_model model = {.tensors = some,
                                 .count = SOME,
                                 .spoiled = spoiled[i].tensor,
                                 .spoiled_at = spoiled[i].at,
                                 .value = spoiled[i].value};
        const tn_quantize_options options = {.type = i == 1 ? "F16" : "Q4_0"};
        const char *from = rig_write("a.gguf", &model);
        write_fails(from, &options, rig_path("b.gguf"), 0, NULL, TN_E_FILE_DAMAGED, spoiled[i].words);
        cr_expect(eq(sz, files_there(), 1));
    }
}

/* What the new type cannot hold is the encoder's to refuse. */
Test(quant_write, numbers_that_are_too_large) {
    const rig_model model = {
        .tensors = some, .count = SOME, .spoiled = "blk.0.attn_q.weight", .spoiled_at = 300, .value = 1e30f};
    const tn_quantize_options options = {.type = "F16"};
    write_fails(rig_write("a.gguf", &model), &options, rig_path("b.gguf"), 0, NULL, TN_E_RANGE,
                "a.gguf: tensor blk.0.attn_q.weight: row 1, from column ");
    cr_expect(eq(sz, files_there(), 1));
}

/* Of several faults the first one in the file is told, whoever finds which first. */
Test(quant_write, the_first_fault_is_told) {
    static const rig_tensor tensors[] = {{"a.weight", F32, 2, {4096, 500}}, {"b.weight", F32, 2, {256, 2}}};
    const rig_model model = {
        .tensors = tensors, .count = 2, .spoiled = "a.weight", .spoiled_at = 4096 * 499, .value = NAN};
    const tn_quantize_options options = {.type = "Q8_0"};
    const char *from = rig_write("a.gguf", &model);
    size_t size;
    unsigned char *bytes = tn_test_read(from, &size);
    tn_gguf *file = rig_open(from);
    uint64_t second = tn_gguf_tensor_find(file, "b.weight")->offset;
    tn_gguf_close(file);
    memset(bytes + second, 0xff, 4);
    tn_test_write(from, bytes, size);
    free(bytes);
    for (uint32_t threads = 1; threads < 8; threads++) {
        rig_engine(threads);
        write_fails(from, &options, rig_path("b.gguf"), 0, NULL, TN_E_FILE_DAMAGED,
                    "tensor a.weight: row 499, column 0");
    }
}

Test(quant_write, files_that_are_there) {
    const tn_quantize_options options = {.type = "Q8_0"};
    const char *from = rig_write("a.gguf", &some_model), *old = rig_path("b.gguf"),
               *link = rig_path("l.gguf");
    tn_test_write(old, "old", 3);
    write_fails(from, &options, old, 0, NULL, TN_E_INPUT, "b.gguf is there already");
    cr_assert(symlink("b.gguf", link) == 0);
    write_fails(from, &options, link, 0, NULL, TN_E_INPUT, "l.gguf is there already");
    cr_expect(eq(sz, files_there(), 3));

    tn_gguf *file = rig_open(from);
    tn_quantize_plan *plan = rig_plan(file, &options);
    cr_assert(eq(i32, tn_quantize_write(plan, link, 1, NULL, &error), TN_OK), "%s", error.text);
    struct stat st;
    cr_assert(lstat(link, &st) == 0);
    cr_expect(eq(u32, st.st_mode & S_IFMT, S_IFLNK), "the link is not replaced, what it points to is");
    cr_assert(stat(old, &st) == 0);
    cr_expect(eq(u64, (uint64_t)st.st_size, tn_quantize_shard_size(plan, 0)));
    tn_quantize_plan_free(plan);
    tn_gguf_close(file);
    cr_expect(eq(sz, files_there(), 3));
}

/* Encoders count from where a piece begins, messages from where the tensor does. */
Test(quant_write, numbers_that_are_too_large_are_named_by_their_place) {
    static const struct {
        rig_tensor tensor;
        uint64_t at;
        const char *type, *words;
    } large[] = {{{"a.weight", F32, 2, {256, 2000}},
                  1500 * 256 + 3,
                  "F16",
                  "a.gguf: tensor a.weight: row 1500, from column "},
                 {{"a.weight", F32, 2, {256, 2000}},
                  1500 * 256 + 3,
                  "BF16",
                  "a.gguf: tensor a.weight: row 1500, column 3 is"},
                 {{"a.weight", F32, 2, {(1 << 18) + 32, 2}},
                  (1 << 18) + 32 + 262150,
                  "BF16",
                  "a.gguf: tensor a.weight: row 1, column 262150 is"},
                 {{"a.weight", F32, 3, {256, 700, 3}},
                  (2 * 700 + 600) * 256 + 9,
                  "BF16",
                  "a.gguf: tensor a.weight: matrix 2, row 600, column 9 is"}};
    for (size_t i = 0; i < sizeof large / sizeof *large; i++) {
        const rig_model model = {.tensors = &large[i].tensor,
                                 .count = 1,
                                 .spoiled = "a.weight",
                                 .spoiled_at = large[i].at,
                                 .value = 3.4028234e38f};
        const tn_quantize_options options = {.type = large[i].type};
        write_fails(rig_write("a.gguf", &model), &options, rig_path("b.gguf"), 0, NULL, TN_E_RANGE,
                    large[i].words);
    }
}

Test(quant_write, the_importance_file_is_never_replaced) {
    const rig_entry entry = {"blk.0.attn_q.weight", 256, 1, (float[256]){1}, (float[]){1}};
    const tn_quantize_options options = {.type = "Q4_0", .importance = rig_importance("i.gguf", &entry, 1)};
    const char *from = rig_write("a.gguf", &some_model), *hard = rig_path("hard.gguf"),
               *soft = rig_path("soft.gguf");
    cr_assert(link(options.importance, hard) == 0 && symlink("i.gguf", soft) == 0);
    write_fails(from, &options, options.importance, 1, NULL, TN_E_INPUT, "i.gguf is the importance file");
    write_fails(from, &options, hard, 1, NULL, TN_E_INPUT, "hard.gguf is the importance file");
    write_fails(from, &options, soft, 1, NULL, TN_E_INPUT, "soft.gguf is the importance file");
}

Test(quant_write, more_shards_than_files_may_be_open) {
    const tn_quantize_options options = {.type = "Q8_0", .split_tensors = 1};
    const char *from = rig_write("a.gguf", &some_model);
    struct rlimit before, limit;
    getrlimit(RLIMIT_NOFILE, &before);
    limit = (struct rlimit){16, before.rlim_max};
    tn_gguf *file = rig_open(from);
    tn_quantize_plan *plan = rig_plan(file, &options);
    cr_assert(setrlimit(RLIMIT_NOFILE, &limit) == 0);
    int32_t code = tn_quantize_write(plan, rig_path("b.gguf"), 0, NULL, &error);
    setrlimit(RLIMIT_NOFILE, &before);
    cr_expect(eq(i32, code, TN_E_INPUT), "%s", error.text);
    cr_expect(strstr(error.text, "there would be 7 shards") && strstr(error.text, "ulimit -n: 16"), "%s",
              error.text);
    cr_expect(eq(sz, files_there(), 1));
    cr_expect(eq(i32, tn_quantize_check(plan, rig_path("b.gguf"), 0, &error), TN_OK), "%s", error.text);
    cr_expect(eq(sz, files_there(), 1));
    tn_quantize_plan_free(plan);
    tn_gguf_close(file);
}

/* Somebody else's file, made once the new ones have begun. */
static int appear(void *context, uint64_t done, uint64_t total) {
    int fd = open(context, O_WRONLY | O_CREAT | O_EXCL, 0600);
    (void)done;
    (void)total;
    if (fd >= 0) {
        cr_assert(write(fd, "other", 5) == 5);
        close(fd);
    }
    return 0;
}

/* In the place of any of several shards: it stays, no other shard takes its place, and none is lost. */
Test(quant_write, what_appears_in_the_place_of_a_shard) {
    enum { SHARDS = SOME };
    const tn_quantize_options options = {.type = "Q8_0", .split_tensors = 1};
    const char *from = rig_write("a.gguf", &some_model);
    tn_gguf *file = rig_open(from);
    tn_quantize_plan *plan = rig_plan(file, &options);
    for (uint32_t shard = 0; shard < SHARDS; shard += 3) {
        size_t before = files_there();
        char *path = tn_quantize_path(plan, rig_path("b.gguf"), shard);
        const tn_quantize_progress progress = {appear, path};
        cr_assert(eq(i32, tn_quantize_write(plan, rig_path("b.gguf"), 0, &progress, &error), TN_E_IO));
        cr_expect(strstr(error.text, "no shard was put in its place") != NULL, "%s", error.text);
        char *text = (char *)tn_test_read(path, NULL);
        cr_expect(eq(str, text, "other"));
        cr_expect(eq(sz, files_there(), before + 1 + SHARDS));
        cr_assert(unlink(path) == 0);
        free(text);
        free(path);
    }
    tn_quantize_plan_free(plan);
    tn_gguf_close(file);
}

Test(quant_write, a_file_that_a_mix_is_not_about) {
    static const rig_tensor sums[] = {{"blk.0.attn_q.weight.in_sum2", F32, 2, {64, 2}},
                                      {"blk.0.attn_q.weight.counts", F32, 2, {1, 2}}},
                            norm[] = {{"blk.0.attn_norm.weight", F32, 1, {64}}};
    const rig_model matrix = {.tensors = sums, .count = 2}, model = {.tensors = norm, .count = 1};
    const tn_quantize_options options = {.type = "Q8_0"}, copy = {.type = "COPY"};
    tn_gguf *file = rig_open(rig_write("a.gguf", &matrix));
    rig_refused(file, &options, TN_E_TENSOR_MISSING,
                "a.gguf: the file has no tensor that file type Q8_0 is about");
    tn_gguf_close(file);
    rig_quantize(rig_path("a.gguf"), &copy, rig_path("b.gguf"));
    rig_quantize(rig_write("c.gguf", &model), &options, rig_path("d.gguf"));
}

Test(quant_write, the_source_is_never_replaced) {
    rig_model model = {.tensors = some, .count = SOME, .shards = 3};
    const tn_quantize_options options = {.type = "Q8_0"}, keep = {.type = "Q8_0", .keep_split = 1};
    const char *first = rig_write("s.gguf", &model), *hard = rig_path("hard.gguf"),
               *soft = rig_path("soft.gguf");
    model.shards = 0;
    const char *from = rig_write("a.gguf", &model);
    cr_assert(link(from, hard) == 0 && symlink("a.gguf", soft) == 0);
    write_fails(from, &options, from, 1, NULL, TN_E_INPUT, "a.gguf is the file that is read");
    write_fails(from, &options, hard, 1, NULL, TN_E_INPUT, "hard.gguf is the file that is read");
    write_fails(from, &options, soft, 1, NULL, TN_E_INPUT, "soft.gguf is the file that is read");
    write_fails(soft, &options, from, 1, NULL, TN_E_INPUT, "a.gguf is the file that is read");
    write_fails(first, &keep, rig_path("s.gguf"), 1, NULL, TN_E_INPUT,
                "s-00001-of-00003.gguf is the file that is read");
    cr_assert(unlink(hard) == 0 && link(rig_path("s-00002-of-00003.gguf"), hard) == 0);
    write_fails(first, &options, hard, 1, NULL, TN_E_INPUT, "hard.gguf is the file that is read");
    write_fails(first, &options, rig_path("x-00001-of-00002.gguf"), 1, NULL, TN_E_INPUT, "one of 2 shards");
    write_fails(first, &keep, rig_path("x-00001-of-00002.gguf"), 1, NULL, TN_E_INPUT, "the new model has 3");
}

Test(quant_write, what_is_no_file_is_not_replaced) {
    const tn_quantize_options options = {.type = "Q8_0"};
    const char *from = rig_write("a.gguf", &some_model), *pipe_path = rig_path("pipe"),
               *folder = rig_path("folder");
    cr_assert(mkfifo(pipe_path, 0600) == 0 && mkdir(folder, 0700) == 0);
    write_fails(from, &options, pipe_path, 1, NULL, TN_E_INPUT, "no regular file");
    write_fails(from, &options, folder, 1, NULL, TN_E_INPUT, "no regular file");
    write_fails(from, &options, "/dev/null", 1, NULL, TN_E_INPUT, "no regular file");
    write_fails(from, &options, rig_path("no/such/b.gguf"), 0, NULL, TN_E_IO, strerror(ENOENT));
}

/* ---- what is interrupted ----------------------------------------------------------------------------------- */

static int stop(void *context, uint64_t done, uint64_t total) {
    int *calls = context;
    cr_expect(done > 0 && done <= total);
    return ++*calls == 2;
}

static int count_steps(void *context, uint64_t done, uint64_t total) {
    uint64_t *last = context;
    cr_expect(done > *last && done <= total);
    *last = done;
    return 0;
}

Test(quant_write, it_can_be_stopped_and_says_how_far_it_is) {
    const tn_quantize_options options = {.type = "Q8_0"};
    const char *from = rig_write("a.gguf", &some_model), *to = rig_path("b.gguf");
    int calls = 0;
    uint64_t last = 0;
    tn_quantize_progress progress = {stop, &calls};
    tn_test_write(to, "old", 3);
    write_fails(from, &options, to, 1, &progress, TN_E_CANCELLED, "cancelled");
    size_t size;
    char *old = (char *)tn_test_read(to, &size);
    cr_expect(eq(str, old, "old"));
    free(old);
    cr_expect(eq(sz, files_there(), 2));

    progress = (tn_quantize_progress){count_steps, &last};
    tn_gguf *file = rig_open(from);
    tn_quantize_plan *plan = rig_plan(file, &options);
    uint64_t all = 0;
    for (uint64_t i = 0; i < SOME; i++) { all += tn_quantize_at(plan, i)->old_size; }
    cr_assert(eq(i32, tn_quantize_write(plan, to, 1, &progress, &error), TN_OK), "%s", error.text);
    cr_expect(eq(u64, last, all));
    tn_quantize_plan_free(plan);
    tn_gguf_close(file);
}

/* A limit on the size of files stands in for a full disk: at any place of the file, in any shard. */
Test(quant_write, a_full_disk_leaves_what_was_there) {
    const tn_quantize_options options = {.type = "Q8_0"}, shards = {.type = "Q8_0", .split_size = 30000};
    const char *from = rig_write("a.gguf", &some_model), *to = rig_path("b.gguf");
    struct rlimit before, limit;
    tn_test_write(to, "old", 3);
    signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &before);
    for (rlim_t most = 100; most < 60000; most += 9876) {
        limit = (struct rlimit){most, before.rlim_max};
        cr_assert(setrlimit(RLIMIT_FSIZE, &limit) == 0);
        write_fails(from, &options, to, 1, NULL, TN_E_IO, strerror(EFBIG));
        if (most < 20000) {
            write_fails(from, &shards, rig_path("c.gguf"), 1, NULL, TN_E_IO, strerror(EFBIG));
        }
        setrlimit(RLIMIT_FSIZE, &before);
        cr_expect(eq(sz, files_there(), 2));
    }
    size_t size;
    char *old = (char *)tn_test_read(to, &size);
    cr_expect(eq(str, old, "old"));
    free(old);
}

static int kill_me(void *context, uint64_t done, uint64_t total) {
    (void)context;
    (void)done;
    (void)total;
    raise(SIGKILL);
    return 0;
}

/* Where the file system knows nameless files nothing is left even then. */
Test(quant_write, a_kill_leaves_what_was_there) {
    const tn_quantize_options options = {.type = "Q8_0"};
    const char *from = rig_write("a.gguf", &some_model), *to = rig_path("b.gguf");
    const tn_quantize_progress progress = {kill_me, NULL};
    int fd = open(rig_path(""), O_TMPFILE | O_WRONLY, 0600), status;
    if (fd < 0) { cr_skip_test("the temporary folder's file system knows no nameless files"); }
    close(fd);
    tn_test_write(to, "old", 3);
    pid_t child = fork();
    if (child == 0) {
        tn_quantize_plan *plan;
        tn_gguf *file;
        tn_engine *mine = rig_engine(2);
        if (tn_gguf_open(from, tn_engine_types(mine), &file, NULL) == TN_OK &&
            tn_quantize_plan_create(mine, file, &options, &plan, NULL) == TN_OK) {
            tn_quantize_write(plan, to, 1, &progress, NULL);
        }
        _exit(1);
    }
    cr_assert(waitpid(child, &status, 0) == child);
    cr_assert(eq(i32, status, SIGKILL));
    size_t size;
    char *old = (char *)tn_test_read(to, &size);
    cr_expect(eq(str, old, "old"));
    free(old);
    cr_expect(eq(sz, files_there(), 2));
}

/* 1 if madvise() can make pages resident (Linux 5.14). */
static int can_populate(void) {
    size_t size = (size_t)sysconf(_SC_PAGESIZE);
    void *page = mmap(NULL, size, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    int can = page != MAP_FAILED && madvise(page, size, 22) == 0;
    munmap(page, size);
    return can;
}

/* A source that is cut short while it is read is an error like others, where the system can tell. */
Test(quant_write, a_source_that_is_cut_short) {
    static const rig_tensor tensors[] = {{"a.weight", F32, 2, {4096, 500}}};
    const rig_model model = {.tensors = tensors, .count = 1};
    const tn_quantize_options options = {.type = "Q8_0"};
    const char *from = rig_write("a.gguf", &model);
    if (!can_populate()) { cr_skip_test("the system cannot populate mappings"); }
    tn_gguf *file = rig_open(from);
    tn_quantize_plan *plan = rig_plan(file, &options);
    cr_assert(truncate(from, 1 << 20) == 0);
    int32_t code = tn_quantize_write(plan, rig_path("b.gguf"), 0, NULL, &error);
    cr_expect(eq(i32, code, TN_E_IO), "%s", error.text);
    cr_expect(strstr(error.text, "a.gguf: tensor a.weight: the file was cut short") != NULL, "%s",
              error.text);
    tn_quantize_plan_free(plan);
    tn_gguf_close(file);
    cr_expect(eq(sz, files_there(), 1));
}
