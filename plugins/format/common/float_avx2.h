/*
 * float_avx2.h - kernels of float types with AVX2, built like float_avx512.h: two vectors are the sixteen
 * accumulators of one weight row and one activation row, and a tile has four of those: 4 rows for one
 * activation row, 2 for two.
 */
#ifndef TENON_FLOAT_AVX2_H
#define TENON_FLOAT_AVX2_H

#include "simd_avx2.h"

/** Eight elements as floats. */
typedef __m256 tn_load8(const uint8_t *at);

/**

 * The first `count` (at most 8) elements of `bytes` bytes, no byte beyond them read; 0 in the other lanes.
 */
TN_INLINE __m256 tn_load_first8(const uint8_t *at, uint64_t count, uint32_t bytes, tn_load8 *load) {
    uint8_t copy[32] = {0};
    memcpy(copy, at, count * bytes);
    return load(copy);
}

TN_INLINE __m256i tn_mask8(uint64_t count) {
    __m256i lane = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    return _mm256_cmpgt_epi32(_mm256_set1_epi32(count < 8 ? (int)count : 8), lane);
}

/** Four times sixteen accumulators, v[2 i] and v[2 i + 1]: folded by 8, 4, 2, 1, in lane i. */
TN_INLINE __m128 tn_fold_tile(const __m256 *v) {
    __m256 t[4], pair[2];
    for (uint32_t i = 0; i < 4; i++) { t[i] = _mm256_add_ps(v[2 * i], v[2 * i + 1]); }
    for (uint32_t i = 0; i < 2; i++) {
        __m256 low = _mm256_permute2f128_ps(t[2 * i], t[2 * i + 1], 0x20);
        pair[i] = _mm256_add_ps(low, _mm256_permute2f128_ps(t[2 * i], t[2 * i + 1], 0x31));
    }
    __m256d a = _mm256_castps_pd(pair[0]), b = _mm256_castps_pd(pair[1]);
    __m256 two =
        _mm256_add_ps(_mm256_castpd_ps(_mm256_unpacklo_pd(a, b)), _mm256_castpd_ps(_mm256_unpackhi_pd(a, b)));
    __m256 one = _mm256_add_ps(_mm256_shuffle_ps(two, two, 0x88), _mm256_shuffle_ps(two, two, 0xdd));
    return _mm_unpacklo_ps(_mm256_castps256_ps128(one), _mm256_extractf128_ps(one, 1));
}

/** The last `count` < 16 columns of a tile: lanes beyond them keep what they hold. */
TN_INLINE void tn_float_tail(const uint8_t *const *at, const float *const *x, uint32_t acts, uint64_t c,
                             uint64_t count, uint32_t bytes, tn_load8 *load, __m256 *acc) {
    uint32_t rows = 4 / acts;
    for (uint32_t half = 0; half < 2 && count > 8 * half; half++, c += 8) {
        uint64_t left = count - 8 * half < 8 ? count - 8 * half : 8;
        __m256i mask = tn_mask8(left);
        for (uint32_t r = 0; r < rows; r++) {
            __m256 w = tn_load_first8(at[r] + c * bytes, left, bytes, load);
            for (uint32_t a = 0; a < acts; a++) {
                __m256 *sum = &acc[2 * (a * rows + r) + half];
                __m256 more = _mm256_fmadd_ps(w, _mm256_maskload_ps(x[a] + c, mask), *sum);
                *sum = _mm256_blendv_ps(*sum, more, _mm256_castsi256_ps(mask));
            }
        }
    }
}

/** 4 / acts rows times `acts` (a constant: 1 or 2) activation rows: lane a * (4 / acts) + r.
 * What follows in memory is fetched from `next` on, if that is not NULL. */
TN_INLINE __m128 tn_float_tile(const uint8_t *const *at, const float *const *x, uint32_t acts, uint64_t cols,
                               uint32_t bytes, const uint8_t *next, tn_load8 *load) {
    uint32_t rows = 4 / acts;
    __m256 acc[8], xs[4];
    for (uint32_t i = 0; i < 8; i++) { acc[i] = _mm256_setzero_ps(); }
    uint64_t c = 0;
    for (; c + 16 <= cols; c += 16) {
        if (next) {
            tn_prefetch(next, 64 * bytes);
            next += 64 * bytes;
        }
        for (uint32_t i = 0; i < 2 * acts; i++) { xs[i] = _mm256_loadu_ps(x[i / 2] + c + 8 * (i % 2)); }
#pragma GCC unroll 4
        for (uint32_t r = 0; r < rows; r++) {
            const uint8_t *w = at[r] + c * bytes;
            __m256 low = load(w), high = load(w + 8 * bytes);
#pragma GCC unroll 2
            for (uint32_t a = 0; a < acts; a++) {
                __m256 *sum = &acc[2 * (a * rows + r)];
                sum[0] = _mm256_fmadd_ps(low, xs[2 * a], sum[0]);
                sum[1] = _mm256_fmadd_ps(high, xs[2 * a + 1], sum[1]);
            }
        }
    }
    if (c < cols) { tn_float_tail(at, x, acts, c, cols - c, bytes, load, acc); }
    return tn_fold_tile(acc);
}

