/*
 * imatrix_read.c - reads importance files of both forms.
 *
 * The newer form is a GGUF file with two F32 tensors for each weight tensor NAME:
 *
 *     NAME.in_sum2  [columns, experts]   sum over the rows seen of the square of each input
 *     NAME.counts   [1, experts]         rows seen
 *
 * The older one has no magic number. All is little-endian:
 *
 *     i32 entries   entries x { i32 length  name  i32 calls  i32 values  f32 value[values] }
 *     optional:     i32 chunks  i32 length  name of the dataset
 *
 * where value / calls is the mean square (the value itself if calls is 0).
 */
#include "imatrix.h"

#include "checked.h"
#include "gguf_file.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

/* Tensor type F32, the only one that such a file may hold. */
enum { TYPE_F32 = 0 };

/* ---- matrices ----------------------------------------------------------------------------------------- */

void tn_imatrix_free(tn_imatrix *matrix) {
    for (uint64_t i = 0; i < matrix->names.count; i++) { free(matrix->entries[i].sums); }
    for (uint64_t i = 0; i < matrix->dataset_count; i++) { free(matrix->datasets[i]); }
    free(matrix->entries);
    free(matrix->datasets);
    tn_names_free(&matrix->names);
    *matrix = (tn_imatrix){0};
}

static int reserve_entry(tn_imatrix *matrix) {
    if (matrix->names.count < matrix->entry_capacity) { return 1; }
    uint64_t capacity = matrix->entry_capacity ? matrix->entry_capacity * 2 : 64;
    tn_imatrix_entry *entries = reallocarray(matrix->entries, capacity, sizeof *entries);
    if (!entries) { return 0; }
    matrix->entries = entries;
    matrix->entry_capacity = capacity;
    return 1;
}

/* Sums and counts lie in one piece of memory. */
static double *new_numbers(uint64_t columns, uint64_t experts) {
    uint64_t sums, all;
    if (!tn_mul_u64(columns, experts, &sums) || !tn_add_u64(sums, experts, &all) || all > SIZE_MAX) {
        return NULL;
    }
    return calloc(all, sizeof(double));
}

int32_t tn_imatrix_add(tn_imatrix *matrix, const char *name, uint64_t name_size, uint64_t columns,
                       uint64_t experts, tn_imatrix_entry **out, tn_error *err) {
    double *numbers = new_numbers(columns, experts);
    int32_t code =
        numbers && reserve_entry(matrix) ? tn_names_add(&matrix->names, name, name_size) : TN_E_MEMORY;
    if (code != TN_OK) {
        int shown = (int)(name_size < 80 ? name_size : 80);
        free(numbers);
        if (code == TN_E_INPUT) { TN_FAIL(err, code, "entry %.*s occurs twice", shown, name); }
        if (code == TN_E_IO) { TN_FAIL(err, code, "the system gives no random numbers"); }
        TN_FAIL(err, code, "no memory for entry %.*s of %" PRIu64 " columns and %" PRIu64 " experts", shown,
                name, columns, experts);
    }
    *out = &matrix->entries[matrix->names.count - 1];
    **out = (tn_imatrix_entry){columns, experts, numbers, numbers + columns * experts};
    return TN_OK;
}

/* A name with a NUL inside ends there. */
int32_t tn_imatrix_add_dataset(tn_imatrix *matrix, const char *name, uint64_t size, tn_error *err) {
    char **datasets = reallocarray(matrix->datasets, matrix->dataset_count + 1, sizeof *datasets);
    if (datasets) { matrix->datasets = datasets; }
    char *copy = datasets ? strndup(name, size) : NULL;
    if (!copy) { TN_FAIL(err, TN_E_MEMORY, "no memory for the name of a dataset"); }
    for (uint64_t i = 0; i < matrix->dataset_count; i++) {
        if (strcmp(datasets[i], copy) == 0) {
            free(copy);
            return TN_OK;
        }
    }
    datasets[matrix->dataset_count++] = copy;
    return TN_OK;
}

tn_imatrix_entry *tn_imatrix_find(const tn_imatrix *matrix, const char *name) {
    int64_t i = tn_names_find(&matrix->names, name, strlen(name));
    return i < 0 ? NULL : &matrix->entries[i];
}

int tn_imatrix_fits(const tn_imatrix *matrix, const tn_imatrix_entry *entry, uint64_t columns,
                    uint64_t experts) {
    uint64_t values;
    if (!matrix->older) { return entry->columns == columns && entry->experts == experts; }
    return tn_mul_u64(columns, experts, &values) && entry->columns == values;
}

