/*
 * k_encode.h - encoding of a block of a K type with minimums: w = d * scale * code - dmin * minimum, where d
 * and dmin are binary16 and serve the whole block, scales and minimums are small integers of a group each.
 *
 * First each group's own best line (k_search.h). Then d and dmin: of many pairs the one with which all groups
 * come nearest to their lines, by the error that a line off the best one adds. Then, with true codes, each
 * group's integers among the neighbours; where the pair costs much, the same from other starts. Then d and dmin
 * of least squares for all of these, and again the integers and codes, while that helps. All numbers are
 * relative to the block's largest.
 */
#ifndef TENON_FORMAT_K_ENCODE_H
#define TENON_FORMAT_K_ENCODE_H

#include "k_search.h"

/** A block taken apart: what is stored. Codes are row-major. */
typedef struct tn_k_parts {
    uint16_t d, dmin; /* binary16 */
    uint8_t scales[TN_K_GROUPS], minimums[TN_K_GROUPS], codes[TN_BLOCK_MAX];
} tn_k_parts;

/** d and dmin, as they are stored and relative to the block's largest number. */
typedef struct tn_k_pair {
    uint16_t d_half, dmin_half;
    float d, dmin;
} tn_k_pair;

/** The integers of all groups (as floats) and the error of the block with them. */
typedef struct tn_k_choice {
    tn_k_pair pair;
    float scales[TN_K_GROUPS], minimums[TN_K_GROUPS], error;
} tn_k_choice;

TN_INLINE float tn_k_total(const float *lanes, tn_k_shape shape) {
    float sum = 0;
    for (uint32_t g = 0; g < shape.groups; g++) { sum += lanes[g]; }
    return sum;
}

/** The binary16 for `value` (relative) and what it stands for; at least the smallest one where value > 0. */
TN_INLINE float tn_k_half(float value, float largest, float unit, uint16_t *half) {
    *half = tn_half_not_short(value * largest);
    return tn_float_of_half(*half) * unit;
}

/** Steps tried for d, and as many for dmin; rounds of least squares for both after that. */
enum { TN_K_STEPS = 16, TN_K_ROUNDS = 2 };

/** Codes of the largest scale or minimum, one for each step that is tried. */
typedef struct tn_k_reach {
    float code[TN_K_STEPS];
} tn_k_reach;

/** From the limit downwards, integers among them: groups that want the same are then met exactly. Where the limit
 * is small each integer is a large step, so most lie close to it. */
TN_INLINE tn_k_reach tn_k_reach_within(tn_k_shape shape) {
    tn_k_reach reach;
    for (uint32_t i = 0; i < TN_K_STEPS; i++) {
        float at = (float)i, close = i < 10 ? at / 8 : at / 2 - 3.5f;
        reach.code[i] = shape.limit - (shape.limit < 16 ? close : at);
    }
    return reach;
}

/** From the limit upwards, where they are cut: for the others' sake. */
TN_INLINE tn_k_reach tn_k_reach_beyond(tn_k_shape shape) {
    tn_k_reach reach = {{shape.limit}};
    for (uint32_t i = 1; i < TN_K_STEPS; i++) { reach.code[i] = reach.code[i - 1] * 1.25f; }
    return reach;
}

/** Steps with which the largest of `wanted` has these codes: relative, inverse, and as they are stored. */
typedef struct tn_k_steps {
    float step[TN_K_STEPS], inverse[TN_K_STEPS];
    uint16_t half[TN_K_STEPS];
} tn_k_steps;

TN_INLINE void tn_k_make_steps(const float *wanted, tn_k_shape shape, const tn_k_reach *reach, float largest,
                               float unit, tn_k_steps *steps) {
    float most = 0;
    for (uint32_t g = 0; g < shape.groups; g++) { most = fmaxf(most, wanted[g]); }
    for (uint32_t i = 0; i < TN_K_STEPS; i++) {
        steps->step[i] = tn_k_half(most / reach->code[i], largest, unit, &steps->half[i]);
    }
    for (uint32_t i = 0; i < TN_K_STEPS; i += TN_LANES) {
        tn_lanes inverse = tn_lanes_ratio(tn_lanes_all(1), tn_lanes_load(steps->step + i));
        tn_lanes_store(steps->inverse + i, inverse);
    }
}

/** What each step d adds to the error by rounding the scales, if the minimum follows: the square of what a
 * scale is off, times code_squares. `minimums`: those that then go best with the scales (below 0: none that
 * there is). */
