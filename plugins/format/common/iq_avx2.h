/*
 * iq_avx2.h - gemv and unpack of the IQ2 and IQ3 types with AVX2: eight weight rows and half a block (128
 * columns) at a time, otherwise built like iq_avx512.h, which says why.
 *
 * A half is opened into four vectors of magnitudes and four of signs. Quadword q of vector k: columns 32 q
 * + 8 k .. + 7, so that all four hold a group of 32 in a quadword, and the first two an even group of 16.
 */
#ifndef TENON_IQ_AVX2_H
#define TENON_IQ_AVX2_H

#include "iq_blocks.h"
#include "simd_avx2.h"

/** Half of a block: magnitudes, and for each the number 1 or -1. */
typedef void tn_iq_open_half(const uint8_t *block, uint32_t half, __m256i *magnitudes, __m256i *signs);
/** The scales s of a block: of groups of 32 a byte each, of 16 a nibble. */
typedef uint64_t tn_iq_subs(const uint8_t *block);

/** 128 columns into the order of a half, and back: quadword q of vector k to quadword k of vector q. */
TN_INLINE void tn_iq_order_half(const __m256i *from, __m256i *to) {
    __m256i a = _mm256_unpacklo_epi64(from[0], from[1]), b = _mm256_unpackhi_epi64(from[0], from[1]);
    __m256i c = _mm256_unpacklo_epi64(from[2], from[3]), d = _mm256_unpackhi_epi64(from[2], from[3]);
    to[0] = _mm256_permute2x128_si256(a, c, 0x20);
    to[1] = _mm256_permute2x128_si256(b, d, 0x20);
    to[2] = _mm256_permute2x128_si256(a, c, 0x31);
    to[3] = _mm256_permute2x128_si256(b, d, 0x31);
}

/** The even lanes of each half of a, then of b; the odd ones. */
TN_INLINE __m256i tn_even_lanes(__m256i a, __m256i b) {
    return _mm256_castps_si256(_mm256_shuffle_ps(_mm256_castsi256_ps(a), _mm256_castsi256_ps(b), 0x88));
}
TN_INLINE __m256i tn_odd_lanes(__m256i a, __m256i b) {
    return _mm256_castps_si256(_mm256_shuffle_ps(_mm256_castsi256_ps(a), _mm256_castsi256_ps(b), 0xdd));
}

/** Products of eight rows, two lanes a group: the sums of four groups, row r in lane r. */
TN_INLINE void tn_iq_sum_pairs(const __m256i *rows, __m256i *sums) {
    __m256i pairs[4], even[2], odd[2];
    for (uint32_t m = 0; m < 4; m++) { pairs[m] = _mm256_hadd_epi32(rows[2 * m], rows[2 * m + 1]); }
    for (uint32_t m = 0; m < 2; m++) {
        even[m] = tn_even_lanes(pairs[2 * m], pairs[2 * m + 1]);
        odd[m] = tn_odd_lanes(pairs[2 * m], pairs[2 * m + 1]);
    }
    sums[0] = _mm256_permute2x128_si256(even[0], even[1], 0x20);
    sums[1] = _mm256_permute2x128_si256(odd[0], odd[1], 0x20);
    sums[2] = _mm256_permute2x128_si256(even[0], even[1], 0x31);
    sums[3] = _mm256_permute2x128_si256(odd[0], odd[1], 0x31);
}

/**
 * Products of two vectors with the signs moved over: pairs of pairs fit 16 bits, magnitudes being at most
 * 62.
 */
TN_INLINE __m256i tn_iq_dot_two(const __m256i *magnitudes, const __m256i *signs, const __m256i *x) {
    __m256i sum = _mm256_add_epi16(_mm256_maddubs_epi16(magnitudes[0], _mm256_sign_epi8(x[0], signs[0])),
                                   _mm256_maddubs_epi16(magnitudes[1], _mm256_sign_epi8(x[1], signs[1])));
    return _mm256_madd_epi16(sum, _mm256_set1_epi16(1));
}

