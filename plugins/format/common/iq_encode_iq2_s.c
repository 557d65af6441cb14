/* iq_encode_iq2_s.c - see iq_encode.h; the layout of a block is in iq2_s_kernels.h. */
#include "iq_encode.h"

#include "iq_encode_iq2.h"

int tn_iq2_s_encode(const float *x, const float *importance, uint8_t *block) {
    const tn_iq_shape shape = tn_iq2_shape(16, 0);
    tn_iq_book book;
    tn_iq_parts p;
    tn_iq2_book_open(tn_iq2_s_codebook, 1024, shape, &book);
    if (!tn_iq_search(x, importance, &book, shape, &p)) { return 0; }
    memcpy(block, &p.d, 2);
    for (uint32_t g = 0; g < 8; g++) {
        uint32_t high = 0;
        for (uint32_t e = 0; e < 4; e++) {
            block[2 + 4 * g + e] = (uint8_t)p.entries[4 * g + e];
            high |= (uint32_t)(p.entries[4 * g + e] >> 8) << 2 * e;
        }
        block[66 + g] = (uint8_t)high;
        block[74 + g] = (uint8_t)(p.codes[2 * g] | p.codes[2 * g + 1] << 4);
    }
    memcpy(block + 34, p.signs, 32);
    return 1;
}
