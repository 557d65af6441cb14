/*
 * line_encode.h - encoding of types with codes from 0 up, a binary16 scale and a binary16 minimum for 32 columns
 * (Q4_1, Q5_1): the line (scale and minimum) that fits each block of a run best. One block is a lane.
 */
#ifndef TENON_FORMAT_LINE_ENCODE_H
#define TENON_FORMAT_LINE_ENCODE_H

#include "run_encode.h"

/**
 * How much is tried: the line through the range of the numbers; lines with its lower end moved inwards by low_from,
 * low_from + low_step, ... steps of the codes, and its upper end likewise; if `heavy`, and there is importance,
 * the one through the range of the numbers that have weight; then `fine` of them on each side of the best, with
 * scales `step` apart (relative); then the line of least squares again and again.
 */
typedef struct tn_line_effort {
    uint32_t low_count, high_count;
    float low_from, low_step, high_from, high_step;
    int heavy;
    uint32_t fine;
    float step;
    uint32_t refits;
} tn_line_effort;

/** The codes are 0 .. top. Writes one block. */
typedef void tn_line_pack(const uint8_t *codes, float scale, float minimum, uint8_t *block);

/** Blocks, one a lane: their turned numbers and weights, weight * (x - mean), sums of weights, weighted means. */
typedef struct tn_line_group {
    const float *x, *weights;
    float centred[TN_LANES * TN_RUN_COLS];
    tn_lanes weight, mean, low, high;
} tn_line_group;

/** Lines of least squares; by them the errors fall by `gain` from those of the means alone. */
typedef struct tn_line {
    tn_lanes scale, minimum, gain;
} tn_line;

TN_INLINE tn_line_group tn_line_begin(const float *x, const float *weights) {
    tn_line_group group = {x, weights, .low = tn_lanes_load(x), .high = tn_lanes_load(x)};
    tn_lanes sum = {0};
    for (uint32_t i = 0; i < TN_RUN_COLS; i++) {
        tn_lanes number = tn_lanes_load(x + i * TN_RUN), weight = tn_lanes_load(weights + i * TN_RUN);
        group.low = tn_lanes_min(number, group.low);
        group.high = tn_lanes_max(number, group.high);
        group.weight += weight;
        sum += weight * number;
    }
    group.mean = sum / group.weight;
    for (uint32_t i = 0; i < TN_RUN_COLS; i++) {
        tn_lanes centred = tn_lanes_load(weights + i * TN_RUN) * (tn_lanes_load(x + i * TN_RUN) - group.mean);
        tn_lanes_store(group.centred + i * TN_LANES, centred);
    }
    return group;
}

/** The line of least squares through the codes nearest to (x - minimum) * inverse, if it is better. Codes are
 * counted from that of the mean, for the reason of tn_k_fit(). Rounding errors are no gain, and no spread of the
 * codes. */
TN_INLINE void tn_line_try(const tn_line_group *group, float top, tn_lanes minimum, tn_lanes inverse,
                           tn_line *best) {
    tn_lanes origin = tn_lanes_nearest((group->mean - minimum) * inverse, top);
    tn_lanes sum_q = {0}, sum_qq = {0}, sum_xq = {0};
    for (uint32_t i = 0; i < TN_RUN_COLS; i++) {
        tn_lanes x = tn_lanes_load(group->x + i * TN_RUN) - minimum;
        tn_lanes q = tn_lanes_nearest_from(x * inverse, top, origin);
        tn_lanes wq = tn_lanes_load(group->weights + i * TN_RUN) * q;
        sum_q += wq;
        sum_qq += wq * q;
        sum_xq += tn_lanes_load(group->centred + i * TN_LANES) * q;
    }
    tn_lanes beyond = sum_q / group->weight, spread = sum_qq - sum_q * beyond;
    tn_lanes scale = sum_xq / spread, gain = scale * sum_xq;
    tn_lane_mask better = (gain > best->gain * 1.0000003f) & (spread > 1e-6f * sum_qq);
    best->scale = tn_lanes_select(better, scale, best->scale);
    best->minimum = tn_lanes_select(better, group->mean - scale * (origin + beyond), best->minimum);
    best->gain = tn_lanes_select(better, gain, best->gain);
}