/* The scale of a group: of its bits in `words` and of the block's `unit`, d times a power of two. */
TN_INLINE __m256 tn_iq_scale(__m256i words, uint32_t shift, __m256 unit) {
    __m256i s = _mm256_and_si256(_mm256_srli_epi32(words, (int)shift), _mm256_set1_epi32(15));
    return _mm256_fmadd_ps(_mm256_cvtepi32_ps(s), _mm256_add_ps(unit, unit), unit);
}

/* The scales of eight rows' blocks, row r of the group in lane r; `group` is a constant. */
TN_INLINE void tn_iq_scales8(const tn_row_group *rows, uint32_t group, float factor, tn_iq_subs *open_subs,
                             __m256 *scales) {
    uint64_t subs[8];
    __m256 unit, next;
    for (uint32_t i = 0; i < 8; i++) { subs[i] = open_subs(tn_row(rows, i)); }
    tn_split_halves(tn_words8(rows, 0), &unit, &next);
    unit = _mm256_mul_ps(unit, _mm256_set1_ps(factor));
    __m256i low = _mm256_loadu_si256((const void *)subs), high = _mm256_loadu_si256((const void *)(subs + 4));
    __m256i words[2] = {_mm256_permute4x64_epi64(tn_even_lanes(low, high), 0xd8),
                        _mm256_permute4x64_epi64(tn_odd_lanes(low, high), 0xd8)};
    for (uint32_t g = 0; g < 256 / group; g++) {
        uint32_t bit = g * group / 4;
        scales[g] = tn_iq_scale(words[bit / 32], bit % 32, unit);
    }
}

/*
 * The float steps of half a block with one activation row, whose products of eight rows are given: even[]
 * has a group's first 16 columns, odd[] the others.
 */
TN_INLINE __m256 tn_iq_steps8(const __m256i *even, const __m256i *odd, uint32_t group, const __m256 *scales,
                              const float *x_scales, __m256 acc) {
    __m256i sums[2][4];
    tn_iq_sum_pairs(even, sums[0]);
    if (group == 16) { tn_iq_sum_pairs(odd, sums[1]); }
    for (uint32_t g = 0; g < 128 / group; g++) {
        __m256 scale = _mm256_mul_ps(scales[g], _mm256_set1_ps(x_scales[g * group / 32]));
        __m256i sum = group == 16 ? sums[g % 2][g / 2] : sums[0][g];
        acc = _mm256_fmadd_ps(_mm256_cvtepi32_ps(sum), scale, acc);
    }
    return acc;
}

/* Half a block of eight rows from column `col` on. */
TN_INLINE void tn_iq_half(const tn_gemv *call, const tn_row_group *rows, uint32_t half, uint32_t group,
                          const __m256 *scales, tn_iq_open_half *open, uint64_t col, uint64_t acts,
                          __m256 *acc) {
    const tn_act *act = call->act;
    __m256i x[TN_MAX_ROWS][4], products[TN_MAX_ROWS][2][8];
#pragma GCC unroll 1
    for (uint64_t a = 0; a < acts; a++) {
        const int8_t *codes = (const int8_t *)act->data + (call->act_from + a) * act->stride + col;
        __m256i in[4];
        for (uint32_t i = 0; i < 4; i++) { in[i] = _mm256_loadu_si256((const void *)(codes + 32 * i)); }
        tn_iq_order_half(in, x[a]);
    }
#pragma GCC unroll 1
    for (uint32_t i = 0; i < 8; i++) {
        __m256i magnitudes[4], signs[4];
        open(tn_row(rows, i), half, magnitudes, signs);
#pragma GCC unroll 1
        for (uint64_t a = 0; a < acts; a++) {
            __m256i even = tn_iq_dot_two(magnitudes, signs, x[a]);
            __m256i odd = tn_iq_dot_two(magnitudes + 2, signs + 2, x[a] + 2);
            products[a][0][i] = group == 16 ? even : _mm256_add_epi32(even, odd);
            if (group == 16) { products[a][1][i] = odd; }
        }
    }
#pragma GCC unroll 1
    for (uint64_t a = 0; a < acts; a++) {
        const float *x_scales = act->scales + (call->act_from + a) * act->scale_stride + col / 32;
        acc[a] = tn_iq_steps8(products[a][0], products[a][1], group, scales, x_scales, acc[a]);
    }
}

