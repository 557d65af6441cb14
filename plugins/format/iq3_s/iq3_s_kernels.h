/* iq3_s_kernels.h - the kernels of IQ3_S, by instruction set; iq3_s.c lists them in the format's table. */
#ifndef TENON_IQ3_S_KERNELS_H
#define TENON_IQ3_S_KERNELS_H

#include "iq_blocks.h"

/* Elements and bytes of a block, columns of a scale, minimums. */
#define IQ3_S_SHAPE ((tn_shape){256, 110, 32, 0})

/*
 * 256 columns in 110 bytes: d (binary16), for each four columns the low byte of an index of nine bits (64
 * bytes), the high bits of the indices (8 bytes), a sign bit for each column (32 bytes), and eight scales s
 * of four bits. w = d * (2 s + 1) * code.
 */

/* The index of the entry of columns 4 e .. + 3. */
static inline uint32_t iq3_s_index(const uint8_t *block, uint32_t e) {
    return block[2 + e] | ((uint32_t)block[66 + e / 8] << (8 - e % 8) & 0x100);
}

/* A block taken apart. */
static inline void iq3_s_open(const uint8_t *block, int8_t *codes, float *scales, float *minimums) {
    float d = tn_load_half(block);
    (void)minimums;
    for (uint32_t g = 0; g < 8; g++) { scales[g] = d * (float)(2 * tn_nibble(block + 106, g) + 1); }
    for (uint32_t e = 0; e < 64; e += 2, codes += 8) {
        uint32_t first = tn_iq3_s_codebook[iq3_s_index(block, e)];
        uint32_t second = tn_iq3_s_codebook[iq3_s_index(block, e + 1)];
        tn_iq_codes(tn_iq3_pair(first, second), block[74 + e / 2], codes);
    }
}

extern const tn_format_kernel iq3_s_gemv_scalar, iq3_s_unpack_scalar;
#if defined(__x86_64__)
extern const tn_format_kernel iq3_s_gemv_avx2, iq3_s_unpack_avx2;
extern const tn_format_kernel iq3_s_gemv_avx512, iq3_s_unpack_avx512;
extern const tn_format_kernel iq3_s_gemv_avx512vbmi, iq3_s_unpack_avx512vbmi;
#endif

#endif
