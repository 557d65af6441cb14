/*
 * row_ops.h - the functions of a kernel table that work on rows, written once.
 *
 * Each kernels_*.c includes this file and is compiled for its own instruction set. The loops are plain, so
 * that the compiler makes vectors of whatever width it has; the results do not depend on the width, because
 * elementwise steps are the same for every element and sums run in sixteen lanes (element i in lane i mod
 * 16), folded 8, 4, 2, 1. Sums that only ever serve a mean are double.
 */
#ifndef TENON_CPU_ROW_OPS_H
#define TENON_CPU_ROW_OPS_H

#include "kernels.h"
#include "row_math.h"

#include <math.h>
#include <stddef.h>
#include <string.h>
#ifdef __AVX2__
#include <immintrin.h>
#endif

/* Before a loop whose outputs may lie on its inputs, element on element, and in no other way. */
#ifdef __clang__
#define ELEMENTWISE _Pragma("clang loop vectorize(assume_safety)")
#else
#define ELEMENTWISE _Pragma("GCC ivdep")
#endif

enum { LANES = 16 };

static inline float fold(float lanes[LANES]) {
    for (int width = LANES / 2; width > 0; width /= 2)
        for (int i = 0; i < width; i++) lanes[i] += lanes[i + width];
    return lanes[0];
}

static inline double fold_double(double lanes[LANES]) {
    for (int width = LANES / 2; width > 0; width /= 2)
        for (int i = 0; i < width; i++) lanes[i] += lanes[i + width];
    return lanes[0];
}

/* ---- rows to codes */

/* The bits of the largest magnitude of `count` numbers; NaN and Inf are larger than every number. */
static inline uint32_t top_magnitude(const float *x, int count) {
    int32_t top = 0;
    for (int i = 0; i < count; i++) {
        int32_t magnitude = (int32_t)(bits_of(x[i]) & 0x7fffffffu);
        top = magnitude > top ? magnitude : top;
    }
    return (uint32_t)top;
}

/* Sixteen codes round(x * factor) and their sum. */
static inline int16_t encode16(const float *x, float factor, int8_t *codes) {
#if defined(__AVX2__)
    __m256 f = _mm256_set1_ps(factor);
    __m256i low = _mm256_cvtps_epi32(_mm256_mul_ps(_mm256_loadu_ps(x), f));
    __m256i high = _mm256_cvtps_epi32(_mm256_mul_ps(_mm256_loadu_ps(x + 8), f));
    __m256i words = _mm256_permute4x64_epi64(_mm256_packs_epi32(low, high), 0xd8);
    __m128i bytes = _mm_packs_epi16(_mm256_castsi256_si128(words), _mm256_extracti128_si256(words, 1));
    _mm_storeu_si128((__m128i *)(void *)codes, bytes);
    /* the sum of sixteen signed bytes is that of the bytes + 128, less 2048 */
    __m128i sums = _mm_sad_epu8(_mm_xor_si128(bytes, _mm_set1_epi8((char)0x80)), _mm_setzero_si128());
    return (int16_t)(_mm_cvtsi128_si32(sums) + _mm_extract_epi16(sums, 4) - 2048);
#else
    int32_t sum = 0;
    for (int i = 0; i < 16; i++) {
        int32_t code = (int32_t)(bits_of(x[i] * factor + ROUND_MAGIC) - ROUND_MAGIC_BITS);
        codes[i] = (int8_t)code;
        sum += code;
    }
    return (int16_t)sum;
#endif
}

/* A group, by the words of format.h; count is a multiple of 32. Returns its scale. */
static inline float quantise_group(const float *x, int count, int8_t *codes, int16_t *sums) {
    uint32_t top = top_magnitude(x, count);
    if (top < bits_of(0x1p-100f) || top >= bits_of(INFINITY)) {
        memset(codes, 0, (size_t)count);
        memset(sums, 0, (size_t)count / 16 * sizeof *sums);
        return top < bits_of(INFINITY) ? 0.0f : NAN;
    }
    float factor = 127.0f / float_of(top);
    for (int i = 0; i < count; i += 16) sums[i / 16] = encode16(x + i, factor, codes + i);
    return float_of(top) / 127.0f;
}

static void row_quantise_i8x32(const float *x, uint64_t cols, int8_t *codes, float *scales, int16_t *sums) {
    for (uint64_t c = 0; c < cols; c += 32)
        scales[c / 32] = quantise_group(x + c, 32, codes + c, sums + c / 16);
}

