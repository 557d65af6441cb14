/*
 * k_pieces.h - what the AVX2 and AVX-512 kernels of Q4_K and Q5_K have in common: the layout of a block,
 * walking along an activation row, and the head of a block for panels.
 */
#ifndef TENON_FORMAT_K_PIECES_H
#define TENON_FORMAT_K_PIECES_H

#include "k_scales.h"

#include <immintrin.h>

/** Bytes of a block, and where its nibbles begin. */
TN_INLINE uint32_t tn_k_bytes(uint32_t fifth) {
    return fifth ? 176 : 144;
}
TN_INLINE uint32_t tn_k_nibbles(uint32_t fifth) {
    return fifth ? 48 : 16;
}

/** An activation row from some block on: its codes, scales and sums, and the sums of its eight groups. */
typedef struct tn_k_act {
    const int8_t *codes;
    const float *scales;
    const int16_t *halves;
    float sums[8];
} tn_k_act;

TN_INLINE tn_k_act tn_k_act_row(const tn_act *act, uint64_t row) {
    return (tn_k_act){.codes = (const int8_t *)act->data + row * act->stride,
                      .scales = act->scales + row * act->scale_stride,
                      .halves = act->sums + row * act->sum_stride};
}

/** Adds up the halves of this block's sums; the pointers go on by `blocks`. */
TN_INLINE void tn_k_act_block(tn_k_act *act, uint32_t blocks) {
    act->codes += 256 * blocks;
    act->scales += 8 * blocks;
    act->halves += 16 * blocks;
    __m256i halves = _mm256_loadu_si256((const void *)act->halves);
    __m256i sums = _mm256_madd_epi16(halves, _mm256_set1_epi16(1));
    _mm256_storeu_ps(act->sums, _mm256_cvtepi32_ps(sums));
}

/** Eight bytes as floats. */
TN_INLINE __m256 tn_k_byte_floats(uint64_t bytes) {
    return _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(_mm_cvtsi64_si128((long long)bytes)));
}

/** The head of a block: of eight groups the scales, and the minimums that are added. */
TN_INLINE void tn_k_unpack_head(const uint8_t *block, float *scales, float *minimums) {
    tn_k_codes codes = tn_k_load_codes(block + 4);
    __m256 d = _mm256_set1_ps(_cvtsh_ss(tn_load_u16(block)));
    __m256 dmin = _mm256_set1_ps(-_cvtsh_ss(tn_load_u16(block + 2)));
    _mm256_storeu_ps(scales, _mm256_mul_ps(d, tn_k_byte_floats(codes.scales)));
    _mm256_storeu_ps(minimums, _mm256_mul_ps(dmin, tn_k_byte_floats(codes.minimums)));
}

#endif
