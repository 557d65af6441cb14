/*
 * ternary_avx2.h - gemv of TQ1_0 and TQ2_0 (256 columns, codes offset by 1, one scale) with AVX2, eight rows
 * at a time: four columns of a row are a lane, so that 32 columns of all rows are added up in 16 bits with no
 * lane moved.
 */
#ifndef TENON_TERNARY_AVX2_H
#define TENON_TERNARY_AVX2_H

#include "simd_avx2.h"

/** The scales of a block column, row r's in lane r. */
typedef __m256 tn_ternary_scales(const tn_row_group *rows);
/** Opens columns 32 piece .. + 31 (a constant): of row r those from 4 k on in lane r of w[k]. What the function
 * leaves in `kept` it finds there for the next piece. */
typedef void tn_ternary_open(const tn_row_group *rows, uint32_t piece, __m256i *kept, __m256i *w);

/** A type of this kind: bytes of a block; its codes of odd pieces are opened shifted up by `shift`, at most 2. */
typedef struct tn_ternary {
    uint32_t bytes, shift;
    tn_ternary_scales *scales;
    tn_ternary_open *open;
} tn_ternary;

/** Four words at `offset` of eight rows: word k of row r in lane r of w[k]. */
TN_INLINE void tn_load_words8(const tn_row_group *rows, uint64_t offset, __m256i *w) {
    __m256i x[4];
    for (uint32_t j = 0; j < 4; j++) { x[j] = tn_load_both(rows, j, offset); }
    __m256i a = _mm256_unpacklo_epi32(x[0], x[1]), b = _mm256_unpackhi_epi32(x[0], x[1]);
    __m256i c = _mm256_unpacklo_epi32(x[2], x[3]), d = _mm256_unpackhi_epi32(x[2], x[3]);
    w[0] = _mm256_unpacklo_epi64(a, c);
    w[1] = _mm256_unpackhi_epi64(a, c);
    w[2] = _mm256_unpacklo_epi64(b, d);
    w[3] = _mm256_unpackhi_epi64(b, d);
}

/** The products with 32 activation codes, given their two sums; 3 * 4 * 127 * 16 fits 16 bits. */
TN_INLINE __m256i tn_ternary_dot(const __m256i *w, uint32_t shift, const int8_t *codes, const int16_t *sums) {
    __m256i pairs = _mm256_maddubs_epi16(w[0], _mm256_set1_epi32(tn_load_i32(codes)));
    for (uint32_t k = 1; k < 8; k++) {
        __m256i x = _mm256_set1_epi32(tn_load_i32(codes + 4 * k));
        pairs = _mm256_add_epi16(pairs, _mm256_maddubs_epi16(w[k], x));
        __asm__("" : "+x"(pairs)); /* one sum at a time: registers are few */
    }
    pairs = shift ? _mm256_srai_epi16(pairs, (int)shift) : pairs;
    pairs = _mm256_sub_epi16(pairs, _mm256_set1_epi32(tn_load_i32(sums)));
    return _mm256_madd_epi16(pairs, _mm256_set1_epi16(1));
}

/** Eight rows from row r on. `acts` is a constant or call->act_rows. */
TN_INLINE void tn_ternary_rows(const tn_gemv *call, const tn_ternary *type, uint64_t r, uint64_t acts) {
    const uint8_t *first = (const uint8_t *)call->blocks + r * call->row_stride;
    const uint8_t *next = tn_ahead(first, 8 * call->row_stride);
    tn_row_group rows = tn_group_rows(first, call->row_stride, call->rows - r, 2);
    const tn_act *act = call->act;
    __m256 acc[TN_MAX_ROWS];
    for (uint64_t a = 0; a < acts; a++) { acc[a] = _mm256_setzero_ps(); }
    for (uint64_t col = 0; col < call->cols; col += 256) {
        __m256 scale = type->scales(&rows);
        __m256i kept[8];
#pragma GCC unroll 8
        for (uint32_t p = 0; p < 8; p++) {
            __m256i w[8];
            type->open(&rows, p, kept, w);
            for (uint32_t o = 64 * p; o < 8 * type->bytes; o += 512) { tn_prefetch(next + o, 64); }
            for (uint64_t a = 0; a < acts; a++) {
                uint64_t row = call->act_from + a, at = col + 32 * p;
                __m256i sum =
                    tn_ternary_dot(w, p % 2 * type->shift, (const int8_t *)act->data + row * act->stride + at,
                                   act->sums + row * act->sum_stride + at / 16);
                __m256 x_scale = _mm256_set1_ps(act->scales[row * act->scale_stride + at / 32]);
                acc[a] = _mm256_fmadd_ps(_mm256_cvtepi32_ps(sum), _mm256_mul_ps(scale, x_scale), acc[a]);
            }
        }
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
