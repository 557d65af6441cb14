/* q2_0.c - Q2_0: 64 codes of -1 .. 2 and one binary16 scale. */
#include "few_codes.h"
#include "q2_0_kernels.h"

static void decode(void *self, const void *blocks, uint64_t count, float *out) {
    (void)self;
    tn_decode_blocks(blocks, count, out, Q2_0_SHAPE, q2_0_open);
}

static int encode_block(const float *x, const float *importance, uint8_t *block) {
    float weights[64];
    tn_block_weights(importance, 64, weights);
    tn_store_half(block, tn_few_scale_to_2(x, weights, 64));
    float inverse = tn_inverse(tn_load_half(block));
    for (uint32_t i = 0; i < 16; i++) {
        block[2 + i] = 0;
        for (uint32_t k = 0; k < 4; k++) {
            uint32_t code = (uint32_t)(tn_nearest(x[4 * i + k] * inverse, -1, 2) + 1);
            block[2 + i] |= (uint8_t)(code << 2 * k);
        }
    }
    return tn_half_is_finite(block);
}

static int32_t encode(void *self, const float *x, uint64_t rows, uint64_t cols, const float *importance,
                      void *blocks, tn_error *err) {
    (void)self;
    return tn_encode_blocks(x, rows, cols, importance, blocks, err, Q2_0_SHAPE, encode_block);
}

static int32_t check(void *self, const void *blocks, uint64_t block_count, uint64_t *bad) {
    (void)self;
    return tn_check_result(tn_find_bad_half(blocks, block_count, 18, 0), block_count, bad);
}

static const tn_format_kernel *const kernels[] = {
    &q2_0_gemv_scalar, &q2_0_unpack_scalar,
#if defined(__x86_64__)
    &q2_0_gemv_avx2,   &q2_0_unpack_avx2,   &q2_0_gemv_avx512, &q2_0_unpack_avx512,
#endif
};

static const tn_format format = {.struct_size = sizeof(tn_format),
                                 .type = 42,
                                 .name = "Q2_0",
                                 .block = 64,
                                 .block_bytes = 18,
                                 .importance = TN_IMPORTANCE_USED,
                                 .decode = decode,
                                 .encode = encode,
                                 .check = check,
                                 .kernel_count = TN_COUNT(kernels),
                                 .kernels = kernels};

TN_FORMAT_PLUGIN("format.q2_0", format);
