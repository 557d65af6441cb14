/*
 * simd_avx2.h - gemv and unpack of quantised types with AVX2: eight weight rows at a time, otherwise built
 * like simd_avx512.h, which says why.
 */
#ifndef TENON_SIMD_AVX2_H
#define TENON_SIMD_AVX2_H

#include "blocks.h"
#include "row_group.h"

#include <immintrin.h>

/** The first `count` (at least 1) of eight results. */
TN_INLINE void tn_store_first8(float *out, uint64_t count, __m256 x) {
    __m256i lane = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    __m256i mask = _mm256_cmpgt_epi32(_mm256_set1_epi32(count < 8 ? (int)count : 8), lane);
    _mm256_maskstore_ps(out, mask, x);
}

/** Results of a group, of whose rows `count` exist; row r's in lane r. */
TN_INLINE void tn_store8(float *out, const tn_row_group *group, uint64_t count, __m256 x) {
    if (count >= 8) {
        _mm256_storeu_ps(out, x);
    } else {
        float results[8];
        _mm256_storeu_ps(results, x);
        tn_store_group(out, group, results, 2);
    }
}

/** All rows `bytes` further. The compiler shall not keep sums of distances and offsets, either. */
TN_INLINE void tn_advance8(tn_row_group *rows, uint64_t bytes) {
    tn_advance(rows, bytes, 2);
    for (uint32_t i = 1; i < 4; i++) { __asm__("" : "+r"(rows->apart[i])); }
}

/** The four bytes at `offset` of eight rows, row i in lane i. */
TN_INLINE __m256i tn_words8(const tn_row_group *rows, uint64_t offset) {
    __m128i four[2];
    for (uint32_t i = 0; i < 2; i++) {
        four[i] = _mm_cvtsi32_si128(tn_load_i32(tn_row(rows, 4 * i) + offset));
        four[i] = _mm_insert_epi32(four[i], tn_load_i32(tn_row(rows, 4 * i + 1) + offset), 1);
        four[i] = _mm_insert_epi32(four[i], tn_load_i32(tn_row(rows, 4 * i + 2) + offset), 2);
        four[i] = _mm_insert_epi32(four[i], tn_load_i32(tn_row(rows, 4 * i + 3) + offset), 3);
    }
    return _mm256_set_m128i(four[1], four[0]);
}

/** The binary16 in the lower and in the upper half of each lane, as floats. */
TN_INLINE void tn_split_halves(__m256i words, __m256 *lower, __m256 *upper) {
    __m256i apart =
        _mm256_broadcastsi128_si256(_mm_setr_epi8(0, 1, 4, 5, 8, 9, 12, 13, 2, 3, 6, 7, 10, 11, 14, 15));
    __m256i both = _mm256_permute4x64_epi64(_mm256_shuffle_epi8(words, apart), 0xd8);
    *lower = _mm256_cvtph_ps(_mm256_castsi256_si128(both));
    *upper = _mm256_cvtph_ps(_mm256_extracti128_si256(both, 1));
}

/** 16 bytes at `offset` of the rows j and 4 + j: one row a half. */
TN_INLINE __m256i tn_load_both(const tn_row_group *rows, uint32_t j, uint64_t offset) {
    return _mm256_set_m128i(_mm_loadu_si128((const void *)(tn_row(rows, 4 + j) + offset)),
                            _mm_loadu_si128((const void *)(tn_row(rows, j) + offset)));
}

/** Turns four by four lanes in each half: lane j of in[i] to lane i of out[j]. */
TN_INLINE void tn_turn8(const __m256i *in, __m256i *out) {
    __m256i a = _mm256_unpacklo_epi32(in[0], in[1]), b = _mm256_unpackhi_epi32(in[0], in[1]);
    __m256i c = _mm256_unpacklo_epi32(in[2], in[3]), d = _mm256_unpackhi_epi32(in[2], in[3]);
    out[0] = _mm256_unpacklo_epi64(a, c);
    out[1] = _mm256_unpackhi_epi64(a, c);
    out[2] = _mm256_unpacklo_epi64(b, d);
    out[3] = _mm256_unpackhi_epi64(b, d);
}

/** The 16 bytes at `offset` of eight rows: bytes 4 k .. 4 k + 3 in words[k], row r in lane r. */
TN_INLINE void tn_transpose8(const tn_row_group *rows, uint64_t offset, __m256i *words) {
    __m256i both[4];
    for (uint32_t j = 0; j < 4; j++) { both[j] = tn_load_both(rows, j, offset); }
    tn_turn8(both, words);
}

