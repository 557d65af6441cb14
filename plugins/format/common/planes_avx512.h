/*
 * planes_avx512.h - gemv and unpack with AVX-512 VNNI for codes in planes of two bits, sixteen rows at a time:
 * built like planes_avx2.h, which says how.
 */
#ifndef TENON_PLANES_AVX512_H
#define TENON_PLANES_AVX512_H

#include "groups16_avx512.h"
#include "planes.h"

/** The heads of a block column of sixteen rows, row r in lane r: the sub-scales of groups 4 q .. 4 q + 3 as the
 * signed bytes of subs[q], their minimums times 16 in minimums[q], and the scales of the whole block. */
typedef struct tn_plane_heads16 {
    __m512i subs[4], minimums[4];
    __m512 d, m;
} tn_plane_heads16;
typedef void tn_plane_open16(const tn_row_group *rows, tn_plane_heads16 *heads);

/** The unsigned codes of plane p, those of every second plane times 4; `low` is moved down by 4 bits for the
 * upper two planes. The third bit is bit `bit` of `high`. */
TN_INLINE __m512i tn_plane_codes16(__m512i low, __m512i high, uint32_t bit, uint32_t p, tn_planes shape) {
    uint32_t place = p % 2 * 2, above = place + 2;
    low = _mm512_and_si512(low, _mm512_set1_epi8((char)(3 << place)));
    if (!shape.has_high) { return low; }
    if (bit < above) { high = _mm512_slli_epi16(high, above - bit); }
    if (bit > above) { high = _mm512_srli_epi16(high, bit - above); }
    return _mm512_ternarylogic_epi32(low, high, _mm512_set1_epi8((char)(1 << above)), 0xf8); /* a | b & c */
}

TN_INLINE void tn_plane_act_open16(tn_planes shape, tn_plane_act *x) {
    __m256 factors =
        _mm256_setr_ps(0x1p-8f, 0x1p-10f, 0x1p-8f, 0x1p-10f, 0x1p-8f, 0x1p-10f, 0x1p-8f, 0x1p-10f);
    _mm256_storeu_ps(x->steps, _mm256_mul_ps(_mm256_loadu_ps(x->scales), factors));
    if (shape.has_high) {
        __m512i sums = _mm512_cvtepi16_epi32(_mm256_loadu_si256((const void *)x->sums));
        __m512i places =
            _mm512_setr_epi32(-4, -4, -16, -16, -4, -4, -16, -16, -4, -4, -16, -16, -4, -4, -16, -16);
        _mm512_storeu_si512(x->start, _mm512_mullo_epi32(sums, places));
    }
    __asm__("" : "+m"(*x)); /* broadcast them from memory, which is free; not from a register */
}

/** Adds products with four activation codes. Compilers do not make one instruction of it by themselves. */
TN_INLINE __m512i tn_plane_dot16(__m512i sum, __m512i w, const int8_t *codes) {
    __asm__("vpdpbusd %2%{1to16%}, %1, %0" : "+v"(sum) : "v"(w), "m"(*(const int8_t(*)[4])codes));
    return sum;
}

/** Byte i of each lane as the upper byte of its lower half. */
TN_INLINE __m512i tn_plane_sub16(__m512i words, uint32_t i) {
    return _mm512_maskz_shuffle_epi8(
        0x2222222222222222, words,
        _mm512_add_epi32(_mm512_set1_epi32((int)(i << 8)), _mm512_set4_epi32(0x0c00, 0x0800, 0x0400, 0)));
}

/** Bytes 2 i and 2 i + 1 of each lane as two 16-bit numbers. */
TN_INLINE __m512i tn_plane_pair16(__m512i words, uint32_t i) {
    __m512i from = _mm512_add_epi32(_mm512_set1_epi32((int)(0x80018000 + i * 0x00020002)),
                                    _mm512_set4_epi32(0x000c000c, 0x00080008, 0x00040004, 0));
    return _mm512_shuffle_epi8(words, from);
}

/** Columns 128 n + 32 p + 16 h .. + 15, p = 0 .. 3, of sixteen rows: sub-scales times their sums, added to those
 * in pieces[a][p] if h. Sums of 16 products fit 16 bits, the lower half of a lane. */
TN_INLINE void tn_planes_sixteen16(const tn_row_group *rows, tn_planes shape, const tn_plane_heads16 *heads,
                                   uint32_t n, uint32_t h, const tn_plane_act *x, uint64_t acts,
                                   __m512i (*pieces)[4]) {
    __m512i low[4], high[4] = {0}, w[4];
    tn_transpose16(rows, shape.low + 32 * n + 16 * h, low);
    if (shape.has_high) { tn_transpose16(rows, shape.high + 16 * h, high); }
#pragma GCC unroll 4
    for (uint32_t p = 0; p < 4; p++) {
        uint32_t g = 8 * n + 2 * p + h;
        for (uint32_t k = 0; k < 4; k++) {
            if (p == 2) { low[k] = _mm512_srli_epi16(low[k], 4); }
            w[k] = tn_plane_codes16(low[k], high[k], 4 * n + p, p, shape);
        }
        __m512i sub = tn_plane_sub16(heads->subs[g / 4], g % 4);
        for (uint64_t a = 0; a < acts; a++) {
            __m512i sum = shape.has_high ? _mm512_set1_epi32(x[a].start[g]) : _mm512_setzero_si512();
            for (uint32_t k = 0; k < 4; k++) { sum = tn_plane_dot16(sum, w[k], x[a].codes + 16 * g + 4 * k); }
            pieces[a][p] = _mm512_dpwssd_epi32(h ? pieces[a][p] : _mm512_setzero_si512(), sum, sub);
        }
    }
}

