/*
 * bpe_lanes.h - merging short words side by side: where one waits for the memory of a pair, the next goes on.
 */
#ifndef TENON_BPE_LANES_H
#define TENON_BPE_LANES_H

#include "bpe.h"

enum { TN_BPE_LANES = 12 };

/** A word and, once it is known what it becomes, its ids. */
typedef struct tn_bpe_word {
    const unsigned char *text;
    uint64_t size;
    tn_cache_key key; /**< of at most TN_CACHE_WORD bytes */
    int32_t ids[TN_CACHE_IDS];
    uint32_t count; /**< of ids; UINT32_MAX: not known yet */
} tn_bpe_word;

/** A word that is being merged; as tn_short_merge, for TN_CACHE_WORD bytes. */
typedef struct tn_bpe_lane {
    tn_bpe_word *word;
    uint64_t key[TN_CACHE_WORD], hash[TN_CACHE_WORD]; /* hash: of the pairs at `look`, on their way */
    uint32_t product[TN_CACHE_WORD], symbol[TN_CACHE_WORD], start[TN_CACHE_WORD + 1];
    uint32_t look[TN_CACHE_WORD], looks, filtered, count;
    uint8_t next[TN_CACHE_WORD], previous[TN_CACHE_WORD + 1];
} tn_bpe_lane;

/** Merges words of at most TN_CACHE_WORD bytes that are in UTF-8 as the byte alphabet has it (not TN_RULES_RAW):
 * fills ids and count of those that become at most TN_CACHE_IDS, and remembers them. */
void tn_bpe_merge_side_by_side(const tn_bpe *bpe, tn_bpe_lane lanes[TN_BPE_LANES], tn_bpe_word **words,
                               uint32_t count);

#endif