/* Eight rows from row r on. `acts` is a constant or call->act_rows. */
TN_INLINE void tn_iq_rows_avx2(const tn_gemv *call, uint32_t bytes, uint32_t group, float factor,
                               tn_iq_open_half *open, tn_iq_subs *open_subs, uint64_t r, uint64_t acts) {
    const uint8_t *first = (const uint8_t *)call->blocks + r * call->row_stride;
    const uint8_t *next = tn_ahead(first, 8 * call->row_stride);
    tn_row_group rows = tn_group_rows(first, call->row_stride, call->rows - r, 2);
    __m256 acc[TN_MAX_ROWS], scales[16];
    for (uint64_t a = 0; a < acts; a++) { acc[a] = _mm256_setzero_ps(); }
    for (uint64_t col = 0; col < call->cols; col += 256) {
        tn_iq_scales8(&rows, group, factor, open_subs, scales);
#pragma GCC unroll 2 /* entries lie at constant places then */
        for (uint32_t half = 0; half < 2; half++, next += 4 * bytes) {
            for (uint32_t o = 0; o < 4 * bytes; o += 64) {
                _mm_prefetch((const char *)next + o, _MM_HINT_T0);
            }
            tn_iq_half(call, &rows, half, group, scales + half * 128 / group, open, col + 128 * half, acts,
                       acc);
        }
        tn_advance(&rows, bytes, 2);
    }
    for (uint64_t a = 0; a < acts; a++) {
        tn_store8(call->out + a * call->out_stride + r, &rows, call->rows - r, acc[a]);
    }
}

/** `factor`: what d times an odd number is times. */
TN_INLINE void tn_iq_gemv_avx2(const tn_gemv *call, uint32_t bytes, uint32_t group, float factor,
                               tn_iq_open_half *open, tn_iq_subs *subs) {
    for (uint64_t r = 0; r < call->rows; r += 8) {
        if (call->act_rows == 1) {
            tn_iq_rows_avx2(call, bytes, group, factor, open, subs, r, 1);
        } else {
            tn_iq_rows_avx2(call, bytes, group, factor, open, subs, r, call->act_rows);
        }
    }
}

/* The scales of one block, in order. */
TN_INLINE void tn_iq_store_scales(const uint8_t *block, uint64_t subs, uint32_t group, float factor,
                                  float *scales) {
    __m256 unit = _mm256_set1_ps(_cvtsh_ss(tn_load_u16(block)) * factor);
    __m128i s = _mm_cvtsi64_si128((long long)subs);
    if (group == 16) { s = _mm_unpacklo_epi8(s, _mm_srli_epi16(s, 4)); }
    _mm256_storeu_ps(scales, tn_iq_scale(_mm256_cvtepu8_epi32(s), 0, unit));
    if (group == 16) {
        _mm256_storeu_ps(scales + 8, tn_iq_scale(_mm256_cvtepu8_epi32(_mm_srli_si128(s, 8)), 0, unit));
    }
}

TN_INLINE void tn_iq_unpack_avx2(const tn_unpack *call, uint32_t bytes, uint32_t group, float factor,
                                 tn_iq_open_half *open, tn_iq_subs *subs) {
    for (uint64_t r = 0; r < call->rows; r++) {
        const uint8_t *block =
            (const uint8_t *)call->blocks + r * call->row_stride + call->col_from / 256 * bytes;
        int8_t *codes = (int8_t *)call->codes + r * call->code_stride;
        float *scales = call->scales + r * call->scale_stride;
        for (uint64_t col = call->col_from; col < call->col_to;
             col += 256, block += bytes, scales += 256 / group) {
#pragma GCC unroll 2
            for (uint32_t half = 0; half < 2; half++, codes += 128) {
                __m256i magnitudes[4], signs[4], natural[4];
                open(block, half, magnitudes, signs);
                for (uint32_t k = 0; k < 4; k++) {
                    magnitudes[k] = _mm256_sign_epi8(magnitudes[k], signs[k]);
                }
                tn_iq_order_half(magnitudes, natural);
                for (uint32_t k = 0; k < 4; k++) {
                    _mm256_storeu_si256((void *)(codes + 32 * k), natural[k]);
                }
            }
            tn_iq_store_scales(block, subs(block), group, factor, scales);
        }
    }
}

