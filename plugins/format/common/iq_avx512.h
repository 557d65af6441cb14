/*
 * iq_avx512.h - gemv and unpack of the IQ2 and IQ3 types with AVX-512 VNNI, given how a block's codes are
 * opened.
 *
 * A block of 256 columns is opened once, whatever the number of activation rows, into four vectors of codes
 * plus 64. Nothing needs its columns in order: they lie where a look-up leaves them, but so that each lane
 * (of 32 bits) of all four belongs to one group of columns, and the activation codes are put in the same
 * order. Four products then leave little to add: a tree of sixteen rows and a transpose give a vector of
 * sixteen rows for each group. The activations' sums, which take back the 64, are where the products begin.
 *
 * Loops over activation rows stay loops: unrolled to the most rows there can be, they were a third slower.
 */
#ifndef TENON_IQ_AVX512_H
#define TENON_IQ_AVX512_H

#include "iq_blocks.h"
#include "simd_avx512.h"

/* Groups lie in all four vectors of a block, in order: of 32 columns in quadwords, of 16 in lanes. */
enum tn_iq_groups { TN_IQ_GROUPS_32, TN_IQ_GROUPS_16 };

/** The codes of two blocks, plus 64: w[0] .. w[3] and w[4] .. w[7]. */
typedef void tn_iq_open_two(const uint8_t *a, const uint8_t *b, __m512i *w);
/** Codes of 256 columns into the order of the four vectors, and back. */
typedef void tn_iq_order(const __m512i *from, __m512i *to);
/**
 * The scales s of blocks a (low half) and b: of groups of 32 the upper nibble of a byte each, of 16 a
 * nibble each.
 */
typedef __m128i tn_iq_subs(const uint8_t *a, const uint8_t *b);

/** in[i]'s quarter k becomes out[k]'s quarter i. */
TN_INLINE void tn_transpose_quarters(const __m512i *in, __m512i *out) {
    __m512i a = _mm512_shuffle_i64x2(in[0], in[1], 0x44), b = _mm512_shuffle_i64x2(in[0], in[1], 0xee);
    __m512i c = _mm512_shuffle_i64x2(in[2], in[3], 0x44), d = _mm512_shuffle_i64x2(in[2], in[3], 0xee);
    out[0] = _mm512_shuffle_i64x2(a, c, 0x88);
    out[1] = _mm512_shuffle_i64x2(a, c, 0xdd);
    out[2] = _mm512_shuffle_i64x2(b, d, 0x88);
    out[3] = _mm512_shuffle_i64x2(b, d, 0xdd);
}

/** The even lanes of each quarter of a, then of b; the odd ones. */
TN_INLINE __m512i tn_even_lanes(__m512i a, __m512i b) {
    return _mm512_castps_si512(_mm512_shuffle_ps(_mm512_castsi512_ps(a), _mm512_castsi512_ps(b), 0x88));
}
TN_INLINE __m512i tn_odd_lanes(__m512i a, __m512i b) {
    return _mm512_castps_si512(_mm512_shuffle_ps(_mm512_castsi512_ps(a), _mm512_castsi512_ps(b), 0xdd));
}

/**
 * pairs[m] has of rows 2 m and 2 m + 1, in quarter k, groups 2 k and 2 k + 1: of group g row r to sums[g]'s
 * lane r.
 */
TN_INLINE void tn_iq_rows_to_lanes(const __m512i *pairs, __m512i *sums) {
    __m512i even[4], odd[4], out[4];
    for (uint32_t m = 0; m < 4; m++) {
        even[m] = tn_even_lanes(pairs[2 * m], pairs[2 * m + 1]);
        odd[m] = tn_odd_lanes(pairs[2 * m], pairs[2 * m + 1]);
    }
    tn_transpose_quarters(even, out);
    for (uint32_t k = 0; k < 4; k++) { sums[2 * k] = out[k]; }
    tn_transpose_quarters(odd, out);
    for (uint32_t k = 0; k < 4; k++) { sums[2 * k + 1] = out[k]; }
}

/** Products of sixteen rows, two lanes a group: the sums of eight groups. */
TN_INLINE void tn_iq_sum_pairs(const __m512i *rows, __m512i *sums) {
    __m512i pairs[8];
    for (uint32_t m = 0; m < 8; m++) {
        pairs[m] = _mm512_add_epi32(tn_even_lanes(rows[2 * m], rows[2 * m + 1]),
                                    tn_odd_lanes(rows[2 * m], rows[2 * m + 1]));
    }
    tn_iq_rows_to_lanes(pairs, sums);
}

/** Products of sixteen rows, a lane a group: the sums of the even groups and of the odd ones. */
TN_INLINE void tn_iq_sum_lanes(const __m512i *rows, __m512i *even, __m512i *odd) {
    __m512i pairs[8];
    for (uint32_t m = 0; m < 8; m++) { pairs[m] = tn_even_lanes(rows[2 * m], rows[2 * m + 1]); }
    tn_iq_rows_to_lanes(pairs, even);
    for (uint32_t m = 0; m < 8; m++) { pairs[m] = tn_odd_lanes(rows[2 * m], rows[2 * m + 1]); }
    tn_iq_rows_to_lanes(pairs, odd);
}

