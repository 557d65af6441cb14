/*
 * groups16_avx2.h - gemv and unpack with AVX2 for blocks of 256 columns with a scale for each 16, an integer
 * times a scale of the whole block.
 *
 * For one activation row a vector of codes holds 32 columns of a row, as they lie in memory. For several it
 * holds eight columns of four rows, which takes more to open and less to fold: the sums of 16 columns of eight
 * rows come of few additions of neighbours. Sums of half a block are made first, then the float steps in the
 * order of the columns: a step has to wait for the one before.
 */
#ifndef TENON_GROUPS16_AVX2_H
#define TENON_GROUPS16_AVX2_H

#include "simd_avx2.h"

/** Columns 32 * eighth .. + 31 of a block, as codes plus the format's bias: 0 .. 63. */
typedef __m256i tn_open_eighth(const uint8_t *block, uint32_t eighth);
/** Columns 128 n + 32 c + 16 h .. + 15 of eight rows, laid out as by tn_load_eights. It is called for c = 0, 2,
 * 1, 3, and may leave in `held` what it needs again. */
typedef void tn_open_sixteen8(const tn_row_group *rows, uint32_t n, uint32_t h, uint32_t c, __m256i *held,
                              __m256i *w);
/** A block column of eight rows: the sub-scales of groups 4 k .. 4 k + 3 as the signed bytes of subs[k],
 * row r in lane r, and the scales by which they are multiplied (exactly). */
typedef void tn_open_subs8(const tn_row_group *rows, __m256i *subs, __m256 *d);
/** The sixteen scales of one block, eight a vector. */
typedef void tn_open_scales8(const uint8_t *block, __m256 *scales);

/** The 16 bytes at `offset` of eight rows. Of rows 0, 1 and, in the upper half, 4, 5 the first eight bytes are
 * in x[0], the others in x[1]; of rows 2, 3, 6, 7 in x[2] and x[3]. */
TN_INLINE void tn_load_eights(const tn_row_group *rows, uint64_t offset, __m256i *x) {
    for (uint32_t j = 0; j < 4; j += 2) {
        __m256i a = tn_load_both(rows, j, offset), b = tn_load_both(rows, j + 1, offset);
        x[j] = _mm256_unpacklo_epi64(a, b);
        x[j + 1] = _mm256_unpackhi_epi64(a, b);
    }
}

/** Sums of products of such unsigned codes with 16 activation codes, row r in lane r. Codes go up to 63 if
 * `wide`, else to 12. */
TN_INLINE __m256i tn_dot_eights(const __m256i *w, const int8_t *codes, uint32_t wide) {
    __m256i ones = _mm256_set1_epi16(1), v[2];
    __m256i x[2] = {_mm256_broadcastq_epi64(_mm_loadl_epi64((const void *)codes)),
                    _mm256_broadcastq_epi64(_mm_loadl_epi64((const void *)(codes + 8)))};
    for (uint32_t i = 0; i < 2; i++) {
        v[i] =
            _mm256_add_epi16(_mm256_maddubs_epi16(w[2 * i], x[0]), _mm256_maddubs_epi16(w[2 * i + 1], x[1]));
        v[i] = _mm256_madd_epi16(v[i], ones);
    }
    if (wide) { return _mm256_hadd_epi32(v[0], v[1]); }
    return _mm256_madd_epi16(_mm256_packs_epi32(v[0], v[1]), ones);
}

/** Byte k of each lane, with its sign, times 2^24. */
TN_INLINE __m256i tn_byte_on_top8(__m256i words, uint32_t k) {
    __m256i from =
        _mm256_add_epi32(_mm256_set1_epi32((int)(0x808080 + (k << 24))),
                         _mm256_setr_epi32(0, 4 << 24, 8 << 24, 12 << 24, 0, 4 << 24, 8 << 24, 12 << 24));
    return _mm256_shuffle_epi8(words, from);
}

/** An activation row at one block column, and the bias times the sums of its codes. */
typedef struct tn_act16 {
    const int8_t *codes;
    const float *scales;
    const int16_t *sums;
    int32_t bias[16];
} tn_act16;

TN_INLINE void tn_act16_open(int32_t bias, tn_act16 *x) {
    for (uint32_t i = 0; i < 16; i += 8) {
        __m256i sums = _mm256_cvtepi16_epi32(_mm_loadu_si128((const void *)(x->sums + i)));
        _mm256_storeu_si256((void *)(x->bias + i), _mm256_mullo_epi32(sums, _mm256_set1_epi32(bias)));
    }
    __asm__("" : "+m"(*x)); /* broadcast them from memory, which is free; not from a register */
}

