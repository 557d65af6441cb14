/*
 * simd_avx512.h - gemv and unpack with AVX-512: sixteen weight rows at a time, so that a float step serves
 * sixteen rows and each row's result is the rule's to the bit.
 *
 * Integer forms: the columns of one or two rows lie in the lanes of a vector for the dot products, trees of
 * unpack and add leave one row a lane, then come one conversion and one fma. Float form: a vector is the
 * sixteen accumulators of one row, and one tree folds those of sixteen rows.
 *
 * Sixteen rows at once are sixteen streams, which no hardware prefetcher follows well: where rows lie one
 * behind the other, the next sixteen are fetched into the second-level cache in the order of memory, evenly.
 */
#ifndef TENON_SIMD_AVX512_H
#define TENON_SIMD_AVX512_H

#include "blocks.h"
#include "row_group.h"

#include <immintrin.h>

TN_INLINE __mmask16 tn_first_lanes(uint64_t count) {
    return count >= 16 ? (__mmask16)0xffff : (__mmask16)((1u << count) - 1);
}

/** Results of a group, of whose rows `count` exist; row r's in lane r. */
TN_INLINE void tn_store16(float *out, const tn_row_group *group, uint64_t count, __m512 x) {
    if (count >= 16) {
        _mm512_storeu_ps(out, x);
    } else {
        float results[16];
        _mm512_storeu_ps(results, x);
        tn_store_group(out, group, results, 4);
    }
}

/**
 * The four bytes at `offset` of sixteen rows, row i in lane i: masked loads, which cost no shuffle, in two
 * chains of eight.
 */
TN_INLINE __m512i tn_words16(const tn_row_group *rows, uint64_t offset) {
    __m256i low = _mm256_set1_epi32(tn_load_i32(tn_row(rows, 0) + offset));
    __m256i high = _mm256_set1_epi32(tn_load_i32(tn_row(rows, 8) + offset));
#pragma GCC unroll 7
    for (uint32_t i = 1; i < 8; i++) {
        low = _mm256_mask_set1_epi32(low, (__mmask8)(1u << i), tn_load_i32(tn_row(rows, i) + offset));
        high = _mm256_mask_set1_epi32(high, (__mmask8)(1u << i), tn_load_i32(tn_row(rows, 8 + i) + offset));
    }
    return _mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1);
}

/** 16 bytes at `offset` of the rows j, 4 + j, 8 + j, 12 + j: one row a quarter. */
TN_INLINE __m512i tn_load_quarters(const tn_row_group *rows, uint32_t j, uint64_t offset) {
    __m256i half[2];
    for (uint32_t i = 0; i < 2; i++) {
        __m128i low = _mm_loadu_si128((const void *)(tn_row(rows, 8 * i + j) + offset));
        __m128i high = _mm_loadu_si128((const void *)(tn_row(rows, 8 * i + 4 + j) + offset));
        half[i] = _mm256_set_m128i(high, low);
    }
    return _mm512_inserti64x4(_mm512_castsi256_si512(half[0]), half[1], 1);
}

/** Turns four by four lanes in each quarter, lane j of in[i] to lane i of out[j], in two steps, between which others
 * may lie; and at once. */
TN_INLINE void tn_turn_begin16(const __m512i *in, __m512i *pairs) {
    pairs[0] = _mm512_unpacklo_epi32(in[0], in[1]);
    pairs[1] = _mm512_unpacklo_epi32(in[2], in[3]);
    pairs[2] = _mm512_unpackhi_epi32(in[0], in[1]);
    pairs[3] = _mm512_unpackhi_epi32(in[2], in[3]);
}
TN_INLINE void tn_turn_end16(const __m512i *pairs, __m512i *out) {
    out[0] = _mm512_unpacklo_epi64(pairs[0], pairs[1]);
    out[1] = _mm512_unpackhi_epi64(pairs[0], pairs[1]);
    out[2] = _mm512_unpacklo_epi64(pairs[2], pairs[3]);
    out[3] = _mm512_unpackhi_epi64(pairs[2], pairs[3]);
}
TN_INLINE void tn_turn16(const __m512i *in, __m512i *out) {
    __m512i pairs[4];
    tn_turn_begin16(in, pairs);
    tn_turn_end16(pairs, out);
}

