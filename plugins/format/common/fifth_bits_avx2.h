/*
 * fifth_bits_avx2.h - gemv and unpack with AVX2 for codes of five bits (Q5_0, Q5_1): split nibbles, and a
 * word of 32 bits with bit 4 of each code. It lies after the scale (and the minimum), the nibbles after it.
 */
#ifndef TENON_FIFTH_BITS_AVX2_H
#define TENON_FIFTH_BITS_AVX2_H

#include "simd_avx2.h"

/** Where the word of fifth bits lies in a block. */
TN_INLINE uint32_t tn_fives_at(tn_shape shape) {
    return shape.has_minimum ? 4 : 2;
}

/** 16 in each byte for which `bytes` has its bit: bit i % 8 in byte i. */
TN_INLINE __m256i tn_sixteens(__m256i bytes) {
    __m256i bit = _mm256_set1_epi64x((int64_t)0x8040201008040201u);
    return _mm256_and_si256(_mm256_cmpeq_epi8(_mm256_and_si256(bytes, bit), bit), _mm256_set1_epi8(16));
}

/** The 32 codes of a block. */
TN_INLINE __m256i tn_load_fives(const uint8_t *block, tn_shape shape) {
    const uint8_t *high = block + tn_fives_at(shape);
    __m256i each =
        _mm256_setr_epi64x(0, 0x0101010101010101, 0x0202020202020202, 0x0303030303030303); /* byte of bit i */
    __m256i bits = _mm256_shuffle_epi8(_mm256_set1_epi32(tn_load_i32(high)), each);
    return _mm256_or_si256(tn_load_nibbles(high + 4), tn_sixteens(bits));
}

/** The same of eight rows, laid out as by tn_open_nibbles8. */
TN_INLINE void tn_open_fives8(const tn_row_group *rows, tn_shape shape, __m256i *w) {
    __m256i first = _mm256_add_epi8(_mm256_setr_epi64x(0, 0x0101010101010101, 0, 0x0101010101010101),
                                    _mm256_set1_epi8((char)tn_fives_at(shape)));
    __m256i second = _mm256_add_epi8(first, _mm256_set1_epi8(2));
    tn_open_nibbles8(rows, tn_fives_at(shape) + 4, w);
    for (uint32_t j = 0; j < 4; j++) {
        __m256i bits = tn_load_both(rows, j, 0);
        w[j] = _mm256_or_si256(w[j], tn_sixteens(_mm256_shuffle_epi8(bits, first)));
        w[4 + j] = _mm256_or_si256(w[4 + j], tn_sixteens(_mm256_shuffle_epi8(bits, second)));
    }
}

/*
 * With one activation row the fifth bits are not put to their nibbles. Row r's word of them stays in lane r,
 * where bit s of the word's four bytes belongs to columns s, 8 + s, 16 + s, 24 + s: one AND makes numbers of
 * them to multiply with, and nothing has to gather the products of a row.
 */

/** The heads of eight blocks, row r in lane r. The fifth bits of Q5_0 come with the halves of a word swapped:
 * they lie across two words. */
typedef struct tn_fives_heads {
    __m256 scale, minimum;
    __m256i bits;
} tn_fives_heads;

TN_INLINE tn_fives_heads tn_fives_open(const tn_row_group *rows, tn_shape shape) {
    __m256i h[4];
    tn_fives_heads heads;
    for (uint32_t j = 0; j < 4; j++) { h[j] = tn_load_both(rows, j, 0); }
    __m256i a = _mm256_unpacklo_epi32(h[0], h[1]), b = _mm256_unpacklo_epi32(h[2], h[3]);
    __m256i first = _mm256_unpacklo_epi64(a, b), second = _mm256_unpackhi_epi64(a, b);
    tn_split_halves(first, &heads.scale, &heads.minimum);
    heads.bits = shape.has_minimum ? second : _mm256_blend_epi16(first, second, 0x55);
    return heads;
}

