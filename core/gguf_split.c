/*
 * Split models: NAME-00001-of-00003.gguf and so on, in one folder. The first shard's metadata is the model's;
 * each shard says its number (split.no, from 0), how many there are (split.count), and how many tensors they
 * have in all (split.tensors.count). Names and keys must agree.
 */
#include "gguf_file.h"

#include <inttypes.h>

#define SUFFIX_BYTES 20 /* -00001-of-00003.gguf */

/* Five digits, or 0. */
static uint32_t five_digits(const char *text) {
    uint32_t value = 0;
    for (int i = 0; i < 5; i++) {
        if (text[i] < '0' || text[i] > '9') { return 0; }
        value = value * 10 + (uint32_t)(text[i] - '0');
    }
    return value;
}

void tn_split_name_read(const char *path, tn_split_name *out) {
    size_t size = strlen(path);
    *out = (tn_split_name){.number = 1, .count = 1};
    if (size < SUFFIX_BYTES) { return; }
    const char *suffix = path + size - SUFFIX_BYTES;
    uint32_t number = five_digits(suffix + 1), count = five_digits(suffix + 10);
    if (suffix[0] != '-' || memcmp(suffix + 6, "-of-", 4) != 0 || strcmp(suffix + 15, ".gguf") != 0) {
        return;
    }
    if (number < 1 || number > count) { return; }
    *out = (tn_split_name){.number = number, .count = count, .prefix = (uint32_t)(size - SUFFIX_BYTES)};
}

/* An integer of the table; `otherwise` if the key is not there. */
static int32_t split_number(const char *name, const tn_kv_table *table, const char *key, int64_t otherwise,
                            int64_t *out, tn_error *err) {
    const tn_kv *kv = tn_kv_table_find(table, key);
    *out = otherwise;
    if (!kv) { return TN_OK; }
    if (kv->type == TN_KV_ARRAY || !tn_kv_int(kv, 0, out)) {
        TN_FAIL(err, TN_E_FILE_SPLIT, "%s: key %s is of value type %" PRIu32 ", an integer was expected",
                name, key, kv->type);
    }
    return TN_OK;
}

static int32_t check_number(const char *name, const tn_kv_table *table, const char *key, int64_t wanted,
                            const char *because, tn_error *err) {
    int64_t found;
    TN_TRY(split_number(name, table, key, -1, &found, err));
    if (found == wanted) { return TN_OK; }
    if (!tn_kv_table_find(table, key)) {
        TN_FAIL(err, TN_E_FILE_SPLIT, "%s: key %s is missing, %" PRId64 " was expected (%s)", name, key,
                wanted, because);
    }
    TN_FAIL(err, TN_E_FILE_SPLIT, "%s: key %s is %" PRId64 ", %" PRId64 " was expected (%s)", name, key,
            found, wanted, because);
}

/* A shard may leave out what the first one says, but not say otherwise. */
static int32_t check_same(const tn_gguf *file, const char *name, const tn_kv_table *table, const char *key,
                          tn_error *err) {
    const tn_kv *first = tn_kv_table_find(&file->table, key), *mine = tn_kv_table_find(table, key);
    if (!mine || mine == first) { return TN_OK; }
    if (!first || first->type != mine->type || first->size != mine->size ||
        memcmp(first->data, mine->data, mine->size) != 0) {
        TN_FAIL(err, TN_E_FILE_SPLIT, "%s: key %s differs from the first shard's", name, key);
    }
    return TN_OK;
}

int32_t tn_split_check(const tn_gguf *file, const tn_kv_table *table, uint32_t number, uint32_t count,
                       tn_error *err) {
    const char *name = tn_path_tail(file->shards[number - 1].path);
    if (count > 1) {
        TN_TRY(check_number(name, table, "split.count", count, "by the file's name", err));
        TN_TRY(check_number(name, table, "split.no", number - 1, "by the file's name, counted from 0", err));
        TN_TRY(check_same(file, name, table, "split.tensors.count", err));
        return check_same(file, name, table, "general.architecture", err);
    }
    int64_t claimed;
    TN_TRY(split_number(name, table, "split.count", 1, &claimed, err));
    if (claimed != 0 && claimed != 1) { /* 0: put together again by llama.cpp's gguf-split */
        TN_FAIL(err, TN_E_FILE_SPLIT,
                "%s: one of %" PRId64 " shards (key split.count), but its name does not end in "
                "-00001-of-%05" PRId64 ".gguf, so that the others could be found",
                name, claimed, claimed);
    }
    return TN_OK;
}

int32_t tn_split_check_total(const tn_gguf *file, tn_error *err) {
    const char *name = tn_path_tail(file->shards[0].path);
    return check_number(name, &file->table, "split.tensors.count", (int64_t)file->tensor_names.count,
                        "as many as the shards have together", err);
}
