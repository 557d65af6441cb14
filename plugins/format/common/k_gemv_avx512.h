/*
 * k_gemv_avx512.h - gemv and unpack of Q4_K and Q5_K with AVX-512 VNNI. They differ by the fifth bits, 32
 * bytes between head and nibbles: `fifth` is a constant, 1 where there are some.
 *
 * Sixteen rows at a time. Heads and codes are transposed, so that four columns of sixteen rows lie in a vector, one
 * row a lane, and no tree has to gather a row's products. The nibbles of 64 columns are loaded while those before
 * them are multiplied.
 */
#ifndef TENON_K_GEMV_AVX512_H
#define TENON_K_GEMV_AVX512_H

#include "groups16_avx512.h"
#include "k_pieces.h"

/** Of sixteen rows, row r in lane r: d and -dmin; in byte k of each lane the codes of groups k and 4 + k. */
typedef struct tn_k_heads {
    __m512 d, dmin;
    __m512i scales[2], minimums[2];
} tn_k_heads;

TN_INLINE tn_k_heads tn_k_load_heads(const tn_row_group *rows) {
    __m512i h[4], low4 = _mm512_set1_epi8(15), low6 = _mm512_set1_epi8(63), upper = _mm512_set1_epi8(0x30);
    tn_transpose16(rows, 0, h);
    __m512 dmin = tn_upper_halves(h[0]);
    return (tn_k_heads){
        .d = tn_lower_halves(h[0]),
        .dmin = _mm512_xor_ps(dmin, _mm512_set1_ps(-0.0f)),
        .scales = {_mm512_and_si512(h[1], low6),
                   _mm512_or_si512(_mm512_and_si512(h[3], low4),
                                   _mm512_and_si512(_mm512_srli_epi32(h[1], 2), upper))},
        .minimums = {_mm512_and_si512(h[2], low6),
                     _mm512_or_si512(_mm512_and_si512(_mm512_srli_epi32(h[3], 4), low4),
                                     _mm512_and_si512(_mm512_srli_epi32(h[2], 2), upper))},
    };
}

/** Byte k of each lane, as a float, times x. */
TN_INLINE __m512 tn_k_times_byte(__m512 x, __m512i bytes, uint32_t k) {
    __m512i from = _mm512_add_epi32(_mm512_set1_epi32((int)(0x80808000 + k)), /* and zeros above it */
                                    _mm512_set4_epi32(12, 8, 4, 0));
    return _mm512_mul_ps(x, _mm512_cvtepi32_ps(_mm512_shuffle_epi8(bytes, from)));
}

/** Bit i of each byte of `nibbles` as bit 4. */
TN_INLINE __m512i tn_k_fifth16(__m512i nibbles, uint32_t i) {
    __m512i places = i == 0   ? _mm512_set1_epi16(0x1000)
                     : i == 1 ? _mm512_set1_epi32(0x10100000)
                     : i == 2 ? _mm512_set1_epi64(0x1010101000000000)
                              : _mm512_set4_epi32(0x10101010, 0x10101010, 0, 0);
    return _mm512_shuffle_epi8(places, nibbles);
}

/** Codes of groups 2 c and 2 c + 1, whose fifth bits are bits 2 c and 2 c + 1 of `bits`: called for c = 0 .. 3 in
 * turn, for at c = 2 the upper four bits come down. */
TN_INLINE void tn_k_codes16(__m512i nibbles, __m512i *bits, uint32_t fifth, uint32_t c, __m512i *w) {
    __m512i low4 = _mm512_set1_epi8(15);
    w[0] = nibbles;
    w[1] = _mm512_srli_epi16(nibbles, 4);
    if (c == 2) { *bits = _mm512_and_si512(_mm512_srli_epi16(*bits, 4), low4); }
    __m512i four = c < 2 ? _mm512_and_si512(*bits, low4) : *bits;
    for (uint32_t i = 0; i < 2; i++) {
        __m512i place = tn_k_fifth16(four, c % 2 * 2 + i);
        w[i] = fifth ? _mm512_ternarylogic_epi32(place, w[i], low4, 0xf8) /* a | b & c */
                     : _mm512_and_si512(w[i], low4);
    }
}

