/* iq_encode_iq3_xxs.c - see iq_encode.h; the layout of a block is in iq3_xxs_kernels.h. */
#include "iq_encode.h"

#include "iq_encode_iq3.h"

static const tn_iq_shape shape = {.columns = 4,
                                  .levels = 8,
                                  .halves = 64,
                                  .group = 32,
                                  .even = 1,
                                  .level = {4, 12, 20, 28, 36, 44, 52, 62},
                                  .spacing = 8,
                                  .step = 0.25f};

int tn_iq3_xxs_encode(const float *x, const float *importance, uint8_t *block) {
    tn_iq_book book;
    tn_iq_parts p;
    tn_iq3_book_open(tn_iq3_xxs_codebook, 256, 3, shape, &book);
    if (!tn_iq_search(x, importance, &book, shape, &p)) { return 0; }
    memcpy(block, &p.d, 2);
    for (uint32_t g = 0; g < 8; g++) {
        uint32_t tail = (uint32_t)p.codes[g] << 28;
        for (uint32_t e = 0; e < 8; e++) { block[2 + 8 * g + e] = (uint8_t)p.entries[8 * g + e]; }
        for (uint32_t o = 0; o < 4; o++) { tail |= (uint32_t)(p.signs[4 * g + o] & 127) << 7 * o; }
        memcpy(block + 66 + 4 * g, &tail, 4);
    }
    return 1;
}
