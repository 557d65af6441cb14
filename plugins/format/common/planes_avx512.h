/*
 * planes_avx512.h - gemv and unpack with AVX-512 VNNI for codes in planes of two bits.
 *
 * So few bits a column are soon read, and then every instruction counts: four columns of sixteen rows lie
 * in a vector, one row a lane, so that no tree has to gather a row's products. A plane's codes stay where
 * they are in their bytes (of the upper planes of 3-bit codes two bits lower), which multiplies them, and
 * their sum, by a power of four; the conversion to float takes it out.
 */
#ifndef TENON_PLANES_AVX512_H
#define TENON_PLANES_AVX512_H

#include "groups16_avx512.h"
#include "planes.h"

/** The heads of a block column of sixteen rows, row r in lane r: what the scales of groups 4 k .. 4 k + 3
 * are made of in words[k], and the scales (and minimums) of the whole block. */
typedef struct tn_plane_heads16 {
    __m512i words[4];
    __m512 d, m, d_anchor, m_anchor; /* the latter for open_scale's use */
} tn_plane_heads16;
typedef void tn_plane_open16(const tn_row_group *rows, tn_plane_heads16 *heads);
/** From one of the words: the scale (and minimum) of its i-th group. */
typedef void tn_plane_scale16(const tn_plane_heads16 *heads, __m512i word, uint32_t i, __m512 *scale,
                              __m512 *minimum);
/** The scales (and minimums) of one block, group g in lane g. */
typedef void tn_plane_row_scales16(const uint8_t *block, __m512 *scales, __m512 *minimums);

/** By how many bits the codes of plane p lie above the lowest bit of a byte. */
TN_INLINE uint32_t tn_plane_place(uint32_t p, tn_planes shape) {
    return shape.has_high && p > 1 ? 2 * p - 2 : 2 * p;
}

/** The bits of the float 1.5 * 2^(23 - place). An integer below 2^22 in magnitude, added to them, adds integer
 * / 2^place to the float: sums begin at these bits, and subtracting the float converts them, exactly. */
TN_INLINE int32_t tn_plane_anchor(uint32_t place) {
    return 0x4b400000 - (int32_t)(place << 23);
}

/** The unsigned codes of plane p, times 1 << tn_plane_place(p); the third bit is that bit of `high`. */
TN_INLINE __m512i tn_plane_codes16(__m512i low, __m512i high, uint32_t bit, uint32_t p, tn_planes shape) {
    uint32_t place = tn_plane_place(p, shape), above = place + 2;
    if (place < 2 * p) { low = _mm512_srli_epi16(low, 2); }
    low = _mm512_and_si512(low, _mm512_set1_epi8((char)(3 << place)));
    if (!shape.has_high) { return low; }
    high = bit < above ? _mm512_slli_epi16(high, above - bit) : _mm512_srli_epi16(high, bit - above);
    return _mm512_ternarylogic_epi32(low, high, _mm512_set1_epi8((char)(1 << above)), 0xf8); /* a | b & c */
}

TN_INLINE void tn_plane_act_open16(tn_planes shape, tn_plane_act *x) {
    __m512i sums = _mm512_cvtepi16_epi32(_mm256_loadu_si256((const void *)x->sums));
    if (shape.has_high) {
        __m512i places = _mm512_setr_epi32(0, 0, 2, 2, 2, 2, 4, 4, 0, 0, 2, 2, 2, 2, 4, 4);
        __m512i anchors =
            _mm512_sub_epi32(_mm512_set1_epi32(tn_plane_anchor(0)), _mm512_slli_epi32(places, 23));
        __m512i fours = _mm512_sllv_epi32(_mm512_slli_epi32(sums, 2), places);
        _mm512_storeu_si512(x->start, _mm512_sub_epi32(anchors, fours));
    }
    if (shape.has_minimum) { _mm512_storeu_ps(x->float_sums, _mm512_cvtepi32_ps(sums)); }
    __asm__("" : "+m"(*x)); /* broadcast them from memory, which is free; not from a register */
}

