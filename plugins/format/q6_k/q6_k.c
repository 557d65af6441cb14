/* q6_k.c - Q6_K: 256 codes of -32 .. 31, a signed 8-bit sub-scale for 16 columns and one binary16 scale. */
#include "q6_k_kernels.h"

static void decode(void *self, const void *blocks, uint64_t count, float *out) {
    (void)self;
    tn_decode_blocks(blocks, count, out, Q6_K_SHAPE, q6_k_open);
}

static int32_t encode(void *self, const float *x, uint64_t rows, uint64_t cols, const float *importance,
                      void *blocks, tn_error *err) {
    tn_block_encode *encode_block = q6_k_encode_scalar; /* the others give the same bytes, faster */
#if defined(__x86_64__)
    if (tn_encode_isa(self) & TN_ISA_AVX2) { encode_block = q6_k_encode_avx2; }
#else
    (void)self;
#endif
    return tn_encode_blocks(x, rows, cols, importance, blocks, err, Q6_K_SHAPE, encode_block);
}

static int32_t check(void *self, const void *blocks, uint64_t block_count, uint64_t *bad) {
    (void)self;
    return tn_check_result(tn_find_bad_half(blocks, block_count, 210, 208), block_count, bad);
}

static const tn_format_kernel *const kernels[] = {
    &q6_k_gemv_scalar, &q6_k_unpack_scalar,
#if defined(__x86_64__)
    &q6_k_gemv_avx2,   &q6_k_unpack_avx2,   &q6_k_gemv_avx512, &q6_k_unpack_avx512,
#endif
};

static const tn_format format = {.struct_size = sizeof(tn_format),
                                 .type = 14,
                                 .name = "Q6_K",
                                 .block = 256,
                                 .block_bytes = 210,
                                 .importance = TN_IMPORTANCE_USED,
                                 .decode = decode,
                                 .encode = encode,
                                 .check = check,
                                 .kernel_count = TN_COUNT(kernels),
                                 .kernels = kernels};

TN_FORMAT_PLUGIN("format.q6_k", format);