/* 256 columns of an activation row in the order of the codes, and where their products begin. */
typedef struct tn_iq_act {
    __m512i codes[4], start;
} tn_iq_act;

TN_INLINE void tn_iq_act_open(const tn_act *act, uint64_t row, uint64_t col, tn_iq_order *order,
                              tn_iq_act *x) {
    const int8_t *codes = (const int8_t *)act->data + row * act->stride + col;
    const int16_t *sums = act->sums + row * act->sum_stride + col / 16;
    __m512i in[4], wide = _mm512_cvtepi16_epi32(_mm256_loadu_si256((const void *)sums));
    for (uint32_t i = 0; i < 4; i++) { in[i] = _mm512_loadu_si512(codes + 64 * i); }
    order(in, x->codes);
    x->start = _mm512_sub_epi32(_mm512_setzero_si512(), _mm512_slli_epi32(wide, 6));
}

/* Products of a row. */
TN_INLINE __m512i tn_iq_dot(const __m512i *w, const tn_iq_act *x) {
    __m512i sum = x->start;
    for (uint32_t i = 0; i < 4; i++) { sum = _mm512_dpbusd_epi32(sum, w[i], x->codes[i]); }
    return sum;
}

/* The scale of a group: of its bits in `words` and of the block's `unit`, d times a power of two. */
TN_INLINE __m512 tn_iq_scale(__m512i words, uint32_t shift, __m512 unit) {
    __m512i s = _mm512_and_si512(_mm512_srli_epi32(words, shift), _mm512_set1_epi32(15));
    return _mm512_fmadd_ps(_mm512_cvtepi32_ps(s), _mm512_add_ps(unit, unit), unit);
}

/* The scales of a block column, row r of the group in lane r; subs are those of the rows. */
TN_INLINE void tn_iq_scales16(const tn_row_group *rows, const uint64_t *subs, enum tn_iq_groups groups,
                              float factor, __m512 *scales) {
    __m512i low = _mm512_loadu_si512(subs), high = _mm512_loadu_si512(subs + 8), words[2];
    __m512 unit = _mm512_mul_ps(tn_lower_halves(tn_words16(rows, 0)), _mm512_set1_ps(factor));
    __m512i even = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
    words[0] = _mm512_permutex2var_epi32(low, even, high);
    words[1] = _mm512_permutex2var_epi32(low, _mm512_add_epi32(even, _mm512_set1_epi32(1)), high);
    for (uint32_t g = 0; g < 8; g++) {
        if (groups == TN_IQ_GROUPS_32) {
            scales[g] = tn_iq_scale(words[g / 4], g % 4 * 8 + 4, unit);
        } else {
            scales[2 * g] = tn_iq_scale(words[g / 4], g % 4 * 8, unit);
            scales[2 * g + 1] = tn_iq_scale(words[g / 4], g % 4 * 8 + 4, unit);
        }
    }
}

/* The float steps of a block column with one activation row, whose products of sixteen rows are given. */
TN_INLINE __m512 tn_iq_steps16(const __m512i *products, enum tn_iq_groups groups, const __m512 *scales,
                               const float *x_scales, __m512 acc) {
    __m512i even[8], odd[8];
    if (groups == TN_IQ_GROUPS_16) {
        tn_iq_sum_lanes(products, even, odd);
    } else {
        tn_iq_sum_pairs(products, even);
    }
    for (uint32_t g = 0; g < 8; g++) {
        __m512 x_scale = _mm512_set1_ps(x_scales[g]);
        uint32_t at = groups == TN_IQ_GROUPS_32 ? g : 2 * g;
        acc = _mm512_fmadd_ps(_mm512_cvtepi32_ps(even[g]), _mm512_mul_ps(scales[at], x_scale), acc);
        if (groups != TN_IQ_GROUPS_32) {
            acc = _mm512_fmadd_ps(_mm512_cvtepi32_ps(odd[g]), _mm512_mul_ps(scales[at + 1], x_scale), acc);
        }
    }
    return acc;
}

