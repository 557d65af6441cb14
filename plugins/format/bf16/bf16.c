/* bf16.c - BF16: the upper half of binary32, rounded to nearest even. */
#include "bf16_kernels.h"

static void decode(void *self, const void *blocks, uint64_t count, float *out) {
    (void)self;
    for (uint64_t i = 0; i < count; i++) {
        out[i] = tn_float_of_bfloat(tn_load_u16((const uint8_t *)blocks + 2 * i));
    }
}

static int is_finite(const void *at) {
    return (tn_load_u16(at) & 0x7f80) != 0x7f80;
}

/* A number beyond the largest finite one (3.39e38) would round to infinity and is refused. */
static int32_t encode(void *self, const float *x, uint64_t rows, uint64_t cols, const float *importance,
                      void *blocks, tn_error *err) {
    (void)self;
    uint8_t *out = blocks;
    TN_TRY(tn_encode_check(x, rows, cols, importance, err));
    for (uint64_t i = 0; i < rows * cols; i++, out += 2) {
        uint16_t bfloat = tn_bfloat_of_float(x[i]);
        memcpy(out, &bfloat, sizeof bfloat);
        if (!is_finite(out)) {
            TN_FAIL(err, TN_E_RANGE, "row %" PRIu64 ", column %" PRIu64 " is %g, beyond the largest bfloat16",
                    i / cols, i % cols, (double)x[i]);
        }
    }
    return TN_OK;
}

static int32_t check(void *self, const void *blocks, uint64_t block_count, uint64_t *bad) {
    (void)self;
    for (uint64_t i = 0; i < block_count; i++) {
        if (!is_finite((const uint8_t *)blocks + 2 * i)) {
            *bad = i;
            return TN_E_FILE_DAMAGED;
        }
    }
    return TN_OK;
}

static const tn_format_kernel *const kernels[] = {
    &bf16_gemv_scalar, &bf16_unpack_scalar,
#if defined(__x86_64__)
    &bf16_gemv_avx2,   &bf16_unpack_avx2,   &bf16_gemv_avx512, &bf16_unpack_avx512,
#endif
};

static const tn_format format = {.struct_size = sizeof(tn_format),
                                 .type = 30,
                                 .name = "BF16",
                                 .block = 1,
                                 .block_bytes = 2,
                                 .flags = TN_FORMAT_FLOAT,
                                 .importance = TN_IMPORTANCE_IGNORED,
                                 .decode = decode,
                                 .encode = encode,
                                 .check = check,
                                 .kernel_count = TN_COUNT(kernels),
                                 .kernels = kernels};

TN_FORMAT_PLUGIN("format.bf16", format);
