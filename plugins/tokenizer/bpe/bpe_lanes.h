/*
 * bpe_lanes.h - merging short words side by side: where one waits for the memory of a pair, the next goes on.
 */
#ifndef TENON_BPE_LANES_H
#define TENON_BPE_LANES_H

#include "bpe.h"

enum { TN_BPE_LANES = 8, TN_BPE_LANE_WORD = 96, TN_BPE_LANE_IDS = 1024 };

/** Ids are copied some at a time: so many more may be read behind them. */
enum { TN_BPE_SPARE = 3 };

/** A word that the cache does not have and, once it is known what it becomes, its ids. */
typedef struct tn_bpe_word {
    const unsigned char *text;
    uint64_t size;
    tn_cache_key key; /**< of at most TN_CACHE_WORD bytes */
    uint32_t before;  /**< ids of known words that come before its own */
    uint32_t same;    /**< number of the first such word that is the same */
    uint32_t count;   /**< of ids; UINT32_MAX: not known yet */
    int32_t few[TN_CACHE_IDS + TN_BPE_SPARE];
    const int32_t *ids; /**< `few`, or somewhere else */
} tn_bpe_word;

/** A word that is being merged, much as tn_short_merge; its symbols are number 1 and on. */
typedef struct tn_bpe_lane {
    tn_bpe_word *word;
    uint32_t end, left, looks; /**< behind the last symbol; how many symbols are left; pairs asked for */
    uint64_t key[TN_BPE_LANE_WORD + 10], place[TN_BPE_LANE_WORD];
    uint32_t look[TN_BPE_LANE_WORD], product[TN_BPE_LANE_WORD + 2];
    uint32_t symbol[TN_BPE_LANE_WORD + 2], start[TN_BPE_LANE_WORD + 2];
    uint8_t next[TN_BPE_LANE_WORD + 2], previous[TN_BPE_LANE_WORD + 2];
} tn_bpe_lane;

/** Lanes, and room for the ids of words that become more than TN_CACHE_IDS. */
typedef struct tn_bpe_lanes {
    tn_bpe_lane lane[TN_BPE_LANES];
    int32_t ids[TN_BPE_LANE_IDS + TN_BPE_SPARE];
    uint32_t used; /**< of ids */
} tn_bpe_lanes;

/** Merges words of at most TN_BPE_LANE_WORD bytes that are in UTF-8 as the byte alphabet has it (not TN_RULES_RAW):
 * fills ids and count of those that are entries and for which there is room, until the next call, and remembers
 * those that the cache takes. */
void tn_bpe_merge_side_by_side(const tn_bpe *bpe, tn_bpe_lanes *lanes, tn_bpe_word **words, uint32_t count);

#endif