/** Activation codes in the order of the bits: four for bit s in word s. */
TN_INLINE __m256i tn_fives_order(__m256i codes, tn_shape shape) {
    __m256i from = _mm256_setr_epi32(0x0c080400, 0x0d090501, 0x0e0a0602, 0x0f0b0703, 0x0c080400, 0x0d090501,
                                     0x0e0a0602, 0x0f0b0703);
    if (!shape.has_minimum) { from = _mm256_xor_si256(from, _mm256_set1_epi8(8)); }
    codes = _mm256_permutevar8x32_epi32(codes, _mm256_setr_epi32(0, 2, 4, 6, 1, 3, 5, 7));
    return _mm256_shuffle_epi8(codes, from);
}

/** The products of 16 * bit with activation codes in that order; without minimums (codes less 16) those of
 * 16 * (1 - bit). The bits stay in their places p, that is times 1 << p. */
TN_INLINE __m256i tn_fives_dot_bits(__m256i bits, const int32_t *codes, tn_shape shape) {
    __m256i upper = _mm256_srli_epi16(bits, 4), sum = _mm256_setzero_si256();
    for (uint32_t p = 0; p < 4; p++) {
        __m256i mask = _mm256_set1_epi8((char)(1 << p));
        __m256i a = shape.has_minimum ? _mm256_and_si256(bits, mask) : _mm256_andnot_si256(bits, mask);
        __m256i b = shape.has_minimum ? _mm256_and_si256(upper, mask) : _mm256_andnot_si256(upper, mask);
        a = _mm256_maddubs_epi16(a, _mm256_set1_epi32(codes[p]));
        b = _mm256_maddubs_epi16(b, _mm256_set1_epi32(codes[4 + p]));
        a = _mm256_madd_epi16(_mm256_add_epi16(a, b), _mm256_set1_epi16((int16_t)(16 >> p)));
        sum = _mm256_add_epi32(sum, a);
    }
    return sum;
}

/** gemv with one activation row. */
TN_INLINE void tn_fives_gemv_one(const tn_gemv *call, tn_shape shape) {
    const tn_act *act = call->act;
    for (uint64_t r = 0; r < call->rows; r += 8) {
        const uint8_t *first = (const uint8_t *)call->blocks + r * call->row_stride;
        const uint8_t *next = tn_ahead(first, 8 * call->row_stride);
        const int8_t *x = (const int8_t *)act->data + call->act_from * act->stride;
        const float *x_scales = act->scales + call->act_from * act->scale_stride;
        const int16_t *sums = act->sums + call->act_from * act->sum_stride;
        tn_row_group rows = tn_group_rows(first, call->row_stride, call->rows - r, 2);
        __m256 acc = _mm256_setzero_ps();
        for (uint64_t b = 0; b < call->cols / 32; b++) {
            __m256i ordered = tn_fives_order(_mm256_loadu_si256((const void *)(x + 32 * b)), shape), w[8];
            int32_t codes[8];
            _mm256_storeu_si256((void *)codes, ordered);
            __asm__("" : "+m"(codes)); /* broadcast them from memory, which is free; not from a register */
            tn_fives_heads heads = tn_fives_open(&rows, shape);
            tn_open_nibbles8(&rows, tn_fives_at(shape) + 4, w);
            tn_prefetch(next, 8 * shape.bytes);
            next += 8 * shape.bytes;
            __m256i sum = tn_dot_pairs8(w, x + 32 * b, 0);
            __m256i bits = tn_fives_dot_bits(heads.bits, codes, shape);
            sum = shape.has_minimum ? _mm256_add_epi32(sum, bits) : _mm256_sub_epi32(sum, bits);
            __m256 x_scale = _mm256_set1_ps(x_scales[b]);
            acc = _mm256_fmadd_ps(_mm256_cvtepi32_ps(sum), _mm256_mul_ps(heads.scale, x_scale), acc);
            if (shape.has_minimum) {
                __m256 x_sum = _mm256_set1_ps((float)(sums[2 * b] + sums[2 * b + 1]));
                acc = _mm256_fmadd_ps(x_sum, _mm256_mul_ps(heads.minimum, x_scale), acc);
            }
            tn_advance(&rows, shape.bytes, 2);
        }
        tn_store8(call->out + r, &rows, call->rows - r, acc);
    }
}

#endif