/* Prefetches a sixteenth of the next group's blocks, and as much of those two columns further. */
TN_INLINE void tn_groups16_prefetch8(const tn_row_group *rows, uint32_t bytes, uint32_t n, uint32_t i,
                                     const uint8_t *next) {
    tn_prefetch_part(next, 8 * bytes, 8 * n + i, 16);
    tn_prefetch_soon(tn_row(rows, i) + 2 * bytes + 128 * n, 2);
}

/* Half n of a block column of eight rows with one activation row: the sums of its groups. Rows are folded as
 * they come: `one` holds sums of four products of a row (two groups, one a half), `two` and `four` larger sums
 * of two and of four rows. */
TN_INLINE void tn_groups16_half8(const tn_row_group *rows, uint32_t bytes, uint32_t n, tn_open_eighth *open,
                                 const uint8_t *next, const int8_t *codes, __m256i *sums) {
    __m256i ones = _mm256_set1_epi16(1), one[4], two[4], four[4];
#pragma GCC unroll 8
    for (uint32_t r = 0; r < 8; r++) {
        tn_groups16_prefetch8(rows, bytes, n, r, next);
#pragma GCC unroll 4
        for (uint32_t i = 0; i < 4; i++) {
            uint32_t c = i / 2 + i % 2 * 2;
            __m256i x = _mm256_loadu_si256((const void *)(codes + 128 * n + 32 * c));
            __m256i v = tn_dot_unsigned(open(tn_row(rows, r), 4 * n + c), x);
            if (r % 2 == 0) {
                one[c] = v;
                continue;
            }
            v = _mm256_madd_epi16(_mm256_packs_epi32(one[c], v), ones);
            if (r % 4 == 1) {
                two[c] = v;
                continue;
            }
            v = _mm256_hadd_epi32(two[c], v);
            if (r == 3) {
                four[c] = v;
                continue;
            }
            sums[2 * c] = _mm256_permute2x128_si256(four[c], v, 0x20);
            sums[2 * c + 1] = _mm256_permute2x128_si256(four[c], v, 0x31);
        }
    }
}

/* The same with several activation rows: of row a and group g the sums in sums[a][g]. */
TN_INLINE void tn_groups16_half8_many(const tn_row_group *rows, uint32_t bytes, uint32_t n,
                                      tn_open_sixteen8 *open, const uint8_t *next, const tn_act16 *x,
                                      uint64_t acts, __m256i (*sums)[8]) {
    __m256i held[8];
#pragma GCC unroll 8
    for (uint32_t i = 0; i < 8; i++) {
        uint32_t h = i / 4, c = i % 4 / 2 + i % 2 * 2;
        __m256i w[4];
        tn_groups16_prefetch8(rows, bytes, n, i, next);
        open(rows, n, h, c, held, w);
        for (uint64_t a = 0; a < acts; a++) {
            sums[a][2 * c + h] = tn_dot_eights(w, x[a].codes + 128 * n + 32 * c + 16 * h, 1);
        }
    }
}

/* A block column of eight rows. `acts` is a constant or the number of rows of x. */
TN_INLINE void tn_groups16_column8(const tn_row_group *rows, uint32_t bytes, tn_open_eighth *open,
                                   tn_open_sixteen8 *open_many, tn_open_subs8 *open_subs, const uint8_t *next,
                                   const tn_act16 *x, uint64_t acts, __m256 *acc) {
    __m256i sums[TN_MAX_ROWS][8], subs[4];
    __m256 d;
    open_subs(rows, subs, &d);
    d = _mm256_mul_ps(d, _mm256_set1_ps(0x1p-24f)); /* exact; subs are taken times 2^24 */
    __asm__("" : "+m"(subs));
#pragma GCC unroll 2
    for (uint32_t n = 0; n < 2; n++) { /* halves of the block */
        if (acts == 1) {
            tn_groups16_half8(rows, bytes, n, open, next, x->codes, sums[0]);
        } else {
            tn_groups16_half8_many(rows, bytes, n, open_many, next, x, acts, sums);
            __asm__("" : "+m"(sums)); /* registers are few, and wanted for the accumulators */
        }
#pragma GCC unroll 8
        for (uint32_t g = 0; g < 8; g++) {
            __m256i sub = tn_byte_on_top8(subs[2 * n + g / 4], g % 4);
            __m256 scale = _mm256_mul_ps(d, _mm256_cvtepi32_ps(sub));
            for (uint64_t a = 0; a < acts; a++) {
                __m256i sum = _mm256_sub_epi32(sums[a][g], _mm256_set1_epi32(x[a].bias[8 * n + g]));
                __m256 product = _mm256_mul_ps(scale, _mm256_set1_ps(x[a].scales[4 * n + g / 2]));
                acc[a] = _mm256_fmadd_ps(_mm256_cvtepi32_ps(sum), product, acc[a]);
            }
        }
    }
}

