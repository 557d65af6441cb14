/*
 * iq_encode_iq2.h - what the encoders of the IQ2 types share: entries of eight columns with the levels 8, 25 and 43,
 * scales of d * (2 * code + 1) / 8.
 */
#ifndef TENON_IQ_ENCODE_IQ2_H
#define TENON_IQ_ENCODE_IQ2_H

#include "iq_codebooks.h"
#include "iq_encode_search.h"

TN_INLINE tn_iq_shape tn_iq2_shape(uint32_t group, uint32_t even) {
    return (tn_iq_shape){.columns = 8,
                         .levels = 3,
                         .halves = 81,
                         .group = group,
                         .even = even,
                         .level = {8, 25, 43},
                         .spacing = 17.5f,
                         .step = 0.125f};
}

/* The levels of four magnitudes, one a byte, as a number of four digits: 1, 3, 9 and 27 times the bytes. The
 * product's top byte is their sum, and those below it cannot carry. */
static inline uint8_t tn_iq2_half(uint32_t magnitudes) {
    return (uint8_t)((magnitudes >> 4 & 0x03030303) * 0x0103091b >> 24);
}

TN_INLINE void tn_iq2_book_open(const uint64_t *codebook, uint32_t entries, tn_iq_shape shape,
                                tn_iq_book *book) {
    for (uint32_t e = 0; e < entries; e++) {
        book->lower[e] = tn_iq2_half((uint32_t)codebook[e]);
        book->upper[e] = tn_iq2_half((uint32_t)(codebook[e] >> 32));
    }
    tn_iq_book_finish(book, entries, shape);
}

#endif
