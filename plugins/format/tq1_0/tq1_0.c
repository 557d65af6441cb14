/* tq1_0.c - TQ1_0: 256 codes of -1 .. 1, five to a byte, and one binary16 scale. */
#include "few_codes.h"
#include "tq1_0_kernels.h"

static void decode(void *self, const void *blocks, uint64_t count, float *out) {
    (void)self;
    tn_decode_blocks(blocks, count, out, TQ1_0_SHAPE, tq1_0_open);
}

/* Digits n of bytes i as tq1_0_open_part reads them: their fraction of 256, rounded up. */
static void pack_part(const int8_t *codes, uint32_t bytes, uint32_t digits, uint8_t *to) {
    for (uint32_t i = 0; i < bytes; i++) {
        uint32_t value = 0;
        for (uint32_t n = 0; n < 5; n++) {
            value = 3 * value + (n < digits ? (uint32_t)(codes[n * bytes + i] + 1) : 0);
        }
        to[i] = (uint8_t)((value * 256 + 242) / 243);
    }
}

static int encode_block(const float *x, const float *importance, uint8_t *block) {
    int8_t codes[256];
    float scale = tn_ternary_codes(x, importance, codes);
    pack_part(codes, 32, 5, block);
    pack_part(codes + 160, 16, 5, block + 32);
    pack_part(codes + 240, 4, 4, block + 48);
    tn_store_half(block + 52, scale);
    return tn_half_is_finite(block + 52);
}

static int32_t encode(void *self, const float *x, uint64_t rows, uint64_t cols, const float *importance,
                      void *blocks, tn_error *err) {
    (void)self;
    return tn_encode_blocks(x, rows, cols, importance, blocks, err, TQ1_0_SHAPE, encode_block);
}

static int32_t check(void *self, const void *blocks, uint64_t block_count, uint64_t *bad) {
    (void)self;
    return tn_check_result(tn_find_bad_half(blocks, block_count, 54, 52), block_count, bad);
}

static const tn_format_kernel *const kernels[] = {
    &tq1_0_gemv_scalar, &tq1_0_unpack_scalar,
#if defined(__x86_64__)
    &tq1_0_gemv_avx2,   &tq1_0_unpack_avx2,   &tq1_0_gemv_avx512, &tq1_0_unpack_avx512,
#endif
};

static const tn_format format = {.struct_size = sizeof(tn_format),
                                 .type = 34,
                                 .name = "TQ1_0",
                                 .block = 256,
                                 .block_bytes = 54,
                                 .importance = TN_IMPORTANCE_USED,
                                 .decode = decode,
                                 .encode = encode,
                                 .check = check,
                                 .kernel_count = TN_COUNT(kernels),
                                 .kernels = kernels};

TN_FORMAT_PLUGIN("format.tq1_0", format);
