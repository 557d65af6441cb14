/*
 * groups16_encode.h - encoding of a block of 256 columns with a signed sub-scale for each 16 and no
 * minimums: w = d * sub-scale * code. d is a binary16; the last code or sub-scale is -low - 1, if low is
 * the lowest.
 *
 * First each group's own best scale (scale_search.h). Then d: of many the one with whose multiples all
 * groups come nearest to their scales, by the error that a scale off the best one adds. Then, with true
 * codes, each group's sub-scale among the neighbours; where d costs much, the same with d's that cut the largest
 * scale. Then d of least squares for all of these, and again the sub-scales and codes, while that helps. Numbers
 * are relative to the block's largest.
 */
#ifndef TENON_GROUPS16_ENCODE_H
#define TENON_GROUPS16_ENCODE_H

#include "scale_search.h"

/** The lowest code and sub-scale; how a group's scale is searched; how much further apart each d that is
 * tried lies (relative); how often d is fitted again. */
typedef struct tn_groups16_shape {
    float low, sub_low;
    tn_scale_effort effort;
    float spread;
    uint32_t refits;
} tn_groups16_shape;

/** A block taken apart: what is stored. */
typedef struct tn_groups16_parts {
    uint16_t d; /* binary16 */
    int8_t subs[16], codes[256];
} tn_groups16_parts;

/** A block turned on its side (scale_search.h), and each group's best scale and sum of weight * code^2. */
typedef struct tn_groups16_block {
    float x[256], scales[16], squares[16], largest, unit, room[256];
    const float *weights; /* in `room`; NULL if all are 1 */
} tn_groups16_block;

/** d, as it is stored and relative; the sub-scales, and the error with them. */
typedef struct tn_groups16_choice {
    uint16_t half;
    float d, subs[16], error;
} tn_groups16_choice;

/** A number of no importance still counts a little, so that it comes out somewhere near. */
TN_INLINE void tn_groups16_weigh(const float *importance, tn_groups16_block *b) {
    float part = tn_inverse(tn_size(importance, 256));
    for (uint32_t g = 0; g < 16; g++) {
        for (uint32_t i = 0; i < 16; i++) {
            float weight = part > 0 ? importance[16 * g + i] * part : 1;
            b->room[16 * i + g] = weight > 0x1p-20f ? weight : 0x1p-20f;
        }
    }
}

TN_INLINE void tn_groups16_begin(const float *x, const float *importance, tn_groups16_shape shape,
                                 tn_groups16_block *b) {
    b->largest = tn_size(x, 256);
    b->unit = tn_inverse(b->largest);
    for (uint32_t g = 0; g < 16; g++) {
        for (uint32_t i = 0; i < 16; i++) { b->x[16 * i + g] = x[16 * g + i] * b->unit; }
    }
    if (importance) { tn_groups16_weigh(importance, b); }
    b->weights = importance ? b->room : NULL;
    for (uint32_t g = 0; g < 16; g += TN_LANES) {
        const float *weights = b->weights ? b->weights + g : NULL;
        tn_scale_best best =
            tn_scale_search(b->x + g, weights, (tn_scale_shape){16, 16, shape.low}, shape.effort);
        tn_lanes_store(b->scales + g, best.scale);
        tn_lanes_store(b->squares + g, best.squares);
    }
}

/** Takes d as it can be stored: where binary16 is coarse never less. */
TN_INLINE void tn_groups16_take_d(const tn_groups16_block *b, float d, tn_groups16_choice *choice) {
    choice->half = (uint16_t)(tn_half_not_short(fabsf(d)) | (d < 0 ? 0x8000 : 0));
    choice->d = tn_float_of_half(choice->half) * b->unit;
}

/** Of d's (here one a lane) with which the largest scale has sub-scales from the lowest up, or `beyond` it,
 * where it is cut for the sake of the others: the one that adds the least error. Returns what it adds; one beyond
 * binary16 is infinite, adds a NaN and is never chosen: infinity, if all are. */
TN_INLINE float tn_groups16_choose_d(const tn_groups16_block *b, tn_groups16_shape shape, int beyond,
                                     tn_groups16_choice *choice) {
    enum { STEPS = 32 };
    float largest = tn_largest(b->scales, 16), d[STEPS], least = INFINITY, best = 0, cut = 1;
    float sign = largest * shape.sub_low < 0 ? -1 : 1;
    for (uint32_t i = 0; i < STEPS; i++, cut *= 1.125f) {
        float part = beyond ? cut : 1 - shape.spread * (float)i;
        d[i] = fabsf(largest / (shape.sub_low * part)) * b->largest;
    }
    for (uint32_t i = 0; i < STEPS; i += TN_LANES) {
        tn_lanes stored = sign * tn_lanes_half(tn_lanes_load(d + i)), step = stored * b->unit;
        tn_lanes inverse = tn_scale_inverse(step), cost = {0};
        for (uint32_t g = 0; g < 16; g++) {
            tn_lanes off = step * tn_scale_codes(b->scales[g] * inverse, shape.sub_low) - b->scales[g];
            cost += b->squares[g] * (off * off);
        }
        for (uint32_t k = 0; k < TN_LANES; k++) {
            if (cost[k] < least) {
                least = cost[k];
                best = stored[k];
            }
        }
    }
    tn_groups16_take_d(b, best, choice);
    return least;
}

