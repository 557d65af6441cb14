/*
 * planes_avx2.h - gemv and unpack with AVX2 for codes in planes of two bits: eight rows at a time,
 * otherwise built like planes_avx512.h, which says why.
 */
#ifndef TENON_PLANES_AVX2_H
#define TENON_PLANES_AVX2_H

#include "groups16_avx2.h"
#include "planes.h"

/** The heads of a block column of eight rows, row r in lane r: what the scales of groups 4 k .. 4 k + 3 are
 * made of in words[k], and the scales (and minimums) of the whole block. */
typedef struct tn_plane_heads8 {
    __m256i words[4];
    __m256 d, m;
} tn_plane_heads8;
typedef void tn_plane_open8(const tn_row_group *rows, tn_plane_heads8 *heads);
/** From one of the words: the scale (and minimum) of its i-th group. */
typedef void tn_plane_scale8(const tn_plane_heads8 *heads, __m256i word, uint32_t i, __m256 *scale,
                             __m256 *minimum);
/** The scales (and minimums) of one block, group 8 i + l in lane l of vector i. */
typedef void tn_plane_row_scales8(const uint8_t *block, __m256 *scales, __m256 *minimums);

/** The unsigned codes of plane p, times 4 if p is odd; of the upper two planes `low` is moved down by four.
 * The third bit is bit p of `high`. */
TN_INLINE __m256i tn_plane_codes8(__m256i low, __m256i high, uint32_t p, tn_planes shape) {
    int place = p % 2 * 2, shift = place + 2 - (int)p;
    low = _mm256_and_si256(low, _mm256_set1_epi8((char)(3 << place)));
    if (!shape.has_high) { return low; }
    if (shift > 0) { high = _mm256_slli_epi16(high, shift); }
    return _mm256_or_si256(low, _mm256_and_si256(high, _mm256_set1_epi8((char)(4 << place))));
}

TN_INLINE void tn_plane_act_open8(tn_planes shape, tn_plane_act *x) {
    for (uint32_t i = 0; i < 16; i += 8) {
        __m256i sums = _mm256_cvtepi16_epi32(_mm_loadu_si128((const void *)(x->sums + i)));
        if (shape.has_high) {
            __m256i start = _mm256_sllv_epi32(sums, _mm256_setr_epi32(2, 2, 4, 4, 2, 2, 4, 4));
            start = _mm256_sub_epi32(_mm256_set1_epi32(TN_PLANE_ANCHOR_BITS), start);
            _mm256_storeu_si256((void *)(x->start + i), start);
        }
        if (shape.has_minimum) { _mm256_storeu_ps(x->float_sums + i, _mm256_cvtepi32_ps(sums)); }
    }
    __asm__("" : "+m"(*x)); /* broadcast them from memory, which is free; not from a register */
}

/** The float steps of group g (of plane p; codes in w) with one activation row. Sums of 8 products with
 * codes up to 4 * 7 fit 16 bits. */
TN_INLINE __m256 tn_plane_step8(const __m256i *w, __m256 scale, __m256 minimum, uint32_t g, uint32_t p,
                                tn_planes shape, const tn_plane_act *x, __m256 acc) {
    __m256 x_scale = _mm256_set1_ps(x->scales[g / 2]);
    float unit = p % 2 ? 0.25f : 1;
    __m256i v[4];
    for (uint32_t k = 0; k < 4; k++) {
        v[k] = _mm256_maddubs_epi16(w[k], _mm256_set1_epi32(tn_load_i32(x->codes + 16 * g + 4 * k)));
    }
    v[0] = _mm256_add_epi16(_mm256_add_epi16(v[0], v[1]), _mm256_add_epi16(v[2], v[3]));
    __m256i sum = _mm256_add_epi32(_mm256_madd_epi16(v[0], _mm256_set1_epi16(1)),
                                   _mm256_set1_epi32(shape.has_high ? x->start[g] : TN_PLANE_ANCHOR_BITS));
    __m256 product = _mm256_fmsub_ps(_mm256_castsi256_ps(sum), _mm256_set1_ps(unit),
                                     _mm256_set1_ps(TN_PLANE_ANCHOR * unit)); /* exact */
    acc = _mm256_fmadd_ps(product, _mm256_mul_ps(scale, x_scale), acc);
    if (shape.has_minimum) {
        acc = _mm256_fmadd_ps(_mm256_set1_ps(x->float_sums[g]), _mm256_mul_ps(minimum, x_scale), acc);
    }
    return acc;
}