/* ---- what blocks are made of */

/** The magnitudes of half a block from entries of eight columns, and from entries of four. */
TN_INLINE void tn_iq2_entries(const uint64_t *codebook, const uint8_t *block, uint32_t half,
                              tn_iq_index *index, __m256i *magnitudes) {
#pragma GCC unroll 4
    for (uint32_t k = 0; k < 4; k++) {
        long long entry[4];
#pragma GCC unroll 4
        for (uint32_t q = 0; q < 4; q++) {
            entry[q] = (long long)codebook[index(block, 16 * half + 4 * q + k)];
        }
        magnitudes[k] = _mm256_setr_epi64x(entry[0], entry[1], entry[2], entry[3]);
    }
}
TN_INLINE void tn_iq3_entries(const uint32_t *codebook, const uint8_t *block, uint32_t half,
                              tn_iq_index *index, __m256i *magnitudes) {
#pragma GCC unroll 4
    for (uint32_t k = 0; k < 4; k++) {
        int entry[8];
#pragma GCC unroll 8
        for (uint32_t i = 0; i < 8; i++) {
            entry[i] = (int)codebook[index(block, 32 * half + i / 2 * 8 + 2 * k + i % 2)];
        }
        magnitudes[k] =
            _mm256_setr_epi32(entry[0], entry[1], entry[2], entry[3], entry[4], entry[5], entry[6], entry[7]);
    }
}

/** Sign bytes of the half's sixteen times eight columns to four vectors of 1 and -1. */
TN_INLINE void tn_iq_open_signs(__m128i signs, __m256i *ones) {
    __m256i bits = _mm256_set1_epi64x((long long)0x8040201008040201), four = _mm256_cvtepu32_epi64(signs);
    __m256i first = _mm256_set_epi64x(0x0808080808080808, 0, 0x0808080808080808, 0);
    for (uint32_t k = 0; k < 4; k++) { /* byte k of each quadword, eight times */
        __m256i byte = _mm256_shuffle_epi8(four, _mm256_add_epi8(first, _mm256_set1_epi8((char)k)));
        __m256i negative = _mm256_cmpeq_epi8(_mm256_and_si256(byte, bits), bits);
        ones[k] = _mm256_or_si256(negative, _mm256_set1_epi8(1));
    }
}

/** Codes of seven bits in the bytes of x, their top bits 0: the eighth bit makes the number of bits even. */
TN_INLINE __m128i tn_iq_even_signs(__m128i x) {
    __m128i folded = _mm_xor_si128(x, _mm_srli_epi16(x, 4)); /* what comes from the next byte is cut off */
    __m128i parity = _mm_set_epi64x(0x0080800080000080, (long long)0x8000008000808000);
    return _mm_or_si128(x, _mm_shuffle_epi8(parity, _mm_and_si128(folded, _mm_set1_epi8(15))));
}

/** The four 7-bit codes of each word, with their eighth bits. */
TN_INLINE __m128i tn_iq_signs_of_words(__m128i words) {
    __m128i x = _mm_and_si128(words, _mm_set1_epi32(127));
    for (int i = 1; i < 4; i++) {
        x = _mm_or_si128(x, _mm_and_si128(_mm_slli_epi32(words, i), _mm_set1_epi32(127 << 8 * i)));
    }
    return tn_iq_even_signs(x);
}

/** The top nibbles of eight words, as bytes. */
TN_INLINE uint64_t tn_iq_subs_of_words(__m128i low, __m128i high) {
    __m128i subs = _mm_packus_epi32(_mm_srli_epi32(low, 28), _mm_srli_epi32(high, 28));
    return (uint64_t)_mm_cvtsi128_si64(_mm_packus_epi16(subs, subs));
}

#endif
