/*
 * few_codes.h - for types whose codes are -1, 0, 1 (TQ1_0, TQ2_0) or -1, 0, 1, 2 (Q2_0): the scale with which a
 * block comes nearest. As the scale falls, the numbers leave 0, and then 1, in the order of their sizes, and
 * each such step makes a set of codes: the best of all is found.
 *
 * Sums over bins of sizes come first: they tell in which few bins the best set can lie, and only the steps in
 * these are sorted and tried one by one.
 */
#ifndef TENON_FORMAT_FEW_CODES_H
#define TENON_FORMAT_FEW_CODES_H

#include "blocks.h"

#include <float.h>

/** Bins of steps by size: eight an octave, the last one that of 1. */
enum { TN_FEW_BINS = 64, TN_FEW_BIN_BITS = 20, TN_FEW_FIRST = (0x3f800000 >> 20) - TN_FEW_BINS + 1 };

/**
 * Steps of codes: of weight * number * code and weight * code^2 the sums grow by size * weight and by weight,
 * when half the scale falls below size, which is at most 1. So it is for numbers that leave 0; of those that go
 * from 1 to 2 a third of the size and three times the weight are taken.
 */
typedef struct tn_steps {
    uint32_t count; /* a power of two */
    float size[TN_BLOCK_MAX], weight[TN_BLOCK_MAX];
} tn_steps;

/** Sums of weight * number * code and weight * code^2: the scale of least squares is their ratio, and by it the
 * error falls by xq^2 / qq. */
typedef struct tn_few_sums {
    float xq, qq;
} tn_few_sums;

static inline int tn_few_better(tn_few_sums a, tn_few_sums b) {
    return a.xq * a.xq * b.qq > b.xq * b.xq * a.qq;
}

/** Merges two falling runs of `width` keys: half of the result from the front, half from the back, so that
 * neither run can end before its time. */
static inline void tn_merge_falling(const uint64_t *a, uint32_t width, uint64_t *out) {
    const uint64_t *b = a + width, *last_a = a + width - 1, *last_b = b + width - 1;
    uint64_t *last = out + 2 * width - 1;
    for (uint32_t i = 0; i < width; i++) { /* masks, not jumps, which nobody could foresee */
        uint64_t front = (uint64_t)0 - (*a > *b), back = (uint64_t)0 - (*last_a < *last_b);
        *out++ = *b ^ ((*a ^ *b) & front);
        a -= (int64_t)front;
        b += 1 + (int64_t)front;
        *last-- = *last_b ^ ((*last_a ^ *last_b) & back);
        last_a += (int64_t)back;
        last_b -= 1 + (int64_t)back;
    }
}

/** The steps of bins first .. last, the largest first; returns how many. */
static inline uint32_t tn_few_sort(const tn_steps *steps, const int32_t *bins, int32_t first, int32_t last,
                                   uint64_t *keys, uint64_t *other, const uint64_t **sorted) {
    uint32_t count = 0, room = 1;
    for (uint32_t i = 0; i < steps->count; i++) {
        keys[count] = (uint64_t)tn_bits_of_float(steps->size[i]) << 32 | i;
        count += (bins[i] >= first) & (bins[i] <= last);
    }
    while (room < count) { room *= 2; }
    for (uint32_t i = count; i < room; i++) { keys[i] = 0; }
    for (uint32_t width = 1; width < room; width *= 2) {
        for (uint32_t i = 0; i < room; i += 2 * width) { tn_merge_falling(keys + i, width, other + i); }
        uint64_t *swap = keys;
        keys = other;
        other = swap;
    }
    *sorted = keys;
    return count;
}

/** Sums over bins: of the steps in each, and of all in higher ones. */
typedef struct tn_few_bins {
    int32_t of[TN_BLOCK_MAX];
    tn_few_sums in[TN_FEW_BINS];
    float in_xq[TN_FEW_BINS], in_qq[TN_FEW_BINS], above_xq[TN_FEW_BINS], above_qq[TN_FEW_BINS];
} tn_few_bins;

static inline void tn_few_count(const tn_steps *steps, tn_few_bins *bins) {
    tn_few_sums sum = {0, 0};
    for (uint32_t i = 0; i < steps->count; i++) {
        int32_t bin = (int32_t)(tn_bits_of_float(steps->size[i]) >> TN_FEW_BIN_BITS) - TN_FEW_FIRST;
        bins->of[i] = bin > 0 ? bin : 0;
    }
    memset(bins->in, 0, sizeof bins->in);
    for (uint32_t i = 0; i < steps->count; i++) {
        tn_few_sums *in = &bins->in[bins->of[i]];
        in->xq += steps->size[i] * steps->weight[i];
        in->qq += steps->weight[i];
    }
    for (uint32_t b = TN_FEW_BINS; b-- > 0;) {
        bins->above_xq[b] = sum.xq;
        bins->above_qq[b] = sum.qq;
        bins->in_xq[b] = bins->in[b].xq;
        bins->in_qq[b] = bins->in[b].qq;
        sum.xq += bins->in[b].xq;
        sum.qq += bins->in[b].qq;
    }
}

