/* q6_k_encode.h - a block of Q6_K encoded; included once for each instruction set. */
#ifndef TENON_Q6_K_ENCODE_H
#define TENON_Q6_K_ENCODE_H

#include "groups16_encode.h"
#include "q6_k_kernels.h"

/* With importance the best scale may cut more of a group off. */
#define Q6_K_PLAIN ((tn_groups16_shape){-32, -128, {13, -2, 10, 0, 3, 0.005f, 2, 1e-6f}, 1.0f / 128, 1})
#define Q6_K_WEIGHTED ((tn_groups16_shape){-32, -128, {30, -16, 10, 2, 3, 0.005f, 2, 1e-6f}, 1.0f / 128, 1})

TN_INLINE int q6_k_encode_block(const float *x, const float *importance, uint8_t *block) {
    tn_groups16_parts parts;
    int done = importance ? tn_groups16_encode(x, importance, Q6_K_WEIGHTED, &parts)
                          : tn_groups16_encode(x, NULL, Q6_K_PLAIN, &parts);
    if (!done) { return 0; }
    for (uint32_t n = 0; n < 2; n++) {
        for (uint32_t l = 0; l < 32; l++) { /* columns l, l + 32, l + 64, l + 96 of these 128 */
            uint8_t q[4];
            for (uint32_t c = 0; c < 4; c++) { q[c] = (uint8_t)(parts.codes[128 * n + 32 * c + l] + 32); }
            block[64 * n + l] = (uint8_t)((q[0] & 15) | q[2] << 4);
            block[64 * n + 32 + l] = (uint8_t)((q[1] & 15) | q[3] << 4);
            block[128 + 32 * n + l] = (uint8_t)(q[0] >> 4 | q[1] >> 4 << 2 | q[2] >> 4 << 4 | q[3] >> 4 << 6);
        }
    }
    memcpy(block + 192, parts.subs, 16);
    memcpy(block + 208, &parts.d, 2);
    return 1;
}

#endif
