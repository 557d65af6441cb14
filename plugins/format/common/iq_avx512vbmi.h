/*
 * iq_avx512vbmi.h - codes of IQ2 and IQ3 blocks by permutations of bytes: 64 indices are looked up at once
 * in the codebook as it is in levels packed in bytes, signs are put beside the levels, and further
 * permutations turn both into codes. Byte t of vector k: column 4 t + k, so that lanes are groups of 16, in
 * order.
 */
#ifndef TENON_IQ_AVX512VBMI_H
#define TENON_IQ_AVX512VBMI_H

#include "iq_avx512.h"

/** Bytes 0, step, 2 * step ... and, in the other half, as many from `second` on. */
TN_INLINE __m512i tn_count_bytes(uint32_t step, uint32_t second) {
    __m256i count = _mm256_setr_epi8(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20,
                                     21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31);
    count = _mm256_slli_epi16(count, step == 4 ? 2 : step == 2 ? 1 : 0);
    __m256i other = _mm256_add_epi8(count, _mm256_set1_epi8((char)second));
    return _mm512_inserti64x4(_mm512_castsi256_si512(count), other, 1);
}

TN_INLINE void tn_iq_order_fours(const __m512i *from, __m512i *to) {
    for (uint32_t k = 0; k < 4; k += 2) {
        __m512i index = _mm512_add_epi8(tn_count_bytes(4, 1), _mm512_set1_epi8((char)k));
        __m512i a = _mm512_permutex2var_epi8(from[0], index, from[1]);
        __m512i b = _mm512_permutex2var_epi8(from[2], index, from[3]);
        to[k] = _mm512_shuffle_i64x2(a, b, 0x44);
        to[k + 1] = _mm512_shuffle_i64x2(a, b, 0xee);
    }
}

TN_INLINE void tn_iq_restore_fours(const __m512i *from, __m512i *to) {
    __m512i a = _mm512_unpacklo_epi8(from[0], from[1]), b = _mm512_unpacklo_epi8(from[2], from[3]);
    __m512i c = _mm512_unpackhi_epi8(from[0], from[1]), d = _mm512_unpackhi_epi8(from[2], from[3]);
    __m512i fours[4] = {_mm512_unpacklo_epi16(a, b), _mm512_unpackhi_epi16(a, b), _mm512_unpacklo_epi16(c, d),
                        _mm512_unpackhi_epi16(c, d)};
    tn_transpose_quarters(fours, to);
}

/* 64 bytes looked up in tables of 256, 512 and 1024; high[i] has bits 7 + i of the indices. */
TN_INLINE __m512i tn_look_up_256(const uint8_t *table, __m512i index, const __mmask64 *high) {
    __m512i a = _mm512_permutex2var_epi8(_mm512_load_si512(table), index, _mm512_load_si512(table + 64));
    __m512i b =
        _mm512_permutex2var_epi8(_mm512_load_si512(table + 128), index, _mm512_load_si512(table + 192));
    return _mm512_mask_blend_epi8(high[0], a, b);
}
TN_INLINE __m512i tn_look_up_512(const uint8_t *table, __m512i index, const __mmask64 *high) {
    return _mm512_mask_blend_epi8(high[1], tn_look_up_256(table, index, high),
                                  tn_look_up_256(table + 256, index, high));
}
TN_INLINE __m512i tn_look_up_1024(const uint8_t *table, __m512i index, const __mmask64 *high) {
    return _mm512_mask_blend_epi8(high[2], tn_look_up_512(table, index, high),
                                  tn_look_up_512(table + 512, index, high));
}

/* Signs: 32 bits for each 32 columns, in the low halves of quadwords; what is above them is not looked at. */

/** Of 7-bit codes, `step` bits apart from bit `first` of each quadword on. */
TN_INLINE __m512i tn_iq_signs_of_codes(__m512i quadwords, uint32_t first, uint32_t step) {
    uint64_t shifts = first | (first + step) << 8 | (first + 2 * step) << 16 | (first + 3 * step) << 24;
    __m512i codes = _mm512_multishift_epi64_epi8(_mm512_set1_epi64((long long)shifts), quadwords);
    return _mm512_permutex2var_epi8(_mm512_load_si512(tn_iq_signs), codes,
                                    _mm512_load_si512(tn_iq_signs + 64));
}

