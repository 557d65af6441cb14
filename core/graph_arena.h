/*
 * graph_arena.h - memory that is taken piece by piece and given back all at once: graphs, reasons, plans.
 *
 * Everything is zeroed: structs that cross the ABI rely on it (zero means "as before").
 */
#ifndef TENON_GRAPH_ARENA_H
#define TENON_GRAPH_ARENA_H

#include "tenon/abi.h"

typedef struct tn_arena {
    struct tn_arena_chunk *newest;
} tn_arena;

/** `size` zeroed bytes at a multiple of 16, until tn_arena_release(); NULL: no memory. */
void *tn_arena_take(tn_arena *arena, size_t size);
/** Zeroed room for `count` elements; NULL: no memory, or a product beyond size_t. */
void *tn_arena_array(tn_arena *arena, size_t count, size_t size);
/** A copy of `size` bytes; NULL: no memory. */
void *tn_arena_copy(tn_arena *arena, const void *data, size_t size);
/** A copy of a string; NULL: no memory. */
char *tn_arena_text(tn_arena *arena, const char *text);
/** Text as printf makes it; NULL: no memory. */
TN_PRINTF(2, 3) char *tn_arena_format(tn_arena *arena, const char *format, ...);
/** Gives everything back. The arena is empty then and can be used again. */
void tn_arena_release(tn_arena *arena);

#endif
