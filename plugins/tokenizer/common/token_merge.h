/*
 * token_merge.h - merging the symbols of one word: again and again the adjacent pair of the lowest rank, the
 * leftmost on a tie, until no pair is left that merges. Inline, so that a family's look-up is compiled in.
 *
 * Short words scan an array; longer ones keep a heap of candidates, in n log n time for any length.
 */
#ifndef TENON_TOKEN_MERGE_H
#define TENON_TOKEN_MERGE_H

#include "tenon/abi.h"
#include "token_memory.h"

#include <string.h>

enum { TN_WORD_SHORT = 96 };

#define TN_RANK_NONE UINT32_MAX

/** A word: `count` symbols, the i-th being text[start[i]] up to text[start[i + 1]]. */
typedef struct tn_word {
    const unsigned char *text;
    uint32_t count, room;
    uint32_t *start, *symbol; /**< of room + 1 and room numbers, in `small` or `scratch` */
    uint32_t small[2 * TN_WORD_SHORT + 1];
    tn_scratch scratch;
} tn_word;

typedef struct tn_pair {
    uint32_t rank, product; /**< TN_RANK_NONE: does not merge */
} tn_pair;

/** What two adjacent symbols give: by their numbers, or by their common text. */
typedef tn_pair (*tn_pair_fn)(const void *family, uint32_t left, uint32_t right, const unsigned char *text,
                              uint32_t size);

/** Room for `symbols` symbols (less than 2^32 - 1); the caller fills text, start, symbol, count. */
static inline int32_t tn_word_reserve(tn_word *word, uint32_t symbols) {
    uint32_t *room = word->small;
    if (symbols > TN_WORD_SHORT) {
        /* start, symbol, and for merging: rank, product, previous, next, heap of 2 numbers of 64 bits */
        room = tn_scratch_get(&word->scratch, symbols + 1ull, 10 * sizeof(uint32_t));
        if (!room) { return TN_E_MEMORY; }
    }
    word->room = symbols;
    word->start = room;
    word->symbol = room + symbols + 1;
    return TN_OK;
}

/* A short word: symbols stay where they are, linked both ways; key[i] is the rank of the pair at i, above it, and
 * i, or UINT64_MAX. */
typedef struct tn_short_merge {
    uint64_t key[TN_WORD_SHORT];
    uint32_t product[TN_WORD_SHORT];
    uint8_t next[TN_WORD_SHORT], previous[TN_WORD_SHORT + 1];
} tn_short_merge;

static inline void tn_short_set(tn_short_merge *m, uint32_t i, tn_pair found) {
    m->key[i] = found.rank == TN_RANK_NONE ? UINT64_MAX : (uint64_t)found.rank << 32 | i;
    m->product[i] = found.product;
}

/* Looks the pair at `i` up. */
static inline __attribute__((always_inline)) void tn_short_look(tn_short_merge *m, const tn_word *word,
                                                                uint32_t i, uint32_t n, tn_pair_fn pair,
                                                                const void *family) {
    uint32_t right = m->next[i];
    if (right == n) { return; }
    tn_short_set(m, i,
                 pair(family, word->symbol[i], word->symbol[right], word->text + word->start[i],
                      word->start[m->next[right]] - word->start[i]));
}

static inline uint64_t tn_short_best(const tn_short_merge *m, uint32_t n) {
    uint64_t a = UINT64_MAX, b = UINT64_MAX;
    uint32_t i = 0;
    for (; i + 2 < n; i += 2) {
        a = m->key[i] < a ? m->key[i] : a;
        b = m->key[i + 1] < b ? m->key[i + 1] : b;
    }
    if (i + 1 < n && m->key[i] < a) { a = m->key[i]; }
    return a < b ? a : b;
}

/* Links `n` symbols. */
static inline void tn_short_begin(tn_short_merge *m, uint32_t n) {
    for (uint32_t i = 0; i < n; i++) {
        m->next[i] = (uint8_t)(i + 1);
        m->previous[i + 1] = (uint8_t)i;
    }
}

/* Makes the pair at `i` one symbol, whose new pairs are still to be looked up. */
static inline void tn_short_join(tn_short_merge *m, uint32_t i, uint32_t n) {
    uint32_t gone = m->next[i];
    if (gone + 1 < n) { m->key[gone] = UINT64_MAX; }
    m->next[i] = m->next[gone];
    m->previous[m->next[i]] = (uint8_t)i;
    if (m->next[i] == n) { m->key[i] = UINT64_MAX; }
}