/* A block column of eight rows. `acts` is a constant or the number of rows of x. */
TN_INLINE void tn_planes_column8(const tn_row_group *rows, tn_planes shape, tn_plane_open8 *open_heads,
                                 tn_plane_scale8 *open_scale, const uint8_t *next, uint64_t next_group,
                                 const tn_plane_act *x, uint64_t acts, __m256 *acc) {
    __m256i low[8], high[8] = {0};
    tn_plane_heads8 heads;
    open_heads(rows, &heads);
    if (shape.has_high) {
        tn_transpose8(rows, shape.high, high);
        tn_transpose8(rows, shape.high + 16, high + 4);
    }
#pragma GCC unroll 1
    for (uint32_t n = 0; n < 2; n++) { /* halves of the block */
        tn_transpose8(rows, shape.low + 32 * n, low);
        tn_transpose8(rows, shape.low + 32 * n + 16, low + 4);
        for (uint32_t line = 0; line < (shape.bytes + 15) / 16; line++) {
            tn_prefetch_twice(next + 4 * shape.bytes * n + 64 * line, next_group);
        }
#pragma GCC unroll 8
        for (uint32_t g = 0; g < 8; g++) {
            __m256i w[4];
            __m256 scale, minimum;
            if (g == 4) {
                for (uint32_t k = 0; k < 8; k++) { low[k] = _mm256_srli_epi16(low[k], 4); }
            }
            for (uint32_t k = 0; k < 4; k++) {
                w[k] = tn_plane_codes8(low[g % 2 * 4 + k], high[g % 2 * 4 + k], g / 2, shape);
            }
            open_scale(&heads, heads.words[g / 4], g % 4, &scale, &minimum);
            for (uint64_t a = 0; a < acts; a++) {
                acc[a] = tn_plane_step8(w, scale, minimum, 8 * n + g, g / 2, shape, &x[a], acc[a]);
            }
        }
        heads.words[0] = heads.words[2];
        heads.words[1] = heads.words[3];
        for (uint32_t k = 0; shape.has_high && k < 8; k++) { high[k] = _mm256_srli_epi16(high[k], 4); }
    }
}

/* Eight rows from row r on. `acts` is a constant or call->act_rows. */
TN_INLINE void tn_planes_rows_avx2(const tn_gemv *call, tn_planes shape, tn_plane_open8 *open_heads,
                                   tn_plane_scale8 *open_scale, uint64_t r, uint64_t acts) {
    const uint8_t *first = (const uint8_t *)call->blocks + r * call->row_stride;
    const uint8_t *next = tn_ahead(first, 8 * call->row_stride);
    tn_row_group rows = tn_group_rows(first, call->row_stride, call->rows - r, 2);
    tn_plane_act x[TN_MAX_ROWS];
    __m256 acc[TN_MAX_ROWS];
    tn_plane_acts(call, x);
    for (uint64_t a = 0; a < acts; a++) { acc[a] = _mm256_setzero_ps(); }
    for (uint64_t col = 0; col < call->cols; col += 256) {
        for (uint64_t a = 0; a < acts; a++) { tn_plane_act_open8(shape, &x[a]); }
        tn_planes_column8(&rows, shape, open_heads, open_scale, next, 8 * call->row_stride, x, acts, acc);
        for (uint64_t a = 0; a < acts; a++) {
            x[a].codes += 256;
            x[a].scales += 8;
            x[a].sums += 16;
        }
        tn_advance(&rows, shape.bytes, 2);
        next += 8 * shape.bytes;
    }
    for (uint64_t a = 0; a < acts; a++) {
        tn_store8(call->out + a * call->out_stride + r, &rows, call->rows - r, acc[a]);
    }
}

TN_INLINE void tn_planes_gemv_avx2(const tn_gemv *call, tn_planes shape, tn_plane_open8 *open_heads,
                                   tn_plane_scale8 *open_scale) {
    for (uint64_t r = 0; r < call->rows; r += 8) {
        if (call->act_rows == 1) {
            tn_planes_rows_avx2(call, shape, open_heads, open_scale, r, 1);
        } else {
            tn_planes_rows_avx2(call, shape, open_heads, open_scale, r, call->act_rows);
        }
    }
}

/** Columns 32 e .. + 31 of a block: codes with their signs. */
TN_INLINE __m256i tn_planes_eighth(const uint8_t *block, tn_planes shape, uint32_t e) {
    const uint8_t *at = block + shape.low + 32 * (e / 4);
    __m256i q = _mm256_srli_epi16(_mm256_loadu_si256((const void *)at), (int)(e % 4 * 2));
    q = _mm256_and_si256(q, _mm256_set1_epi8(3));
    if (shape.has_high) {
        __m256i bit = _mm256_set1_epi8((char)(1 << e));
        __m256i high = _mm256_loadu_si256((const void *)(block + shape.high));
        __m256i set = _mm256_cmpeq_epi8(_mm256_and_si256(high, bit), bit);
        q = _mm256_sub_epi8(q, _mm256_andnot_si256(set, _mm256_set1_epi8(4)));
    }
    return q;
}

TN_INLINE void tn_planes_unpack_avx2(const tn_unpack *call, tn_planes shape,
                                     tn_plane_row_scales8 *open_scales) {
    for (uint64_t r = 0; r < call->rows; r++) {
        const uint8_t *block =
            (const uint8_t *)call->blocks + r * call->row_stride + call->col_from / 256 * shape.bytes;
        int8_t *codes = (int8_t *)call->codes + r * call->code_stride;
        uint64_t scale = r * call->scale_stride;
        for (uint64_t col = call->col_from; col < call->col_to; col += 256) {
            __m256 scales[2], minimums[2];
#pragma GCC unroll 8
            for (uint32_t e = 0; e < 8; e++) {
                _mm256_storeu_si256((void *)(codes + 32 * e), tn_planes_eighth(block, shape, e));
            }
            open_scales(block, scales, minimums);
            for (uint32_t i = 0; i < 2; i++) {
                _mm256_storeu_ps(call->scales + scale + 8 * i, scales[i]);
                if (shape.has_minimum) { _mm256_storeu_ps(call->minimums + scale + 8 * i, minimums[i]); }
            }
            block += shape.bytes;
            codes += 256;
            scale += 16;
        }
    }
}

#endif
