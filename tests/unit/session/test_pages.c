/*
 * Pages against a backend that keeps a number for each token: whatever is shared, copied, cut and written,
 * every table reads what was written through it; pages run out, memory runs out, nothing is lost.
 */
#include "pages.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

/* The cache: one number a token, and a limit on pages. */
struct cache {
    uint32_t (*pages)[TN_PAGE_TOKENS];
    uint64_t count, most;
    uint32_t reserves, copies;
};

static int32_t reserve(void *self, void *cache, uint32_t group, uint64_t pages, tn_error *err) {
    struct cache *c = cache;
    (void)self, (void)group;
    if (pages > c->most) { TN_FAIL(err, TN_E_MEMORY, "no memory for %d pages", (int)pages); }
    c->pages = realloc(c->pages, pages * sizeof *c->pages);
    c->count = pages;
    c->reserves++;
    return TN_OK;
}

static int32_t copy(void *self, void *cache, uint32_t group, uint32_t from, uint32_t to, tn_error *err) {
    struct cache *c = cache;
    (void)self, (void)group, (void)err;
    cr_assert(from < c->count && to < c->count && from != to);
    memcpy(c->pages[to], c->pages[from], sizeof c->pages[to]);
    c->copies++;
    return TN_OK;
}

static const tn_backend backend = {
    .struct_size = sizeof backend, .cache_reserve = reserve, .cache_copy = copy};

static tn_page_pool new_pool(struct cache *cache, uint32_t most) {
    return (tn_page_pool){.backend = &backend, .cache = cache, .most = most};
}

/* A sequence that remembers what it should read. */
enum { TOKENS_MOST = 1000 };
struct sequence {
    tn_page_table table;
    uint32_t pages[TOKENS_MOST / TN_PAGE_TOKENS + 1];
    uint32_t tokens[TOKENS_MOST], length;
};

static void begin(struct sequence *s) {
    memset(s, 0, sizeof *s);
    s->table.pages = s->pages;
}

static int32_t write_tokens(tn_page_pool *pool, struct sequence *s, uint32_t count, uint32_t value) {
    struct cache *cache = pool->cache;
    tn_error err = TN_ERROR_INIT;
    int32_t code = tn_pages_extend(pool, &s->table, s->length, s->length + count, &err);
    if (code != TN_OK) {
        tn_pages_cut(pool, &s->table, s->length);
        return code;
    }
    for (uint32_t i = 0; i < count; i++, s->length++) {
        s->tokens[s->length] = value + i;
        cache->pages[s->pages[s->length / TN_PAGE_TOKENS]][s->length % TN_PAGE_TOKENS] = value + i;
    }
    return TN_OK;
}

static void cut(tn_page_pool *pool, struct sequence *s, uint32_t length) {
    tn_pages_cut(pool, &s->table, length);
    s->length = length;
}

static void fork_from(tn_page_pool *pool, struct sequence *to, const struct sequence *from) {
    tn_pages_share(pool, &to->table, &from->table);
    memcpy(to->tokens, from->tokens, sizeof to->tokens);
    to->length = from->length;
}

static void expect_reads(const tn_page_pool *pool, const struct sequence *s) {
    const struct cache *cache = pool->cache;
    cr_assert_eq(s->table.count, tn_pages_for(s->length));
    for (uint32_t i = 0; i < s->length; i++) {
        uint32_t found = cache->pages[s->pages[i / TN_PAGE_TOKENS]][i % TN_PAGE_TOKENS];
        cr_assert_eq(found, s->tokens[i], "token %u reads %u, %u was written", i, found, s->tokens[i]);
    }
}

/* Users of a page are the tables that list it; pages without users are spare, once. */
static void expect_counts(const tn_page_pool *pool, const struct sequence *all, uint32_t count) {
    uint32_t users[256] = {0}, spare[256] = {0};
    cr_assert(pool->existing <= 256);
    for (uint32_t s = 0; s < count; s++) {
        for (uint32_t i = 0; i < all[s].table.count; i++) { users[all[s].pages[i]]++; }
    }
    for (uint32_t i = 0; i < pool->spare_count; i++) { spare[pool->spare[i]]++; }
    for (uint32_t p = 0; p < pool->existing; p++) {
        cr_assert_eq(pool->users[p], users[p], "page %u: %u users, %u tables list it", p, pool->users[p],
                     users[p]);
        cr_assert_eq(spare[p], users[p] == 0, "page %u with %u users is spare %u times", p, users[p],
                     spare[p]);
    }
}

