/*
 * groups16_avx2.h - gemv and unpack with AVX2 for blocks of 256 columns with a scale for each 16, an integer
 * times a scale of the whole block, where a row's codes are opened 32 columns at a time.
 *
 * A vector holds 32 columns of one row, so each half of it is a group: eight rows fold to one vector of eight
 * rows for each of the two groups.
 */
#ifndef TENON_GROUPS16_AVX2_H
#define TENON_GROUPS16_AVX2_H

#include "simd_avx2.h"

/** Columns 32 * eighth .. + 31 of a block, as codes plus the format's bias: 0 .. 127, so that the products of
 * a pair fit 16 bits. */
typedef __m256i tn_open_eighth(const uint8_t *block, uint32_t eighth);
/** A block column of eight rows: the sub-scales of groups 4 k .. 4 k + 3 as the signed bytes of subs[k],
 * row r in lane r, and the scales by which they are multiplied (exactly). */
typedef void tn_open_subs8(const tn_row_group *rows, __m256i *subs, __m256 *d);
/** The sixteen scales of one block, eight a vector. */
typedef void tn_open_scales8(const uint8_t *block, __m256 *scales);

/** The 16 bytes at `offset` of eight rows: bytes 4 k .. 4 k + 3 in words[k], row r in lane r. */
TN_INLINE void tn_transpose8(const tn_row_group *rows, uint64_t offset, __m256i *words) {
    __m256i h[4];
    for (uint32_t j = 0; j < 4; j++) { h[j] = tn_load_both(rows, j, offset); }
    __m256i a = _mm256_unpacklo_epi32(h[0], h[1]), b = _mm256_unpackhi_epi32(h[0], h[1]);
    __m256i c = _mm256_unpacklo_epi32(h[2], h[3]), d = _mm256_unpackhi_epi32(h[2], h[3]);
    words[0] = _mm256_unpacklo_epi64(a, c);
    words[1] = _mm256_unpackhi_epi64(a, c);
    words[2] = _mm256_unpacklo_epi64(b, d);
    words[3] = _mm256_unpackhi_epi64(b, d);
}

/** Byte k of each lane, with its sign, as a float. */
TN_INLINE __m256 tn_float_of_byte8(__m256i words, uint32_t k) {
    __m256i top = k == 3 ? words : _mm256_slli_epi32(words, (int)(24 - 8 * k));
    return _mm256_cvtepi32_ps(_mm256_srai_epi32(top, 24));
}

/* The float steps of two groups of eight rows (codes in w), from column `col` on, with one activation row. */
TN_INLINE __m256 tn_step_eighth(const __m256i *w, int32_t bias, const __m256 *scales, const tn_act *act,
                                uint64_t row, uint64_t col, __m256 acc) {
    const int16_t *x_sums = act->sums + row * act->sum_stride + col / 16;
    __m256 x_scale = _mm256_set1_ps(act->scales[row * act->scale_stride + col / 32]);
    __m256i x = _mm256_loadu_si256((const void *)((const int8_t *)act->data + row * act->stride + col)), v[8];
    for (uint32_t i = 0; i < 8; i++) { v[i] = tn_dot_unsigned(w[i], x); }
    __m256i low = tn_sum_four(v), high = tn_sum_four(v + 4);
    __m256i first = _mm256_permute2x128_si256(low, high, 0x20),
            second = _mm256_permute2x128_si256(low, high, 0x31);
    first = _mm256_sub_epi32(first, _mm256_set1_epi32(bias * x_sums[0]));
    second = _mm256_sub_epi32(second, _mm256_set1_epi32(bias * x_sums[1]));
    acc = _mm256_fmadd_ps(_mm256_cvtepi32_ps(first), _mm256_mul_ps(scales[0], x_scale), acc);
    return _mm256_fmadd_ps(_mm256_cvtepi32_ps(second), _mm256_mul_ps(scales[1], x_scale), acc);
}

/* Eight rows from row r on. `acts` is a constant or call->act_rows. */
TN_INLINE void tn_groups16_rows_avx2(const tn_gemv *call, uint32_t bytes, int32_t bias, tn_open_eighth *open,
                                     tn_open_subs8 *open_subs, uint64_t r, uint64_t acts) {
    const uint8_t *first = (const uint8_t *)call->blocks + r * call->row_stride;
    const uint8_t *next = tn_ahead(first, 8 * call->row_stride);
    tn_row_group rows = tn_group_rows(first, call->row_stride, call->rows - r, 2);
    __m256 acc[TN_MAX_ROWS];
    for (uint64_t a = 0; a < acts; a++) { acc[a] = _mm256_setzero_ps(); }
    for (uint64_t col = 0; col < call->cols; col += 256) {
        __m256i subs[4];
        __m256 d;
        open_subs(&rows, subs, &d);
#pragma GCC unroll 8
        for (uint32_t eighth = 0; eighth < 8; eighth++, next += bytes) {
            __m256i w[8];
            __m256 scales[2];
            for (uint32_t i = 0; i < 8; i++) {
                w[i] = open(tn_row(&rows, i), eighth);
                if (64 * i < bytes) { tn_prefetch_twice(next + 64 * i, 8 * call->row_stride); }
            }
            for (uint32_t g = 0; g < 2; g++) {
                scales[g] = _mm256_mul_ps(d, tn_float_of_byte8(subs[eighth / 2], 2 * (eighth % 2) + g));
            }
            for (uint64_t a = 0; a < acts; a++) {
                acc[a] =
                    tn_step_eighth(w, bias, scales, call->act, call->act_from + a, col + 32 * eighth, acc[a]);
            }
        }
        tn_advance(&rows, bytes, 2);
    }
    for (uint64_t a = 0; a < acts; a++) {
        tn_store8(call->out + a * call->out_stride + r, &rows, call->rows - r, acc[a]);
    }
}

/** gemv over blocks of 256 columns in `bytes` bytes. */
TN_INLINE void tn_groups16_gemv_avx2(const tn_gemv *call, uint32_t bytes, int32_t bias, tn_open_eighth *open,
                                     tn_open_subs8 *open_subs) {
    for (uint64_t r = 0; r < call->rows; r += 8) {
        if (call->act_rows == 1) {
            tn_groups16_rows_avx2(call, bytes, bias, open, open_subs, r, 1);
        } else {
            tn_groups16_rows_avx2(call, bytes, bias, open, open_subs, r, call->act_rows);
        }
    }
}

/** Blocks of 256 columns into a p8 panel with groups of 16 and no minimums. */
TN_INLINE void tn_groups16_unpack_avx2(const tn_unpack *call, uint32_t bytes, int32_t bias,
                                       tn_open_eighth *open, tn_open_scales8 *open_scales) {
    for (uint64_t r = 0; r < call->rows; r++) {
        const uint8_t *block =
            (const uint8_t *)call->blocks + r * call->row_stride + call->col_from / 256 * bytes;
        int8_t *codes = (int8_t *)call->codes + r * call->code_stride;
        float *scales = call->scales + r * call->scale_stride;
        for (uint64_t col = call->col_from; col < call->col_to; col += 256) {
            __m256 both[2];
#pragma GCC unroll 8
            for (uint32_t eighth = 0; eighth < 8; eighth++) {
                __m256i q = _mm256_sub_epi8(open(block, eighth), _mm256_set1_epi8((char)bias));
                _mm256_storeu_si256((void *)(codes + 32 * eighth), q);
            }
            open_scales(block, both);
            _mm256_storeu_ps(scales, both[0]);
            _mm256_storeu_ps(scales + 8, both[1]);
            block += bytes;
            codes += 256;
            scales += 16;
        }
    }
}

#endif