/* Sums of neighbours: of single lanes, of pairs of lanes. */
TN_INLINE __m256i tn_add_singles(__m256i a, __m256i b) {
    return _mm256_add_epi32(_mm256_unpacklo_epi32(a, b), _mm256_unpackhi_epi32(a, b));
}
TN_INLINE __m256i tn_add_pairs(__m256i a, __m256i b) {
    return _mm256_add_epi32(_mm256_unpacklo_epi64(a, b), _mm256_unpackhi_epi64(a, b));
}
/** Of four vectors: their sums, in each half apart. */
TN_INLINE __m256i tn_sum_four(const __m256i *v) {
    return tn_add_pairs(tn_add_singles(v[0], v[1]), tn_add_singles(v[2], v[3]));
}

/** The same of sums of which two fit 16 bits, and sums of two such: fewer shuffles. */
TN_INLINE __m256i tn_sum_four_small(const __m256i *v) {
    __m256i ones = _mm256_set1_epi16(1);
    __m256i low = _mm256_madd_epi16(_mm256_packs_epi32(v[0], v[1]), ones);
    __m256i high = _mm256_madd_epi16(_mm256_packs_epi32(v[2], v[3]), ones);
    return _mm256_madd_epi16(_mm256_packs_epi32(low, high), ones);
}

/** Unsigned codes (products of a pair fit 16 bits) times signed ones, summed by fours. */
TN_INLINE __m256i tn_dot_unsigned(__m256i w, __m256i x) {
    return _mm256_madd_epi16(_mm256_maddubs_epi16(w, x), _mm256_set1_epi16(1));
}

/** 32 split nibbles: byte i has code i low, code i + 16 high. */
TN_INLINE __m256i tn_load_nibbles(const uint8_t *at) {
    __m256i x = _mm256_broadcastsi128_si256(_mm_loadu_si128((const void *)at));
    x = _mm256_srlv_epi64(x, _mm256_setr_epi64x(0, 0, 4, 4));
    return _mm256_and_si256(x, _mm256_set1_epi8(15));
}

/** The codes of a block of 32 plus its bias. */
typedef __m256i tn_open_one(const uint8_t *block);
/** How blocks of 32 of eight rows are held: eight vectors of codes, and their products with 32 codes. */
typedef void tn_open_rows(const tn_row_group *rows, __m256i *w);
typedef __m256i tn_dot_rows(const __m256i *w, const int8_t *x);

/** Signed bytes: row r in w[r]. */
TN_INLINE void tn_open_bytes8(const tn_row_group *rows, uint64_t offset, __m256i *w) {
    for (uint32_t r = 0; r < 8; r++) { w[r] = _mm256_loadu_si256((const void *)(tn_row(rows, r) + offset)); }
}
/**
 * Magnitudes (of -128 too: they are unsigned) times activation codes (never -128) with the signs moved over.
 */
TN_INLINE __m256i tn_dot_bytes8(const __m256i *w, const int8_t *codes) {
    __m256i x = _mm256_loadu_si256((const void *)codes), v[8];
    for (uint32_t r = 0; r < 8; r++) {
        v[r] = tn_dot_unsigned(_mm256_abs_epi8(w[r]), _mm256_sign_epi8(x, w[r]));
    }
    __m256i low = tn_sum_four(v), high = tn_sum_four(v + 4);
    return _mm256_add_epi32(_mm256_permute2x128_si256(low, high, 0x20),
                            _mm256_permute2x128_si256(low, high, 0x31));
}

/** Split nibbles: the low ones of rows j and 4 + j in the halves of w[j], the high ones in w[4 + j]. */
TN_INLINE void tn_open_nibbles8(const tn_row_group *rows, uint64_t offset, __m256i *w) {
    for (uint32_t j = 0; j < 4; j++) {
        __m256i x = tn_load_both(rows, j, offset);
        w[j] = _mm256_and_si256(x, _mm256_set1_epi8(15));
        w[4 + j] = _mm256_and_si256(_mm256_srli_epi16(x, 4), _mm256_set1_epi8(15));
    }
}
/** Four products of a code and an activation code at most a 16-bit lane, before they are widened. Codes go up
 * to 31 if `wide`, which a caller knows, else to 15. */
TN_INLINE __m256i tn_dot_pairs8(const __m256i *w, const int8_t *codes, uint32_t wide) {
    __m256i low = _mm256_broadcastsi128_si256(_mm_loadu_si128((const void *)codes)), v[4];
    __m256i high = _mm256_broadcastsi128_si256(_mm_loadu_si128((const void *)(codes + 16)));
    for (uint32_t j = 0; j < 4; j++) {
        __m256i pairs =
            _mm256_add_epi16(_mm256_maddubs_epi16(w[j], low), _mm256_maddubs_epi16(w[4 + j], high));
        v[j] = _mm256_madd_epi16(pairs, _mm256_set1_epi16(1));
    }
    return wide ? tn_sum_four(v) : tn_sum_four_small(v);
}
TN_INLINE __m256i tn_dot_nibbles8(const __m256i *w, const int8_t *codes) {
    return tn_dot_pairs8(w, codes, 1);
}

