/*
 * half.h - binary16 and bfloat16 to binary32 and back, exactly and portably, and unaligned little-endian
 * loads.
 *
 * Narrowing rounds to nearest even, keeps subnormals, goes to infinity beyond the largest number and keeps a
 * NaN's upper payload, made quiet: what F16C does in hardware.
 */
#ifndef TENON_FORMAT_HALF_H
#define TENON_FORMAT_HALF_H

#include <stdint.h>
#include <string.h>

static inline uint16_t tn_load_u16(const void *at) {
    uint16_t value;
    memcpy(&value, at, sizeof value);
    return value;
}

static inline int32_t tn_load_i32(const void *at) {
    int32_t value;
    memcpy(&value, at, sizeof value);
    return value;
}

static inline float tn_load_float(const void *at) {
    float value;
    memcpy(&value, at, sizeof value);
    return value;
}

static inline float tn_float_of_bits(uint32_t bits) {
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static inline uint32_t tn_bits_of_float(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static inline float tn_float_of_half(uint16_t half) {
    uint32_t sign = (uint32_t)(half & 0x8000) << 16, exponent = half >> 10 & 31, mantissa = half & 0x3ff;
    if (exponent == 31) {
        return tn_float_of_bits(sign | 0x7f800000 | mantissa << 13 | (mantissa ? 0x400000 : 0));
    }
    if (exponent == 0) { return tn_float_of_bits(sign | tn_bits_of_float((float)mantissa * 0x1p-24f)); }
    return tn_float_of_bits(sign | (exponent + 112) << 23 | mantissa << 13);
}

static inline uint16_t tn_half_of_float(float value) {
    uint32_t bits = tn_bits_of_float(value), sign = bits >> 16 & 0x8000, size = bits & 0x7fffffff;
    if (size > 0x7f800000) { return (uint16_t)(sign | 0x7e00 | (size >> 13 & 0x3ff)); }
    if (size >= 0x477ff000) { return (uint16_t)(sign | 0x7c00); } /* from 65520 on */
    if (size < 0x38800000) { /* below 2^-14; the last place of 0.5 .. 1 is that of binary16's subnormals */
        return (uint16_t)(sign | (tn_bits_of_float(tn_float_of_bits(size) + 0.5f) - 0x3f000000));
    }
    return (uint16_t)(sign | (size + 0xfff + (size >> 13 & 1) - 0x38000000) >> 13);
}

static inline float tn_load_half(const void *at) {
    return tn_float_of_half(tn_load_u16(at));
}

static inline void tn_store_half(void *at, float value) {
    uint16_t half = tn_half_of_float(value);
    memcpy(at, &half, sizeof half);
}

static inline int tn_half_is_finite(const void *at) {
    return (tn_load_u16(at) & 0x7c00) != 0x7c00;
}

/** The largest finite binary16. */
#define TN_HALF_MAX 65504.0f

static inline float tn_float_of_bfloat(uint16_t bfloat) {
    return tn_float_of_bits((uint32_t)bfloat << 16);
}

static inline uint16_t tn_bfloat_of_float(float value) {
    uint32_t bits = tn_bits_of_float(value);
    if ((bits & 0x7fffffff) > 0x7f800000) { return (uint16_t)(bits >> 16 | 0x40); }
    return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

#endif