void tn_imatrix_importance(const tn_imatrix *matrix, const tn_imatrix_entry *entry, uint64_t expert,
                           uint64_t columns, uint64_t first, uint64_t size, float *out) {
    const double *sums = entry->sums + expert * columns + first;
    double count = entry->counts[matrix->older ? 0 : expert];
    for (uint64_t i = 0; i < size; i++) { out[i] = count > 0 ? (float)(sums[i] / count) : 1.0f; }
}

/* ---- numbers ------------------------------------------------------------------------------------------- */

/* Takes over floats, which may lie anywhere; each must be finite and not negative. */
static int32_t take_numbers(const char *file, const char *name, const char *what, const void *from,
                            uint64_t count, double *out, tn_error *err) {
    for (uint64_t i = 0; i < count; i++) {
        float value;
        memcpy(&value, (const unsigned char *)from + i * sizeof value, sizeof value);
        if (!(value >= 0) || isinf(value)) {
            TN_FAIL(err, TN_E_FILE_DAMAGED,
                    "%s: entry %.80s: %s number %" PRIu64
                    " is %g, a finite one that is not negative was expected",
                    file, name, what, i, (double)value);
        }
        out[i] = value;
    }
    return TN_OK;
}

/* ---- the newer form ------------------------------------------------------------------------------------ */

static int find_f32(const void *context, uint32_t type, uint32_t *block, uint32_t *block_bytes) {
    (void)context;
    *block = 1;
    *block_bytes = sizeof(float);
    return type == TYPE_F32;
}

static const tn_gguf_types f32_only = {.find = find_f32};

static int32_t need_key(const tn_gguf *file, const char *key, uint32_t type, const char *wanted, tn_kv *out,
                        tn_error *err) {
    const char *name = tn_path_tail(tn_gguf_path(file, 0));
    *out = (tn_kv){.struct_size = sizeof *out};
    if (tn_gguf_meta(file)->find(tn_gguf_meta(file), key, out) != TN_OK) {
        TN_FAIL(err, TN_E_FILE_KIND, "%s: key %s is missing, %s was expected", name, key, wanted);
    }
    if (out->type != type) {
        TN_FAIL(err, TN_E_FILE_DAMAGED, "%s: key %s is of value type %" PRIu32 ", %s was expected", name, key,
                out->type, wanted);
    }
    return TN_OK;
}

static int32_t read_count(const tn_gguf *file, const char *key, uint32_t *out, tn_error *err) {
    tn_kv kv;
    TN_TRY(need_key(file, key, TN_KV_U32, "a uint32", &kv, err));
    memcpy(out, kv.data, sizeof *out);
    return TN_OK;
}

static int32_t read_keys(const tn_gguf *file, tn_imatrix *out, tn_error *err) {
    static const char kind[] = "imatrix";
    const char *name = tn_path_tail(tn_gguf_path(file, 0));
    tn_kv kv;
    TN_TRY(need_key(file, "general.type", TN_KV_STRING, "the string \"imatrix\"", &kv, err));
    if (kv.size != sizeof kind - 1 || memcmp(kv.data, kind, kv.size) != 0) {
        TN_FAIL(err, TN_E_FILE_KIND, "%s: key general.type is \"%.*s\", \"imatrix\" was expected", name,
                (int)(kv.size < 40 ? kv.size : 40), (const char *)kv.data);
    }
    TN_TRY(read_count(file, "imatrix.chunk_count", &out->chunk_count, err));
    TN_TRY(read_count(file, "imatrix.chunk_size", &out->chunk_size, err));
    TN_TRY(need_key(file, "imatrix.datasets", TN_KV_ARRAY, "an array of strings", &kv, err));
    if (kv.element_type != TN_KV_STRING) {
        TN_FAIL(err, TN_E_FILE_DAMAGED,
                "%s: key imatrix.datasets is an array of type %" PRIu32 ", an array of strings was expected",
                name, kv.element_type);
    }
    const unsigned char *at = kv.data;
    for (uint64_t i = 0; i < kv.count; i++) {
        tn_text text = tn_string_next(&at);
        TN_TRY(tn_imatrix_add_dataset(out, text.data, text.size, err));
    }
    return TN_OK;
}

/* Bytes of `name` before `suffix`, 0 if it has another end. */
static size_t stem_of(const char *name, const char *suffix) {
    size_t size = strlen(name), end = strlen(suffix);
    return size > end && strcmp(name + size - end, suffix) == 0 ? size - end : 0;
}

