/* q8_0_kernels.h - the kernels of Q8_0, by instruction set; q8_0.c lists them in the format's table. */
#ifndef TENON_Q8_0_KERNELS_H
#define TENON_Q8_0_KERNELS_H

#include "blocks.h"

/* Elements and bytes of a block, columns of a scale, minimums. */
#define Q8_0_SHAPE ((tn_shape){32, 34, 32, 0})

/* 32 columns in 34 bytes: d (binary16), 32 signed codes; w = d * code. */
static inline void q8_0_open(const uint8_t *block, int8_t *codes, float *scales, float *minimums) {
    scales[0] = tn_load_half(block);
    (void)minimums;
    memcpy(codes, block + 2, 32);
}

extern const tn_format_kernel q8_0_gemv_scalar, q8_0_unpack_scalar;
#if defined(__x86_64__)
extern const tn_format_kernel q8_0_gemv_avx2, q8_0_unpack_avx2;
extern const tn_format_kernel q8_0_gemv_avx512, q8_0_unpack_avx512;
#endif

#endif
