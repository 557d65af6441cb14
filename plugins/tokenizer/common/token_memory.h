/*
 * token_memory.h - memory of the tokenizer plugins, all of it the host's: an arena for what lives as long as
 * a tokenizer, a scratch block for one call of encode.
 */
#ifndef TENON_TOKEN_MEMORY_H
#define TENON_TOKEN_MEMORY_H

#include "tenon/host.h"

/** Cleared memory for host->free(); NULL: there is none. */
void *tn_memory_get(const tn_host *host, uint64_t bytes);

/** Blocks that are given back together. Zero but for `host` is an empty one. */
typedef struct tn_arena {
    const tn_host *host;
    struct tn_arena_block *blocks;
} tn_arena;

/** `count` things of `size` bytes, cleared, for as long as the arena; NULL if there is no memory. */
void *tn_arena_get(tn_arena *arena, uint64_t count, uint64_t size);
void tn_arena_free(tn_arena *arena);

/** One growing block; zero but for `host` is an empty one. */
typedef struct tn_scratch {
    const tn_host *host;
    void *data;
    uint64_t size;
} tn_scratch;

/** At least `count` things of `size` bytes, contents undefined; NULL if there is no memory. What was there is
 * lost. */
void *tn_scratch_get(tn_scratch *scratch, uint64_t count, uint64_t size);
void tn_scratch_free(tn_scratch *scratch);

#endif
