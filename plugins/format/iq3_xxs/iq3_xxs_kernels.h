/*
 * iq3_xxs_kernels.h - the kernels of IQ3_XXS, by instruction set; iq3_xxs.c lists them in the format's
 * table.
 */
#ifndef TENON_IQ3_XXS_KERNELS_H
#define TENON_IQ3_XXS_KERNELS_H

#include "iq_blocks.h"

/* Elements and bytes of a block, columns of a scale, minimums. */
#define IQ3_XXS_SHAPE ((tn_shape){256, 98, 32, 0})

/*
 * 256 columns in 98 bytes: d (binary16), an index for each four columns (64 bytes), and for each 32 columns
 * a word of four 7-bit sign codes, each of eight columns, and, on top, the scale s. w = d * (2 s + 1) / 4 *
 * code.
 */

/* The index of the entry of columns 4 e .. + 3. */
static inline uint32_t iq3_xxs_index(const uint8_t *block, uint32_t e) {
    return block[2 + e];
}

/* A block taken apart. */
static inline void iq3_xxs_open(const uint8_t *block, int8_t *codes, float *scales, float *minimums) {
    float d = tn_load_half(block) * 0.25f;
    (void)minimums;
    for (uint32_t e = 0; e < 64; e += 2, codes += 8) {
        uint32_t word = tn_load_u32(block + 66 + e / 8 * 4);
        uint32_t first = tn_iq3_xxs_codebook[iq3_xxs_index(block, e)];
        uint32_t second = tn_iq3_xxs_codebook[iq3_xxs_index(block, e + 1)];
        scales[e / 8] = d * (float)(2 * (word >> 28) + 1);
        tn_iq_codes(tn_iq3_pair(first, second), tn_iq_signs[word >> e % 8 / 2 * 7 & 127], codes);
    }
}

extern const tn_format_kernel iq3_xxs_gemv_scalar, iq3_xxs_unpack_scalar;
#if defined(__x86_64__)
extern const tn_format_kernel iq3_xxs_gemv_avx2, iq3_xxs_unpack_avx2;
extern const tn_format_kernel iq3_xxs_gemv_avx512, iq3_xxs_unpack_avx512;
extern const tn_format_kernel iq3_xxs_gemv_avx512vbmi, iq3_xxs_unpack_avx512vbmi;
#endif

#endif
