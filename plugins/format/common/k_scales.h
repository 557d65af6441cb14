/*
 * k_scales.h - the 12 bytes in which Q4_K and Q5_K pack the scales and minimums, of 6 bits, of eight groups:
 * bytes 0 .. 3 and 4 .. 7 hold those of groups 0 .. 3, with the upper pairs of groups 4 .. 7 on top; bytes
 * 8 .. 11 hold the lower four bits of groups 4 .. 7, the scale's low and the minimum's high.
 */
#ifndef TENON_FORMAT_K_SCALES_H
#define TENON_FORMAT_K_SCALES_H

#include "format_plugin.h"

/** Group g's in byte g. */
typedef struct tn_k_codes {
    uint64_t scales, minimums;
} tn_k_codes;

TN_INLINE tn_k_codes tn_k_load_codes(const uint8_t *at) {
    uint32_t a = (uint32_t)tn_load_i32(at), b = (uint32_t)tn_load_i32(at + 4);
    uint32_t c = (uint32_t)tn_load_i32(at + 8);
    uint32_t high_scales = (c & 0x0f0f0f0f) | (a >> 2 & 0x30303030);
    uint32_t high_minimums = (c >> 4 & 0x0f0f0f0f) | (b >> 2 & 0x30303030);
    return (tn_k_codes){(a & 0x3f3f3f3f) | (uint64_t)high_scales << 32,
                        (b & 0x3f3f3f3f) | (uint64_t)high_minimums << 32};
}

static inline void tn_k_store_codes(uint8_t *at, const uint8_t *scales, const uint8_t *minimums) {
    for (uint32_t g = 0; g < 4; g++) {
        at[g] = (uint8_t)(scales[g] | scales[g + 4] >> 4 << 6);
        at[4 + g] = (uint8_t)(minimums[g] | minimums[g + 4] >> 4 << 6);
        at[8 + g] = (uint8_t)((scales[g + 4] & 15) | minimums[g + 4] << 4);
    }
}

/** The head of a block, d and dmin (binary16) and the 12 bytes: of each group the scale, and the minimum that
 * is added. */
static inline void tn_k_open_head(const uint8_t *block, float *scales, float *minimums) {
    float d = tn_load_half(block), dmin = -tn_load_half(block + 2);
    tn_k_codes codes = tn_k_load_codes(block + 4);
    for (uint32_t g = 0; g < 8; g++) {
        scales[g] = d * (float)(codes.scales >> 8 * g & 63);
        minimums[g] = dmin * (float)(codes.minimums >> 8 * g & 63);
    }
}

#endif
