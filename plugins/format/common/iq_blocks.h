/*
 * iq_blocks.h - pieces of the blocks of the IQ2 and IQ3 types in portable C: 256 columns, magnitudes from a
 * codebook, signs apart from them, and a binary16 scale times an odd number for each 16 or 32 columns.
 */
#ifndef TENON_IQ_BLOCKS_H
#define TENON_IQ_BLOCKS_H

#include "blocks.h"
#include "iq_codebooks.h"

static inline uint32_t tn_load_u32(const void *at) {
    uint32_t value;
    memcpy(&value, at, sizeof value);
    return value;
}

static inline uint64_t tn_load_u64(const void *at) {
    uint64_t value;
    memcpy(&value, at, sizeof value);
    return value;
}

/** Eight codes of their magnitudes (1 to 127), one a byte, and their sign bits, in one go. */
static inline void tn_iq_codes(uint64_t magnitudes, uint8_t signs, int8_t *codes) {
    uint64_t bits = signs * UINT64_C(0x0101010101010101) & UINT64_C(0x8040201008040201); /* bit j in byte j */
    uint64_t negative = (bits + UINT64_C(0x7f7f7f7f7f7f7f7f)) >> 7 & UINT64_C(0x0101010101010101);
    uint64_t bytes = (magnitudes ^ negative * 255) + negative; /* -m = ~m + 1, and no byte overflows */
    memcpy(codes, &bytes, sizeof bytes);
}

/** The index of an entry of a block. */
typedef uint32_t tn_iq_index(const uint8_t *block, uint32_t entry);

/** Two entries of IQ3 as one of eight columns. */
static inline uint64_t tn_iq3_pair(uint32_t first, uint32_t second) {
    return first | (uint64_t)second << 32;
}

/** Nibble i (the low one of byte i / 2 first) of `nibbles`. */
static inline uint32_t tn_nibble(const uint8_t *nibbles, uint32_t i) {
    return nibbles[i / 2] >> 4 * (i % 2) & 15;
}

#endif