static inline __attribute__((always_inline)) void tn_word_merge_short(tn_word *word, tn_pair_fn first,
                                                                      tn_pair_fn pair, const void *family) {
    tn_short_merge m;
    uint32_t n = word->count, kept = 0;
    tn_short_begin(&m, n);
    for (uint32_t i = 0; i + 1 < n; i++) { tn_short_look(&m, word, i, n, first, family); }
    for (uint64_t best; (best = tn_short_best(&m, n)) != UINT64_MAX;) {
        uint32_t i = (uint32_t)best;
        word->symbol[i] = m.product[i];
        tn_short_join(&m, i, n);
        tn_short_look(&m, word, i, n, pair, family);
        if (i) { tn_short_look(&m, word, m.previous[i], n, pair, family); }
    }
    for (uint32_t i = 0; i != n; i = m.next[i], kept++) {
        word->symbol[kept] = word->symbol[i];
        word->start[kept] = word->start[i];
    }
    word->start[kept] = word->start[n];
    word->count = kept;
}

/* The long way: symbols in a doubly linked list, candidates (rank, place) in a heap. A candidate whose rank
 * is no longer that of the pair at its place is stale. */
typedef struct tn_merge {
    tn_word *word;
    uint32_t *rank, *product, *previous, *next; /* next of the last is `count` of the start */
    uint64_t *heap;
    uint64_t heaped;
} tn_merge;

static inline void tn_merge_sift(uint64_t *heap, uint64_t count, uint64_t at) {
    uint64_t moved = heap[at];
    for (uint64_t child; (child = 2 * at + 1) < count; at = child) {
        if (child + 1 < count && heap[child + 1] < heap[child]) { child++; }
        if (moved <= heap[child]) { break; }
        heap[at] = heap[child];
    }
    heap[at] = moved;
}

static inline void tn_merge_push(tn_merge *m, uint64_t candidate) {
    uint64_t at = m->heaped++;
    for (; at > 0 && candidate < m->heap[(at - 1) / 2]; at = (at - 1) / 2) {
        m->heap[at] = m->heap[(at - 1) / 2];
    }
    m->heap[at] = candidate;
}

static inline uint64_t tn_merge_pop(tn_merge *m) {
    uint64_t top = m->heap[0];
    m->heap[0] = m->heap[--m->heaped];
    tn_merge_sift(m->heap, m->heaped, 0);
    return top;
}

/* Looks the pair at `i` up. */
static inline uint32_t tn_merge_look(tn_merge *m, uint32_t i, uint32_t end, tn_pair_fn pair,
                                     const void *family) {
    const tn_word *word = m->word;
    uint32_t right = m->next[i];
    tn_pair found = {TN_RANK_NONE, 0};
    if (right != end) {
        found = pair(family, word->symbol[i], word->symbol[right], word->text + word->start[i],
                     word->start[m->next[right]] - word->start[i]);
    }
    m->product[i] = found.product;
    return m->rank[i] = found.rank;
}

static inline void tn_word_merge_long(tn_word *word, tn_pair_fn first, tn_pair_fn pair, const void *family) {
    uint32_t n = word->count;
    uint64_t stride = word->room + 1ull;
    uint32_t *room = word->start;
    tn_merge m = {word,
                  room + 2 * stride,
                  room + 3 * stride,
                  room + 4 * stride,
                  room + 5 * stride,
                  (uint64_t *)(room + 6 * stride),
                  0};
    for (uint32_t i = 0; i <= n; i++) {
        m.previous[i] = i - 1;
        m.next[i] = i + 1;
    }
    for (uint32_t i = 0; i < n; i++) {
        uint64_t rank = tn_merge_look(&m, i, n, first, family);
        if (rank != TN_RANK_NONE) { m.heap[m.heaped++] = rank << 32 | i; }
    }
    for (uint64_t i = m.heaped / 2; i-- > 0;) { tn_merge_sift(m.heap, m.heaped, i); }
    while (m.heaped) {
        uint64_t top = tn_merge_pop(&m);
        uint32_t i = (uint32_t)top;
        if (m.rank[i] != top >> 32) { continue; }
        uint32_t gone = m.next[i];
        word->symbol[i] = m.product[i];
        m.rank[gone] = TN_RANK_NONE;
        m.next[i] = m.next[gone];
        if (m.next[i] != n) { m.previous[m.next[i]] = i; }
        uint64_t rank = tn_merge_look(&m, i, n, pair, family);
        if (rank != TN_RANK_NONE) { tn_merge_push(&m, rank << 32 | i); }
        if (i == 0) { continue; }
        uint32_t before = m.previous[i];
        rank = tn_merge_look(&m, before, n, pair, family);
        if (rank != TN_RANK_NONE) { tn_merge_push(&m, rank << 32 | before); }
    }
    uint32_t kept = 0;
    for (uint32_t i = 0; i != n; i = m.next[i], kept++) {
        word->symbol[kept] = word->symbol[i];
        word->start[kept] = word->start[i];
    }
    word->start[kept] = word->start[n];
    word->count = kept;
}

/** Merges in place. `first` is `pair` for symbols as the caller has filled them in. */
static inline __attribute__((always_inline)) void tn_word_merge(tn_word *word, tn_pair_fn first,
                                                                tn_pair_fn pair, const void *family) {
    if (word->count <= TN_WORD_SHORT) {
        tn_word_merge_short(word, first, pair, family);
    } else {
        tn_word_merge_long(word, first, pair, family);
    }
}

#endif
