/*
 * k_gemv_avx2.h - gemv and unpack of Q4_K and Q5_K with AVX2: sixteen rows at a time, two of them in a vector,
 * whose products a tree gathers. `fifth` is a constant, 1 where codes have a fifth bit.
 *
 * Registers are few: sums of a block column are made of four rows after four, whose fifth bits stay in
 * registers for all groups, and the float steps follow, two eights of rows in turn, for each waits for the one
 * before.
 */
#ifndef TENON_K_GEMV_AVX2_H
#define TENON_K_GEMV_AVX2_H

#include "k_pieces.h"
#include "simd_avx2.h"

/** 32 bytes at `offset` of rows 2 f, 2 f + 1 and, in the upper halves, of those four further: the first 16 in
 * x[0] and x[1], the others in x[2] and x[3]. */
TN_INLINE void tn_k_load_four(const tn_row_group *eight, uint32_t f, uint64_t offset, __m256i *x) {
    for (uint32_t j = 0; j < 4; j++) { x[j] = tn_load_both(eight, 2 * f + j % 2, offset + 16 * (j / 2)); }
}

/** Codes of group g (a constant), from the bytes of nibbles that it shares with its neighbour, and from
 * those of the fifth bits. */
TN_INLINE __m256i tn_k_join(__m256i nibbles, __m256i bits, uint32_t fifth, uint32_t g) {
    if (g % 2) { nibbles = _mm256_srli_epi16(nibbles, 4); }
    nibbles = _mm256_and_si256(nibbles, _mm256_set1_epi8(15));
    if (!fifth) { return nibbles; }
    bits = g < 4 ? _mm256_slli_epi16(bits, (int)(4 - g)) : _mm256_srli_epi16(bits, (int)(g - 4));
    return _mm256_or_si256(nibbles, _mm256_and_si256(bits, _mm256_set1_epi8(16)));
}

/** Of eight rows, row r in lane r: d and -dmin; in byte k of each lane the codes of groups k and 4 + k. */
typedef struct tn_k_heads {
    __m256 d, dmin;
    __m256i scales[2], minimums[2];
} tn_k_heads;

TN_INLINE tn_k_heads tn_k_load_heads(const tn_row_group *rows) {
    __m256i h[4], low4 = _mm256_set1_epi8(15), low6 = _mm256_set1_epi8(63), upper = _mm256_set1_epi8(0x30);
    tn_transpose8(rows, 0, h);
    tn_k_heads heads;
    tn_split_halves(h[0], &heads.d, &heads.dmin);
    heads.dmin = _mm256_xor_ps(heads.dmin, _mm256_set1_ps(-0.0f));
    heads.scales[0] = _mm256_and_si256(h[1], low6);
    heads.scales[1] =
        _mm256_or_si256(_mm256_and_si256(h[3], low4), _mm256_and_si256(_mm256_srli_epi32(h[1], 2), upper));
    heads.minimums[0] = _mm256_and_si256(h[2], low6);
    heads.minimums[1] = _mm256_or_si256(_mm256_and_si256(_mm256_srli_epi32(h[3], 4), low4),
                                        _mm256_and_si256(_mm256_srli_epi32(h[2], 2), upper));
    return heads;
}

/** Byte k of each lane, as a float, times x. */
TN_INLINE __m256 tn_k_times_byte(__m256 x, __m256i bytes, uint32_t k) {
    __m256i from = _mm256_add_epi32(_mm256_set1_epi32((int)(0x80808000 + k)), /* and zeros above it */
                                    _mm256_setr_epi32(0, 4, 8, 12, 0, 4, 8, 12));
    return _mm256_mul_ps(x, _mm256_cvtepi32_ps(_mm256_shuffle_epi8(bytes, from)));
}

/** Products of 32 codes of four rows with activation codes, in two sums a row. */
TN_INLINE __m256i tn_k_dot(const __m256i *w, const int8_t *codes) {
    __m256i low = _mm256_broadcastsi128_si256(_mm_loadu_si128((const void *)codes)), v[2];
    __m256i high = _mm256_broadcastsi128_si256(_mm_loadu_si128((const void *)(codes + 16)));
    for (uint32_t j = 0; j < 2; j++) {
        __m256i pairs =
            _mm256_add_epi16(_mm256_maddubs_epi16(w[j], low), _mm256_maddubs_epi16(w[2 + j], high));
        v[j] = _mm256_madd_epi16(pairs, _mm256_set1_epi16(1));
    }
    return _mm256_madd_epi16(_mm256_packs_epi32(v[0], v[1]), _mm256_set1_epi16(1));
}

/** Such sums of eight rows to one a row, row r in lane r. (_mm256_hadd_epi32 takes longer.) */
TN_INLINE __m256i tn_k_sum_two(const __m256i *fours, uint32_t fifth) {
    if (!fifth) { return _mm256_madd_epi16(_mm256_packs_epi32(fours[0], fours[1]), _mm256_set1_epi16(1)); }
    __m256 a = _mm256_castsi256_ps(fours[0]), b = _mm256_castsi256_ps(fours[1]);
    return _mm256_add_epi32(_mm256_castps_si256(_mm256_shuffle_ps(a, b, 0x88)),
                            _mm256_castps_si256(_mm256_shuffle_ps(a, b, 0xdd)));
}

