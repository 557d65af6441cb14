/* q5_1_encode.h - blocks of Q5_1 encoded; included once for each instruction set. */
#ifndef TENON_Q5_1_ENCODE_H
#define TENON_Q5_1_ENCODE_H

#include "line_encode.h"
#include "q5_1_kernels.h"

TN_INLINE void q5_1_pack(const uint8_t *codes, float scale, float minimum, uint8_t *block) {
    uint32_t high = 0;
    for (uint32_t i = 0; i < 32; i++) { high |= (uint32_t)codes[i] >> 4 << i; }
    tn_store_half(block, scale);
    tn_store_half(block + 2, minimum);
    memcpy(block + 4, &high, sizeof high);
    for (uint32_t i = 0; i < 16; i++) {
        block[8 + i] = (uint8_t)((codes[i] & 15) | (codes[i + 16] & 15) << 4);
    }
}

TN_INLINE uint32_t q5_1_encode_run(const tn_run *run, uint8_t *blocks) {
    return tn_line_encode(run, 31, (tn_line_effort){4, 7, -1, 0.5f, -1.5f, 0.4f, 1, 6, 0.005f, 1}, 24,
                          q5_1_pack, blocks);
}

#endif
