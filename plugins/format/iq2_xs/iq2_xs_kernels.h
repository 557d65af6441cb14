/* iq2_xs_kernels.h - the kernels of IQ2_XS, by instruction set; iq2_xs.c lists them in the format's table. */
#ifndef TENON_IQ2_XS_KERNELS_H
#define TENON_IQ2_XS_KERNELS_H

#include "iq_blocks.h"

/* Elements and bytes of a block, columns of a scale, minimums. */
#define IQ2_XS_SHAPE ((tn_shape){256, 74, 16, 0})

/*
 * 256 columns in 74 bytes: d (binary16), a word for each eight columns (an index of nine bits, above it a
 * 7-bit sign code), and 16 scales s of four bits. w = d * (2 s + 1) / 8 * code.
 */

/* The index of the entry of columns 8 e .. + 7. */
static inline uint32_t iq2_xs_index(const uint8_t *block, uint32_t e) {
    return tn_load_u16(block + 2 + 2 * e) & 511;
}

/* A block taken apart. */
static inline void iq2_xs_open(const uint8_t *block, int8_t *codes, float *scales, float *minimums) {
    float d = tn_load_half(block) * 0.125f;
    (void)minimums;
    for (uint32_t g = 0; g < 16; g++) { scales[g] = d * (float)(2 * tn_nibble(block + 66, g) + 1); }
    for (uint32_t e = 0; e < 32; e++, codes += 8) {
        uint8_t signs = tn_iq_signs[tn_load_u16(block + 2 + 2 * e) >> 9];
        tn_iq_codes(tn_iq2_xs_codebook[iq2_xs_index(block, e)], signs, codes);
    }
}

extern const tn_format_kernel iq2_xs_gemv_scalar, iq2_xs_unpack_scalar;
#if defined(__x86_64__)
extern const tn_format_kernel iq2_xs_gemv_avx2, iq2_xs_unpack_avx2;
extern const tn_format_kernel iq2_xs_gemv_avx512, iq2_xs_unpack_avx512;
extern const tn_format_kernel iq2_xs_gemv_avx512vbmi, iq2_xs_unpack_avx512vbmi;
#endif

#endif
