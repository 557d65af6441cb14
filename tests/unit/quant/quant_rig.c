/* quant_rig.c - see quant_rig.h. */
#include "quant_rig.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static tn_error error = TN_ERROR_INIT;

/* ---- folder and engine ----------------------------------------------------------------------------------- */

static char *folder;
static tn_engine *engine;

const char *rig_path(const char *name) {
    static char paths[64][512];
    static unsigned next;
    char *path = paths[next++ % 64];
    if (!folder) { folder = tn_test_folder(); }
    snprintf(path, sizeof paths[0], "%s/%s", folder, name);
    return path;
}

void rig_end(void) {
    tn_engine_destroy(engine);
    engine = NULL;
    if (folder) { tn_test_folder_remove(folder); }
    folder = NULL;
}

tn_engine *rig_engine(uint32_t threads) {
    if (engine && tn_engine_threads(engine) == threads) { return engine; }
    char *plugins = tn_test_build("lib/tenon/plugins");
    const char *const dirs[] = {plugins};
    const tn_engine_options options = {.plugin_dirs = dirs, .plugin_dir_count = 1, .threads = threads};
    tn_engine_destroy(engine);
    cr_assert_eq(tn_engine_create(&options, &engine, &error), TN_OK, "%s", error.text);
    free(plugins);
    return engine;
}

static tn_engine *any_engine(void) {
    return engine ? engine : rig_engine(3);
}

int rig_writes(const char *type) {
    tn_format_use use;
    int64_t number = tn_engine_type_number(any_engine(), type);
    return number >= 0 && tn_engine_format(engine, (uint32_t)number, &use, NULL) == TN_OK &&
           use.format->encode;
}

/* ---- models ---------------------------------------------------------------------------------------------- */

/* Between -1 and 1, different in each tensor, exact in binary16. */
float rig_value(size_t tensor, uint64_t i) {
    uint32_t x = (uint32_t)(i * 2654435761u + tensor * 40503u + 12345u);
    x = (x ^ x >> 13) * 1274126177u;
    return (float)((int32_t)(x >> 21) - 1024) / 1024.0f;
}

static void put_number(tn_gguf_writer *writer, const char *key, uint32_t type, uint32_t size,
                       uint64_t value) {
    const tn_kv kv = {.struct_size = sizeof kv, .type = type, .count = 1, .size = size, .data = &value};
    cr_assert_eq(tn_gguf_writer_put(writer, key, &kv, &error), TN_OK, "%s", error.text);
}

static void put_text(tn_gguf_writer *writer, const char *key, const char *text) {
    tn_kv kv = {.struct_size = sizeof kv, .type = TN_KV_STRING, .data = text};
    kv.count = kv.size = strlen(text);
    cr_assert_eq(tn_gguf_writer_put(writer, key, &kv, &error), TN_OK, "%s", error.text);
}

static uint64_t elements_of(const rig_tensor *tensor) {
    uint64_t elements = 1;
    for (uint32_t d = 0; d < tensor->dim_count; d++) { elements *= tensor->dims[d]; }
    return elements;
}

/* The bytes of a tensor; to be freed. */
static void *bytes_of(const rig_model *model, size_t number, uint64_t *size) {
    const rig_tensor *tensor = &model->tensors[number];
    uint64_t elements = elements_of(tensor), cols = tensor->dims[0];
    tn_format_use use;
    if (tn_engine_format(any_engine(), tensor->type, &use, NULL) != TN_OK) {
        unsigned char *bytes = malloc(*size = elements);
        for (uint64_t i = 0; i < elements; i++) { bytes[i] = (unsigned char)(i + 1); }
        return bytes;
    }
    float *numbers = malloc(elements * sizeof *numbers);
    for (uint64_t i = 0; i < elements; i++) { numbers[i] = rig_value(number, i); }
    if (model->spoiled && strcmp(model->spoiled, tensor->name) == 0) {
        numbers[model->spoiled_at] = model->value;
    }
    *size = elements / use.format->block * use.format->block_bytes;
    if (tensor->type == F32) { return numbers; }
    void *bytes = malloc(*size);
    cr_assert_eq(use.format->encode(use.self, numbers, elements / cols, cols, NULL, bytes, &error), TN_OK,
                 "%s", error.text);
    free(numbers);
    return bytes;
}

