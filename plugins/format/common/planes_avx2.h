/*
 * planes_avx2.h - gemv and unpack with AVX2 for codes in planes of two bits, eight rows at a time.
 *
 * So few bits a column are soon read, and then every instruction counts: four columns of eight rows lie in a
 * vector, one row a lane, so that no tree has to gather a row's products. Codes of two bits stay two bits up in
 * their bytes in every second plane, and sub-scales lie in the upper byte of 16 bits; that sums are too large by
 * these factors the activation's scales make up for, exactly.
 */
#ifndef TENON_PLANES_AVX2_H
#define TENON_PLANES_AVX2_H

#include "groups16_avx2.h"
#include "planes.h"

/** The heads of a block column of eight rows, row r in lane r: the sub-scales of groups 4 q .. 4 q + 3 as the
 * signed bytes of subs[q], their minimums times 16 in minimums[q], and the scales of the whole block. */
typedef struct tn_plane_heads8 {
    __m256i subs[4], minimums[4];
    __m256 d, m;
} tn_plane_heads8;
typedef void tn_plane_open8(const tn_row_group *rows, tn_plane_heads8 *heads);

/** Puts third bits to the codes of four planes: planes 0 and 2 in bits 0 .. 2 and 4 .. 6 of `even`, the others
 * likewise in `odd`. Bit p of `high` is that of plane p. */
TN_INLINE void tn_plane_join8(__m256i low, __m256i high, __m256i *even, __m256i *odd) {
    __m256i bits = _mm256_and_si256(high, _mm256_set1_epi8(15)), pairs = _mm256_set1_epi8(0x33);
    __m256i of_even = _mm256_setr_epi32(0x04000400, 0x44404440, 0x04000400, 0x44404440, 0x04000400,
                                        0x44404440, 0x04000400, 0x44404440);
    __m256i of_odd = _mm256_setr_epi32(0x04040000, 0x04040000, 0x44444040, 0x44444040, 0x04040000, 0x04040000,
                                       0x44444040, 0x44444040);
    *even = _mm256_or_si256(_mm256_and_si256(low, pairs), _mm256_shuffle_epi8(of_even, bits));
    *odd = _mm256_or_si256(_mm256_and_si256(_mm256_srli_epi16(low, 2), pairs),
                           _mm256_shuffle_epi8(of_odd, bits));
}

TN_INLINE void tn_plane_act_open8(tn_planes shape, tn_plane_act *x) {
    float odd = shape.has_high ? 0x1p-8f : 0x1p-10f;
    __m256 factors = _mm256_setr_ps(0x1p-8f, odd, 0x1p-8f, odd, 0x1p-8f, odd, 0x1p-8f, odd);
    _mm256_storeu_ps(x->steps, _mm256_mul_ps(_mm256_loadu_ps(x->scales), factors));
    if (shape.has_high) { /* each begins in one of the two 16-bit sums of a lane */
        __m256i start = _mm256_mullo_epi16(_mm256_loadu_si256((const void *)x->sums), _mm256_set1_epi16(-4));
        for (uint32_t i = 0; i < 2; i++) {
            __m128i half = i ? _mm256_extracti128_si256(start, 1) : _mm256_castsi256_si128(start);
            _mm256_storeu_si256((void *)(x->start + 8 * i), _mm256_cvtepu16_epi32(half));
        }
    }
    __asm__("" : "+m"(*x)); /* broadcast them from memory, which is free; not from a register */
}

/** Products of four vectors of codes with the 16 activation codes of group g, in two 16-bit sums a lane. */
TN_INLINE __m256i tn_plane_dot8(const __m256i *w, uint32_t g, tn_planes shape, const tn_plane_act *x) {
    __m256i sums[4];
    for (uint32_t k = 0; k < 4; k++) {
        sums[k] = _mm256_maddubs_epi16(w[k], _mm256_set1_epi32(tn_load_i32(x->codes + 16 * g + 4 * k)));
    }
    if (shape.has_high) { sums[0] = _mm256_add_epi16(sums[0], _mm256_set1_epi32(x->start[g])); }
    return _mm256_add_epi16(_mm256_add_epi16(sums[0], sums[1]), _mm256_add_epi16(sums[2], sums[3]));
}

/** Byte i of each lane as the upper byte of two 16-bit numbers. */
TN_INLINE __m256i tn_plane_sub8(__m256i words, uint32_t i) {
    __m256i lanes =
        _mm256_setr_epi32(0, 0x04000400, 0x08000800, 0x0c000c00, 0, 0x04000400, 0x08000800, 0x0c000c00);
    return _mm256_shuffle_epi8(
        words, _mm256_add_epi32(_mm256_set1_epi32((int)(0x00800080 + i * 0x01000100)), lanes));
}

/** Bytes 2 i and 2 i + 1 of each lane as two 16-bit numbers. */
TN_INLINE __m256i tn_plane_pair8(__m256i words, uint32_t i) {
    __m256i lanes =
        _mm256_setr_epi32(0, 0x00040004, 0x00080008, 0x000c000c, 0, 0x00040004, 0x00080008, 0x000c000c);
    return _mm256_shuffle_epi8(
        words, _mm256_add_epi32(_mm256_set1_epi32((int)(0x80018000 + i * 0x00020002)), lanes));
}

