/*
 * fifth_bits_avx2.h - codes of five bits (Q5_0, Q5_1) with AVX2: split nibbles, and a word of 32 bits with bit
 * 4 of each code.
 */
#ifndef TENON_FIFTH_BITS_AVX2_H
#define TENON_FIFTH_BITS_AVX2_H

#include "simd_avx2.h"

/** 16 in each byte for which `bytes` has its bit: bit i % 8 in byte i. */
TN_INLINE __m256i tn_sixteens(__m256i bytes) {
    __m256i bit = _mm256_set1_epi64x((int64_t)0x8040201008040201u);
    return _mm256_and_si256(_mm256_cmpeq_epi8(_mm256_and_si256(bytes, bit), bit), _mm256_set1_epi8(16));
}

/** 32 codes: their fifth bits at `high`, their nibbles at `low`. */
TN_INLINE __m256i tn_load_fives(const uint8_t *high, const uint8_t *low) {
    __m256i each =
        _mm256_setr_epi64x(0, 0x0101010101010101, 0x0202020202020202, 0x0303030303030303); /* byte of bit i */
    __m256i bits = _mm256_shuffle_epi8(_mm256_set1_epi32(tn_load_i32(high)), each);
    return _mm256_or_si256(tn_load_nibbles(low), tn_sixteens(bits));
}

/** The same of eight rows, laid out as by tn_open_nibbles8: `high` and `low` are places in the block. */
TN_INLINE void tn_open_fives8(const tn_row_group *rows, uint8_t high, uint64_t low, __m256i *w) {
    __m256i first = _mm256_add_epi8(_mm256_setr_epi64x(0, 0x0101010101010101, 0, 0x0101010101010101),
                                    _mm256_set1_epi8((char)high));
    __m256i second = _mm256_add_epi8(first, _mm256_set1_epi8(2));
    tn_open_nibbles8(rows, low, w);
    for (uint32_t j = 0; j < 4; j++) {
        __m256i bits = tn_load_both(rows, j, 0);
        w[j] = _mm256_or_si256(w[j], tn_sixteens(_mm256_shuffle_epi8(bits, first)));
        w[4 + j] = _mm256_or_si256(w[4 + j], tn_sixteens(_mm256_shuffle_epi8(bits, second)));
    }
}

#endif
