/*
 * unicode_nfd.h - canonical decomposition and lower case of single characters.
 */
#ifndef TENON_UNICODE_NFD_H
#define TENON_UNICODE_NFD_H

#include "unicode_tables.h"

/** Characters of the longest full decomposition. */
enum { TN_NFD_MAX = 4 };

/** Canonical combining class. */
static inline uint32_t tn_unicode_order(uint32_t c) {
    uint32_t block = tn_nfc_blocks[c / TN_UNICODE_BLOCK];
    return tn_nfc_records[tn_nfc_numbers[block * TN_UNICODE_BLOCK + c % TN_UNICODE_BLOCK]].order;
}

/** Writes a character's full canonical decomposition, itself if it has none; returns how many there are. */
static inline uint32_t tn_unicode_decompose(uint32_t c, uint32_t out[TN_NFD_MAX]) {
    if (c - 0xac00 < 11172) { /* Hangul syllables are arithmetic: Unicode Standard, 3.12 */
        uint32_t s = c - 0xac00, tail = s % 28;
        out[0] = 0x1100 + s / (21 * 28);
        out[1] = 0x1161 + s / 28 % 21;
        out[2] = 0x11a7 + tail;
        return tail ? 3 : 2;
    }
    uint32_t block = tn_nfc_blocks[c / TN_UNICODE_BLOCK];
    const tn_nfc_record *r = &tn_nfc_records[tn_nfc_numbers[block * TN_UNICODE_BLOCK + c % TN_UNICODE_BLOCK]];
    if (!r->parts) { return out[0] = c, 1; }
    for (uint32_t i = 0; i < r->parts; i++) { out[i] = tn_nfc_parts[r->at + i]; }
    return r->parts;
}

/** Lower case as far as it is one character; the other, U+0130, is for the caller to know. */
static inline uint32_t tn_unicode_lower(uint32_t c) {
    uint32_t low = 0, high = tn_lower_pair_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (tn_lower_pairs[middle].upper < c) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < tn_lower_pair_count && tn_lower_pairs[low].upper == c ? tn_lower_pairs[low].lower : c;
}

#endif
