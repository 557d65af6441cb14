/*
 * table16_avx512.h - 4-bit codes that stand for the numbers of a table, with AVX-512: a shuffle of bytes
 * looks up 64 of them, in tables that are offset to be unsigned.
 */
#ifndef TENON_TABLE16_AVX512_H
#define TENON_TABLE16_AVX512_H

#include "simd_avx512.h"
#include "table16_values.h"

/** The table in all quarters, its numbers offset by `bias`. */
TN_INLINE __m512i tn_table_avx512(const int8_t *table, int32_t bias) {
    __m512i all = _mm512_broadcast_i32x4(_mm_loadu_si128((const void *)table));
    return _mm512_add_epi8(all, _mm512_set1_epi8((char)bias));
}

/** As tn_open_nibbles16, but the numbers that the nibbles stand for. */
TN_INLINE void tn_open_table16(const tn_row_group *rows, uint64_t offset, __m512i table, __m512i *w) {
    tn_open_nibbles16(rows, offset, w);
    for (uint32_t i = 0; i < 8; i++) { w[i] = _mm512_shuffle_epi8(table, w[i]); }
}

#endif
