/* q6_k_kernels.h - the layout of Q6_K, and its kernels and encoders by instruction set, which q6_k.c lists. */
#ifndef TENON_Q6_K_KERNELS_H
#define TENON_Q6_K_KERNELS_H

#include "blocks.h"

/* Elements and bytes of a block, columns of a scale, minimums. */
#define Q6_K_SHAPE ((tn_shape){256, 210, 16, 0})

/* 256 columns in 210 bytes: 128 bytes of low nibbles, 64 of upper pairs, 16 signed sub-scales, d (binary16).
 * w = d * sub-scale of 16 columns * (code - 32). */
static inline void q6_k_open(const uint8_t *block, int8_t *codes, float *scales, float *minimums) {
    float d = tn_load_half(block + 208);
    (void)minimums;
    for (uint32_t g = 0; g < 16; g++) { scales[g] = d * (int8_t)block[192 + g]; }
    for (uint32_t n = 0; n < 2; n++, codes += 128) {
        for (uint32_t l = 0; l < 32; l++) { /* columns l, l + 32, l + 64, l + 96 of these 128 */
            uint8_t even = block[64 * n + l], odd = block[64 * n + 32 + l], high = block[128 + 32 * n + l];
            codes[l] = (int8_t)(((even & 15) | (high & 3) << 4) - 32);
            codes[l + 32] = (int8_t)(((odd & 15) | (high >> 2 & 3) << 4) - 32);
            codes[l + 64] = (int8_t)((even >> 4 | (high >> 4 & 3) << 4) - 32);
            codes[l + 96] = (int8_t)((odd >> 4 | (high >> 6) << 4) - 32);
        }
    }
}

tn_block_encode q6_k_encode_scalar;
extern const tn_format_kernel q6_k_gemv_scalar, q6_k_unpack_scalar;
#if defined(__x86_64__)
tn_block_encode q6_k_encode_avx2;
extern const tn_format_kernel q6_k_gemv_avx2, q6_k_unpack_avx2;
extern const tn_format_kernel q6_k_gemv_avx512, q6_k_unpack_avx512;
#endif

#endif
