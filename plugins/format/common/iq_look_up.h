/*
 * iq_look_up.h - gemv and unpack of the IQ2 and IQ3 types by loads from the codebook: for AVX2, and for AVX-512
 * VNNI without VBMI, where the same steps on the same 256 bits have more registers and a shorter product (wider
 * vectors only took longer to put together). Sixteen weight rows at a time, half a block (128 columns) of each.
 *
 * What bounds these kernels is loads: of an entry, of its index, of anything that did not stay in a register.
 * So of a block column first all signs and the indices of more than a byte are made ready, by vectors; indices
 * are read by eights of bytes; and the activation codes of a half stay in registers for all rows.
 *
 * Nothing needs columns in order. Quadword q of vector k of a half is its columns 32 q + 8 k .. + 7, so that
 * all four vectors hold a group of 32 in a quadword, and the first two its first 16 columns.
 */
#ifndef TENON_IQ_LOOK_UP_H
#define TENON_IQ_LOOK_UP_H

#include "iq_blocks.h"
#include "simd_avx2.h"

/** The 256 sign bits of a block, in order. */
typedef __m256i tn_iq_signs_of(const uint8_t *block);
/** The indices of a block's entries; not of types whose indices are bytes of the block. */
typedef void tn_iq_index_of(const uint8_t *block, uint16_t *index);
/** Vector k of a half's magnitudes. */
typedef __m256i tn_iq_entries(const uint8_t *block, const uint16_t *index, uint32_t half, uint32_t k);
/** The scales s of eight rows' blocks: group g's in the top nibbles of words[g], row r in lane r. */
typedef void tn_iq_subs8(const uint8_t *const *blocks, __m256i *words);
/** The scales s of one block, a nibble each. */
typedef uint64_t tn_iq_subs(const uint8_t *block);

/** The four groups of a half, in order, to its vectors, and back: quadword q of vector k to k of q. */
TN_INLINE void tn_iq_order_half(const __m256i *from, __m256i *to) {
    __m256i a = _mm256_unpacklo_epi64(from[0], from[1]), b = _mm256_unpackhi_epi64(from[0], from[1]);
    __m256i c = _mm256_unpacklo_epi64(from[2], from[3]), d = _mm256_unpackhi_epi64(from[2], from[3]);
    to[0] = _mm256_permute2x128_si256(a, c, 0x20);
    to[1] = _mm256_permute2x128_si256(b, d, 0x20);
    to[2] = _mm256_permute2x128_si256(a, c, 0x31);
    to[3] = _mm256_permute2x128_si256(b, d, 0x31);
}

/** The even lanes of each half of a, then of b; the odd ones. */
TN_INLINE __m256i tn_even_lanes(__m256i a, __m256i b) {
    return _mm256_castps_si256(_mm256_shuffle_ps(_mm256_castsi256_ps(a), _mm256_castsi256_ps(b), 0x88));
}
TN_INLINE __m256i tn_odd_lanes(__m256i a, __m256i b) {
    return _mm256_castps_si256(_mm256_shuffle_ps(_mm256_castsi256_ps(a), _mm256_castsi256_ps(b), 0xdd));
}

/** Products of eight rows, two lanes a group: the sums of four groups, row r in lane r. */
TN_INLINE void tn_iq_sum_pairs(const __m256i *rows, __m256i *sums) {
    __m256i pairs[4], even[2], odd[2];
    for (uint32_t m = 0; m < 4; m++) { pairs[m] = _mm256_hadd_epi32(rows[2 * m], rows[2 * m + 1]); }
    for (uint32_t m = 0; m < 2; m++) {
        even[m] = tn_even_lanes(pairs[2 * m], pairs[2 * m + 1]);
        odd[m] = tn_odd_lanes(pairs[2 * m], pairs[2 * m + 1]);
    }
    sums[0] = _mm256_permute2x128_si256(even[0], even[1], 0x20);
    sums[1] = _mm256_permute2x128_si256(odd[0], odd[1], 0x20);
    sums[2] = _mm256_permute2x128_si256(even[0], even[1], 0x31);
    sums[3] = _mm256_permute2x128_si256(odd[0], odd[1], 0x31);
}

