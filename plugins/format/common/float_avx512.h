/*
 * float_avx512.h - kernels of float types with AVX-512. A format gives sixteen elements as floats; a vector
 * is the sixteen accumulators of one weight row and one activation row, and a tile has sixteen of those: 16
 * rows for one activation row, 8 for two, 4 for four, so that weights are read and widened once for several.
 */
#ifndef TENON_FLOAT_AVX512_H
#define TENON_FLOAT_AVX512_H

#include "simd_avx512.h"

/** The elements at `at` whose bits in `mask` are set, as floats; 0 in the other lanes, which are not read. */
typedef __m512 tn_load16(const uint8_t *at, __mmask16 mask);

#define TN_ALL16 ((__mmask16)0xffff)

/** Sixteen elements of two bytes; without a mask where none is needed. */
TN_INLINE __m256i tn_load_halves(const uint8_t *at, __mmask16 mask) {
    return mask == TN_ALL16 ? _mm256_loadu_si256((const void *)at) : _mm256_maskz_loadu_epi16(mask, at);
}

/* Folds of the rule, each of two vectors at once: by 8, by 4, by 2, by 1. */
TN_INLINE __m512 tn_fold8(__m512 a, __m512 b) {
    return _mm512_add_ps(_mm512_shuffle_f32x4(a, b, 0x44), _mm512_shuffle_f32x4(a, b, 0xee));
}
TN_INLINE __m512 tn_fold4(__m512 a, __m512 b) {
    return _mm512_add_ps(_mm512_shuffle_f32x4(a, b, 0x88), _mm512_shuffle_f32x4(a, b, 0xdd));
}
TN_INLINE __m512 tn_fold2(__m512 a, __m512 b) {
    __m512d x = _mm512_castps_pd(a), y = _mm512_castps_pd(b);
    return _mm512_add_ps(_mm512_castpd_ps(_mm512_unpacklo_pd(x, y)),
                         _mm512_castpd_ps(_mm512_unpackhi_pd(x, y)));
}
TN_INLINE __m512 tn_fold1(__m512 a, __m512 b) {
    return _mm512_add_ps(_mm512_shuffle_ps(a, b, 0x88), _mm512_shuffle_ps(a, b, 0xdd));
}

/** Four vectors, each folded by 8 and by 4: one a quarter. */
TN_INLINE __m512 tn_fold_four(__m512 a, __m512 b, __m512 c, __m512 d) {
    return tn_fold4(tn_fold8(a, b), tn_fold8(c, d));
}

/** Sixteen vectors of accumulators: v[i] folded in lane i. */
TN_INLINE __m512 tn_fold16(const __m512 *v) {
    __m512 a = tn_fold_four(v[0], v[4], v[8], v[12]), b = tn_fold_four(v[1], v[5], v[9], v[13]);
    __m512 c = tn_fold_four(v[2], v[6], v[10], v[14]), d = tn_fold_four(v[3], v[7], v[11], v[15]);
    return tn_fold1(tn_fold2(a, b), tn_fold2(c, d));
}

TN_INLINE const float *tn_act_floats(const tn_act *act, uint64_t row) {
    return (const float *)((const uint8_t *)act->data + row * act->stride);
}

/**
 * Four rows of a group times `acts` (a constant: 1, 2, 4) activation rows: acc[a * rows + r]. Four at a time,
 * because more, at a distance of a power of two, fall into the same few places of the first-level cache. What
 * follows in memory is fetched from `next` on, if that is not NULL.
 */
TN_INLINE void tn_float_four(const uint8_t *first, const uint64_t *apart, const float *const *x,
                             uint32_t acts, uint64_t cols, uint32_t bytes, tn_load16 *load,
                             const uint8_t *next, uint32_t rows, __m512 *acc) {
    __m512 xs[4];
    for (uint32_t a = 0; a < acts; a++) {
        for (uint32_t r = 0; r < 4; r++) { acc[a * rows + r] = _mm512_setzero_ps(); }
    }
    uint64_t c = 0;
    for (; c + 16 <= cols; c += 16, first += 16 * bytes) {
        if (next) {
            tn_prefetch(next, 64 * bytes);
            next += 64 * bytes;
        }
        for (uint32_t a = 0; a < acts; a++) { xs[a] = _mm512_loadu_ps(x[a] + c); }
        for (uint32_t r = 0; r < 4; r++) {
            __m512 w = load(first + apart[r], TN_ALL16);
            for (uint32_t a = 0; a < acts; a++) {
                acc[a * rows + r] = _mm512_fmadd_ps(w, xs[a], acc[a * rows + r]);
            }
        }
    }
    if (c < cols) {
        __mmask16 mask = tn_first_lanes(cols - c);
        for (uint32_t a = 0; a < acts; a++) { xs[a] = _mm512_maskz_loadu_ps(mask, x[a] + c); }
        for (uint32_t r = 0; r < 4; r++) {
            __m512 w = load(first + apart[r], mask);
            for (uint32_t a = 0; a < acts; a++) {
                acc[a * rows + r] = _mm512_mask3_fmadd_ps(w, xs[a], acc[a * rows + r], mask);
            }
        }
    }
}

/** Results of a tile to rows from `r` on, of which `count` exist, and activation rows from `from` on. */
TN_INLINE void tn_store_tile(const tn_gemv *call, const tn_row_group *group, uint64_t r, uint64_t count,
                             uint64_t from, uint32_t acts, __m512 sums) {
    uint32_t rows = 16 / acts;
    float results[16], *out = call->out + from * call->out_stride + r;
    if (count < rows) { _mm512_storeu_ps(results, sums); }
    for (uint32_t a = 0; a < acts; a++, out += call->out_stride) {
        if (count < rows) {
            tn_store_group(out, group, results + a * rows, 4 / acts);
        } else { /* to the front by register: a compressing store is slow */
            __mmask16 lanes = (__mmask16)(((1u << rows) - 1) << (a * rows));
            _mm512_mask_storeu_ps(out, tn_first_lanes(rows), _mm512_maskz_compress_ps(lanes, sums));
        }
    }
}

