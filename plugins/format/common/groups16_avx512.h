/*
 * groups16_avx512.h - gemv and unpack with AVX-512 VNNI for blocks of 256 columns with a scale for each 16,
 * an integer times a scale of the whole block.
 *
 * A vector holds 64 columns of one row, so each of its quarters is a group: four rows fold to a vector of
 * four groups, and a transpose of quarters gives a vector of sixteen rows for each group. Sums of products
 * begin at minus those of the bias, so that they are small: four rows at a time are folded by packs to 16
 * bits and additions of pairs, and codes are opened, multiplied and folded without leaving registers.
 */
#ifndef TENON_GROUPS16_AVX512_H
#define TENON_GROUPS16_AVX512_H

#include "simd_avx512.h"

/** Columns 128 n .. + 127 of a block, as codes plus the format's bias: 0 .. 63, and signed -32 .. 31. */
typedef void tn_open_half(const uint8_t *block, uint32_t n, __m512i *w);
/** A block column of sixteen rows: the sub-scales of groups 4 k .. 4 k + 3 as the signed bytes of subs[k],
 * row r in lane r, and the scales by which they are multiplied (exactly). */
typedef void tn_open_subs16(const tn_row_group *rows, __m512i *subs, __m512 *d);
/** The sixteen scales of one block. */
typedef __m512 tn_open_scales16(const uint8_t *block);

/** Rows that are loaded, and how far their transpose has come. */
typedef struct tn_transposing16 {
    __m512i quarters[4], pairs[4];
} tn_transposing16;

/** Part k = 0 .. 3, between other work, of transposing the 16 bytes at `offset`: the end comes after the last. */
TN_INLINE void tn_transpose_part16(const tn_row_group *rows, uint64_t offset, uint32_t k,
                                   tn_transposing16 *x) {
    for (uint32_t j = 2 * k; k < 2 && j < 2 * k + 2; j++) {
        x->quarters[j] = tn_load_quarters(rows, j, offset);
    }
    if (k == 2) { tn_turn_begin16(x->quarters, x->pairs); }
}

/** Adds products with four activation codes. Compilers do not make one instruction of it by themselves. */
TN_INLINE __m512i tn_dot_four16(__m512i sum, __m512i w, const int8_t *codes) {
    __asm__("vpdpbusd %2%{1to16%}, %1, %0" : "+v"(sum) : "v"(w), "m"(*(const int8_t(*)[4])codes));
    return sum;
}

/** Prefetches a sixteenth of the lines of a block column of sixteen rows: it is called once for each, between other
 * work, for many at once wait for each other. */
TN_INLINE void tn_prefetch_sixteenth(const uint8_t *next, uint64_t next_group, uint32_t bytes,
                                     uint32_t part) {
    uint32_t from = (part * bytes + 63) / 64, to = ((part + 1) * bytes + 63) / 64;
    for (uint32_t line = from; line < to; line++) { tn_prefetch_twice(next + 64 * line, next_group); }
}

/** Byte k of each lane, with its sign, times 2^24. */
TN_INLINE __m512i tn_byte_on_top16(__m512i words, uint32_t k) {
    __m512i from = _mm512_add_epi32(_mm512_set1_epi32((int)(0x808080 + (k << 24))),
                                    _mm512_set4_epi32(12 << 24, 8 << 24, 4 << 24, 0));
    return _mm512_shuffle_epi8(words, from);
}

/** Four vectors whose quarters are those of groups 0 .. 3 of rows 4 k .. 4 k + 3: of each group a vector, row
 * r in lane r. */
TN_INLINE void tn_transpose_quarters(const __m512i *u, __m512i *sums) {
    __m512i a = _mm512_shuffle_i64x2(u[0], u[1], 0x44), b = _mm512_shuffle_i64x2(u[0], u[1], 0xee);
    __m512i c = _mm512_shuffle_i64x2(u[2], u[3], 0x44), d = _mm512_shuffle_i64x2(u[2], u[3], 0xee);
    sums[0] = _mm512_shuffle_i64x2(a, c, 0x88);
    sums[1] = _mm512_shuffle_i64x2(a, c, 0xdd);
    sums[2] = _mm512_shuffle_i64x2(b, d, 0x88);
    sums[3] = _mm512_shuffle_i64x2(b, d, 0xdd);
}

/** 128 activation codes, and where sums of products with four of them begin: at minus their products with
 * the bias. */
typedef struct tn_act_half {
    __m512i codes[2], start[2];
} tn_act_half;

TN_INLINE tn_act_half tn_act_half_open(const tn_act *act, uint64_t row, uint64_t col, int32_t bias) {
    tn_act_half x;
    for (uint32_t i = 0; i < 2; i++) {
        x.codes[i] = _mm512_loadu_si512((const int8_t *)act->data + row * act->stride + col + 64 * i);
        x.start[i] = _mm512_dpbusd_epi32(_mm512_setzero_si512(), _mm512_set1_epi8((char)bias), x.codes[i]);
        x.start[i] = _mm512_sub_epi32(_mm512_setzero_si512(), x.start[i]);
    }
    return x;
}

