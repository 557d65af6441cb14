/*
 * k_lanes.h - vectors of floats for encoders, as wide as the file is compiled for: 8 with AVX2, else 4. One
 * lane is one group of a block, lanes never mix and nothing is fused, so results do not depend on the width.
 */
#ifndef TENON_FORMAT_K_LANES_H
#define TENON_FORMAT_K_LANES_H

#include "format_plugin.h"

#if defined(__AVX2__)
#define TN_LANES 8
#else
#define TN_LANES 4
#endif

#if defined(__SSE2__)
#include <immintrin.h>
#endif

typedef float tn_lanes __attribute__((vector_size(4 * TN_LANES)));
typedef int32_t tn_lane_mask __attribute__((vector_size(4 * TN_LANES))); /* what a comparison gives */

TN_INLINE tn_lanes tn_lanes_load(const float *at) {
    tn_lanes x;
    memcpy(&x, at, sizeof x);
    return x;
}

TN_INLINE void tn_lanes_store(float *at, tn_lanes x) {
    memcpy(at, &x, sizeof x);
}

TN_INLINE tn_lanes tn_lanes_all(float x) {
    return x - (tn_lanes){0};
}

/** a where the mask is set, else b. */
TN_INLINE tn_lanes tn_lanes_select(tn_lane_mask mask, tn_lanes a, tn_lanes b) {
#if defined(__AVX2__)
    return _mm256_blendv_ps(b, a, (__m256)mask);
#else
    return (tn_lanes)((mask & (tn_lane_mask)a) | (~mask & (tn_lane_mask)b));
#endif
}

/** The smaller, the larger of two; of a NaN and b it is b. */
TN_INLINE tn_lanes tn_lanes_min(tn_lanes a, tn_lanes b) {
#if defined(__AVX2__)
    return _mm256_min_ps(a, b);
#elif defined(__SSE2__)
    return _mm_min_ps(a, b);
#else
    return tn_lanes_select(a < b, a, b);
#endif
}
TN_INLINE tn_lanes tn_lanes_max(tn_lanes a, tn_lanes b) {
#if defined(__AVX2__)
    return _mm256_max_ps(a, b);
#elif defined(__SSE2__)
    return _mm_max_ps(a, b);
#else
    return tn_lanes_select(a > b, a, b);
#endif
}

/** x cut to 0 .. top (< 2^22) and rounded to even, less `origin` (an integer from 0 to top); a NaN gives 0. */
TN_INLINE tn_lanes tn_lanes_nearest_from(tn_lanes x, float top, tn_lanes origin) {
    x = tn_lanes_min(tn_lanes_max(x, tn_lanes_all(0)), tn_lanes_all(top));
    return x + 0x1.8p23f - (origin + 0x1.8p23f);
}
TN_INLINE tn_lanes tn_lanes_nearest(tn_lanes x, float top) {
    return tn_lanes_nearest_from(x, top, (tn_lanes){0});
}

/** a / b, or 0 where b is not above 2^-100: what such a scale could reach, no code needs. */
TN_INLINE tn_lanes tn_lanes_ratio(tn_lanes a, tn_lanes b) {
    return tn_lanes_select(b > tn_lanes_all(0x1p-100f), a / b, tn_lanes_all(0));
}

/** x >= 0 rounded as tn_half_not_short() does. */
TN_INLINE tn_lanes tn_lanes_half(tn_lanes x) {
    tn_lane_mask bits = (tn_lane_mask)x;
    tn_lanes fine = (tn_lanes)((bits + 0xfff + (bits >> 13 & 1)) & ~0x1fff), coarse = x + 0.5f - 0.5f;
    coarse += tn_lanes_select(coarse < x, tn_lanes_all(0x1p-24f), tn_lanes_all(0));
    fine = tn_lanes_select(fine < 0x1p16f, fine, tn_lanes_all(INFINITY));
    return tn_lanes_select(x < 0x1p-14f, coarse, fine);
}

#endif
