/*
 * iq3_s.c - IQ3_S: codes from a codebook of 512 entries of four columns, a scale of four bits for each 32
 * columns, and one binary16 scale.
 */
#include "iq3_s_kernels.h"
#include "iq_encode.h"

static void decode(void *self, const void *blocks, uint64_t count, float *out) {
    (void)self;
    tn_decode_blocks(blocks, count, out, IQ3_S_SHAPE, iq3_s_open);
}

static int32_t encode(void *self, const float *x, uint64_t rows, uint64_t cols, const float *importance,
                      void *blocks, tn_error *err) {
    (void)self;
    return tn_encode_blocks(x, rows, cols, importance, blocks, err, IQ3_S_SHAPE, tn_iq3_s_encode);
}

static int32_t check(void *self, const void *blocks, uint64_t block_count, uint64_t *bad) {
    (void)self;
    return tn_check_result(tn_find_bad_half(blocks, block_count, 110, 0), block_count, bad);
}

static const tn_format_kernel *const kernels[] = {
    &iq3_s_gemv_scalar,   &iq3_s_unpack_scalar,
#if defined(__x86_64__)
    &iq3_s_gemv_avx2,     &iq3_s_unpack_avx2,     &iq3_s_gemv_avx512,
    &iq3_s_unpack_avx512, &iq3_s_gemv_avx512vbmi, &iq3_s_unpack_avx512vbmi,
#endif
};

static const tn_format format = {.struct_size = sizeof(tn_format),
                                 .type = 21,
                                 .name = "IQ3_S",
                                 .block = 256,
                                 .block_bytes = 110,
                                 .importance = TN_IMPORTANCE_USED,
                                 .decode = decode,
                                 .encode = encode,
                                 .check = check,
                                 .kernel_count = TN_COUNT(kernels),
                                 .kernels = kernels};

TN_FORMAT_PLUGIN("format.iq3_s", format);
