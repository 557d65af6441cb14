/*
 * Weights so small that IQ4_NL's and IQ4_XS's scales are the smallest multiples of 2^-24 that a binary16 holds: the
 * error is that of the best such multiple, found here by trying all; and nothing but what is beyond it becomes zero.
 */
#include "quant_rig.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <math.h>
#include <stdlib.h>

TestSuite(quant_tiny, .fini = rig_end, .timeout = 120);

enum { GROUP = 32, MOST = 256 };
static const float least = 0x1p-24f;

static double error_of(const float *x, float scale) {
    static const int values[16] = {-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};
    double sum = 0;
    for (int i = 0; i < GROUP; i++) {
        double nearest = INFINITY;
        for (int k = 0; k < 16; k++) {
            nearest = fmin(nearest, fabs((double)x[i] - (double)scale * values[k]));
        }
        sum += nearest * nearest;
    }
    return sum;
}

static double least_error(const float *x, int multiples) {
    double best = INFINITY;
    for (int k = -multiples; k <= multiples; k++) { best = fmin(best, error_of(x, (float)k * least)); }
    return best;
}

static double encoded_error(const tn_format_use *use, const float *x, int count) {
    unsigned char block[256];
    float y[MOST];
    double sum = 0;
    tn_error err = TN_ERROR_INIT;
    cr_assert(eq(i32, use->format->encode(use->self, x, 1, (uint64_t)count, NULL, block, &err), TN_OK), "%s",
              err.text);
    use->format->decode(use->self, block, (uint64_t)count, y);
    for (int i = 0; i < count; i++) { sum += ((double)x[i] - y[i]) * ((double)x[i] - y[i]); }
    return sum;
}

/* All of one size, of both signs, of either sign. */
static void fill(float *x, int count, float size, int kind, uint32_t *state) {
    for (int i = 0; i < count; i++) {
        *state = *state * 1664525u + 1013904223u;
        float part = (float)(*state >> 8) * 0x1p-24f;
        x[i] = size * (kind == 0 ? 1 : kind == 1 ? 2 * part - 1 : kind == 2 ? part : -part);
    }
}

/* Up to `multiples` times the smallest scale is enough where the largest weight is no more than that many times it. */
static void try_all(const char *type, int count, int multiples) {
    tn_format_use use;
    tn_error err = TN_ERROR_INIT;
    float x[MOST];
    uint32_t state = 1;
    if (!rig_writes(type)) { cr_skip_test("this build does not write %s", type); }
    tn_engine *engine = rig_engine(1);
    int64_t number = tn_engine_type_number(engine, type);
    cr_assert(eq(i32, tn_engine_format(engine, (uint32_t)number, &use, &err), TN_OK), "%s", err.text);
    for (float size = least / 8; size <= least * (float)multiples; size *= 1.37f) {
        for (int kind = 0; kind < 4; kind++) {
            double wanted = 0;
            fill(x, count, size, kind, &state);
            for (int g = 0; g < count; g += GROUP) { wanted += least_error(x + g, multiples + 1); }
            double found = encoded_error(&use, x, count);
            cr_expect(found <= wanted * 1.0001 + 1e-24, "%s, size %g, kind %d: error %g, %g is possible",
                      type, (double)size, kind, found, wanted);
        }
    }
}

Test(quant_tiny, iq4_nl) {
    try_all("IQ4_NL", 32, 16);
}

Test(quant_tiny, iq4_xs) {
    try_all("IQ4_XS", 256, 31);
}