/** The sums of a block column's groups of four rows: sums[a][g][four]. What lies at `next` is fetched. */
TN_INLINE void tn_k_sum_four_rows(const tn_row_group *eight, uint32_t four, uint32_t fifth,
                                  const uint8_t *next, const tn_k_act *x, uint64_t acts,
                                  __m256i (*sums)[8][4]) {
    __m256i bits[4] = {0}, nibbles[4], w[4];
    if (fifth) { tn_k_load_four(eight, four % 2, 16, bits); }
#pragma GCC unroll 8
    for (uint32_t g = 0; g < 8; g++) {
        if (g % 2 == 0) {
            tn_k_load_four(eight, four % 2, tn_k_nibbles(fifth) + 16 * g, nibbles);
            tn_prefetch_part(next, 4 * tn_k_bytes(fifth), g / 2, 4);
        }
        for (uint32_t j = 0; j < 4; j++) { w[j] = tn_k_join(nibbles[j], bits[j], fifth, g); }
        for (uint64_t a = 0; a < acts; a++) { sums[a][g][four] = tn_k_dot(w, x[a].codes + 32 * g); }
    }
}

/** The float steps of a block column of two eights of rows with an activation row. */
TN_INLINE void tn_k_step_block(const tn_k_heads *heads, __m256i (*sums)[4], uint32_t fifth, const tn_k_act *x,
                               float *results) {
    __m256 acc[2] = {_mm256_loadu_ps(results), _mm256_loadu_ps(results + 8)};
#pragma GCC unroll 8
    for (uint32_t g = 0; g < 8; g++) {
        __m256 x_scale = _mm256_set1_ps(x->scales[g]), x_sum = _mm256_set1_ps(x->sums[g]);
        for (uint32_t e = 0; e < 2; e++) {
            __m256 sum = _mm256_cvtepi32_ps(tn_k_sum_two(sums[g] + 2 * e, fifth));
            __m256 scale = tn_k_times_byte(heads[e].d, heads[e].scales[g / 4], g % 4);
            __m256 minimum = tn_k_times_byte(heads[e].dmin, heads[e].minimums[g / 4], g % 4);
            acc[e] = _mm256_fmadd_ps(sum, _mm256_mul_ps(scale, x_scale), acc[e]);
            acc[e] = _mm256_fmadd_ps(x_sum, _mm256_mul_ps(minimum, x_scale), acc[e]);
        }
    }
    for (uint32_t e = 0; e < 2; e++) { _mm256_storeu_ps(results + 8 * e, acc[e]); }
}

/** Sixteen rows from row r on. `acts` is a constant or call->act_rows. */
TN_INLINE void tn_k_rows(const tn_gemv *call, uint64_t r, uint32_t fifth, uint64_t acts) {
    const uint8_t *first = (const uint8_t *)call->blocks + r * call->row_stride;
    const uint8_t *next = tn_ahead(first, 16 * call->row_stride);
    tn_row_group rows = tn_group_rows(first, call->row_stride, call->rows - r, 4), eights[2] = {rows, rows};
    for (uint32_t i = 0; i < 2; i++) { eights[1].four[i] = rows.four[2 + i]; }
    tn_k_act x[TN_MAX_ROWS];
    float results[TN_MAX_ROWS][16];
    __m256i sums[TN_MAX_ROWS][8][4];
    for (uint64_t a = 0; a < acts; a++) {
        x[a] = tn_k_act_row(call->act, call->act_from + a);
        memset(results[a], 0, sizeof results[a]);
    }
    for (uint64_t block = 0; block < call->cols / 256; block++) {
        tn_k_heads heads[2];
        for (uint64_t a = 0; a < acts; a++) { tn_k_act_block(&x[a], block > 0); }
        for (uint32_t four = 0; four < 4; four++, next += 4 * tn_k_bytes(fifth)) {
            tn_k_sum_four_rows(&eights[four / 2], four, fifth, next, x, acts, sums);
        }
        for (uint32_t e = 0; e < 2; e++) {
            heads[e] = tn_k_load_heads(&eights[e]);
            tn_advance8(&eights[e], tn_k_bytes(fifth));
        }
        __asm__("" : "+m"(heads)); /* registers are few */
        for (uint64_t a = 0; a < acts; a++) { tn_k_step_block(heads, sums[a], fifth, &x[a], results[a]); }
    }
    for (uint64_t a = 0; a < acts; a++) {
        float *out = call->out + a * call->out_stride + r;
        if (call->rows - r >= 16) {
            memcpy(out, results[a], sizeof results[a]);
        } else {
            tn_store_group(out, &rows, results[a], 4);
        }
    }
}

TN_INLINE void tn_k_gemv_avx2(const tn_gemv *call, uint32_t fifth) {
    for (uint64_t r = 0; r < call->rows; r += 16) {
        if (call->act_rows == 1) {
            tn_k_rows(call, r, fifth, 1);
        } else {
            tn_k_rows(call, r, fifth, call->act_rows);
        }
    }
}

TN_INLINE void tn_k_unpack_avx2(const tn_unpack *call, uint32_t fifth) {
    for (uint64_t r = 0; r < call->rows; r++) {
        const uint8_t *block =
            (const uint8_t *)call->blocks + r * call->row_stride + call->col_from / 256 * tn_k_bytes(fifth);
        int8_t *codes = (int8_t *)call->codes + r * call->code_stride;
        uint64_t at = r * call->scale_stride;
        for (uint64_t col = call->col_from; col < call->col_to;
             col += 256, block += tn_k_bytes(fifth), codes += 256, at += 8) {
            __m256i bits = _mm256_setzero_si256();
            if (fifth) { bits = _mm256_loadu_si256((const void *)(block + 16)); }
#pragma GCC unroll 8
            for (uint32_t g = 0; g < 8; g++) {
                const uint8_t *nibbles = block + tn_k_nibbles(fifth) + 32 * (g / 2);
                __m256i x = _mm256_loadu_si256((const void *)nibbles);
                _mm256_storeu_si256((void *)(codes + 32 * g), tn_k_join(x, bits, fifth, g));
            }
            tn_k_unpack_head(block, call->scales + at, call->minimums + at);
        }
    }
}

#endif
