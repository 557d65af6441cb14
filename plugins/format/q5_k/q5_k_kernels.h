/* q5_k_kernels.h - the layout of Q5_K; its kernels and encoders, by instruction set. */
#ifndef TENON_Q5_K_KERNELS_H
#define TENON_Q5_K_KERNELS_H

#include "blocks.h"
#include "k_scales.h"

/* Elements and bytes of a block, columns of a scale, minimums. */
#define Q5_K_SHAPE ((tn_shape){256, 176, 32, 1})

/* 256 columns in 176 bytes: the head (k_scales.h), 32 bytes of fifth bits, bit g of byte i for column i of
 * group g, then 128 bytes of nibbles, 32 bytes for two groups: the low ones the first, the high ones the
 * second. w = d * scale * code - dmin * minimum. */
static inline void q5_k_open(const uint8_t *block, int8_t *codes, float *scales, float *minimums) {
    tn_k_open_head(block, scales, minimums);
    for (uint32_t n = 0; n < 4; n++, codes += 64) {
        for (uint32_t i = 0; i < 32; i++) {
            uint32_t pair = block[48 + 32 * n + i], fifth = (uint32_t)block[16 + i] >> 2 * n;
            codes[i] = (int8_t)((pair & 15) | (fifth & 1) << 4);
            codes[i + 32] = (int8_t)(pair >> 4 | (fifth & 2) << 3);
        }
    }
}

extern const tn_format_kernel q5_k_gemv_scalar, q5_k_unpack_scalar;
int q5_k_encode_scalar(const float *x, const float *importance, uint8_t *block);
#if defined(__x86_64__)
extern const tn_format_kernel q5_k_gemv_avx2, q5_k_unpack_avx2;
extern const tn_format_kernel q5_k_gemv_avx512, q5_k_unpack_avx512;
int q5_k_encode_avx2(const float *x, const float *importance, uint8_t *block);
#endif

#endif
