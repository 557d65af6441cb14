/* q3_k_kernels.h - the layout of Q3_K, and its kernels and encoders by instruction set; see q3_k.c. */
#ifndef TENON_Q3_K_KERNELS_H
#define TENON_Q3_K_KERNELS_H

#include "blocks.h"
#include "planes.h"

/* Elements and bytes of a block, columns of a scale, minimums. */
#define Q3_K_SHAPE ((tn_shape){256, 110, 16, 0})
#define Q3_K_PLANES ((tn_planes){.bytes = 110, .low = 32, .high = 0, .has_high = 1})

/*
 * The sixteen 6-bit fields of twelve bytes, four fields a word: low nibbles of the first eight bytes, then
 * their high nibbles; the upper two bits lie in the last four bytes, those of word q at bit 2 q.
 */
static inline void q3_k_open_subs(const uint8_t *at, uint32_t *words) {
    uint32_t s[3];
    memcpy(s, at, sizeof s);
    for (uint32_t q = 0; q < 4; q++) {
        words[q] = (s[q % 2] >> 4 * (q / 2) & 0x0f0f0f0f) | (s[2] >> 2 * q & 0x03030303) << 4;
    }
}

/* 256 columns in 110 bytes: 32 bytes of third bits, 64 of planes of two bits, 12 of sub-scales, d (binary16).
 * w = d * (sub-scale of 16 columns - 32) * code. */
static inline void q3_k_open_head(const uint8_t *block, tn_plane_head *head) {
    uint32_t words[4];
    q3_k_open_subs(block + 96, words);
    for (uint32_t g = 0; g < 16; g++) {
        head->subs[g] = (int8_t)((int32_t)(words[g / 4] >> 8 * (g % 4) & 63) - 32);
    }
    head->d = tn_load_half(block + 108);
}

extern const tn_format_kernel q3_k_gemv_scalar, q3_k_unpack_scalar;
int q3_k_encode_scalar(const float *x, const float *importance, uint8_t *block);
#if defined(__x86_64__)
extern const tn_format_kernel q3_k_gemv_avx2, q3_k_unpack_avx2;
extern const tn_format_kernel q3_k_gemv_avx512, q3_k_unpack_avx512;
int q3_k_encode_avx2(const float *x, const float *importance, uint8_t *block);
#endif

#endif
