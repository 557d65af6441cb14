/* q8_1.c - Q8_1: 32 signed bytes, a binary16 scale and a binary16 sum. Activations of other engines: read, never written. */
#include "q8_1_kernels.h"

static void decode(void *self, const void *blocks, uint64_t count, float *out) {
    (void)self;
    tn_decode_blocks(blocks, count, out, Q8_1_SHAPE, q8_1_open);
}

static int32_t check(void *self, const void *blocks, uint64_t block_count, uint64_t *bad) {
    (void)self;
    return tn_check_result(tn_find_bad_half(blocks, block_count, 36, 0), block_count, bad);
}

static const tn_format_kernel *const kernels[] = {
    &q8_1_gemv_scalar, &q8_1_unpack_scalar,
#if defined(__x86_64__)
    &q8_1_gemv_avx2,   &q8_1_unpack_avx2,   &q8_1_gemv_avx512, &q8_1_unpack_avx512,
#endif
};

static const tn_format format = {.struct_size = sizeof(tn_format),
                                 .type = 9,
                                 .name = "Q8_1",
                                 .block = 32,
                                 .block_bytes = 36,
                                 .decode = decode,
                                 .check = check,
                                 .kernel_count = TN_COUNT(kernels),
                                 .kernels = kernels};

TN_FORMAT_PLUGIN("format.q8_1", format);
