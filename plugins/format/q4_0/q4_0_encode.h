/* q4_0_encode.h - blocks of Q4_0 encoded; included once for each instruction set. */
#ifndef TENON_Q4_0_ENCODE_H
#define TENON_Q4_0_ENCODE_H

#include "q4_0_kernels.h"
#include "scale_encode.h"

TN_INLINE void q4_0_pack(const int8_t *codes, float scale, uint8_t *block) {
    tn_store_half(block, scale);
    for (uint32_t i = 0; i < 16; i++) { block[2 + i] = (uint8_t)((codes[i] + 8) | (codes[i + 16] + 8) << 4); }
}

TN_INLINE uint32_t q4_0_encode_run(const tn_run *run, uint8_t *blocks) {
    return tn_scale_encode(run, -8, (tn_scale_effort){16, -3, 3, 3, 3, 0.01f, 1, 3e-7f}, 18, q4_0_pack,
                           blocks);
}

#endif
