/*
 * ternary_avx2.h - gemv of TQ1_0 and TQ2_0 (256 columns, codes offset by 1, one scale) with AVX2, eight rows
 * at a time. A quarter of a vector holds eight columns of a row, so that the products of 32 columns are
 * added up in four lanes of 16 bits before lanes are moved.
 */
#ifndef TENON_TERNARY_AVX2_H
#define TENON_TERNARY_AVX2_H

#include "simd_avx2.h"
#include "ternary.h"

/** The scales of a block column, row r's in lane r. */
typedef __m256 tn_ternary_scales(const tn_row_group *rows);
/** Opens columns 32 piece .. + 31 (a constant): those from 8 k on in w[2 k] and w[2 k + 1], as
 * tn_load_pieces8 has them. What the function leaves in `kept` it finds there for the next piece. */
typedef void tn_ternary_open(const tn_row_group *rows, uint32_t piece, __m256i *kept, __m256i *w);

/** A type of this kind: bytes of a block; its codes of odd pieces are opened shifted up by `shift`, at most 2;
 * whether it is opened so fast that prefetching twice pays. */
typedef struct tn_ternary {
    uint32_t bytes, shift, fast;
    tn_ternary_scales *scales;
    tn_ternary_open *open;
} tn_ternary;

/** The binary16 at `offset` of eight rows, row r's in lane r. */
TN_INLINE __m256 tn_halves8(const tn_row_group *rows, uint64_t offset) {
    __m128i four[2];
#pragma GCC unroll 2
    for (uint32_t i = 0; i < 2; i++) {
        four[i] = _mm_cvtsi32_si128(tn_load_u16(tn_row(rows, 4 * i) + offset));
        four[i] = _mm_insert_epi16(four[i], tn_load_u16(tn_row(rows, 4 * i + 1) + offset), 1);
        four[i] = _mm_insert_epi16(four[i], tn_load_u16(tn_row(rows, 4 * i + 2) + offset), 2);
        four[i] = _mm_insert_epi16(four[i], tn_load_u16(tn_row(rows, 4 * i + 3) + offset), 3);
    }
    return _mm256_cvtph_ps(_mm_unpacklo_epi64(four[0], four[1]));
}

/** 16 bytes at `offset` of eight rows: the first eight in w[0] (rows 0, 1, 4, 5) and w[1] (rows 2, 3, 6, 7),
 * the others likewise in w[2] and w[3]. */
TN_INLINE void tn_load_pieces8(const tn_row_group *rows, uint64_t offset, __m256i *w) {
    __m256i x[4];
    for (uint32_t j = 0; j < 4; j++) { x[j] = tn_load_both(rows, j, offset); }
    w[0] = _mm256_unpacklo_epi64(x[0], x[1]);
    w[1] = _mm256_unpacklo_epi64(x[2], x[3]);
    w[2] = _mm256_unpackhi_epi64(x[0], x[1]);
    w[3] = _mm256_unpackhi_epi64(x[2], x[3]);
}

/** The products with 32 activation codes, given their two sums; 3 * 4 * 127 * 16 fits 16 bits. */
TN_INLINE __m256i tn_ternary_dot(const __m256i *w, uint32_t shift, const int8_t *codes, const int16_t *sums) {
    __m256i pairs[2], ones = _mm256_set1_epi16(1);
    for (uint32_t k = 0; k < 8; k++) {
        __m256i x = _mm256_broadcastq_epi64(_mm_loadl_epi64((const void *)(codes + k / 2 * 8)));
        __m256i two = _mm256_maddubs_epi16(w[k], x);
        pairs[k % 2] = k < 2 ? two : _mm256_add_epi16(pairs[k % 2], two);
        __asm__("" : "+x"(pairs[k % 2])); /* two sums at a time: registers are few */
    }
    __m256 first = _mm256_castsi256_ps(pairs[0]), second = _mm256_castsi256_ps(pairs[1]);
    __m256i both = _mm256_add_epi16(_mm256_castps_si256(_mm256_shuffle_ps(first, second, 0x88)),
                                    _mm256_castps_si256(_mm256_shuffle_ps(first, second, 0xdd)));
    both = shift ? _mm256_srai_epi16(both, (int)shift) : both;
    both = _mm256_sub_epi16(both, _mm256_set1_epi32(tn_load_i32(sums)));
    return _mm256_madd_epi16(both, ones);
}

/** Eight rows from row r on. `acts` is a constant or call->act_rows. */
TN_INLINE void tn_ternary_rows(const tn_gemv *call, const tn_ternary *type, uint64_t r, uint64_t acts) {
    const uint8_t *first = (const uint8_t *)call->blocks + r * call->row_stride;
    const uint8_t *next = tn_ahead(first, 8 * call->row_stride);
    tn_row_group rows = tn_group_rows(first, call->row_stride, call->rows - r, 2);
    tn_ternary_act x[TN_MAX_ROWS];
    __m256 acc[TN_MAX_ROWS];
    for (uint64_t a = 0; a < acts; a++) {
        x[a] = tn_ternary_act_row(call->act, call->act_from + a);
        acc[a] = _mm256_setzero_ps();
    }
    for (uint64_t block = 0; block < call->cols / 256; block++) {
        __m256 scale = type->scales(&rows);
        __m256i kept[8];
#pragma GCC unroll 8
        for (uint32_t p = 0; p < 8; p++) {
            __m256i w[8];
            type->open(&rows, p, kept, w);
            for (uint32_t o = 64 * p; o < 8 * type->bytes; o += 512) {
                if (type->fast) {
                    tn_prefetch_twice(next + o, 8 * call->row_stride);
                } else {
                    tn_prefetch(next + o, 64);
                }
            }
            for (uint64_t a = 0; a < acts; a++) {
                __m256i sum = tn_ternary_dot(w, p % 2 * type->shift, x[a].codes + 32 * p, x[a].sums + 2 * p);
                __m256 product = _mm256_mul_ps(scale, _mm256_set1_ps(x[a].scales[p]));
                acc[a] = _mm256_fmadd_ps(_mm256_cvtepi32_ps(sum), product, acc[a]);
            }
        }
        for (uint64_t a = 0; a < acts; a++) { tn_ternary_act_next(&x[a]); }
        tn_advance8(&rows, type->bytes);
        next += 8 * type->bytes;
    }
    for (uint64_t a = 0; a < acts; a++) {
        tn_store8(call->out + a * call->out_stride + r, &rows, call->rows - r, acc[a]);
    }
}

TN_INLINE void tn_ternary_gemv(const tn_gemv *call, const tn_ternary *type) {
    for (uint64_t r = 0; r < call->rows; r += 8) {
        if (call->act_rows == 1) {
            tn_ternary_rows(call, type, r, 1);
        } else {
            tn_ternary_rows(call, type, r, call->act_rows);
        }
    }
}

#endif
