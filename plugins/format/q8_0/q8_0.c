/* q8_0.c - Q8_0: 32 signed bytes and one binary16 scale. */
#include "q8_0_kernels.h"

static void decode(void *self, const void *blocks, uint64_t count, float *out) {
    (void)self;
    tn_decode_blocks(blocks, count, out, Q8_0_SHAPE, q8_0_open);
}

/* x of magnitude below 2^22 to the nearest integer, ties away from zero. */
static inline float round_away(float x) {
    float even = x + 0x1.8p23f - 0x1.8p23f, rest = x - even; /* 1/2 if a tie went down */
    return even + (float)(rest == 0.5f && x > 0) - (float)(rest == -0.5f && x < 0);
}

/*
 * The scale takes the largest number to 127; codes are rounded, ties away from zero, by the scale before it
 * is stored, as everybody writes this type. Only a scale that binary16 keeps coarsely (below 2^-14) is
 * rounded up, so that no code is cut, and the codes go by the stored one. 0: the scale is beyond binary16.
 */
static int encode_block(const float *x, const float *importance, uint8_t *block) {
    (void)importance;
    float scale = tn_size(x, 32) / 127;
    uint16_t half = tn_half_not_short(scale);
    if (half < 0x400) { scale = tn_float_of_half(half); }
    memcpy(block, &half, sizeof half);
    float inverse = tn_inverse(scale);
    for (uint32_t i = 0; i < 32; i++) { block[2 + i] = (uint8_t)(int8_t)round_away(x[i] * inverse); }
    return tn_half_is_finite(block);
}

static int32_t encode(void *self, const float *x, uint64_t rows, uint64_t cols, const float *importance,
                      void *blocks, tn_error *err) {
    (void)self;
    return tn_encode_blocks(x, rows, cols, importance, blocks, err, Q8_0_SHAPE, encode_block);
}

static int32_t check(void *self, const void *blocks, uint64_t block_count, uint64_t *bad) {
    (void)self;
    return tn_check_result(tn_find_bad_half(blocks, block_count, 34, 0), block_count, bad);
}

static const tn_format_kernel *const kernels[] = {
    &q8_0_gemv_scalar, &q8_0_unpack_scalar,
#if defined(__x86_64__)
    &q8_0_gemv_avx2,   &q8_0_unpack_avx2,   &q8_0_gemv_avx512, &q8_0_unpack_avx512,
#endif
};

static const tn_format format = {.struct_size = sizeof(tn_format),
                                 .type = 8,
                                 .name = "Q8_0",
                                 .block = 32,
                                 .block_bytes = 34,
                                 .importance = TN_IMPORTANCE_IGNORED,
                                 .decode = decode,
                                 .encode = encode,
                                 .check = check,
                                 .kernel_count = TN_COUNT(kernels),
                                 .kernels = kernels};

TN_FORMAT_PLUGIN("format.q8_0", format);
