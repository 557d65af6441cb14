/* mxfp4.c - MXFP4: 32 codes of E2M1 numbers and the exponent of their scale, a power of two. */
#include "mxfp4_kernels.h"
#include "table16_e2m1.h"

static void decode(void *self, const void *blocks, uint64_t count, float *out) {
    (void)self;
    tn_decode_blocks(blocks, count, out, MXFP4_SHAPE, mxfp4_open);
}

/* The exponents that no number overflows with. */
enum { LARGEST_EXPONENT = 252 };

/* x times 2^power, -124 to 128, in two exact steps: one factor may be no float. */
static void scale_sizes(const float *x, int32_t power, float *sizes) {
    float first = tn_float_of_bits((uint32_t)(127 + power / 2) << 23);
    float second = tn_float_of_bits((uint32_t)(127 + power - power / 2) << 23);
    for (uint32_t i = 0; i < 32; i++) { sizes[i] = fabsf(x[i]) * first * second; }
}

/*
 * The exponent with which the largest number just needs the last binade of the table, or one of its
 * neighbours: where the largest would be cut a larger one may be better, where little weight lies on it a
 * smaller one.
 */
static int encode_block(const float *x, const float *importance, uint8_t *block) {
    static const int32_t offsets[] = {0, 1, -1, -2};
    float weights[32], sizes[32], best = INFINITY, scale = 1;
    int32_t middle = (int32_t)(tn_bits_of_float(fabsf(tn_largest(x, 32))) >> 23) - 2;
    if (middle < 0) { middle = 0; }
    tn_block_weights(importance, 32, weights);
    scale_sizes(x, 128 - middle, sizes);
    for (uint32_t i = 0; i < TN_COUNT(offsets); i++) {
        int32_t e = middle + offsets[i];
        if (e < 0 || e > LARGEST_EXPONENT) { continue; }
        float trial = tn_float_of_bits((uint32_t)(127 + offsets[i]) << 23);
        float error = tn_e2m1_error(sizes, weights, 32, trial);
        if (error < best) {
            best = error;
            scale = trial;
            block[0] = (uint8_t)e;
        }
    }
    tn_e2m1_pack(x, sizes, 32, scale, block + 1);
    return 1;
}

static int32_t encode(void *self, const float *x, uint64_t rows, uint64_t cols, const float *importance,
                      void *blocks, tn_error *err) {
    (void)self;
    return tn_encode_blocks(x, rows, cols, importance, blocks, err, MXFP4_SHAPE, encode_block);
}

/* 255 is a NaN in the standard. */
static int32_t check(void *self, const void *blocks, uint64_t block_count, uint64_t *bad) {
    const uint8_t *exponents = blocks;
    uint64_t i = 0;
    (void)self;
    while (i < block_count && exponents[17 * i] != 255) { i++; }
    return tn_check_result(i, block_count, bad);
}

static const tn_format_kernel *const kernels[] = {
    &mxfp4_gemv_scalar, &mxfp4_unpack_scalar,
#if defined(__x86_64__)
    &mxfp4_gemv_avx2,   &mxfp4_unpack_avx2,   &mxfp4_gemv_avx512, &mxfp4_unpack_avx512,
#endif
};

static const tn_format format = {.struct_size = sizeof(tn_format),
                                 .type = 39,
                                 .name = "MXFP4",
                                 .block = 32,
                                 .block_bytes = 17,
                                 .importance = TN_IMPORTANCE_USED,
                                 .decode = decode,
                                 .encode = encode,
                                 .check = check,
                                 .kernel_count = TN_COUNT(kernels),
                                 .kernels = kernels};

TN_FORMAT_PLUGIN("format.mxfp4", format);