/** One block column of eight rows times one activation row. */
TN_INLINE __m256 tn_step32_avx2(const __m256i *w, int32_t bias, tn_dot_rows *dot, __m256 scale,
                                __m256 minimum, int has_minimum, const tn_act *act, uint64_t row,
                                uint64_t block, __m256 acc) {
    const int8_t *codes = (const int8_t *)act->data + row * act->stride + 32 * block;
    const int16_t *sums = act->sums + row * act->sum_stride + 2 * block;
    int32_t code_sum = sums[0] + sums[1];
    __m256i sum = dot(w, codes);
    if (bias) { sum = _mm256_sub_epi32(sum, _mm256_set1_epi32(bias * code_sum)); }
    __m256 x_scale = _mm256_set1_ps(act->scales[row * act->scale_stride + block]);
    acc = _mm256_fmadd_ps(_mm256_cvtepi32_ps(sum), _mm256_mul_ps(scale, x_scale), acc);
    if (has_minimum) {
        acc = _mm256_fmadd_ps(_mm256_set1_ps((float)code_sum), _mm256_mul_ps(minimum, x_scale), acc);
    }
    return acc;
}

/** Blocks of 32 with d at 0 and, where there is one, the minimum at 2. `acts` is a constant or
 * call->act_rows. */
TN_INLINE void tn_rows32_avx2(const tn_gemv *call, tn_shape shape, int32_t bias, tn_open_rows *open,
                              tn_dot_rows *dot, uint64_t acts) {
    for (uint64_t r = 0; r < call->rows; r += 8) {
        const uint8_t *first = (const uint8_t *)call->blocks + r * call->row_stride;
        const uint8_t *next = tn_ahead(first, 8 * call->row_stride);
        tn_row_group rows = tn_group_rows(first, call->row_stride, call->rows - r, 2);
        __m256 acc[TN_MAX_ROWS];
        for (uint64_t a = 0; a < acts; a++) { acc[a] = _mm256_setzero_ps(); }
        for (uint64_t b = 0; b < call->cols / 32; b++) {
            __m256i w[8];
            __m256 scale, minimum;
            tn_split_halves(tn_words8(&rows, 0), &scale, &minimum);
            open(&rows, w);
            tn_prefetch(next, 8 * shape.bytes);
            next += 8 * shape.bytes;
            for (uint64_t a = 0; a < acts; a++) {
                acc[a] = tn_step32_avx2(w, bias, dot, scale, minimum, (int)shape.has_minimum, call->act,
                                        call->act_from + a, b, acc[a]);
            }
            tn_advance(&rows, shape.bytes, 2);
        }
        for (uint64_t a = 0; a < acts; a++) {
            tn_store8(call->out + a * call->out_stride + r, &rows, call->rows - r, acc[a]);
        }
    }
}

TN_INLINE void tn_gemv32_avx2(const tn_gemv *call, tn_shape shape, int32_t bias, tn_open_rows *open,
                              tn_dot_rows *dot) {
    if (call->act_rows == 1) {
        tn_rows32_avx2(call, shape, bias, open, dot, 1);
    } else {
        tn_rows32_avx2(call, shape, bias, open, dot, call->act_rows);
    }
}

/** Blocks of 32 into a p8 panel. */
TN_INLINE void tn_unpack32_avx2(const tn_unpack *call, tn_shape shape, int32_t bias, tn_open_one *open) {
    uint64_t blocks = (call->col_to - call->col_from) / 32;
    for (uint64_t r = 0; r < call->rows; r++) {
        const uint8_t *at =
            (const uint8_t *)call->blocks + r * call->row_stride + call->col_from / 32 * shape.bytes;
        int8_t *codes = (int8_t *)call->codes + r * call->code_stride;
        uint64_t scale = r * call->scale_stride;
        for (uint64_t b = 0; b < blocks; b++, at += shape.bytes) {
            __m256i q = _mm256_sub_epi8(open(at), _mm256_set1_epi8((char)bias));
            _mm256_storeu_si256((void *)(codes + 32 * b), q);
            call->scales[scale + b] = _cvtsh_ss(tn_load_u16(at));
            if (shape.has_minimum) { call->minimums[scale + b] = _cvtsh_ss(tn_load_u16(at + 2)); }
        }
    }
}

#endif
