/*
 * k_gemv_avx512.h - gemv and unpack of Q4_K and Q5_K with AVX-512 VNNI. They differ by the fifth bits, 32
 * bytes between head and nibbles: `fifth` is a constant, 1 where there are some.
 *
 * Sixteen rows at a time. Their heads are transposed, so that scales and minimums of all of them come out of
 * a few operations. A vector of codes holds 16 columns of four rows, one in each quarter, so that four
 * vectors fold to the sums of a group, a row a lane.
 */
#ifndef TENON_K_GEMV_AVX512_H
#define TENON_K_GEMV_AVX512_H

#include "k_pieces.h"
#include "simd_avx512.h"

/** 32 bytes at `offset` of sixteen rows: of rows j, 4 + j, 8 + j and 12 + j the first 16 in x[j], the
 * others in x[4 + j]. */
TN_INLINE void tn_k_load_rows(const tn_row_group *rows, uint64_t offset, __m512i *x) {
    for (uint32_t j = 0; j < 8; j++) { x[j] = tn_load_quarters(rows, j % 4, offset + 16 * (j / 4)); }
}

/** Codes of group g (a constant), from the bytes of nibbles that it shares with its neighbour, and from
 * those of the fifth bits. */
TN_INLINE __m512i tn_k_join(__m512i nibbles, __m512i bits, uint32_t fifth, uint32_t g) {
    if (g % 2) { nibbles = _mm512_srli_epi16(nibbles, 4); }
    nibbles = _mm512_and_si512(nibbles, _mm512_set1_epi8(15));
    if (!fifth) { return nibbles; }
    bits = g < 4 ? _mm512_slli_epi16(bits, 4 - g) : _mm512_srli_epi16(bits, g - 4);
    return _mm512_ternarylogic_epi32(nibbles, bits, _mm512_set1_epi8(16), 0xf8); /* a | (b & c) */
}

/** Of sixteen rows, row r in lane r: d and -dmin; in byte k of each lane the codes of groups k and 4 + k. */
typedef struct tn_k_heads {
    __m512 d, dmin;
    __m512i scales[2], minimums[2];
} tn_k_heads;

TN_INLINE tn_k_heads tn_k_load_heads(const tn_row_group *rows) {
    __m512i h[4], low4 = _mm512_set1_epi8(15), low6 = _mm512_set1_epi8(63), upper = _mm512_set1_epi8(0x30);
    for (uint32_t j = 0; j < 4; j++) { h[j] = tn_load_quarters(rows, j, 0); }
    __m512i a = _mm512_unpacklo_epi32(h[0], h[1]), b = _mm512_unpackhi_epi32(h[0], h[1]);
    __m512i c = _mm512_unpacklo_epi32(h[2], h[3]), d = _mm512_unpackhi_epi32(h[2], h[3]);
    __m512i halves = _mm512_unpacklo_epi64(a, c), first = _mm512_unpackhi_epi64(a, c);
    __m512i second = _mm512_unpacklo_epi64(b, d), third = _mm512_unpackhi_epi64(b, d);
    __m512 dmin = tn_upper_halves(halves);
    return (tn_k_heads){
        .d = tn_lower_halves(halves),
        .dmin = _mm512_xor_ps(dmin, _mm512_set1_ps(-0.0f)),
        .scales = {_mm512_and_si512(first, low6),
                   _mm512_or_si512(_mm512_and_si512(third, low4),
                                   _mm512_and_si512(_mm512_srli_epi32(first, 2), upper))},
        .minimums = {_mm512_and_si512(second, low6),
                     _mm512_or_si512(_mm512_and_si512(_mm512_srli_epi32(third, 4), low4),
                                     _mm512_and_si512(_mm512_srli_epi32(second, 2), upper))},
    };
}

/** Byte k of each lane, as a float, times x. */
TN_INLINE __m512 tn_k_times_byte(__m512 x, __m512i bytes, uint32_t k) {
    __m512i from = _mm512_add_epi32(_mm512_set1_epi32((int)(0x80808000 + k)), /* and zeros above it */
                                    _mm512_set4_epi32(12, 8, 4, 0));
    return _mm512_mul_ps(x, _mm512_cvtepi32_ps(_mm512_shuffle_epi8(bytes, from)));
}

/** As tn_sum_quarters, with fewer shuffles: sums of eight products fit 16 bits, and sums of sixteen where
 * there is no fifth bit. */
TN_INLINE __m512i tn_k_sum_four(const __m512i *v, uint32_t fifth) {
    if (!fifth) { return tn_sum_quarters_small(v); }
    __m512i ones = _mm512_set1_epi16(1);
    __m512 a = _mm512_castsi512_ps(_mm512_madd_epi16(_mm512_packs_epi32(v[0], v[1]), ones));
    __m512 b = _mm512_castsi512_ps(_mm512_madd_epi16(_mm512_packs_epi32(v[2], v[3]), ones));
    return _mm512_add_epi32(_mm512_castps_si512(_mm512_shuffle_ps(a, b, 0x88)),
                            _mm512_castps_si512(_mm512_shuffle_ps(a, b, 0xdd)));
}

/** The float steps of one group (codes of sixteen rows in w) with 32 activation codes, their scale and
 * sum. */