static void row_quantise_i8x256(const float *x, uint64_t cols, int8_t *codes, float *scales, int16_t *sums) {
    for (uint64_t c = 0; c < cols; c += 256)
        scales[c / 256] = quantise_group(x + c, 256, codes + c, sums + c / 16);
}

/* ---- norms */

/* The sum of (x - centre)^2. */
static inline double sum_of_squares(const float *x, uint64_t n, double centre) {
    double lanes[LANES] = {0};
    uint64_t i = 0;
    for (; i + LANES <= n; i += LANES)
        for (int l = 0; l < LANES; l++) {
            double d = (double)x[i + l] - centre;
            lanes[l] += d * d;
        }
    for (int l = 0; i < n; i++, l++) {
        double d = (double)x[i] - centre;
        lanes[l] += d * d;
    }
    return fold_double(lanes);
}

static inline double sum_of(const float *x, uint64_t n) {
    double lanes[LANES] = {0};
    uint64_t i = 0;
    for (; i + LANES <= n; i += LANES)
        for (int l = 0; l < LANES; l++) lanes[l] += (double)x[i + l];
    for (int l = 0; i < n; i++, l++) lanes[l] += (double)x[i];
    return fold_double(lanes);
}

/* out = (x - centre) * factor, then * w, then + b. */
static inline void normalise(const float *x, double centre, float factor, const float *w, const float *b,
                             uint64_t n, float *out) {
    if (w && b) {
        ELEMENTWISE
        for (uint64_t i = 0; i < n; i++) out[i] = (float)((double)x[i] - centre) * factor * w[i] + b[i];
    } else if (w) {
        ELEMENTWISE
        for (uint64_t i = 0; i < n; i++) out[i] = (float)((double)x[i] - centre) * factor * w[i];
    } else if (b) {
        ELEMENTWISE
        for (uint64_t i = 0; i < n; i++) out[i] = (float)((double)x[i] - centre) * factor + b[i];
    } else {
        ELEMENTWISE
        for (uint64_t i = 0; i < n; i++) out[i] = (float)((double)x[i] - centre) * factor;
    }
}

static inline float inverse_deviation(double squares, uint64_t n, float eps) {
    return (float)(1.0 / sqrt(squares / (double)n + (double)eps));
}

static void row_norm_rms(const float *x, const float *w, const float *b, uint64_t n, float eps, float *out) {
    normalise(x, 0.0, inverse_deviation(sum_of_squares(x, n, 0.0), n, eps), w, b, n, out);
}

static void row_norm_layer(const float *x, const float *w, const float *b, uint64_t n, float eps,
                           float *out) {
    double mean = sum_of(x, n) / (double)n;
    normalise(x, mean, inverse_deviation(sum_of_squares(x, n, mean), n, eps), w, b, n, out);
}

/* ---- elementwise */

static void row_add(const float *a, const float *b, uint64_t n, float *out) {
    ELEMENTWISE
    for (uint64_t i = 0; i < n; i++) out[i] = a[i] + b[i];
}

static void row_mul(const float *a, const float *b, uint64_t n, float *out) {
    ELEMENTWISE
    for (uint64_t i = 0; i < n; i++) out[i] = a[i] * b[i];
}

static void row_scale(const float *x, float factor, uint64_t n, float *out) {
    ELEMENTWISE
    for (uint64_t i = 0; i < n; i++) out[i] = x[i] * factor;
}

static void row_softcap(const float *x, float cap, uint64_t n, float *out) {
    ELEMENTWISE
    for (uint64_t i = 0; i < n; i++) out[i] = cap * tanh_f(x[i] / cap);
}

static void row_clamp(const float *x, float limit, uint64_t n, float *out) {
    ELEMENTWISE
    for (uint64_t i = 0; i < n; i++) out[i] = x[i] < -limit ? -limit : x[i] > limit ? limit : x[i];
}

/* The activations: X(TN_ACT_*, its value of v). */
#define ACTIVATIONS(X)                                                                                       \
    X(TN_ACT_SILU, over_logistic(v, alpha *v))                                                               \
    X(TN_ACT_GELU_ERF, gelu_erf_f(v))                                                                        \
    X(TN_ACT_GELU_TANH, gelu_tanh_f(v))                                                                      \
    X(TN_ACT_RELU, relu_f(v))                                                                                \
    X(TN_ACT_RELU2, relu_f(v) * relu_f(v))                                                                   \
    X(TN_ACT_TANH, tanh_f(v))                                                                                \
    X(TN_ACT_SIGMOID, over_logistic(1.0f, v))

