/* iq_encode_quad.h - vectors of four floats: what every machine has, so that all machines write the same files. */
#ifndef TENON_IQ_ENCODE_QUAD_H
#define TENON_IQ_ENCODE_QUAD_H

#include "format_plugin.h"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

typedef float tn_quad __attribute__((vector_size(16)));
typedef int32_t tn_quad_mask __attribute__((vector_size(16))); /* what a comparison gives */

TN_INLINE tn_quad tn_quad_load(const float *at) {
    tn_quad x;
    memcpy(&x, at, sizeof x);
    return x;
}

TN_INLINE tn_quad tn_quad_all(float x) {
    return (tn_quad){x, x, x, x};
}

/** a where the mask is set, else b. */
TN_INLINE tn_quad tn_quad_select(tn_quad_mask mask, tn_quad a, tn_quad b) {
    return (tn_quad)((mask & (tn_quad_mask)a) | (~mask & (tn_quad_mask)b));
}

TN_INLINE tn_quad tn_quad_max(tn_quad a, tn_quad b) {
#if defined(__SSE2__)
    return (tn_quad)_mm_max_ps((__m128)a, (__m128)b);
#else
    return tn_quad_select(a > b, a, b);
#endif
}

TN_INLINE tn_quad tn_quad_min(tn_quad a, tn_quad b) {
#if defined(__SSE2__)
    return (tn_quad)_mm_min_ps((__m128)a, (__m128)b);
#else
    return tn_quad_select(a < b, a, b);
#endif
}

/** One bit a lane, the first lowest. */
TN_INLINE uint32_t tn_quad_bits(tn_quad_mask mask) {
#if defined(__SSE2__)
    return (uint32_t)_mm_movemask_ps((__m128)mask);
#else
    return (uint32_t)((mask[0] & 1) | (mask[1] & 2) | (mask[2] & 4) | (mask[3] & 8));
#endif
}

TN_INLINE float tn_quad_sum(tn_quad x) {
    return x[0] + x[1] + (x[2] + x[3]);
}

#endif
