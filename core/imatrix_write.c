/*
 * imatrix_write.c - an importance matrix as a GGUF file: for each weight NAME a tensor NAME.in_sum2 of [columns,
 * experts] and NAME.counts of [1, experts], sorted by NAME.
 */
#include "imatrix.h"

#include "tenon/gguf.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

enum { TYPE_F32 = 0, BUFFER = 4096 };

/* ---- metadata -------------------------------------------------------------------------------------------- */

static int32_t put_string(tn_gguf_writer *writer, const char *key, const char *text, tn_error *err) {
    tn_kv kv = {.struct_size = sizeof kv, .type = TN_KV_STRING, .data = text, .size = strlen(text)};
    kv.count = kv.size;
    return tn_gguf_writer_put(writer, key, &kv, err);
}

static int32_t put_number(tn_gguf_writer *writer, const char *key, uint32_t number, tn_error *err) {
    tn_kv kv = {
        .struct_size = sizeof kv, .type = TN_KV_U32, .count = 1, .data = &number, .size = sizeof number};
    return tn_gguf_writer_put(writer, key, &kv, err);
}

/* An array of strings in file form: before each its length as a uint64. */
static int32_t put_datasets(tn_gguf_writer *writer, const tn_imatrix *matrix, tn_error *err) {
    tn_kv kv = {.struct_size = sizeof kv,
                .type = TN_KV_ARRAY,
                .element_type = TN_KV_STRING,
                .count = matrix->dataset_count};
    for (uint64_t i = 0; i < matrix->dataset_count; i++) {
        kv.size += sizeof(uint64_t) + strlen(matrix->datasets[i]);
    }
    unsigned char *data = malloc(kv.size + 1), *at = data;
    if (!data) { TN_FAIL(err, TN_E_MEMORY, "no memory for the names of the datasets"); }
    for (uint64_t i = 0; i < matrix->dataset_count; i++) {
        uint64_t length = strlen(matrix->datasets[i]);
        memcpy(at, &length, sizeof length);
        memcpy(at + sizeof length, matrix->datasets[i], length);
        at += sizeof length + length;
    }
    kv.data = data;
    int32_t code = tn_gguf_writer_put(writer, "imatrix.datasets", &kv, err);
    free(data);
    return code;
}

static int32_t put_metadata(tn_gguf_writer *writer, const tn_imatrix *matrix, tn_error *err) {
    TN_TRY(put_string(writer, "general.type", "imatrix", err));
    TN_TRY(put_datasets(writer, matrix, err));
    TN_TRY(put_number(writer, "imatrix.chunk_count", matrix->chunk_count, err));
    return put_number(writer, "imatrix.chunk_size", matrix->chunk_size, err);
}

/* ---- tensors --------------------------------------------------------------------------------------------- */

static int32_t declare(tn_gguf_writer *writer, const char *name, const char *kind, uint64_t columns,
                       uint64_t experts, tn_error *err) {
    const uint64_t dims[2] = {columns, experts};
    char *full = NULL;
    if (asprintf(&full, "%s.%s", name, kind) < 0) { TN_FAIL(err, TN_E_MEMORY, "no memory for %s", name); }
    int32_t code =
        tn_gguf_writer_declare(writer, full, TYPE_F32, 2, dims, columns * experts * sizeof(float), err);
    free(full);
    return code;
}

static int32_t write_floats(tn_gguf_writer *writer, const char *name, const double *numbers, uint64_t count,
                            tn_error *err) {
    float buffer[BUFFER];
    for (uint64_t i = 0; i < count; i += BUFFER) {
        uint64_t n = count - i < BUFFER ? count - i : BUFFER;
        for (uint64_t k = 0; k < n; k++) {
            buffer[k] = (float)numbers[i + k];
            if (isfinite(buffer[k])) { continue; }
            TN_FAIL(err, TN_E_RANGE, "%s: a sum of %g is more than a float32 holds", name, numbers[i + k]);
        }
        TN_TRY(tn_gguf_writer_write(writer, buffer, n * sizeof *buffer, err));
    }
    return TN_OK;
}

static int32_t write_all(tn_gguf_writer *writer, const tn_imatrix *matrix, const uint64_t *order,
                         tn_error *err) {
    TN_TRY(put_metadata(writer, matrix, err));
    for (uint64_t i = 0; i < matrix->names.count; i++) {
        const tn_imatrix_entry *entry = &matrix->entries[order[i]];
        const char *name = matrix->names.at[order[i]];
        TN_TRY(declare(writer, name, "counts", 1, entry->experts, err));
        TN_TRY(declare(writer, name, "in_sum2", entry->columns, entry->experts, err));
    }
    for (uint64_t i = 0; i < matrix->names.count; i++) {
        const tn_imatrix_entry *entry = &matrix->entries[order[i]];
        const char *name = matrix->names.at[order[i]];
        TN_TRY(write_floats(writer, name, entry->counts, entry->experts, err));
        TN_TRY(write_floats(writer, name, entry->sums, entry->columns * entry->experts, err));
    }
    return TN_OK;
}

static int by_name(const void *a, const void *b, void *context) {
    char **names = context;
    return strcmp(names[*(const uint64_t *)a], names[*(const uint64_t *)b]);
}

int32_t tn_imatrix_write(const tn_imatrix *matrix, const char *path, tn_error *err) {
    tn_gguf_writer *writer = NULL;
    uint64_t *order = calloc(matrix->names.count + 1, sizeof *order);
    if (!order) { TN_FAIL(err, TN_E_MEMORY, "no memory to sort %" PRIu64 " names", matrix->names.count); }
    for (uint64_t i = 0; i < matrix->names.count; i++) { order[i] = i; }
    qsort_r(order, matrix->names.count, sizeof *order, by_name, matrix->names.at);
    int32_t code = tn_gguf_writer_create(path, &writer, err);
    if (code == TN_OK) { code = write_all(writer, matrix, order, err); }
    if (code == TN_OK) {
        code = tn_gguf_writer_finish(writer, err);
    } else {
        tn_gguf_writer_abandon(writer);
    }
    free(order);
    return code;
}
