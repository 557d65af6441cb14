/* q4_1.c - Q4_1: 32 codes of 0 .. 15, a binary16 scale and a binary16 minimum. */
#include "q4_1_kernels.h"

static void decode(void *self, const void *blocks, uint64_t count, float *out) {
    (void)self;
    tn_decode_blocks(blocks, count, out, Q4_1_SHAPE, q4_1_open);
}

/* A way to write a block, and its error. */
typedef struct trial {
    float scale, minimum, error;
    float codes[32];
} trial;

/* Codes and error for a scale and a minimum, both rounded to binary16 first; an infinite error if one
 * overflows. */
static void try_line(const float *x, const float *weights, float scale, float minimum, float unit, trial *t) {
    float error[32], d = tn_float_of_half(tn_half_not_short(scale)),
                     m = tn_float_of_half(tn_half_of_float(minimum));
    float inverse = tn_inverse(d);
    for (uint32_t i = 0; i < 32; i++) {
        float q = tn_nearest((x[i] - m) * inverse, 0, 15), miss = (x[i] - (d * q + m)) * unit;
        t->codes[i] = q;
        error[i] = weights[i] * (miss * miss);
    }
    t->scale = d;
    t->minimum = m;
    t->error = isfinite(d) && isfinite(m) ? tn_fold(error, 32) : INFINITY;
}

/* The line of least squares through (code, x), in double: the sums nearly cancel. 0: all codes are equal. */
static int fit_line(const float *x, const float *weights, const float *codes, float *scale, float *minimum) {
    double w[2] = {0}, q[2] = {0}, qq[2] = {0}, sx[2] = {0}, xq[2] = {0};
    for (uint32_t i = 0; i < 32; i += 2) {
        for (uint32_t k = 0; k < 2; k++) {
            double weight = weights[i + k], code = codes[i + k], number = x[i + k];
            w[k] += weight;
            q[k] += weight * code;
            qq[k] += weight * code * code;
            sx[k] += weight * number;
            xq[k] += weight * code * number;
        }
    }
    double sum_w = w[0] + w[1], sum_q = q[0] + q[1], sum_qq = qq[0] + qq[1];
    double sum_x = sx[0] + sx[1], sum_xq = xq[0] + xq[1];
    double determinant = sum_w * sum_qq - sum_q * sum_q;
    if (!(determinant > 1e-12 * sum_w * sum_qq)) { return 0; }
    *scale = (float)((sum_w * sum_xq - sum_q * sum_x) / determinant);
    *minimum = (float)((sum_qq * sum_x - sum_q * sum_xq) / determinant);
    return 1;
}

static void keep_better(trial *best, const trial *t) {
    if (t->error < best->error) { *best = *t; }
}

/*
 * From lines that cut the range into 14 to 19 steps, each twice replaced by the line of least squares
 * through its codes, the best. 0: the minimum or the scale is beyond binary16.
 */
static int encode_block(const float *x, const float *importance, uint8_t *block) {
    float weights[32], low = x[0], high = x[0], unit = tn_inverse(tn_largest(x, 32));
    trial best = {.error = INFINITY}, t;
    tn_block_weights(importance, 32, weights);
    for (uint32_t i = 1; i < 32; i++) {
        low = fminf(low, x[i]);
        high = fmaxf(high, x[i]);
    }
    for (int32_t step = -5; step <= 20; step++) {
        float steps = 15 + 0.2f * (float)step, scale = high / steps - low / steps, minimum = low;
        try_line(x, weights, scale, minimum, unit, &t);
        keep_better(&best, &t);
        for (uint32_t round = 0; round < 2 && fit_line(x, weights, t.codes, &scale, &minimum); round++) {
            try_line(x, weights, scale, minimum, unit, &t);
            keep_better(&best, &t);
        }
    }
    tn_store_half(block, best.scale);
    tn_store_half(block + 2, best.minimum);
    for (uint32_t i = 0; i < 16; i++) {
        block[4 + i] = (uint8_t)((int32_t)best.codes[i] | (int32_t)best.codes[i + 16] << 4);
    }
    return best.error < INFINITY;
}

static int32_t encode(void *self, const float *x, uint64_t rows, uint64_t cols, const float *importance,
                      void *blocks, tn_error *err) {
    (void)self;
    return tn_encode_blocks(x, rows, cols, importance, blocks, err, Q4_1_SHAPE, encode_block);
}

static int32_t check(void *self, const void *blocks, uint64_t block_count, uint64_t *bad) {
    (void)self;
    uint64_t first = tn_find_bad_half(blocks, block_count, 20, 0);
    return tn_check_result(tn_find_bad_half(blocks, first, 20, 2), block_count, bad);
}

static const tn_format_kernel *const kernels[] = {
    &q4_1_gemv_scalar, &q4_1_unpack_scalar,
#if defined(__x86_64__)
    &q4_1_gemv_avx2,   &q4_1_unpack_avx2,   &q4_1_gemv_avx512, &q4_1_unpack_avx512,
#endif
};

static const tn_format format = {.struct_size = sizeof(tn_format),
                                 .type = 3,
                                 .name = "Q4_1",
                                 .block = 32,
                                 .block_bytes = 20,
                                 .importance = TN_IMPORTANCE_USED,
                                 .decode = decode,
                                 .encode = encode,
                                 .check = check,
                                 .kernel_count = TN_COUNT(kernels),
                                 .kernels = kernels};

TN_FORMAT_PLUGIN("format.q4_1", format);