/* A block column of sixteen rows. `acts` is a constant or the number of rows of x. */
TN_INLINE void tn_planes_column16(const tn_row_group *rows, tn_planes shape, tn_plane_open16 *open_heads,
                                  const uint8_t *next, uint64_t next_group, const tn_plane_act *x,
                                  uint64_t acts, __m512 *acc) {
    __m512i pieces[TN_MAX_ROWS][4];
    __m512 t[TN_MAX_ROWS], u[TN_MAX_ROWS]; /* sums of the products, and of the minimums, over the block */
    tn_plane_heads16 heads;
    open_heads(rows, &heads);
    if (shape.has_minimum) { __asm__("" : "+m"(heads)); } /* measured: memory comes a fifth faster */
    for (uint64_t a = 0; a < acts; a++) { t[a] = u[a] = _mm512_setzero_ps(); }
#pragma GCC unroll 2
    for (uint32_t n = 0; n < 2; n++) { /* halves of the block */
#pragma GCC unroll 2
        for (uint32_t h = 0; h < 2; h++) {
            uint32_t q = 2 * n + h;
            for (uint32_t line = (q * shape.bytes + 15) / 16; line < ((q + 1) * shape.bytes + 15) / 16;
                 line++) {
                tn_prefetch_twice(next + 64 * line, next_group);
            }
            tn_planes_sixteen16(rows, shape, &heads, n, h, x, acts, pieces);
        }
#pragma GCC unroll 4
        for (uint32_t p = 0; p < 4; p++) {
            uint32_t e = 4 * n + p;
            __m512i minimums = tn_plane_pair16(heads.minimums[e / 2], e % 2);
            for (uint64_t a = 0; a < acts; a++) {
                t[a] = _mm512_fmadd_ps(_mm512_cvtepi32_ps(pieces[a][p]), _mm512_set1_ps(x[a].steps[e]), t[a]);
                if (!shape.has_minimum) { continue; }
                __m512i sums = _mm512_set1_epi32(tn_load_i32((const uint8_t *)(x[a].sums + 2 * e)));
                u[a] = _mm512_fmadd_ps(_mm512_cvtepi32_ps(_mm512_madd_epi16(minimums, sums)),
                                       _mm512_set1_ps(x[a].scales[e]), u[a]);
            }
        }
    }
    for (uint64_t a = 0; a < acts; a++) {
        acc[a] = _mm512_fmadd_ps(t[a], heads.d, acc[a]);
        if (shape.has_minimum) { acc[a] = _mm512_fmadd_ps(u[a], heads.m, acc[a]); }
    }
}

/* Sixteen rows from row r on. `acts` is a constant or call->act_rows. */
TN_INLINE void tn_planes_rows_avx512(const tn_gemv *call, tn_planes shape, tn_plane_open16 *open_heads,
                                     uint64_t r, uint64_t acts) {
    const uint8_t *first = (const uint8_t *)call->blocks + r * call->row_stride;
    const uint8_t *next = tn_ahead(first, 16 * call->row_stride);
    tn_row_group rows = tn_group_rows(first, call->row_stride, call->rows - r, 4);
    tn_plane_act x[TN_MAX_ROWS];
    __m512 acc[TN_MAX_ROWS];
    tn_plane_acts(call, x);
    for (uint64_t a = 0; a < acts; a++) { acc[a] = _mm512_setzero_ps(); }
    for (uint64_t col = 0; col < call->cols; col += 256) {
        for (uint64_t a = 0; a < acts; a++) { tn_plane_act_open16(shape, &x[a]); }
        tn_planes_column16(&rows, shape, open_heads, next, 16 * call->row_stride, x, acts, acc);
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
TN_INLINE void tn_planes_gemv_one_avx512(const tn_gemv *call, tn_planes shape, tn_plane_open16 *open_heads) {
    for (uint64_t r = 0; r < call->rows; r += 16) { tn_planes_rows_avx512(call, shape, open_heads, r, 1); }
}
TN_INLINE void tn_planes_gemv_many_avx512(const tn_gemv *call, tn_planes shape, tn_plane_open16 *open_heads) {
    for (uint64_t r = 0; r < call->rows; r += 16) {
        tn_planes_rows_avx512(call, shape, open_heads, r, call->act_rows);
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
                                       tn_plane_open_head *open_head) {
    for (uint64_t r = 0; r < call->rows; r++) {
        const uint8_t *block =
            (const uint8_t *)call->blocks + r * call->row_stride + call->col_from / 256 * shape.bytes;
        int8_t *codes = (int8_t *)call->codes + r * call->code_stride;
        for (uint64_t b = 0; b < (call->col_to - call->col_from) / 256; b++) {
            for (uint32_t quarter = 0; quarter < 4; quarter++) {
                _mm512_storeu_si512(codes + 64 * quarter, tn_planes_quarter(block, shape, quarter));
            }
            tn_planes_unpack_head(call, shape, block, open_head, r, b);
            block += shape.bytes;
            codes += 256;
        }
    }
}

#endif
