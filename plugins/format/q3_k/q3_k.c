/* q3_k.c - Q3_K: 256 codes of -4 .. 3, a 6-bit sub-scale for 16 columns and one binary16 scale. */
#include "planes_scalar.h"
#include "q3_k_kernels.h"

static void open_block(const uint8_t *block, int8_t *codes, float *scales, float *minimums) {
    tn_planes_open_all(block, Q3_K_PLANES, q3_k_open_head, codes, scales, minimums);
}

static void decode(void *self, const void *blocks, uint64_t count, float *out) {
    (void)self;
    tn_decode_blocks(blocks, count, out, Q3_K_SHAPE, open_block);
}

static int32_t encode(void *self, const float *x, uint64_t rows, uint64_t cols, const float *importance,
                      void *blocks, tn_error *err) {
    tn_block_encode *encode_block = q3_k_encode_scalar; /* the others give the same bytes, faster */
#if defined(__x86_64__)
    if (tn_encode_isa(self) & TN_ISA_AVX2) { encode_block = q3_k_encode_avx2; }
#else
    (void)self;
#endif
    return tn_encode_blocks(x, rows, cols, importance, blocks, err, Q3_K_SHAPE, encode_block);
}

static int32_t check(void *self, const void *blocks, uint64_t block_count, uint64_t *bad) {
    (void)self;
    return tn_check_result(tn_find_bad_half(blocks, block_count, 110, 108), block_count, bad);
}

static const tn_format_kernel *const kernels[] = {
    &q3_k_gemv_scalar, &q3_k_unpack_scalar,
#if defined(__x86_64__)
    &q3_k_gemv_avx2,   &q3_k_unpack_avx2,   &q3_k_gemv_avx512, &q3_k_unpack_avx512,
#endif
};

static const tn_format format = {.struct_size = sizeof(tn_format),
                                 .type = 11,
                                 .name = "Q3_K",
                                 .block = 256,
                                 .block_bytes = 110,
                                 .importance = TN_IMPORTANCE_USED,
                                 .decode = decode,
                                 .encode = encode,
                                 .check = check,
                                 .kernel_count = TN_COUNT(kernels),
                                 .kernels = kernels};

TN_FORMAT_PLUGIN("format.q3_k", format);
