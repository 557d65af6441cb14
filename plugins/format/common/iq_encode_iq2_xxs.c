/* iq_encode_iq2_xxs.c - see iq_encode.h; the layout of a block is in iq2_xxs_kernels.h. */
#include "iq_encode.h"

#include "iq_encode_iq2.h"

int tn_iq2_xxs_encode(const float *x, const float *importance, uint8_t *block) {
    const tn_iq_shape shape = tn_iq2_shape(32, 1);
    tn_iq_book book;
    tn_iq_parts p;
    tn_iq2_book_open(tn_iq2_xxs_codebook, 256, shape, &book);
    if (!tn_iq_search(x, importance, &book, shape, &p)) { return 0; }
    memcpy(block, &p.d, 2);
    for (uint32_t g = 0; g < 8; g++) {
        uint32_t tail = (uint32_t)p.codes[g] << 28;
        for (uint32_t e = 0; e < 4; e++) {
            block[2 + 8 * g + e] = (uint8_t)p.entries[4 * g + e];
            tail |= (uint32_t)(p.signs[4 * g + e] & 127) << 7 * e;
        }
        memcpy(block + 6 + 8 * g, &tail, 4);
    }
    return 1;
}
