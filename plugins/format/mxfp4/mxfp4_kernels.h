/* mxfp4_kernels.h - the kernels of MXFP4, by instruction set; mxfp4.c lists them in the format's table. */
#ifndef TENON_MXFP4_KERNELS_H
#define TENON_MXFP4_KERNELS_H

#include "blocks.h"
#include "table16_values.h"

/* Elements and bytes of a block, columns of a scale, minimums. */
#define MXFP4_SHAPE ((tn_shape){32, 17, 32, 0})

/* 2^(e - 128): what a doubled E2M1 number is multiplied by. The two smallest are subnormal. */
static inline float mxfp4_scale(uint8_t e) {
    return tn_float_of_bits(e < 2 ? 0x00200000u << e : (uint32_t)(e - 1) << 23);
}

/* 32 columns in 17 bytes: the exponent e, 16 bytes with codes i (low nibble) and i + 16. */
static inline void mxfp4_open(const uint8_t *block, int8_t *codes, float *scales, float *minimums) {
    scales[0] = mxfp4_scale(block[0]);
    (void)minimums;
    tn_table_nibbles(tn_e2m1_values, block + 1, 16, codes);
}

extern const tn_format_kernel mxfp4_gemv_scalar, mxfp4_unpack_scalar;
#if defined(__x86_64__)
extern const tn_format_kernel mxfp4_gemv_avx2, mxfp4_unpack_avx2;
extern const tn_format_kernel mxfp4_gemv_avx512, mxfp4_unpack_avx512;
#endif

#endif
