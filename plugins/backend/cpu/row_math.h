/*
 * row_math.h - exp, tanh, sigmoid and the activations of one number, as straight lines of float32 steps.
 *
 * No branch and no table: a loop over a row becomes a loop over vectors, and every instruction set rounds at
 * the same places, so all give the same bits. Fused steps are written as fma; nothing else is fused
 * (-ffp-contract=off). NaN stays NaN.
 */
#ifndef TENON_CPU_ROW_MATH_H
#define TENON_CPU_ROW_MATH_H

#include <stdint.h>
#include <string.h>

static inline uint32_t bits_of(float x) {
    uint32_t u;
    memcpy(&u, &x, sizeof u);
    return u;
}

static inline float float_of(uint32_t u) {
    float x;
    memcpy(&x, &u, sizeof x);
    return x;
}

/* product + c rounded to odd instead of to nearest: where the sum is inexact and even, the neighbour on
 * the side of the error. Rounding that to float is as rounding once, as double has more than two bits to
 * spare. */
static inline double add_to_odd(double product, double c) {
    double sum = product + c, part = sum - product;
    double error = (product - (sum - part)) + (c - part), outward = sum < 0.0 ? -error : error;
    int64_t bits;
    memcpy(&bits, &sum, sizeof bits);
    bits += ((outward > 0.0) - (outward < 0.0)) & -(~bits & 1);
    memcpy(&sum, &bits, sizeof sum);
    return sum;
}

/* a * b + c, rounded once. Without the instruction: the product is exact in double, and rounding the sum
 * first to double and then to float goes wrong only halfway between two floats, where add_to_odd() helps.
 * libm's fmaf would switch the rounding mode each time. */
static inline float fma_f(float a, float b, float c) {
#if defined(__FMA__) || defined(__ARM_FEATURE_FMA)
    return __builtin_fmaf(a, b, c);
#else
    double product = (double)a * (double)b, sum = product + (double)c;
    uint64_t bits;
    memcpy(&bits, &sum, sizeof bits);
    int halfway = (bits & 0x1fffffffu) == 0x10000000u || __builtin_fabs(sum) < 0x1p-126;
    return (float)(__builtin_expect(halfway, 0) ? add_to_odd(product, (double)c) : sum);
#endif
}

/* Adding it rounds |x| < 2^22 to the nearest even integer, which is then in the low bits of the sum. */
#define ROUND_MAGIC 0x1.8p23f
#define ROUND_MAGIC_BITS 0x4b400000u

/* 2^n for -126 <= n <= 127. */
static inline float power_of_two(int32_t n) {
    return float_of((uint32_t)(n + 127) << 23);
}

/* exp(x): x = n ln 2 + r, |r| <= ln 2 / 2, a polynomial of degree 7 for exp(r) (Cephes expf), times 2^n in
 * two halves so that subnormal results are right. Below -104 the result is 0, above 88.73 it is Inf. */
static inline float exp_f(float x) {
    float c = x > 89.0f ? 89.0f : x;
    c = c < -104.0f ? -104.0f : c;
    float shifted = fma_f(c, 0x1.715476p+0f, ROUND_MAGIC);
    float n = shifted - ROUND_MAGIC;
    float r = fma_f(n, -0x1.62e430p-1f, c);
    r = fma_f(n, 0x1.05c610p-29f, r);
    float p = 1.9875691500e-4f;
    p = fma_f(p, r, 1.3981999507e-3f);
    p = fma_f(p, r, 8.3334519073e-3f);
    p = fma_f(p, r, 4.1665795894e-2f);
    p = fma_f(p, r, 1.6666665459e-1f);
    p = fma_f(p, r, 5.0000001201e-1f);
    p = fma_f(p, r * r, r) + 1.0f;
    int32_t k = (int32_t)(bits_of(shifted) - ROUND_MAGIC_BITS);
    k = x != x ? 0 : k;
    int32_t half = k >> 1;
    return p * power_of_two(half) * power_of_two(k - half);
}

/* tanh(x): an odd polynomial (Cephes tanhf) near 0, 1 - 2 / (exp(2 |x|) + 1) outside. */
static inline float tanh_f(float x) {
    float a = float_of(bits_of(x) & 0x7fffffffu);
    float z = a * a;
    float p = -5.70498872745e-3f;
    p = fma_f(p, z, 2.06390887954e-2f);
    p = fma_f(p, z, -5.37397155531e-2f);
    p = fma_f(p, z, 1.33314422036e-1f);
    p = fma_f(p, z, -3.33332819422e-1f);
    float near = fma_f(p * z, a, a);
    float far = 1.0f - 2.0f / (exp_f(2.0f * a) + 1.0f);
    return float_of(bits_of(a < 0.625f ? near : far) | (bits_of(x) & 0x80000000u));
}

/* y / (1 + exp(-x)), with exp of a negative number only: small results keep their digits. */
static inline float over_logistic(float y, float x) {
    float e = exp_f(float_of(bits_of(x) | 0x80000000u));
    return y * (x < 0.0f ? e : 1.0f) / (1.0f + e);
}

/* x times the normal distribution's share below x. The share beyond a = |x| is erfc(a / sqrt 2) / 2 =
 * exp(-a^2 / 2) t P(t), t = 1 / (1 + 0.35 a / sqrt 2); P was fitted to that for a < 14, relative
 * error 2.5e-8. What the square loses by rounding counts in exp, so it is put back. Beyond 15 the share is 0.
 */
static inline float gelu_erf_f(float x) {
    float a = float_of(bits_of(x) & 0x7fffffffu);
    a = a > 15.0f ? 15.0f : a;
    float square = a * a, lost = fma_f(a, a, -square);
    float t = 1.0f / fma_f(0x1.fadaa8p-3f, a, 1.0f);
    float p = 0x1.3a9b84p-6f;
    p = fma_f(p, t, -0x1.45854cp-4f);
    p = fma_f(p, t, 0x1.73b776p-4f);
    p = fma_f(p, t, -0x1.c6d4c4p-7f);
    p = fma_f(p, t, 0x1.649e12p-5f);
    p = fma_f(p, t, 0x1.2b0b1ep-4f);
    p = fma_f(p, t, 0x1.35a5a6p-4f);
    p = fma_f(p, t, 0x1.80d1fep-4f);
    p = fma_f(p, t, 0x1.93bd64p-4f);
    p = fma_f(p, t, 0x1.94725ep-4f);
    float e = exp_f(-0.5f * square);
    float beyond = p * t * fma_f(-0.5f * lost, e, e);
    return x * (x < 0.0f ? beyond : 1.0f - beyond);
}

/* x/2 (1 + tanh u) = x / (1 + exp(-2 u)), u = sqrt(2 / pi) (x + 0.044715 x^3). */
static inline float gelu_tanh_f(float x) {
    return over_logistic(x, x * fma_f(0x1.2444f2p-4f, x * x, 0x1.988454p+0f));
}

static inline float relu_f(float x) {
    return x < 0.0f ? 0.0f : x;
}

#endif