TN_INLINE void tn_k_round_scales(const tn_k_lines *lines, tn_k_shape shape, const tn_k_steps *d, float *cost,
                                 float (*minimums)[TN_K_STEPS]) {
    for (uint32_t i = 0; i < TN_K_STEPS; i += TN_LANES) {
        tn_lanes step = tn_lanes_load(d->step + i), inverse = tn_lanes_load(d->inverse + i), sum = {0};
        for (uint32_t g = 0; g < shape.groups; g++) {
            tn_lanes off = step * tn_lanes_nearest(lines->scale[g] * inverse, shape.limit) - lines->scale[g];
            sum += lines->code_squares[g] * (off * off);
            tn_lanes minimum = lines->minimum[g] + off * lines->code_mean[g];
            tn_lanes_store(minimums[g] + i, minimum);
        }
        tn_lanes_store(cost + i, sum);
    }
}

/** The pair that adds the least to the error by rounding scales and minimums; here a lane is a step, not a
 * group. Returns what it adds; a step that binary16 does not reach is infinite, adds a NaN and is never chosen:
 * infinity, if all are. */
TN_INLINE float tn_k_choose_pair(const tn_k_block *b, const tn_k_lines *lines, tn_k_shape shape,
                                 tn_k_reach reach, float largest, float unit, tn_k_pair *pair) {
    tn_k_steps d, dmin;
    float cost[TN_K_STEPS], minimums[TN_K_GROUPS][TN_K_STEPS], best = INFINITY;
    tn_k_make_steps(lines->scale, shape, &reach, largest, unit, &d);
    tn_k_make_steps(lines->minimum, shape, &reach, largest, unit, &dmin);
    tn_k_round_scales(lines, shape, &d, cost, minimums);
    for (uint32_t m = 0; m < TN_K_STEPS; m += TN_LANES) {
        tn_lanes step = tn_lanes_load(dmin.step + m), inverse = tn_lanes_load(dmin.inverse + m);
        tn_lanes least = tn_lanes_all(INFINITY), least_at = {0};
        for (uint32_t s = 0; s < TN_K_STEPS; s++) {
            tn_lanes sum = tn_lanes_all(cost[s]);
            for (uint32_t g = 0; g < shape.groups; g++) {
                float wanted = minimums[g][s];
                tn_lanes off = step * tn_lanes_nearest(wanted * inverse, shape.limit) - wanted;
                sum += b->weight[g] * (off * off);
            }
            tn_lane_mask better = sum < least;
            least = tn_lanes_select(better, sum, least);
            least_at = tn_lanes_select(better, tn_lanes_all((float)s), least_at);
        }
        for (uint32_t i = 0; i < TN_LANES; i++) {
            uint32_t s = (uint32_t)least_at[i];
            if (least[i] < best) {
                best = least[i];
                *pair = (tn_k_pair){d.half[s], dmin.half[m + i], d.step[s], dmin.step[m + i]};
            }
        }
    }
    return best;
}

/** The error of groups g and on with the given scales and minimums and the codes nearest to x. */
TN_INLINE tn_lanes tn_k_error(const tn_k_block *b, tn_k_shape shape, uint32_t g, tn_lanes scale,
                              tn_lanes minimum) {
    tn_lanes inverse = tn_lanes_ratio(tn_lanes_all(1), scale), error = {0};
    for (uint32_t i = g; i < TN_BLOCK_MAX; i += shape.groups) {
        tn_lanes x = tn_lanes_load(b->x + i) + minimum;
        tn_lanes miss = x - scale * tn_lanes_nearest(x * inverse, shape.top);
        error += tn_lanes_load(b->weights + i) * (miss * miss);
    }
    return error;
}

/** For a pair: the best integers of each group among the neighbours of its wishes. */
TN_INLINE void tn_k_choose(const tn_k_block *b, const tn_k_lines *lines, tn_k_shape shape, tn_k_pair pair,
                           tn_k_choice *choice) {
    float errors[TN_K_GROUPS];
    for (uint32_t g = 0; g < shape.groups; g += TN_LANES) {
        tn_lanes wanted = tn_lanes_load(lines->scale + g), best = tn_lanes_all(INFINITY);
        tn_lanes middle = tn_lanes_nearest(tn_lanes_ratio(wanted, tn_lanes_all(pair.d)), shape.limit);
        tn_lanes best_scale = {0}, best_minimum = {0};
        for (uint32_t trial = 0; trial < 6; trial++) {
            tn_lanes s = tn_lanes_nearest(middle + (float)(trial / 2) - 1, shape.limit), scale = pair.d * s;
            tn_lanes minimum =
                tn_lanes_load(lines->minimum + g) + (scale - wanted) * tn_lanes_load(lines->code_mean + g);
            float side = trial % 2 ? 0.499f : -0.499f; /* 0.5 would round an odd integer away to both sides */
            tn_lanes m = tn_lanes_ratio(minimum, tn_lanes_all(pair.dmin)) + side;
            m = tn_lanes_nearest(m, shape.limit);
            tn_lanes error = tn_k_error(b, shape, g, scale, pair.dmin * m);
            tn_lane_mask better = error < best;
            best = tn_lanes_select(better, error, best);
            best_scale = tn_lanes_select(better, s, best_scale);
            best_minimum = tn_lanes_select(better, m, best_minimum);
        }
        tn_lanes_store(errors + g, best);
        tn_lanes_store(choice->scales + g, best_scale);
        tn_lanes_store(choice->minimums + g, best_minimum);
    }
    choice->pair = pair;
    choice->error = tn_k_total(errors, shape);
}