/* The float steps of four groups, from column `col` on, with one activation row. */
TN_INLINE __m512 tn_step_quarter(const __m512i *folded, const __m512 *scales, const tn_act *act, uint64_t row,
                                 uint64_t col, __m512 acc) {
    const float *x_scales = act->scales + row * act->scale_stride + col / 32;
    __m512i sums[4];
    tn_transpose_quarters(folded, sums);
    for (uint32_t g = 0; g < 4; g++) {
        acc = _mm512_fmadd_ps(_mm512_cvtepi32_ps(sums[g]),
                              _mm512_mul_ps(scales[g], _mm512_set1_ps(x_scales[g / 2])), acc);
    }
    return acc;
}

/* Half n of a block column of sixteen rows: the sums of its groups by activation row, folded as for
 * tn_transpose_quarters. Prefetches half of the next group's blocks, and of those two columns further. */
TN_INLINE void tn_groups16_half16(const tn_row_group *rows, uint32_t bytes, uint32_t n, tn_open_half *open,
                                  const uint8_t *next, const tn_act_half *x, uint64_t acts,
                                  __m512i (*folded)[2][4]) {
#pragma GCC unroll 4
    for (uint32_t k = 0; k < 4; k++) { /* fours of rows */
        __m512i w[4][2];
#pragma GCC unroll 4
        for (uint32_t j = 0; j < 4; j++) {
            const uint8_t *row = tn_row(rows, 4 * k + j);
            tn_prefetch_part(next, 16 * bytes, 16 * n + 4 * k + j, 32);
            tn_prefetch_soon(row + 2 * bytes + 128 * n, 2);
            open(row, n, w[j]);
        }
#pragma GCC unroll 1
        for (uint64_t a = 0; a < acts; a++) {
            for (uint32_t i = 0; i < 2; i++) {
                __m512i v[4];
                for (uint32_t j = 0; j < 4; j++) {
                    v[j] = _mm512_dpbusd_epi32(x[a].start[i], w[j][i], x[a].codes[i]);
                }
                folded[a][i][k] = tn_sum_quarters_small(v);
            }
        }
    }
}

/* Sixteen rows from row r on. `acts` is a constant or call->act_rows. */
TN_INLINE void tn_groups16_rows_avx512(const tn_gemv *call, uint32_t bytes, int32_t bias, tn_open_half *open,
                                       tn_open_subs16 *open_subs, uint64_t r, uint64_t acts) {
    const uint8_t *first = (const uint8_t *)call->blocks + r * call->row_stride;
    const uint8_t *next = tn_ahead(first, 16 * call->row_stride);
    tn_row_group rows = tn_group_rows(first, call->row_stride, call->rows - r, 4);
    __m512 acc[TN_MAX_ROWS];
    for (uint64_t a = 0; a < acts; a++) { acc[a] = _mm512_setzero_ps(); }
    for (uint64_t col = 0; col < call->cols; col += 256, next += 16 * bytes) {
        __m512i subs[4];
        __m512 d;
        open_subs(&rows, subs, &d);
        d = _mm512_mul_ps(d, _mm512_set1_ps(0x1p-24f)); /* exact; subs are taken times 2^24 */
#pragma GCC unroll 2
        for (uint32_t n = 0; n < 2; n++) {
            tn_act_half x[TN_MAX_ROWS];
            __m512i folded[TN_MAX_ROWS][2][4];
#pragma GCC unroll 1
            for (uint64_t a = 0; a < acts; a++) {
                x[a] = tn_act_half_open(call->act, call->act_from + a, col + 128 * n, bias);
            }
            tn_groups16_half16(&rows, bytes, n, open, next, x, acts, folded);
#pragma GCC unroll 2
            for (uint32_t i = 0; i < 2; i++) {
                __m512 scales[4];
                for (uint32_t g = 0; g < 4; g++) {
                    __m512i sub = tn_byte_on_top16(subs[2 * n + i], g);
                    scales[g] = _mm512_mul_ps(d, _mm512_cvtepi32_ps(sub));
                }
#pragma GCC unroll 1
                for (uint64_t a = 0; a < acts; a++) {
                    acc[a] = tn_step_quarter(folded[a][i], scales, call->act, call->act_from + a,
                                             col + 128 * n + 64 * i, acc[a]);
                }
            }
        }
        tn_advance(&rows, bytes, 4);
    }
    for (uint64_t a = 0; a < acts; a++) {
        tn_store16(call->out + a * call->out_stride + r, &rows, call->rows - r, acc[a]);
    }
}

/** gemv over blocks of 256 columns in `bytes` bytes. */
TN_INLINE void tn_groups16_gemv_avx512(const tn_gemv *call, uint32_t bytes, int32_t bias, tn_open_half *open,
                                       tn_open_subs16 *open_subs) {
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
                                         tn_open_half *open, tn_open_scales16 *open_scales) {
    for (uint64_t r = 0; r < call->rows; r++) {
        const uint8_t *block =
            (const uint8_t *)call->blocks + r * call->row_stride + call->col_from / 256 * bytes;
        int8_t *codes = (int8_t *)call->codes + r * call->code_stride;
        float *scales = call->scales + r * call->scale_stride;
        for (uint64_t col = call->col_from; col < call->col_to; col += 256) {
            __m512i w[2];
            for (uint32_t i = 0; i < 4; i++) {
                if (i % 2 == 0) { open(block, i / 2, w); }
                __m512i q = _mm512_sub_epi8(w[i % 2], _mm512_set1_epi8((char)bias));
                _mm512_storeu_si512(codes + 64 * i, q);
            }
            _mm512_storeu_ps(scales, open_scales(block));
            block += bytes;
            codes += 256;
            scales += 16;
        }
    }
}

#endif
