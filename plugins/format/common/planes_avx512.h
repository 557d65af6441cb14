/*
 * planes_avx512.h - gemv and unpack with AVX-512 VNNI for codes in planes of two bits, sixteen rows at a time:
 * built like planes_avx2.h, which says how.
 *
 * A block column is worked on in four steps. In each, bytes of the next one are loaded and transposed between
 * products: then none waits for its operands (measured on Zen 4: a tenth of the time).
 */
#ifndef TENON_PLANES_AVX512_H
#define TENON_PLANES_AVX512_H

#include "groups16_avx512.h"
#include "planes.h"

/** The heads of a block column of sixteen rows, row r in lane r: the sub-scales of groups 4 q .. 4 q + 3 as the
 * signed bytes of subs[q] (with third bits times 4), or where there are minimums as nibbles below those; and the
 * scales of the whole block, those of the minimums for minimums times 16. */
typedef struct tn_plane_heads16 {
    __m512i subs[4];
    __m512 d, m;
} tn_plane_heads16;
typedef void tn_plane_open16(const tn_row_group *rows, tn_plane_heads16 *heads);

/** What is read of a block column before its turn: its heads and the bytes of its first step, transposed. */
typedef struct tn_plane_front16 {
    tn_plane_heads16 heads;
    __m512i low[4], high[4];
} tn_plane_front16;

/** Step q = 0 .. 3: columns 128 n + 32 p + 16 h .. + 15 of the planes p = 0 .. 3, with n = q / 2. In this order of h
 * third bits serve for two steps before others come. */
TN_INLINE uint32_t tn_plane_h(uint32_t q) {
    return q == 1 || q == 2;
}

/** The third bit of plane p, bit p of each byte of `nibbles`, moved above the code's two others. */
TN_INLINE __m512i tn_plane_third16(__m512i nibbles, uint32_t p) {
    if (p == 2) { return _mm512_and_si512(nibbles, _mm512_set1_epi8(4)); } /* it is there */
    __m512i places = p == 0   ? _mm512_set1_epi16(0x0400)
                     : p == 1 ? _mm512_set1_epi32(0x10100000)
                              : _mm512_set4_epi32(0x10101010, 0x10101010, 0, 0);
    return _mm512_shuffle_epi8(places, nibbles);
}

/** The unsigned codes of four planes out of their bytes, those of every second plane times 4. Bit 4 n + p of `high`
 * is the third of plane p. */
TN_INLINE void tn_plane_codes16(__m512i low, __m512i high, uint32_t n, tn_planes shape, __m512i *w) {
    if (n) { high = _mm512_srli_epi16(high, 4); }
    high = _mm512_and_si512(high, _mm512_set1_epi8(15));
    for (uint32_t p = 0; p < 4; p++) {
        __m512i two = _mm512_set1_epi8((char)(p % 2 ? 12 : 3));
        if (p == 2) { low = _mm512_srli_epi16(low, 4); }
        w[p] = shape.has_high
                   ? _mm512_ternarylogic_epi32(tn_plane_third16(high, p), low, two, 0xf8) /* a | b & c */
                   : _mm512_and_si512(low, two);
    }
}

TN_INLINE void tn_plane_act_open16(tn_planes shape, tn_plane_act *x) {
    float even = shape.has_high ? 0x1p-10f : 0x1p-8f, odd = even / 4;
    __m256 factors = _mm256_setr_ps(even, odd, even, odd, even, odd, even, odd);
    _mm256_storeu_ps(x->steps, _mm256_mul_ps(_mm256_loadu_ps(x->scales), factors));
    if (shape.has_high) {
        __m512i sums = _mm512_cvtepi16_epi32(_mm256_loadu_si256((const void *)x->sums));
        __m512i places =
            _mm512_setr_epi32(-4, -4, -16, -16, -4, -4, -16, -16, -4, -4, -16, -16, -4, -4, -16, -16);
        _mm512_storeu_si512(x->start, _mm512_mullo_epi32(sums, places));
    }
    /* Broadcast them from memory, which is free; not from a register. */
    __asm__("" : "+m"(x->steps), "+m"(x->start));
}

/** Sums of products in step q: where they begin, and products with columns 4 k .. 4 k + 3 of its sixteens. */
TN_INLINE void tn_planes_start16(tn_planes shape, uint32_t q, const tn_plane_act *x, __m512i *sums) {
    for (uint32_t p = 0; p < 4; p++) {
        uint32_t g = 8 * (q / 2) + 2 * p + tn_plane_h(q);
        sums[p] = shape.has_high ? _mm512_set1_epi32(x->start[g]) : _mm512_setzero_si512();
    }
}
TN_INLINE void tn_planes_dot16(const __m512i *w, uint32_t q, uint32_t k, const tn_plane_act *x,
                               __m512i *sums) {
    for (uint32_t p = 0; p < 4; p++) {
        uint32_t g = 8 * (q / 2) + 2 * p + tn_plane_h(q);
        sums[p] = tn_dot_four16(sums[p], w[p], x->codes + 16 * g + 4 * k);
    }
}