/** d and dmin of least squares for the integers and codes of a choice. 0: they are not determined. */
TN_INLINE int tn_k_refit_pair(const tn_k_block *b, tn_k_shape shape, const tn_k_choice *choice, float *d,
                              float *dmin) {
    float q[TN_K_GROUPS], qq[TN_K_GROUPS], xq[TN_K_GROUPS];
    double ss = 0, sm = 0, mm = 0, xs = 0, xm = 0;
    for (uint32_t g = 0; g < shape.groups; g += TN_LANES) {
        tn_lanes scale = choice->pair.d * tn_lanes_load(choice->scales + g), sum_q = {0}, sum_qq = {0};
        tn_lanes minimum = choice->pair.dmin * tn_lanes_load(choice->minimums + g), sum_xq = {0};
        tn_lanes inverse = tn_lanes_ratio(tn_lanes_all(1), scale);
        for (uint32_t i = g; i < TN_BLOCK_MAX; i += shape.groups) {
            tn_lanes x = tn_lanes_load(b->x + i);
            tn_lanes code = tn_lanes_nearest((x + minimum) * inverse, shape.top);
            tn_lanes wq = tn_lanes_load(b->weights + i) * code;
            sum_q += wq;
            sum_qq += wq * code;
            sum_xq += wq * x;
        }
        tn_lanes_store(q + g, sum_q);
        tn_lanes_store(qq + g, sum_qq);
        tn_lanes_store(xq + g, sum_xq);
    }
    for (uint32_t g = 0; g < shape.groups; g++) {
        double s = choice->scales[g], m = choice->minimums[g];
        ss += s * s * qq[g];
        sm += s * m * q[g];
        mm += m * m * b->weight[g];
        xs += s * xq[g];
        xm += m * b->weight[g] * b->mean[g];
    }
    double determinant = ss * mm - sm * sm;
    if (mm == 0 && ss > 0) {
        *d = (float)(xs / ss);
        *dmin = 0;
    } else if (determinant > 1e-9 * ss * mm) {
        *d = (float)((xs * mm - xm * sm) / determinant);
        *dmin = (float)((xs * sm - xm * ss) / determinant);
    } else {
        return 0;
    }
    return *d > 0 && *dmin >= 0;
}

TN_INLINE void tn_k_take_codes(const tn_k_block *b, tn_k_shape shape, const tn_k_choice *choice,
                               tn_k_parts *parts) {
    float codes[TN_BLOCK_MAX];
    for (uint32_t g = 0; g < shape.groups; g += TN_LANES) {
        tn_lanes scale = choice->pair.d * tn_lanes_load(choice->scales + g);
        tn_lanes minimum = choice->pair.dmin * tn_lanes_load(choice->minimums + g);
        tn_lanes inverse = tn_lanes_ratio(tn_lanes_all(1), scale);
        for (uint32_t i = g; i < TN_BLOCK_MAX; i += shape.groups) {
            tn_lanes x = tn_lanes_load(b->x + i) + minimum;
            tn_lanes_store(codes + i, tn_lanes_nearest(x * inverse, shape.top));
        }
    }
    for (uint32_t g = 0; g < shape.groups; g++) {
        for (uint32_t i = 0; i < shape.count; i++) {
            parts->codes[g * shape.count + i] = (uint8_t)codes[i * shape.groups + g];
        }
        parts->scales[g] = (uint8_t)choice->scales[g];
        parts->minimums[g] = (uint8_t)choice->minimums[g];
    }
    parts->d = choice->pair.d_half;
    parts->dmin = choice->pair.dmin_half;
}

/** Sets the weights: importance relative to the block's largest, or 1. A number of no importance still
 * counts a little, so that it comes out somewhere near. */
TN_INLINE void tn_k_weigh(const float *importance, tn_k_shape shape, tn_k_block *b) {
    float most = importance ? tn_size(importance, TN_BLOCK_MAX) : 0, weights[TN_BLOCK_MAX];
    for (uint32_t i = 0; i < TN_BLOCK_MAX; i += TN_LANES) {
        tn_lanes weight = tn_lanes_all(1);
        if (most > 0) { weight = tn_lanes_max(tn_lanes_load(importance + i) / most, tn_lanes_all(0x1p-20f)); }
        tn_lanes_store(weights + i, weight);
    }
    tn_k_turn(weights, 1, shape, b->weights);
}