/** Where the sum of products of group g begins. */
TN_INLINE __m512i tn_plane_start16(uint32_t g, tn_planes shape, const tn_plane_act *x) {
    return _mm512_set1_epi32(shape.has_high ? x->start[g]
                                            : tn_plane_anchor(tn_plane_place(g % 8 / 2, shape)));
}

/** Adds products with four activation codes. Compilers do not make one instruction of it by themselves. */
TN_INLINE __m512i tn_plane_dot16(__m512i sum, __m512i w, const int8_t *codes) {
    __asm__("vpdpbusd %2%{1to16%}, %1, %0" : "+v"(sum) : "v"(w), "m"(*(const int8_t(*)[4])codes));
    return sum;
}

/** A finished sum of group g as a float; this is exact. */
TN_INLINE __m512 tn_plane_product16(__m512i sum, uint32_t g, tn_planes shape) {
    __m512i anchor = _mm512_set1_epi32(tn_plane_anchor(tn_plane_place(g % 8 / 2, shape)));
    return _mm512_sub_ps(_mm512_castsi512_ps(sum), _mm512_castsi512_ps(anchor));
}

/** The float steps of group g with one activation row. */
TN_INLINE __m512 tn_plane_step16(__m512 product, __m512 scale, __m512 minimum, uint32_t g, tn_planes shape,
                                 const tn_plane_act *x, __m512 acc) {
    __m512 x_scale = _mm512_set1_ps(x->scales[g / 2]);
    acc = _mm512_fmadd_ps(product, _mm512_mul_ps(scale, x_scale), acc);
    if (shape.has_minimum) {
        acc = _mm512_fmadd_ps(_mm512_set1_ps(x->float_sums[g]), _mm512_mul_ps(minimum, x_scale), acc);
    }
    return acc;
}

/* The products of groups g, g + 2, g + 4 and g + 6, whose codes lie in the same bytes: four chains at once, of
 * which none has to wait for itself. */
TN_INLINE void tn_plane_products16(const __m512i *low, const __m512i *high, uint32_t g, tn_planes shape,
                                   const tn_plane_act *x, __m512 *products) {
    __m512i sums[4];
    for (uint32_t p = 0; p < 4; p++) { sums[p] = tn_plane_start16(g + 2 * p, shape, x); }
    for (uint32_t k = 0; k < 4; k++) {
        for (uint32_t p = 0; p < 4; p++) {
            __m512i w = tn_plane_codes16(low[k], high[k], g / 8 * 4 + p, p, shape);
            sums[p] = tn_plane_dot16(sums[p], w, x->codes + 16 * (g + 2 * p) + 4 * k);
        }
    }
    for (uint32_t p = 0; p < 4; p++) { products[p] = tn_plane_product16(sums[p], g + 2 * p, shape); }
}

/*
 * A block column of sixteen rows with one activation row, a quarter of the planes at a time: registers hold
 * no more. Third bits serve two quarters, half a block apart, so these follow each other. (Measured on Zen 4:
 * how fast memory comes depends on where the prefetches lie; this is the best order found.)
 */
TN_INLINE void tn_planes_column16(const tn_row_group *rows, tn_planes shape, tn_plane_open16 *open_heads,
                                  tn_plane_scale16 *open_scale, const uint8_t *next, uint64_t next_group,
                                  const tn_plane_act *x, __m512 *acc) {
    __m512i low[4], high[4] = {0};
    __m512 products[2][2][4];
    tn_plane_heads16 heads;
    if (shape.has_high) { tn_transpose16(rows, shape.high, high); }
    tn_transpose16(rows, shape.low, low);
    if (!shape.has_high) { open_heads(rows, &heads); }
#pragma GCC unroll 4
    for (uint32_t q = 0; q < 4; q++) {
        uint32_t n = shape.has_high ? q % 2 : q / 2, i = shape.has_high ? q / 2 : q % 2;
        for (uint32_t line = (q * shape.bytes + 15) / 16; line < ((q + 1) * shape.bytes + 15) / 16; line++) {
            tn_prefetch_twice(next + 64 * line, next_group);
        }
        if (q == 2 && shape.has_high) { tn_transpose16(rows, shape.high + 16, high); }
        if (q > 0) { tn_transpose16(rows, shape.low + 32 * n + 16 * i, low); }
        if (q == 1 && shape.has_high) { open_heads(rows, &heads); }
        tn_plane_products16(low, high, 8 * n + i, shape, x, products[n][i]);
        if (i == 0) { continue; }
#pragma GCC unroll 8
        for (uint32_t g = 8 * n; g < 8 * n + 8; g++) {
            __m512 scale, minimum;
            open_scale(&heads, heads.words[g / 4], g % 4, &scale, &minimum);
            *acc = tn_plane_step16(products[n][g % 2][g % 8 / 2], scale, minimum, g, shape, x, *acc);
        }
    }
}

