/* nvfp4.c - NVFP4: 64 codes of E2M1 numbers and a UE4M3 scale for 16 of them. */
#include "nvfp4_kernels.h"
#include "table16_e2m1.h"

static void decode(void *self, const void *blocks, uint64_t count, float *out) {
    (void)self;
    tn_decode_blocks(blocks, count, out, NVFP4_SHAPE, nvfp4_open);
}

/* The largest scale byte that has a number, and the largest number: 448 * 6. */
enum { LARGEST_BYTE = 0x7e, LARGEST_NUMBER = 2688 };

/*
 * The best of the scales from a little less than what takes the largest of 16 numbers to 6, the last of the
 * table, up to what takes it to 3: numbers lie unevenly in the table.
 */
static void encode_group(const float *x, const float *importance, uint8_t *byte, uint8_t *at) {
    float weights[16], sizes[16], best = INFINITY, largest = fabsf(tn_largest(x, 16));
    int32_t middle = tn_half_of_float(largest / 6 * 0x1p-8f) >> 7; /* the byte of the scale, rounded down */
    tn_block_weights(importance, 16, weights);
    for (uint32_t i = 0; i < 16; i++) { sizes[i] = fabsf(x[i]); }
    for (int32_t trial = middle - 2; trial <= middle + 8; trial++) {
        if (trial < 0 || trial > LARGEST_BYTE) { continue; }
        float error = tn_e2m1_error(sizes, weights, 16, nvfp4_scale((uint8_t)trial));
        if (error < best) {
            best = error;
            *byte = (uint8_t)trial;
        }
    }
    tn_e2m1_pack(x, sizes, 16, nvfp4_scale(*byte), at);
}

static int encode_block(const float *x, const float *importance, uint8_t *block) {
    for (uint32_t g = 0; g < 4; g++) {
        encode_group(x + 16 * g, importance ? importance + 16 * g : NULL, block + g, block + 4 + 8 * g);
    }
    return 1;
}

static int32_t check_range(const float *x, uint64_t rows, uint64_t cols, tn_error *err) {
    for (uint64_t r = 0; r < rows; r++) {
        for (uint64_t c = 0; c < cols; c++) {
            float value = x[r * cols + c];
            if (fabsf(value) > LARGEST_NUMBER && isfinite(value)) {
                TN_FAIL(err, TN_E_RANGE,
                        "row %" PRIu64 ", column %" PRIu64 " is %g; NVFP4's largest number is %d", r, c,
                        (double)value, LARGEST_NUMBER);
            }
        }
    }
    return TN_OK;
}

static int32_t encode(void *self, const float *x, uint64_t rows, uint64_t cols, const float *importance,
                      void *blocks, tn_error *err) {
    (void)self;
    TN_TRY(check_range(x, rows, cols, err));
    return tn_encode_blocks(x, rows, cols, importance, blocks, err, NVFP4_SHAPE, encode_block);
}

/* Every byte has a finite number: 0x7f, a NaN in the standard, counts as 0 to all readers. */
static int32_t check(void *self, const void *blocks, uint64_t block_count, uint64_t *bad) {
    (void)self, (void)blocks, (void)block_count, (void)bad;
    return TN_OK;
}

/* A weight may come with a scale for its product; the one for 4-bit activations is not used here. */
static const tn_companion scale = {
    .struct_size = sizeof scale, .role = TN_COMPANION_SCALE, .suffix = ".scale", .optional = 1};
static const tn_companion input_scale = {.struct_size = sizeof input_scale,
                                         .role = TN_COMPANION_INPUT_SCALE,
                                         .suffix = ".input_scale",
                                         .optional = 1};
static const tn_companion *const companions[] = {&scale, &input_scale};

static const tn_format_kernel *const kernels[] = {
    &nvfp4_gemv_scalar, &nvfp4_unpack_scalar,
#if defined(__x86_64__)
    &nvfp4_gemv_avx2,   &nvfp4_unpack_avx2,   &nvfp4_gemv_avx512, &nvfp4_unpack_avx512,
#endif
};

static const tn_format format = {.struct_size = sizeof(tn_format),
                                 .type = 40,
                                 .name = "NVFP4",
                                 .block = 64,
                                 .block_bytes = 36,
                                 .importance = TN_IMPORTANCE_USED,
                                 .decode = decode,
                                 .encode = encode,
                                 .check = check,
                                 .kernel_count = TN_COUNT(kernels),
                                 .companion_count = TN_COUNT(companions),
                                 .kernels = kernels,
                                 .companions = companions};

TN_FORMAT_PLUGIN("format.nvfp4", format);
