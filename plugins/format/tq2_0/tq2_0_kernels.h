/* tq2_0_kernels.h - the kernels of TQ2_0, by instruction set; tq2_0.c lists them in the format's table. */
#ifndef TENON_TQ2_0_KERNELS_H
#define TENON_TQ2_0_KERNELS_H

#include "blocks.h"

/* Elements and bytes of a block, columns of a scale, minimums. */
#define TQ2_0_SHAPE ((tn_shape){256, 66, 256, 0})

/*
 * 256 columns in 66 bytes: 64 bytes of codes, d (binary16). Byte i of the first 32 has, from its lowest bits
 * on, the codes of columns i, i + 32, i + 64, i + 96; the other 32 bytes those of columns 128 .. 255;
 * w = d * (code - 1). No writer uses code 3.
 */
static inline void tq2_0_open(const uint8_t *block, int8_t *codes, float *scales, float *minimums) {
    scales[0] = tn_load_half(block + 64);
    (void)minimums;
    for (uint32_t n = 0; n < 8; n++, codes += 32) {
        for (uint32_t i = 0; i < 32; i++) {
            codes[i] = (int8_t)((block[n / 4 * 32 + i] >> n % 4 * 2 & 3) - 1);
        }
    }
}

extern const tn_format_kernel tq2_0_gemv_scalar, tq2_0_unpack_scalar;
#if defined(__x86_64__)
extern const tn_format_kernel tq2_0_gemv_avx2, tq2_0_unpack_avx2;
extern const tn_format_kernel tq2_0_gemv_avx512, tq2_0_unpack_avx512;
#endif

#endif
