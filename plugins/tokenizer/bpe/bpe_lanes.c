/*
 * bpe_lanes.c - see bpe_lanes.h. A pair is looked for in two steps, each in memory that was asked for one round
 * before: its bit in the filter, then its slot.
 */
#include "bpe_lanes.h"

#include "bpe_start.h"

static inline void want(const tn_bpe *bpe, tn_bpe_lane *lane, uint32_t i) {
    uint64_t hash = tn_bpe_merge_hash(bpe, lane->symbol[i], lane->symbol[lane->next[i]]);
    lane->key[i] = UINT64_MAX;
    lane->hash[lane->looks] = hash;
    lane->look[lane->looks++] = i;
    __builtin_prefetch(&bpe->merge_filter[tn_bpe_filter_bit(bpe, hash) / 64]);
}

static void begin(const tn_bpe *bpe, tn_bpe_lane *lane, tn_bpe_word *word) {
    lane->word = word;
    lane->looks = lane->filtered = 0;
    lane->count = tn_bpe_start(bpe, word->text, (uint32_t)word->size, lane->symbol, lane->start);
    for (uint32_t i = 0; i < lane->count; i++) {
        lane->next[i] = (uint8_t)(i + 1);
        lane->previous[i + 1] = (uint8_t)i;
    }
    for (uint32_t i = 0; i + 1 < lane->count; i++) {
        if (lane->start[i + 2] - lane->start[i] > 2) {
            want(bpe, lane, i);
            continue;
        }
        const unsigned char *bytes = word->text + lane->start[i];
        tn_pair pair = bpe->byte_pairs[bytes[0] << 8 | bytes[1]];
        lane->key[i] = pair.rank == TN_RANK_NONE ? UINT64_MAX : (uint64_t)pair.rank << 32 | i;
        lane->product[i] = pair.product;
    }
    lane->key[lane->count - 1] = UINT64_MAX;
}

/* Keeps the pairs that the filter knows; how many. */
static inline uint32_t filter(const tn_bpe *bpe, tn_bpe_lane *lane) {
    uint32_t kept = 0;
    for (uint32_t k = 0; k < lane->looks; k++) {
        uint64_t bit = tn_bpe_filter_bit(bpe, lane->hash[k]);
        lane->hash[kept] = lane->hash[k];
        lane->look[kept] = lane->look[k];
        __builtin_prefetch(&bpe->merges[lane->hash[k] & bpe->merge_mask]);
        kept += bpe->merge_filter[bit / 64] >> bit % 64 & 1;
    }
    lane->filtered = 1;
    return lane->looks = kept;
}

static inline void take(const tn_bpe *bpe, tn_bpe_lane *lane) {
    for (uint32_t k = 0; k < lane->looks; k++) {
        uint32_t i = lane->look[k];
        const tn_merge_slot *slot = tn_bpe_merge_slot(bpe, lane->symbol[i], lane->symbol[lane->next[i]]);
        if (!slot->left_1) { continue; }
        lane->key[i] = (uint64_t)slot->rank << 32 | i;
        lane->product[i] = slot->product;
    }
    lane->looks = 0;
}

static inline uint64_t best_of(const tn_bpe_lane *lane) {
    uint64_t best = UINT64_MAX;
    for (uint32_t i = 0; i < lane->count; i++) { best = lane->key[i] < best ? lane->key[i] : best; }
    return best;
}

/* One step; 0: the word is done. */
static inline int go_on(const tn_bpe *bpe, tn_bpe_lane *lane) {
    if (lane->looks && !lane->filtered && filter(bpe, lane)) { return 1; }
    take(bpe, lane);
    uint64_t best = best_of(lane);
    if (best == UINT64_MAX) { return 0; }
    uint32_t i = (uint32_t)best, gone = lane->next[i];
    lane->symbol[i] = lane->product[i];
    lane->key[i] = lane->key[gone] = UINT64_MAX;
    lane->next[i] = lane->next[gone];
    lane->previous[lane->next[i]] = (uint8_t)i;
    if (lane->next[i] != lane->count) { want(bpe, lane, i); }
    if (i) { want(bpe, lane, lane->previous[i]); }
    lane->filtered = 0;
    return 1;
}

static void finish(const tn_bpe *bpe, const tn_bpe_lane *lane) {
    tn_bpe_word *word = lane->word;
    uint32_t count = 0;
    for (uint32_t i = 0; i != lane->count; i = lane->next[i]) {
        if (count == TN_CACHE_IDS || lane->symbol[i] >= bpe->vocabulary.facts.size) { return; }
        word->ids[count++] = (int32_t)lane->symbol[i];
    }
    word->count = count;
    tn_cache_put(&bpe->cache, &word->key, word->ids, count);
}

void tn_bpe_merge_side_by_side(const tn_bpe *bpe, tn_bpe_lane lanes[TN_BPE_LANES], tn_bpe_word **words,
                               uint32_t count) {
    tn_bpe_lane *active[TN_BPE_LANES];
    uint32_t actives = 0, next = 0;
    while (next < count && actives < TN_BPE_LANES) {
        active[actives] = &lanes[actives];
        begin(bpe, active[actives++], words[next++]);
    }
    while (actives) {
        for (uint32_t i = 0; i < actives;) {
            if (go_on(bpe, active[i])) {
                i++;
                continue;
            }
            finish(bpe, active[i]);
            if (next < count) {
                begin(bpe, active[i], words[next++]);
            } else {
                tn_bpe_lane *idle = active[i];
                active[i] = active[--actives];
                active[actives] = idle;
            }
        }
    }
}
