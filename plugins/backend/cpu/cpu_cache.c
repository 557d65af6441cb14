/*
 * cpu_cache.c - pages of keys and values. A page holds, slot by slot, for each key head first its keys and
 * then its values: page_tokens rows of whole blocks each, one after another, so that kernels see them as the
 * rows of a matrix. Pages come in chunks that never move; the cache copies what it needs of the groups.
 */
#include "cpu.h"

#include <string.h>

enum { LINE = 64, CHUNK_BYTES = 1 << 20 };

uint32_t cpu_cache_pad(const tn_format *format, uint32_t elements) {
    return (uint32_t)cpu_round(elements, format->block);
}

static uint64_t row_bytes(const tn_format *format, uint32_t elements) {
    return (uint64_t)cpu_cache_pad(format, elements) / format->block * format->block_bytes;
}

static void set_group(cpu_cache_group *g, const tn_cache_group *group) {
    g->page_tokens = group->page_tokens;
    g->key_row = row_bytes(group->key_format, group->key_dim);
    g->value_row = row_bytes(group->value_format, group->value_dim);
    g->key_bytes = cpu_round(cpu_mul(g->key_row, g->page_tokens), LINE);
    g->head_bytes = cpu_add(g->key_bytes, cpu_round(cpu_mul(g->value_row, g->page_tokens), LINE));
    g->slot_bytes = cpu_mul(g->head_bytes, group->kv_heads);
    g->page_bytes = cpu_mul(g->slot_bytes, group->slot_count);
    g->chunk_pages = 1;
    while (cpu_mul(g->chunk_pages, g->page_bytes) < CHUNK_BYTES) { g->chunk_pages *= 2; }
}

int32_t cpu_cache_create(void *self, const tn_cache_group *const *groups, uint32_t count, void **cache,
                         tn_error *err) {
    cpu_backend *backend = self;
    const tn_host *host = backend->host;
    uint64_t size = sizeof(cpu_cache) + count * sizeof(cpu_cache_group);
    cpu_cache *made = host->alloc(host, size, LINE);
    if (!made) { TN_FAIL(err, TN_E_MEMORY, "no memory for a cache of %u groups", count); }
    memset(made, 0, size);
    made->backend = backend;
    made->group_count = count;
    for (uint32_t i = 0; i < count; i++) { set_group(&made->groups[i], groups[i]); }
    *cache = made;
    return TN_OK;
}

void cpu_cache_destroy(void *self, void *cache) {
    cpu_cache *c = cache;
    (void)self;
    if (!c) { return; }
    const tn_host *host = c->backend->host;
    for (uint32_t i = 0; i < c->group_count; i++) {
        for (uint64_t k = 0; k < c->groups[i].chunk_count; k++) { host->free(host, c->groups[i].chunks[k]); }
        host->free(host, c->groups[i].chunks);
    }
    host->free(host, c);
}

/* A longer list of chunks with the old ones in it; NULL: no memory, and nothing is changed. */
static unsigned char **grow_list(const tn_host *host, const cpu_cache_group *g, uint64_t count) {
    if (count > SIZE_MAX / 2 / sizeof *g->chunks) { return NULL; }
    unsigned char **list = host->alloc(host, count * sizeof *list, LINE);
    if (list && g->chunk_count) { memcpy(list, g->chunks, g->chunk_count * sizeof *list); }
    return list;
}

int32_t cpu_cache_reserve(void *self, void *cache, uint32_t group, uint64_t pages, tn_error *err) {
    cpu_cache *c = cache;
    cpu_cache_group *g = &c->groups[group];
    const tn_host *host = c->backend->host;
    uint64_t count = pages / g->chunk_pages + (pages % g->chunk_pages != 0), made = g->chunk_count;
    uint64_t bytes = cpu_mul(g->chunk_pages, g->page_bytes);
    (void)self;
    if (count <= g->chunk_count) { return TN_OK; }
    unsigned char **list = bytes > SIZE_MAX / 2 ? NULL : grow_list(host, g, count);
    while (list && made < count && (list[made] = host->alloc(host, bytes, LINE))) { made++; }
    if (made < count) {
        while (list && made > g->chunk_count) { host->free(host, list[--made]); }
        host->free(host, list);
        TN_FAIL(err, TN_E_MEMORY, "no memory for %llu cache pages of %llu bytes", (unsigned long long)pages,
                (unsigned long long)g->page_bytes);
    }
    host->free(host, g->chunks);
    g->chunks = list;
    g->chunk_count = count;
    return TN_OK;
}

static unsigned char *page_at(const cpu_cache_group *g, uint64_t page) {
    return g->chunks[page / g->chunk_pages] + page % g->chunk_pages * g->page_bytes;
}

int32_t cpu_cache_copy(void *self, void *cache, uint32_t group, uint32_t from, uint32_t to, tn_error *err) {
    const cpu_cache *c = cache;
    const cpu_cache_group *g = &c->groups[group];
    uint64_t pages = cpu_cache_pages(g);
    (void)self;
    if (from >= pages || to >= pages) {
        TN_FAIL(err, TN_E_RANGE, "copy of cache page %u to %u, there are %llu", from, to,
                (unsigned long long)pages);
    }
    if (from != to) { memcpy(page_at(g, to), page_at(g, from), g->page_bytes); }
    return TN_OK;
}

uint64_t cpu_cache_page_bytes(void *self, const void *cache, uint32_t group) {
    (void)self;
    return ((const cpu_cache *)cache)->groups[group].page_bytes;
}

unsigned char *cpu_cache_keys(const cpu_cache_group *g, uint32_t page, uint32_t slot, uint32_t head) {
    return page_at(g, page) + slot * g->slot_bytes + head * g->head_bytes;
}

unsigned char *cpu_cache_values(const cpu_cache_group *g, uint32_t page, uint32_t slot, uint32_t head) {
    return cpu_cache_keys(g, page, slot, head) + g->key_bytes;
}
