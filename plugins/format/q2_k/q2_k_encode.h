/* q2_k_encode.h - a block of Q2_K encoded; included once for each instruction set. */
#ifndef TENON_Q2_K_ENCODE_H
#define TENON_Q2_K_ENCODE_H

#include "k_encode.h"
#include "q2_k_kernels.h"

/* Measured (SmolLM2): a whole range has but three steps, so lines lie close. More of them gain next to
 * nothing, and a search among all integers of all groups does not gain a hundredth. */
#define Q2_K_PLAIN ((tn_k_effort){6, 1, -0.6f, 0.25f, 0, 0})
#define Q2_K_WEIGHTED ((tn_k_effort){9, 1, -0.6f, 0.33f, 0, 1})

TN_INLINE int q2_k_encode_block(const float *x, const float *importance, uint8_t *block) {
    tn_k_parts parts;
    tn_k_effort effort = importance ? Q2_K_WEIGHTED : Q2_K_PLAIN;
    if (!tn_k_encode_with(x, importance, (tn_k_shape){16, 16, 3, 15}, effort, &parts)) { return 0; }
    for (uint32_t g = 0; g < 16; g++) { block[g] = (uint8_t)(parts.scales[g] | parts.minimums[g] << 4); }
    tn_planes_pack((const int8_t *)parts.codes, Q2_K_PLANES, block);
    memcpy(block + 80, &parts.d, 2);
    memcpy(block + 82, &parts.dmin, 2);
    return 1;
}

#endif
