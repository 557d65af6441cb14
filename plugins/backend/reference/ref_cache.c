/*
 * ref_cache.c - the cache: pages of keys and values in any format.
 *
 * A page holds page_tokens tokens of every slot of its group: slot after slot, token after token, first the
 * keys of all heads, then the values. Each head is padded to whole blocks. Each page is an allocation of its
 * own.
 */
#include "reference.h"

#include <string.h>

/* The store kernel that any machine can run, NULL if the format has none. */
static void (*portable_store(const tn_format *format))(const float *, uint64_t, void *) {
    for (uint32_t i = 0; i < format->kernel_count; i++) {
        const tn_format_kernel *kernel = format->kernels[i];
        if (kernel->kind == TN_KERNEL_STORE && kernel->isa == 0) { return kernel->store; }
    }
    return NULL;
}

static int32_t set_format(ref_group *group, uint32_t which, const tn_format *format, void *format_self,
                          uint32_t dim, tn_error *err) {
    group->format[which] = format;
    group->format_self[which] = format_self;
    group->store[which] = portable_store(format);
    if (!group->store[which] && !format->encode) {
        TN_FAIL(err, TN_E_FORMAT_REFUSED, "format %s cannot be written, so it cannot hold a cache",
                format->name);
    }
    uint64_t blocks = ((uint64_t)dim + format->block - 1) / format->block;
    group->padded[which] = blocks * format->block;
    group->bytes[which] = blocks * format->block_bytes;
    return TN_OK;
}

static int32_t set_group(const tn_host *host, ref_group *group, const tn_cache_group *from, tn_error *err) {
    if (from->kind != TN_GROUP_PAGED) {
        TN_FAIL(err, TN_E_OP_UNSUPPORTED, "cache groups of kind %u", from->kind);
    }
    group->slot_count = from->slot_count;
    group->page_tokens = from->page_tokens;
    group->kv_heads = from->kv_heads;
    group->key_dim = from->key_dim;
    group->value_dim = from->value_dim;
    TN_TRY(set_format(group, REF_KEY, from->key_format, from->key_self, from->key_dim, err));
    TN_TRY(set_format(group, REF_VALUE, from->value_format, from->value_self, from->value_dim, err));
    uint64_t bytes = group->bytes[REF_KEY] + group->bytes[REF_VALUE];
    if (__builtin_mul_overflow(bytes, group->kv_heads, &bytes) ||
        __builtin_mul_overflow(bytes, group->page_tokens, &bytes) ||
        __builtin_mul_overflow(bytes, group->slot_count, &group->page_bytes)) {
        TN_FAIL(err, TN_E_MEMORY, "a cache page of %u slots would be larger than memory", from->slot_count);
    }
    group->slots = host->alloc(host, from->slot_count * sizeof *group->slots, _Alignof(uint32_t));
    if (!group->slots) { TN_FAIL(err, TN_E_MEMORY, "no memory for a cache"); }
    memcpy(group->slots, from->slots, from->slot_count * sizeof *group->slots);
    return TN_OK;
}

int32_t ref_cache_create(void *self, const tn_cache_group *const *groups, uint32_t group_count, void **cache,
                         tn_error *err) {
    const tn_host *host = self;
    uint64_t size = sizeof(ref_cache) + group_count * sizeof(ref_group);
    ref_cache *c = host->alloc(host, size, _Alignof(ref_cache));
    if (!c) { TN_FAIL(err, TN_E_MEMORY, "no memory for a cache"); }
    memset(c, 0, size);
    c->host = host;
    c->group_count = group_count;
    for (uint32_t g = 0; g < group_count; g++) {
        int32_t code = set_group(host, &c->groups[g], groups[g], err);
        if (code != TN_OK) {
            ref_cache_destroy(self, c);
            return code;
        }
    }
    *cache = c;
    return TN_OK;
}

static void free_pages(const tn_host *host, unsigned char **pages, uint64_t from, uint64_t to) {
    for (uint64_t p = from; p < to; p++) { host->free(host, pages[p]); }
}

void ref_cache_destroy(void *self, void *cache) {
    const tn_host *host = self;
    ref_cache *c = cache;
    for (uint32_t g = 0; g < c->group_count; g++) {
        free_pages(host, c->groups[g].pages, 0, c->groups[g].page_count);
        host->free(host, c->groups[g].pages);
        host->free(host, c->groups[g].slots);
    }
    host->free(host, c);
}

int32_t ref_cache_reserve(void *self, void *cache, uint32_t group, uint64_t pages, tn_error *err) {
    const tn_host *host = self;
    ref_group *g = &((ref_cache *)cache)->groups[group];
    if (pages <= g->page_count) { return TN_OK; }
    uint64_t size;
    unsigned char **table = NULL;
    if (!__builtin_mul_overflow(pages, sizeof *table, &size)) {
        table = host->alloc(host, size, _Alignof(unsigned char *));
    }
    if (!table) {
        TN_FAIL(err, TN_E_MEMORY, "no memory for a table of %llu pages", (unsigned long long)pages);
    }
    if (g->page_count) { memcpy(table, g->pages, g->page_count * sizeof *table); }
    for (uint64_t p = g->page_count; p < pages; p++) {
        table[p] = host->alloc(host, g->page_bytes, 64);
        if (!table[p]) {
            free_pages(host, table, g->page_count, p);
            host->free(host, table);
            TN_FAIL(err, TN_E_MEMORY, "no memory for cache page %llu of %llu bytes", (unsigned long long)p,
                    (unsigned long long)g->page_bytes);
        }
    }
    host->free(host, g->pages);
    g->pages = table;
    g->page_count = pages;
    return TN_OK;
}

int32_t ref_cache_copy(void *self, void *cache, uint32_t group, uint32_t from, uint32_t to, tn_error *err) {
    ref_group *g = &((ref_cache *)cache)->groups[group];
    (void)self;
    if (from >= g->page_count || to >= g->page_count) {
        TN_FAIL(err, TN_E_BUG, "copy of page %u to %u, there are %llu", from, to,
                (unsigned long long)g->page_count);
    }
    if (from != to) { memcpy(g->pages[to], g->pages[from], g->page_bytes); }
    return TN_OK;
}

uint64_t ref_cache_page_bytes(void *self, const void *cache, uint32_t group) {
    (void)self;
    return ((const ref_cache *)cache)->groups[group].page_bytes;
}

int ref_cache_find(const ref_cache *cache, uint32_t slot, uint32_t *group, uint32_t *at) {
    for (uint32_t g = 0; cache && g < cache->group_count; g++) {
        for (uint32_t i = 0; i < cache->groups[g].slot_count; i++) {
            if (cache->groups[g].slots[i] == slot) {
                *group = g;
                *at = i;
                return 1;
            }
        }
    }
    return 0;
}

unsigned char *ref_cache_head(const ref_group *group, uint32_t page, uint32_t slot_at, uint32_t token,
                              uint32_t which, uint32_t head) {
    uint64_t token_bytes = group->kv_heads * (group->bytes[REF_KEY] + group->bytes[REF_VALUE]);
    uint64_t place = ((uint64_t)slot_at * group->page_tokens + token) * token_bytes;
    if (which == REF_VALUE) { place += group->kv_heads * group->bytes[REF_KEY]; }
    return group->pages[page] + place + head * group->bytes[which];
}