/** For a d: each group's best sub-scale among the three about what it wants, and the error. */
TN_INLINE void tn_groups16_choose_subs(const tn_groups16_block *b, tn_groups16_shape shape,
                                       tn_groups16_choice *choice) {
    float errors[16];
    tn_lanes per_d = tn_scale_inverse(tn_lanes_all(choice->d));
    for (uint32_t g = 0; g < 16; g += TN_LANES) {
        tn_lanes middle = tn_scale_codes(tn_lanes_load(b->scales + g) * per_d, shape.sub_low);
        tn_lanes least = tn_lanes_all(INFINITY), best = {0};
        for (int32_t off = -1; off <= 1; off++) {
            tn_lanes sub = tn_scale_codes(middle + (float)off, shape.sub_low), error = {0};
            tn_lanes scale = choice->d * sub, inverse = tn_scale_inverse(scale);
            for (uint32_t i = g; i < 256; i += 16) {
                tn_lanes x = tn_lanes_load(b->x + i);
                tn_lanes miss = x - scale * tn_scale_codes(x * inverse, shape.low);
                error += tn_scale_weights(b->weights, i) * (miss * miss);
            }
            tn_lane_mask better = error < least;
            least = tn_lanes_select(better, error, least);
            best = tn_lanes_select(better, sub, best);
        }
        tn_lanes_store(errors + g, least);
        tn_lanes_store(choice->subs + g, best);
    }
    choice->error = 0;
    for (uint32_t g = 0; g < 16; g++) { choice->error += errors[g]; }
}

/** d of least squares for the sub-scales and codes of a choice. 0: they all are 0. */
TN_INLINE int tn_groups16_refit_d(const tn_groups16_block *b, tn_groups16_shape shape,
                                  const tn_groups16_choice *choice, float *d) {
    float xq[16], qq[16];
    double sum_xq = 0, sum_qq = 0;
    for (uint32_t g = 0; g < 16; g += TN_LANES) {
        tn_lanes sub = tn_lanes_load(choice->subs + g), inverse = tn_scale_inverse(choice->d * sub);
        tn_lanes group_xq = {0}, group_qq = {0};
        for (uint32_t i = g; i < 256; i += 16) {
            tn_lanes x = tn_lanes_load(b->x + i), q = sub * tn_scale_codes(x * inverse, shape.low);
            tn_lanes wq = tn_scale_weights(b->weights, i) * q;
            group_xq += wq * x;
            group_qq += wq * q;
        }
        tn_lanes_store(xq + g, group_xq);
        tn_lanes_store(qq + g, group_qq);
    }
    for (uint32_t g = 0; g < 16; g++) {
        sum_xq += xq[g];
        sum_qq += qq[g];
    }
    *d = (float)(sum_xq / sum_qq);
    return sum_qq > 0;
}

TN_INLINE void tn_groups16_take(const tn_groups16_block *b, tn_groups16_shape shape,
                                const tn_groups16_choice *choice, tn_groups16_parts *parts) {
    float codes[256];
    for (uint32_t g = 0; g < 16; g += TN_LANES) {
        tn_lanes inverse = tn_scale_inverse(choice->d * tn_lanes_load(choice->subs + g));
        for (uint32_t i = g; i < 256; i += 16) {
            tn_lanes_store(codes + i, tn_scale_codes(tn_lanes_load(b->x + i) * inverse, shape.low));
        }
    }
    for (uint32_t g = 0; g < 16; g++) {
        for (uint32_t i = 0; i < 16; i++) { parts->codes[16 * g + i] = (int8_t)codes[16 * i + g]; }
        parts->subs[g] = (int8_t)choice->subs[g];
    }
    parts->d = choice->half;
}

/** Takes a block apart. 0: it needs a d beyond binary16. */
TN_INLINE int tn_groups16_encode(const float *x, const float *importance, tn_groups16_shape shape,
                                 tn_groups16_parts *parts) {
    tn_groups16_block b;
    tn_groups16_choice best, trial;
    float d;
    tn_groups16_begin(x, importance, shape, &b);
    float added = tn_groups16_choose_d(&b, shape, 0, &best);
    if (!(added < INFINITY)) { return 0; }
    tn_groups16_choose_subs(&b, shape, &best);
    if (added > 0.2f * best.error) { /* one group may have set d against the others */
        tn_groups16_choose_d(&b, shape, 1, &trial);
        tn_groups16_choose_subs(&b, shape, &trial);
        if (trial.error < best.error) { best = trial; }
    }
    for (uint32_t i = 0; i < shape.refits && tn_groups16_refit_d(&b, shape, &best, &d); i++) {
        tn_groups16_take_d(&b, d * b.largest, &trial);
        tn_groups16_choose_subs(&b, shape, &trial);
        if (!(trial.error < best.error)) { break; }
        best = trial;
    }
    tn_groups16_take(&b, shape, &best, parts);
    return 1;
}

#endif
