/*
 * wide_avx512.h - gemv of types whose blocks have one scale for more than 32 columns, sixteen rows at a time
 * (simd_avx512.h). A block is opened in equal steps; a step is 1, 2 or 4 pieces of 32 columns, each of which
 * is a float step.
 */
#ifndef TENON_WIDE_AVX512_H
#define TENON_WIDE_AVX512_H

#include "simd_avx512.h"
#include "unpack_wide.h"

/** The scales of a block column, row r's in lane r. */
typedef __m512 tn_wide_scales(const tn_row_group *rows);
/** Opens step `step`: eight vectors. */
typedef void tn_wide_open(const tn_row_group *rows, uint32_t step, __m512i *w);
/** The products with the step's activation codes: the sums of piece p in sums[p], row r's in lane r. */
typedef void tn_wide_dot(const __m512i *w, const int8_t *codes, __m512i *sums);

/** A type of this kind: its codes are offset by `bias`. */
typedef struct tn_wide {
    tn_shape shape;
    uint32_t pieces; /* of a step */
    int32_t bias;
    tn_wide_scales *scales;
    tn_wide_open *open;
    tn_wide_dot *dot;
} tn_wide;

/** A step of sixteen rows, from column `col` on, times one activation row. */
TN_INLINE __m512 tn_wide_step(const tn_wide *wide, const __m512i *w, __m512 scale, const tn_act *act,
                              uint64_t row, uint64_t col, __m512 acc) {
    const int16_t *x_sums = act->sums + row * act->sum_stride + col / 16;
    const float *x_scales = act->scales + row * act->scale_stride + col / 32;
    __m512i sums[4];
    wide->dot(w, (const int8_t *)act->data + row * act->stride + col, sums);
    for (uint32_t p = 0; p < wide->pieces; p++) {
        int32_t extra = wide->bias * (x_sums[2 * p] + x_sums[2 * p + 1]);
        __m512 sum = _mm512_cvtepi32_ps(_mm512_sub_epi32(sums[p], _mm512_set1_epi32(extra)));
        acc = _mm512_fmadd_ps(sum, _mm512_mul_ps(scale, _mm512_set1_ps(x_scales[p])), acc);
    }
    return acc;
}

/** Sixteen rows from row r on. `acts` is a constant or call->act_rows. */
TN_INLINE void tn_wide_rows(const tn_gemv *call, const tn_wide *wide, uint64_t r, uint64_t acts) {
    uint32_t cols = 32 * wide->pieces, steps = wide->shape.block / cols;
    const uint8_t *first = (const uint8_t *)call->blocks + r * call->row_stride;
    const uint8_t *next = tn_ahead(first, 16 * call->row_stride);
    tn_row_group rows = tn_group_rows(first, call->row_stride, call->rows - r, 4);
    __m512 acc[TN_MAX_ROWS];
    for (uint64_t a = 0; a < acts; a++) { acc[a] = _mm512_setzero_ps(); }
    for (uint64_t col = 0; col < call->cols; col += wide->shape.block) {
        __m512 scale = wide->scales(&rows);
#pragma GCC unroll 8
        for (uint32_t step = 0; step < steps; step++) {
            __m512i w[8];
            wide->open(&rows, step, w);
            tn_prefetch(next, 16 * wide->shape.bytes / steps);
            next += 16 * wide->shape.bytes / steps;
            for (uint64_t a = 0; a < acts; a++) {
                acc[a] =
                    tn_wide_step(wide, w, scale, call->act, call->act_from + a, col + cols * step, acc[a]);
            }
        }
        tn_advance(&rows, wide->shape.bytes, 4);
    }
    for (uint64_t a = 0; a < acts; a++) {
        tn_store16(call->out + a * call->out_stride + r, &rows, call->rows - r, acc[a]);
    }
}

TN_INLINE void tn_wide_gemv(const tn_gemv *call, const tn_wide *wide) {
    for (uint64_t r = 0; r < call->rows; r += 16) {
        if (call->act_rows == 1) {
            tn_wide_rows(call, wide, r, 1);
        } else {
            tn_wide_rows(call, wide, r, call->act_rows);
        }
    }
}

#endif
