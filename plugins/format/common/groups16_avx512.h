/*
 * groups16_avx512.h - gemv and unpack with AVX-512 VNNI for blocks of 256 columns with a scale for each 16,
 * an integer times a scale of the whole block, where a row's codes are opened 64 columns at a time.
 *
 * A vector holds 64 columns of one row, so each of its quarters is a group: four rows fold to a vector of
 * four groups, and a transpose of quarters gives a vector of sixteen rows for each group.
 */
#ifndef TENON_GROUPS16_AVX512_H
#define TENON_GROUPS16_AVX512_H

#include "simd_avx512.h"

/** Columns 64 * quarter .. + 63 of a block, as codes plus the format's bias: 0 .. 255. */
typedef __m512i tn_open_quarter(const uint8_t *block, uint32_t quarter);
/** A block column of sixteen rows: the sub-scales of groups 4 k .. 4 k + 3 as the signed bytes of subs[k],
 * row r in lane r, and the scales by which they are multiplied (exactly). */
typedef void tn_open_subs16(const tn_row_group *rows, __m512i *subs, __m512 *d);
/** The sixteen scales of one block. */
typedef __m512 tn_open_scales16(const uint8_t *block);

/** The 16 bytes at `offset` of sixteen rows: bytes 4 k .. 4 k + 3 in words[k], row r in lane r. */
TN_INLINE void tn_transpose16(const tn_row_group *rows, uint64_t offset, __m512i *words) {
    __m512i h[4];
    for (uint32_t j = 0; j < 4; j++) { h[j] = tn_load_quarters(rows, j, offset); }
    __m512i a = _mm512_unpacklo_epi32(h[0], h[1]), b = _mm512_unpackhi_epi32(h[0], h[1]);
    __m512i c = _mm512_unpacklo_epi32(h[2], h[3]), d = _mm512_unpackhi_epi32(h[2], h[3]);
    words[0] = _mm512_unpacklo_epi64(a, c);
    words[1] = _mm512_unpackhi_epi64(a, c);
    words[2] = _mm512_unpacklo_epi64(b, d);
    words[3] = _mm512_unpackhi_epi64(b, d);
}

/** Byte k of each lane, with its sign, as a float. */
TN_INLINE __m512 tn_float_of_byte16(__m512i words, uint32_t k) {
    __m512i top = k == 3 ? words : _mm512_slli_epi32(words, 24 - 8 * k);
    return _mm512_cvtepi32_ps(_mm512_srai_epi32(top, 24));
}

/** Products of sixteen rows (codes in w) with 64 activation codes: the sums of group g in sums[g], row r in
 * lane r. */
TN_INLINE void tn_sum_groups16(const __m512i *w, __m512i x, __m512i *sums) {
    __m512i u[4];
    for (uint32_t k = 0; k < 4; k++) {
        __m512i v[4];
        for (uint32_t j = 0; j < 4; j++) {
            v[j] = _mm512_dpbusd_epi32(_mm512_setzero_si512(), w[4 * k + j], x);
        }
        u[k] = tn_sum_quarters(v);
    }
    __m512i a = _mm512_shuffle_i64x2(u[0], u[1], 0x44), b = _mm512_shuffle_i64x2(u[0], u[1], 0xee);
    __m512i c = _mm512_shuffle_i64x2(u[2], u[3], 0x44), d = _mm512_shuffle_i64x2(u[2], u[3], 0xee);
    sums[0] = _mm512_shuffle_i64x2(a, c, 0x88);
    sums[1] = _mm512_shuffle_i64x2(a, c, 0xdd);
    sums[2] = _mm512_shuffle_i64x2(b, d, 0x88);
    sums[3] = _mm512_shuffle_i64x2(b, d, 0xdd);
}

