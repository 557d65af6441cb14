/* Opening and closing GGUF files, single or split, and what is told about an open one. */
#include "gguf_file.h"

#include <inttypes.h>
#include <stdlib.h>

static void fill_kv(const tn_kv *kv, tn_kv *out) {
    uint32_t size = out->struct_size < sizeof *kv ? out->struct_size : (uint32_t)sizeof *kv;
    memcpy(out, kv, size);
    out->struct_size = size;
}

static int32_t find_in_meta(const tn_meta *meta, const char *key, tn_kv *out) {
    const tn_gguf *file = meta->context;
    const tn_kv *kv = tn_kv_table_find(&file->table, key);
    if (!kv) { return TN_E_NOT_FOUND; }
    fill_kv(kv, out);
    return TN_OK;
}

static const char *key_of_meta(const tn_meta *meta, uint64_t i) {
    const tn_gguf *file = meta->context;
    return i < file->table.keys.count ? file->table.keys.at[i] : NULL;
}

/* Maps and reads shard `number` (from 1) of `count`. */
static int32_t open_shard(tn_gguf *file, const char *path, uint32_t number, uint32_t count,
                          const tn_gguf_types *types, tn_error *err) {
    TN_TRY(tn_mapping_open(path, &file->shards[number - 1], err));
    file->shard_count = number;
    tn_kv_table other = {0}, *table = number == 1 ? &file->table : &other;
    int32_t code = tn_gguf_read_shard(file, number - 1, types, table, err);
    if (code == TN_OK) { code = tn_split_check(file, table, number, count, err); }
    tn_kv_table_free(&other);
    return code;
}

static int32_t open_numbered(tn_gguf *file, const char *path, const tn_split_name *split, uint32_t number,
                             const tn_gguf_types *types, tn_error *err) {
    tn_error why = TN_ERROR_INIT;
    char *name;
    if (asprintf(&name, "%.*s-%05" PRIu32 "-of-%05" PRIu32 ".gguf", (int)split->prefix, path, number,
                 split->count) < 0) {
        TN_FAIL(err, TN_E_MEMORY, "no memory left to open %s", tn_path_tail(path));
    }
    int32_t code = open_shard(file, name, number, split->count, types, &why);
    free(name);
    if (code == TN_E_IO && number != split->number) {
        TN_FAIL(err, TN_E_FILE_SPLIT, "shard %" PRIu32 " of %" PRIu32 " is missing: %s", number, split->count,
                why.text);
    }
    return code == TN_OK ? TN_OK : tn_fail(err, code, "%s", why.text);
}

static int32_t open_all(tn_gguf *file, const char *path, const tn_split_name *split,
                        const tn_gguf_types *types, tn_error *err) {
    file->shards = calloc(split->count, sizeof *file->shards);
    if (!file->shards) { TN_FAIL(err, TN_E_MEMORY, "no memory left to open %s", tn_path_tail(path)); }
    if (split->count == 1) { return open_shard(file, path, 1, 1, types, err); }
    for (uint32_t number = 1; number <= split->count; number++) {
        TN_TRY(open_numbered(file, path, split, number, types, err));
    }
    return tn_split_check_total(file, err);
}

int32_t tn_gguf_open(const char *path, const tn_gguf_types *types, tn_gguf **out, tn_error *err) {
    tn_split_name split;
    *out = NULL;
    tn_gguf *file = calloc(1, sizeof *file);
    if (!file) { TN_FAIL(err, TN_E_MEMORY, "no memory left to open %s", tn_path_tail(path)); }
    file->alignment = TN_ALIGNMENT_DEFAULT;
    file->meta = (tn_meta){
        .struct_size = sizeof file->meta, .context = file, .find = find_in_meta, .key = key_of_meta};
    tn_split_name_read(path, &split);
    int32_t code = open_all(file, path, &split, types, err);
    if (code != TN_OK && file->version == 0) {
        tn_gguf_close(file);
        return code;
    }
    *out = file;
    return code;
}

void tn_gguf_close(tn_gguf *file) {
    if (!file) { return; }
    for (uint32_t i = 0; i < file->shard_count; i++) { tn_mapping_close(&file->shards[i]); }
    free(file->shards);
    tn_kv_table_free(&file->table);
    tn_names_free(&file->tensor_names);
    free(file->tensors);
    free(file);
}

uint32_t tn_gguf_version(const tn_gguf *file) {
    return file->version;
}

uint32_t tn_gguf_alignment(const tn_gguf *file) {
    return file->alignment;
}

uint32_t tn_gguf_file_count(const tn_gguf *file) {
    return file->shard_count;
}

int32_t tn_gguf_tensor_fetch(const tn_gguf_tensor *tensor, const void *from, uint64_t size, tn_error *err) {
    if (tn_pages_fetch(from, size) == 0) { return TN_OK; }
    TN_FAIL(err, TN_E_IO, "%s: tensor %s: the file was cut short, or cannot be read, while it was in use",
            tn_path_tail(tn_gguf_mapped_at(tensor->data)), tensor->name);
}

const char *tn_gguf_path(const tn_gguf *file, uint32_t shard) {
    return file->shards[shard].path;
}

uint64_t tn_gguf_size(const tn_gguf *file) {
    uint64_t size = 0;
    for (uint32_t i = 0; i < file->shard_count; i++) { size += file->shards[i].size; }
    return size;
}

const tn_meta *tn_gguf_meta(const tn_gguf *file) {
    return &file->meta;
}

uint64_t tn_gguf_kv_count(const tn_gguf *file) {
    return file->table.keys.count;
}

const char *tn_gguf_kv_at(const tn_gguf *file, uint64_t i, tn_kv *out) {
    fill_kv(&file->table.values[i], out);
    return file->table.keys.at[i];
}

uint64_t tn_gguf_tensor_count(const tn_gguf *file) {
    return file->tensor_names.count;
}

const tn_gguf_tensor *tn_gguf_tensor_at(const tn_gguf *file, uint64_t i) {
    return &file->tensors[i];
}

const tn_gguf_tensor *tn_gguf_tensor_find(const tn_gguf *file, const char *name) {
    int64_t i = tn_names_find(&file->tensor_names, name, strlen(name));
    return i < 0 ? NULL : &file->tensors[i];
}
