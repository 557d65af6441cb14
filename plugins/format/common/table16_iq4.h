/*
 * table16_iq4.h - for the encoders of IQ4_NL and IQ4_XS: the nearest number of the table, and the scale with
 * which 32 numbers come nearest to it.
 *
 * All midpoints between the table's numbers are multiples of a half, so a look-up by halves finds the
 * nearest number exactly; it costs less than comparing with fifteen midpoints.
 */
#ifndef TENON_TABLE16_IQ4_H
#define TENON_TABLE16_IQ4_H

#include "blocks.h"
#include "table16_values.h"

enum { TN_IQ4_STEPS = 512, TN_IQ4_GROUP = 32 }; /* halves from -128 to 128; columns of a scale */
#define TN_IQ4_LEAST                                                                                         \
    0x1p-24f /* the smallest binary16 scale: about it only whole multiples are left to choose from */

/** For y in (step - 256) / 2 .. + 1/2: the nearest number, and its code. */
typedef struct tn_iq4_lookup {
    float number[TN_IQ4_STEPS];
    uint8_t code[TN_IQ4_STEPS];
} tn_iq4_lookup;

static inline void tn_iq4_prepare(tn_iq4_lookup *lookup) {
    uint8_t code = 0;
    for (int32_t step = 0; step < TN_IQ4_STEPS; step++) {
        while (code < 15 && step - TN_IQ4_STEPS / 2 >= tn_iq4_values[code] + tn_iq4_values[code + 1]) {
            code++;
        }
        lookup->code[step] = code;
        lookup->number[step] = tn_iq4_values[code];
    }
}

/** Where to look up each of 32 numbers times `inverse`. */
TN_INLINE void tn_iq4_steps(const float *x, float inverse, int32_t *steps) {
    for (uint32_t i = 0; i < TN_IQ4_GROUP; i++) {
        float y = x[i] * (2 * inverse) + TN_IQ4_STEPS / 2;
        y = y > 0 ? y : 0;
        y = y < TN_IQ4_STEPS - 1 ? y : TN_IQ4_STEPS - 1;
        steps[i] = (int32_t)y;
    }
}

TN_INLINE void tn_iq4_numbers(const tn_iq4_lookup *lookup, const float *x, float inverse, float *numbers) {
    int32_t steps[TN_IQ4_GROUP];
    tn_iq4_steps(x, inverse, steps);
    for (uint32_t i = 0; i < TN_IQ4_GROUP; i++) { numbers[i] = lookup->number[steps[i]]; }
}

/** A group of 32 numbers in units of their largest, and what sums need of them. */
typedef struct tn_iq4_group {
    float largest, inverse; /* 1 / largest, or 0: then all units are 0 */
    float unit[TN_IQ4_GROUP], weight[TN_IQ4_GROUP], weighted[TN_IQ4_GROUP]; /* weighted = weight * unit */
} tn_iq4_group;

static inline void tn_iq4_group_begin(const float *x, const float *importance, tn_iq4_group *group) {
    group->largest = tn_largest(x, TN_IQ4_GROUP);
    group->inverse = tn_inverse(group->largest);
    tn_block_weights(importance, TN_IQ4_GROUP, group->weight);
    for (uint32_t i = 0; i < TN_IQ4_GROUP; i++) {
        group->unit[i] = x[i] * group->inverse;
        group->weighted[i] = group->weight[i] * group->unit[i];
    }
}

/**
 * With the numbers nearest to unit * inverse: the sums of weight * unit * number and of weight * number^2.
 */
TN_INLINE void tn_iq4_sums(const tn_iq4_lookup *lookup, const tn_iq4_group *group, float inverse, float *xq,
                           float *qq) {
    float numbers[TN_IQ4_GROUP], xq_terms[TN_IQ4_GROUP], qq_terms[TN_IQ4_GROUP];
    tn_iq4_numbers(lookup, group->unit, inverse, numbers);
    for (uint32_t i = 0; i < TN_IQ4_GROUP; i++) {
        xq_terms[i] = group->weighted[i] * numbers[i];
        qq_terms[i] = group->weight[i] * (numbers[i] * numbers[i]);
    }
    *xq = tn_fold(xq_terms, TN_IQ4_GROUP);
    *qq = tn_fold(qq_terms, TN_IQ4_GROUP);
}

/** The weighted squared error with the numbers nearest for `scale`, both in units of the largest. */
TN_INLINE float tn_iq4_error(const tn_iq4_lookup *lookup, const tn_iq4_group *group, float scale) {
    float numbers[TN_IQ4_GROUP], terms[TN_IQ4_GROUP];
    tn_iq4_numbers(lookup, group->unit, tn_inverse(scale), numbers);
    for (uint32_t i = 0; i < TN_IQ4_GROUP; i++) {
        float miss = group->unit[i] - scale * numbers[i];
        terms[i] = group->weight[i] * (miss * miss);
    }
    return tn_fold(terms, TN_IQ4_GROUP);
}

/** The codes of 32 numbers for `scale`, and their 16 bytes. */
static inline void tn_iq4_pack(const tn_iq4_lookup *lookup, const float *x, float scale, uint8_t *at) {
    int32_t steps[TN_IQ4_GROUP];
    uint8_t codes[TN_IQ4_GROUP];
    tn_iq4_steps(x, tn_inverse(scale), steps);
    for (uint32_t i = 0; i < TN_IQ4_GROUP; i++) { codes[i] = lookup->code[steps[i]]; }
    tn_pack_nibbles(codes, TN_IQ4_GROUP / 2, at);
}

/**
 * A scale of least squares, xq / qq in units of the largest, and how much the error falls by it: xq^2 / qq.
 */
typedef struct tn_iq4_fit {
    float scale, gain;
} tn_iq4_fit;

/** A rounding error is no gain, or equal groups would choose differently. */
TN_INLINE void tn_iq4_try(const tn_iq4_lookup *lookup, const tn_iq4_group *group, float inverse,
                          tn_iq4_fit *best) {
    float xq, qq;
    tn_iq4_sums(lookup, group, inverse, &xq, &qq);
    if (qq > 0 && xq * xq > best->gain * qq * 1.00001f) { *best = (tn_iq4_fit){xq / qq, xq * xq / qq}; }
}

/**
 * The scale with which the group comes nearest to the table: scales of both signs that take the largest
 * number from inside the table's end to well beyond it, for the numbers of each the scale of least squares;
 * then the like about the best of these. More trials gain less than 0.1 % of the error. 0 if all numbers are
 * zero.
 */
static inline tn_iq4_fit tn_iq4_search(const tn_iq4_lookup *lookup, const tn_iq4_group *group) {
    tn_iq4_fit best = {0, 0};
    for (uint32_t i = 0; i < 12; i++) {
        float inverse = 100 + 6.4f * (float)i;
        tn_iq4_try(lookup, group, inverse, &best);
        tn_iq4_try(lookup, group, -inverse, &best);
    }
    float middle = tn_inverse(best.scale);
    for (int32_t i = -2; i <= 2; i++) { tn_iq4_try(lookup, group, middle * (1 + 0.013f * (float)i), &best); }
    tn_iq4_try(lookup, group, tn_inverse(best.scale), &best);
    return best;
}

#endif
