/* tq2_0.c - TQ2_0: 256 codes of -1 .. 1, two bits each, and one binary16 scale. */
#include "few_codes.h"
#include "tq2_0_kernels.h"

static void decode(void *self, const void *blocks, uint64_t count, float *out) {
    (void)self;
    tn_decode_blocks(blocks, count, out, TQ2_0_SHAPE, tq2_0_open);
}

static int encode_block(const float *x, const float *importance, uint8_t *block) {
    int8_t codes[256];
    float scale = tn_ternary_codes(x, importance, codes);
    for (uint32_t i = 0; i < 64; i++) {
        const int8_t *first = codes + i / 32 * 128 + i % 32;
        block[i] =
            (uint8_t)((first[0] + 1) | (first[32] + 1) << 2 | (first[64] + 1) << 4 | (first[96] + 1) << 6);
    }
    tn_store_half(block + 64, scale);
    return tn_half_is_finite(block + 64);
}

static int32_t encode(void *self, const float *x, uint64_t rows, uint64_t cols, const float *importance,
                      void *blocks, tn_error *err) {
    (void)self;
    return tn_encode_blocks(x, rows, cols, importance, blocks, err, TQ2_0_SHAPE, encode_block);
}

static int32_t check(void *self, const void *blocks, uint64_t block_count, uint64_t *bad) {
    (void)self;
    return tn_check_result(tn_find_bad_half(blocks, block_count, 66, 64), block_count, bad);
}

static const tn_format_kernel *const kernels[] = {
    &tq2_0_gemv_scalar, &tq2_0_unpack_scalar,
#if defined(__x86_64__)
    &tq2_0_gemv_avx2,   &tq2_0_unpack_avx2,   &tq2_0_gemv_avx512, &tq2_0_unpack_avx512,
#endif
};

static const tn_format format = {.struct_size = sizeof(tn_format),
                                 .type = 35,
                                 .name = "TQ2_0",
                                 .block = 256,
                                 .block_bytes = 66,
                                 .importance = TN_IMPORTANCE_USED,
                                 .decode = decode,
                                 .encode = encode,
                                 .check = check,
                                 .kernel_count = TN_COUNT(kernels),
                                 .kernels = kernels};

TN_FORMAT_PLUGIN("format.tq2_0", format);