/** Products of two vectors with the signs moved over. */
#ifdef __AVX512VNNI__
TN_INLINE __m256i tn_iq_dot_two(const __m256i *magnitudes, const __m256i *signs, const __m256i *x) {
    __m256i sum =
        _mm256_dpbusd_epi32(_mm256_setzero_si256(), magnitudes[0], _mm256_sign_epi8(x[0], signs[0]));
    return _mm256_dpbusd_epi32(sum, magnitudes[1], _mm256_sign_epi8(x[1], signs[1]));
}
#else /* pairs of pairs fit 16 bits, magnitudes being at most 62 */
TN_INLINE __m256i tn_iq_dot_two(const __m256i *magnitudes, const __m256i *signs, const __m256i *x) {
    __m256i sum = _mm256_add_epi16(_mm256_maddubs_epi16(magnitudes[0], _mm256_sign_epi8(x[0], signs[0])),
                                   _mm256_maddubs_epi16(magnitudes[1], _mm256_sign_epi8(x[1], signs[1])));
    return _mm256_madd_epi16(sum, _mm256_set1_epi16(1));
}
#endif

/* The scale of a group: of s and of the block's `unit`, d times a power of two. */
TN_INLINE __m256 tn_iq_scale(__m256i s, __m256 unit) {
    return _mm256_fmadd_ps(_mm256_cvtepi32_ps(s), _mm256_add_ps(unit, unit), unit);
}

/** The four bytes at `offset` of eight blocks, block i in lane i. */
TN_INLINE __m256i tn_iq_words8(const uint8_t *const *blocks, uint64_t offset) {
    __m128i four[2];
    for (uint32_t i = 0; i < 2; i++) {
        four[i] =
            _mm_setr_epi32(tn_load_i32(blocks[4 * i] + offset), tn_load_i32(blocks[4 * i + 1] + offset),
                           tn_load_i32(blocks[4 * i + 2] + offset), tn_load_i32(blocks[4 * i + 3] + offset));
    }
    return _mm256_set_m128i(four[1], four[0]);
}

/* The scales of eight blocks, block i in lane i; `group` is a constant. */
TN_INLINE void tn_iq_scales8(const uint8_t *const *blocks, uint32_t group, float factor,
                             tn_iq_subs8 *open_subs, __m256 *scales) {
    __m256i words[16];
    __m256 unit, next;
    tn_split_halves(tn_iq_words8(blocks, 0), &unit, &next);
    unit = _mm256_mul_ps(unit, _mm256_set1_ps(factor));
    open_subs(blocks, words);
    for (uint32_t g = 0; g < 256 / group; g++) {
        scales[g] = tn_iq_scale(_mm256_srli_epi32(words[g], 28), unit);
    }
}

/*
 * Products of sixteen rows with one activation row, of each half: where groups are of 16, of the even ones and of
 * the odd ones, else of all in even[].
 */
typedef struct tn_iq_products {
    __m256i even[2][16], odd[2][16];
} tn_iq_products;

/*
 * The float steps of a block column with one activation row. A step waits for the one before: two eights of
 * rows take turns.
 */
TN_INLINE void tn_iq_steps16(const tn_iq_products *products, uint32_t group, __m256 (*scales)[16],
                             const float *x_scales, __m256 *acc) {
    __m256i even[2][2][4], odd[2][2][4];
    for (uint32_t half = 0; half < 2; half++) {
        for (uint32_t e = 0; e < 2; e++) {
            tn_iq_sum_pairs(products->even[half] + 8 * e, even[half][e]);
            if (group == 16) { tn_iq_sum_pairs(products->odd[half] + 8 * e, odd[half][e]); }
        }
    }
    for (uint32_t g = 0; g < 8; g++) {
        __m256 x_scale = _mm256_set1_ps(x_scales[g]);
        for (uint32_t e = 0; e < 2; e++) {
            const __m256 *scale = scales[e] + g * 32 / group;
            __m256 sum = _mm256_cvtepi32_ps(even[g / 4][e][g % 4]);
            acc[e] = _mm256_fmadd_ps(sum, _mm256_mul_ps(scale[0], x_scale), acc[e]);
            if (group == 16) {
                sum = _mm256_cvtepi32_ps(odd[g / 4][e][g % 4]);
                acc[e] = _mm256_fmadd_ps(sum, _mm256_mul_ps(scale[1], x_scale), acc[e]);
            }
        }
    }
}

