/*
 * token_cache.c - see token_cache.h.
 */
#include "token_cache.h"

#include "token_memory.h"

enum { LINES_LEAST = 1024, LINES_MOST = 131072 };

int32_t tn_cache_create(tn_cache *cache, const tn_host *host, uint64_t size) {
    uint64_t lines = LINES_LEAST;
    while (lines < LINES_MOST && lines < size) { lines *= 2; }
    *cache = (tn_cache){.host = host, .mask = lines - 1};
    cache->lines = tn_memory_get(host, lines * sizeof *cache->lines);
    if (!cache->lines) { return TN_E_MEMORY; }
    cache->seed = (uint64_t)(uintptr_t)cache->lines * 0x8ebc6af09c88c6e3u;
    return TN_OK;
}

void tn_cache_free(tn_cache *cache) {
    if (cache->lines) { cache->host->free(cache->host, cache->lines); }
    *cache = (tn_cache){0};
}

/* The half for a word that takes one: a free one, the first of a line that one word fills, else either. */
static uint32_t half_for(uint64_t head, const tn_cache_key *key) {
    uint64_t first = head >> 8 & 0xff, second = head >> 24 & 0xff;
    if (!first || first > TN_CACHE_HALF_WORD || (head & 0xff) > TN_CACHE_HALF_IDS) { return 0; }
    return second ? key->hash >> 63 : 1;
}

void tn_cache_put(const tn_cache *cache, const tn_cache_key *key, const int32_t *ids, uint64_t count) {
    tn_cache_line *line = tn_cache_line_of(cache, key);
    uint64_t head = atomic_load_explicit(&line->head, memory_order_relaxed), version = head >> 32;
    uint64_t word[TN_CACHE_WORD / 8], pairs[TN_CACHE_IDS / 2], entry = key->size << 8 | count;
    int whole = key->size > TN_CACHE_HALF_WORD || count > TN_CACHE_HALF_IDS;
    uint32_t half = whole ? 0 : half_for(head, key);
    if (version & 1 || !atomic_compare_exchange_strong_explicit(&line->head, &head, (version + 1) << 32,
                                                                memory_order_acquire, memory_order_relaxed)) {
        return;
    }
    for (uint32_t i = 0; i < TN_CACHE_WORD / 8; i++) {
        word[i] = atomic_load_explicit(&line->word[i], memory_order_relaxed);
    }
    for (uint32_t i = 0; i < TN_CACHE_IDS / 2; i++) {
        pairs[i] = atomic_load_explicit(&line->ids[i], memory_order_relaxed);
    }
    memcpy(word + 2 * half, key->word, key->size > TN_CACHE_HALF_WORD ? TN_CACHE_WORD : TN_CACHE_HALF_WORD);
    unsigned char *out = (unsigned char *)pairs + half * TN_CACHE_HALF_IDS * sizeof *ids;
    for (uint32_t i = 0; i < count; i++) { memcpy(out + i * sizeof *ids, ids + i, sizeof *ids); }
    for (uint32_t i = 0; i < TN_CACHE_WORD / 8; i++) {
        atomic_store_explicit(&line->word[i], word[i], memory_order_release);
    }
    for (uint32_t i = 0; i < TN_CACHE_IDS / 2; i++) {
        atomic_store_explicit(&line->ids[i], pairs[i], memory_order_release);
    }
    uint64_t other = whole ? 0 : head & (half ? 0xffff : 0xffff0000);
    atomic_store_explicit(&line->head, (version + 2) << 32 | other | entry << 16 * half,
                          memory_order_release);
}