static int32_t check_shape(const char *file, const tn_gguf_tensor *tensor, uint64_t columns, uint64_t experts,
                           const char *wanted, tn_error *err) {
    if (tensor->type != TYPE_F32) {
        TN_FAIL(err, TN_E_FILE_DAMAGED, "%s: tensor %s is of type %" PRIu32 ", F32 (0) was expected", file,
                tensor->name, tensor->type);
    }
    if (tensor->dims[0] != columns || tensor->dims[1] != experts || tensor->dims[2] != 1 ||
        tensor->dims[3] != 1) {
        TN_FAIL(err, TN_E_TENSOR_SHAPE,
                "%s: tensor %s is [%" PRIu64 ", %" PRIu64 ", %" PRIu64 ", %" PRIu64 "], %s was expected",
                file, tensor->name, tensor->dims[0], tensor->dims[1], tensor->dims[2], tensor->dims[3],
                wanted);
    }
    return TN_OK;
}

/* The sums in `sums` and the counts that belong to them. */
static int32_t read_pair(const tn_gguf *file, const tn_gguf_tensor *sums, size_t stem, tn_imatrix *out,
                         tn_error *err) {
    const char *path = tn_path_tail(tn_gguf_path(file, 0));
    char name[TN_TENSOR_NAME_MAX + 8];
    tn_imatrix_entry *entry;
    snprintf(name, sizeof name, "%.*s.counts", (int)stem, sums->name);
    const tn_gguf_tensor *counts = tn_gguf_tensor_find(file, name);
    if (!counts) {
        TN_FAIL(err, TN_E_FILE_DAMAGED, "%s: entry %.*s has sums and no counts, a tensor %s was expected",
                path, (int)stem, sums->name, name);
    }
    uint64_t columns = sums->dims[0], experts = sums->dims[1];
    TN_TRY(check_shape(path, sums, columns, experts, "[columns, experts]", err));
    TN_TRY(check_shape(path, counts, 1, experts, "[1, experts] as the sums have it", err));
    TN_TRY(tn_imatrix_add(out, sums->name, stem, columns, experts, &entry, err));
    name[stem] = 0;
    TN_TRY(take_numbers(path, name, "sum", sums->data, columns * experts, entry->sums, err));
    TN_TRY(take_numbers(path, name, "count", counts->data, experts, entry->counts, err));
    for (uint64_t i = 0; i < experts; i++) {
        if (entry->counts[i] != floor(entry->counts[i]) || entry->counts[i] > 0x1p53) {
            TN_FAIL(err, TN_E_FILE_DAMAGED,
                    "%s: entry %.80s: count number %" PRIu64 " is %g, a whole number up to 2^53 was expected",
                    path, name, i, entry->counts[i]);
        }
    }
    return TN_OK;
}

static int32_t check_counts(const tn_gguf *file, const tn_gguf_tensor *counts, size_t stem, tn_error *err) {
    char name[TN_TENSOR_NAME_MAX + 9];
    snprintf(name, sizeof name, "%.*s.in_sum2", (int)stem, counts->name);
    if (tn_gguf_tensor_find(file, name)) { return TN_OK; }
    TN_FAIL(err, TN_E_FILE_DAMAGED, "%s: entry %.*s has counts and no sums, a tensor %s was expected",
            tn_path_tail(tn_gguf_path(file, 0)), (int)stem, counts->name, name);
}

static int32_t read_tensors(const tn_gguf *file, tn_imatrix *out, tn_error *err) {
    for (uint64_t i = 0; i < tn_gguf_tensor_count(file); i++) {
        const tn_gguf_tensor *tensor = tn_gguf_tensor_at(file, i);
        size_t sums = stem_of(tensor->name, ".in_sum2"), counts = stem_of(tensor->name, ".counts");
        if (sums) {
            TN_TRY(read_pair(file, tensor, sums, out, err));
        } else if (counts) {
            TN_TRY(check_counts(file, tensor, counts, err));
        } else if (!stem_of(tensor->name, ".in_sum") && !stem_of(tensor->name, ".stats")) {
            TN_FAIL(
                err, TN_E_FILE_DAMAGED,
                "%s: tensor %s, only names that end in .in_sum2, .counts, .in_sum or .stats were expected",
                tn_path_tail(tn_gguf_path(file, 0)), tensor->name);
        }
    }
    return TN_OK;
}

static int32_t read_newer(const char *path, tn_imatrix *out, tn_error *err) {
    tn_gguf *file;
    int32_t code = tn_gguf_open(path, &f32_only, &file, err);
    if (code == TN_OK) { code = read_keys(file, out, err); }
    if (code == TN_OK) { code = read_tensors(file, out, err); }
    tn_gguf_close(file);
    return code;
}

/* ---- the older form ------------------------------------------------------------------------------------ */

