/*
 * bpe_start.h - the symbols that the merging of a word begins with, and pairs of symbols.
 */
#ifndef TENON_BPE_START_H
#define TENON_BPE_START_H

#include "bpe.h"

/**
 * 1 if the bytes at `i` and `i + 1` merge whatever else does: nothing that could take the first along with what is
 * before it, or the second with what is behind, comes sooner. It may be done at once: all that comes sooner has
 * nothing to do with either of them, nor with what they give.
 */
static inline uint32_t tn_bpe_is_sure(const tn_bpe *bpe, const unsigned char *text, uint32_t size,
                                      uint32_t i) {
    const tn_bpe_byte_pair *pairs = bpe->byte_pairs, *pair = &pairs[text[i] << 8 | text[i + 1]];
    uint32_t before = i ? pairs[text[i - 1] << 8 | text[i]].before : TN_RANK_NONE;
    uint32_t behind = i + 2 < size ? pairs[text[i + 1] << 8 | text[i + 2]].behind : TN_RANK_NONE;
    return pair->sure & (uint32_t)(pair->rank < before) & (uint32_t)(pair->rank < behind);
}

/**
 * What is known of the character of three bytes at `i`, the first two of which merge for sure, if the third merges with
 * them whatever else does: nothing takes those two along with what is before them, or the third with what is behind,
 * sooner. NULL: that is not so. Words are well-formed.
 */
static inline const tn_bpe_character *tn_bpe_sure_character(const tn_bpe *bpe, const unsigned char *text,
                                                            uint32_t size, uint32_t i) {
    const tn_bpe_character *character = &bpe->characters[tn_bpe_character_number(text + i)];
    uint32_t behind = i + 3 < size ? bpe->byte_pairs[text[i + 2] << 8 | text[i + 3]].behind : TN_RANK_NONE;
    uint32_t apart = i ? character->apart & tn_bpe_apart(text[i - 1]) : 1;
    return character->sure && apart && character->rank < behind ? character : NULL;
}

/** Symbols of a word's bytes, those that merge for sure being merged, and where they begin, the end behind the last.
 * Returns how many. */
static inline uint32_t tn_bpe_start(const tn_bpe *bpe, const unsigned char *text, uint32_t size,
                                    uint32_t *symbol, uint32_t *start) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < size; count++) {
        uint32_t one = bpe->byte_symbols[text[i]], both = 0, product = one;
        if (i + 1 < size) {
            both = tn_bpe_is_sure(bpe, text, size, i);
            product = bpe->byte_pairs[text[i] << 8 | text[i + 1]].product;
        }
        start[count] = i;
        symbol[count] = both ? product : one;
        if (text[i] >= 0xe0 && text[i] < 0xf0 && both && i + 2 < size) {
            const tn_bpe_character *character = tn_bpe_sure_character(bpe, text, size, i);
            if (character) {
                symbol[count] = character->product;
                i++;
            }
        }
        i += 1 + both;
    }
    start[count] = size;
    return count;
}

static inline tn_pair tn_bpe_pair(const void *family, uint32_t left, uint32_t right,
                                  const unsigned char *text, uint32_t size) {
    const tn_bpe *bpe = family;
    (void)text, (void)size;
    uint64_t hash = tn_bpe_merge_hash(bpe, left, right);
    if (!tn_bpe_may_merge(bpe, hash)) { return (tn_pair){TN_RANK_NONE, 0}; }
    uint64_t mask = bpe->merge_mask, key = tn_bpe_merge_key(left, right);
    tn_bpe_found found = tn_bpe_merge_find(bpe->merges, mask, hash & mask, key);
    return found.none ? (tn_pair){TN_RANK_NONE, 0} : *found.pair;
}

/** The same at the start, where two bytes are two symbols. */
static inline tn_pair tn_bpe_first_pair(const void *family, uint32_t left, uint32_t right,
                                        const unsigned char *text, uint32_t size) {
    if (size != 2) { return tn_bpe_pair(family, left, right, text, size); }
    const tn_bpe_byte_pair *pair = &((const tn_bpe *)family)->byte_pairs[text[0] << 8 | text[1]];
    return (tn_pair){pair->rank, pair->product};
}

#endif