/* What is made ready of a block: words of signs of each half, see below, and indices of entries. */
typedef struct tn_iq_parts {
    __m256i signs[2];
    uint16_t index[64];
} tn_iq_parts;

/*
 * A word for each eight columns: the signs of the even ones in bits 1, 3, 5, 7 and of the odd ones in 9, 11,
 * 13, 15, ones between.
 */
TN_INLINE void tn_iq_take_apart(const uint8_t *block, tn_iq_signs_of *signs_of, tn_iq_index_of *index_of,
                                tn_iq_parts *parts) {
    __m256i signs = _mm256_permute4x64_epi64(signs_of(block), 0xd8), twice = _mm256_add_epi8(signs, signs);
    __m256i ones = _mm256_set1_epi8(0x55);
    parts->signs[0] = _mm256_or_si256(_mm256_unpacklo_epi8(twice, signs), ones);
    parts->signs[1] = _mm256_or_si256(_mm256_unpackhi_epi8(twice, signs), ones);
    index_of(block, parts->index);
}

/*
 * The half's sixteen words of signs to four vectors of numbers above or below 0: words copied four times and
 * moved up by 6, 4, 2 and 0 bits, so that each byte has the sign of its column on top and a one below it.
 */
TN_INLINE void tn_iq_open_signs(__m256i words, __m256i *out) {
    __m256i up = _mm256_set1_epi64x(0x0001000400100040);
    __m256i first = _mm256_broadcastsi128_si256(_mm_set_epi64x(0x0908090809080908, 0x0100010001000100));
    for (uint32_t k = 0; k < 4; k++) { /* word k of each quadword */
        __m256i copies = _mm256_shuffle_epi8(words, _mm256_add_epi8(first, _mm256_set1_epi8((char)(2 * k))));
        out[k] = _mm256_mullo_epi16(copies, up);
    }
}

/* Half a block column of sixteen rows, from column `col` on. */
TN_INLINE void tn_iq_half(const tn_gemv *call, const uint8_t *const *blocks, uint32_t half, uint32_t group,
                          tn_iq_entries *entries, const tn_iq_parts *parts, uint64_t col, uint64_t acts,
                          tn_iq_products *products) {
    const tn_act *act = call->act;
    __m256i x[TN_MAX_ROWS][4];
#pragma GCC unroll 1
    for (uint64_t a = 0; a < acts; a++) {
        const int8_t *codes = (const int8_t *)act->data + (call->act_from + a) * act->stride + col;
        __m256i in[4];
        for (uint32_t q = 0; q < 4; q++) { in[q] = _mm256_loadu_si256((const void *)(codes + 32 * q)); }
        tn_iq_order_half(in, x[a]);
    }
#pragma GCC unroll 1
    for (uint32_t i = 0; i < 16; i++) {
        const uint8_t *block = blocks[i];
        __m256i magnitudes[4], signs[4];
        tn_iq_open_signs(parts[i].signs[half], signs);
#pragma GCC unroll 4
        for (uint32_t k = 0; k < 4; k++) { magnitudes[k] = entries(block, parts[i].index, half, k); }
#pragma GCC unroll 1
        for (uint64_t a = 0; a < acts; a++) {
            __m256i even = tn_iq_dot_two(magnitudes, signs, x[a]);
            __m256i odd = tn_iq_dot_two(magnitudes + 2, signs + 2, x[a] + 2);
            products[a].even[half][i] = group == 16 ? even : _mm256_add_epi32(even, odd);
            if (group == 16) { products[a].odd[half][i] = odd; }
        }
    }
}