static int32_t take_int(tn_cursor *cursor, const char *what, const char *of, int32_t least, int32_t *out,
                        tn_error *err) {
    uint32_t bits;
    uint64_t at = cursor->at;
    TN_TRY(tn_cursor_u32(cursor, what, of, &bits, err));
    memcpy(out, &bits, sizeof bits);
    if (*out >= least) { return TN_OK; }
    TN_FAIL(err, TN_E_FILE_DAMAGED,
            "%s: %s%s%.80s is %" PRId32 " at byte %" PRIu64 ", at least %" PRId32
            " was expected (no GGUF file, and no importance file of the older form either?)",
            cursor->name, what, of ? " of " : "", of ? of : "", *out, at, least);
}

static int32_t take_name(tn_cursor *cursor, int32_t number, char name[TN_TENSOR_NAME_MAX + 1],
                         tn_error *err) {
    int32_t size;
    const void *text;
    TN_TRY(take_int(cursor, "the length of an entry's name", NULL, 1, &size, err));
    TN_TRY(tn_cursor_take(cursor, (uint64_t)size, "an entry's name", NULL, &text, err));
    const char *fault = tn_tensor_name_fault(text, (uint64_t)size);
    if (fault) {
        TN_FAIL(err, TN_E_FILE_DAMAGED, "%s: the name of entry number %" PRId32 " %s", cursor->name, number,
                fault);
    }
    memcpy(name, text, (size_t)size);
    name[size] = 0;
    return TN_OK;
}

static int32_t take_entry(tn_cursor *cursor, int32_t number, tn_imatrix *out, tn_error *err) {
    char name[TN_TENSOR_NAME_MAX + 1];
    int32_t calls, count;
    const void *values;
    tn_imatrix_entry *entry;
    TN_TRY(take_name(cursor, number, name, err));
    TN_TRY(take_int(cursor, "the number of calls", name, 0, &calls, err));
    TN_TRY(take_int(cursor, "the number of values", name, 1, &count, err));
    TN_TRY(tn_cursor_take(cursor, (uint64_t)count * sizeof(float), "the values", name, &values, err));
    if (tn_imatrix_find(out, name)) {
        TN_FAIL(err, TN_E_FILE_DAMAGED, "%s: entry %s occurs twice", cursor->name, name);
    }
    TN_TRY(tn_imatrix_add(out, name, strlen(name), (uint64_t)count, 1, &entry, err));
    entry->counts[0] = calls ? calls : 1;
    return take_numbers(cursor->name, name, "value", values, (uint64_t)count, entry->sums, err);
}

static int32_t take_tail(tn_cursor *cursor, tn_imatrix *out, tn_error *err) {
    int32_t chunks, size;
    const void *text;
    TN_TRY(take_int(cursor, "the number of chunks", NULL, 0, &chunks, err));
    TN_TRY(take_int(cursor, "the length of the dataset's name", NULL, 0, &size, err));
    TN_TRY(tn_cursor_take(cursor, (uint64_t)size, "the dataset's name", NULL, &text, err));
    out->chunk_count = (uint32_t)chunks;
    if (cursor->at < cursor->size) {
        TN_FAIL(err, TN_E_FILE_DAMAGED, "%s: %" PRIu64 " bytes behind the dataset's name, none were expected",
                cursor->name, cursor->size - cursor->at);
    }
    return size ? tn_imatrix_add_dataset(out, text, (uint64_t)size, err) : TN_OK;
}

static int32_t read_older(tn_cursor *cursor, tn_imatrix *out, tn_error *err) {
    int32_t count;
    out->older = 1;
    TN_TRY(take_int(cursor, "the number of entries", NULL, 1, &count, err));
    for (int32_t i = 0; i < count; i++) { TN_TRY(take_entry(cursor, i, out, err)); }
    return cursor->at < cursor->size ? take_tail(cursor, out, err) : TN_OK;
}

/* ---- both ---------------------------------------------------------------------------------------------- */

static int32_t read_mapped(const char *path, const tn_mapping *mapping, tn_imatrix *out, tn_error *err) {
    tn_cursor cursor = {.name = tn_path_tail(path), .data = mapping->data, .size = mapping->size};
    if (mapping->size == 0) {
        TN_FAIL(err, TN_E_FILE_DAMAGED, "%s is empty, an importance file was expected", cursor.name);
    }
    if (mapping->size >= 4 && memcmp(mapping->data, "GGUF", 4) == 0) { return read_newer(path, out, err); }
    return read_older(&cursor, out, err);
}

int32_t tn_imatrix_read(const char *path, tn_imatrix *out, tn_error *err) {
    tn_mapping mapping;
    *out = (tn_imatrix){0};
    TN_TRY(tn_mapping_open(path, &mapping, err));
    int32_t code = read_mapped(path, &mapping, out, err);
    tn_mapping_close(&mapping);
    if (code != TN_OK) { tn_imatrix_free(out); }
    return code;
}
