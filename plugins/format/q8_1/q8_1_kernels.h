/* q8_1_kernels.h - the kernels of Q8_1, by instruction set; q8_1.c lists them in the format's table. */
#ifndef TENON_Q8_1_KERNELS_H
#define TENON_Q8_1_KERNELS_H

#include "blocks.h"

/* Elements and bytes of a block, columns of a scale, minimums. */
#define Q8_1_SHAPE ((tn_shape){32, 36, 32, 0})

/* 32 columns in 36 bytes: d, and d times the sum of the codes, which nobody reads here (both binary16), 32
 * signed codes; w = d * code. */
static inline void q8_1_open(const uint8_t *block, int8_t *codes, float *scales, float *minimums) {
    scales[0] = tn_load_half(block);
    (void)minimums;
    memcpy(codes, block + 4, 32);
}

extern const tn_format_kernel q8_1_gemv_scalar, q8_1_unpack_scalar;
#if defined(__x86_64__)
extern const tn_format_kernel q8_1_gemv_avx2, q8_1_unpack_avx2;
extern const tn_format_kernel q8_1_gemv_avx512, q8_1_unpack_avx512;
#endif

#endif