/* The two sign bits of columns 4 t + column and 4 t + column + 1 in bits `bit` and bit + 1 of byte t. */
TN_INLINE __m512i tn_iq_spread_signs(__m512i signs, uint32_t column, uint32_t bit) {
    uint64_t shifts = 0x1c1814100c080400; /* 4 t; and of a shift 6 bits count */
    shifts += 0x0101010101010101 * (64 + column - bit);
    return _mm512_multishift_epi64_epi8(_mm512_set1_epi64((long long)shifts), signs);
}

/* The bits of `one` where `mask` has them, else those of `other`. */
TN_INLINE __m512i tn_select_bits(uint8_t mask, __m512i one, __m512i other) {
    return _mm512_ternarylogic_epi64(_mm512_set1_epi8((char)mask), one, other, 0xca);
}

/**
 * Codes plus 64 of two IQ2 blocks: the levels of the first four and of the second four columns of their 64
 * entries, and their signs.
 */
TN_INLINE void tn_iq2_open_levels(__m512i first, __m512i second, __m512i signs_a, __m512i signs_b,
                                  __m512i *w) {
    /* A byte of two levels and two signs above them to the first column's code, and to the second's. */
    __m512i count = tn_count_bytes(1, 32);
    __m512i even =
        _mm512_mask_blend_epi32(0xf0f0, _mm512_set1_epi32(0x006b5948), _mm512_set1_epi32(0x00152738));
    __m512i odd = _mm512_permutexvar_epi8(
        tn_select_bits(0x10, _mm512_srli_epi16(count, 1), _mm512_srli_epi16(count, 2)), even);
    __m512i side_by_side = _mm512_cvtepu8_epi16(_mm512_castsi512_si256(count));
    side_by_side = _mm512_add_epi8(_mm512_or_si512(side_by_side, _mm512_slli_epi16(side_by_side, 8)),
                                   _mm512_set1_epi16(0x4000));
    for (uint32_t i = 0; i < 2; i++, w += 4) {
        __m512i index = _mm512_add_epi8(side_by_side, _mm512_set1_epi8((char)(32 * i)));
        __m512i fours = _mm512_permutex2var_epi8(first, index, second), signs = i ? signs_b : signs_a;
        __m512i low = tn_select_bits(0x0f, fours, tn_iq_spread_signs(signs, 0, 4));
        __m512i high = tn_select_bits(0x0f, _mm512_srli_epi16(fours, 4), tn_iq_spread_signs(signs, 2, 4));
        w[0] = _mm512_permutexvar_epi8(low, even);
        w[1] = _mm512_permutexvar_epi8(low, odd);
        w[2] = _mm512_permutexvar_epi8(high, even);
        w[3] = _mm512_permutexvar_epi8(high, odd);
    }
}

/**
 * Codes plus 64 of an IQ3 block: the levels of the first two and of the second two columns of its 64
 * entries, its signs, and the eight magnitudes, one a byte.
 */
TN_INLINE void tn_iq3_open_levels(__m512i first, __m512i second, __m512i signs, uint64_t magnitudes,
                                  __m512i *w) {
    /*
     * A byte of level, two signs and level to the first column's code, and four bits further to the
     * second's.
     */
    __m512i middle = _mm512_set1_epi8(64), size = _mm512_set1_epi64((long long)magnitudes);
    __m512i plus = _mm512_add_epi8(middle, size), minus = _mm512_sub_epi8(middle, size);
    __m512i even = _mm512_unpacklo_epi64(plus, minus), odd = _mm512_unpacklo_epi8(plus, minus);
    __m512i low = tn_select_bits(0x18, tn_iq_spread_signs(signs, 0, 3), first);
    __m512i high = tn_select_bits(0x18, tn_iq_spread_signs(signs, 2, 3), second);
    w[0] = _mm512_permutexvar_epi8(low, even);
    w[1] = _mm512_permutexvar_epi8(_mm512_srli_epi16(low, 4), odd);
    w[2] = _mm512_permutexvar_epi8(high, even);
    w[3] = _mm512_permutexvar_epi8(_mm512_srli_epi16(high, 4), odd);
}

#endif
