/*
 * iq_lookup_avx512.h - codes of IQ2 and IQ3 blocks by loads from the codebook. Quadword g of vector k:
 * columns 32 g + 8 k .. + 7, so that the first two vectors are the even groups of 16.
 */
#ifndef TENON_IQ_LOOKUP_AVX512_H
#define TENON_IQ_LOOKUP_AVX512_H

#include "iq_avx512.h"

TN_INLINE void tn_iq_order_entries(const __m512i *from, __m512i *to) {
    __m512i low = _mm512_setr_epi64(0, 4, 8, 12, 1, 5, 9, 13);
    __m512i high = _mm512_setr_epi64(2, 6, 10, 14, 3, 7, 11, 15);
    for (uint32_t i = 0; i < 2; i++) {
        __m512i a = _mm512_permutex2var_epi64(from[0], i ? high : low, from[1]);
        __m512i b = _mm512_permutex2var_epi64(from[2], i ? high : low, from[3]);
        to[2 * i] = _mm512_shuffle_i64x2(a, b, 0x44);
        to[2 * i + 1] = _mm512_shuffle_i64x2(a, b, 0xee);
    }
}

TN_INLINE void tn_iq_restore_entries(const __m512i *from, __m512i *to) {
    __m512i low = _mm512_setr_epi64(0, 4, 8, 12, 1, 5, 9, 13);
    __m512i high = _mm512_setr_epi64(2, 6, 10, 14, 3, 7, 11, 15);
    __m512i a = _mm512_shuffle_i64x2(from[0], from[1], 0x44),
            b = _mm512_shuffle_i64x2(from[2], from[3], 0x44);
    to[0] = _mm512_permutex2var_epi64(a, low, b);
    to[1] = _mm512_permutex2var_epi64(a, high, b);
    a = _mm512_shuffle_i64x2(from[0], from[1], 0xee);
    b = _mm512_shuffle_i64x2(from[2], from[3], 0xee);
    to[2] = _mm512_permutex2var_epi64(a, low, b);
    to[3] = _mm512_permutex2var_epi64(a, high, b);
}

/* Magnitudes and the signs of 256 columns to codes plus 64. */
TN_INLINE void tn_iq_sign_entries(__m256i signs, __m512i *w) {
    __m512i bits = _mm512_set1_epi64((long long)0x8040201008040201), middle = _mm512_set1_epi8(64);
    __m512i four = _mm512_cvtepu32_epi64(signs),
            first = _mm512_broadcast_i32x4(_mm_set_epi64x(0x0808080808080808, 0));
    for (uint32_t k = 0; k < 4; k++) { /* byte k of each quadword, eight times */
        __m512i byte = _mm512_shuffle_epi8(four, _mm512_add_epi8(first, _mm512_set1_epi8((char)k)));
        __mmask64 negative = _mm512_test_epi8_mask(byte, bits);
        w[k] = _mm512_mask_sub_epi8(_mm512_add_epi8(middle, w[k]), negative, middle, w[k]);
    }
}

/** Codes plus 64 of an IQ2 block, given its signs. */
TN_INLINE void tn_iq2_look_up(const uint64_t *codebook, const uint8_t *block, tn_iq_index *index,
                              __m256i signs, __m512i *w) {
#pragma GCC unroll 4
    for (uint32_t k = 0; k < 4; k++) {
        long long e[8];
#pragma GCC unroll 8
        for (uint32_t g = 0; g < 8; g++) { e[g] = (long long)codebook[index(block, 4 * g + k)]; }
        w[k] = _mm512_setr_epi64(e[0], e[1], e[2], e[3], e[4], e[5], e[6], e[7]);
    }
    tn_iq_sign_entries(signs, w);
}

/** Codes plus 64 of an IQ3 block, given its signs. */
TN_INLINE void tn_iq3_look_up(const uint32_t *codebook, const uint8_t *block, tn_iq_index *index,
                              __m256i signs, __m512i *w) {
#pragma GCC unroll 4
    for (uint32_t k = 0; k < 4; k++) {
        int e[16];
#pragma GCC unroll 16
        for (uint32_t i = 0; i < 16; i++) { e[i] = (int)codebook[index(block, i / 2 * 8 + 2 * k + i % 2)]; }
        w[k] = _mm512_setr_epi32(e[0], e[1], e[2], e[3], e[4], e[5], e[6], e[7], e[8], e[9], e[10], e[11],
                                 e[12], e[13], e[14], e[15]);
    }
    tn_iq_sign_entries(signs, w);
}

/** Codes of seven bits in the bytes of x: the eighth bit makes the number of bits even. */
TN_INLINE __m256i tn_iq_even_signs(__m256i x) {
    __m256i folded =
        _mm256_xor_si256(x, _mm256_srli_epi16(x, 4)); /* what comes from the next byte is cut off */
    __m256i parity = _mm256_set_epi64x(0x0080800080000080, (long long)0x8000008000808000, 0x0080800080000080,
                                       (long long)0x8000008000808000);
    return _mm256_or_si256(x, _mm256_shuffle_epi8(parity, _mm256_and_si256(folded, _mm256_set1_epi8(15))));
}

/**
 * The four 7-bit codes of each word, with their eighth bits: the signs of the block's 256 columns, in
 * order.
 */
TN_INLINE __m256i tn_iq_signs_of_words(__m256i words) {
    __m256i x = _mm256_and_si256(words, _mm256_set1_epi32(127));
    for (int i = 1; i < 4; i++) {
        x = _mm256_or_si256(x,
                            _mm256_and_si256(_mm256_slli_epi32(words, i), _mm256_set1_epi32(127 << 8 * i)));
    }
    return tn_iq_even_signs(x);
}

/** The top bytes of eight words of block a, and of b. */
TN_INLINE __m128i tn_iq_top_bytes(__m256i a, __m256i b) {
    return _mm_unpacklo_epi64(_mm256_cvtepi32_epi8(_mm256_srli_epi32(a, 24)),
                              _mm256_cvtepi32_epi8(_mm256_srli_epi32(b, 24)));
}

#endif
