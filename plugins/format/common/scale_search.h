/*
 * scale_search.h - for types without minimums: the scale that fits each group of numbers best, searched for many
 * groups at once.
 *
 * The numbers lie turned on their side, number i of group g at [i * groups + g]: then a sum over each group is
 * an addition of whole vectors, and nothing is folded.
 */
#ifndef TENON_FORMAT_SCALE_SEARCH_H
#define TENON_FORMAT_SCALE_SEARCH_H

#include "blocks.h"
#include "k_lanes.h"

/** Groups that are searched at once (a multiple of 8) and numbers of each, the least code (the last is -low - 1). */
typedef struct tn_scale_shape {
    uint32_t groups, count;
    float low;
} tn_scale_shape;

/**
 * How much is tried: `coarse` scales of each sign, with which the largest number of a group has a code from
 * low + from to low + to, before it is cut; `heavy` ones of each sign, with which the largest of those that have
 * weight has the code low, or a quarter of it less, ...; then `fine` ones on each side of the best, `step` apart
 * (relative); then the scale of least squares again and again. A scale is better if it gains more by a part of
 * `least`: where groups share what their scales are multiples of, equal ones must not choose differently for a
 * rounding error.
 */
typedef struct tn_scale_effort {
    uint32_t coarse;
    float from, to;
    uint32_t heavy, fine;
    float step;
    uint32_t refits;
    float least;
} tn_scale_effort;

/** Scales of least squares: by them the errors fall by `gain`; `squares` is the sum of weight * code^2. */
typedef struct tn_scale_best {
    tn_lanes scale, gain, squares;
} tn_scale_best;

/** x cut to codes and rounded to even; a NaN gives the lowest. */
TN_INLINE tn_lanes tn_scale_codes(tn_lanes x, float low) {
    return tn_lanes_min(tn_lanes_max(x, tn_lanes_all(low)), tn_lanes_all(-low - 1)) + 0x1.8p23f - 0x1.8p23f;
}

/** 1 / scale, or 0 where that is beyond 2^100. */
TN_INLINE tn_lanes tn_scale_inverse(tn_lanes scale) {
    return tn_lanes_select(tn_lanes_max(scale, -scale) > 0x1p-100f, 1 / scale, tn_lanes_all(0));
}

/** Weights of a lane each; 1 where there are none (NULL). */
TN_INLINE tn_lanes tn_scale_weights(const float *weights, uint32_t at) {
    return weights ? tn_lanes_load(weights + at) : tn_lanes_all(1);
}

/** The scale of least squares for the codes nearest to x * inverse, if it is better by a part of `least`. */
TN_INLINE void tn_scale_try(const float *x, const float *weights, tn_scale_shape shape, float least,
                            tn_lanes inverse, tn_scale_best *best) {
    tn_lanes xq = {0}, qq = {0};
    for (uint32_t i = 0; i < shape.count * shape.groups; i += shape.groups) {
        tn_lanes number = tn_lanes_load(x + i), q = tn_scale_codes(number * inverse, shape.low);
        tn_lanes wq = tn_scale_weights(weights, i) * q;
        xq += wq * number;
        qq += wq * q;
    }
    tn_lanes scale = xq / qq, gain = xq * scale; /* NaN if all codes are 0: no gain */
    tn_lane_mask better = gain > best->gain * (1 + least);
    best->scale = tn_lanes_select(better, scale, best->scale);
    best->gain = tn_lanes_select(better, gain, best->gain);
    best->squares = tn_lanes_select(better, qq, best->squares);
}

/** The number of largest magnitude of each group, with its sign, of those whose weights are above `least`. */
TN_INLINE tn_lanes tn_scale_largest(const float *x, const float *weights, tn_scale_shape shape,
                                    tn_lanes least) {
    tn_lanes low = {0}, high = {0};
    for (uint32_t i = 0; i < shape.count * shape.groups; i += shape.groups) {
        tn_lane_mask counts = tn_scale_weights(weights, i) > least;
        tn_lanes number = tn_lanes_select(counts, tn_lanes_load(x + i), low);
        low = tn_lanes_min(number, low);
        high = tn_lanes_max(tn_lanes_select(counts, number, high), high);
    }
    return tn_lanes_select(high >= -low, high, low);
}

/** A sixteenth of the mean of the weights of each group: what is above has weight. */
TN_INLINE tn_lanes tn_scale_heavy(const float *weights, tn_scale_shape shape) {
    tn_lanes sum = {0};
    for (uint32_t i = 0; i < shape.count * shape.groups; i += shape.groups) {
        sum += tn_lanes_load(weights + i);
    }
    return sum / (16 * (float)shape.count);
}

/** The best scales of groups x[0], x[1], ... (about 1 in size or less), one a lane; 0 where all numbers are.
 * `weights`: NULL if all are 1. */
TN_INLINE tn_scale_best tn_scale_search(const float *x, const float *weights, tn_scale_shape shape,
                                        tn_scale_effort effort) {
    tn_scale_best best = {{0}, {0}, {0}};
    tn_lanes unit = tn_scale_inverse(tn_scale_largest(x, weights, shape, tn_lanes_all(-1)));
    for (uint32_t i = 0; i < effort.coarse; i++) {
        float code =
            shape.low + effort.from + (effort.to - effort.from) / (float)(effort.coarse - 1) * (float)i;
        tn_scale_try(x, weights, shape, effort.least, unit * code, &best);
        tn_scale_try(x, weights, shape, effort.least, unit * -code, &best);
    }
    if (effort.heavy > 0) {
        unit = tn_scale_inverse(tn_scale_largest(x, weights, shape, tn_scale_heavy(weights, shape)));
    }
    for (uint32_t i = 0; i < effort.heavy; i++) {
        float code = shape.low * (1 - 0.25f * (float)i);
        tn_scale_try(x, weights, shape, effort.least, unit * code, &best);
        tn_scale_try(x, weights, shape, effort.least, unit * -code, &best);
    }
    tn_lanes middle = tn_scale_inverse(best.scale);
    for (uint32_t i = 1; i <= effort.fine; i++) {
        tn_scale_try(x, weights, shape, effort.least, middle * (1 - effort.step * (float)i), &best);
        tn_scale_try(x, weights, shape, effort.least, middle * (1 + effort.step * (float)i), &best);
    }
    for (uint32_t i = 0; i < effort.refits; i++) {
        tn_scale_try(x, weights, shape, effort.least, tn_scale_inverse(best.scale), &best);
    }
    return best;
}

#endif
