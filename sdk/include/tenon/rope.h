/*
 * tenon/rope.h - inline helpers for the frequencies of rotary embeddings. Nothing here crosses the ABI.
 *
 * A `rope` node carries its frequencies as float64 numbers, so that no backend knows a scaling law. For pair
 * p of `rotated` dimensions (p = 0 .. rotated / 2 - 1), with f_p = base^(-2p / rotated) and a factor s:
 *
 *     none    f_p                              RoFormer, https://arxiv.org/abs/2104.09864
 *     linear  f_p / s                          position interpolation, https://arxiv.org/abs/2306.15595
 *     yarn    f_p (1 - r_p) + (f_p / s) r_p    YaRN, https://arxiv.org/abs/2309.00071
 *
 * where the ramp r_p goes from 0 (pairs that turn often keep their frequency) to 1 (pairs that hardly turn
 * are interpolated). Factors that a file brings as a tensor (rope_freqs.weight) are an operand of the node.
 */
#ifndef TENON_ROPE_H
#define TENON_ROPE_H

#include "tenon/abi.h"

#include <math.h>

TN_BEGIN_C

#define TN_SCALING_NONE 1
#define TN_SCALING_LINEAR 2
#define TN_SCALING_YARN 3
/* Linear, while factor tensors of the file (long or short) do the work. */
#define TN_SCALING_LONGROPE 4

/** What a family knows of its rotation. Fill it by hand, or with tn_param_rotation() of tenon/build.h. */
typedef struct tn_rotation {
    uint32_t rotated;    /**< rotated dimensions of a head, even */
    uint32_t scaling;    /**< TN_SCALING_* */
    uint32_t fractional; /**< yarn: 1 leaves the ends of the ramp unrounded */
    uint32_t reserved;
    double base;             /**< above 0; yarn: above 1 */
    double factor;           /**< s, above 0; 1: no scaling */
    double original_context; /**< yarn: the context that the model was first trained for */
    double attention_factor; /**< a magnitude that the file asks for; 1: none */
} tn_rotation;

/** The pair (as a fraction) that makes `turns` full turns over the original context. */
static inline double tn_rope_pair_of_turns(const tn_rotation *r, double turns) {
    const double two_pi = 6.283185307179586476925286766559;
    return r->rotated * log(r->original_context / (two_pi * turns)) / (2 * log(r->base));
}

/** The ends of YaRN's ramp, for beta_fast = 32 and beta_slow = 1: rounded outwards unless `fractional`. */
static inline void tn_rope_yarn_ramp(const tn_rotation *r, double *low, double *high) {
    double fast = tn_rope_pair_of_turns(r, 32), slow = tn_rope_pair_of_turns(r, 1);
    *low = fmax(r->fractional ? fast : floor(fast), 0);
    *high = fmin(r->fractional ? slow : ceil(slow), r->rotated - 1.0);
}

/** Fills rotated / 2 frequencies, in radians a position. */
static inline void tn_rope_frequencies(const tn_rotation *r, double *frequencies) {
    double factor = r->scaling == TN_SCALING_NONE ? 1 : r->factor;
    double low = 0, high = 0;
    if (r->scaling == TN_SCALING_YARN) { tn_rope_yarn_ramp(r, &low, &high); }
    for (uint32_t p = 0; p < r->rotated / 2; p++) {
        double plain = pow(r->base, -2.0 * p / r->rotated);
        double ramp = 1;
        if (r->scaling == TN_SCALING_YARN) { ramp = fmin(fmax((p - low) / fmax(0.001, high - low), 0), 1); }
        frequencies[p] = plain * (1 - ramp) + plain / factor * ramp;
    }
}

/** What cos and sin are multiplied by: the file's factor and, for YaRN, 1 + 0.1 ln s. */
static inline double tn_rope_magnitude(const tn_rotation *r) {
    return r->attention_factor * (r->scaling == TN_SCALING_YARN ? 1 + 0.1 * log(r->factor) : 1);
}

TN_END_C
#endif