/**
 * Prefetches a sixteenth of a block column's bytes: it is called once for each, between other work, for many at
 * once wait for each other. What lies at `next` comes into the first-level cache, and if `beyond` is not 0 what
 * lies so many bytes further into the second.
 */
TN_INLINE void tn_planes_prefetch8(const uint8_t *next, uint64_t beyond, uint32_t bytes, uint32_t part) {
    uint32_t from = (part * bytes / 16 + 63) / 64, to = ((part + 1) * bytes / 16 + 63) / 64;
    for (uint32_t line = from; line < to; line++) {
        if (beyond) {
            tn_prefetch_twice(next + 64 * line, beyond);
        } else {
            tn_prefetch_soon(next + 64 * line, 1);
        }
    }
}

/** Columns 128 n + 32 p + 16 h .. + 15, p = 0 .. 3, of eight rows: sub-scales times their sums, added to those in
 * pieces[a][p] if h. Third bits are transposed if n is 0, and kept in high[h]. */
TN_INLINE void tn_planes_sixteen8(const tn_row_group *rows, tn_planes shape, const tn_plane_heads8 *heads,
                                  uint32_t n, uint32_t h, const uint8_t *next, uint64_t beyond,
                                  const tn_plane_act *x, uint64_t acts, __m256i (*high)[4],
                                  __m256i (*pieces)[4]) {
    __m256i even[4], odd[4], w[4];
    tn_transpose8(rows, shape.low + 32 * n + 16 * h, even);
    if (shape.has_high) {
        if (!n) { tn_transpose8(rows, shape.high + 16 * h, high[h]); }
        for (uint32_t k = 0; k < 4; k++) {
            __m256i bits = n ? _mm256_srli_epi16(high[h][k], 4) : high[h][k];
            tn_plane_join8(even[k], bits, &even[k], &odd[k]);
        }
    }
#pragma GCC unroll 4
    for (uint32_t i = 0; i < 4; i++) {
        uint32_t p =
            shape.has_high && acts == 1 ? i / 2 + i % 2 * 2 : i; /* `even` first: registers are few */
        tn_planes_prefetch8(next, beyond, 8 * shape.bytes, 8 * n + 4 * h + i);
        if (acts == 1) { /* GCC mixes only what lies between two of these: more at once, and it spills */
            __asm__ volatile("");
        } else {
            __asm__ volatile("" ::: "memory");
        }
        __m256i *from = shape.has_high && p % 2 ? odd : even;
        int mask = shape.has_high ? 7 : p % 2 ? 12 : 3;
        for (uint32_t k = 0; k < 4; k++) {
            if (p == 2 || (shape.has_high && p == 3)) { from[k] = _mm256_srli_epi16(from[k], 4); }
            w[k] = _mm256_and_si256(from[k], _mm256_set1_epi8((char)mask));
        }
        __m256i sub = tn_plane_sub8(heads->subs[2 * n + p / 2], p % 2 * 2 + h);
        for (uint64_t a = 0; a < acts; a++) {
            __m256i sum = _mm256_madd_epi16(tn_plane_dot8(w, 8 * n + 2 * p + h, shape, &x[a]), sub);
            pieces[a][p] = h ? _mm256_add_epi32(pieces[a][p], sum) : sum;
        }
    }
}

/* A block column of eight rows. `acts` is a constant or the number of rows of x. */
TN_INLINE void tn_planes_column8(const tn_row_group *rows, tn_planes shape, tn_plane_open8 *open_heads,
                                 const uint8_t *next, uint64_t beyond, const tn_plane_act *x, uint64_t acts,
                                 __m256 *acc) {
    __m256i pieces[TN_MAX_ROWS][4], high[2][4];
    __m256 t[TN_MAX_ROWS], u[TN_MAX_ROWS]; /* sums of the products, and of the minimums, over the block */
    tn_plane_heads8 heads;
    open_heads(rows, &heads);
    if (shape.has_high || acts > 1) { __asm__("" : "+m"(heads)); } /* registers are few */
    for (uint64_t a = 0; a < acts; a++) { t[a] = u[a] = _mm256_setzero_ps(); }
#pragma GCC unroll 2
    for (uint32_t n = 0; n < 2; n++) { /* halves of the block */
#pragma GCC unroll 2
        for (uint32_t h = 0; h < 2; h++) {
            tn_planes_sixteen8(rows, shape, &heads, n, h, next, beyond, x, acts, high, pieces);
        }
        if (shape.has_high && !n) { __asm__("" : "+m"(high)); } /* here too */
#pragma GCC unroll 4
        for (uint32_t p = 0; p < 4; p++) {
            uint32_t e = 4 * n + p;
            __m256i minimums = tn_plane_pair8(heads.minimums[e / 2], e % 2);
            for (uint64_t a = 0; a < acts; a++) {
                t[a] = _mm256_fmadd_ps(_mm256_cvtepi32_ps(pieces[a][p]), _mm256_set1_ps(x[a].steps[e]), t[a]);
                if (!shape.has_minimum) { continue; }
                __m256i sums = _mm256_set1_epi32(tn_load_i32((const uint8_t *)(x[a].sums + 2 * e)));
                u[a] = _mm256_fmadd_ps(_mm256_cvtepi32_ps(_mm256_madd_epi16(minimums, sums)),
                                       _mm256_set1_ps(x[a].scales[e]), u[a]);
            }
        }
    }
    for (uint64_t a = 0; a < acts; a++) {
        acc[a] = _mm256_fmadd_ps(t[a], heads.d, acc[a]);
        if (shape.has_minimum) { acc[a] = _mm256_fmadd_ps(u[a], heads.m, acc[a]); }
    }
}

