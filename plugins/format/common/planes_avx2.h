/*
 * planes_avx2.h - gemv and unpack with AVX2 for codes in planes of two bits, eight rows at a time.
 *
 * gemv is built like that of groups16_avx2.h, which says why.
 */
#ifndef TENON_PLANES_AVX2_H
#define TENON_PLANES_AVX2_H

#include "groups16_avx2.h"
#include "planes.h"

/** The heads of a block column of eight rows, row r in lane r: what the scales of groups 4 q .. 4 q + 3 are
 * made of in words[q], and the scales (and minimums) of the whole block. */
typedef struct tn_plane_heads8 {
    __m256i words[4];
    __m256 d, m;
} tn_plane_heads8;
typedef void tn_plane_open8(const tn_row_group *rows, tn_plane_heads8 *heads);
/** From one of the words: the scale (and minimum) of its i-th group. */
typedef void tn_plane_scale8(__m256 d, __m256 m, __m256i word, uint32_t i, __m256 *scale, __m256 *minimum);
/** The scales (and minimums) of one block, group 8 i + l in lane l of vector i. */
typedef void tn_plane_row_scales8(const uint8_t *block, __m256 *scales, __m256 *minimums);

/** Byte i of each lane as its lowest one, the others 0. */
TN_INLINE __m256i tn_plane_byte_low(__m256i words, uint32_t i) {
    return _mm256_shuffle_epi8(words, _mm256_add_epi32(_mm256_set1_epi32((int)(0x80808000 + i)),
                                                       _mm256_setr_epi32(0, 4, 8, 12, 0, 4, 8, 12)));
}

/** Puts third bits to the codes of four planes: planes 0 and 2 in bits 0 .. 2 and 4 .. 6 of `even`, the others
 * likewise in `odd`. Bit p of `high` is that of plane p. */
TN_INLINE void tn_plane_join8(__m256i low, __m256i high, __m256i *even, __m256i *odd) {
    __m256i bits = _mm256_and_si256(high, _mm256_set1_epi8(15)), pairs = _mm256_set1_epi8(0x33);
    __m256i of_even = _mm256_setr_epi32(0x04000400, 0x44404440, 0x04000400, 0x44404440, 0x04000400,
                                        0x44404440, 0x04000400, 0x44404440);
    __m256i of_odd = _mm256_setr_epi32(0x04040000, 0x04040000, 0x44444040, 0x44444040, 0x04040000, 0x04040000,
                                       0x44444040, 0x44444040);
    *even = _mm256_or_si256(_mm256_and_si256(low, pairs), _mm256_shuffle_epi8(of_even, bits));
    *odd = _mm256_or_si256(_mm256_and_si256(_mm256_srli_epi16(low, 2), pairs),
                           _mm256_shuffle_epi8(of_odd, bits));
}

TN_INLINE void tn_plane_act_open8(tn_planes shape, tn_plane_act *x) {
    for (uint32_t i = 0; i < 16; i += 8) {
        __m256i sums = _mm256_cvtepi16_epi32(_mm_loadu_si128((const void *)(x->sums + i)));
        if (shape.has_high) {
            __m256i start = _mm256_mullo_epi32(sums, _mm256_set1_epi32(-4));
            _mm256_storeu_si256((void *)(x->start + i), start);
        }
        if (shape.has_minimum) { _mm256_storeu_ps(x->float_sums + i, _mm256_cvtepi32_ps(sums)); }
    }
    __asm__("" : "+m"(*x)); /* broadcast them from memory, which is free; not from a register */
}

/** The sums of half a block: of activation row a and group g in sums[a][g]; times 4 where g / 2 % 2 if there
 * are no third bits. */
TN_INLINE void tn_plane_sums8(const tn_row_group *rows, tn_planes shape, uint32_t n, const tn_plane_act *x,
                              uint64_t acts, __m256i (*sums)[8]) {
#pragma GCC unroll 2
    for (uint32_t h = 0; h < 2; h++) {
        __m256i even[4], odd[4], w[4];
        tn_load_eights(rows, shape.low + 32 * n + 16 * h, even);
        if (shape.has_high) {
            __m256i high[4];
            tn_load_eights(rows, shape.high + 16 * h, high);
            for (uint32_t k = 0; k < 4; k++) {
                if (n) { high[k] = _mm256_srli_epi16(high[k], 4); }
                tn_plane_join8(even[k], high[k], &even[k], &odd[k]);
            }
        }
#pragma GCC unroll 4
        for (uint32_t p = 0; p < 4; p++) {
            __m256i *from = shape.has_high && p % 2 ? odd : even;
            int mask = shape.has_high ? 7 : p % 2 ? 12 : 3;
            for (uint32_t k = 0; k < 4; k++) {
                if (p == 2 || (shape.has_high && p == 3)) { from[k] = _mm256_srli_epi16(from[k], 4); }
                w[k] = _mm256_and_si256(from[k], _mm256_set1_epi8((char)mask));
            }
            for (uint64_t a = 0; a < acts; a++) {
                sums[a][2 * p + h] = tn_dot_eights(w, x[a].codes + 128 * n + 32 * p + 16 * h, 0);
            }
        }
    }
}

/** The float steps of group g with one activation row. */
TN_INLINE __m256 tn_plane_step8(__m256i sum, __m256 scale, __m256 minimum, uint32_t g, tn_planes shape,
                                const tn_plane_act *x, __m256 acc) {
    __m256 x_scale = _mm256_set1_ps(x->scales[g / 2]);
    if (shape.has_high) { sum = _mm256_add_epi32(sum, _mm256_set1_epi32(x->start[g])); }
    __m256 product = _mm256_cvtepi32_ps(sum);
    if (!shape.has_high && g / 2 % 2) { product = _mm256_mul_ps(product, _mm256_set1_ps(0.25f)); } /* exact */
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
    __m256i sums[TN_MAX_ROWS][8];
    tn_plane_heads8 heads;
    open_heads(rows, &heads);
    __asm__("" : "+m"(heads));
#pragma GCC unroll 2
    for (uint32_t n = 0; n < 2; n++, next += 4 * shape.bytes) { /* halves of the block */
        for (uint32_t line = 0; line < (shape.bytes + 15) / 16; line++) {
            tn_prefetch_twice(next + 64 * line, next_group);
        }
        tn_plane_sums8(rows, shape, n, x, acts, sums);
        __asm__("" : "+m"(sums)); /* registers are few, and wanted for the accumulators */
#pragma GCC unroll 8
        for (uint32_t g = 0; g < 8; g++) {
            __m256 scale, minimum;
            open_scale(heads.d, heads.m, heads.words[2 * n + g / 4], g % 4, &scale, &minimum);
            for (uint64_t a = 0; a < acts; a++) {
                acc[a] = tn_plane_step8(sums[a][g], scale, minimum, 8 * n + g, shape, &x[a], acc[a]);
            }
        }
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
        tn_advance8(&rows, shape.bytes);
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