static void put_metadata(tn_gguf_writer *writer, const rig_model *model, uint32_t shard) {
    if (shard == 0) {
        put_text(writer, "general.architecture", "nobody-knows-this");
        if (!model->without_type) { put_number(writer, "general.file_type", TN_KV_U32, 4, 1); }
        put_text(writer, "some.text", "kept \xc3\xa9 as it is");
        put_number(writer, "nobody-knows-this.block_count", TN_KV_U64, 8, 8);
        put_text(writer, "tokenizer.ggml.model", "nobody knows this either");
        put_number(writer, "some.flag", TN_KV_BOOL, 1, 1);
    }
    if (model->alignment) { put_number(writer, "general.alignment", TN_KV_U32, 4, model->alignment); }
    if (model->shards) {
        put_number(writer, "split.no", TN_KV_U16, 2, shard);
        put_number(writer, "split.count", TN_KV_U16, 2, model->shards);
        put_number(writer, "split.tensors.count", TN_KV_I32, 4, model->count);
    }
}

static void write_shard(const char *path, const rig_model *model, uint32_t shard) {
    tn_gguf_writer *writer;
    uint32_t shards = model->shards ? model->shards : 1;
    cr_assert_eq(tn_gguf_writer_create(path, &writer, &error), TN_OK, "%s", error.text);
    put_metadata(writer, model, shard);
    for (int pass = 0; pass < 2; pass++) {
        for (size_t i = 0; i < model->count; i++) {
            const rig_tensor *tensor = &model->tensors[i];
            uint64_t size;
            if (i * shards / model->count != shard) { continue; }
            void *bytes = bytes_of(model, i, &size);
            int32_t code = pass ? tn_gguf_writer_write(writer, bytes, size, &error)
                                : tn_gguf_writer_declare(writer, tensor->name, tensor->type,
                                                         tensor->dim_count, tensor->dims, size, &error);
            cr_assert_eq(code, TN_OK, "%s", error.text);
            free(bytes);
        }
    }
    cr_assert_eq(tn_gguf_writer_finish(writer, &error), TN_OK, "%s", error.text);
}

const char *rig_write(const char *name, const rig_model *model) {
    char file[256];
    if (!model->shards) {
        const char *path = rig_path(name);
        write_shard(path, model, 0);
        return path;
    }
    for (uint32_t i = model->shards; i-- > 0;) {
        snprintf(file, sizeof file, "%.*s-%05u-of-%05u.gguf", (int)strlen(name) - 5, name, i + 1,
                 model->shards);
        write_shard(rig_path(file), model, i);
    }
    return rig_path(file);
}

/* ---- quantising ------------------------------------------------------------------------------------------ */

tn_gguf *rig_open(const char *path) {
    tn_gguf *file;
    cr_assert_eq(tn_gguf_open(path, tn_engine_types(any_engine()), &file, &error), TN_OK, "%s", error.text);
    return file;
}

tn_quantize_plan *rig_plan(const tn_gguf *file, const tn_quantize_options *options) {
    tn_quantize_plan *plan;
    cr_assert_eq(tn_quantize_plan_create(any_engine(), file, options, &plan, &error), TN_OK, "%s",
                 error.text);
    return plan;
}

void rig_refused(const tn_gguf *file, const tn_quantize_options *options, int32_t code, const char *words) {
    tn_quantize_plan *plan;
    int32_t found = tn_quantize_plan_create(any_engine(), file, options, &plan, &error);
    cr_expect_eq(found, code, "%d, %d was expected: %s", found, code, error.text);
    cr_expect(plan == NULL);
    cr_expect(strstr(error.text, words) != NULL, "\"%s\" is not in: %s", words, error.text);
    tn_quantize_plan_free(plan);
}

