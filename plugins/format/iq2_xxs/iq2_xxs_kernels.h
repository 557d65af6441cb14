/*
 * iq2_xxs_kernels.h - the kernels of IQ2_XXS, by instruction set; iq2_xxs.c lists them in the format's
 * table.
 */
#ifndef TENON_IQ2_XXS_KERNELS_H
#define TENON_IQ2_XXS_KERNELS_H

#include "iq_blocks.h"

/* Elements and bytes of a block, columns of a scale, minimums. */
#define IQ2_XXS_SHAPE ((tn_shape){256, 66, 32, 0})

/*
 * 256 columns in 66 bytes: d (binary16), then eight bytes for each 32 columns: four indices of entries of
 * eight columns and a word of four 7-bit sign codes and, on top, the scale s. w = d * (2 s + 1) / 8 * code.
 */

/* The index of the entry of columns 8 e .. + 7. */
static inline uint32_t iq2_xxs_index(const uint8_t *block, uint32_t e) {
    return block[2 + e / 4 * 8 + e % 4];
}

/* A block taken apart. */
static inline void iq2_xxs_open(const uint8_t *block, int8_t *codes, float *scales, float *minimums) {
    float d = tn_load_half(block) * 0.125f;
    (void)minimums;
    for (uint32_t e = 0; e < 32; e++, codes += 8) {
        uint32_t word = tn_load_u32(block + 6 + e / 4 * 8);
        scales[e / 4] = d * (float)(2 * (word >> 28) + 1);
        tn_iq_codes(tn_iq2_xxs_codebook[iq2_xxs_index(block, e)], tn_iq_signs[word >> e % 4 * 7 & 127],
                    codes);
    }
}

extern const tn_format_kernel iq2_xxs_gemv_scalar, iq2_xxs_unpack_scalar;
#if defined(__x86_64__)
extern const tn_format_kernel iq2_xxs_gemv_avx2, iq2_xxs_unpack_avx2;
extern const tn_format_kernel iq2_xxs_gemv_avx512, iq2_xxs_unpack_avx512;
extern const tn_format_kernel iq2_xxs_gemv_avx512vbmi, iq2_xxs_unpack_avx512vbmi;
#endif

#endif
