/*
 * token_spaced.h - how vocabularies made by SentencePiece and their kin write entries: U+2581 for the space, <0x41> for
 * a byte.
 */
#ifndef TENON_TOKEN_SPACED_H
#define TENON_TOKEN_SPACED_H

#include "tenon/meta.h"
#include "tenon/tokenizer.h"

#include <string.h>

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

/** The number of a hexadecimal digit, -1 for another character. */
static inline int tn_upper_hex(char c) {
    return c >= '0' && c <= '9' ? c - '0' : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/** Writes the byte that "<0x41>" stands for; returns 1, -1 for another text. */
static inline int64_t tn_byte_piece(tn_text text, unsigned char *out) {
    if (text.size != 6 || memcmp(text.data, "<0x", 3) != 0 || text.data[5] != '>') { return -1; }
    int high = tn_upper_hex(text.data[3]), low = tn_upper_hex(text.data[4]);
    if (high < 0 || low < 0) { return -1; }
    out[0] = (unsigned char)(high * 16 + low);
    return 1;
}

/** What an entry stands for (tn_family.piece). */
static inline int64_t tn_spaced_entry(uint32_t kind, tn_text text, unsigned char *out) {
    return kind == TN_TOKEN_BYTE ? tn_byte_piece(text, out) : tn_spaced_piece(text, out);
}

#endif
