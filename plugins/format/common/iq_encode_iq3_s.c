/* iq_encode_iq3_s.c - see iq_encode.h; the layout of a block is in iq3_s_kernels.h. */
#include "iq_encode.h"

#include "iq_encode_iq3.h"

static const tn_iq_shape shape = {.columns = 4,
                                  .levels = 8,
                                  .halves = 64,
                                  .group = 32,
                                  .even = 0,
                                  .level = {1, 3, 5, 7, 9, 11, 13, 15},
                                  .spacing = 2,
                                  .step = 1};

int tn_iq3_s_encode(const float *x, const float *importance, uint8_t *block) {
    tn_iq_book book;
    tn_iq_parts p;
    tn_iq3_book_open(tn_iq3_s_codebook, 512, 1, shape, &book);
    if (!tn_iq_search(x, importance, &book, shape, &p)) { return 0; }
    memcpy(block, &p.d, 2);
    for (uint32_t g = 0; g < 8; g++) {
        uint32_t high = 0;
        for (uint32_t e = 0; e < 8; e++) {
            block[2 + 8 * g + e] = (uint8_t)p.entries[8 * g + e];
            high |= (uint32_t)(p.entries[8 * g + e] >> 8) << e;
        }
        block[66 + g] = (uint8_t)high;
    }
    memcpy(block + 74, p.signs, 32);
    for (uint32_t i = 0; i < 4; i++) { block[106 + i] = (uint8_t)(p.codes[2 * i] | p.codes[2 * i + 1] << 4); }
    return 1;
}