/** Products of the codes w of groups 2 c and 2 c + 1 with their columns 4 i .. 4 i + 3. */
TN_INLINE void tn_k_dot16(const __m512i *w, uint32_t c, uint32_t i, const tn_k_act *x, __m512i *sums) {
    sums[0] = tn_dot_four16(sums[0], w[0], x->codes + 64 * c + 4 * i);
    sums[1] = tn_dot_four16(sums[1], w[1], x->codes + 64 * c + 32 + 4 * i);
}

/** The float steps of group g. */
TN_INLINE __m512 tn_k_step16(__m512i sum, __m512 scale, __m512 minimum, const tn_k_act *x, uint32_t g,
                             __m512 acc) {
    __m512 x_scale = _mm512_set1_ps(x->scales[g]);
    acc = _mm512_fmadd_ps(_mm512_cvtepi32_ps(sum), _mm512_mul_ps(scale, x_scale), acc);
    return _mm512_fmadd_ps(_mm512_set1_ps(x->sums[g]), _mm512_mul_ps(minimum, x_scale), acc);
}

/* A block column of sixteen rows, whose first nibbles are in `low`; reads those of the next, `step` bytes further.
 * `acts` is a constant, 1, or the number of rows of x, and then `single` is 0. */
TN_INLINE void tn_k_column16(tn_row_group *rows, uint64_t step, uint32_t fifth, const uint8_t *next,
                             uint64_t next_group, __m512i (*low)[4], const tn_k_act *x, uint64_t acts,
                             int single, __m512 *acc) {
    tn_k_heads heads = tn_k_load_heads(rows);
    __m512i bits[2][4] = {0};
    for (uint32_t h = 0; fifth && h < 2; h++) { tn_transpose16(rows, 16 + 16 * h, bits[h]); }
#pragma GCC unroll 4
    for (uint32_t c = 0; c < 4; c++) {
        __m512i w[8][2], sums[2] = {0};
        __m512 scales[2], minimums[2];
        tn_transposing16 coming;
        if (c == 3) { tn_advance(rows, step, 4); }
        /* Distances are added where they are used: sums of them with offsets do not fit the registers. */
        __asm__("" : "+r"(rows->apart[1]), "+r"(rows->apart[2]), "+r"(rows->apart[3]));
#pragma GCC unroll 8
        for (uint32_t i = 0; i < 8; i++) {
            uint32_t h = i / 4, k = i % 4;
            if (i % 2 == 0) { /* and here they stay: memory comes up to an eighth faster */
                tn_prefetch_sixteenth(next, next_group, tn_k_bytes(fifth), 4 * c + i / 2);
                __asm__ volatile("" ::: "memory");
            }
            tn_transpose_part16(rows, tn_k_nibbles(fifth) + 32 * ((c + 1) % 4) + 16 * h, k, &coming);
            tn_k_codes16(low[h][k], &bits[h][k], fifth, c, w[i]);
            if (single) { tn_k_dot16(w[i], c, i, x, sums); }
            if (k == 3) { tn_turn_end16(coming.pairs, low[h]); }
        }
        for (uint32_t i = 0; i < 2; i++) {
            scales[i] = tn_k_times_byte(heads.d, heads.scales[c / 2], c % 2 * 2 + i);
            minimums[i] = tn_k_times_byte(heads.dmin, heads.minimums[c / 2], c % 2 * 2 + i);
        }
#pragma GCC unroll 1
        for (uint64_t a = 0; a < acts; a++) {
            if (!single) {
                sums[0] = sums[1] = _mm512_setzero_si512();
                for (uint32_t i = 0; i < 8; i++) { tn_k_dot16(w[i], c, i, &x[a], sums); }
            }
            for (uint32_t i = 0; i < 2; i++) {
                acc[a] = tn_k_step16(sums[i], scales[i], minimums[i], &x[a], 2 * c + i, acc[a]);
            }
        }
    }
}

