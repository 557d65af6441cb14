/*
 * bpe_lanes.c - see bpe_lanes.h. The memory of a pair is asked for when the pair comes up, and looked at one round
 * later. What decides nothing but how long a loop runs is kept the same from round to round, since no branch of
 * words that take turns is foreseen: a symbol that merges with nothing stands at either end of each word, so that
 * every round has two new pairs, and the best pair is sought among eight at a time.
 */
#include "bpe_lanes.h"

#include "bpe_start.h"

enum { NO_SYMBOL = INT32_MAX, BLOCK = 8 };

static inline uint64_t key_of(uint32_t rank, uint32_t i) {
    return (uint64_t)rank << 32 | i;
}

/* Asks for the pair at `i` as number `look`, or for the line that has none and is near; 0: the pair does not merge. */
static inline uint32_t want(const tn_bpe *bpe, tn_bpe_lane *lane, uint32_t look, uint32_t i) {
    uint32_t left = lane->symbol[i], right = lane->symbol[lane->next[i]];
    uint64_t hash = tn_bpe_merge_hash(bpe, left, right), mask = bpe->merge_mask;
    uint32_t may = tn_bpe_may_merge(bpe, hash);
    uint64_t place = may ? hash & mask : mask + 1;
    lane->place[look] = place;
    lane->look[look] = i;
    __builtin_prefetch(&bpe->merges[place]);
    return may;
}

static void begin(const tn_bpe *bpe, tn_bpe_lane *lane, tn_bpe_word *word) {
    uint32_t n = tn_bpe_start(bpe, word->text, (uint32_t)word->size, lane->symbol + 1, lane->start + 1);
    uint32_t looks = 0;
    lane->word = word;
    lane->end = n + 1;
    lane->left = n;
    lane->symbol[0] = lane->symbol[n + 1] = NO_SYMBOL;
    for (uint32_t i = 0; i <= n; i++) {
        lane->next[i] = (uint8_t)(i + 1);
        lane->previous[i + 1] = (uint8_t)i;
    }
    lane->key[0] = UINT64_MAX;
    for (uint32_t i = 0; i < BLOCK; i++) { lane->key[n + i] = UINT64_MAX; }
    for (uint32_t i = 1; i < n; i++) {
        if (lane->start[i + 2] - lane->start[i] > 2) {
            lane->key[i] = UINT64_MAX;
            looks += want(bpe, lane, looks, i);
            continue;
        }
        const unsigned char *bytes = word->text + lane->start[i];
        const tn_bpe_byte_pair *pair = &bpe->byte_pairs[bytes[0] << 8 | bytes[1]];
        lane->key[i] = pair->rank == TN_RANK_NONE ? UINT64_MAX : key_of(pair->rank, i);
        lane->product[i] = pair->product;
    }
    lane->looks = looks;
}

static inline void take(const tn_bpe *bpe, tn_bpe_lane *lane) {
    const tn_bpe_merge_line *lines = bpe->merges;
    uint64_t mask = bpe->merge_mask;
    for (uint32_t k = 0; k < lane->looks; k++) {
        uint32_t i = lane->look[k];
        uint64_t key = tn_bpe_merge_key(lane->symbol[i], lane->symbol[lane->next[i]]);
        tn_bpe_found found = tn_bpe_merge_find(lines, mask, lane->place[k], key);
        lane->key[i] = key_of(found.pair->rank, i) | found.none;
        lane->product[i] = found.pair->product;
    }
}

static inline uint64_t lower(uint64_t a, uint64_t b) {
    return a < b ? a : b;
}

static inline uint64_t best_of(const tn_bpe_lane *lane) {
    uint64_t best = UINT64_MAX;
    for (const uint64_t *k = lane->key; k < lane->key + lane->end; k += BLOCK) {
        uint64_t a = lower(lower(k[0], k[1]), lower(k[2], k[3]));
        best = lower(best, lower(a, lower(lower(k[4], k[5]), lower(k[6], k[7]))));
    }
    return best;
}

/* One step; 0: the word is done. */
static inline int go_on(const tn_bpe *bpe, tn_bpe_lane *lane) {
    take(bpe, lane);
    uint64_t best = best_of(lane);
    if (best == UINT64_MAX) { return 0; }
    uint32_t i = (uint32_t)best, gone = lane->next[i], after = lane->next[gone];
    lane->symbol[i] = lane->product[i];
    lane->key[gone] = UINT64_MAX;
    lane->next[i] = (uint8_t)after;
    lane->previous[after] = (uint8_t)i;
    lane->left--;
    want(bpe, lane, 0, i);
    want(bpe, lane, 1, lane->previous[i]);
    lane->looks = 2;
    return 1;
}

static void finish(const tn_bpe *bpe, tn_bpe_lanes *lanes, const tn_bpe_lane *lane) {
    tn_bpe_word *word = lane->word;
    int32_t *ids = lane->left <= TN_CACHE_IDS ? word->few : lanes->ids + lanes->used;
    uint32_t count = 0;
    if (lane->left > TN_BPE_LANE_IDS - lanes->used) { return; }
    for (uint32_t i = 1; i != lane->end; i = lane->next[i]) {
        if (lane->symbol[i] >= bpe->vocabulary.facts.size) { return; }
        ids[count++] = (int32_t)lane->symbol[i];
    }
    word->ids = ids;
    word->count = count;
    if (count > TN_CACHE_IDS) {
        lanes->used += count;
    } else if (word->size <= TN_CACHE_WORD) {
        tn_cache_put(&bpe->cache, &word->key, ids, count);
    }
}

void tn_bpe_merge_side_by_side(const tn_bpe *bpe, tn_bpe_lanes *lanes, tn_bpe_word **words, uint32_t count) {
    tn_bpe_lane *active[TN_BPE_LANES];
    uint32_t actives = 0, next = 0;
    lanes->used = 0;
    while (next < count && actives < TN_BPE_LANES) {
        active[actives] = &lanes->lane[actives];
        begin(bpe, active[actives++], words[next++]);
    }
    while (actives) {
        for (uint32_t i = 0; i < actives;) {
            if (go_on(bpe, active[i])) {
                i++;
                continue;
            }
            finish(bpe, lanes, active[i]);
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
