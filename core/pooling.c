/*
 * pooling.c - rows to one vector: what a file asks for, and the arithmetic. Sums are float64 in the order of the rows.
 */
#include "tenon/embedding.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

enum { BLOCK = 64 }; /* columns that are summed at once */

static int32_t read_type(const tn_meta *meta, const char *key, uint32_t *pooling, tn_error *err) {
    tn_kv kv = {.struct_size = sizeof kv};
    int64_t type = 0;
    *pooling = TN_POOLING_OF_FILE;
    if (meta->find(meta, key, &kv) != TN_OK) { return TN_OK; }
    if (kv.type == TN_KV_ARRAY || !tn_kv_int(&kv, 0, &type)) {
        TN_FAIL(err, TN_E_PARAM_TYPE, "%s: expected an integer", key);
    }
    if (type < TN_POOLING_NONE || type > TN_POOLING_RANK) {
        TN_FAIL(err, TN_E_PARAM_UNSUPPORTED,
                "%s: %" PRId64 ", expected 0 (none), 1 (mean), 2 (cls), 3 (last) or 4 (rank)", key, type);
    }
    *pooling = (uint32_t)type;
    return TN_OK;
}

int32_t tn_pooling_read(const tn_gguf *file, uint32_t *pooling, tn_error *err) {
    const tn_meta *meta = tn_gguf_meta(file);
    tn_kv kv = {.struct_size = sizeof kv};
    char key[256];
    *pooling = TN_POOLING_OF_FILE;
    if (meta->find(meta, "general.architecture", &kv) != TN_OK || kv.type != TN_KV_STRING) { return TN_OK; }
    int size = snprintf(key, sizeof key, "%.*s.pooling_type", (int)(kv.count < 200 ? kv.count : 200),
                        (const char *)kv.data);
    return size > 0 ? read_type(meta, key, pooling, err) : TN_OK;
}

static void add_rows(const float *data, uint32_t rows, uint32_t width, uint32_t columns, float *out) {
    double sum[BLOCK] = {0};
    for (uint32_t r = 0; r < rows; r++, data += width) {
        for (uint32_t c = 0; c < columns; c++) { sum[c] += (double)data[c]; }
    }
    for (uint32_t c = 0; c < columns; c++) { out[c] = (float)(sum[c] / rows); }
}

void tn_pool_rows(uint32_t pooling, const float *data, uint32_t rows, uint32_t width, float *out) {
    if (pooling != TN_POOLING_MEAN) {
        size_t row = pooling == TN_POOLING_LAST ? rows - 1 : 0;
        memcpy(out, data + row * width, width * sizeof *out);
        return;
    }
    for (uint32_t c = 0; c < width; c += BLOCK) {
        add_rows(data + c, rows, width, width - c < BLOCK ? width - c : BLOCK, out + c);
    }
}

void tn_normalise(float *vector, uint32_t width) {
    double sum = 0;
    for (uint32_t c = 0; c < width; c++) { sum += (double)vector[c] * (double)vector[c]; }
    double length = sqrt(sum);
    for (uint32_t c = 0; c < width && length > 0; c++) { vector[c] = (float)((double)vector[c] / length); }
}
