/*
 * iq2_s.c - IQ2_S: codes from a codebook of 1024 entries of eight columns, a scale of four bits for each 16
 * columns, and one binary16 scale.
 */
#include "iq2_s_kernels.h"
#include "iq_encode.h"

static void decode(void *self, const void *blocks, uint64_t count, float *out) {
    (void)self;
    tn_decode_blocks(blocks, count, out, IQ2_S_SHAPE, iq2_s_open);
}

static int32_t encode(void *self, const float *x, uint64_t rows, uint64_t cols, const float *importance,
                      void *blocks, tn_error *err) {
    (void)self;
    return tn_encode_blocks(x, rows, cols, importance, blocks, err, IQ2_S_SHAPE, tn_iq2_s_encode);
}

static int32_t check(void *self, const void *blocks, uint64_t block_count, uint64_t *bad) {
    (void)self;
    return tn_check_result(tn_find_bad_half(blocks, block_count, 82, 0), block_count, bad);
}

static const tn_format_kernel *const kernels[] = {
    &iq2_s_gemv_scalar,   &iq2_s_unpack_scalar,
#if defined(__x86_64__)
    &iq2_s_gemv_avx2,     &iq2_s_unpack_avx2,     &iq2_s_gemv_avx512,
    &iq2_s_unpack_avx512, &iq2_s_gemv_avx512vbmi, &iq2_s_unpack_avx512vbmi,
#endif
};

static const tn_format format = {.struct_size = sizeof(tn_format),
                                 .type = 22,
                                 .name = "IQ2_S",
                                 .block = 256,
                                 .block_bytes = 82,
                                 .importance = TN_IMPORTANCE_USED,
                                 .decode = decode,
                                 .encode = encode,
                                 .check = check,
                                 .kernel_count = TN_COUNT(kernels),
                                 .kernels = kernels};

TN_FORMAT_PLUGIN("format.iq2_s", format);
