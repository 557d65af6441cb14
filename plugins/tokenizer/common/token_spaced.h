/*
 * token_spaced.h - U+2581, which stands for the space in vocabularies made by SentencePiece and their kin.
 */
#ifndef TENON_TOKEN_SPACED_H
#define TENON_TOKEN_SPACED_H

#include "tenon/meta.h"

#define TN_SPACED "\xe2\x96\x81"
enum { TN_SPACED_SIZE = 3 };

static inline int tn_is_spaced(const void *at, uint64_t size) {
    return size >= TN_SPACED_SIZE && memcmp(at, TN_SPACED, TN_SPACED_SIZE) == 0;
}

static inline uint64_t tn_put_spaced(unsigned char *out) {
    memcpy(out, TN_SPACED, TN_SPACED_SIZE);
    return TN_SPACED_SIZE;
}

/** An entry's text with spaces for it, at most as long; returns how long. */
static inline int64_t tn_spaced_piece(tn_text text, unsigned char *out) {
    int64_t count = 0;
    for (uint64_t at = 0; at < text.size;) {
        int space = tn_is_spaced(text.data + at, text.size - at);
        out[count++] = space ? ' ' : (unsigned char)text.data[at];
        at += space ? TN_SPACED_SIZE : 1;
    }
    return count;
}

#endif