TN_INLINE __m512 tn_k_step(const __m512i *w, uint32_t fifth, __m512 scale, __m512 minimum,
                           const int8_t *codes, float x_scale, float x_sum, __m512 acc) {
    __m512i low = _mm512_broadcast_i32x4(_mm_loadu_si128((const void *)codes)), v[4];
    __m512i high = _mm512_broadcast_i32x4(_mm_loadu_si128((const void *)(codes + 16)));
    for (uint32_t j = 0; j < 4; j++) {
        v[j] = _mm512_dpbusd_epi32(_mm512_dpbusd_epi32(_mm512_setzero_si512(), w[j], low), w[4 + j], high);
    }
    __m512 sum = _mm512_cvtepi32_ps(tn_k_sum_four(v, fifth));
    acc = _mm512_fmadd_ps(sum, _mm512_mul_ps(scale, _mm512_set1_ps(x_scale)), acc);
    return _mm512_fmadd_ps(_mm512_set1_ps(x_sum), _mm512_mul_ps(minimum, _mm512_set1_ps(x_scale)), acc);
}

/** Sixteen rows from row r on. `acts` is a constant or call->act_rows. */
TN_INLINE void tn_k_rows(const tn_gemv *call, uint64_t r, uint32_t fifth, uint64_t acts) {
    const uint8_t *first = (const uint8_t *)call->blocks + r * call->row_stride;
    const uint8_t *next = first + 16 * call->row_stride;
    tn_row_group rows = tn_group_rows(first, call->row_stride, call->rows - r, 4);
    tn_k_act x[TN_MAX_ROWS];
    __m512 acc[TN_MAX_ROWS];
    for (uint64_t a = 0; a < acts; a++) {
        x[a] = tn_k_act_row(call->act, call->act_from + a);
        acc[a] = _mm512_setzero_ps();
    }
    for (uint64_t block = 0; block < call->cols / 256; block++) {
        tn_k_heads heads = tn_k_load_heads(&rows);
        __m512i bits[8] = {0}, nibbles[8], w[8];
        if (fifth) { tn_k_load_rows(&rows, 16, bits); }
        for (uint64_t a = 0; a < acts; a++) { tn_k_act_block(&x[a], block > 0); }
#pragma GCC unroll 8
        for (uint32_t g = 0; g < 8; g++) {
            if (g % 2 == 0) {
                tn_k_load_rows(&rows, tn_k_nibbles(fifth) + 16 * g, nibbles);
#pragma GCC unroll 16
                for (uint32_t i = 0; i < 4 * tn_k_bytes(fifth); i += 64) {
                    tn_prefetch_twice(next + i, 16 * call->row_stride);
                }
                next += 4 * tn_k_bytes(fifth);
            }
            for (uint32_t j = 0; j < 8; j++) { w[j] = tn_k_join(nibbles[j], bits[j], fifth, g); }
            __m512 scale = tn_k_times_byte(heads.d, heads.scales[g / 4], g % 4);
            __m512 minimum = tn_k_times_byte(heads.dmin, heads.minimums[g / 4], g % 4);
            for (uint64_t a = 0; a < acts; a++) {
                acc[a] = tn_k_step(w, fifth, scale, minimum, x[a].codes + 32 * g, x[a].scales[g],
                                   x[a].sums[g], acc[a]);
            }
        }
        tn_advance(&rows, tn_k_bytes(fifth), 4);
    }
    for (uint64_t a = 0; a < acts; a++) {
        tn_store16(call->out + a * call->out_stride + r, &rows, call->rows - r, acc[a]);
    }
}

TN_INLINE void tn_k_gemv_avx512(const tn_gemv *call, uint32_t fifth) {
    for (uint64_t r = 0; r < call->rows; r += 16) {
        if (call->act_rows == 1) {
            tn_k_rows(call, r, fifth, 1);
        } else {
            tn_k_rows(call, r, fifth, call->act_rows);
        }
    }
}

TN_INLINE void tn_k_unpack_avx512(const tn_unpack *call, uint32_t fifth) {
    for (uint64_t r = 0; r < call->rows; r++) {
        const uint8_t *block =
            (const uint8_t *)call->blocks + r * call->row_stride + call->col_from / 256 * tn_k_bytes(fifth);
        int8_t *codes = (int8_t *)call->codes + r * call->code_stride;
        uint64_t at = r * call->scale_stride;
        for (uint64_t col = call->col_from; col < call->col_to;
             col += 256, block += tn_k_bytes(fifth), codes += 256, at += 8) {
            __m512i bits = _mm512_setzero_si512();
            if (fifth) { bits = tn_load_two(block + 16, block + 16); }
#pragma GCC unroll 2
            for (uint32_t half = 0; half < 2; half++) {
                const uint8_t *nibbles = block + tn_k_nibbles(fifth) + 64 * half;
                __m512i x = _mm512_loadu_si512(nibbles);
                /* Groups 0 and 2, 1 and 3 of this half: the wanted bit of the second is two further up. */
                __m512i apart = _mm512_mask_srli_epi16(bits, 0xffff0000, bits, 2);
                __m512i a = tn_k_join(x, apart, fifth, 4 * half),
                        b = tn_k_join(x, apart, fifth, 4 * half + 1);
                _mm512_storeu_si512(codes + 128 * half, _mm512_shuffle_i64x2(a, b, 0x44));
                _mm512_storeu_si512(codes + 128 * half + 64, _mm512_shuffle_i64x2(a, b, 0xee));
            }
            tn_k_unpack_head(block, call->scales + at, call->minimums + at);
        }
    }
}

#endif
