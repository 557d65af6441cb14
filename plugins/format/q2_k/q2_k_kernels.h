/* q2_k_kernels.h - the layout of Q2_K, and its kernels and encoders by instruction set; see q2_k.c. */
#ifndef TENON_Q2_K_KERNELS_H
#define TENON_Q2_K_KERNELS_H

#include "blocks.h"
#include "planes.h"

/* Elements and bytes of a block, columns of a scale, minimums. */
#define Q2_K_SHAPE ((tn_shape){256, 84, 16, 1})
#define Q2_K_PLANES ((tn_planes){.bytes = 84, .low = 16, .has_minimum = 1})

/* 256 columns in 84 bytes: 16 bytes with a scale (low nibble) and a minimum for 16 columns each, 64 of
 * planes of two bits, d, dmin (binary16). w = d * scale * code - dmin * minimum. */
static inline void q2_k_open_head(const uint8_t *block, tn_plane_head *head) {
    for (uint32_t g = 0; g < 16; g++) {
        head->subs[g] = (int8_t)(block[g] & 15);
        head->minimums[g] = block[g] >> 4;
    }
    head->d = tn_load_half(block + 80);
    head->m = -tn_load_half(block + 82);
}

extern const tn_format_kernel q2_k_gemv_scalar, q2_k_unpack_scalar;
int q2_k_encode_scalar(const float *x, const float *importance, uint8_t *block);
#if defined(__x86_64__)
extern const tn_format_kernel q2_k_gemv_avx2, q2_k_unpack_avx2;
extern const tn_format_kernel q2_k_gemv_avx512, q2_k_unpack_avx512;
int q2_k_encode_avx2(const float *x, const float *importance, uint8_t *block);
#endif

#endif
