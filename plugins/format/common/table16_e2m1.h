/*
 * table16_e2m1.h - for the encoders of MXFP4 and NVFP4: the nearest E2M1 numbers for a scale, and their
 * error.
 */
#ifndef TENON_TABLE16_E2M1_H
#define TENON_TABLE16_E2M1_H

#include "blocks.h"
#include "table16_values.h"

/**
 * The nearest of the doubled numbers 0 1 2 3 4 6 8 12: whole ones to 4, from there floats with a bit of
 * mantissa.
 */
static inline float tn_e2m1_nearest(float size) {
    float whole = size + 0x1.8p23f - 0x1.8p23f; /* the sum has no place for a fraction, and rounds it off */
    float short_float = tn_float_of_bits((tn_bits_of_float(size) + 0x200000) & 0xffc00000);
    float nearest = size < 4 ? whole : short_float;
    return nearest < 12 ? nearest : 12;
}

/** The weighted squared error of 16 or 32 sizes with the numbers nearest for `scale`. */
TN_INLINE float tn_e2m1_error(const float *sizes, const float *weights, uint32_t count, float scale) {
    float inverse = tn_inverse(scale), terms[TN_SEARCH_MAX];
#pragma GCC unroll 1 /* else gcc 12 unrolls it before it looks for vectors */
    for (uint32_t i = 0; i < count; i++) {
        float miss = sizes[i] - scale * tn_e2m1_nearest(sizes[i] * inverse);
        terms[i] = weights[i] * (miss * miss);
    }
    return tn_fold(terms, count);
}

/** The codes of x, whose sizes are given, and their count / 2 bytes. */
TN_INLINE void tn_e2m1_pack(const float *x, const float *sizes, uint32_t count, float scale, uint8_t *at) {
    static const uint8_t code_of[13] = {0, 1, 2, 3, 4, 0, 5, 0, 6, 0, 0, 0, 7};
    float inverse = tn_inverse(scale), numbers[TN_SEARCH_MAX];
    uint8_t codes[TN_SEARCH_MAX];
    for (uint32_t i = 0; i < count; i++) { numbers[i] = tn_e2m1_nearest(sizes[i] * inverse); }
    for (uint32_t i = 0; i < count; i++) {
        uint32_t code = code_of[(uint32_t)numbers[i]],
                 negative = (x[i] < 0) & (code != 0); /* zero has no sign */
        codes[i] = (uint8_t)(code | negative << 3);
    }
    tn_pack_nibbles(codes, count / 2, at);
}

#endif
