/* tq1_0_kernels.h - the kernels of TQ1_0, by instruction set; tq1_0.c lists them in the format's table. */
#ifndef TENON_TQ1_0_KERNELS_H
#define TENON_TQ1_0_KERNELS_H

#include "blocks.h"

/* Elements and bytes of a block, columns of a scale, minimums. */
#define TQ1_0_SHAPE ((tn_shape){256, 54, 256, 0})

/*
 * 256 columns in 54 bytes: 52 bytes with five digits of base 3 each, d (binary16); w = d * (digit - 1). A byte
 * is a fraction of 256: the upper byte of three times it is its first digit, and three times it, cut to a
 * byte, the fraction of the others. Digit n of byte i is column 32 n + i for the first 32 bytes, 160 + 16 n
 * + i for the next 16, and for the last 4, which have four digits, 240 + 4 n + i.
 */
TN_INLINE void tq1_0_open_part(const uint8_t *at, uint32_t bytes, uint32_t digits, int8_t *codes) {
    uint8_t fractions[32];
    memcpy(fractions, at, bytes);
    for (uint32_t n = 0; n < digits; n++, codes += bytes) {
        for (uint32_t i = 0; i < bytes; i++) {
            codes[i] = (int8_t)((fractions[i] * 3 >> 8) - 1);
            fractions[i] = (uint8_t)(fractions[i] * 3);
        }
    }
}

static inline void tq1_0_open(const uint8_t *block, int8_t *codes, float *scales, float *minimums) {
    scales[0] = tn_load_half(block + 52);
    (void)minimums;
    tq1_0_open_part(block, 32, 5, codes);
    tq1_0_open_part(block + 32, 16, 5, codes + 160);
    tq1_0_open_part(block + 48, 4, 4, codes + 240);
}

extern const tn_format_kernel tq1_0_gemv_scalar, tq1_0_unpack_scalar;
#if defined(__x86_64__)
extern const tn_format_kernel tq1_0_gemv_avx2, tq1_0_unpack_avx2;
extern const tn_format_kernel tq1_0_gemv_avx512, tq1_0_unpack_avx512;
#endif

#endif