static void row_act(uint32_t act, float alpha, const float *x, uint64_t n, float *out) {
    switch (act) {
#define ACT_LOOP(which, value)                                                                               \
    case which:                                                                                              \
        ELEMENTWISE                                                                                          \
        for (uint64_t i = 0; i < n; i++) {                                                                   \
            float v = x[i];                                                                                  \
            out[i] = value;                                                                                  \
        }                                                                                                    \
        break;
        ACTIVATIONS(ACT_LOOP)
#undef ACT_LOOP
    }
}

/* limit is Inf where there is none. */
static inline float glu_other(float u, float limit, float offset) {
    float c = u > limit ? limit : u;
    return (c < -limit ? -limit : c) + offset;
}

static void row_glu(uint32_t act, float alpha, float limit, float offset, const float *g, const float *u,
                    uint64_t n, float *out) {
    float bound = limit > 0.0f ? limit : INFINITY;
    switch (act) {
#define GLU_LOOP(which, value)                                                                               \
    case which:                                                                                              \
        ELEMENTWISE                                                                                          \
        for (uint64_t i = 0; i < n; i++) {                                                                   \
            float v = g[i] > bound ? bound : g[i];                                                           \
            out[i] = (value)*glu_other(u[i], bound, offset);                                                 \
        }                                                                                                    \
        break;
        ACTIVATIONS(GLU_LOOP)
#undef GLU_LOOP
    }
}

/* (a, b) -> (a cos - b sin, a sin + b cos); pair p lies at p * step and p * step + distance. */
static inline void rotate(float *x, uint32_t pairs, uint32_t step, uint32_t distance, const float *cosine,
                          const float *sine) {
    ELEMENTWISE
    for (uint32_t p = 0; p < pairs; p++) {
        float a = x[(uint64_t)p * step], b = x[(uint64_t)p * step + distance];
        x[(uint64_t)p * step] = fma_f(a, cosine[p], -(b * sine[p]));
        x[(uint64_t)p * step + distance] = fma_f(a, sine[p], b * cosine[p]);
    }
}

static void row_rope(float *x, uint32_t heads, uint32_t head_dim, uint32_t rotated, uint32_t pairing,
                     const float *cosine, const float *sine) {
    uint32_t pairs = rotated / 2;
    for (uint32_t h = 0; h < heads; h++, x += head_dim) {
        if (pairing == TN_PAIR_ADJACENT)
            rotate(x, pairs, 2, 1, cosine, sine);
        else
            rotate(x, pairs, 1, pairs, cosine, sine);
    }
}

/* ---- pieces of attention */

/* Bits of floats in the order of the numbers, and back. */
static inline int32_t ordered(int32_t bits) {
    return bits ^ ((bits >> 31) & INT32_MAX);
}

/* By the bits, because the maximum of integers is one whatever the order in which it is taken. */
static float row_max(const float *x, uint64_t n) {
    int32_t most = INT32_MIN, magnitude = 0;
    for (uint64_t i = 0; i < n; i++) {
        int32_t bits = (int32_t)bits_of(x[i]), key = ordered(bits), size = bits & INT32_MAX;
        most = key > most ? key : most;
        magnitude = size > magnitude ? size : magnitude;
    }
    return magnitude > (int32_t)bits_of(INFINITY) ? NAN : float_of((uint32_t)ordered(most));
}

static float row_exp_sum(const float *x, float max, uint64_t n, float *out) {
    ELEMENTWISE
    for (uint64_t i = 0; i < n; i++) out[i] = exp_f(x[i] - max);
    float lanes[LANES] = {0};
    uint64_t i = 0;
    for (; i + LANES <= n; i += LANES)
        for (int l = 0; l < LANES; l++) lanes[l] += out[i + l];
    for (int l = 0; i < n; i++, l++) lanes[l] += out[i];
    return fold(lanes);
}

static void row_merge(float *acc, float acc_factor, const float *x, float x_factor, uint64_t n) {
    ELEMENTWISE
    for (uint64_t i = 0; i < n; i++) acc[i] = fma_f(x[i], x_factor, acc[i] * acc_factor);
}

/* The entries of a table that this file has. */
#define ROW_OPS                                                                                              \
    .quantise_i8x32 = row_quantise_i8x32, .quantise_i8x256 = row_quantise_i8x256, .norm_rms = row_norm_rms,  \
    .norm_layer = row_norm_layer, .add = row_add, .mul = row_mul, .scale = row_scale,                        \
    .softcap = row_softcap, .clamp = row_clamp, .act = row_act, .glu = row_glu, .rope = row_rope,            \
    .max = row_max, .exp_sum = row_exp_sum, .merge = row_merge

#endif
