/*
 * bpe_start.h - the symbols that the merging of a word begins with, and pairs of symbols.
 */
#ifndef TENON_BPE_START_H
#define TENON_BPE_START_H

#include "bpe.h"

/**
 * True if the bytes at `i` and `i + 1` merge whatever else does: nothing that could take the first along with what
 * is before it, or the second with what is behind, comes sooner. It may be done at once: all that comes sooner has
 * nothing to do with either of them, nor with what they give.
 */
static inline int tn_bpe_is_sure(const tn_bpe *bpe, const unsigned char *text, uint32_t size, uint32_t i) {
    uint32_t rank = bpe->sure[text[i] << 8 | text[i + 1]];
    return rank != TN_RANK_NONE && (i == 0 || rank < bpe->before[text[i - 1] << 8 | text[i]]) &&
           (i + 2 == size || rank < bpe->behind[text[i + 1] << 8 | text[i + 2]]);
}

/** Symbols of a word's bytes, those that merge for sure being merged, and where they begin, the end behind the last.
 * Returns how many. */
static inline uint32_t tn_bpe_start(const tn_bpe *bpe, const unsigned char *text, uint32_t size,
                                    uint32_t *symbol, uint32_t *start) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < size; count++) {
        int both = i + 1 < size && tn_bpe_is_sure(bpe, text, size, i);
        start[count] = i;
        symbol[count] =
            both ? bpe->byte_pairs[text[i] << 8 | text[i + 1]].product : bpe->byte_symbols[text[i]];
        i += both ? 2 : 1;
    }
    start[count] = size;
    return count;
}

static inline tn_pair tn_bpe_pair(const void *family, uint32_t left, uint32_t right,
                                  const unsigned char *text, uint32_t size) {
    const tn_bpe *bpe = family;
    (void)text, (void)size;
    uint64_t hash = tn_bpe_merge_hash(bpe, left, right), bit = tn_bpe_filter_bit(bpe, hash);
    if (!(bpe->merge_filter[bit / 64] >> bit % 64 & 1)) { return (tn_pair){TN_RANK_NONE, 0}; }
    const tn_merge_slot *slot = tn_bpe_merge_slot(bpe, left, right);
    return slot->left_1 ? (tn_pair){slot->rank, slot->product} : (tn_pair){TN_RANK_NONE, 0};
}

/** The same at the start, where two bytes are two symbols. */
static inline tn_pair tn_bpe_first_pair(const void *family, uint32_t left, uint32_t right,
                                        const unsigned char *text, uint32_t size) {
    if (size != 2) { return tn_bpe_pair(family, left, right, text, size); }
    return ((const tn_bpe *)family)->byte_pairs[text[0] << 8 | text[1]];
}

#endif