/** Four rows from r on times `acts` (a constant: 1 or 2) activation rows from `from` on. */
TN_INLINE void tn_float_group(const tn_gemv *call, uint64_t r, uint64_t from, uint32_t acts, uint32_t bytes,
                              tn_load8 *load) {
    const uint8_t *at[4], *first = (const uint8_t *)call->blocks + r * call->row_stride;
    const float *x[2];
    uint32_t rows = 4 / acts;
    uint64_t count = call->rows - r < 4 ? call->rows - r : 4;
    const uint8_t *next =
        call->row_stride == call->cols * bytes ? tn_ahead(first, 4 * call->row_stride) : NULL;
    for (uint64_t i = 0; i < 4; i++) { at[i] = first + (i < count ? i : count - 1) * call->row_stride; }
    for (uint32_t a = 0; a < acts; a++) {
        x[a] = (const float *)((const uint8_t *)call->act->data +
                               (call->act_from + from + a) * call->act->stride);
    }
    for (uint32_t t = 0; t < acts && t * rows < count; t++) {
        float sums[4];
        _mm_storeu_ps(sums, tn_float_tile(at + t * rows, x, acts, call->cols, bytes, next, load));
        for (uint32_t i = 0; i < 4; i++) {
            uint64_t row = t * rows + i % rows;
            if (row < count) { call->out[(from + i / rows) * call->out_stride + r + row] = sums[i]; }
        }
    }
}

TN_INLINE void tn_float_gemv_avx2(const tn_gemv *call, uint32_t bytes, tn_load8 *load) {
    for (uint64_t r = 0; r < call->rows; r += 4) {
        uint64_t a = 0;
        for (; call->act_rows - a >= 2; a += 2) { tn_float_group(call, r, a, 2, bytes, load); }
        if (call->act_rows - a == 1) { tn_float_group(call, r, a, 1, bytes, load); }
    }
}

TN_INLINE void tn_float_unpack_avx2(const tn_unpack *call, uint32_t bytes, tn_load8 *load) {
    uint64_t cols = call->col_to - call->col_from;
    for (uint64_t r = 0; r < call->rows; r++) {
        const uint8_t *w = (const uint8_t *)call->blocks + r * call->row_stride + call->col_from * bytes;
        float *out = (float *)((uint8_t *)call->codes + r * call->code_stride);
        uint64_t c = 0;
        for (; c + 8 <= cols; c += 8) { _mm256_storeu_ps(out + c, load(w + c * bytes)); }
        if (c < cols) {
            tn_store_first8(out + c, cols - c, tn_load_first8(w + c * bytes, cols - c, bytes, load));
        }
    }
}

/** `vectors` (a constant) times 8 columns of `acts` (a constant) output rows, over all weight rows. */
TN_INLINE void tn_blend_tile(const tn_blend *call, uint64_t from, uint32_t acts, uint64_t col,
                             uint32_t vectors, uint32_t bytes, tn_load8 *load) {
    const uint8_t *w = (const uint8_t *)call->blocks + col * bytes;
    const float *weights = call->weights + from * call->weight_stride;
    float *out = call->out + from * call->out_stride + col;
    __m256 acc[2][4];
    for (uint32_t a = 0; a < acts; a++) {
        for (uint32_t i = 0; i < vectors; i++) {
            acc[a][i] = _mm256_loadu_ps(out + a * call->out_stride + 8 * i);
        }
    }
    for (uint64_t j = 0; j < call->rows; j++, w += call->row_stride) {
        __m256 v[4];
        for (uint32_t i = 0; i < vectors; i++) { v[i] = load(w + 8 * i * bytes); }
        for (uint32_t a = 0; a < acts; a++) {
            __m256 weight = _mm256_set1_ps(weights[a * call->weight_stride + j]);
            for (uint32_t i = 0; i < vectors; i++) { acc[a][i] = _mm256_fmadd_ps(weight, v[i], acc[a][i]); }
        }
    }
    for (uint32_t a = 0; a < acts; a++) {
        for (uint32_t i = 0; i < vectors; i++) {
            _mm256_storeu_ps(out + a * call->out_stride + 8 * i, acc[a][i]);
        }
    }
}

/** The last `count` < 8 columns of one output row. */
TN_INLINE void tn_blend_tail(const tn_blend *call, uint64_t a, uint64_t col, uint64_t count, uint32_t bytes,
                             tn_load8 *load) {
    const uint8_t *w = (const uint8_t *)call->blocks + col * bytes;
    float *out = call->out + a * call->out_stride + col;
    __m256 acc = _mm256_maskload_ps(out, tn_mask8(count));
    for (uint64_t j = 0; j < call->rows; j++, w += call->row_stride) {
        __m256 weight = _mm256_set1_ps(call->weights[a * call->weight_stride + j]);
        acc = _mm256_fmadd_ps(weight, tn_load_first8(w, count, bytes, load), acc);
    }
    tn_store_first8(out, count, acc);
}

TN_INLINE void tn_blend_columns(const tn_blend *call, uint64_t from, uint32_t acts, uint32_t bytes,
                                tn_load8 *load) {
    uint64_t col = 0;
    for (; col + 32 <= call->cols; col += 32) { tn_blend_tile(call, from, acts, col, 4, bytes, load); }
    for (; col + 8 <= call->cols; col += 8) { tn_blend_tile(call, from, acts, col, 1, bytes, load); }
    for (uint32_t a = 0; a < acts && col < call->cols; a++) {
        tn_blend_tail(call, from + a, col, call->cols - col, bytes, load);
    }
}

TN_INLINE void tn_blend_avx2(const tn_blend *call, uint32_t bytes, tn_load8 *load) {
    uint64_t a = 0;
    for (; call->act_rows - a >= 2; a += 2) { tn_blend_columns(call, a, 2, bytes, load); }
    if (call->act_rows - a == 1) { tn_blend_columns(call, a, 1, bytes, load); }
}

#endif
