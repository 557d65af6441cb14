/*
 * pages.h - pages of a cache group: who uses which, and copies where a shared one is written.
 *
 * The backend owns the bytes; here are numbers and reference counts. A page holds TN_PAGE_TOKENS tokens of
 * every slot of its group. A table lists the pages of one sequence in one group, in the order of its tokens;
 * it holds exactly as many as its tokens need.
 */
#ifndef TENON_PAGES_H
#define TENON_PAGES_H

#include "tenon/backend.h"
#include "tenon/errors.h"

enum { TN_PAGE_TOKENS = 64 };

typedef struct tn_page_pool {
    const tn_backend *backend;
    void *backend_self, *cache;
    uint32_t group;
    uint32_t existing, most; /**< pages that the backend has reserved, and may be asked for */
    uint32_t *users;         /**< by page: how many tables list it */
    uint32_t *spare;         /**< pages that no table lists, the next to be taken last */
    uint32_t spare_count;
} tn_page_pool;

typedef struct tn_page_table {
    uint32_t *pages; /**< room for as many as the context needs */
    uint32_t count;
} tn_page_table;

/** Pages for so many tokens. */
static inline uint32_t tn_pages_for(uint32_t tokens) {
    return tokens / TN_PAGE_TOKENS + (tokens % TN_PAGE_TOKENS != 0);
}

/**
 * Makes room for tokens `from` to `to` - 1 of a table that holds `from` tokens: takes pages, and copies the
 * last one if another table lists it too. On failure (TN_E_MEMORY) the table may have grown; cut it again.
 */
int32_t tn_pages_extend(tn_page_pool *pool, tn_page_table *table, uint32_t from, uint32_t to, tn_error *err);
/** Gives back what lies beyond `tokens` tokens. */
void tn_pages_cut(tn_page_pool *pool, tn_page_table *table, uint32_t tokens);
/** Makes an empty table list the pages of another. */
void tn_pages_share(tn_page_pool *pool, tn_page_table *to, const tn_page_table *from);
/** Frees the lists. The pages are the cache's. */
void tn_pages_free(tn_page_pool *pool);

#endif
