/* q3_k_encode.h - a block of Q3_K encoded; included once for each instruction set. */
#ifndef TENON_Q3_K_ENCODE_H
#define TENON_Q3_K_ENCODE_H

#include "groups16_encode.h"
#include "q3_k_kernels.h"

/* Measured (SmolLM2): with all sub-scales tried for all d's the error is a thousandth less. With importance
 * the best scale may cut much of a group off. */
#define Q3_K_PLAIN ((tn_groups16_shape){-4, -32, {6, -1, 1.7f, 0, 0, 0, 1, 1e-6f}, 1.0f / 64, 2})
#define Q3_K_WEIGHTED ((tn_groups16_shape){-4, -32, {26, -10, 2.4f, 2, 0, 0, 2, 1e-6f}, 1.0f / 64, 2})

TN_INLINE int q3_k_encode_block(const float *x, const float *importance, uint8_t *block) {
    tn_groups16_parts parts;
    int done = importance ? tn_groups16_encode(x, importance, Q3_K_WEIGHTED, &parts)
                          : tn_groups16_encode(x, NULL, Q3_K_PLAIN, &parts);
    if (!done) { return 0; }
    tn_planes_pack(parts.codes, Q3_K_PLANES, block);
    memset(block + 96, 0, 12); /* as q3_k_open_subs reads them */
    for (uint32_t g = 0; g < 16; g++) {
        uint32_t sub = (uint32_t)(parts.subs[g] + 32);
        block[96 + g % 8] |= (uint8_t)((sub & 15) << g / 8 * 4);
        block[104 + g % 4] |= (uint8_t)(sub >> 4 << g / 4 * 2);
    }
    memcpy(block + 108, &parts.d, 2);
    return 1;
}

#endif
