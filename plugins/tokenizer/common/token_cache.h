/*
 * token_cache.h - what words became when they were merged: a table of fixed size from the bytes of a word to its
 * ids, shared by all threads without locks. A word that is not there is merged; no result depends on the table.
 *
 * A slot is one cache line of atomic numbers under a version, which is odd while somebody writes: a reader who
 * finds it changed has found nothing, a writer who finds it taken leaves it. Loads are acquire and stores release
 * because fences would hide from ThreadSanitizer what they order.
 */
#ifndef TENON_TOKEN_CACHE_H
#define TENON_TOKEN_CACHE_H

#include <stdatomic.h>
#include <string.h>

#include "token_ids.h"

/** Longest word in bytes, and most ids, that a slot takes. */
enum { TN_CACHE_WORD = 32, TN_CACHE_IDS = 6 };

typedef struct tn_cache_slot {
    _Alignas(
        64) _Atomic uint64_t head; /**< version << 32 | size << 8 | count; size 0: free or being written */
    _Atomic uint64_t word[TN_CACHE_WORD / 8]; /**< with zeros behind it */
    _Atomic uint64_t ids[TN_CACHE_IDS / 2];
} tn_cache_slot;

typedef struct tn_cache {
    const tn_host *host;
    tn_cache_slot *slots; /**< two for each value of the hash */
    uint64_t mask;        /**< slots - 1 */
    uint64_t seed;        /**< nobody can make a text whose words all collide */
} tn_cache;

/** What is looked for. */
typedef struct tn_cache_key {
    uint64_t word[TN_CACHE_WORD / 8];
    uint64_t slot;
    uint32_t size;
} tn_cache_key;

/** An empty table for a vocabulary of `size` entries: 64 KiB to 4 MiB. TN_OK or TN_E_MEMORY. */
int32_t tn_cache_create(tn_cache *cache, const tn_host *host, uint64_t size);
void tn_cache_free(tn_cache *cache);
/** Remembers a word of a key with its ids, at most TN_CACHE_IDS. */
void tn_cache_put(const tn_cache *cache, const tn_cache_key *key, const int32_t *ids, uint64_t count);

/** The key of a word of 1 to TN_CACHE_WORD bytes; up to `end` bytes can be read. */
static inline void tn_cache_key_make(tn_cache_key *key, const tn_cache *cache, const unsigned char *text,
                                     uint64_t size, const unsigned char *end) {
    static const unsigned char ones[2 * TN_CACHE_WORD] = {
        255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255,
        255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255};
    uint64_t mask[TN_CACHE_WORD / 8];
    if (end - text >= TN_CACHE_WORD) {
        memcpy(key->word, text, TN_CACHE_WORD);
        memcpy(mask, ones + TN_CACHE_WORD - size, TN_CACHE_WORD);
        for (int i = 0; i < TN_CACHE_WORD / 8; i++) { key->word[i] &= mask[i]; }
    } else {
        memset(key->word, 0, TN_CACHE_WORD);
        memcpy(key->word, text, size);
    }
    unsigned __int128 mixed =
        (unsigned __int128)(key->word[0] ^ cache->seed) * (key->word[1] ^ size ^ 0x9e3779b97f4a7c15u);
    uint64_t hash = (uint64_t)mixed ^ (uint64_t)(mixed >> 64);
    if (size > 16) {
        mixed = (unsigned __int128)(key->word[2] ^ hash) * (key->word[3] ^ 0xa0761d6478bd642fu);
        hash = (uint64_t)mixed ^ (uint64_t)(mixed >> 64);
    }
    mixed = (unsigned __int128)hash * 0xe7037ed1a0b428dbu;
    key->slot = ((uint64_t)mixed ^ (uint64_t)(mixed >> 64)) & cache->mask;
    key->size = (uint32_t)size;
}

/** Has the memory of a key's slots come near. */
static inline void tn_cache_prefetch(const tn_cache *cache, const tn_cache_key *key) {
    __builtin_prefetch(&cache->slots[key->slot]);
    __builtin_prefetch(&cache->slots[key->slot ^ 1]);
}

/* The ids of one slot and how many; UINT32_MAX if it is another word's. */
static inline uint32_t tn_cache_read(const tn_cache_slot *slot, const tn_cache_key *key, int32_t *ids) {
    uint64_t head = atomic_load_explicit(&slot->head, memory_order_acquire), differ = 0;
    if ((head >> 8 & 0xff) != key->size) { return UINT32_MAX; }
    for (uint32_t i = 0; i < TN_CACHE_WORD / 8; i++) {
        differ |= atomic_load_explicit(&slot->word[i], memory_order_acquire) ^ key->word[i];
    }
    if (differ) { return UINT32_MAX; }
    for (uint32_t i = 0; i < TN_CACHE_IDS / 2; i++) {
        uint64_t pair = atomic_load_explicit(&slot->ids[i], memory_order_acquire);
        memcpy(ids + 2 * i, &pair, sizeof pair);
    }
    return atomic_load_explicit(&slot->head, memory_order_relaxed) == head ? head & 0xff : UINT32_MAX;
}

/** The ids of a key's word, in room for TN_CACHE_IDS, and how many; UINT32_MAX if it is not there. */
static inline uint32_t tn_cache_find(const tn_cache *cache, const tn_cache_key *key, int32_t *ids) {
    uint32_t count = tn_cache_read(&cache->slots[key->slot], key, ids);
    return count != UINT32_MAX ? count : tn_cache_read(&cache->slots[key->slot ^ 1], key, ids);
}

#endif
