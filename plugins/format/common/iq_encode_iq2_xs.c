/* iq_encode_iq2_xs.c - see iq_encode.h; the layout of a block is in iq2_xs_kernels.h. */
#include "iq_encode.h"

#include "iq_encode_iq2.h"

int tn_iq2_xs_encode(const float *x, const float *importance, uint8_t *block) {
    const tn_iq_shape shape = tn_iq2_shape(16, 1);
    tn_iq_book book;
    tn_iq_parts p;
    tn_iq2_book_open(tn_iq2_xs_codebook, 512, shape, &book);
    if (!tn_iq_search(x, importance, &book, shape, &p)) { return 0; }
    memcpy(block, &p.d, 2);
    for (uint32_t e = 0; e < 32; e++) {
        uint16_t word = (uint16_t)(p.entries[e] | (p.signs[e] & 127) << 9);
        memcpy(block + 2 + 2 * e, &word, 2);
    }
    for (uint32_t g = 0; g < 8; g++) { block[66 + g] = (uint8_t)(p.codes[2 * g] | p.codes[2 * g + 1] << 4); }
    return 1;
}