/* The same with several rows of activations, group by group: codes are opened once for all of them. */
TN_INLINE void tn_planes_column16_many(const tn_row_group *rows, tn_planes shape, tn_plane_open16 *open_heads,
                                       tn_plane_scale16 *open_scale, const uint8_t *next, uint64_t next_group,
                                       const tn_plane_act *x, uint64_t acts, __m512 *acc) {
    __m512i low[8], high[8] = {0};
    tn_plane_heads16 heads;
    open_heads(rows, &heads);
    if (shape.has_high) {
        tn_transpose16(rows, shape.high, high);
        tn_transpose16(rows, shape.high + 16, high + 4);
    }
#pragma GCC unroll 1
    for (uint32_t n = 0; n < 2; n++) { /* halves of the block */
        tn_transpose16(rows, shape.low + 32 * n, low);
        tn_transpose16(rows, shape.low + 32 * n + 16, low + 4);
        for (uint32_t line = 0; line < (shape.bytes + 7) / 8; line++) {
            tn_prefetch_twice(next + 8 * shape.bytes * n + 64 * line, next_group);
        }
#pragma GCC unroll 8
        for (uint32_t g = 0; g < 8; g++) {
            __m512i w[4];
            __m512 scale, minimum;
            for (uint32_t k = 0; k < 4; k++) {
                w[k] = tn_plane_codes16(low[g % 2 * 4 + k], high[g % 2 * 4 + k], g / 2, g / 2, shape);
            }
            open_scale(&heads, heads.words[g / 4], g % 4, &scale, &minimum);
            for (uint64_t a = 0; a < acts; a++) {
                const int8_t *codes = x[a].codes + 16 * (8 * n + g);
                __m512i sum = tn_plane_start16(8 * n + g, shape, &x[a]);
                for (uint32_t k = 0; k < 4; k++) { sum = tn_plane_dot16(sum, w[k], codes + 4 * k); }
                acc[a] = tn_plane_step16(tn_plane_product16(sum, g, shape), scale, minimum, 8 * n + g, shape,
                                         &x[a], acc[a]);
            }
        }
        heads.words[0] = heads.words[2];
        heads.words[1] = heads.words[3];
        for (uint32_t k = 0; shape.has_high && k < 8; k++) { high[k] = _mm512_srli_epi16(high[k], 4); }
    }
}

/* Sixteen rows from row r on. `acts` is a constant or call->act_rows. */
TN_INLINE void tn_planes_rows_avx512(const tn_gemv *call, tn_planes shape, tn_plane_open16 *open_heads,
                                     tn_plane_scale16 *open_scale, uint64_t r, uint64_t acts) {
    const uint8_t *first = (const uint8_t *)call->blocks + r * call->row_stride;
    const uint8_t *next = tn_ahead(first, 16 * call->row_stride);
    tn_row_group rows = tn_group_rows(first, call->row_stride, call->rows - r, 4);
    tn_plane_act x[TN_MAX_ROWS];
    __m512 acc[TN_MAX_ROWS];
    tn_plane_acts(call, x);
    for (uint64_t a = 0; a < acts; a++) { acc[a] = _mm512_setzero_ps(); }
    for (uint64_t col = 0; col < call->cols; col += 256) {
        for (uint64_t a = 0; a < acts; a++) { tn_plane_act_open16(shape, &x[a]); }
        if (acts == 1) {
            tn_planes_column16(&rows, shape, open_heads, open_scale, next, 16 * call->row_stride, x, acc);
        } else {
            tn_planes_column16_many(&rows, shape, open_heads, open_scale, next, 16 * call->row_stride, x,
                                    acts, acc);
        }
        for (uint64_t a = 0; a < acts; a++) {
            x[a].codes += 256;
            x[a].scales += 8;
            x[a].sums += 16;
        }
        tn_advance(&rows, shape.bytes, 4);
        next += 16 * shape.bytes;
    }
    for (uint64_t a = 0; a < acts; a++) {
        tn_store16(call->out + a * call->out_stride + r, &rows, call->rows - r, acc[a]);
    }
}

