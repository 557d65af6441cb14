/*
 * iq_look_up.h - gemv and unpack of the IQ2 and IQ3 types by loads from the codebook: for AVX2, and for AVX-512
 * VNNI without VBMI, where the same steps on the same 256 bits have more registers and a shorter product (wider
 * vectors only took longer to put together). Sixteen weight rows at a time, half a block (128 columns) of each.
 *
 * What bounds these kernels is instructions, loads among them: one for each entry that takes its index out of a
 * register, and its load, which puts it beside others. So of a block column first all signs, indices and
 * scales are made ready, by vectors; indices are read four at a time; and the activation codes of a half stay
 * in registers for all rows, which is why its loop is a function of its own, written in an order in which all
 * it needs fits the registers. What is made ready is small, for it has to stay near beside the codebook.
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
    uint8_t
        index[TN_IQ_INDEX_BYTES]; /* 32, or 64 where indices are words of four columns: see the includer */
} tn_iq_half;

/** Makes the two halves of a block ready, or one of them. */
typedef void tn_iq_open(const uint8_t *block, tn_iq_half *halves);
typedef void tn_iq_open_half(const uint8_t *block, uint32_t half, tn_iq_half *ready);
/**
 * What is made of a half's indices at once: of IQ2 the lower halves of the vectors and the indices of the upper
 * ones, of IQ3 the vectors.
 */
typedef struct tn_iq_found {
    __m128i low[4];
    uint64_t i[4], j[4];
    __m256i whole[4];
} tn_iq_found;
typedef void tn_iq_find(const uint8_t *index, tn_iq_found *found);
/** Vector k of a half's magnitudes. */
typedef __m256i tn_iq_entries(const tn_iq_found *found, uint32_t k);
/** The scales s of the groups of a half of eight blocks, block r's in lane r; NULL for groups of 16. */
typedef void tn_iq_subs8(const uint8_t *const *blocks, uint32_t half, __m256i *subs);
/** The scales s of one block, a nibble each. */
typedef uint64_t tn_iq_subs(const uint8_t *block);

typedef struct tn_iq_type {
    uint32_t bytes, group; /* of a block; columns of a scale */
    float factor;          /* what d times an odd number is times */
    tn_iq_open *open;      /* NULL: each half by open_half */
    tn_iq_open_half *open_half;
    tn_iq_find *find;
    tn_iq_entries *entries;
    tn_iq_subs8 *subs8;
    tn_iq_subs *subs;
} tn_iq_type;

TN_INLINE void tn_iq_open_block(const tn_iq_type *type, const uint8_t *block, tn_iq_half *halves) {
    if (type->open) {
        type->open(block, halves);
    } else {
        type->open_half(block, 0, &halves[0]);
        type->open_half(block, 1, &halves[1]);
    }
}

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

/**
 * Products of two vectors with the signs moved over: of the first, and all of them given what the first left.
 */