/**
 * Turns the signs of a block whose groups lie above 0 rather than below it, by how far they do; returns 1 if
 * so. Minimums only reach below 0: such a block is written with d and dmin negative.
 */
TN_INLINE int tn_k_mirror(tn_k_block *b, tn_k_shape shape) {
    float gaps[TN_K_GROUPS];
    for (uint32_t g = 0; g < shape.groups; g += TN_LANES) {
        tn_lanes low = tn_lanes_load(b->x + g), high = low, zero = {0};
        for (uint32_t i = g; i < TN_BLOCK_MAX; i += shape.groups) {
            low = tn_lanes_min(tn_lanes_load(b->x + i), low);
            high = tn_lanes_max(tn_lanes_load(b->x + i), high);
        }
        tn_lanes_store(gaps + g, tn_lanes_max(low, zero) + tn_lanes_min(high, zero));
    }
    int mirrored = tn_k_total(gaps, shape) > 0;
    for (uint32_t i = 0; mirrored && i < TN_BLOCK_MAX; i++) { b->x[i] = -b->x[i]; }
    return mirrored;
}

/**
 * Where rounding to the pair costs much a few groups may have set it against the others: other pairs that cut what
 * these want, and lines through whole ranges, which are seldom far from the best and more alike. Returns the lines
 * that the better choice came from.
 */
TN_INLINE const tn_k_lines *tn_k_start_anew(const tn_k_block *b, const tn_k_lines *lines, tn_k_lines *whole,
                                            tn_k_shape shape, float largest, float unit, tn_k_choice *best) {
    const tn_k_lines *from = lines;
    for (uint32_t i = 0; i < 3; i++) {
        const tn_k_lines *start = i ? whole : lines;
        tn_k_reach reach = i == 1 ? tn_k_reach_within(shape) : tn_k_reach_beyond(shape);
        tn_k_pair pair = {0};
        tn_k_choice trial;
        if (!(tn_k_choose_pair(b, start, shape, reach, largest, unit, &pair) < INFINITY)) { continue; }
        tn_k_choose(b, start, shape, pair, &trial);
        if (!(trial.error < best->error)) { continue; }
        *best = trial;
        from = start;
    }
    return from;
}

/** Takes a block apart. 0: it needs a d or dmin beyond binary16. */
TN_INLINE int tn_k_encode_with(const float *x, const float *importance, tn_k_shape shape, tn_k_effort effort,
                               tn_k_parts *parts) {
    float largest = tn_size(x, TN_BLOCK_MAX), unit = tn_inverse(largest), d, dmin;
    tn_k_block b;
    tn_k_lines lines, whole;
    const tn_k_lines *from = &lines;
    tn_k_pair pair = {0};
    tn_k_choice best, trial;
    tn_k_turn(x, unit, shape, b.x);
    int mirrored = tn_k_mirror(&b, shape);
    tn_k_weigh(importance, shape, &b);
    tn_k_prepare(&b, shape);
    tn_k_search(&b, shape, effort, &lines);
    float added = tn_k_choose_pair(&b, &lines, shape, tn_k_reach_within(shape), largest, unit, &pair);
    if (!(added < INFINITY)) { return 0; }
    tn_k_choose(&b, &lines, shape, pair, &best);
    if (added > 0.3f * best.error) {
        tn_k_search(&b, shape, (tn_k_effort){.weighted = effort.weighted}, &whole);
        from = tn_k_start_anew(&b, &lines, &whole, shape, largest, unit, &best);
    }
    for (uint32_t round = 0; round < TN_K_ROUNDS && tn_k_refit_pair(&b, shape, &best, &d, &dmin); round++) {
        pair.d = tn_k_half(d, largest, unit, &pair.d_half);
        pair.dmin = tn_k_half(dmin, largest, unit, &pair.dmin_half);
        tn_k_choose(&b, from, shape, pair, &trial);
        if (!(trial.error < best.error)) { break; }
        best = trial;
    }
    tn_k_take_codes(&b, shape, &best, parts);
    if (mirrored) {
        parts->d ^= 0x8000;
        parts->dmin ^= 0x8000;
    }
    return 1;
}

/** The same with the usual effort. */
TN_INLINE int tn_k_encode(const float *x, const float *importance, tn_k_shape shape, tn_k_parts *parts) {
    return tn_k_encode_with(x, importance, shape, importance ? TN_K_WEIGHTED : TN_K_PLAIN, parts);
}

#endif
