/*
 * iq_look_up.h - gemv and unpack of the IQ2 and IQ3 types by loads from the codebook: for AVX2, and for AVX-512
 * VNNI without VBMI, where the same steps on the same 256 bits have more registers and a shorter product (wider
 * vectors only took longer to put together). Sixteen weight rows at a time, half a block (128 columns) of each.
 *
 * What bounds these kernels is instructions, loads among them: one for each entry that takes its index out of a
 * register, and its load, which puts it beside others. So of a block column first all signs, indices and
 * scales are made ready, by vectors; indices are read four at a time; and the activation codes of a half stay
 * in registers for all rows, which is why its loop is a function of its own.
 *
 * Nothing needs columns in order. Quadword q of vector k of a half is its columns 32 q + 8 k .. + 7, so that
 * all four vectors hold a group of 32 in a quadword, and the first two its first 16 columns.
 */
#ifndef TENON_IQ_LOOK_UP_H
#define TENON_IQ_LOOK_UP_H

#include "iq_blocks.h"
#include "simd_avx2.h"

/** What is made ready of half a block: words of signs (see tn_iq_open_signs), and the indices of its entries. */
typedef struct tn_iq_half {
    __m256i signs;
    uint8_t index[64];
} tn_iq_half;

/** Makes a half ready. */
typedef void tn_iq_open(const uint8_t *block, uint32_t half, tn_iq_half *ready);
/** A half's magnitudes, given its indices. */
typedef void tn_iq_entries(const uint8_t *index, __m256i *magnitudes);
/** The scales s of the groups of a half of eight blocks, block r's in lane r. */
typedef void tn_iq_subs8(const uint8_t *const *blocks, uint32_t half, __m256i *subs);
/** The scales s of one block, a nibble each. */
typedef uint64_t tn_iq_subs(const uint8_t *block);

typedef struct tn_iq_type {
    uint32_t bytes, group; /* of a block; columns of a scale */
    float factor;          /* what d times an odd number is times */
    tn_iq_open *open;
    tn_iq_entries *entries;
    tn_iq_subs8 *subs8;
    tn_iq_subs *subs;
} tn_iq_type;

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

/** Each half of pairs[m] has two groups of row 2 m, then of row 2 m + 1: group g of row r to lane r of out[g]. */
TN_INLINE void tn_iq_rows_to_lanes(const __m256i *pairs, __m256i *out) {
    __m256i even[2], odd[2];
    for (uint32_t m = 0; m < 2; m++) {
        even[m] = tn_even_lanes(pairs[2 * m], pairs[2 * m + 1]);
        odd[m] = tn_odd_lanes(pairs[2 * m], pairs[2 * m + 1]);
    }
    out[0] = _mm256_permute2x128_si256(even[0], even[1], 0x20);
    out[1] = _mm256_permute2x128_si256(odd[0], odd[1], 0x20);
    out[2] = _mm256_permute2x128_si256(even[0], even[1], 0x31);
    out[3] = _mm256_permute2x128_si256(odd[0], odd[1], 0x31);
}

