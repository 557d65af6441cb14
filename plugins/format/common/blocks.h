/*
 * blocks.h - what the quantised types share outside of their kernels: blocks to floats, and the search for
 * scales when encoding.
 */
#ifndef TENON_FORMAT_BLOCKS_H
#define TENON_FORMAT_BLOCKS_H

#include "format_plugin.h"

/** The most columns of a block. */
#define TN_BLOCK_MAX 256

/** A quantised type: elements and bytes of a block, columns of a scale, and whether it has minimums. */
typedef struct tn_shape {
    uint32_t block, bytes, group, has_minimum;
} tn_shape;

/** Takes one block apart: w = scales[i / group] * codes[i] (+ minimums[i / group] where there are any). */
typedef void tn_block_open(const uint8_t *block, int8_t *codes, float *scales, float *minimums);

/** Eight bits to eight bytes of 0 or 1, the lowest first. */
static inline uint64_t tn_bytes_of_bits(uint8_t bits) {
    uint64_t each = bits * 0x0101010101010101u & 0x8040201008040201u; /* bit i alone in byte i */
    return (each + 0x7f7f7f7f7f7f7f7fu) >> 7 & 0x0101010101010101u;
}

TN_INLINE void tn_decode_blocks(const void *blocks, uint64_t count, float *out, tn_shape shape,
                                tn_block_open *open) {
    const uint8_t *block = blocks;
    for (uint64_t at = 0; at < count; at += shape.block, block += shape.bytes, out += shape.block) {
        int8_t codes[TN_BLOCK_MAX];
        float scales[TN_BLOCK_MAX / 16], minimums[TN_BLOCK_MAX / 16];
        open(block, codes, scales, minimums);
        for (uint32_t i = 0; i < shape.block; i++) {
            float w = scales[i / shape.group] * codes[i];
            out[i] = shape.has_minimum ? w + minimums[i / shape.group] : w;
        }
    }
}

/** The first of `count` blocks of `bytes` bytes whose binary16 at `offset` is not finite, or `count`. */
static inline uint64_t tn_find_bad_half(const void *blocks, uint64_t count, uint32_t bytes, uint32_t offset) {
    const uint8_t *at = (const uint8_t *)blocks + offset;
    uint64_t i = 0;
    while (i < count && tn_half_is_finite(at + i * bytes)) { i++; }
    return i;
}

/** The number of largest magnitude, with its sign. */
static inline float tn_largest(const float *x, uint32_t count) {
    float largest = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (fabsf(x[i]) > fabsf(largest)) { largest = x[i]; }
    }
    return largest;
}

/** The largest magnitude of `count` finite numbers: as integers, so that it is compiled to vectors. */
static inline float tn_size(const float *x, uint32_t count) {
    int32_t most = 0;
    for (uint32_t i = 0; i < count; i++) {
        int32_t size = (int32_t)(tn_bits_of_float(x[i]) & 0x7fffffff);
        most = size > most ? size : most;
    }
    return tn_float_of_bits((uint32_t)most);
}

/** What `check` answers, if the first bad block of `count` is `first`. */
static inline int32_t tn_check_result(uint64_t first, uint64_t count, uint64_t *bad) {
    if (first == count) { return TN_OK; }
    *bad = first;
    return TN_E_FILE_DAMAGED;
}

/** Encodes one block; 0: it needs a scale beyond binary16. `importance`: the block's columns, or NULL. */
typedef int tn_block_encode(const float *x, const float *importance, uint8_t *block);

/** Rows to blocks, as `encode` of tenon/format.h. */
TN_INLINE int32_t tn_encode_blocks(const float *x, uint64_t rows, uint64_t cols, const float *importance,
                                   void *blocks, tn_error *err, tn_shape shape, tn_block_encode *encode) {
    uint8_t *block = blocks;
    TN_TRY(tn_encode_check(x, rows, cols, importance, err));
    for (uint64_t r = 0; r < rows; r++) {
        for (uint64_t c = 0; c < cols; c += shape.block, x += shape.block, block += shape.bytes) {
            if (!encode(x, importance ? importance + c : NULL, block)) {
                return tn_encode_overflow(r, c, tn_largest(x, shape.block), err);
            }
        }
    }
    return TN_OK;
}

/** The weights of `count` columns in the error of a block: their importance, or 1 where none has any. */
static inline void tn_block_weights(const float *importance, uint32_t count, float *weights) {
    float most = importance ? tn_size(importance, count) : 0;
    for (uint32_t i = 0; i < count; i++) { weights[i] = most > 0 ? importance[i] / most : 1; }
}

/** 1 / scale, or 0 where that is not finite: then all codes are 0. */
static inline float tn_inverse(float scale) {
    float inverse = 1 / scale;
    return isfinite(inverse) ? inverse : 0;
}

/** `x` cut to low .. high and rounded to even; it need not fit any integer, and a NaN (0 * infinity) gives
 * low. */
static inline float tn_nearest(float x, float low, float high) {
    float cut = x > low ? x : low;
    cut = cut < high ? cut : high;
    return cut + 0x1.8p23f - 0x1.8p23f; /* the sum has no place for a fraction, and rounds it off */
}

/** The most numbers that share a scale and are searched together. */
#define TN_SEARCH_MAX 32

/** The sum of `count` terms, a power of two; folded in place, so that the compiler can vectorise it. */
static inline float tn_fold(float *terms, uint32_t count) {
    for (uint32_t half = count / 2; half >= 4; half /= 2) {
        for (uint32_t i = 0; i < half; i++) { terms[i] += terms[half + i]; }
    }
    return terms[0] + terms[2] + (terms[1] + terms[3]);
}

/**

 * The binary16 nearest to `value` >= 0; where they are coarse, below 2^-14, never less: so no code is cut.
 */
static inline uint16_t tn_half_not_short(float value) {
    uint16_t half = tn_half_of_float(value);
    return (uint16_t)(half + (half < 0x400 && tn_float_of_half(half) < value));
}

/**
 * The binary16 nearest to `value` and its neighbours, as floats: where they are coarse, the nearest is not
 * always best. Beyond the largest one all three are infinite.
 */
static inline void tn_half_neighbours(float value, float *three) {
    uint16_t half = tn_half_of_float(value), size = half & 0x7fff;
    three[0] = tn_float_of_half(half);
    three[1] = size > 0 && size < 0x7c00 ? tn_float_of_half((uint16_t)(half - 1)) : three[0];
    three[2] = size < 0x7bff ? tn_float_of_half((uint16_t)(half + 1)) : three[0];
}

/** Nearest codes for the given scale, and their weighted squared error relative to `unit`. */
static inline float tn_codes_for_scale(const float *x, const float *weights, uint32_t count, float low,
                                       float high, float scale, float unit, int8_t *codes) {
    float inverse = tn_inverse(scale), error[TN_SEARCH_MAX];
    for (uint32_t i = 0; i < count; i++) {
        float q = tn_nearest(x[i] * inverse, low, high), miss = (x[i] - scale * q) * unit;
        codes[i] = (int8_t)q;
        error[i] = weights[i] * (miss * miss);
    }
    return tn_fold(error, count);
}

#endif
