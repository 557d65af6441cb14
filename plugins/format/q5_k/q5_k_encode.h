/* q5_k_encode.h - a block of Q5_K encoded; included once for each instruction set. */
#ifndef TENON_Q5_K_ENCODE_H
#define TENON_Q5_K_ENCODE_H

#include "k_encode.h"
#include "q5_k_kernels.h"

TN_INLINE int q5_k_encode_block(const float *x, const float *importance, uint8_t *block) {
    tn_k_parts parts;
    const uint8_t *q = parts.codes;
    if (!tn_k_encode(x, importance, (tn_k_shape){8, 32, 31, 63}, &parts)) { return 0; }
    memcpy(block, &parts.d, 2);
    memcpy(block + 2, &parts.dmin, 2);
    tn_k_store_codes(block + 4, parts.scales, parts.minimums);
    memset(block + 16, 0, 32);
    for (uint32_t n = 0; n < 4; n++, q += 64) {
        for (uint32_t i = 0; i < 32; i++) {
            block[16 + i] |= (uint8_t)(q[i] >> 4 << 2 * n | q[i + 32] >> 4 << (2 * n + 1));
            block[48 + 32 * n + i] = (uint8_t)((q[i] & 15) | q[i + 32] << 4);
        }
    }
    return 1;
}

#endif
