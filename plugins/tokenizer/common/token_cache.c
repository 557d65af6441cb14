/*
 * token_cache.c - see token_cache.h.
 */
#include "token_cache.h"

#include "token_memory.h"

enum { SLOTS_LEAST = 1024, SLOTS_MOST = 65536 };

int32_t tn_cache_create(tn_cache *cache, const tn_host *host, uint64_t size) {
    uint64_t slots = SLOTS_LEAST;
    while (slots < SLOTS_MOST && slots < size) { slots *= 2; }
    *cache = (tn_cache){.host = host, .mask = slots - 1};
    cache->slots = tn_memory_get(host, slots * sizeof *cache->slots);
    if (!cache->slots) { return TN_E_MEMORY; }
    cache->seed = (uint64_t)(uintptr_t)cache->slots * 0x8ebc6af09c88c6e3u;
    return TN_OK;
}

void tn_cache_free(tn_cache *cache) {
    if (cache->slots) { cache->host->free(cache->host, cache->slots); }
    *cache = (tn_cache){0};
}

/* A free slot of the two; else one of them, another for each word. */
static tn_cache_slot *slot_for(const tn_cache *cache, const tn_cache_key *key) {
    tn_cache_slot *first = &cache->slots[key->slot], *second = &cache->slots[key->slot ^ 1];
    int taken = (atomic_load_explicit(&first->head, memory_order_relaxed) & 0xffff) != 0;
    return taken && !(atomic_load_explicit(&second->head, memory_order_relaxed) & 0xffff) ? second : first;
}

void tn_cache_put(const tn_cache *cache, const tn_cache_key *key, const int32_t *ids, uint64_t count) {
    int32_t all[TN_CACHE_IDS] = {0};
    uint64_t pairs[TN_CACHE_IDS / 2];
    memcpy(all, ids, count * sizeof *ids);
    memcpy(pairs, all, sizeof pairs);
    tn_cache_slot *slot = slot_for(cache, key);
    uint64_t head = atomic_load_explicit(&slot->head, memory_order_relaxed), version = head >> 32;
    if (version & 1 || !atomic_compare_exchange_strong_explicit(&slot->head, &head, (version + 1) << 32,
                                                                memory_order_acquire, memory_order_relaxed)) {
        return;
    }
    for (uint32_t i = 0; i < TN_CACHE_WORD / 8; i++) {
        atomic_store_explicit(&slot->word[i], key->word[i], memory_order_release);
    }
    for (uint32_t i = 0; i < TN_CACHE_IDS / 2; i++) {
        atomic_store_explicit(&slot->ids[i], pairs[i], memory_order_release);
    }
    atomic_store_explicit(&slot->head, (version + 2) << 32 | (uint64_t)key->size << 8 | count,
                          memory_order_release);
}
