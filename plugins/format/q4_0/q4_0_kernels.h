/* q4_0_kernels.h - the layout of Q4_0, and its kernels and encoders by instruction set, which q4_0.c lists. */
#ifndef TENON_Q4_0_KERNELS_H
#define TENON_Q4_0_KERNELS_H

#include "blocks.h"
#include "run_encode.h"

/* Elements and bytes of a block, columns of a scale, minimums. */
#define Q4_0_SHAPE ((tn_shape){32, 18, 32, 0})

/* 32 columns in 18 bytes: d (binary16), 16 bytes with codes i (low nibble) and i + 16; w = d * (code - 8). */
static inline void q4_0_open(const uint8_t *block, int8_t *codes, float *scales, float *minimums) {
    scales[0] = tn_load_half(block);
    (void)minimums;
    for (uint32_t i = 0; i < 16; i++) {
        codes[i] = (int8_t)((block[2 + i] & 15) - 8);
        codes[i + 16] = (int8_t)((block[2 + i] >> 4) - 8);
    }
}

tn_run_encode q4_0_encode_scalar;
extern const tn_format_kernel q4_0_gemv_scalar, q4_0_unpack_scalar;
#if defined(__x86_64__)
tn_run_encode q4_0_encode_avx2;
extern const tn_format_kernel q4_0_gemv_avx2, q4_0_unpack_avx2;
extern const tn_format_kernel q4_0_gemv_avx512, q4_0_unpack_avx512;
#endif

#endif
