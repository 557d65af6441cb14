/* q5_0_encode.h - blocks of Q5_0 encoded; included once for each instruction set. */
#ifndef TENON_Q5_0_ENCODE_H
#define TENON_Q5_0_ENCODE_H

#include "q5_0_kernels.h"
#include "scale_encode.h"

TN_INLINE void q5_0_pack(const int8_t *codes, float scale, uint8_t *block) {
    uint32_t high = 0;
    for (uint32_t i = 0; i < 32; i++) { high |= (uint32_t)(codes[i] + 16) >> 4 << i; }
    tn_store_half(block, scale);
    memcpy(block + 2, &high, sizeof high);
    for (uint32_t i = 0; i < 16; i++) {
        block[6 + i] = (uint8_t)((codes[i] & 15) | (codes[i + 16] & 15) << 4);
    }
}

TN_INLINE uint32_t q5_0_encode_run(const tn_run *run, uint8_t *blocks) {
    return tn_scale_encode(run, -16, (tn_scale_effort){17, -3, 5, 3, 3, 0.005f, 1, 3e-7f}, 22, q5_0_pack,
                           blocks);
}

#endif