Test(pages, any_order_of_events) {
    enum { SEQUENCES = 6 };
    static struct sequence all[SEQUENCES];
    struct cache cache = {.most = 1000};
    tn_page_pool pool = new_pool(&cache, SEQUENCES * (TOKENS_MOST / TN_PAGE_TOKENS + 1));
    uint32_t seed = 1;
    for (uint32_t i = 0; i < SEQUENCES; i++) { begin(&all[i]); }
    for (uint32_t round = 0; round < 4000; round++) {
        seed = seed * 1664525u + 1013904223u;
        struct sequence *s = &all[(seed >> 8) % SEQUENCES], *other = &all[(seed >> 16) % SEQUENCES];
        uint32_t size = (seed >> 24) % 150;
        if (seed % 7 < 4 && s->length + size <= TOKENS_MOST) {
            cr_assert_eq(write_tokens(&pool, s, size, round * 1000), TN_OK);
        } else if (seed % 7 < 6) {
            cut(&pool, s, s->length > size ? s->length - size : 0);
        } else if (s != other) {
            cut(&pool, s, 0);
            fork_from(&pool, s, other);
        }
        for (uint32_t i = 0; i < SEQUENCES; i++) { expect_reads(&pool, &all[i]); }
        expect_counts(&pool, all, SEQUENCES);
    }
    cr_expect(cache.copies > 20, "only %u copies", cache.copies);
    tn_pages_free(&pool);
    free(cache.pages);
}

/* Only a page that is partly filled and listed twice is copied, and only when it is written. */
Test(pages, copies_as_little_as_can_be) {
    static struct sequence a, b;
    struct cache cache = {.most = 100};
    tn_page_pool pool = new_pool(&cache, 100);
    begin(&a), begin(&b);
    write_tokens(&pool, &a, 3 * TN_PAGE_TOKENS, 1);
    fork_from(&pool, &b, &a);
    write_tokens(&pool, &b, 5, 1000);
    cr_expect_eq(cache.copies, 0, "full pages are shared for good");
    write_tokens(&pool, &a, 5, 2000);
    cr_expect_eq(cache.copies, 0);
    cut(&pool, &b, 0);
    fork_from(&pool, &b, &a);
    cr_expect_eq(cache.copies, 0, "a fork copies nothing");
    write_tokens(&pool, &a, 1, 3000);
    cr_expect_eq(cache.copies, 1, "the writer gets a page of its own");
    write_tokens(&pool, &b, 1, 4000);
    cr_expect_eq(cache.copies, 1, "the other one is alone with the old page");
    expect_reads(&pool, &a), expect_reads(&pool, &b);
    tn_pages_free(&pool);
    free(cache.pages);
}

Test(pages, grows_by_doubling_within_the_most) {
    static struct sequence a;
    struct cache cache = {.most = 100};
    tn_page_pool pool = new_pool(&cache, 11);
    tn_error err = TN_ERROR_INIT;
    begin(&a);
    for (uint32_t i = 0; i < 11; i++) { cr_assert_eq(write_tokens(&pool, &a, TN_PAGE_TOKENS, i), TN_OK); }
    cr_expect_eq(pool.existing, 11, "%u pages", pool.existing);
    cr_expect_eq(cache.reserves, 3, "4, 8, 11: %u times", cache.reserves);
    cr_expect_eq(tn_pages_extend(&pool, &a.table, a.length, a.length + 1, &err), TN_E_MEMORY);
    tn_pages_free(&pool);
    free(cache.pages);
}

Test(pages, small_most) {
    for (uint32_t most = 1; most < 6; most++) {
        static struct sequence a;
        struct cache cache = {.most = most};
        tn_page_pool pool = new_pool(&cache, most);
        begin(&a);
        cr_assert_eq(write_tokens(&pool, &a, most * TN_PAGE_TOKENS, 1), TN_OK);
        cr_expect_eq(pool.existing, most);
        tn_pages_free(&pool);
        free(cache.pages);
    }
}

/* Where doubling does not fit, one page still may; where none does, what was there stays. */
Test(pages, memory_runs_out) {
    static struct sequence a;
    struct cache cache = {.most = 5};
    tn_page_pool pool = new_pool(&cache, 100);
    begin(&a);
    cr_expect_eq(write_tokens(&pool, &a, 5 * TN_PAGE_TOKENS, 1), TN_OK);
    cr_expect_eq(write_tokens(&pool, &a, 1, 1), TN_E_MEMORY);
    expect_reads(&pool, &a);
    expect_counts(&pool, &a, 1);
    cut(&pool, &a, 3 * TN_PAGE_TOKENS);
    cr_expect_eq(write_tokens(&pool, &a, 3 * TN_PAGE_TOKENS, 7), TN_E_MEMORY, "two of three pages");
    expect_counts(&pool, &a, 1);
    cr_expect_eq(write_tokens(&pool, &a, 2 * TN_PAGE_TOKENS, 7), TN_OK, "they were given back");
    expect_reads(&pool, &a);
    tn_pages_free(&pool);
    free(cache.pages);
}
