/* q8_k_kernels.h - the kernels of Q8_K, by instruction set; q8_k.c lists them in the format's table. */
#ifndef TENON_Q8_K_KERNELS_H
#define TENON_Q8_K_KERNELS_H

#include "blocks.h"

/* Elements and bytes of a block, columns of a scale, minimums. */
#define Q8_K_SHAPE ((tn_shape){256, 292, 256, 0})

/* 256 columns in 292 bytes: d (a float), 256 signed codes, 16 sums of codes, which nobody reads here (some
 * writers leave them unset); w = d * code. */
static inline void q8_k_open(const uint8_t *block, int8_t *codes, float *scales, float *minimums) {
    scales[0] = tn_load_float(block);
    (void)minimums;
    memcpy(codes, block + 4, 256);
}

extern const tn_format_kernel q8_k_gemv_scalar, q8_k_unpack_scalar;
#if defined(__x86_64__)
extern const tn_format_kernel q8_k_gemv_avx2, q8_k_unpack_avx2;
extern const tn_format_kernel q8_k_gemv_avx512, q8_k_unpack_avx512;
#endif

#endif