/** Sixteen rows from r on times `acts` (a constant: 1, 2, 4) activation rows from `from` on. */
TN_INLINE void tn_float_group(const tn_gemv *call, uint64_t r, uint64_t from, uint32_t acts, uint32_t bytes,
                              tn_load16 *load) {
    const float *x[4];
    uint32_t rows = 16 / acts;
    int in_order = call->row_stride == call->cols * bytes;
    for (uint32_t a = 0; a < acts; a++) { x[a] = tn_act_floats(call->act, call->act_from + from + a); }
    for (uint64_t t = r; t < r + 16 && t < call->rows; t += rows) {
        const uint8_t *first = (const uint8_t *)call->blocks + t * call->row_stride;
        tn_row_group group = tn_group_rows(first, call->row_stride, call->rows - t, 4 / acts);
        __m512 acc[16];
#pragma GCC unroll 4
        for (uint32_t i = 0; i < 4; i++) {
            if (i >= 4 / acts) { break; }
            const uint8_t *next = in_order ? tn_ahead(group.four[i], 4 * call->row_stride) : NULL;
            tn_float_four(group.four[i], group.apart, x, acts, call->cols, bytes, load, next, rows,
                          acc + 4 * i);
        }
        __m512 sums = tn_fold16(acc);
        tn_store_tile(call, &group, t, call->rows - t, from, acts, sums);
    }
}

TN_INLINE void tn_float_gemv_avx512(const tn_gemv *call, uint32_t bytes, tn_load16 *load) {
    for (uint64_t r = 0; r < call->rows; r += 16) {
        uint64_t a = 0;
        for (; call->act_rows - a >= 4; a += 4) { tn_float_group(call, r, a, 4, bytes, load); }
        if (call->act_rows - a >= 2) {
            tn_float_group(call, r, a, 2, bytes, load);
            a += 2;
        }
        if (call->act_rows - a == 1) { tn_float_group(call, r, a, 1, bytes, load); }
    }
}

TN_INLINE void tn_float_unpack_avx512(const tn_unpack *call, uint32_t bytes, tn_load16 *load) {
    uint64_t cols = call->col_to - call->col_from;
    for (uint64_t r = 0; r < call->rows; r++) {
        const uint8_t *w = (const uint8_t *)call->blocks + r * call->row_stride + call->col_from * bytes;
        float *out = (float *)((uint8_t *)call->codes + r * call->code_stride);
        for (uint64_t c = 0; c < cols; c += 16) {
            __mmask16 mask = tn_first_lanes(cols - c);
            _mm512_mask_storeu_ps(out + c, mask, load(w + c * bytes, mask));
        }
    }
}

/** 64 columns (masks say which exist) of `acts` (a constant: 1, 2, 4) output rows, over all weight rows. */
TN_INLINE void tn_blend_tile(const tn_blend *call, uint64_t from, uint32_t acts, uint64_t col,
                             const __mmask16 *masks, uint32_t bytes, tn_load16 *load) {
    const uint8_t *w = (const uint8_t *)call->blocks + col * bytes;
    const float *weights = call->weights + from * call->weight_stride;
    float *out = call->out + from * call->out_stride + col;
    __m512 acc[4][4];
#pragma GCC unroll 4
    for (uint32_t a = 0; a < acts; a++) {
#pragma GCC unroll 4
        for (uint32_t i = 0; i < 4; i++) {
            acc[a][i] = _mm512_maskz_loadu_ps(masks[i], out + a * call->out_stride + 16 * i);
        }
    }
    for (uint64_t j = 0; j < call->rows; j++, w += call->row_stride) {
        __m512 v[4];
#pragma GCC unroll 4
        for (uint32_t i = 0; i < 4; i++) { v[i] = load(w + 16 * i * bytes, masks[i]); }
#pragma GCC unroll 4
        for (uint32_t a = 0; a < acts; a++) {
            __m512 weight = _mm512_set1_ps(weights[a * call->weight_stride + j]);
#pragma GCC unroll 4
            for (uint32_t i = 0; i < 4; i++) { acc[a][i] = _mm512_fmadd_ps(weight, v[i], acc[a][i]); }
        }
    }
#pragma GCC unroll 4
    for (uint32_t a = 0; a < acts; a++) {
#pragma GCC unroll 4
        for (uint32_t i = 0; i < 4; i++) {
            _mm512_mask_storeu_ps(out + a * call->out_stride + 16 * i, masks[i], acc[a][i]);
        }
    }
}

TN_INLINE void tn_blend_avx512(const tn_blend *call, uint32_t bytes, tn_load16 *load) {
    for (uint64_t col = 0; col < call->cols; col += 64) {
        uint64_t left = call->cols - col, a = 0;
        __mmask16 masks[4];
        for (uint64_t i = 0; i < 4; i++) { masks[i] = left > 16 * i ? tn_first_lanes(left - 16 * i) : 0; }
        for (; call->act_rows - a >= 4; a += 4) { tn_blend_tile(call, a, 4, col, masks, bytes, load); }
        if (call->act_rows - a >= 2) {
            tn_blend_tile(call, a, 2, col, masks, bytes, load);
            a += 2;
        }
        if (call->act_rows - a == 1) { tn_blend_tile(call, a, 1, col, masks, bytes, load); }
    }
}

#endif
