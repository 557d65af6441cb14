/*
 * k_search.h - for K types with minimums: the line (scale and minimum) that fits each group of a block best,
 * searched for all groups of the block at once.
 *
 * The 256 numbers of a block lie turned on their side, number i of group g at [i * groups + g] (tn_k_turn):
 * then a sum over each group is an addition of whole vectors, and nothing is folded. To use it: turn numbers
 * and weights (all > 0) into a tn_k_block, tn_k_prepare() it, then tn_k_search() gives the lines. `shape` is
 * a constant of the caller.
 */
#ifndef TENON_FORMAT_K_SEARCH_H
#define TENON_FORMAT_K_SEARCH_H

#include "blocks.h"
#include "k_lanes.h"

/** The most groups of a block. */
#define TN_K_GROUPS 16

/** Groups of a block (a multiple of 8) and numbers of a group, in all 256; the largest code of a number, and
 * the largest code of a scale or a minimum. */
typedef struct tn_k_shape {
    uint32_t groups, count;
    float top, limit;
} tn_k_shape;

/**
 * What a search needs of a block: the numbers (about 1 in size or less) and their weights, turned; from
 * tn_k_prepare() the products weight * (x - mean), and of each group the sum of its weights, the weighted
 * mean of its numbers, and their weighted squares about the mean.
 */
typedef struct tn_k_block {
    float x[TN_BLOCK_MAX], weights[TN_BLOCK_MAX], centred[TN_BLOCK_MAX];
    float weight[TN_K_GROUPS], mean[TN_K_GROUPS], squares[TN_K_GROUPS];
} tn_k_block;

/** A line for each group, w = scale * code - minimum with both >= 0. */
typedef struct tn_k_lines {
    float scale[TN_K_GROUPS], minimum[TN_K_GROUPS];
    /** Of the codes that go with it: their weighted mean, and their weighted squares about it. */
    float code_mean[TN_K_GROUPS], code_squares[TN_K_GROUPS];
} tn_k_lines;

/**
 * How much a search tries: a line through the range of each group; if `weighted`, one through the range of the
 * numbers that have weight; lines through the range with each of its two ends moved inwards by `ends` different
 * amounts, first + pace * i + growth * i^2 steps of the codes; then rounds of refitting the best. Of equally good
 * lines the first counts, so that groups that are alike have lines that are.
 */
typedef struct tn_k_effort {
    uint32_t ends, rounds;
    float first, pace, growth;
    int weighted;
} tn_k_effort;

/** Measured (SmolLM2, Q4_K and Q5_K): what is tried beyond gains under a percent. With importance the best
 * line may leave far more of the range aside. */
#define TN_K_PLAIN ((tn_k_effort){6, 1, -0.9f, 0.3f, 0, 0})
#define TN_K_WEIGHTED ((tn_k_effort){8, 1, -0.9f, 0.3f, 0.03f, 1})

/** Turns a row-major block, times `unit`. */
TN_INLINE void tn_k_turn(const float *from, float unit, tn_k_shape shape, float *to) {
    for (uint32_t g = 0; g < shape.groups; g++) {
        for (uint32_t i = 0; i < shape.count; i++) {
            to[i * shape.groups + g] = from[g * shape.count + i] * unit;
        }
    }
}

/** Completes a block whose x and weights are set. */
TN_INLINE void tn_k_prepare(tn_k_block *b, tn_k_shape shape) {
    for (uint32_t g = 0; g < shape.groups; g += TN_LANES) {
        tn_lanes weight = {0}, sum = {0}, squares = {0};
        for (uint32_t i = g; i < TN_BLOCK_MAX; i += shape.groups) {
            tn_lanes w = tn_lanes_load(b->weights + i);
            weight += w;
            sum += w * tn_lanes_load(b->x + i);
        }
        tn_lanes mean = sum / weight;
        for (uint32_t i = g; i < TN_BLOCK_MAX; i += shape.groups) {
            tn_lanes x = tn_lanes_load(b->x + i) - mean, wx = tn_lanes_load(b->weights + i) * x;
            tn_lanes_store(b->centred + i, wx);
            squares += wx * x;
        }
        tn_lanes_store(b->weight + g, weight);
        tn_lanes_store(b->mean + g, mean);
        tn_lanes_store(b->squares + g, squares);
    }
}

/** Lines of as many groups as a vector has lanes, the codes that they were fitted to, and the error. */
typedef struct tn_k_line {
    tn_lanes scale, minimum, error, code_mean, code_squares;
} tn_k_line;

/**
 * The lines of least squares through the codes nearest to (x - offset) * inverse, groups g and on; with the
 * minimum held at 0 where it would be negative. Codes are counted from that of the mean: as they are, the sums
 * would be large beside the spread that is wanted, and rounding would tell lines apart that are equally good.
 */
