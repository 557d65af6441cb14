/* q4_0.c - Q4_0: 32 codes of -8 .. 7 and one binary16 scale. */
#include "q4_0_kernels.h"

static void decode(void *self, const void *blocks, uint64_t count, float *out) {
    (void)self;
    tn_decode_blocks(blocks, count, out, Q4_0_SHAPE, q4_0_open);
}

static int32_t encode(void *self, const float *x, uint64_t rows, uint64_t cols, const float *importance,
                      void *blocks, tn_error *err) {
    tn_run_encode *encode_run = q4_0_encode_scalar; /* the others give the same bytes, faster */
#if defined(__x86_64__)
    if (tn_encode_isa(self) & TN_ISA_AVX2) { encode_run = q4_0_encode_avx2; }
#else
    (void)self;
#endif
    return tn_encode_runs(x, rows, cols, importance, blocks, err, 18, encode_run);
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
