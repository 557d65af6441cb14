/* iq_encode_iq3.h - what the encoders of the IQ3 types share: entries of four columns with eight levels. */
#ifndef TENON_IQ_ENCODE_IQ3_H
#define TENON_IQ_ENCODE_IQ3_H

#include "iq_codebooks.h"
#include "iq_encode_search.h"

/* A level is a magnitude's bits from `shift` on. */
TN_INLINE void tn_iq3_book_open(const uint32_t *codebook, uint32_t entries, uint32_t shift, tn_iq_shape shape,
                                tn_iq_book *book) {
    for (uint32_t e = 0; e < entries; e++) {
        uint32_t levels = codebook[e] >> shift & 0x07070707;
        book->lower[e] = (uint8_t)((levels | levels >> 5) & 63);
        book->upper[e] = (uint8_t)((levels >> 16 | levels >> 21) & 63);
    }
    tn_iq_book_finish(book, entries, shape);
}

#endif