/** Products of eight rows, two lanes a group: the sums of four groups, row r in lane r. */
TN_INLINE void tn_iq_sum_pairs(const __m256i *rows, __m256i *sums) {
    __m256i pairs[4];
    for (uint32_t m = 0; m < 4; m++) {
        pairs[m] = _mm256_add_epi32(tn_even_lanes(rows[2 * m], rows[2 * m + 1]),
                                    tn_odd_lanes(rows[2 * m], rows[2 * m + 1]));
    }
    tn_iq_rows_to_lanes(pairs, sums);
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

/*
 * Sixteen words of signs, one for eight columns each, to four vectors of numbers above or below 0. The lower
 * byte of a word has the signs of its odd columns in bits 1, 3, 5, 7, the upper byte those of the even ones,
 * and both have ones between. Bytes are swapped, words copied four times and moved up by 6, 4, 2 and 0 bits, so
 * that each byte has the sign of its column on top and a one below it.
 */
TN_INLINE void tn_iq_open_signs(__m256i words, __m256i *out) {
    __m256i up = _mm256_set1_epi64x(0x0001000400100040);
    __m256i first = _mm256_broadcastsi128_si256(_mm_set_epi64x(0x0809080908090809, 0x0001000100010001));
    for (uint32_t k = 0; k < 4; k++) { /* word k of each quadword */
        __m256i copies = _mm256_shuffle_epi8(words, _mm256_add_epi8(first, _mm256_set1_epi8((char)(2 * k))));
        out[k] = _mm256_mullo_epi16(copies, up);
    }
}

/*
 * Sixteen rows of a block column: their blocks and what is made of them, the products of half of it with
 * activation rows (where groups are of 16, of the even ones and of the odd ones, else of all in even[]), and
 * the sums so far.
 */
typedef struct tn_iq_sixteen {
    const uint8_t *blocks[16];
    tn_iq_half ready[16][2];
    __m256 scales[2][2][8]; /* of each half, of two eights of rows */
    __m256i even[TN_MAX_ROWS][16], odd[TN_MAX_ROWS][16];
    __m256 acc[TN_MAX_ROWS][2];
} tn_iq_sixteen;

/* What is next in each row is fetched too, for what was fetched long ago (below) often is no longer near. */
TN_INLINE void tn_iq_make_ready(tn_iq_sixteen *rows, const tn_iq_type *type) {
#pragma GCC unroll 2
    for (uint32_t i = 0; i < 16; i++) {
        _mm_prefetch((const char *)rows->blocks[i] + 2 * type->bytes, _MM_HINT_T0);
        type->open(rows->blocks[i], 0, &rows->ready[i][0]);
        type->open(rows->blocks[i], 1, &rows->ready[i][1]);
    }
    for (uint32_t e = 0; e < 2; e++) {
        __m256 unit, next;
        tn_split_halves(tn_iq_words8(rows->blocks + 8 * e, 0), &unit, &next);
        unit = _mm256_mul_ps(unit, _mm256_set1_ps(type->factor));
        for (uint32_t half = 0; half < 2; half++) {
            __m256i subs[8];
            type->subs8(rows->blocks + 8 * e, half, subs);
            for (uint32_t g = 0; g < 128 / type->group; g++) {
                rows->scales[half][e][g] = tn_iq_scale(subs[g], unit);
            }
        }
    }
}

/* The products of half a block column, from column `col` on. `acts` is a constant or call->act_rows. */
TN_INLINE void tn_iq_multiply(tn_iq_sixteen *rows, const tn_iq_type *type, const tn_gemv *call, uint64_t col,
                              uint32_t half, uint64_t acts) {
    const tn_act *act = call->act;
    __m256i x[TN_MAX_ROWS][4];
#pragma GCC unroll 1
    for (uint64_t a = 0; a < acts; a++) {
        const int8_t *codes = (const int8_t *)act->data + (call->act_from + a) * act->stride + col;
        __m256i in[4];
        for (uint32_t q = 0; q < 4; q++) { in[q] = _mm256_loadu_si256((const void *)(codes + 32 * q)); }
        tn_iq_order_half(in, x[a]);
    }
    for (uint32_t i = 0; i < 16; i++) {
        const tn_iq_half *ready = &rows->ready[i][half];
        __m256i magnitudes[4], signs[4];
        type->entries(ready->index, magnitudes);
        tn_iq_open_signs(ready->signs, signs);
#pragma GCC unroll 1
        for (uint64_t a = 0; a < acts; a++) {
            __m256i even = tn_iq_dot_two(magnitudes, signs, x[a]);
            __m256i odd = tn_iq_dot_two(magnitudes + 2, signs + 2, x[a] + 2);
            rows->even[a][i] = type->group == 16 ? even : _mm256_add_epi32(even, odd);
            if (type->group == 16) { rows->odd[a][i] = odd; }
        }
    }
}

/*
 * The float steps of half a block column, from column `col` on. A step waits for the one before: two eights of
 * rows take turns.
 */
TN_INLINE void tn_iq_steps(tn_iq_sixteen *rows, const tn_iq_type *type, const tn_gemv *call, uint64_t col,
                           uint32_t half) {
#pragma GCC unroll 1
    for (uint64_t a = 0; a < call->act_rows; a++) {
        const float *x_scales = call->act->scales + (call->act_from + a) * call->act->scale_stride + col / 32;
        __m256i even[2][4], odd[2][4];
        __m256 acc[2] = {rows->acc[a][0], rows->acc[a][1]};
        for (uint32_t e = 0; e < 2; e++) {
            tn_iq_sum_pairs(rows->even[a] + 8 * e, even[e]);
            if (type->group == 16) { tn_iq_sum_pairs(rows->odd[a] + 8 * e, odd[e]); }
        }
        for (uint32_t g = 0; g < 4; g++) {
            __m256 x_scale = _mm256_set1_ps(x_scales[g]);
            for (uint32_t e = 0; e < 2; e++) {
                const __m256 *scales = rows->scales[half][e] + g * 32 / type->group;
                acc[e] = _mm256_fmadd_ps(_mm256_cvtepi32_ps(even[e][g]), _mm256_mul_ps(scales[0], x_scale),
                                         acc[e]);
                if (type->group == 16) {
                    acc[e] = _mm256_fmadd_ps(_mm256_cvtepi32_ps(odd[e][g]), _mm256_mul_ps(scales[1], x_scale),
                                             acc[e]);
                }
            }
        }
        for (uint32_t e = 0; e < 2; e++) { rows->acc[a][e] = acc[e]; }
    }
}

/* A type's functions for these. */
typedef void tn_iq_ready_function(tn_iq_sixteen *rows);
typedef void tn_iq_half_function(tn_iq_sixteen *rows, const tn_gemv *call, uint64_t col, uint32_t half);

/* Some lines at a time: one by one they hold up what is around them, all at once each other. */
TN_INLINE void tn_iq_prefetch(const uint8_t *at, uint32_t bytes) {
    for (uint32_t o = 0; o < bytes; o += 64) { _mm_prefetch((const char *)at + o, _MM_HINT_T0); }
}

/* Sixteen rows from row r on. */
TN_INLINE void tn_iq_rows_by_loads(const tn_gemv *call, uint32_t bytes, tn_iq_ready_function *make_ready,
                                   tn_iq_half_function *multiply, tn_iq_half_function *steps, uint64_t r) {
    const uint8_t *first = (const uint8_t *)call->blocks + r * call->row_stride;
    const uint8_t *next = first + 16 * call->row_stride;
    tn_row_group group = tn_group_rows(first, call->row_stride, call->rows - r, 4);
    tn_iq_sixteen rows;
    for (uint32_t i = 0; i < 16; i++) { rows.blocks[i] = tn_row(&group, i); }
    for (uint64_t a = 0; a < call->act_rows; a++) { rows.acc[a][0] = rows.acc[a][1] = _mm256_setzero_ps(); }
    for (uint64_t col = 0; col < call->cols; col += 256) {
        make_ready(&rows);
        for (uint32_t half = 0; half < 2; half++, next += 8 * bytes) {
            tn_iq_prefetch(next, 8 * bytes);
            multiply(&rows, call, col + 128 * half, half);
            steps(&rows, call, col + 128 * half, half);
        }
        for (uint32_t i = 0; i < 16; i++) { rows.blocks[i] += bytes; }
    }
    for (uint64_t a = 0; a < call->act_rows; a++) {
        float *out = call->out + a * call->out_stride + r, results[16];
        for (uint32_t e = 0; e < 2; e++) { _mm256_storeu_ps(results + 8 * e, rows.acc[a][e]); }
        if (call->rows - r >= 16) {
            memcpy(out, results, sizeof results);
        } else {
            tn_store_group(out, &group, results, 4);
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

TN_INLINE void tn_iq_unpack_by_loads(const tn_unpack *call, const tn_iq_type *type) {
    uint32_t bytes = type->bytes, group = type->group;
    for (uint64_t r = 0; r < call->rows; r++) {
        const uint8_t *block =
            (const uint8_t *)call->blocks + r * call->row_stride + call->col_from / 256 * bytes;
        int8_t *codes = (int8_t *)call->codes + r * call->code_stride;
        float *scales = call->scales + r * call->scale_stride;
        for (uint64_t col = call->col_from; col < call->col_to;
             col += 256, block += bytes, codes += 256, scales += 256 / group) {
            for (uint32_t half = 0; half < 2; half++) {
                tn_iq_half ready;
                __m256i magnitudes[4], signs[4], signed_codes[4], natural[4];
                type->open(block, half, &ready);
                type->entries(ready.index, magnitudes);
                tn_iq_open_signs(ready.signs, signs);
                for (uint32_t k = 0; k < 4; k++) {
                    signed_codes[k] = _mm256_sign_epi8(magnitudes[k], signs[k]);
                }
                tn_iq_order_half(signed_codes, natural);
                for (uint32_t q = 0; q < 4; q++) {
                    _mm256_storeu_si256((void *)(codes + 128 * half + 32 * q), natural[q]);
                }
            }
            tn_iq_store_scales(block, type->subs(block), group, type->factor, scales);
        }
    }
}

/** The kernels of a type (a constant): functions that stay functions, so that each has all registers. */
#define TN_IQ_BY_LOADS(type)                                                                                 \
    static __attribute__((noinline)) void make_ready(tn_iq_sixteen *rows) {                                  \
        tn_iq_make_ready(rows, &(type));                                                                     \
    }                                                                                                        \
    static __attribute__((noinline)) void multiply_one(tn_iq_sixteen *rows, const tn_gemv *call,             \
                                                       uint64_t col, uint32_t half) {                        \
        tn_iq_multiply(rows, &(type), call, col, half, 1);                                                   \
    }                                                                                                        \
    static __attribute__((noinline)) void multiply_many(tn_iq_sixteen *rows, const tn_gemv *call,            \
                                                        uint64_t col, uint32_t half) {                       \
        tn_iq_multiply(rows, &(type), call, col, half, call->act_rows);                                      \
    }                                                                                                        \
    static __attribute__((noinline)) void steps(tn_iq_sixteen *rows, const tn_gemv *call, uint64_t col,      \
                                                uint32_t half) {                                             \
        tn_iq_steps(rows, &(type), call, col, half);                                                         \
    }                                                                                                        \
    static void gemv(const tn_gemv *call) {                                                                  \
        tn_iq_half_function *multiply = call->act_rows == 1 ? multiply_one : multiply_many;                  \
        for (uint64_t r = 0; r < call->rows; r += 16) {                                                      \
            tn_iq_rows_by_loads(call, (type).bytes, make_ready, multiply, steps, r);                         \
        }                                                                                                    \
    }                                                                                                        \
    static void unpack(const tn_unpack *call) {                                                              \
        tn_iq_unpack_by_loads(call, &(type));                                                                \
    }

/* ---- what blocks are made of */

/** Four indices at a place: bytes, words. The compiler shall not make four loads of the one again. */
typedef void tn_iq_split(const uint8_t *at, uint64_t *index);
TN_INLINE void tn_iq_split_bytes(const uint8_t *at, uint64_t *index) {
    uint64_t four = tn_load_u32(at);
    __asm__("" : "+Q"(four));
    index[0] = four & 0xff;
    index[1] = four >> 8 & 0xff;
    index[2] = _bextr_u64(four, 16, 8);
    index[3] = four >> 24;
}
TN_INLINE void tn_iq_split_words(const uint8_t *at, uint64_t *index) {
    uint64_t four = tn_load_u64(at);
    __asm__("" : "+r"(four));
    index[0] = four & 0xffff;
    index[1] = _bextr_u64(four, 16, 16);
    index[2] = _bextr_u64(four, 32, 16);
    index[3] = four >> 48;
}

/** Two entries of eight columns, four of four. */
TN_INLINE __m128i tn_iq2_two(const uint64_t *codebook, uint64_t i, uint64_t j) {
    __m128i x = _mm_loadl_epi64((const void *)(codebook + i));
    return _mm_castps_si128(_mm_loadh_pi(_mm_castsi128_ps(x), (const void *)(codebook + j)));
}
TN_INLINE __m128i tn_iq3_four(const uint32_t *codebook, const uint64_t *i, const uint64_t *j) {
    __m128i x = _mm_cvtsi32_si128((int)codebook[i[0]]);
    x = _mm_insert_epi32(x, (int)codebook[i[1]], 1);
    x = _mm_insert_epi32(x, (int)codebook[j[0]], 2);
    return _mm_insert_epi32(x, (int)codebook[j[1]], 3);
}

/** A half's magnitudes, given four indices for each 32 columns, every eight bytes. */
TN_INLINE void tn_iq2_entries(const uint64_t *codebook, const uint8_t *index, tn_iq_split *split,
                              __m256i *magnitudes) {
    __m128i x[2][4];
#pragma GCC unroll 2
    for (uint32_t p = 0; p < 2; p++) {
        uint64_t i[4], j[4];
        split(index + 16 * p, i);
        split(index + 16 * p + 8, j);
        for (uint32_t k = 0; k < 4; k++) { x[p][k] = tn_iq2_two(codebook, i[k], j[k]); }
    }
    for (uint32_t k = 0; k < 4; k++) { magnitudes[k] = _mm256_set_m128i(x[1][k], x[0][k]); }
}
/** A half's magnitudes, given eight indices in `bytes` bytes for each 32 columns. */
TN_INLINE void tn_iq3_entries(const uint32_t *codebook, const uint8_t *index, uint32_t bytes,
                              tn_iq_split *split, __m256i *magnitudes) {
#pragma GCC unroll 2
    for (uint32_t k = 0; k < 4; k += 2) {
        __m128i x[2][2];
#pragma GCC unroll 2
        for (uint32_t p = 0; p < 2; p++) {
            uint64_t i[4], j[4];
            split(index + (8 * p + k) * bytes / 4, i);
            split(index + (8 * p + 4 + k) * bytes / 4, j);
            x[p][0] = tn_iq3_four(codebook, i, j);
            x[p][1] = tn_iq3_four(codebook, i + 2, j + 2);
        }
        magnitudes[k] = _mm256_set_m128i(x[1][0], x[0][0]);
        magnitudes[k + 1] = _mm256_set_m128i(x[1][1], x[0][1]);
    }
}

/** Stores 16 indices: low bytes, and of their high bits those of `mask` of words that have them on top. */
TN_INLINE void tn_iq_store_index(const uint8_t *low, __m256i high, uint32_t mask, uint8_t *index) {
    __m256i bytes = _mm256_cvtepu8_epi16(_mm_loadu_si128((const void *)low));
    high = _mm256_and_si256(high, _mm256_set1_epi16((short)mask));
    _mm256_storeu_si256((void *)index, _mm256_or_si256(bytes, high));
}

/** Words of a byte: the byte and, above it, its double. The compiler shall not make two steps of it. */
TN_INLINE __m256i tn_iq_byte_and_twice(__m256i x) {
    __m256i factor = _mm256_set1_epi16(0x0201);
    __asm__("" : "+x"(factor));
    return _mm256_mullo_epi16(x, factor);
}

/* Words of signs of half a block, see tn_iq_open_signs. */

/** Of 16 bytes of sign bits, the lowest of the first column. */
TN_INLINE __m256i tn_iq_signs_of_bytes(const uint8_t *bytes) {
    __m256i x = _mm256_cvtepu8_epi16(_mm_loadu_si128((const void *)bytes));
    return _mm256_or_si256(tn_iq_byte_and_twice(x), _mm256_set1_epi8(0x55));
}

/** Of codes of seven bits, one a word: an eighth bit makes the number of bits even. */
TN_INLINE __m256i tn_iq_signs_of_codes(__m256i codes) {
    __m256i folded =
        _mm256_xor_si256(codes, _mm256_srli_epi16(codes, 4)); /* four bits count; upper bytes are 0 */
    __m256i parity =
        _mm256_broadcastsi128_si256(_mm_set_epi64x(0x55d5d555d55555d5, (long long)0xd55555d555d5d555));
    return _mm256_or_si256(tn_iq_byte_and_twice(codes), _mm256_shuffle_epi8(parity, folded));
}

/** Of four codes in the upper half of each quadword, from its lowest bit on. */
TN_INLINE __m256i tn_iq_signs_of_words(__m256i words) {
    __m256i bytes = _mm256_broadcastsi128_si256(_mm_set_epi64x(0x0f0e0e0d0d0c0d0c, 0x0706060505040504));
    __m256i up = _mm256_set1_epi64x(0x0010000800040200);
    words = _mm256_mullo_epi16(_mm256_shuffle_epi8(words, bytes), up);
    return tn_iq_signs_of_codes(_mm256_srli_epi16(words, 9));
}

/** The scales s of eight rows from the tops of four words. */
TN_INLINE void tn_iq_subs_of_words8(const __m256i *words, __m256i *subs) {
    for (uint32_t g = 0; g < 4; g++) { subs[g] = _mm256_srli_epi32(words[g], 28); }
}

/** The scales s of eight rows from `count` nibbles, the lowest of words. */
TN_INLINE void tn_iq_subs_of_nibbles8(__m256i nibbles, uint32_t count, __m256i *subs) {
    __m256i mask = _mm256_set1_epi8(15);
    __m256i even = _mm256_and_si256(nibbles, mask),
            odd = _mm256_and_si256(_mm256_srli_epi32(nibbles, 4), mask);
    __m256i first = _mm256_broadcastsi128_si256(
        _mm_set_epi64x((long long)0xffffff0cffffff08, (long long)0xffffff04ffffff00));
    for (uint32_t i = 0; i < count / 2; i++) { /* byte i of each word */
        __m256i byte = _mm256_add_epi8(first, _mm256_set1_epi32((int)i));
        subs[2 * i] = _mm256_shuffle_epi8(even, byte);
        subs[2 * i + 1] = _mm256_shuffle_epi8(odd, byte);
    }
}

/** The top nibbles of eight words, side by side. */
TN_INLINE uint64_t tn_iq_subs_of_words(__m256i words) {
    __m256i s = _mm256_srli_epi32(words, 28);
    __m128i bytes = _mm_packus_epi32(_mm256_castsi256_si128(s), _mm256_extracti128_si256(s, 1));
    bytes = _mm_packus_epi16(bytes, bytes);
    return _pext_u64((uint64_t)_mm_cvtsi128_si64(bytes), 0x0f0f0f0f0f0f0f0f);
}

#endif
