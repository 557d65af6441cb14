/* q2_0_kernels.h - the kernels of Q2_0, by instruction set; q2_0.c lists them in the format's table. */
#ifndef TENON_Q2_0_KERNELS_H
#define TENON_Q2_0_KERNELS_H

#include "blocks.h"

/* Elements and bytes of a block, columns of a scale, minimums. */
#define Q2_0_SHAPE ((tn_shape){64, 18, 64, 0})

/* 64 columns in 18 bytes: d (binary16), two bits a column; w = d * (code - 1). */
static inline void q2_0_open(const uint8_t *block, int8_t *codes, float *scales, float *minimums) {
    scales[0] = tn_load_half(block);
    (void)minimums;
    for (uint32_t i = 0; i < 16; i++) { /* bits 2 n, 2 n + 1 of a byte to byte n of a word */
        uint32_t four = block[2 + i];
        four |= four << 12;
        four = (four | four << 6) & 0x03030303;
        memcpy(codes + 4 * i, &four, sizeof four);
    }
    for (uint32_t i = 0; i < 64; i++) { codes[i]--; }
}

extern const tn_format_kernel q2_0_gemv_scalar, q2_0_unpack_scalar;
#if defined(__x86_64__)
extern const tn_format_kernel q2_0_gemv_avx2, q2_0_unpack_avx2;
extern const tn_format_kernel q2_0_gemv_avx512, q2_0_unpack_avx512;
#endif

#endif