TN_INLINE tn_k_line tn_k_fit(const tn_k_block *b, tn_k_shape shape, uint32_t g, tn_lanes offset,
                             tn_lanes inverse) {
    tn_lanes weight = tn_lanes_load(b->weight + g), mean = tn_lanes_load(b->mean + g), zero = {0};
    tn_lanes origin = tn_lanes_nearest((mean - offset) * inverse, shape.top);
    tn_lanes sum_q = {0}, sum_qq = {0}, sum_xq = {0};
    for (uint32_t i = g; i < TN_BLOCK_MAX; i += shape.groups) {
        tn_lanes q = tn_lanes_nearest_from((tn_lanes_load(b->x + i) - offset) * inverse, shape.top, origin);
        tn_lanes wq = tn_lanes_load(b->weights + i) * q;
        sum_q += wq;
        sum_qq += wq * q;
        sum_xq += tn_lanes_load(b->centred + i) * q;
    }
    tn_lanes beyond = sum_q / weight, middle = origin + beyond, spread = sum_qq - sum_q * beyond;
    /* A rounding error is no spread: then all codes are equal, and the line is level. */
    tn_lanes slope = tn_lanes_select(spread > 1e-6f * sum_qq, sum_xq / spread, zero);
    slope = tn_lanes_max(slope, zero);
    tn_lanes all_q = weight * middle, all_xq = sum_xq + mean * all_q, all_qq = spread + all_q * middle;
    tn_lanes through_zero = tn_lanes_max(tn_lanes_ratio(all_xq, all_qq), zero);
    tn_lanes minimum = slope * middle - mean;
    tn_lane_mask has_minimum = minimum >= zero;
    tn_lanes scale = tn_lanes_select(has_minimum, slope, through_zero);
    minimum = tn_lanes_max(minimum, zero);
    tn_lanes off = mean + minimum - scale * middle;
    return (tn_k_line){
        .scale = scale,
        .minimum = minimum,
        .error =
            tn_lanes_load(b->squares + g) + scale * (scale * spread - 2.0f * sum_xq) + weight * (off * off),
        .code_mean = middle,
        .code_squares = tn_lanes_max(spread, zero),
    };
}

/** Of each group the better one of two lines. A rounding error is no gain. */
TN_INLINE void tn_k_keep(tn_lanes squares, const tn_k_line *line, tn_k_line *best) {
    tn_lane_mask better = line->error < best->error - 1e-6f * squares;
    best->scale = tn_lanes_select(better, line->scale, best->scale);
    best->minimum = tn_lanes_select(better, line->minimum, best->minimum);
    best->error = tn_lanes_select(better, line->error, best->error);
    best->code_mean = tn_lanes_select(better, line->code_mean, best->code_mean);
    best->code_squares = tn_lanes_select(better, line->code_squares, best->code_squares);
}

/** The range of the numbers of groups g and on whose weights are above `least`, from 0 or below. */
TN_INLINE void tn_k_range(const tn_k_block *b, tn_k_shape shape, uint32_t g, tn_lanes least, tn_lanes *low,
                          tn_lanes *high) {
    *low = tn_lanes_all(0);
    *high = tn_lanes_all(-INFINITY);
    for (uint32_t i = g; i < TN_BLOCK_MAX; i += shape.groups) {
        tn_lane_mask counts = tn_lanes_load(b->weights + i) > least;
        tn_lanes x = tn_lanes_load(b->x + i);
        *low = tn_lanes_min(tn_lanes_select(counts, x, *low), *low);
        *high = tn_lanes_max(tn_lanes_select(counts, x, *high), *high);
    }
}

TN_INLINE float tn_k_inwards(tn_k_effort effort, uint32_t i) {
    float at = (float)i;
    return effort.first + at * (effort.pace + at * effort.growth);
}

/**
 * The best line of each group: codes for every line that is tried, for each set of codes the line of least
 * squares; the best of these gives new codes, and so on.
 */
TN_INLINE void tn_k_search(const tn_k_block *b, tn_k_shape shape, tn_k_effort effort, tn_k_lines *lines) {
    for (uint32_t g = 0; g < shape.groups; g += TN_LANES) {
        tn_lanes low, high, squares = tn_lanes_load(b->squares + g);
        tn_k_line best = {.error = tn_lanes_all(INFINITY)}, line;
        if (effort.weighted) {
            tn_k_range(b, shape, g, tn_lanes_load(b->weight + g) * (0.25f / (float)shape.count), &low, &high);
            line = tn_k_fit(b, shape, g, low, tn_lanes_ratio(tn_lanes_all(shape.top), high - low));
            tn_k_keep(squares, &line, &best);
        }
        tn_k_range(b, shape, g, tn_lanes_all(0), &low, &high);
        tn_lanes step = (high - low) / shape.top;
        line = tn_k_fit(b, shape, g, low, tn_lanes_ratio(tn_lanes_all(1), step));
        tn_k_keep(squares, &line, &best);
        for (uint32_t trial = 0; trial < effort.ends * effort.ends; trial++) {
            float up = tn_k_inwards(effort, effort.ends - 1 - trial % effort.ends);
            float down = tn_k_inwards(effort, trial / effort.ends);
            tn_lanes inverse = tn_lanes_ratio(tn_lanes_all(1 / (1 - (up + down) / shape.top)), step);
            line = tn_k_fit(b, shape, g, low + up * step, inverse);
            tn_k_keep(squares, &line, &best);
        }
        for (uint32_t round = 0; round < effort.rounds; round++) {
            line = tn_k_fit(b, shape, g, -best.minimum, tn_lanes_ratio(tn_lanes_all(1), best.scale));
            tn_k_keep(squares, &line, &best);
        }
        tn_lanes_store(lines->scale + g, best.scale);
        tn_lanes_store(lines->minimum + g, best.minimum);
        tn_lanes_store(lines->code_mean + g, best.code_mean);
        tn_lanes_store(lines->code_squares + g, best.code_squares);
    }
}

#endif
