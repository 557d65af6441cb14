/* q8_k.c - Q8_K: 256 signed bytes, a float scale and sums. Activations of other engines: read, never written. */
#include "q8_k_kernels.h"

static void decode(void *self, const void *blocks, uint64_t count, float *out) {
    (void)self;
    tn_decode_blocks(blocks, count, out, Q8_K_SHAPE, q8_k_open);
}

static int32_t check(void *self, const void *blocks, uint64_t block_count, uint64_t *bad) {
    (void)self;
    const uint8_t *at = blocks;
    uint64_t i = 0;
    while (i < block_count && isfinite(tn_load_float(at + i * 292))) { i++; }
    return tn_check_result(i, block_count, bad);
}

static const tn_format_kernel *const kernels[] = {
    &q8_k_gemv_scalar, &q8_k_unpack_scalar,
#if defined(__x86_64__)
    &q8_k_gemv_avx2,   &q8_k_unpack_avx2,   &q8_k_gemv_avx512, &q8_k_unpack_avx512,
#endif
};

static const tn_format format = {.struct_size = sizeof(tn_format),
                                 .type = 15,
                                 .name = "Q8_K",
                                 .block = 256,
                                 .block_bytes = 292,
                                 .decode = decode,
                                 .check = check,
                                 .kernel_count = TN_COUNT(kernels),
                                 .kernels = kernels};

TN_FORMAT_PLUGIN("format.q8_k", format);