/* Eight rows from row r on. `acts` is a constant or call->act_rows. */
TN_INLINE void tn_groups16_rows_avx2(const tn_gemv *call, uint32_t bytes, int32_t bias, tn_open_eighth *open,
                                     tn_open_sixteen8 *open_many, tn_open_subs8 *open_subs, uint64_t r,
                                     uint64_t acts) {
    const uint8_t *first = (const uint8_t *)call->blocks + r * call->row_stride;
    const uint8_t *next = tn_ahead(first, 8 * call->row_stride);
    const tn_act *act = call->act;
    tn_row_group rows = tn_group_rows(first, call->row_stride, call->rows - r, 2);
    tn_act16 x[TN_MAX_ROWS];
    __m256 acc[TN_MAX_ROWS];
    for (uint64_t a = 0; a < acts; a++) {
        uint64_t row = call->act_from + a;
        x[a].codes = (const int8_t *)act->data + row * act->stride;
        x[a].scales = act->scales + row * act->scale_stride;
        x[a].sums = act->sums + row * act->sum_stride;
        acc[a] = _mm256_setzero_ps();
    }
    for (uint64_t col = 0; col < call->cols; col += 256) {
        for (uint64_t a = 0; a < acts; a++) { tn_act16_open(bias, &x[a]); }
        tn_groups16_column8(&rows, bytes, open, open_many, open_subs, next, x, acts, acc);
        for (uint64_t a = 0; a < acts; a++) {
            x[a].codes += 256;
            x[a].scales += 8;
            x[a].sums += 16;
        }
        tn_advance8(&rows, bytes);
        next += 8 * bytes;
    }
    for (uint64_t a = 0; a < acts; a++) {
        tn_store8(call->out + a * call->out_stride + r, &rows, call->rows - r, acc[a]);
    }
}

/** gemv over blocks of 256 columns in `bytes` bytes. */
TN_INLINE void tn_groups16_gemv_avx2(const tn_gemv *call, uint32_t bytes, int32_t bias, tn_open_eighth *open,
                                     tn_open_sixteen8 *open_many, tn_open_subs8 *open_subs) {
    for (uint64_t r = 0; r < call->rows; r += 8) {
        if (call->act_rows == 1) {
            tn_groups16_rows_avx2(call, bytes, bias, open, open_many, open_subs, r, 1);
        } else {
            tn_groups16_rows_avx2(call, bytes, bias, open, open_many, open_subs, r, call->act_rows);
        }
    }
}

/** Blocks of 256 columns into a p8 panel with groups of 16 and no minimums. */
TN_INLINE void tn_groups16_unpack_avx2(const tn_unpack *call, uint32_t bytes, int32_t bias,
                                       tn_open_eighth *open, tn_open_scales8 *open_scales) {
    for (uint64_t r = 0; r < call->rows; r++) {
        const uint8_t *block =
            (const uint8_t *)call->blocks + r * call->row_stride + call->col_from / 256 * bytes;
        int8_t *codes = (int8_t *)call->codes + r * call->code_stride;
        float *scales = call->scales + r * call->scale_stride;
        for (uint64_t col = call->col_from; col < call->col_to; col += 256) {
            __m256 both[2];
#pragma GCC unroll 8
            for (uint32_t eighth = 0; eighth < 8; eighth++) {
                __m256i q = _mm256_sub_epi8(open(block, eighth), _mm256_set1_epi8((char)bias));
                _mm256_storeu_si256((void *)(codes + 32 * eighth), q);
            }
            open_scales(block, both);
            _mm256_storeu_ps(scales, both[0]);
            _mm256_storeu_ps(scales + 8, both[1]);
            block += bytes;
            codes += 256;
            scales += 16;
        }
    }
}

#endif