/** For one activation row, and for several: in functions of their own. (Measured: next to the code for several
 * the compiler places that for one so that memory comes a fifth slower.) */
TN_INLINE void tn_planes_gemv_one_avx512(const tn_gemv *call, tn_planes shape, tn_plane_open16 *open_heads,
                                         tn_plane_scale16 *open_scale) {
    for (uint64_t r = 0; r < call->rows; r += 16) {
        tn_planes_rows_avx512(call, shape, open_heads, open_scale, r, 1);
    }
}
TN_INLINE void tn_planes_gemv_many_avx512(const tn_gemv *call, tn_planes shape, tn_plane_open16 *open_heads,
                                          tn_plane_scale16 *open_scale) {
    for (uint64_t r = 0; r < call->rows; r += 16) {
        tn_planes_rows_avx512(call, shape, open_heads, open_scale, r, call->act_rows);
    }
}

/** Columns 64 * quarter .. + 63 of a block: codes with their signs. */
TN_INLINE __m512i tn_planes_quarter(const uint8_t *block, tn_planes shape, uint32_t quarter) {
    int64_t shift = 4 * (quarter % 2);
    __m512i both = _mm512_setr_epi64(shift, shift, shift, shift, shift + 2, shift + 2, shift + 2, shift + 2);
    const uint8_t *at = block + shape.low + 32 * (quarter / 2);
    __m512i q = _mm512_srlv_epi64(_mm512_broadcast_i64x4(_mm256_loadu_si256((const void *)at)), both);
    q = _mm512_and_si512(q, _mm512_set1_epi8(3));
    if (shape.has_high) {
        __m512i high = _mm512_broadcast_i64x4(_mm256_loadu_si256((const void *)(block + shape.high)));
        __m512i first = _mm512_set1_epi8((char)(1 << 2 * quarter));
        __m512i bits = _mm512_mask_add_epi8(first, 0xffffffff00000000, first, first);
        q = _mm512_mask_sub_epi8(q, _mm512_testn_epi8_mask(high, bits), q, _mm512_set1_epi8(4));
    }
    return q;
}

TN_INLINE void tn_planes_unpack_avx512(const tn_unpack *call, tn_planes shape,
                                       tn_plane_row_scales16 *open_scales) {
    for (uint64_t r = 0; r < call->rows; r++) {
        const uint8_t *block =
            (const uint8_t *)call->blocks + r * call->row_stride + call->col_from / 256 * shape.bytes;
        int8_t *codes = (int8_t *)call->codes + r * call->code_stride;
        uint64_t scale = r * call->scale_stride;
        for (uint64_t col = call->col_from; col < call->col_to; col += 256) {
            __m512 scales, minimums;
            for (uint32_t quarter = 0; quarter < 4; quarter++) {
                _mm512_storeu_si512(codes + 64 * quarter, tn_planes_quarter(block, shape, quarter));
            }
            open_scales(block, &scales, &minimums);
            _mm512_storeu_ps(call->scales + scale, scales);
            if (shape.has_minimum) { _mm512_storeu_ps(call->minimums + scale, minimums); }
            block += shape.bytes;
            codes += 256;
            scale += 16;
        }
    }
}

#endif