static void expect_sizes(const tn_quantize_plan *plan, const char *to) {
    for (uint32_t i = 0; i < tn_quantize_shards(plan); i++) {
        struct stat st;
        char *path = tn_quantize_path(plan, to, i);
        cr_assert_eq(stat(path, &st), 0, "%s is not there", path);
        cr_expect_eq((uint64_t)st.st_size, tn_quantize_shard_size(plan, i),
                     "%s has %llu bytes, %llu were planned", path, (unsigned long long)st.st_size,
                     (unsigned long long)tn_quantize_shard_size(plan, i));
        free(path);
    }
}

void rig_quantize(const char *from, const tn_quantize_options *options, const char *to) {
    tn_gguf *file = rig_open(from);
    tn_quantize_plan *plan = rig_plan(file, options);
    cr_assert_eq(tn_quantize_write(plan, to, 0, NULL, &error), TN_OK, "%s", error.text);
    expect_sizes(plan, to);
    tn_quantize_plan_free(plan);
    tn_gguf_close(file);
}

float *rig_numbers(const tn_gguf *file, const char *name) {
    tn_format_use use;
    const tn_gguf_tensor *tensor = tn_gguf_tensor_find(file, name);
    cr_assert(tensor != NULL, "no tensor %s", name);
    cr_assert_eq(tn_engine_format(any_engine(), tensor->type, &use, &error), TN_OK, "%s", error.text);
    float *numbers = malloc(tensor->elements * sizeof *numbers);
    use.format->decode(use.self, tensor->data, tensor->elements, numbers);
    return numbers;
}

/* ---- importance ------------------------------------------------------------------------------------------ */

static void put_datasets(tn_gguf_writer *writer) {
    static const char list[] = "\5\0\0\0\0\0\0\0a.txt\5\0\0\0\0\0\0\0b.txt";
    const tn_kv kv = {.struct_size = sizeof kv,
                      .type = TN_KV_ARRAY,
                      .element_type = TN_KV_STRING,
                      .count = 2,
                      .size = sizeof list - 1,
                      .data = list};
    cr_assert_eq(tn_gguf_writer_put(writer, "imatrix.datasets", &kv, &error), TN_OK, "%s", error.text);
}

static void put_floats(tn_gguf_writer *writer, int pass, const char *name, const char *end, uint64_t columns,
                       uint64_t experts, const float *numbers) {
    char full[128];
    uint64_t size = columns * experts * sizeof *numbers;
    snprintf(full, sizeof full, "%s.%s", name, end);
    int32_t code = pass ? tn_gguf_writer_write(writer, numbers, size, &error)
                        : tn_gguf_writer_declare(writer, full, F32, experts > 1 ? 2 : 1,
                                                 (uint64_t[]){columns, experts}, size, &error);
    cr_assert_eq(code, TN_OK, "%s", error.text);
}

const char *rig_importance(const char *name, const rig_entry *entries, size_t count) {
    tn_gguf_writer *writer;
    const char *path = rig_path(name);
    cr_assert_eq(tn_gguf_writer_create(path, &writer, &error), TN_OK, "%s", error.text);
    put_text(writer, "general.type", "imatrix");
    put_datasets(writer);
    put_number(writer, "imatrix.chunk_count", TN_KV_U32, 4, 7);
    put_number(writer, "imatrix.chunk_size", TN_KV_U32, 4, 512);
    for (int pass = 0; pass < 2; pass++) {
        for (size_t i = 0; i < count; i++) {
            const rig_entry *entry = &entries[i];
            put_floats(writer, pass, entry->name, "in_sum2", entry->columns, entry->experts, entry->sums);
            put_floats(writer, pass, entry->name, "counts", 1, entry->experts, entry->counts);
        }
    }
    cr_assert_eq(tn_gguf_writer_finish(writer, &error), TN_OK, "%s", error.text);
    return path;
}
