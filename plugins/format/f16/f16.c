/* f16.c - F16: IEEE binary16, rounded to nearest even. */
#include "f16_kernels.h"

static void decode(void *self, const void *blocks, uint64_t count, float *out) {
#if defined(__x86_64__)
    if (tn_encode_isa(self) & TN_ISA_AVX2) {
        f16_decode_avx2(blocks, count, out);
        return;
    }
#else
    (void)self;
#endif
    for (uint64_t i = 0; i < count; i++) { out[i] = tn_load_half((const uint8_t *)blocks + 2 * i); }
}

/* A number that would round to infinity is refused: the largest finite one could be wrong by any factor. */
static int32_t encode(void *self, const float *x, uint64_t rows, uint64_t cols, const float *importance,
                      void *blocks, tn_error *err) {
    (void)self;
    uint8_t *out = blocks;
    TN_TRY(tn_encode_check(x, rows, cols, importance, err));
    for (uint64_t i = 0; i < rows * cols; i++, out += 2) {
        tn_store_half(out, x[i]);
        if (!tn_half_is_finite(out)) { return tn_encode_overflow(i / cols, i % cols, x[i], err); }
    }
    return TN_OK;
}

static int32_t check(void *self, const void *blocks, uint64_t block_count, uint64_t *bad) {
    (void)self;
    for (uint64_t i = 0; i < block_count; i++) {
        if (!tn_half_is_finite((const uint8_t *)blocks + 2 * i)) {
            *bad = i;
            return TN_E_FILE_DAMAGED;
        }
    }
    return TN_OK;
}

static const tn_format_kernel *const kernels[] = {
    &f16_gemv_scalar, &f16_unpack_scalar, &f16_store_scalar, &f16_blend_scalar,
#if defined(__x86_64__)
    &f16_gemv_avx2,   &f16_unpack_avx2,   &f16_store_avx2,   &f16_blend_avx2,
    &f16_gemv_avx512, &f16_unpack_avx512, &f16_store_avx512, &f16_blend_avx512,
#endif
};

static const tn_format format = {.struct_size = sizeof(tn_format),
                                 .type = 1,
                                 .name = "F16",
                                 .block = 1,
                                 .block_bytes = 2,
                                 .flags = TN_FORMAT_FLOAT,
                                 .importance = TN_IMPORTANCE_IGNORED,
                                 .decode = decode,
                                 .encode = encode,
                                 .check = check,
                                 .kernel_count = TN_COUNT(kernels),
                                 .kernels = kernels};

TN_FORMAT_PLUGIN("format.f16", format);