/* Sixteen rows from row r on. `acts` is a constant or call->act_rows. */
TN_INLINE void tn_iq_rows_by_loads(const tn_gemv *call, uint32_t bytes, uint32_t group, float factor,
                                   tn_iq_signs_of *signs_of, tn_iq_index_of *index_of, tn_iq_entries *entries,
                                   tn_iq_subs8 *open_subs, uint64_t r, uint64_t acts) {
    const tn_act *act = call->act;
    const uint8_t *first = (const uint8_t *)call->blocks + r * call->row_stride, *blocks[16];
    const uint8_t *next = tn_ahead(first, 16 * call->row_stride);
    tn_row_group rows = tn_group_rows(first, call->row_stride, call->rows - r, 4);
    __m256 acc[TN_MAX_ROWS][2], scales[2][16];
    tn_iq_products products[TN_MAX_ROWS];
    tn_iq_parts parts[16];
    for (uint32_t i = 0; i < 16; i++) { blocks[i] = tn_row(&rows, i); }
    for (uint64_t a = 0; a < acts; a++) { acc[a][0] = acc[a][1] = _mm256_setzero_ps(); }
    for (uint64_t col = 0; col < call->cols; col += 256) {
#pragma GCC unroll 1
        for (uint32_t i = 0; i < 16; i++) { tn_iq_take_apart(blocks[i], signs_of, index_of, &parts[i]); }
#pragma GCC unroll 2 /* entries lie at constant places then */
        for (uint32_t half = 0; half < 2; half++, next += 8 * bytes) {
            for (uint32_t o = 0; o < 8 * bytes; o += 64) {
                _mm_prefetch((const char *)next + o, _MM_HINT_T0);
            }
            tn_iq_half(call, blocks, half, group, entries, parts, col + 128 * half, acts, products);
        }
        tn_iq_scales8(blocks, group, factor, open_subs, scales[0]);
        tn_iq_scales8(blocks + 8, group, factor, open_subs, scales[1]);
#pragma GCC unroll 1
        for (uint64_t a = 0; a < acts; a++) {
            const float *x_scales = act->scales + (call->act_from + a) * act->scale_stride + col / 32;
            tn_iq_steps16(&products[a], group, scales, x_scales, acc[a]);
        }
        for (uint32_t i = 0; i < 16; i++) { blocks[i] += bytes; }
    }
    for (uint64_t a = 0; a < acts; a++) {
        float *out = call->out + a * call->out_stride + r, results[16];
        for (uint32_t e = 0; e < 2; e++) { _mm256_storeu_ps(results + 8 * e, acc[a][e]); }
        if (call->rows - r >= 16) {
            memcpy(out, results, sizeof results);
        } else {
            tn_store_group(out, &rows, results, 4);
        }
    }
}

/** `factor`: what d times an odd number is times. */
TN_INLINE void tn_iq_gemv_by_loads(const tn_gemv *call, uint32_t bytes, uint32_t group, float factor,
                                   tn_iq_signs_of *signs_of, tn_iq_index_of *index_of, tn_iq_entries *entries,
                                   tn_iq_subs8 *subs) {
    for (uint64_t r = 0; r < call->rows; r += 16) {
        if (call->act_rows == 1) {
            tn_iq_rows_by_loads(call, bytes, group, factor, signs_of, index_of, entries, subs, r, 1);
        } else {
            tn_iq_rows_by_loads(call, bytes, group, factor, signs_of, index_of, entries, subs, r,
                                call->act_rows);
        }
    }
}

/* The scales of one block, in order. */
TN_INLINE void tn_iq_store_scales(const uint8_t *block, uint64_t subs, uint32_t group, float factor,
                                  float *scales) {
    __m256 unit = _mm256_set1_ps(_cvtsh_ss(tn_load_u16(block)) * factor);
    __m128i s = _mm_cvtsi64_si128((long long)subs);
    s = _mm_and_si128(_mm_unpacklo_epi8(s, _mm_srli_epi16(s, 4)), _mm_set1_epi8(15));
    _mm256_storeu_ps(scales, tn_iq_scale(_mm256_cvtepu8_epi32(s), unit));
    if (group == 16) {
        _mm256_storeu_ps(scales + 8, tn_iq_scale(_mm256_cvtepu8_epi32(_mm_srli_si128(s, 8)), unit));
    }
}

