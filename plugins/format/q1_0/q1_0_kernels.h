/* q1_0_kernels.h - the kernels of Q1_0, by instruction set; q1_0.c lists them in the format's table. */
#ifndef TENON_Q1_0_KERNELS_H
#define TENON_Q1_0_KERNELS_H

#include "blocks.h"

/* Elements and bytes of a block, columns of a scale, minimums. */
#define Q1_0_SHAPE ((tn_shape){128, 18, 128, 0})

/* 128 columns in 18 bytes: d (binary16), a bit a column; w = d where it is 1, else -d. */
static inline void q1_0_open(const uint8_t *block, int8_t *codes, float *scales, float *minimums) {
    scales[0] = tn_load_half(block);
    (void)minimums;
    for (uint32_t i = 0; i < 16; i++) {
        uint64_t eight = ~(tn_bytes_of_bits(block[2 + i]) * 0xfe); /* 0 to -1, 1 to 1 */
        memcpy(codes + 8 * i, &eight, sizeof eight);
    }
}

extern const tn_format_kernel q1_0_gemv_scalar, q1_0_unpack_scalar;
#if defined(__x86_64__)
extern const tn_format_kernel q1_0_gemv_avx2, q1_0_unpack_avx2;
extern const tn_format_kernel q1_0_gemv_avx512, q1_0_unpack_avx512;
#endif

#endif