/** The sub-scales of plane p in step q, each as the upper byte of its lane's lower half. */
TN_INLINE __m512i tn_plane_subs16(const tn_plane_heads16 *heads, tn_planes shape, uint32_t q, uint32_t p) {
    uint32_t g = 8 * (q / 2) + 2 * p + tn_plane_h(q);
    __m512i words = heads->subs[g / 4];
    __m512i from =
        _mm512_add_epi32(_mm512_set1_epi32((int)(0x80800080 + (g % 4 << 8))), /* and zeros around it */
                         _mm512_set4_epi32(0x0c00, 0x0800, 0x0400, 0));
    if (shape.has_minimum) { words = _mm512_and_si512(words, _mm512_set1_epi8(15)); }
    return _mm512_shuffle_epi8(words, from);
}

/** The minimums of columns 32 e .. + 31, times 16, as the two 16-bit numbers of each lane. */
TN_INLINE __m512i tn_plane_minimums16(const tn_plane_heads16 *heads, tn_planes shape, uint32_t e) {
    if (!shape.has_minimum) { return _mm512_setzero_si512(); }
    __m512i words = _mm512_and_si512(heads->subs[e / 2], _mm512_set1_epi8((char)0xf0));
    __m512i from = _mm512_add_epi32(_mm512_set1_epi32((int)(0x80018000 + e % 2 * 0x00020002)),
                                    _mm512_set4_epi32(0x000c000c, 0x00080008, 0x00040004, 0));
    return _mm512_shuffle_epi8(words, from);
}

/** Sums of plane p in step q, which fit 16 bits, the lower half of a lane, times their sub-scales: with those of the
 * step before in every second, and then follow the float steps, of the products in t, of the minimums in u. */
TN_INLINE void tn_plane_finish16(tn_planes shape, uint32_t q, uint32_t p, __m512i sum, __m512i subs,
                                 __m512i minimums, const tn_plane_act *x, __m512i *piece, __m512 *t,
                                 __m512 *u) {
    uint32_t e = 4 * (q / 2) + p;
    *piece = _mm512_dpwssd_epi32(q % 2 ? *piece : _mm512_setzero_si512(), sum, subs);
    if (q % 2 == 0) { return; }
    *t = _mm512_fmadd_ps(_mm512_cvtepi32_ps(*piece), _mm512_set1_ps(x->steps[e]), *t);
    if (!shape.has_minimum) { return; }
    __m512i sums = _mm512_set1_epi32(tn_load_i32((const uint8_t *)(x->sums + 2 * e)));
    *u = _mm512_fmadd_ps(_mm512_cvtepi32_ps(_mm512_madd_epi16(minimums, sums)), _mm512_set1_ps(x->scales[e]),
                         *u);
}

/* A block column of sixteen rows, of which the front has been read; reads that of the next, `step` bytes further.
 * `acts` is a constant, 1, or the number of rows of x, and then `single` is 0. One row's products are summed as
 * codes are opened; for several rows all codes of a step are opened first. */