/* Sixteen rows from row r on. `acts` is a constant or call->act_rows. */
TN_INLINE void tn_iq_rows_avx512(const tn_gemv *call, uint32_t bytes, enum tn_iq_groups groups, float factor,
                                 tn_iq_open_two *open, tn_iq_order *order, tn_iq_subs *open_subs, uint64_t r,
                                 uint64_t acts) {
    const uint8_t *first = (const uint8_t *)call->blocks + r * call->row_stride;
    const uint8_t *next = tn_ahead(first, 16 * call->row_stride);
    tn_row_group rows = tn_group_rows(first, call->row_stride, call->rows - r, 4);
    __m512 acc[TN_MAX_ROWS];
    for (uint64_t a = 0; a < acts; a++) { acc[a] = _mm512_setzero_ps(); }
    for (uint64_t col = 0; col < call->cols; col += 256, next += 16 * bytes) {
        __m512i products[TN_MAX_ROWS][16];
        __m512 scales[16];
        tn_iq_act x[TN_MAX_ROWS];
        _Alignas(16) uint64_t subs[16];
        uint32_t ahead = 0;
#pragma GCC unroll 1
        for (uint64_t a = 0; a < acts; a++) {
            tn_iq_act_open(call->act, call->act_from + a, col, order, &x[a]);
        }
#pragma GCC unroll 1
        for (uint32_t i = 0; i < 16; i += 2) {
            const uint8_t *one = tn_row(&rows, i), *two = tn_row(&rows, i + 1);
            __m512i w[8];
            open(one, two, w);
            _mm_store_si128((void *)(subs + i), open_subs(one, two));
            for (; ahead < bytes * (i + 2); ahead += 64) {
                _mm_prefetch((const char *)next + ahead, _MM_HINT_T0);
            }
#pragma GCC unroll 1
            for (uint64_t a = 0; a < acts; a++) {
                products[a][i] = tn_iq_dot(w, &x[a]);
                products[a][i + 1] = tn_iq_dot(w + 4, &x[a]);
            }
        }
        tn_iq_scales16(&rows, subs, groups, factor, scales);
#pragma GCC unroll 1
        for (uint64_t a = 0; a < acts; a++) {
            const float *x_scales =
                call->act->scales + (call->act_from + a) * call->act->scale_stride + col / 32;
            acc[a] = tn_iq_steps16(products[a], groups, scales, x_scales, acc[a]);
        }
        tn_advance(&rows, bytes, 4);
    }
    for (uint64_t a = 0; a < acts; a++) {
        tn_store16(call->out + a * call->out_stride + r, &rows, call->rows - r, acc[a]);
    }
}

TN_INLINE void tn_iq_gemv_avx512(const tn_gemv *call, uint32_t bytes, enum tn_iq_groups groups, float factor,
                                 tn_iq_open_two *open, tn_iq_order *order, tn_iq_subs *subs) {
    for (uint64_t r = 0; r < call->rows; r += 16) {
        if (call->act_rows == 1) {
            tn_iq_rows_avx512(call, bytes, groups, factor, open, order, subs, r, 1);
        } else {
            tn_iq_rows_avx512(call, bytes, groups, factor, open, order, subs, r, call->act_rows);
        }
    }
}

/* The scales of one block (its s in the low half), in order. */
TN_INLINE void tn_iq_store_scales(const uint8_t *block, __m128i s, enum tn_iq_groups groups, float factor,
                                  float *scales) {
    __m512 unit = _mm512_set1_ps(_cvtsh_ss(tn_load_u16(block)) * factor);
    if (groups == TN_IQ_GROUPS_32) {
        _mm512_mask_storeu_ps(scales, 0x00ff, tn_iq_scale(_mm512_cvtepu8_epi32(s), 4, unit));
    } else {
        s = _mm_unpacklo_epi8(s, _mm_srli_epi16(s, 4));
        _mm512_storeu_ps(scales, tn_iq_scale(_mm512_cvtepu8_epi32(s), 0, unit));
    }
}

TN_INLINE void tn_iq_unpack_avx512(const tn_unpack *call, uint32_t bytes, enum tn_iq_groups groups,
                                   float factor, tn_iq_open_two *open, tn_iq_order *restore,
                                   tn_iq_subs *open_subs) {
    uint64_t blocks = (call->col_to - call->col_from) / 256, step = groups == TN_IQ_GROUPS_32 ? 8 : 16;
    for (uint64_t r = 0; r < call->rows; r++) {
        const uint8_t *block =
            (const uint8_t *)call->blocks + r * call->row_stride + call->col_from / 256 * bytes;
        int8_t *codes = (int8_t *)call->codes + r * call->code_stride;
        float *scales = call->scales + r * call->scale_stride;
        for (uint64_t b = 0; b < blocks; b += 2) { /* in the last step a single block may stand for both */
            const uint8_t *other = b + 1 < blocks ? block + bytes : block;
            __m128i subs = open_subs(block, other);
            __m512i w[8], natural[4];
            open(block, other, w);
            for (uint64_t k = 0; k < 2 && b + k < blocks; k++) {
                restore(w + 4 * k, natural);
                for (uint32_t i = 0; i < 4; i++) {
                    _mm512_storeu_si512(codes + 64 * i, _mm512_sub_epi8(natural[i], _mm512_set1_epi8(64)));
                }
                tn_iq_store_scales(block, k ? _mm_srli_si128(subs, 8) : subs, groups, factor, scales);
                block += bytes;
                codes += 256;
                scales += step;
            }
        }
    }
}

/** Eight bytes at each of two places. */
TN_INLINE __m128i tn_load_eights(const uint8_t *a, const uint8_t *b) {
    return _mm_set_epi64x((long long)tn_load_u64(b), (long long)tn_load_u64(a));
}

#endif
