/*
 * table16_avx2.h - 4-bit codes that stand for the numbers of a table, with AVX2: a shuffle of bytes looks up
 * 32 of them. Tables of small numbers are offset to be unsigned; those that need all eight bits stay signed.
 */
#ifndef TENON_TABLE16_AVX2_H
#define TENON_TABLE16_AVX2_H

#include "simd_avx2.h"
#include "table16_values.h"

/** The table in both halves, its numbers offset by `bias`. */
TN_INLINE __m256i tn_table_avx2(const int8_t *table, int32_t bias) {
    __m256i both = _mm256_broadcastsi128_si256(_mm_loadu_si128((const void *)table));
    return _mm256_add_epi8(both, _mm256_set1_epi8((char)bias));
}

/** As tn_open_nibbles8, but the numbers that the nibbles stand for. */
TN_INLINE void tn_open_table8(const tn_row_group *rows, uint64_t offset, __m256i table, __m256i *w) {
    tn_open_nibbles8(rows, offset, w);
    for (uint32_t i = 0; i < 8; i++) { w[i] = _mm256_shuffle_epi8(table, w[i]); }
}

/**
 * As tn_dot_nibbles8, for signed numbers (never -128): magnitudes of activation codes times numbers with the
 * signs moved over. Only a pair of products fits 16 bits.
 */
TN_INLINE __m256i tn_dot_table8(const __m256i *w, const int8_t *codes) {
    __m256i x[2], size[2], v[4];
    for (uint32_t h = 0; h < 2; h++) {
        x[h] = _mm256_broadcastsi128_si256(_mm_loadu_si128((const void *)(codes + 16 * h)));
        size[h] = _mm256_abs_epi8(x[h]);
    }
    for (uint32_t j = 0; j < 4; j++) {
        v[j] = _mm256_add_epi32(tn_dot_unsigned(size[0], _mm256_sign_epi8(w[j], x[0])),
                                tn_dot_unsigned(size[1], _mm256_sign_epi8(w[4 + j], x[1])));
    }
    return tn_sum_four(v);
}

#endif