/* The float steps of four groups, from column `col` on, with one activation row. */
TN_INLINE __m512 tn_step_quarter(const __m512i *w, int32_t bias, const __m512 *scales, const tn_act *act,
                                 uint64_t row, uint64_t col, __m512 acc) {
    const int16_t *x_sums = act->sums + row * act->sum_stride + col / 16;
    const float *x_scales = act->scales + row * act->scale_stride + col / 32;
    __m512i sums[4];
    tn_sum_groups16(w, _mm512_loadu_si512((const int8_t *)act->data + row * act->stride + col), sums);
    for (uint32_t g = 0; g < 4; g++) {
        __m512i sum = _mm512_sub_epi32(sums[g], _mm512_set1_epi32(bias * x_sums[g]));
        acc = _mm512_fmadd_ps(_mm512_cvtepi32_ps(sum),
                              _mm512_mul_ps(scales[g], _mm512_set1_ps(x_scales[g / 2])), acc);
    }
    return acc;
}

/* Sixteen rows from row r on. `acts` is a constant or call->act_rows. */
TN_INLINE void tn_groups16_rows_avx512(const tn_gemv *call, uint32_t bytes, int32_t bias,
                                       tn_open_quarter *open, tn_open_subs16 *open_subs, uint64_t r,
                                       uint64_t acts) {
    const uint8_t *first = (const uint8_t *)call->blocks + r * call->row_stride;
    const uint8_t *next = tn_ahead(first, 16 * call->row_stride);
    tn_row_group rows = tn_group_rows(first, call->row_stride, call->rows - r, 4);
    __m512 acc[TN_MAX_ROWS];
    for (uint64_t a = 0; a < acts; a++) { acc[a] = _mm512_setzero_ps(); }
    for (uint64_t col = 0; col < call->cols; col += 256) {
        __m512i subs[4];
        __m512 d;
        open_subs(&rows, subs, &d);
        for (uint32_t quarter = 0; quarter < 4; quarter++, next += 4 * bytes) {
            __m512i w[16];
            __m512 scales[4];
            for (uint32_t i = 0; i < 16; i++) {
                w[i] = open(tn_row(&rows, i), quarter);
                if (64 * i < 4 * bytes) { tn_prefetch_twice(next + 64 * i, 16 * call->row_stride); }
            }
            for (uint32_t g = 0; g < 4; g++) {
                scales[g] = _mm512_mul_ps(d, tn_float_of_byte16(subs[quarter], g));
            }
            for (uint64_t a = 0; a < acts; a++) {
                acc[a] = tn_step_quarter(w, bias, scales, call->act, call->act_from + a, col + 64 * quarter,
                                         acc[a]);
            }
        }
        tn_advance(&rows, bytes, 4);
    }
    for (uint64_t a = 0; a < acts; a++) {
        tn_store16(call->out + a * call->out_stride + r, &rows, call->rows - r, acc[a]);
    }
}

/** gemv over blocks of 256 columns in `bytes` bytes. */
TN_INLINE void tn_groups16_gemv_avx512(const tn_gemv *call, uint32_t bytes, int32_t bias,
                                       tn_open_quarter *open, tn_open_subs16 *open_subs) {
    for (uint64_t r = 0; r < call->rows; r += 16) {
        if (call->act_rows == 1) {
            tn_groups16_rows_avx512(call, bytes, bias, open, open_subs, r, 1);
        } else {
            tn_groups16_rows_avx512(call, bytes, bias, open, open_subs, r, call->act_rows);
        }
    }
}

/** Blocks of 256 columns into a p8 panel with groups of 16 and no minimums. */
TN_INLINE void tn_groups16_unpack_avx512(const tn_unpack *call, uint32_t bytes, int32_t bias,
                                         tn_open_quarter *open, tn_open_scales16 *open_scales) {
    for (uint64_t r = 0; r < call->rows; r++) {
        const uint8_t *block =
            (const uint8_t *)call->blocks + r * call->row_stride + call->col_from / 256 * bytes;
        int8_t *codes = (int8_t *)call->codes + r * call->code_stride;
        float *scales = call->scales + r * call->scale_stride;
        for (uint64_t col = call->col_from; col < call->col_to; col += 256) {
            for (uint32_t quarter = 0; quarter < 4; quarter++) {
                __m512i q = _mm512_sub_epi8(open(block, quarter), _mm512_set1_epi8((char)bias));
                _mm512_storeu_si512(codes + 64 * quarter, q);
            }
            _mm512_storeu_ps(scales, open_scales(block));
            block += bytes;
            codes += 256;
            scales += 16;
        }
    }
}

#endif
