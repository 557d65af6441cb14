/* q4_0.c - Q4_0: 32 codes of -8 .. 7 and one binary16 scale. */
#include "q4_0_kernels.h"

static void decode(void *self, const void *blocks, uint64_t count, float *out) {
    (void)self;
    tn_decode_blocks(blocks, count, out, Q4_0_SHAPE, q4_0_open);
}

static void pack_codes(const int8_t *codes, uint8_t *block) {
    for (uint32_t i = 0; i < 16; i++) { block[2 + i] = (uint8_t)((codes[i] + 8) | (codes[i + 16] + 8) << 4); }
}

/*
 * The best of the binary16 scales about that of least squares and about the one that takes the largest number
 * to -8, which is exact where all are equal. 0: it is beyond binary16.
 */
static int encode_block(const float *x, const float *importance, uint8_t *block) {
    float weights[32], scales[6], best = INFINITY, largest = tn_largest(x, 32), unit = tn_inverse(largest);
    tn_block_weights(importance, 32, weights);
    tn_half_neighbours(tn_search_scale(x, weights, 32, -8, 7), scales);
    tn_half_neighbours(largest / -8, scales + 3);
    for (uint32_t s = 0; s < 6; s++) {
        int8_t codes[32];
        float error = tn_codes_for_scale(x, weights, 32, -8, 7, scales[s], unit, codes);
        if (error < best) {
            best = error;
            tn_store_half(block, scales[s]);
            pack_codes(codes, block);
        }
    }
    return best < INFINITY;
}

static int32_t encode(void *self, const float *x, uint64_t rows, uint64_t cols, const float *importance,
                      void *blocks, tn_error *err) {
    (void)self;
    return tn_encode_blocks(x, rows, cols, importance, blocks, err, Q4_0_SHAPE, encode_block);
}

static int32_t check(void *self, const void *blocks, uint64_t block_count, uint64_t *bad) {
    (void)self;
    return tn_check_result(tn_find_bad_half(blocks, block_count, 18, 0), block_count, bad);
}

static const tn_format_kernel *const kernels[] = {
    &q4_0_gemv_scalar, &q4_0_unpack_scalar,
#if defined(__x86_64__)
    &q4_0_gemv_avx2,   &q4_0_unpack_avx2,   &q4_0_gemv_avx512, &q4_0_unpack_avx512,
#endif
};

static const tn_format format = {.struct_size = sizeof(tn_format),
                                 .type = 2,
                                 .name = "Q4_0",
                                 .block = 32,
                                 .block_bytes = 18,
                                 .importance = TN_IMPORTANCE_USED,
                                 .decode = decode,
                                 .encode = encode,
                                 .check = check,
                                 .kernel_count = TN_COUNT(kernels),
                                 .kernels = kernels};

TN_FORMAT_PLUGIN("format.q4_0", format);