TN_INLINE void tn_iq_unpack_by_loads(const tn_unpack *call, uint32_t bytes, uint32_t group, float factor,
                                     tn_iq_signs_of *signs_of, tn_iq_index_of *index_of,
                                     tn_iq_entries *entries, tn_iq_subs *subs) {
    for (uint64_t r = 0; r < call->rows; r++) {
        const uint8_t *block =
            (const uint8_t *)call->blocks + r * call->row_stride + call->col_from / 256 * bytes;
        int8_t *codes = (int8_t *)call->codes + r * call->code_stride;
        float *scales = call->scales + r * call->scale_stride;
        for (uint64_t col = call->col_from; col < call->col_to;
             col += 256, block += bytes, codes += 256, scales += 256 / group) {
            tn_iq_parts parts;
            tn_iq_take_apart(block, signs_of, index_of, &parts);
#pragma GCC unroll 2
            for (uint32_t half = 0; half < 2; half++) {
                __m256i signs[4], signed_codes[4], natural[4];
                tn_iq_open_signs(parts.signs[half], signs);
                for (uint32_t k = 0; k < 4; k++) {
                    signed_codes[k] = _mm256_sign_epi8(entries(block, parts.index, half, k), signs[k]);
                }
                tn_iq_order_half(signed_codes, natural);
                for (uint32_t q = 0; q < 4; q++) {
                    _mm256_storeu_si256((void *)(codes + 128 * half + 32 * q), natural[q]);
                }
            }
            tn_iq_store_scales(block, subs(block), group, factor, scales);
        }
    }
}

/* ---- what blocks are made of */

/** Four entries of eight columns. */
TN_INLINE __m256i tn_iq2_four(const uint64_t *codebook, uint32_t i, uint32_t j, uint32_t k, uint32_t l) {
    __m128i low = _mm_loadl_epi64((const void *)(codebook + i)),
            high = _mm_loadl_epi64((const void *)(codebook + k));
    low = _mm_castps_si128(_mm_loadh_pi(_mm_castsi128_ps(low), (const void *)(codebook + j)));
    high = _mm_castps_si128(_mm_loadh_pi(_mm_castsi128_ps(high), (const void *)(codebook + l)));
    return _mm256_set_m128i(high, low);
}

/** Four entries of four columns. */
TN_INLINE __m128i tn_iq3_four(const uint32_t *codebook, uint32_t i, uint32_t j, uint32_t k, uint32_t l) {
    return _mm_setr_epi32((int)codebook[i], (int)codebook[j], (int)codebook[k], (int)codebook[l]);
}

/* Indices are read by eights of bytes, for loads are what these kernels have too many of. */

/** Index i of bytes, of words; i is a constant but for a multiple of 8, of 4. */
TN_INLINE uint32_t tn_iq_byte_index(const uint8_t *index, uint32_t i) {
    return tn_load_u64(index + i / 8 * 8) >> i % 8 * 8 & 0xff;
}
TN_INLINE uint32_t tn_iq_word_index(const uint16_t *index, uint32_t i) {
    return tn_load_u64(index + i / 4 * 4) >> i % 4 * 16 & 0xffff;
}

/** Vector k of a half's magnitudes by indices: entries of eight columns, of four. */
TN_INLINE __m256i tn_iq2_by_index(const uint64_t *codebook, const uint16_t *index, uint32_t half,
                                  uint32_t k) {
    uint32_t i[4];
    for (uint32_t q = 0; q < 4; q++) { i[q] = tn_iq_word_index(index, 16 * half + 4 * q + k); }
    return tn_iq2_four(codebook, i[0], i[1], i[2], i[3]);
}
TN_INLINE __m256i tn_iq3_by_index(const uint32_t *codebook, const uint16_t *index, uint32_t half,
                                  uint32_t k) {
    uint32_t i[8];
    for (uint32_t n = 0; n < 8; n++) {
        i[n] = tn_iq_word_index(index, 32 * half + n / 2 * 8 + 2 * k + n % 2);
    }
    return _mm256_set_m128i(tn_iq3_four(codebook, i[4], i[5], i[6], i[7]),
                            tn_iq3_four(codebook, i[0], i[1], i[2], i[3]));
}