TN_INLINE void tn_planes_column16(tn_row_group *rows, uint64_t step, tn_planes shape,
                                  tn_plane_open16 *open_heads, const uint8_t *next, uint64_t next_group,
                                  tn_plane_front16 *front, const tn_plane_act *x, uint64_t acts, int single,
                                  __m512 *acc) {
    __m512i pieces[TN_MAX_ROWS][4], other[4] = {0}; /* the third bits of the steps with h = 1 */
    __m512 t[TN_MAX_ROWS], u[TN_MAX_ROWS];          /* sums over the block */
    tn_plane_heads16 heads = front->heads;
    for (uint64_t a = 0; a < acts; a++) { t[a] = u[a] = _mm512_setzero_ps(); }
#pragma GCC unroll 4
    for (uint32_t q = 0; q < 4; q++) {
        uint32_t coming = q == 3 ? 0 : 32 * ((q + 1) / 2) + 16 * tn_plane_h(q + 1);
        int third = shape.has_high && coming < 32;
        const __m512i *high = tn_plane_h(q) ? other : front->high;
        __m512i w[4][4], sums[4], subs[4], minimums[4];
        tn_transposing16 low_ahead, high_ahead;
        if (q == 3) { tn_advance(rows, step, 4); }
        /* Distances are added where they are used: sums of them with offsets do not fit the registers. */
        __asm__("" : "+r"(rows->apart[1]), "+r"(rows->apart[2]), "+r"(rows->apart[3]));
        if (single) { tn_planes_start16(shape, q, x, sums); }
#pragma GCC unroll 4
        for (uint32_t k = 0; k < 4; k++) {
            tn_prefetch_sixteenth(next, next_group, shape.bytes, 4 * q + k);
            tn_transpose_part16(rows, shape.low + coming, k, &low_ahead);
            if (third) { tn_transpose_part16(rows, shape.high + coming, k, &high_ahead); }
            tn_plane_codes16(front->low[k], high[k], q / 2, shape, w[k]);
            if (single) { tn_planes_dot16(w[k], q, k, x, sums); }
        }
        tn_turn_end16(low_ahead.pairs, front->low);
        if (third) { tn_turn_end16(high_ahead.pairs, q ? front->high : other); }
        if (q == 3) { open_heads(rows, &front->heads); }
        for (uint32_t p = 0; p < 4; p++) {
            subs[p] = tn_plane_subs16(&heads, shape, q, p);
            minimums[p] = tn_plane_minimums16(&heads, shape, 4 * (q / 2) + p);
        }
#pragma GCC unroll 1
        for (uint64_t a = 0; a < acts; a++) {
            if (!single) {
                tn_planes_start16(shape, q, &x[a], sums);
                for (uint32_t k = 0; k < 4; k++) { tn_planes_dot16(w[k], q, k, &x[a], sums); }
            }
            for (uint32_t p = 0; p < 4; p++) {
                tn_plane_finish16(shape, q, p, sums[p], subs[p], minimums[p], &x[a], &pieces[a][p], &t[a],
                                  &u[a]);
            }
        }
    }
    for (uint64_t a = 0; a < acts; a++) {
        acc[a] = _mm512_fmadd_ps(t[a], heads.d, acc[a]);
        if (shape.has_minimum) { acc[a] = _mm512_fmadd_ps(u[a], heads.m, acc[a]); }
    }
}

/* Sixteen rows from row r on. `acts` and `single` as above. */
TN_INLINE void tn_planes_rows_avx512(const tn_gemv *call, tn_planes shape, tn_plane_open16 *open_heads,
                                     uint64_t r, uint64_t acts, int single) {
    const uint8_t *first = (const uint8_t *)call->blocks + r * call->row_stride;
    const uint8_t *next = tn_ahead(first, 16 * call->row_stride);
    tn_row_group rows = tn_group_rows(first, call->row_stride, call->rows - r, 4);
    tn_plane_front16 front;
    tn_plane_act x[TN_MAX_ROWS];
    __m512 acc[TN_MAX_ROWS];
    tn_plane_acts(call, x);
    for (uint64_t a = 0; a < acts; a++) { acc[a] = _mm512_setzero_ps(); }
    open_heads(&rows, &front.heads);
    tn_transpose16(&rows, shape.low, front.low);
    if (shape.has_high) { tn_transpose16(&rows, shape.high, front.high); }
    for (uint64_t col = 0; col < call->cols; col += 256) {
        uint64_t step = col + 256 < call->cols ? shape.bytes : 0; /* there is none behind the last */
        for (uint64_t a = 0; a < acts; a++) { tn_plane_act_open16(shape, &x[a]); }
        tn_planes_column16(&rows, step, shape, open_heads, next, 16 * call->row_stride, &front, x, acts,
                           single, acc);
        for (uint64_t a = 0; a < acts; a++) {
            x[a].codes += 256;
            x[a].scales += 8;
            x[a].sums += 16;
        }
        next += 16 * shape.bytes;
        __asm__("" : "+r"(next)); /* one pointer, not one for each line */
    }
    for (uint64_t a = 0; a < acts; a++) {
        tn_store16(call->out + a * call->out_stride + r, &rows, call->rows - r, acc[a]);
    }
}

/** For one activation row, and for several: in functions of their own. (Measured: next to the code for several
 * the compiler places that for one so that memory comes a fifth slower.) */
TN_INLINE void tn_planes_gemv_one_avx512(const tn_gemv *call, tn_planes shape, tn_plane_open16 *open_heads) {
    for (uint64_t r = 0; r < call->rows; r += 16) { tn_planes_rows_avx512(call, shape, open_heads, r, 1, 1); }
}
TN_INLINE void tn_planes_gemv_many_avx512(const tn_gemv *call, tn_planes shape, tn_plane_open16 *open_heads) {
    for (uint64_t r = 0; r < call->rows; r += 16) {
        tn_planes_rows_avx512(call, shape, open_heads, r, call->act_rows, 0);
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