/** The range of the numbers that have weight: more than a sixteenth of the mean of the weights. */
TN_INLINE void tn_line_heavy(const tn_line_group *group, tn_lanes *low, tn_lanes *high) {
    *low = *high = group->mean;
    for (uint32_t i = 0; i < TN_RUN_COLS; i++) {
        tn_lane_mask counts =
            tn_lanes_load(group->weights + i * TN_RUN) * (16.0f * TN_RUN_COLS) > group->weight;
        tn_lanes x = tn_lanes_select(counts, tn_lanes_load(group->x + i * TN_RUN), group->mean);
        *low = tn_lanes_min(x, *low);
        *high = tn_lanes_max(x, *high);
    }
}

TN_INLINE tn_line tn_line_search(const tn_line_group *group, float top, tn_line_effort effort) {
    tn_line best = {{0}, group->mean, {0}};
    tn_lanes step = (group->high - group->low) / top, one = tn_lanes_all(1);
    tn_line_try(group, top, group->low, tn_lanes_ratio(one, step), &best);
    for (uint32_t i = 0; i < effort.low_count * effort.high_count; i++) {
        float up = effort.low_from + effort.low_step * (float)(effort.low_count - 1 - i % effort.low_count);
        float down = effort.high_from + effort.high_step * (float)(i / effort.low_count);
        tn_lanes inverse = tn_lanes_ratio(tn_lanes_all(1 / (1 - (up + down) / top)), step);
        tn_line_try(group, top, group->low + up * step, inverse, &best);
    }
    if (effort.heavy) {
        tn_lanes low, high;
        tn_line_heavy(group, &low, &high);
        tn_line_try(group, top, low, tn_lanes_ratio(tn_lanes_all(top), high - low), &best);
    }
    tn_line middle = best;
    for (uint32_t i = 0; i < 2 * effort.fine; i++) {
        float factor = 1 + effort.step * (float)(i / 2 + 1) * (i % 2 ? 1 : -1); /* about the mean */
        tn_lanes minimum = group->mean + (middle.minimum - group->mean) * factor;
        tn_line_try(group, top, minimum, tn_lanes_ratio(one, middle.scale * factor), &best);
    }
    for (uint32_t i = 0; i < effort.refits; i++) {
        tn_line_try(group, top, best.minimum, tn_lanes_ratio(one, best.scale), &best);
    }
    return best;
}

/** For minimums that are stored as they are: the scale of least squares through the codes nearest for `scale`. */
TN_INLINE tn_lanes tn_line_slope(const tn_line_group *group, float top, tn_lanes minimum, tn_lanes scale) {
    tn_lanes inverse = tn_lanes_ratio(tn_lanes_all(1), scale), sum_qq = {0}, sum_xq = {0};
    for (uint32_t i = 0; i < TN_RUN_COLS; i++) {
        tn_lanes x = tn_lanes_load(group->x + i * TN_RUN) - minimum;
        tn_lanes q = tn_lanes_nearest(x * inverse, top), wq = tn_lanes_load(group->weights + i * TN_RUN) * q;
        sum_qq += wq * q;
        sum_xq += wq * x;
    }
    return tn_lanes_max(tn_lanes_ratio(sum_xq, sum_qq), tn_lanes_all(0));
}

TN_INLINE tn_lanes tn_line_error(const tn_line_group *group, float top, tn_lanes minimum, tn_lanes scale) {
    tn_lanes inverse = tn_lanes_ratio(tn_lanes_all(1), scale), error = {0};
    for (uint32_t i = 0; i < TN_RUN_COLS; i++) {
        tn_lanes x = tn_lanes_load(group->x + i * TN_RUN) - minimum;
        tn_lanes miss = x - scale * tn_lanes_nearest(x * inverse, top);
        error += tn_lanes_load(group->weights + i * TN_RUN) * (miss * miss);
    }
    return error;
}

/** Lines as they are stored, in true units, and their errors. */
typedef struct tn_line_stored {
    tn_lanes scale, minimum, error;
} tn_line_stored;

/** Keeps the minimum, a binary16 in true units, with the scale that fits it, by codes nearest for `scale`, where
 * it is better. Numbers of a lane are in units of `largest`. What binary16 does not reach has no finite error,
 * and is never chosen. */
TN_INLINE void tn_line_store(const tn_line_group *group, float top, tn_lanes minimum, tn_lanes scale,
                             tn_lanes largest, tn_line_stored *best) {
    tn_lanes unit = tn_lanes_ratio(tn_lanes_all(1), largest);
    scale = tn_lanes_half(tn_line_slope(group, top, minimum * unit, scale) * largest);
    tn_lanes error = tn_line_error(group, top, minimum * unit, scale * unit);
    tn_lane_mask better = error < best->error;
    best->scale = tn_lanes_select(better, scale, best->scale);
    best->minimum = tn_lanes_select(better, minimum, best->minimum);
    best->error = tn_lanes_select(better, error, best->error);
}

