/*
 * i8.c - GGUF's type I8 as weights: one signed byte an element, without a scale. A whole plugin in its
 * smallest form: it has no kernels, so a backend decodes its rows to floats.
 */
#include "tenon/plugin.h"

#include <math.h>
#include <string.h>

static void decode(void *self, const void *blocks, uint64_t count, float *out) {
    const int8_t *codes = blocks;
    (void)self;
    for (uint64_t i = 0; i < count; i++) { out[i] = codes[i]; }
}

/* The nearest whole number, ties to even; what lies beyond an int8 becomes its end. */
static int32_t encode(void *self, const float *x, uint64_t rows, uint64_t cols, const float *importance,
                      void *blocks, tn_error *err) {
    int8_t *codes = blocks;
    (void)self;
    (void)importance; /* each element stands alone: there is nothing to weigh against */
    for (uint64_t i = 0; i < rows * cols; i++) {
        if (!isfinite(x[i])) {
            TN_FAIL(err, TN_E_INPUT, "row %llu, column %llu is no finite number",
                    (unsigned long long)(i / cols), (unsigned long long)(i % cols));
        }
        codes[i] = (int8_t)nearbyintf(fminf(fmaxf(x[i], -128), 127));
    }
    return TN_OK;
}

/* Every byte is a number. */
static int32_t check(void *self, const void *blocks, uint64_t block_count, uint64_t *bad) {
    (void)self;
    (void)blocks;
    (void)block_count;
    (void)bad;
    return TN_OK;
}

static const tn_format format = {.struct_size = sizeof(tn_format),
                                 .type = 24,
                                 .name = "I8",
                                 .block = 1,
                                 .block_bytes = 1,
                                 .importance = TN_IMPORTANCE_IGNORED,
                                 .decode = decode,
                                 .encode = encode,
                                 .check = check};

static int32_t open(const tn_host *host, void **self, tn_error *err) {
    (void)host;
    (void)err;
    *self = NULL; /* nothing to find again */
    return TN_OK;
}

static const void *interface(const char *name) {
    return strcmp(name, TN_FORMAT_1) == 0 ? &format : NULL;
}

TN_PLUGIN("format.i8", "1.0.0", "Apache-2.0", 0, open, NULL, interface);
