/*
 * ternary_avx512.h - gemv of TQ1_0 and TQ2_0 (256 columns, codes offset by 1, one scale) with AVX-512 VNNI,
 * sixteen rows at a time: four columns of a row are a lane, so that no lane is ever moved.
 */
#ifndef TENON_TERNARY_AVX512_H
#define TENON_TERNARY_AVX512_H

#include "simd_avx512.h"
#include "ternary.h"

/** The scales of a block column, row r's in lane r. */
typedef __m512 tn_ternary_scales(const tn_row_group *rows);
/** What a type makes of the sum of a piece's activation codes, for eight pieces. */
typedef __m256i tn_ternary_start(__m256i sums);
/** Opens columns 32 piece .. + 31 (a constant): of row r those from 4 k on in lane r of w[k]; 8 vectors more
 * are the type's own. What the function leaves in `kept` it finds there for the next piece. */
typedef void tn_ternary_open(const tn_row_group *rows, uint32_t piece, __m512i *kept, __m512i *w);
/** The products of codes - 1 and activation codes, given what the type made of the sum of these. */
typedef __m512i tn_ternary_dot(const __m512i *w, uint32_t piece, const int8_t *codes, int32_t start);

typedef struct tn_ternary {
    uint32_t bytes; /* of a block */
    tn_ternary_scales *scales;
    tn_ternary_start *start;
    tn_ternary_open *open;
    tn_ternary_dot *dot;
} tn_ternary;

/** `sum` plus the products of eight vectors of unsigned bytes and 32 activation codes. */
TN_INLINE __m512i tn_ternary_add(__m512i sum, const __m512i *w, const int8_t *codes) {
    for (uint32_t k = 0; k < 8; k++) {
        sum = _mm512_dpbusd_epi32(sum, w[k], _mm512_set1_epi32(tn_load_i32(codes + 4 * k)));
    }
    return sum;
}

/** Sixteen rows from row r on. `acts` is a constant or call->act_rows. */
TN_INLINE void tn_ternary_rows(const tn_gemv *call, const tn_ternary *type, uint64_t r, uint64_t acts) {
    const uint8_t *first = (const uint8_t *)call->blocks + r * call->row_stride;
    const uint8_t *next = tn_ahead(first, 16 * call->row_stride);
    tn_row_group rows = tn_group_rows(first, call->row_stride, call->rows - r, 4);
    tn_ternary_act x[TN_MAX_ROWS];
    __m512 acc[TN_MAX_ROWS];
    int32_t start[TN_MAX_ROWS][8];
    for (uint64_t a = 0; a < acts; a++) {
        x[a] = tn_ternary_act_row(call->act, call->act_from + a);
        acc[a] = _mm512_setzero_ps();
    }
    for (uint64_t block = 0; block < call->cols / 256; block++) {
        __m512 scale = type->scales(&rows);
        __m512i kept[8];
        for (uint64_t a = 0; a < acts; a++) {
            __m256i sums = _mm256_loadu_si256((const void *)x[a].sums);
            sums = type->start(_mm256_madd_epi16(sums, _mm256_set1_epi16(1)));
            _mm256_storeu_si256((void *)start[a], sums);
        }
        __asm__("" : "+m"(start)); /* broadcast them from memory, which is free; not from a register */
#pragma GCC unroll 8
        for (uint32_t p = 0; p < 8; p++) {
            __m512i w[16];
            type->open(&rows, p, kept, w);
            for (uint32_t o = 64 * p; o < 16 * type->bytes; o += 512) {
                tn_prefetch_twice(next + o, 16 * call->row_stride);
            }
            for (uint64_t a = 0; a < acts; a++) {
                __m512i sum = type->dot(w, p, x[a].codes + 32 * p, start[a][p]);
                __m512 product = _mm512_mul_ps(scale, _mm512_set1_ps(x[a].scales[p]));
                acc[a] = _mm512_fmadd_ps(_mm512_cvtepi32_ps(sum), product, acc[a]);
            }
        }
        for (uint64_t a = 0; a < acts; a++) { tn_ternary_act_next(&x[a]); }
        tn_advance(&rows, type->bytes, 4);
        next += 16 * type->bytes;
    }
    for (uint64_t a = 0; a < acts; a++) {
        tn_store16(call->out + a * call->out_stride + r, &rows, call->rows - r, acc[a]);
    }
}

TN_INLINE void tn_ternary_gemv(const tn_gemv *call, const tn_ternary *type) {
    for (uint64_t r = 0; r < call->rows; r += 16) {
        if (call->act_rows == 1) {
            tn_ternary_rows(call, type, r, 1);
        } else {
            tn_ternary_rows(call, type, r, call->act_rows);
        }
    }
}

#endif