/** Sixteen rows from row r on. `acts` and `single` as above. */
TN_INLINE void tn_k_rows(const tn_gemv *call, uint64_t r, uint32_t fifth, uint64_t acts, int single) {
    const uint8_t *first = (const uint8_t *)call->blocks + r * call->row_stride;
    const uint8_t *next = first + 16 * call->row_stride;
    tn_row_group rows = tn_group_rows(first, call->row_stride, call->rows - r, 4);
    tn_k_act x[TN_MAX_ROWS];
    __m512 acc[TN_MAX_ROWS];
    __m512i low[2][4];
    for (uint64_t a = 0; a < acts; a++) {
        x[a] = tn_k_act_row(call->act, call->act_from + a);
        acc[a] = _mm512_setzero_ps();
    }
    for (uint32_t h = 0; h < 2; h++) { tn_transpose16(&rows, tn_k_nibbles(fifth) + 16 * h, low[h]); }
    for (uint64_t block = 0; block < call->cols / 256; block++) {
        uint64_t step =
            block + 1 < call->cols / 256 ? tn_k_bytes(fifth) : 0; /* there is none behind the last */
        for (uint64_t a = 0; a < acts; a++) {
            tn_k_act_block(&x[a], block > 0);
            __asm__("" : "+m"(x[a].sums)); /* broadcast them from memory */
        }
        tn_k_column16(&rows, step, fifth, next, 16 * call->row_stride, low, x, acts, single, acc);
        next += 16 * tn_k_bytes(fifth);
        __asm__("" : "+r"(next)); /* one pointer, not one for each line */
    }
    for (uint64_t a = 0; a < acts; a++) {
        tn_store16(call->out + a * call->out_stride + r, &rows, call->rows - r, acc[a]);
    }
}

TN_INLINE void tn_k_gemv_avx512(const tn_gemv *call, uint32_t fifth) {
    for (uint64_t r = 0; r < call->rows; r += 16) {
        if (call->act_rows == 1) {
            tn_k_rows(call, r, fifth, 1, 1);
        } else {
            tn_k_rows(call, r, fifth, call->act_rows, 0);
        }
    }
}

/** Codes of group g (a constant), from the bytes of nibbles that it shares with its neighbour, and from
 * those of the fifth bits. */
TN_INLINE __m512i tn_k_join(__m512i nibbles, __m512i bits, uint32_t fifth, uint32_t g) {
    if (g % 2) { nibbles = _mm512_srli_epi16(nibbles, 4); }
    nibbles = _mm512_and_si512(nibbles, _mm512_set1_epi8(15));
    if (!fifth) { return nibbles; }
    bits = g < 4 ? _mm512_slli_epi16(bits, 4 - g) : _mm512_srli_epi16(bits, g - 4);
    return _mm512_ternarylogic_epi32(nibbles, bits, _mm512_set1_epi8(16), 0xf8); /* a | (b & c) */
}

TN_INLINE void tn_k_unpack_avx512(const tn_unpack *call, uint32_t fifth) {
    for (uint64_t r = 0; r < call->rows; r++) {
        const uint8_t *block =
            (const uint8_t *)call->blocks + r * call->row_stride + call->col_from / 256 * tn_k_bytes(fifth);
        int8_t *codes = (int8_t *)call->codes + r * call->code_stride;
        uint64_t at = r * call->scale_stride;
        for (uint64_t col = call->col_from; col < call->col_to;
             col += 256, block += tn_k_bytes(fifth), codes += 256, at += 8) {
            __m512i bits = _mm512_setzero_si512();
            if (fifth) { bits = tn_load_two(block + 16, block + 16); }
#pragma GCC unroll 2
            for (uint32_t half = 0; half < 2; half++) {
                const uint8_t *nibbles = block + tn_k_nibbles(fifth) + 64 * half;
                __m512i x = _mm512_loadu_si512(nibbles);
                /* Groups 0 and 2, 1 and 3 of this half: the wanted bit of the second is two further up. */
                __m512i apart = _mm512_mask_srli_epi16(bits, 0xffff0000, bits, 2);
                __m512i a = tn_k_join(x, apart, fifth, 4 * half),
                        b = tn_k_join(x, apart, fifth, 4 * half + 1);
                _mm512_storeu_si512(codes + 128 * half, _mm512_shuffle_i64x2(a, b, 0x44));
                _mm512_storeu_si512(codes + 128 * half + 64, _mm512_shuffle_i64x2(a, b, 0xee));
            }
            tn_k_unpack_head(block, call->scales + at, call->minimums + at);
        }
    }
}

#endif
