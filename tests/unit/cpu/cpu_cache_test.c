/* cpu_cache_test.c - pages: they stay where they are, keep their bytes, and are copied whole. */
#include "cpu_test.h"

#include <string.h>

static const uint32_t slots[] = {0, 1, 2};
static tn_cache_group group = {.struct_size = sizeof group,
                               .slot_count = 3,
                               .page_tokens = 16,
                               .slots = slots,
                               .kv_heads = 2,
                               .key_dim = 40,
                               .value_dim = 24,
                               .key_format = &test_q8,
                               .value_format = &test_f32};

static cpu_cache *make(test_host *host, cpu_backend *backend) {
    const tn_cache_group *groups[] = {&group};
    void *cache = NULL;
    tn_error err = TN_ERROR_INIT;
    test_host_init(host, 1, 0);
    *backend = test_backend(host);
    cr_assert_eq(cpu_cache_create(backend, groups, 1, &cache, &err), TN_OK, "%s", err.text);
    return cache;
}

Test(cache, heads_are_padded_to_whole_blocks) {
    test_host host;
    cpu_backend backend;
    cpu_cache *cache = make(&host, &backend);
    const cpu_cache_group *g = &cache->groups[0];
    cr_expect_eq(g->key_row, 72, "two blocks of 36 bytes for 40 numbers, not %llu",
                 (unsigned long long)g->key_row);
    cr_expect_eq(g->value_row, 96);
    cr_expect_eq(cpu_cache_page_bytes(&backend, cache, 0), 3 * 2 * (16 * 72 + 16 * 96));
    cpu_cache_destroy(&backend, cache);
    cr_expect_eq(host.live, 0);
}

static void fill(const cpu_cache *cache, uint32_t page, unsigned char byte) {
    const cpu_cache_group *g = &cache->groups[0];
    for (uint32_t slot = 0; slot < 3; slot++) {
        for (uint32_t head = 0; head < 2; head++) {
            memset(cpu_cache_keys(g, page, slot, head), byte + (int)(2 * slot + head), g->key_row * 16);
            memset(cpu_cache_values(g, page, slot, head), byte + 100 + (int)(2 * slot + head),
                   g->value_row * 16);
        }
    }
}

static void expect(const cpu_cache *cache, uint32_t page, unsigned char byte) {
    const cpu_cache_group *g = &cache->groups[0];
    for (uint32_t slot = 0; slot < 3; slot++) {
        for (uint32_t head = 0; head < 2; head++) {
            const unsigned char *k = cpu_cache_keys(g, page, slot, head),
                                *v = cpu_cache_values(g, page, slot, head);
            for (uint64_t i = 0; i < g->key_row * 16; i++) {
                cr_assert_eq(k[i], (unsigned char)(byte + 2 * slot + head), "page %u key byte %llu", page,
                             (unsigned long long)i);
            }
            for (uint64_t i = 0; i < g->value_row * 16; i++) {
                cr_assert_eq(v[i], (unsigned char)(byte + 100 + 2 * slot + head), "page %u value byte %llu",
                             page, (unsigned long long)i);
            }
        }
    }
}

Test(cache, pages_stay_and_keep_their_bytes) {
    test_host host;
    cpu_backend backend;
    tn_error err = TN_ERROR_INIT;
    cpu_cache *cache = make(&host, &backend);
    cr_assert_eq(cpu_cache_reserve(&backend, cache, 0, 5, &err), TN_OK);
    const unsigned char *place = cpu_cache_keys(&cache->groups[0], 4, 2, 1);
    for (uint32_t page = 0; page < 5; page++) { fill(cache, page, (unsigned char)(page * 10)); }
    cr_assert_eq(cpu_cache_reserve(&backend, cache, 0, 3, &err), TN_OK);
    cr_assert_eq(cpu_cache_reserve(&backend, cache, 0, 2000, &err), TN_OK);
    cr_expect_eq(cpu_cache_keys(&cache->groups[0], 4, 2, 1), place);
    fill(cache, 1999, 77);
    for (uint32_t page = 0; page < 5; page++) { expect(cache, page, (unsigned char)(page * 10)); }
    cr_assert_eq(cpu_cache_copy(&backend, cache, 0, 1999, 2, &err), TN_OK);
    cr_assert_eq(cpu_cache_copy(&backend, cache, 0, 3, 3, &err), TN_OK);
    expect(cache, 1, 10);
    expect(cache, 2, 77);
    expect(cache, 3, 30);
    cr_expect_eq(cpu_cache_copy(&backend, cache, 0, 0, 1u << 30, &err), TN_E_RANGE, "%s", err.text);
    cpu_cache_destroy(&backend, cache);
    cr_expect_eq(host.live, 0);
}

/* A reserve that fails changes nothing; an absurd one fails. */
Test(cache, no_memory_changes_nothing) {
    test_host host;
    cpu_backend backend;
    tn_error err = TN_ERROR_INIT;
    cpu_cache *cache = make(&host, &backend);
    cr_assert_eq(cpu_cache_reserve(&backend, cache, 0, 1, &err), TN_OK);
    fill(cache, 0, 5);
    uint64_t pages = cpu_cache_pages(&cache->groups[0]);
    int64_t live = host.live;
    for (int left = 0; left < 4; left++) {
        host.allocations_left = left;
        cr_assert_eq(cpu_cache_reserve(&backend, cache, 0, pages * 6, &err), TN_E_MEMORY);
        cr_expect_eq(host.live, live);
        cr_expect_eq(cpu_cache_pages(&cache->groups[0]), pages);
        expect(cache, 0, 5);
    }
    host.allocations_left = -1;
    cr_expect_eq(cpu_cache_reserve(&backend, cache, 0, UINT64_MAX, &err), TN_E_MEMORY);
    cr_expect_eq(host.live, live);
    cpu_cache_destroy(&backend, cache);
    cr_expect_eq(host.live, 0);
}
