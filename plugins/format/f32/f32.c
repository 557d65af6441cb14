/* f32.c - F32: little-endian binary32, as it is. */
#include "f32_kernels.h"

static void decode(void *self, const void *blocks, uint64_t count, float *out) {
    (void)self;
    memcpy(out, blocks, count * sizeof *out);
}

static int32_t encode(void *self, const float *x, uint64_t rows, uint64_t cols, const float *importance,
                      void *blocks, tn_error *err) {
    (void)self;
    TN_TRY(tn_encode_check(x, rows, cols, importance, err));
    memcpy(blocks, x, rows * cols * sizeof *x);
    return TN_OK;
}

static int32_t check(void *self, const void *blocks, uint64_t block_count, uint64_t *bad) {
    (void)self;
    for (uint64_t i = 0; i < block_count; i++) {
        if (!isfinite(tn_load_float((const uint8_t *)blocks + 4 * i))) {
            *bad = i;
            return TN_E_FILE_DAMAGED;
        }
    }
    return TN_OK;
}

/* To unpack and to store is to copy: what is portable is as fast as anything. */
static const tn_format_kernel *const kernels[] = {
    &f32_gemv_scalar, &f32_unpack_scalar, &f32_store_scalar, &f32_blend_scalar,
#if defined(__x86_64__)
    &f32_gemv_avx2,   &f32_blend_avx2,    &f32_gemv_avx512,  &f32_blend_avx512,
#endif
};

static const tn_format format = {.struct_size = sizeof(tn_format),
                                 .type = 0,
                                 .name = "F32",
                                 .block = 1,
                                 .block_bytes = 4,
                                 .flags = TN_FORMAT_FLOAT,
                                 .importance = TN_IMPORTANCE_IGNORED,
                                 .decode = decode,
                                 .encode = encode,
                                 .check = check,
                                 .kernel_count = TN_COUNT(kernels),
                                 .kernels = kernels};

TN_FORMAT_PLUGIN("format.f32", format);
