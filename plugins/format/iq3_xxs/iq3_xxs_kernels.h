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
static inline void iq3_xxs_open(const uint8_t *block, int8_t *codes, float *scales, float *minimums) {
    float d = tn_load_half(block) * 0.25f;
    const uint8_t *index = block + 2;
    (void)minimums;
    for (uint32_t g = 0; g < 8; g++) {
        uint32_t word = tn_load_u32(block + 66 + 4 * g);
        scales[g] = d * (float)(2 * (word >> 28) + 1);
        for (uint32_t k = 0; k < 4; k++, codes += 8, index += 2) {
            uint64_t magnitudes = tn_iq3_pair(tn_iq3_xxs_codebook[index[0]], tn_iq3_xxs_codebook[index[1]]);
            tn_iq_codes(magnitudes, tn_iq_signs[word >> 7 * k & 127], codes);
        }
    }
}

extern const tn_format_kernel iq3_xxs_gemv_scalar, iq3_xxs_unpack_scalar;
#if defined(__x86_64__)
extern const tn_format_kernel iq3_xxs_gemv_avx2, iq3_xxs_unpack_avx2;
extern const tn_format_kernel iq3_xxs_gemv_avx512, iq3_xxs_unpack_avx512;
extern const tn_format_kernel iq3_xxs_gemv_avx512vbmi, iq3_xxs_unpack_avx512vbmi;
#endif

#endif
