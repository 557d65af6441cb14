/* test_rope.c - frequencies of tenon/rope.h against numbers that others published or computed. */
#include "tenon/rope.h"

#include <criterion/criterion.h>

/* gpt-oss: 64 dimensions, base 150000, first trained for 4096 positions; its ramp runs from 8.09 to 17.40
 * unrounded. */
static const tn_rotation gpt_oss = {.rotated = 64,
                                    .scaling = TN_SCALING_YARN,
                                    .base = 150000,
                                    .factor = 32,
                                    .original_context = 4096,
                                    .attention_factor = 1};

Test(rope, ends_of_the_yarn_ramp) {
    tn_rotation r = gpt_oss;
    double low, high;
    tn_rope_yarn_ramp(&r, &low, &high);
    cr_assert(low == 8 && high == 18, "%g to %g, expected 8 to 18", low, high);
    r.fractional = 1;
    tn_rope_yarn_ramp(&r, &low, &high);
    cr_assert(fabs(low - 8.09) < 0.005 && fabs(high - 17.40) < 0.005, "%g to %g, expected 8.09 to 17.40", low,
              high);
}

Test(rope, yarn_between_the_ends) {
    double f[32];
    tn_rope_frequencies(&gpt_oss, f);
    for (int p = 0; p < 32; p++) {
        double plain = pow(150000, -p / 32.0), ratio = f[p] / plain;
        double want = p <= 8 ? 1 : p >= 18 ? 1 / 32.0 : 1 - (p - 8) / 10.0 * (1 - 1 / 32.0);
        cr_assert(fabs(ratio - want) < 1e-12, "pair %d keeps %g of its frequency, expected %g", p, ratio,
                  want);
    }
    /* The concentration that gpt-oss's own code computes: 0.1 ln 32 + 1. */
    cr_assert(fabs(tn_rope_magnitude(&gpt_oss) - 1.3465735902799727) < 1e-15);
}

Test(rope, an_original_context_too_short_for_a_ramp) {
    tn_rotation r = gpt_oss;
    double f[32];
    r.original_context = 1; /* both ends are below pair 0 */
    tn_rope_frequencies(&r, f);
    for (int p = 1; p < 32; p++) {
        double want = pow(150000, -p / 32.0) / 32;
        cr_assert(fabs(f[p] / want - 1) < 1e-12, "pair %d: %g, expected %g", p, f[p], want);
    }
}

Test(rope, plain_and_linear) {
    tn_rotation r = {
        .rotated = 4, .scaling = TN_SCALING_LINEAR, .base = 10000, .factor = 8, .attention_factor = 1.5};
    double f[2];
    tn_rope_frequencies(&r, f);
    cr_assert(f[0] == 0.125 && fabs(f[1] - 0.00125) < 1e-18, "%.17g %.17g", f[0], f[1]);
    r.scaling = TN_SCALING_NONE;
    tn_rope_frequencies(&r, f);
    cr_assert(f[0] == 1 && fabs(f[1] - 0.01) < 1e-17, "%.17g %.17g", f[0], f[1]);
    cr_assert(tn_rope_magnitude(&r) == 1.5);
}