/* Eight rows from row r on. `acts` is a constant or call->act_rows. */
TN_INLINE void tn_planes_rows_avx2(const tn_gemv *call, tn_planes shape, tn_plane_open8 *open_heads,
                                   uint64_t r, uint64_t beyond, uint64_t acts) {
    const uint8_t *first = (const uint8_t *)call->blocks + r * call->row_stride;
    const uint8_t *next = first + (8 * call->row_stride < 5120 ? 5120 : 8 * call->row_stride);
    tn_row_group rows = tn_group_rows(first, call->row_stride, call->rows - r, 2);
    tn_plane_act x[TN_MAX_ROWS];
    __m256 acc[TN_MAX_ROWS];
    tn_plane_acts(call, x);
    for (uint64_t a = 0; a < acts; a++) { acc[a] = _mm256_setzero_ps(); }
    for (uint64_t col = 0; col < call->cols; col += 256) {
        for (uint64_t a = 0; a < acts; a++) { tn_plane_act_open8(shape, &x[a]); }
        tn_planes_column8(&rows, shape, open_heads, next, beyond, x, acts, acc);
        for (uint64_t a = 0; a < acts; a++) {
            x[a].codes += 256;
            x[a].scales += 8;
            x[a].sums += 16;
        }
        tn_advance8(&rows, shape.bytes);
        next += 8 * shape.bytes;
    }
    for (uint64_t a = 0; a < acts; a++) {
        tn_store8(call->out + a * call->out_stride + r, &rows, call->rows - r, acc[a]);
    }
}

/* The next group is fetched while one is worked on, but not less than 5 KiB early; one so large that not all of it
 * stays in the first-level cache is fetched twice. (Measured on Zen 4: 16 KiB early, small groups from memory take
 * 1.1 times as long, in pages of 4 KiB 1.4 times.) */
TN_INLINE void tn_planes_gemv_avx2(const tn_gemv *call, tn_planes shape, tn_plane_open8 *open_heads) {
    uint64_t group = 8 * call->row_stride;
    for (uint64_t r = 0; r < call->rows; r += 8) {
        if (call->act_rows > 1) {
            tn_planes_rows_avx2(call, shape, open_heads, r, 0, call->act_rows);
        } else if (group > 16384) {
            tn_planes_rows_avx2(call, shape, open_heads, r, group, 1);
        } else {
            tn_planes_rows_avx2(call, shape, open_heads, r, 0, 1);
        }
    }
}

/** Columns 32 e .. + 31 of a block: codes with their signs. */
TN_INLINE __m256i tn_planes_eighth(const uint8_t *block, tn_planes shape, uint32_t e) {
    const uint8_t *at = block + shape.low + 32 * (e / 4);
    __m256i q = _mm256_srli_epi16(_mm256_loadu_si256((const void *)at), (int)(e % 4 * 2));
    q = _mm256_and_si256(q, _mm256_set1_epi8(3));
    if (shape.has_high) {
        __m256i bit = _mm256_set1_epi8((char)(1 << e));
        __m256i high = _mm256_loadu_si256((const void *)(block + shape.high));
        __m256i set = _mm256_cmpeq_epi8(_mm256_and_si256(high, bit), bit);
        q = _mm256_sub_epi8(q, _mm256_andnot_si256(set, _mm256_set1_epi8(4)));
    }
    return q;
}

TN_INLINE void tn_planes_unpack_avx2(const tn_unpack *call, tn_planes shape, tn_plane_open_head *open_head) {
    for (uint64_t r = 0; r < call->rows; r++) {
        const uint8_t *block =
            (const uint8_t *)call->blocks + r * call->row_stride + call->col_from / 256 * shape.bytes;
        int8_t *codes = (int8_t *)call->codes + r * call->code_stride;
        for (uint64_t b = 0; b < (call->col_to - call->col_from) / 256; b++) {
#pragma GCC unroll 8
            for (uint32_t e = 0; e < 8; e++) {
                _mm256_storeu_si256((void *)(codes + 32 * e), tn_planes_eighth(block, shape, e));
            }
            tn_planes_unpack_head(call, shape, block, open_head, r, b);
            block += shape.bytes;
            codes += 256;
        }
    }
}

#endif
