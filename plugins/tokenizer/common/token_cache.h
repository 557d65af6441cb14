/*
 * token_cache.h - what words became when they were merged: a table of fixed size from the bytes of a word to its
 * ids, shared by all threads without locks. A word that is not there is merged; no result depends on the table.
 *
 * A line is a cache line of atomic numbers under a version, which is odd while somebody writes: a reader who finds it
 * changed has found nothing, a writer who finds it taken leaves it. Loads are acquire and stores release because
 * fences would hide from ThreadSanitizer what they order. Most words are short, and two of them share a line: one
 * line is all that a look-up touches.
 */
#ifndef TENON_TOKEN_CACHE_H
#define TENON_TOKEN_CACHE_H

#include <stdatomic.h>
#include <string.h>

#include "token_hash.h"
#include "token_ids.h"

/** Longest word in bytes, and most ids, that a line takes; and those of a word that takes half of it. */
enum { TN_CACHE_WORD = 32, TN_CACHE_IDS = 6, TN_CACHE_HALF_WORD = 16, TN_CACHE_HALF_IDS = 3 };

typedef struct tn_cache_line {
    /** version << 32, size and count of the word in the second half << 24 and << 16, of the first (or only) one
     * << 8 and << 0; size 0: free or being written */
    _Alignas(64) _Atomic uint64_t head;
    _Atomic uint64_t word[TN_CACHE_WORD / 8];
    _Atomic uint64_t ids[TN_CACHE_IDS / 2];
} tn_cache_line;

typedef struct tn_cache {
    const tn_host *host;
    tn_cache_line *lines; /**< one for each value of the hash */
    uint64_t mask;        /**< lines - 1 */
    uint64_t seed;        /**< nobody can make a text whose words all collide */
} tn_cache;

/** What is looked for. */
typedef struct tn_cache_key {
    uint64_t word[TN_CACHE_WORD /
                  8]; /**< its first 16 bytes, with zeros behind it; if it is longer, its last 16 */
    uint64_t hash, size;
} tn_cache_key;

/** An empty table for a vocabulary of `size` entries: 64 KiB to 8 MiB. TN_OK or TN_E_MEMORY. */
int32_t tn_cache_create(tn_cache *cache, const tn_host *host, uint64_t size);
void tn_cache_free(tn_cache *cache);
/** Remembers a word of a key with its ids, at most TN_CACHE_IDS. */
void tn_cache_put(const tn_cache *cache, const tn_cache_key *key, const int32_t *ids, uint64_t count);

/** The key of a word of 1 to TN_CACHE_WORD bytes; up to `end` bytes can be read. */
static inline void tn_cache_key_make(tn_cache_key *key, const tn_cache *cache, const unsigned char *text,
                                     uint64_t size, const unsigned char *end) {
    static const unsigned char ones[32] = {255, 255, 255, 255, 255, 255, 255, 255,
                                           255, 255, 255, 255, 255, 255, 255, 255};
    uint64_t first, second, seed = cache->seed;
    if (end - text >= 16) {
        const unsigned char *mask = ones + 16 - (size < 16 ? size : 16);
        first = tn_hash_load(text) & tn_hash_load(mask);
        second = tn_hash_load(text + 8) & tn_hash_load(mask + 8);
    } else {
        unsigned char copy[16] = {0};
        memcpy(copy, text, size);
        first = tn_hash_load(copy);
        second = tn_hash_load(copy + 8);
    }
    key->word[0] = first;
    key->word[1] = second;
    key->size = size;
    key->hash = tn_hash_fold(first ^ seed, second ^ (seed << 32 | seed >> 32) ^ size);
    if (size > TN_CACHE_HALF_WORD) {
        key->word[2] = tn_hash_load(text + size - 16);
        key->word[3] = tn_hash_load(text + size - 8);
        key->hash = tn_hash_fold(key->word[2] ^ key->hash, key->word[3] ^ seed);
    }
}

static inline tn_cache_line *tn_cache_line_of(const tn_cache *cache, const tn_cache_key *key) {
    return &cache->lines[key->hash & cache->mask];
}

/** Has the memory of a key's line come near. */
static inline void tn_cache_prefetch(const tn_cache *cache, const tn_cache_key *key) {
    __builtin_prefetch(tn_cache_line_of(cache, key));
}

/* Not 0 if the words at `at` are not a key's. */
static inline uint64_t tn_cache_differs(const tn_cache_line *line, uint32_t at, const uint64_t *word) {
    return (atomic_load_explicit(&line->word[at], memory_order_acquire) ^ word[0]) |
           (atomic_load_explicit(&line->word[at + 1], memory_order_acquire) ^ word[1]);
}

/** The ids of a key's word, in room for TN_CACHE_IDS, and how many; UINT32_MAX if it is not there. */
static inline uint32_t tn_cache_find(const tn_cache *cache, const tn_cache_key *key, int32_t *ids) {
    const tn_cache_line *line = tn_cache_line_of(cache, key);
    uint64_t head = atomic_load_explicit(&line->head, memory_order_acquire);
    uint64_t differs = tn_cache_differs(line, 0, key->word) | ((head >> 8 & 0xff) ^ key->size);
    uint32_t shift = 0;
    if (key->size > TN_CACHE_HALF_WORD) {
        differs |= tn_cache_differs(line, 2, key->word + 2);
    } else if (differs) {
        differs = tn_cache_differs(line, 2, key->word) | ((head >> 24 & 0xff) ^ key->size);
        shift = 16;
    }
    if (differs) { return UINT32_MAX; }
    uint64_t a = atomic_load_explicit(&line->ids[0], memory_order_acquire);
    uint64_t b = atomic_load_explicit(&line->ids[1], memory_order_acquire);
    uint64_t c = atomic_load_explicit(&line->ids[2], memory_order_acquire);
    if (shift) {
        a = b >> 32 | c << 32;
        b = c >> 32;
    }
    memcpy(ids, &a, sizeof a);
    memcpy(ids + 2, &b, sizeof b);
    memcpy(ids + 4, &c, sizeof c);
    return atomic_load_explicit(&line->head, memory_order_relaxed) == head ? head >> shift & 0xff
                                                                           : UINT32_MAX;
}

#endif
