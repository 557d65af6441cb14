/* q1_0.c - Q1_0: 128 signs and one binary16 scale. */
#include "q1_0_kernels.h"

static void decode(void *self, const void *blocks, uint64_t count, float *out) {
    (void)self;
    tn_decode_blocks(blocks, count, out, Q1_0_SHAPE, q1_0_open);
}

/* The scale of least squares is the weighted mean of the sizes. */
static int encode_block(const float *x, const float *importance, uint8_t *block) {
    float weights[128], sizes[128], largest = tn_size(x, 128), unit = tn_inverse(largest);
    tn_block_weights(importance, 128, weights);
    for (uint32_t i = 0; i < 128; i++) { sizes[i] = weights[i] * fabsf(x[i] * unit); }
    tn_store_half(block, tn_fold(sizes, 128) / tn_fold(weights, 128) * largest);
    for (uint32_t i = 0; i < 16; i++) {
        block[2 + i] = 0;
        for (uint32_t k = 0; k < 8; k++) { block[2 + i] |= (uint8_t)((x[8 * i + k] >= 0) << k); }
    }
    return tn_half_is_finite(block);
}

static int32_t encode(void *self, const float *x, uint64_t rows, uint64_t cols, const float *importance,
                      void *blocks, tn_error *err) {
    (void)self;
    return tn_encode_blocks(x, rows, cols, importance, blocks, err, Q1_0_SHAPE, encode_block);
}

static int32_t check(void *self, const void *blocks, uint64_t block_count, uint64_t *bad) {
    (void)self;
    return tn_check_result(tn_find_bad_half(blocks, block_count, 18, 0), block_count, bad);
}

static const tn_format_kernel *const kernels[] = {
    &q1_0_gemv_scalar, &q1_0_unpack_scalar,
#if defined(__x86_64__)
    &q1_0_gemv_avx2,   &q1_0_unpack_avx2,   &q1_0_gemv_avx512, &q1_0_unpack_avx512,
#endif
};

static const tn_format format = {.struct_size = sizeof(tn_format),
                                 .type = 41,
                                 .name = "Q1_0",
                                 .block = 128,
                                 .block_bytes = 18,
                                 .importance = TN_IMPORTANCE_USED,
                                 .decode = decode,
                                 .encode = encode,
                                 .check = check,
                                 .kernel_count = TN_COUNT(kernels),
                                 .kernels = kernels};

TN_FORMAT_PLUGIN("format.q1_0", format);
