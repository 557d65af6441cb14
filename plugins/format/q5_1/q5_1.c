/* q5_1.c - Q5_1: 32 codes of 0 .. 31, a binary16 scale and a binary16 minimum. */
#include "q5_1_kernels.h"

static void decode(void *self, const void *blocks, uint64_t count, float *out) {
    (void)self;
    tn_decode_blocks(blocks, count, out, Q5_1_SHAPE, q5_1_open);
}

static int32_t encode(void *self, const float *x, uint64_t rows, uint64_t cols, const float *importance,
                      void *blocks, tn_error *err) {
    tn_run_encode *encode_run = q5_1_encode_scalar; /* the others give the same bytes, faster */
#if defined(__x86_64__)
    if (tn_encode_isa(self) & TN_ISA_AVX2) { encode_run = q5_1_encode_avx2; }
#else
    (void)self;
#endif
    return tn_encode_runs(x, rows, cols, importance, blocks, err, 24, encode_run);
}

static int32_t check(void *self, const void *blocks, uint64_t block_count, uint64_t *bad) {
    (void)self;
    uint64_t first = tn_find_bad_half(blocks, block_count, 24, 0);
    return tn_check_result(tn_find_bad_half(blocks, first, 24, 2), block_count, bad);
}

static const tn_format_kernel *const kernels[] = {
    &q5_1_gemv_scalar, &q5_1_unpack_scalar,
#if defined(__x86_64__)
    &q5_1_gemv_avx2,   &q5_1_unpack_avx2,   &q5_1_gemv_avx512, &q5_1_unpack_avx512,
#endif
};

static const tn_format format = {.struct_size = sizeof(tn_format),
                                 .type = 7,
                                 .name = "Q5_1",
                                 .block = 32,
                                 .block_bytes = 24,
                                 .importance = TN_IMPORTANCE_USED,
                                 .decode = decode,
                                 .encode = encode,
                                 .check = check,
                                 .kernel_count = TN_COUNT(kernels),
                                 .kernels = kernels};

TN_FORMAT_PLUGIN("format.q5_1", format);
