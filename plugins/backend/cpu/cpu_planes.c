/*
 * cpu_planes.c - activations as two planes of int8 codes: x = scale * (128 * high + low), 15 bits together.
 *
 * As TN_FORM_I16X256 of tenon/format.h, with a scale for 32 columns instead of 256: m = max |x| of 32, scale
 * = m / 16319, q = round to nearest even(x * (16319 / m)), low = ((q + 64) & 127) - 64, high = (q - low) /
 * 128. Each plane is a row of the form I8X32 to the formats' kernels, which know nothing of the other; the
 * product is the sum of both, high + low. It is for products of few rows, where the weights come from memory
 * and the second row costs little.
 */
#include "cpu.h"

#include <math.h>

enum { GROUP = 32, PART = 16, STEPS = 127 * 128 + 63 };

/* One number's codes. */
static void split(float x, float inverse, int8_t *high, int8_t *low) {
    int32_t q = (int32_t)rintf(x * inverse);
    int32_t rest = ((q + 64) & 127) - 64;
    *low = (int8_t)rest;
    *high = (int8_t)((q - rest) / 128);
}

static float largest(const float *x) {
    float most = 0;
    for (uint32_t i = 0; i < GROUP; i++) {
        if (!isfinite(x[i])) { return NAN; }
        most = fmaxf(most, fabsf(x[i]));
    }
    return most;
}

static void sum_codes(const int8_t *codes, int16_t *sums) {
    for (uint32_t p = 0; p < GROUP / PART; p++) {
        int32_t sum = 0;
        for (uint32_t i = 0; i < PART; i++) { sum += codes[p * PART + i]; }
        sums[p] = (int16_t)sum;
    }
}

void cpu_quantise_planes(const float *x, uint64_t cols, int8_t *high, int8_t *low, float *high_scales,
                         float *low_scales, int16_t *high_sums, int16_t *low_sums) {
    for (uint64_t g = 0; g < cols / GROUP; g++) {
        uint64_t at = g * GROUP;
        float most = largest(x + at);
        float scale = most >= 0x1p-100f ? most / STEPS : most != most ? NAN : 0;
        float inverse = scale > 0 ? STEPS / most : 0;
        for (uint32_t i = 0; i < GROUP; i++) {
            split(inverse > 0 ? x[at + i] : 0, inverse, &high[at + i], &low[at + i]);
        }
        low_scales[g] = scale;
        high_scales[g] = 128 * scale;
        sum_codes(high + at, high_sums + 2 * g);
        sum_codes(low + at, low_sums + 2 * g);
    }
}
