/* pages.c - takes, shares, copies and gives back the pages of a cache group. */
#include "pages.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_PAGES = 4 };

/* The lists follow the backend: they are made longer first, so that nothing can fail after it has grown. */
static int32_t grow_lists(tn_page_pool *pool, uint32_t pages, tn_error *err) {
    uint32_t *users = realloc(pool->users, pages * sizeof *users);
    if (users) { pool->users = users; }
    uint32_t *spare = users ? realloc(pool->spare, pages * sizeof *spare) : NULL;
    if (!spare) { TN_FAIL(err, TN_E_MEMORY, "no memory to list %" PRIu32 " cache pages", pages); }
    pool->spare = spare;
    return TN_OK;
}

static int32_t reserve(tn_page_pool *pool, uint32_t pages, tn_error *err) {
    TN_TRY(grow_lists(pool, pages, err));
    TN_TRY(pool->backend->cache_reserve(pool->backend_self, pool->cache, pool->group, pages, err));
    memset(pool->users + pool->existing, 0, (pages - pool->existing) * sizeof *pool->users);
    for (uint32_t page = pages; page > pool->existing; page--) {
        pool->spare[pool->spare_count++] = page - 1;
    }
    pool->existing = pages;
    return TN_OK;
}

/* Twice as many pages as there were, or, where memory does not allow it, one more. */
static int32_t grow(tn_page_pool *pool, tn_error *err) {
    uint64_t pages = pool->existing ? (uint64_t)pool->existing * 2 : FIRST_PAGES;
    if (pool->existing == pool->most) {
        TN_FAIL(err, TN_E_MEMORY, "all %" PRIu32 " cache pages are taken", pool->most);
    }
    int32_t code = reserve(pool, pages < pool->most ? (uint32_t)pages : pool->most, err);
    return code == TN_E_MEMORY ? reserve(pool, pool->existing + 1, err) : code;
}

static int32_t take(tn_page_pool *pool, uint32_t *page, tn_error *err) {
    if (!pool->spare_count) { TN_TRY(grow(pool, err)); }
    *page = pool->spare[--pool->spare_count];
    pool->users[*page] = 1;
    return TN_OK;
}

static void drop(tn_page_pool *pool, uint32_t page) {
    if (--pool->users[page] == 0) { pool->spare[pool->spare_count++] = page; }
}

static int32_t make_own(tn_page_pool *pool, uint32_t *page, tn_error *err) {
    uint32_t own;
    if (pool->users[*page] == 1) { return TN_OK; }
    TN_TRY(take(pool, &own, err));
    int32_t code = pool->backend->cache_copy(pool->backend_self, pool->cache, pool->group, *page, own, err);
    drop(pool, code == TN_OK ? *page : own);
    if (code == TN_OK) { *page = own; }
    return code;
}

int32_t tn_pages_extend(tn_page_pool *pool, tn_page_table *table, uint32_t from, uint32_t to, tn_error *err) {
    if (from < to && from % TN_PAGE_TOKENS) { TN_TRY(make_own(pool, &table->pages[table->count - 1], err)); }
    while (table->count < tn_pages_for(to)) {
        TN_TRY(take(pool, &table->pages[table->count], err));
        table->count++;
    }
    return TN_OK;
}

void tn_pages_cut(tn_page_pool *pool, tn_page_table *table, uint32_t tokens) {
    while (table->count > tn_pages_for(tokens)) { drop(pool, table->pages[--table->count]); }
}

void tn_pages_share(tn_page_pool *pool, tn_page_table *to, const tn_page_table *from) {
    for (uint32_t i = 0; i < from->count; i++) {
        to->pages[i] = from->pages[i];
        pool->users[to->pages[i]]++;
    }
    to->count = from->count;
}

void tn_pages_free(tn_page_pool *pool) {
    free(pool->users);
    free(pool->spare);
}