/** Stores 16 indices: low bytes, and of their high bits those of `mask` of words that have them on top. */
TN_INLINE void tn_iq_store_index(const uint8_t *low, __m256i high, uint32_t mask, uint16_t *index) {
    __m256i bytes = _mm256_cvtepu8_epi16(_mm_loadu_si128((const void *)low));
    high = _mm256_and_si256(high, _mm256_set1_epi16((short)mask));
    _mm256_storeu_si256((void *)index, _mm256_or_si256(bytes, high));
}

/** Codes of seven bits in the bytes of x, their top bits 0: the eighth bit makes the number of bits even. */
TN_INLINE __m256i tn_iq_even_signs(__m256i x) {
    /* what the shift brings from the next byte is cut off */
    __m256i folded = _mm256_xor_si256(x, _mm256_srli_epi16(x, 4));
    __m256i parity =
        _mm256_broadcastsi128_si256(_mm_set_epi64x(0x0080800080000080, (long long)0x8000008000808000));
    return _mm256_or_si256(x, _mm256_shuffle_epi8(parity, _mm256_and_si256(folded, _mm256_set1_epi8(15))));
}

/** The four 7-bit codes of each word, with their eighth bits. */
TN_INLINE __m256i tn_iq_signs_of_words(__m256i words) {
    __m256i two = _mm256_blend_epi16(words, _mm256_slli_epi32(words, 2), 0xaa); /* 14 bits in each half */
    two = _mm256_and_si256(two, _mm256_set1_epi16(0x3fff));
    return tn_iq_even_signs(_mm256_add_epi16(two, _mm256_and_si256(two, _mm256_set1_epi16(0x3f80))));
}

/** The scales s of eight rows from the tops of eight words, given each row's: a transpose. */
TN_INLINE void tn_iq_subs_of_words8(const __m256i *rows, __m256i *words) {
    __m256i pairs[8], fours[8];
    for (uint32_t i = 0; i < 4; i++) { /* rows i and i + 4 in the halves, words 0 .. 3 and 4 .. 7 apart */
        pairs[i] = _mm256_permute2x128_si256(rows[i], rows[i + 4], 0x20);
        pairs[i + 4] = _mm256_permute2x128_si256(rows[i], rows[i + 4], 0x31);
    }
    for (uint32_t i = 0; i < 8; i += 4) {
        fours[i] = _mm256_unpacklo_epi32(pairs[i], pairs[i + 1]);
        fours[i + 1] = _mm256_unpackhi_epi32(pairs[i], pairs[i + 1]);
        fours[i + 2] = _mm256_unpacklo_epi32(pairs[i + 2], pairs[i + 3]);
        fours[i + 3] = _mm256_unpackhi_epi32(pairs[i + 2], pairs[i + 3]);
        words[i] = _mm256_unpacklo_epi64(fours[i], fours[i + 2]);
        words[i + 1] = _mm256_unpackhi_epi64(fours[i], fours[i + 2]);
        words[i + 2] = _mm256_unpacklo_epi64(fours[i + 1], fours[i + 3]);
        words[i + 3] = _mm256_unpackhi_epi64(fours[i + 1], fours[i + 3]);
    }
}

/** The scales s of eight rows from eight nibbles at `offset`. */
TN_INLINE void tn_iq_subs_of_nibbles8(const uint8_t *const *blocks, uint64_t offset, __m256i *words) {
    __m256i nibbles = tn_iq_words8(blocks, offset);
    for (int g = 0; g < 8; g++) { words[g] = _mm256_slli_epi32(nibbles, 28 - 4 * g); }
}

/** The top nibbles of eight words, side by side. */
TN_INLINE uint64_t tn_iq_subs_of_words(__m256i words) {
    __m256i s = _mm256_srli_epi32(words, 28);
    __m128i bytes = _mm_packus_epi32(_mm256_castsi256_si128(s), _mm256_extracti128_si256(s, 1));
    bytes = _mm_packus_epi16(bytes, bytes);
    return _pext_u64((uint64_t)_mm_cvtsi128_si64(bytes), 0x0f0f0f0f0f0f0f0f);
}

#endif
