/*
 * few_codes.h - for types whose codes are -1, 0, 1 (TQ1_0, TQ2_0) or -1, 0, 1, 2 (Q2_0): the scale with which a
 * block comes nearest. So few codes let all sets of codes be tried that any scale gives: as the scale falls,
 * the numbers leave 0, and then 1, in the order of their sizes.
 */
#ifndef TENON_FORMAT_FEW_CODES_H
#define TENON_FORMAT_FEW_CODES_H

#include "blocks.h"

/** A number in units of the largest: its size, its sign and its weight. */
typedef struct tn_sized {
    float size, sign, weight;
} tn_sized;

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

/** The numbers of x (`count`, a power of two), the largest first. */
static inline void tn_sort_by_size(const float *x, const float *weights, uint32_t count, float unit,
                                   tn_sized *sorted) {
    uint64_t keys[TN_BLOCK_MAX], other[TN_BLOCK_MAX], *from = keys, *to = other;
    for (uint32_t i = 0; i < count; i++) {
        keys[i] = (uint64_t)tn_bits_of_float(fabsf(x[i] * unit)) << 32 | i;
    }
    for (uint32_t width = 1; width < count; width *= 2) {
        for (uint32_t i = 0; i < count; i += 2 * width) { tn_merge_falling(from + i, width, to + i); }
        uint64_t *swap = from;
        from = to;
        to = swap;
    }
    for (uint32_t i = 0; i < count; i++) {
        uint32_t at = (uint32_t)from[i];
        sorted[i] = (tn_sized){tn_float_of_bits((uint32_t)(from[i] >> 32)), x[at] < 0 ? -1 : 1, weights[at]};
    }
}

/** The best scale so far: by it the error falls by `gain`. */
typedef struct tn_few_best {
    float scale, gain;
} tn_few_best;

/** Sums of weight * number * code and weight * code^2: the scale of least squares is their ratio. */
static inline void tn_few_try(float xq, float qq, float sign, tn_few_best *best) {
    if (qq > 0 && xq * xq > best->gain * qq) { *best = (tn_few_best){sign * (xq / qq), xq * xq / qq}; }
}

/**
 * All sets of codes that scales of one sign give. A number leaves 0 where the scale is twice its size; with
 * `top` = 2 one of that sign goes on to 2 where the scale is two thirds of it.
 */
static inline void tn_few_sweep(const tn_sized *sorted, uint32_t count, float sign, uint32_t top,
                                tn_few_best *best) {
    float xq = 0, qq = 0;
    for (uint32_t one = 0, two = top == 2 ? 0 : count; one < count || two < count;) {
        const tn_sized *next;
        if (two < count && sorted[two].sign != sign) {
            two++;
            continue;
        }
        if (two == count || (one < count && 3 * sorted[one].size >= sorted[two].size)) {
            next = &sorted[one++];
            qq += next->weight;
        } else {
            next = &sorted[two++];
            qq += 3 * next->weight; /* 2 * 2 in place of 1 */
        }
        xq += next->weight * next->size;
        tn_few_try(xq, qq, sign, best);
    }
}

/** The scale (of either sign where top = 2) for codes -1 .. top with the least error. */
static inline float tn_few_scale(const float *x, const float *weights, uint32_t count, uint32_t top) {
    float largest = tn_size(x, count);
    tn_sized sorted[TN_BLOCK_MAX];
    tn_few_best best = {0, 0};
    tn_sort_by_size(x, weights, count, tn_inverse(largest), sorted);
    tn_few_sweep(sorted, count, 1, top, &best);
    if (top == 2) { tn_few_sweep(sorted, count, -1, top, &best); }
    return best.scale * largest;
}

/** Codes -1, 0, 1 of a block of 256; returns the scale, which is a binary16 unless it is infinite. */
static inline float tn_ternary_codes(const float *x, const float *importance, int8_t *codes) {
    float weights[256];
    tn_block_weights(importance, 256, weights);
    float scale = tn_float_of_half(tn_half_of_float(tn_few_scale(x, weights, 256, 1)));
    float inverse = tn_inverse(scale);
    for (uint32_t i = 0; i < 256; i++) { codes[i] = (int8_t)tn_nearest(x[i] * inverse, -1, 1); }
    return scale;
}

#endif
