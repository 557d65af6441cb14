/* fifth_bits_avx512.h - as fifth_bits_avx2.h, with AVX-512. */
#ifndef TENON_FIFTH_BITS_AVX512_H
#define TENON_FIFTH_BITS_AVX512_H

#include "simd_avx512.h"

/** `codes` with bit 4 set where `mask` has a bit. */
TN_INLINE __m512i tn_add_sixteens(__m512i codes, __mmask64 mask) {
    return _mm512_mask_add_epi8(codes, mask, codes, _mm512_set1_epi8(16));
}

/** 32 codes of each of two blocks, a and b. */
TN_INLINE __m512i tn_load_two_fives(const uint8_t *high_a, const uint8_t *low_a, const uint8_t *high_b,
                                    const uint8_t *low_b) {
    uint64_t a = (uint32_t)tn_load_i32(high_a), b = (uint32_t)tn_load_i32(high_b);
    return tn_add_sixteens(tn_load_two_nibbles(low_a, low_b), a | b << 32);
}

/** Bits of byte i / 8 + `from` of each quarter to byte i of it: the mask for the codes of sixteen columns. */
TN_INLINE __mmask64 tn_spread_bits(__m512i bits, uint8_t from) {
    __m512i each =
        _mm512_add_epi8(_mm512_set4_epi32(0x01010101, 0x01010101, 0, 0), _mm512_set1_epi8((char)from));
    return _mm512_test_epi8_mask(_mm512_shuffle_epi8(bits, each),
                                 _mm512_set1_epi64((int64_t)0x8040201008040201u));
}

/** The same of sixteen rows, laid out as by tn_open_nibbles16: `high` and `low` are places in the block. */
TN_INLINE void tn_open_fives16(const tn_row_group *rows, uint8_t high, uint64_t low, __m512i *w) {
    tn_open_nibbles16(rows, low, w);
    for (uint32_t j = 0; j < 4; j++) {
        __m512i bits = tn_load_quarters(rows, j, 0);
        w[j] = tn_add_sixteens(w[j], tn_spread_bits(bits, high));
        w[4 + j] = tn_add_sixteens(w[4 + j], tn_spread_bits(bits, (uint8_t)(high + 2)));
    }
}

/** Their heads, out of the same sixteen bytes that the fifth bits are taken from. */
TN_INLINE __m512i tn_fives_heads16(const tn_row_group *rows) {
    __m512i h[4];
    for (uint32_t j = 0; j < 4; j++) { h[j] = tn_load_quarters(rows, j, 0); }
    return _mm512_unpacklo_epi64(_mm512_unpacklo_epi32(h[0], h[1]), _mm512_unpacklo_epi32(h[2], h[3]));
}

#endif