/** The 16 bytes at `offset` of sixteen rows: bytes 4 k .. 4 k + 3 in words[k], row r in lane r. */
TN_INLINE void tn_transpose16(const tn_row_group *rows, uint64_t offset, __m512i *words) {
    __m512i quarters[4];
    for (uint32_t j = 0; j < 4; j++) { quarters[j] = tn_load_quarters(rows, j, offset); }
    tn_turn16(quarters, words);
}

/** The binary16 in the lower and in the upper half of each lane, as floats. */
TN_INLINE __m512 tn_lower_halves(__m512i words) {
    return _mm512_cvtph_ps(_mm512_cvtepi32_epi16(words));
}
TN_INLINE __m512 tn_upper_halves(__m512i words) {
    return tn_lower_halves(_mm512_srli_epi32(words, 16));
}

/* Sums of neighbours: of single lanes, of pairs of lanes, of quarters. */
TN_INLINE __m512i tn_add_singles(__m512i a, __m512i b) {
    return _mm512_add_epi32(_mm512_unpacklo_epi32(a, b), _mm512_unpackhi_epi32(a, b));
}
TN_INLINE __m512i tn_add_pairs(__m512i a, __m512i b) {
    return _mm512_add_epi32(_mm512_unpacklo_epi64(a, b), _mm512_unpackhi_epi64(a, b));
}
TN_INLINE __m512i tn_add_quarters(__m512i a, __m512i b) {
    return _mm512_add_epi32(_mm512_shuffle_i64x2(a, b, 0x88), _mm512_shuffle_i64x2(a, b, 0xdd));
}

/** Four vectors: the sums of their quarters, those of vector j in place j of each quarter. */
TN_INLINE __m512i tn_sum_quarters(const __m512i *v) {
    return tn_add_pairs(tn_add_singles(v[0], v[1]), tn_add_singles(v[2], v[3]));
}

/** The same of sums of which two fit 16 bits, and four: fewer shuffles. */
TN_INLINE __m512i tn_sum_quarters_small(const __m512i *v) {
    __m512i ones = _mm512_set1_epi16(1);
    __m512i low = _mm512_madd_epi16(_mm512_packs_epi32(v[0], v[1]), ones);
    __m512i high = _mm512_madd_epi16(_mm512_packs_epi32(v[2], v[3]), ones);
    return _mm512_madd_epi16(_mm512_packs_epi32(low, high), ones);
}

/** 32 bytes of each of two places. */
TN_INLINE __m512i tn_load_two(const uint8_t *a, const uint8_t *b) {
    return _mm512_inserti64x4(_mm512_castsi256_si512(_mm256_loadu_si256((const void *)a)),
                              _mm256_loadu_si256((const void *)b), 1);
}

/** 32 split nibbles (byte i: code i low, code i + 16 high) of each of two places. */
TN_INLINE __m512i tn_load_two_nibbles(const uint8_t *a, const uint8_t *b) {
    __m512i x = _mm512_broadcast_i32x4(_mm_loadu_si128((const void *)a));
    x = _mm512_mask_broadcast_i32x4(x, 0xff00, _mm_loadu_si128((const void *)b));
    x = _mm512_srlv_epi64(x, _mm512_setr_epi64(0, 0, 4, 4, 0, 0, 4, 4));
    return _mm512_and_si512(x, _mm512_set1_epi8(15));
}

/** The codes of two blocks of 32, offset to be unsigned, one block in each half. */
typedef __m512i tn_open_two(const uint8_t *a, const uint8_t *b);

#if defined(__AVX512VNNI__)
/** How blocks of 32 of sixteen rows are held: eight vectors of unsigned codes, and their products with 32
 * codes. */