/** Of the minimums that binary16 has about that of the line (it can be coarse next to the scale), the best. */
TN_INLINE void tn_line_round(const tn_line_group *group, float top, const tn_line *line, tn_lanes largest,
                             tn_line_stored *best) {
    tn_lanes wanted = line->minimum * largest, minimums[3];
    tn_lane_mask beyond = tn_lanes_max(wanted, -wanted) > TN_HALF_MAX; /* the least number may still not be */
    wanted = tn_lanes_select(beyond, group->low * largest, wanted);
    for (uint32_t k = 0; k < TN_LANES; k++) {
        float near[3];
        tn_half_neighbours(wanted[k], near);
        for (uint32_t i = 0; i < 3; i++) { minimums[i][k] = near[i]; }
    }
    for (uint32_t i = 0; i < 3; i++) { tn_line_store(group, top, minimums[i], line->scale, largest, best); }
}

/** The finest line through the range whose minimum is 0 or -1, -2, -4, ... scales: binary16 rounds both alike,
 * so it meets 0, which counts where 0 has much of the weight. */
TN_INLINE void tn_line_through_zero(const tn_line_group *group, float top, tn_lanes largest,
                                    tn_line_stored *best) {
    tn_lanes zero = {0}, below = tn_lanes_max(-group->low, zero), above = tn_lanes_max(group->high, zero);
    tn_lanes scale = tn_lanes_select(below > 0, tn_lanes_all(2), above / top), size = zero;
    for (float codes = 1; codes < top; codes *= 2) {
        tn_lanes wider = tn_lanes_max(below / codes, above / (top - codes));
        tn_lane_mask finer = wider < scale;
        scale = tn_lanes_select(finer, wider, scale);
        size = tn_lanes_select(finer, wider * codes, size);
    }
    tn_line_store(group, top, zero - tn_lanes_half(size * largest), scale, largest, best);
}

/** The line up from the mean: it meets a number that has nearly all of the weight. */
TN_INLINE void tn_line_from_mean(const tn_line_group *group, float top, tn_lanes largest,
                                 tn_line_stored *best) {
    tn_lanes minimum = group->mean * largest, scale = (group->high - group->mean) / top;
    for (uint32_t k = 0; k < TN_LANES; k++) { minimum[k] = tn_float_of_half(tn_half_of_float(minimum[k])); }
    tn_line_store(group, top, minimum, scale, largest, best);
}

/** A run as tn_run_encode, blocks of `bytes` bytes. */
TN_INLINE uint32_t tn_line_encode(const tn_run *run, float top, tn_line_effort effort, uint32_t bytes,
                                  tn_line_pack *pack, uint8_t *blocks) {
    tn_turned turned;
    tn_line_stored stored = {{0}, {0}, {0}};
    tn_turn_run(run, &turned);
    if (!run->importance[0]) { effort.heavy = 0; } /* all have the same weight */
    for (uint32_t b = 0; b < run->count; b++, blocks += bytes) {
        uint32_t lane = b % TN_LANES;
        uint8_t codes[TN_RUN_COLS];
        if (lane == 0) {
            tn_line_group group = tn_line_begin(turned.x + b, turned.weights + b);
            tn_line line = tn_line_search(&group, top, effort);
            tn_lanes largest = tn_lanes_load(turned.largest + b);
            stored.error = tn_lanes_all(INFINITY);
            tn_line_round(&group, top, &line, largest, &stored);
            tn_line_through_zero(&group, top, largest, &stored);
            if (effort.heavy) { tn_line_from_mean(&group, top, largest, &stored); }
        }
        if (!(stored.error[lane] < INFINITY)) { return b; }
        float inverse = tn_inverse(stored.scale[lane]);
        for (uint32_t i = 0; i < TN_RUN_COLS; i++) {
            float x = run->x[b * TN_RUN_COLS + i] - stored.minimum[lane];
            codes[i] = (uint8_t)tn_nearest(x * inverse, 0, top);
        }
        pack(codes, stored.scale[lane], stored.minimum[lane], blocks);
    }
    return run->count;
}

#endif