#ifdef __AVX512VNNI__
TN_INLINE __m256i tn_iq_dot_first(__m256i magnitudes, __m256i x) {
    return _mm256_dpbusd_epi32(_mm256_setzero_si256(), magnitudes, x);
}
TN_INLINE __m256i tn_iq_dot_second(__m256i first, __m256i magnitudes, __m256i x) {
    return _mm256_dpbusd_epi32(first, magnitudes, x);
}
#else /* pairs of pairs fit 16 bits, magnitudes being at most 62 */
TN_INLINE __m256i tn_iq_dot_first(__m256i magnitudes, __m256i x) {
    return _mm256_maddubs_epi16(magnitudes, x);
}
TN_INLINE __m256i tn_iq_dot_second(__m256i first, __m256i magnitudes, __m256i x) {
    return _mm256_madd_epi16(_mm256_add_epi16(first, _mm256_maddubs_epi16(magnitudes, x)),
                             _mm256_set1_epi16(1));
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

/** Two quadwords side by side. */
TN_INLINE __m128i tn_iq_two(const void *i, const void *j) {
    return _mm_castps_si128(_mm_loadh_pi(_mm_castsi128_ps(_mm_loadl_epi64(i)), j));
}

/** d of eight blocks, block i's in lane i. */
TN_INLINE __m256 tn_iq_units8(const uint8_t *const *blocks) {
    __m128i x = _mm_cvtsi32_si128(tn_load_u16(blocks[0]));
    x = _mm_insert_epi16(x, tn_load_u16(blocks[1]), 1);
    x = _mm_insert_epi16(x, tn_load_u16(blocks[2]), 2);
    x = _mm_insert_epi16(x, tn_load_u16(blocks[3]), 3);
    x = _mm_insert_epi16(x, tn_load_u16(blocks[4]), 4);
    x = _mm_insert_epi16(x, tn_load_u16(blocks[5]), 5);
    x = _mm_insert_epi16(x, tn_load_u16(blocks[6]), 6);
    x = _mm_insert_epi16(x, tn_load_u16(blocks[7]), 7);
    return _mm256_cvtph_ps(x);
}

/** The eight bytes at `offset` of eight blocks: the lower four, the upper four; block i's in lane i. */
TN_INLINE void tn_iq_last8(const uint8_t *const *blocks, uint64_t offset, __m256i *words) {
    __m256i x[2];
    for (uint32_t i = 0; i < 4; i += 2) { /* of blocks 0 1 4 5, of 2 3 6 7 */
        __m128i low = tn_iq_two(blocks[i] + offset, blocks[i + 1] + offset);
        x[i / 2] = _mm256_set_m128i(tn_iq_two(blocks[i + 4] + offset, blocks[i + 5] + offset), low);
    }
    words[0] = tn_even_lanes(x[0], x[1]);
    words[1] = tn_odd_lanes(x[0], x[1]);
}

/** Byte i of each word. */
TN_INLINE __m256i tn_iq_byte_of_words(__m256i words, uint32_t i) {
    __m256i first = _mm256_broadcastsi128_si256(
        _mm_set_epi64x((long long)0xffffff0cffffff08, (long long)0xffffff04ffffff00));
    return _mm256_shuffle_epi8(words, _mm256_add_epi8(first, _mm256_set1_epi32((int)i)));
}

/*
 * Sixteen words of signs, one for eight columns each, to four vectors of numbers above or below 0. The lower
 * byte of a word has the signs of its odd columns in bits 1, 3, 5, 7, the upper byte those of the even ones,
 * and both have ones between. Bytes are swapped, words copied four times and moved up by 6, 4, 2 and 0 bits, so
 * that each byte has the sign of its column on top and a one below it.
 */
#define TN_IQ_COPY(a) a + 1, a, a + 1, a, a + 1, a, a + 1, a
#define TN_IQ_COPIES(a) TN_IQ_COPY(a), TN_IQ_COPY(a + 8), TN_IQ_COPY(a), TN_IQ_COPY(a + 8)
static const uint8_t tn_iq_copies[4][32] __attribute__((aligned(32))) = {
    {TN_IQ_COPIES(0)}, {TN_IQ_COPIES(2)}, {TN_IQ_COPIES(4)}, {TN_IQ_COPIES(6)}};

typedef struct tn_iq_spread {
    __m256i copies[4], up;
} tn_iq_spread;

/** What it takes, in registers: the compiler shall not make it anew each time. */
TN_INLINE tn_iq_spread tn_iq_spread_signs(void) {
    tn_iq_spread spread = {.up = _mm256_set1_epi64x(0x0001000400100040)};
    for (uint32_t k = 0; k < 4; k++) {
        __m256i copy = _mm256_load_si256((const void *)tn_iq_copies[k]);
        __asm__("" : "+x"(copy));
        spread.copies[k] = copy;
    }
    return spread;
}

/** Vector k of signs. */
TN_INLINE __m256i tn_iq_open_signs(const tn_iq_spread *spread, __m256i words, uint32_t k) {
    return _mm256_mullo_epi16(_mm256_shuffle_epi8(words, spread->copies[k]), spread->up);
}

/** Eight rows of eight sums each: sum i of row r to lane r of out[i]. */
TN_INLINE void tn_iq_turn(const __m256i *rows, __m256i *out) {
    __m256i four[2][4];
    for (uint32_t m = 0; m < 2; m++) { tn_turn8(rows + 4 * m, four[m]); }
    for (uint32_t i = 0; i < 4; i++) {
        out[i] = _mm256_permute2x128_si256(four[0][i], four[1][i], 0x20);
        out[4 + i] = _mm256_permute2x128_si256(four[0][i], four[1][i], 0x31);
    }
}

/*
 * Sixteen rows of a block column: their blocks and what is made of them, the products of each half of it (see
 * tn_iq_keep), the scales of each half, of two eights of rows, and the sums so far.
 */
typedef struct tn_iq_sixteen {
    const uint8_t *blocks[16];
    tn_iq_half ready[16][2];
    __m256i products[2][TN_MAX_ROWS][16];
    __m256 acc[TN_MAX_ROWS][2];
    __m256 scales[2][2][8];
} tn_iq_sixteen;

/* What is next in each row is fetched too, for what was fetched long ago (below) often is no longer near. */
TN_INLINE void tn_iq_make_ready(tn_iq_sixteen *rows, const tn_iq_type *type) {
#pragma GCC unroll 2
    for (uint32_t i = 0; i < 16; i++) {
        _mm_prefetch((const char *)rows->blocks[i] + 2 * type->bytes, _MM_HINT_T0);
        tn_iq_open_block(type, rows->blocks[i], rows->ready[i]);
    }
}

/* What the scales of eight rows are made of; of groups of 16 the s, a nibble each, even and odd ones. */
typedef struct tn_iq_scaling {
    __m256 unit;
    __m256i subs[2][2]; /* of each half */
} tn_iq_scaling;

TN_INLINE tn_iq_scaling tn_iq_open_scaling(const uint8_t *const *blocks, const tn_iq_type *type) {
    tn_iq_scaling by = {.unit = _mm256_mul_ps(tn_iq_units8(blocks), _mm256_set1_ps(type->factor))};
    if (type->group == 16) {
        __m256i words[2], mask = _mm256_set1_epi8(15);
        tn_iq_last8(blocks, type->bytes - 8, words);
        for (uint32_t half = 0; half < 2; half++) {
            by.subs[half][0] = _mm256_and_si256(words[half], mask);
            by.subs[half][1] = _mm256_and_si256(_mm256_srli_epi32(words[half], 4), mask);
        }
    }
    return by;
}

/* The scale of group g of a half, where groups are of 16. */
TN_INLINE __m256 tn_iq_scale16(const tn_iq_scaling *by, uint32_t half, uint32_t g) {
    return tn_iq_scale(tn_iq_byte_of_words(by->subs[half][g % 2], g / 2), by->unit);
}

/* All scales, for steps that do not make them themselves. */
TN_INLINE void tn_iq_make_scales(tn_iq_sixteen *rows, const tn_iq_type *type) {
    for (uint32_t e = 0; e < 2; e++) {
        tn_iq_scaling by = tn_iq_open_scaling(rows->blocks + 8 * e, type);
        for (uint32_t half = 0; half < 2; half++) {
            __m256i subs[8];
            if (type->group == 32) { type->subs8(rows->blocks + 8 * e, half, subs); }
            for (uint32_t g = 0; g < 128 / type->group; g++) {
                rows->scales[half][e][g] =
                    type->group == 16 ? tn_iq_scale16(&by, half, g) : tn_iq_scale(subs[g], by.unit);
            }
        }
    }
}

/*
 * Keeps the products of row i and activation row a, two lanes a group of 32. Of groups of 16 there are twice as
 * many: with one activation row the odd ones are kept where a second row's would be, with more the two lanes are
 * summed at once (then there is less to keep, and that counts; one row's loop has no time for it).
 */
TN_INLINE void tn_iq_keep(tn_iq_sixteen *rows, const tn_iq_type *type, uint64_t a, uint32_t half, uint32_t i,
                          const __m256i *sums, int one) {
    __m256i(*products)[16] = &rows->products[half][a];
    if (type->group == 32) {
        products[0][i] = _mm256_add_epi32(sums[0], sums[1]);
    } else if (one) {
        products[0][i] = sums[0];
        products[1][i] = sums[1];
    } else {
        products[0][i] = _mm256_add_epi32(tn_even_lanes(sums[0], sums[1]), tn_odd_lanes(sums[0], sums[1]));
    }
}

/* What was kept of eight rows from row `first` on: sums of a half's even and odd groups, row r's in lane r. */
TN_INLINE void tn_iq_sums(const tn_iq_sixteen *rows, const tn_iq_type *type, uint64_t a, uint32_t half,
                          uint32_t first, __m256i (*sums)[4], int one) {
    const __m256i(*products)[16] = &rows->products[half][a];
    if (type->group == 16 && !one) { /* groups 0 2 1 3, 4 6 5 7 */
        __m256i kept[8];
        tn_iq_turn(products[0] + first, kept);
        for (uint32_t i = 0; i < 8; i++) { sums[i / 2 % 2][i / 4 * 2 + i % 2] = kept[i]; }
        return;
    }
    for (uint32_t odd = 0; odd < 32 / type->group; odd++) {
        tn_iq_sum_pairs(products[odd] + first, sums[odd]);
    }
}

/* Some lines at a time: one by one they hold up what is around them, all at once each other. */
TN_INLINE void tn_iq_prefetch(const uint8_t *at, uint32_t bytes) {
    for (uint32_t o = 0; o < bytes; o += 64) { _mm_prefetch((const char *)at + o, _MM_HINT_T0); }
}

/*
 * The products of a block column, from column `col` on. `one`, a constant: there is one activation row, and each
 * vector is used as soon as it is there.
 */
TN_INLINE void tn_iq_multiply(tn_iq_sixteen *rows, const tn_iq_type *type, const tn_gemv *call, uint64_t col,
                              const uint8_t *next, int one) {
    const tn_act *act = call->act;
    uint64_t acts = one ? 1 : call->act_rows;
    tn_iq_spread spread = tn_iq_spread_signs();
#pragma GCC unroll 1
    for (uint32_t half = 0; half < 2; half++, col += 128, next += 8 * type->bytes) {
        __m256i x[TN_MAX_ROWS][4];
        tn_iq_prefetch(next, 8 * type->bytes);
#pragma GCC unroll 1
        for (uint64_t a = 0; a < acts; a++) {
            const int8_t *codes = (const int8_t *)act->data + (call->act_from + a) * act->stride + col;
            __m256i in[4];
            for (uint32_t q = 0; q < 4; q++) { in[q] = _mm256_loadu_si256((const void *)(codes + 32 * q)); }
            tn_iq_order_half(in, x[a]);
        }
#pragma GCC unroll 1
        for (uint32_t i = 0; i < 16; i++) {
            const tn_iq_half *ready = &rows->ready[i][half];
            __m256i magnitudes[4], signs[4], words = ready->signs;
            tn_iq_found found;
            type->find(ready->index, &found);
            if (one) {
                __m256i sums[2];
                for (uint32_t k = 0; k < 4; k++) {
                    __m256i entries = type->entries(&found, k);
                    __m256i signed_x = _mm256_sign_epi8(x[0][k], tn_iq_open_signs(&spread, words, k));
                    sums[k / 2] = k % 2 ? tn_iq_dot_second(sums[k / 2], entries, signed_x)
                                        : tn_iq_dot_first(entries, signed_x);
                }
                tn_iq_keep(rows, type, 0, half, i, sums, 1);
                continue;
            }
            for (uint32_t k = 0; k < 4; k++) {
                magnitudes[k] = type->entries(&found, k);
                signs[k] = tn_iq_open_signs(&spread, words, k);
            }
#pragma GCC unroll 1
            for (uint64_t a = 0; a < acts; a++) {
                __m256i sums[2];
                for (uint32_t k = 0; k < 4; k++) {
                    __m256i signed_x = _mm256_sign_epi8(x[a][k], signs[k]);
                    sums[k / 2] = k % 2 ? tn_iq_dot_second(sums[k / 2], magnitudes[k], signed_x)
                                        : tn_iq_dot_first(magnitudes[k], signed_x);
                }
                tn_iq_keep(rows, type, a, half, i, sums, 0);
            }
        }
    }
}

/*
 * The float steps of a block column, from column `col` on. A step waits for the one before: two eights of rows
 * take turns. `one` as above: one activation row needs each scale once, and of groups of 16 makes it there (half
 * of what make_ready() and make_scales() have to do is stores).
 */
TN_INLINE void tn_iq_steps(tn_iq_sixteen *rows, const tn_iq_type *type, const tn_gemv *call, uint64_t col,
                           int one) {
    int make = type->group == 16 && one;
    uint64_t acts = one ? 1 : call->act_rows;
    tn_iq_scaling by[2];
    for (uint32_t e = 0; e < 2 && make; e++) { by[e] = tn_iq_open_scaling(rows->blocks + 8 * e, type); }
#pragma GCC unroll 1
    for (uint64_t a = 0; a < acts; a++) {
        const float *x_scales = call->act->scales + (call->act_from + a) * call->act->scale_stride + col / 32;
        __m256 acc[2] = {rows->acc[a][0], rows->acc[a][1]};
#pragma GCC unroll 1
        for (uint32_t half = 0; half < 2; half++, x_scales += 4) {
            __m256i sums[2][2][4];
            for (uint32_t e = 0; e < 2; e++) { tn_iq_sums(rows, type, a, half, 8 * e, sums[e], one); }
            for (uint32_t g = 0; g < 128 / type->group; g++) {
                uint32_t odd = g % (32 / type->group), k = g / (32 / type->group);
                __m256 x_scale = _mm256_set1_ps(x_scales[k]);
                for (uint32_t e = 0; e < 2; e++) {
                    __m256 scale = make ? tn_iq_scale16(&by[e], half, g) : rows->scales[half][e][g];
                    acc[e] = _mm256_fmadd_ps(_mm256_cvtepi32_ps(sums[e][odd][k]),
                                             _mm256_mul_ps(scale, x_scale), acc[e]);
                }
            }
        }
        for (uint32_t e = 0; e < 2; e++) { rows->acc[a][e] = acc[e]; }
    }
}

/* A type's functions for these, for one activation row and for more; make_scales may be NULL. */
typedef struct tn_iq_functions {
    void (*make_ready)(tn_iq_sixteen *rows);
    void (*multiply)(tn_iq_sixteen *rows, const tn_gemv *call, uint64_t col, const uint8_t *next);
    void (*make_scales)(tn_iq_sixteen *rows);
    void (*steps)(tn_iq_sixteen *rows, const tn_gemv *call, uint64_t col);
} tn_iq_functions;

/* Sixteen rows from row r on. */
TN_INLINE void tn_iq_rows_by_loads(const tn_gemv *call, uint32_t bytes, const tn_iq_functions *of,
                                   uint64_t r) {
    const uint8_t *first = (const uint8_t *)call->blocks + r * call->row_stride;
    const uint8_t *next = first + 16 * call->row_stride;
    tn_row_group group = tn_group_rows(first, call->row_stride, call->rows - r, 4);
    tn_iq_sixteen rows;
    for (uint32_t i = 0; i < 16; i++) { rows.blocks[i] = tn_row(&group, i); }
    for (uint64_t a = 0; a < call->act_rows; a++) { rows.acc[a][0] = rows.acc[a][1] = _mm256_setzero_ps(); }
    for (uint64_t col = 0; col < call->cols; col += 256, next += 16 * bytes) {
        of->make_ready(&rows);
        of->multiply(&rows, call, col, next);
        if (of->make_scales) { of->make_scales(&rows); }
        of->steps(&rows, call, col);
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
    tn_iq_spread spread = tn_iq_spread_signs();
    for (uint64_t r = 0; r < call->rows; r++) {
        const uint8_t *block =
            (const uint8_t *)call->blocks + r * call->row_stride + call->col_from / 256 * bytes;
        int8_t *codes = (int8_t *)call->codes + r * call->code_stride;
        float *scales = call->scales + r * call->scale_stride;
        for (uint64_t col = call->col_from; col < call->col_to;
             col += 256, block += bytes, codes += 256, scales += 256 / group) {
            tn_iq_half halves[2];
            tn_iq_open_block(type, block, halves);
            for (uint32_t half = 0; half < 2; half++) {
                tn_iq_found found;
                __m256i signed_codes[4], natural[4];
                type->find(halves[half].index, &found);
                for (uint32_t k = 0; k < 4; k++) {
                    __m256i signs = tn_iq_open_signs(&spread, halves[half].signs, k);
                    signed_codes[k] = _mm256_sign_epi8(type->entries(&found, k), signs);
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
#define TN_IQ_APART static __attribute__((noinline)) void
#define TN_IQ_BY_LOADS(type)                                                                                 \
    TN_IQ_APART make_ready(tn_iq_sixteen *rows) {                                                            \
        tn_iq_make_ready(rows, &(type));                                                                     \
    }                                                                                                        \
    TN_IQ_APART make_scales(tn_iq_sixteen *rows) {                                                           \
        tn_iq_make_scales(rows, &(type));                                                                    \
    }                                                                                                        \
    TN_IQ_APART multiply_one(tn_iq_sixteen *rows, const tn_gemv *call, uint64_t col, const uint8_t *next) {  \
        tn_iq_multiply(rows, &(type), call, col, next, 1);                                                   \
    }                                                                                                        \
    TN_IQ_APART multiply_many(tn_iq_sixteen *rows, const tn_gemv *call, uint64_t col, const uint8_t *next) { \
        tn_iq_multiply(rows, &(type), call, col, next, 0);                                                   \
    }                                                                                                        \
    TN_IQ_APART steps_one(tn_iq_sixteen *rows, const tn_gemv *call, uint64_t col) {                          \
        tn_iq_steps(rows, &(type), call, col, 1);                                                            \
    }                                                                                                        \
    TN_IQ_APART steps_many(tn_iq_sixteen *rows, const tn_gemv *call, uint64_t col) {                         \
        tn_iq_steps(rows, &(type), call, col, 0);                                                            \
    }                                                                                                        \
    static void gemv(const tn_gemv *call) {                                                                  \
        tn_iq_functions one = {make_ready, multiply_one, (type).group == 16 ? NULL : make_scales,            \
                               steps_one};                                                                   \
        tn_iq_functions many = {make_ready, multiply_many, make_scales, steps_many};                         \
        for (uint64_t r = 0; r < call->rows; r += 16) {                                                      \
            tn_iq_rows_by_loads(call, (type).bytes, call->act_rows == 1 ? &one : &many, r);                  \
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
/** The same for IQ2, whose loads are fewer and whose shifts hold it up: one word is loaded by itself. */
TN_INLINE void tn_iq2_split_words(const uint8_t *at, uint64_t *index) {
    tn_iq_split_words(at, index);
    index[2] = tn_load_u16(at + 4);
}

/** Four entries of four columns. */
TN_INLINE __m128i tn_iq3_four(const uint32_t *codebook, const uint64_t *i, const uint64_t *j) {
    __m128i x = _mm_cvtsi32_si128((int)codebook[i[0]]);
    x = _mm_insert_epi32(x, (int)codebook[i[1]], 1);
    x = _mm_insert_epi32(x, (int)codebook[j[0]], 2);
    return _mm_insert_epi32(x, (int)codebook[j[1]], 3);
}

/** A half's magnitudes, given four indices for each 32 columns, every eight bytes. */
TN_INLINE void tn_iq2_find(const uint64_t *codebook, const uint8_t *index, tn_iq_split *split,
                           tn_iq_found *found) {
    split(index, found->i);
    split(index + 8, found->j);
    for (uint32_t k = 0; k < 4; k++) {
        found->low[k] = tn_iq_two(codebook + found->i[k], codebook + found->j[k]);
    }
    split(index + 16, found->i);
    split(index + 24, found->j);
}
TN_INLINE __m256i tn_iq2_entries(const uint64_t *codebook, const tn_iq_found *found, uint32_t k) {
    return _mm256_set_m128i(tn_iq_two(codebook + found->i[k], codebook + found->j[k]), found->low[k]);
}
/** A half's magnitudes, given eight indices in `bytes` bytes for each 32 columns. */
TN_INLINE void tn_iq3_find(const uint32_t *codebook, const uint8_t *index, uint32_t bytes, tn_iq_split *split,
                           __m256i *magnitudes) {
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

TN_INLINE __m256i tn_iq3_entries(const tn_iq_found *found, uint32_t k) {
    return found->whole[k];
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
    for (uint32_t i = 0; i < count / 2; i++) {
        subs[2 * i] = tn_iq_byte_of_words(even, i);
        subs[2 * i + 1] = tn_iq_byte_of_words(odd, i);
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
