/* q4_1_encode.h - blocks of Q4_1 encoded; included once for each instruction set. */
#ifndef TENON_Q4_1_ENCODE_H
#define TENON_Q4_1_ENCODE_H

#include "line_encode.h"
#include "q4_1_kernels.h"

TN_INLINE void q4_1_pack(const uint8_t *codes, float scale, float minimum, uint8_t *block) {
    tn_store_half(block, scale);
    tn_store_half(block + 2, minimum);
    for (uint32_t i = 0; i < 16; i++) { block[4 + i] = (uint8_t)(codes[i] | codes[i + 16] << 4); }
}

TN_INLINE uint32_t q4_1_encode_run(const tn_run *run, uint8_t *blocks) {
    return tn_line_encode(run, 15, (tn_line_effort){5, 6, -1, 0.5f, -1, 0.4f, 1, 3, 0.01f, 2}, 20, q4_1_pack,
                          blocks);
}

#endif
