/* iq2_s_kernels.h - the kernels of IQ2_S, by instruction set; iq2_s.c lists them in the format's table. */
#ifndef TENON_IQ2_S_KERNELS_H
#define TENON_IQ2_S_KERNELS_H

#include "iq_blocks.h"

/* Elements and bytes of a block, columns of a scale, minimums. */
#define IQ2_S_SHAPE ((tn_shape){256, 82, 16, 0})

/*
 * 256 columns in 82 bytes: d (binary16), for each eight columns the low byte of an index of ten bits (32
 * bytes) and eight sign bits (32 bytes), the two high bits of the indices (8 bytes), and 16 scales s of
 * four bits. w = d * (2 s + 1) / 8 * code.
 */

/* The index of the entry of columns 8 e .. + 7. */
static inline uint32_t iq2_s_index(const uint8_t *block, uint32_t e) {
    return block[2 + e] | ((uint32_t)block[66 + e / 4] << (8 - e % 4 * 2) & 0x300);
}

/* A block taken apart. */
static inline void iq2_s_open(const uint8_t *block, int8_t *codes, float *scales, float *minimums) {
    float d = tn_load_half(block) * 0.125f;
    (void)minimums;
    for (uint32_t g = 0; g < 16; g++) { scales[g] = d * (float)(2 * tn_nibble(block + 74, g) + 1); }
    for (uint32_t e = 0; e < 32; e++, codes += 8) {
        tn_iq_codes(tn_iq2_s_codebook[iq2_s_index(block, e)], block[34 + e], codes);
    }
}

extern const tn_format_kernel iq2_s_gemv_scalar, iq2_s_unpack_scalar;
#if defined(__x86_64__)
extern const tn_format_kernel iq2_s_gemv_avx2, iq2_s_unpack_avx2;
extern const tn_format_kernel iq2_s_gemv_avx512, iq2_s_unpack_avx512;
extern const tn_format_kernel iq2_s_gemv_avx512vbmi, iq2_s_unpack_avx512vbmi;
#endif

#endif