typedef void tn_open_rows(const tn_row_group *rows, __m512i *w);
/** The first four bytes of those blocks, row i's in lane i. */
typedef __m512i tn_open_heads(const tn_row_group *rows);
typedef __m512i tn_dot_rows(const __m512i *w, const int8_t *x);

/** Signed bytes, offset by 128: rows i and i + 4 (i < 4) in the halves of w[i], rows 8 + i and 12 + i of w[4
 * + i]. */
TN_INLINE void tn_open_bytes16(const tn_row_group *rows, uint64_t offset, __m512i *w) {
    for (uint32_t i = 0; i < 8; i++) {
        uint32_t row = i < 4 ? i : i + 4;
        w[i] = _mm512_xor_si512(tn_load_two(tn_row(rows, row) + offset, tn_row(rows, row + 4) + offset),
                                _mm512_set1_epi8((char)0x80));
    }
}
TN_INLINE __m512i tn_dot_bytes16(const __m512i *w, const int8_t *codes) {
    __m512i x = _mm512_broadcast_i64x4(_mm256_loadu_si256((const void *)codes)), v[8];
    for (uint32_t i = 0; i < 8; i++) { v[i] = _mm512_dpbusd_epi32(_mm512_setzero_si512(), w[i], x); }
    return tn_add_quarters(tn_sum_quarters(v), tn_sum_quarters(v + 4));
}

/** Split nibbles: the low ones of rows j, 4 + j, 8 + j, 12 + j in the quarters of w[j], the high ones in w[4
 * + j]. */
TN_INLINE void tn_open_nibbles16(const tn_row_group *rows, uint64_t offset, __m512i *w) {
    for (uint32_t j = 0; j < 4; j++) {
        __m512i x = tn_load_quarters(rows, j, offset);
        w[j] = _mm512_and_si512(x, _mm512_set1_epi8(15));
        w[4 + j] = _mm512_and_si512(_mm512_srli_epi16(x, 4), _mm512_set1_epi8(15));
    }
}
TN_INLINE __m512i tn_dot_nibbles16(const __m512i *w, const int8_t *codes) {
    __m512i low = _mm512_broadcast_i32x4(_mm_loadu_si128((const void *)codes)), v[4];
    __m512i high = _mm512_broadcast_i32x4(_mm_loadu_si128((const void *)(codes + 16)));
    for (uint32_t j = 0; j < 4; j++) {
        v[j] = _mm512_dpbusd_epi32(_mm512_dpbusd_epi32(_mm512_setzero_si512(), w[j], low), w[4 + j], high);
    }
    return tn_sum_quarters(v);
}

/** One block column of sixteen rows times one activation row. */
TN_INLINE __m512 tn_step32_avx512(const __m512i *w, int32_t bias, tn_dot_rows *dot, __m512 scale,
                                  __m512 minimum, int has_minimum, const tn_act *act, uint64_t row,
                                  uint64_t block, __m512 acc) {
    const int8_t *codes = (const int8_t *)act->data + row * act->stride + 32 * block;
    const int16_t *sums = act->sums + row * act->sum_stride + 2 * block;
    int32_t code_sum = sums[0] + sums[1];
    __m512i sum = dot(w, codes);
    if (bias) { sum = _mm512_sub_epi32(sum, _mm512_set1_epi32(bias * code_sum)); }
    __m512 x_scale = _mm512_set1_ps(act->scales[row * act->scale_stride + block]);
    acc = _mm512_fmadd_ps(_mm512_cvtepi32_ps(sum), _mm512_mul_ps(scale, x_scale), acc);
    if (has_minimum) {
        acc = _mm512_fmadd_ps(_mm512_set1_ps((float)code_sum), _mm512_mul_ps(minimum, x_scale), acc);
    }
    return acc;
}

/** Blocks of 32 with d at 0 and, where there is one, the minimum at 2. `acts` is a constant or
 * call->act_rows. */
