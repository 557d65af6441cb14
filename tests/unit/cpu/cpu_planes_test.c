/* cpu_planes_test.c - two planes of codes: what they stand for, their ranges, and numbers that are none. */
#include "cpu.h"

#include <criterion/criterion.h>
#include <math.h>

enum { COLS = 64 };

typedef struct planes {
    int8_t high[COLS], low[COLS];
    float high_scales[COLS / 32], low_scales[COLS / 32];
    int16_t high_sums[COLS / 16], low_sums[COLS / 16];
} planes;

static void quantise(const float *x, planes *out) {
    cpu_quantise_planes(x, COLS, out->high, out->low, out->high_scales, out->low_scales, out->high_sums,
                        out->low_sums);
}

static void check_row(const float *x) {
    planes p;
    quantise(x, &p);
    for (uint32_t i = 0; i < COLS; i++) {
        double value = (double)p.high[i] * p.high_scales[i / 32] + (double)p.low[i] * p.low_scales[i / 32];
        cr_assert(p.high[i] >= -127 && p.low[i] >= -64 && p.low[i] <= 63, "codes %d, %d", p.high[i],
                  p.low[i]);
        cr_assert_leq(fabs(value - x[i]), 0.501 * p.low_scales[i / 32], "%g became %g, a step is %g", x[i],
                      value, p.low_scales[i / 32]);
    }
    for (uint32_t s = 0; s < COLS / 16; s++) {
        int high = 0, low = 0;
        for (uint32_t i = 0; i < 16; i++) {
            high += p.high[16 * s + i];
            low += p.low[16 * s + i];
        }
        cr_assert_eq(p.high_sums[s], high);
        cr_assert_eq(p.low_sums[s], low);
    }
}

Test(cpu_planes, halves_a_step_at_most) {
    uint32_t seed = 1;
    for (uint32_t round = 0; round < 200; round++) {
        float x[COLS];
        for (uint32_t i = 0; i < COLS; i++) {
            seed = seed * 1664525 + 1013904223;
            x[i] = ldexpf((float)(int32_t)seed, (int)(round % 100) - 80);
        }
        check_row(x);
    }
}

Test(cpu_planes, ends_of_the_range) {
    float x[COLS] = {0};
    for (uint32_t i = 0; i < 32; i++) { x[i] = i % 2 ? -3.5f : 3.5f; }
    check_row(x);
    planes p;
    quantise(x, &p);
    cr_assert_eq(p.high[0], 127);
    cr_assert_eq(p.low[0], 63);
    cr_assert_eq(p.high[1], -127);
    cr_assert_eq(p.low[1], -63);
    cr_assert_eq(p.low_scales[1], 0, "a group of zeros has the scale %g", p.low_scales[1]);
}

Test(cpu_planes, numbers_that_are_none) {
    const float odd[] = {NAN, INFINITY, -INFINITY};
    for (uint32_t k = 0; k < 3; k++) {
        float x[COLS] = {1, 2};
        planes p;
        x[7] = odd[k];
        quantise(x, &p);
        cr_assert(isnan(p.low_scales[0]) && isnan(p.high_scales[0]));
        for (uint32_t i = 0; i < 32; i++) { cr_assert(p.high[i] == 0 && p.low[i] == 0); }
        cr_assert_eq(p.low_scales[1], 0);
    }
}

Test(cpu_planes, tiny_numbers_are_zero) {
    float x[COLS] = {0x1p-101f, -0x1p-101f};
    planes p;
    quantise(x, &p);
    cr_assert_eq(p.low_scales[0], 0);
    cr_assert_eq(p.high[0], 0);
}