/**
 * The bins within which the best set may lie: *first .. *last. Were all steps of a bin of the largest size that
 * it holds, the same xq would come with less qq; and the gain is a convex function of how many of such are taken.
 */
static inline void tn_few_range(const tn_few_bins *bins, int32_t *first, int32_t *last) {
    float best = 0, gain[TN_FEW_BINS]; /* of the sets with which bins end */
    for (uint32_t b = 0; b < TN_FEW_BINS; b++) {
        float xq = bins->above_xq[b] + bins->in_xq[b], qq = bins->above_qq[b] + bins->in_qq[b];
        gain[b] = xq * xq / (qq + FLT_MIN);
    }
    for (uint32_t b = 0; b < TN_FEW_BINS; b++) { best = gain[b] > best ? gain[b] : best; }
    best *= 1 - 0x1p-20f; /* for what is rounded */
    int32_t may[TN_FEW_BINS];
    for (int32_t b = 0; b < TN_FEW_BINS; b++) {
        float end = tn_float_of_bits((uint32_t)(b + 1 + TN_FEW_FIRST) << TN_FEW_BIN_BITS);
        float xq = bins->above_xq[b] + bins->in_xq[b];
        may[b] = xq * xq > best * (bins->above_qq[b] + bins->in_xq[b] / end);
    }
    *first = 0;
    *last = TN_FEW_BINS - 1;
    while (*first < *last && !may[*first]) { ++*first; }
    while (*first < *last && !may[*last]) { --*last; }
}

/** The best of all sets of codes that the steps lead to. */
static inline tn_few_sums tn_few_search(const tn_steps *steps) {
    tn_few_bins bins;
    int32_t first, last;
    uint64_t keys[TN_BLOCK_MAX], other[TN_BLOCK_MAX];
    const uint64_t *sorted;
    tn_few_count(steps, &bins);
    tn_few_range(&bins, &first, &last);
    uint32_t count = tn_few_sort(steps, bins.of, first, last, keys, other, &sorted);
    tn_few_sums sum = {bins.above_xq[last], bins.above_qq[last]}, best = {0, 1};
    for (uint32_t i = 0; i < count; i++) {
        float weight = steps->weight[(uint32_t)sorted[i]];
        sum.xq += weight * tn_float_of_bits((uint32_t)(sorted[i] >> 32));
        sum.qq += weight;
        best = tn_few_better(sum, best) ? sum : best;
    }
    return best;
}

/** The scale for codes -1, 0, 1 with the least error. */
static inline float tn_few_scale(const float *x, const float *weights, uint32_t count) {
    float largest = tn_size(x, count), unit = tn_inverse(largest);
    tn_steps steps = {.count = count};
    for (uint32_t i = 0; i < count; i++) {
        steps.size[i] = fabsf(x[i] * unit);
        steps.weight[i] = weights[i];
    }
    tn_few_sums best = tn_few_search(&steps);
    return best.xq / best.qq * largest;
}

/** The scale, of either sign, for codes -1 .. 2: numbers of its sign go on to 2. */
static inline float tn_few_scale_to_2(const float *x, const float *weights, uint32_t count) {
    float largest = tn_size(x, count), unit = tn_inverse(largest);
    tn_few_sums best[2];
    tn_steps steps = {.count = 2 * count};
    for (uint32_t i = 0; i < count; i++) {
        steps.size[i] = fabsf(x[i] * unit);
        steps.size[count + i] = steps.size[i] / 3;
        steps.weight[i] = weights[i];
    }
    for (uint32_t negative = 0; negative < 2; negative++) {
        float sign = negative ? -1 : 1;
        for (uint32_t i = 0; i < count; i++) {
            float triple = 3 * weights[i];
            steps.weight[count + i] = sign * x[i] > 0 ? triple : 0;
        }
        best[negative] = tn_few_search(&steps);
    }
    int negative = tn_few_better(best[1], best[0]);
    float scale = best[negative].xq / best[negative].qq * largest;
    return negative ? -scale : scale;
}

/** Codes -1, 0, 1 of a block of 256; returns the scale, which is a binary16 unless it is infinite. */
static inline float tn_ternary_codes(const float *x, const float *importance, int8_t *codes) {
    float weights[256];
    tn_block_weights(importance, 256, weights);
    float scale = tn_float_of_half(tn_half_of_float(tn_few_scale(x, weights, 256)));
    float inverse = tn_inverse(scale);
    for (uint32_t i = 0; i < 256; i++) { codes[i] = (int8_t)tn_nearest(x[i] * inverse, -1, 1); }
    return scale;
}

#endif