TN_INLINE void tn_rows32_avx512(const tn_gemv *call, tn_shape shape, int32_t bias, tn_open_heads *heads,
                                tn_open_rows *open, tn_dot_rows *dot, uint64_t acts) {
    for (uint64_t r = 0; r < call->rows; r += 16) {
        const uint8_t *first = (const uint8_t *)call->blocks + r * call->row_stride;
        const uint8_t *next = tn_ahead(first, 16 * call->row_stride);
        tn_row_group rows = tn_group_rows(first, call->row_stride, call->rows - r, 4);
        __m512 acc[TN_MAX_ROWS];
        for (uint64_t a = 0; a < acts; a++) { acc[a] = _mm512_setzero_ps(); }
        for (uint64_t b = 0; b < call->cols / 32; b++) {
            __m512i w[8], words = heads(&rows);
            __m512 scale = tn_lower_halves(words), minimum = tn_upper_halves(words);
            open(&rows, w);
            tn_prefetch(next, 16 * shape.bytes);
            next += 16 * shape.bytes;
            for (uint64_t a = 0; a < acts; a++) {
                acc[a] = tn_step32_avx512(w, bias, dot, scale, minimum, (int)shape.has_minimum, call->act,
                                          call->act_from + a, b, acc[a]);
            }
            tn_advance(&rows, shape.bytes, 4);
        }
        for (uint64_t a = 0; a < acts; a++) {
            tn_store16(call->out + a * call->out_stride + r, &rows, call->rows - r, acc[a]);
        }
    }
}

/** For types whose codes and heads come out of the same bytes. */
TN_INLINE void tn_gemv32_heads_avx512(const tn_gemv *call, tn_shape shape, int32_t bias, tn_open_heads *heads,
                                      tn_open_rows *open, tn_dot_rows *dot) {
    if (call->act_rows == 1) {
        tn_rows32_avx512(call, shape, bias, heads, open, dot, 1);
    } else {
        tn_rows32_avx512(call, shape, bias, heads, open, dot, call->act_rows);
    }
}

TN_INLINE __m512i tn_load_heads16(const tn_row_group *rows) {
    return tn_words16(rows, 0);
}

TN_INLINE void tn_gemv32_avx512(const tn_gemv *call, tn_shape shape, int32_t bias, tn_open_rows *open,
                                tn_dot_rows *dot) {
    tn_gemv32_heads_avx512(call, shape, bias, tn_load_heads16, open, dot);
}
#endif

/** Blocks of 32 into a p8 panel, two at a time. */
TN_INLINE void tn_unpack32_avx512(const tn_unpack *call, tn_shape shape, int32_t bias, tn_open_two *open) {
    uint64_t blocks = (call->col_to - call->col_from) / 32;
    for (uint64_t r = 0; r < call->rows; r++) {
        const uint8_t *at =
            (const uint8_t *)call->blocks + r * call->row_stride + call->col_from / 32 * shape.bytes;
        int8_t *codes = (int8_t *)call->codes + r * call->code_stride;
        uint64_t scale = r * call->scale_stride;
        for (uint64_t b = 0; b < blocks; b += 2, at += 2 * shape.bytes) {
            uint64_t count = blocks - b == 1 ? 1 : 2; /* in the last step a single block may stand for both */
            const uint8_t *second = at + (count - 1) * shape.bytes;
            __m512i q = _mm512_sub_epi8(open(at, second), _mm512_set1_epi8((char)bias));
            _mm512_mask_storeu_epi64(codes + 32 * b, count == 2 ? 0xff : 0x0f, q);
            for (uint64_t i = 0; i < count; i++) {
                const uint8_t *block = i ? second : at;
                call->scales[scale + b + i] = _cvtsh_ss(tn_load_u16(block));
                if (shape.has_minimum) { call->minimums[scale + b + i] = _cvtsh_ss(tn_load_u16(block + 2)); }
            }
        }
    }
}

#endif
