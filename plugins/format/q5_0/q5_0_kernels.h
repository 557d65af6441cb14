/* q5_0_kernels.h - the layout of Q5_0, and its kernels and encoders by instruction set, which q5_0.c lists. */
#ifndef TENON_Q5_0_KERNELS_H
#define TENON_Q5_0_KERNELS_H

#include "blocks.h"
#include "run_encode.h"

/* Elements and bytes of a block, columns of a scale, minimums. */
#define Q5_0_SHAPE ((tn_shape){32, 22, 32, 0})

/*
 * 32 columns in 22 bytes: d (binary16), 4 bytes with bit 4 of code i in bit i, 16 bytes with the nibbles of
 * codes i (low) and i + 16; w = d * (code - 16).
 */
static inline void q5_0_open(const uint8_t *block, int8_t *codes, float *scales, float *minimums) {
    uint8_t high[32];
    scales[0] = tn_load_half(block);
    (void)minimums;
    for (uint32_t i = 0; i < 4; i++) {
        uint64_t eight = tn_bytes_of_bits(block[2 + i]);
        memcpy(high + 8 * i, &eight, sizeof eight);
    }
    for (uint32_t i = 0; i < 16; i++) {
        codes[i] = (int8_t)(((block[6 + i] & 15) | high[i] << 4) - 16);
        codes[i + 16] = (int8_t)((block[6 + i] >> 4 | high[i + 16] << 4) - 16);
    }
}

tn_run_encode q5_0_encode_scalar;
extern const tn_format_kernel q5_0_gemv_scalar, q5_0_unpack_scalar;
#if defined(__x86_64__)
tn_run_encode q5_0_encode_avx2;
extern const tn_format_kernel q5_0_gemv_avx2, q5_0_unpack_avx2;
extern const tn_format_kernel q5_0_gemv_avx512, q5_0_unpack_avx512;
#endif

#endif
