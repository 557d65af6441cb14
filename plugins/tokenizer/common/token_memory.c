/*
 * token_memory.c - arena and scratch over the host's allocator; every product of sizes is checked here.
 */
#include "token_memory.h"

#include <string.h>

enum { ALIGN = 64 };

void *tn_memory_get(const tn_host *host, uint64_t bytes) {
    void *memory = host->alloc(host, bytes, ALIGN);
    return memory ? memset(memory, 0, bytes) : NULL;
}

struct tn_arena_block {
    struct tn_arena_block *next;
    char pad[ALIGN - sizeof(void *)];
};

void *tn_arena_get(tn_arena *arena, uint64_t count, uint64_t size) {
    uint64_t bytes, all;
    if (__builtin_mul_overflow(count, size, &bytes) ||
        __builtin_add_overflow(bytes, sizeof(struct tn_arena_block), &all)) {
        return NULL;
    }
    struct tn_arena_block *block = tn_memory_get(arena->host, all);
    if (!block) { return NULL; }
    block->next = arena->blocks;
    arena->blocks = block;
    return block + 1;
}

void tn_arena_free(tn_arena *arena) {
    while (arena->blocks) {
        struct tn_arena_block *block = arena->blocks;
        arena->blocks = block->next;
        arena->host->free(arena->host, block);
    }
}

void *tn_scratch_get(tn_scratch *scratch, uint64_t count, uint64_t size) {
    uint64_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes)) { return NULL; }
    if (bytes > scratch->size || !scratch->data) {
        tn_scratch_free(scratch);
        scratch->data = scratch->host->alloc(scratch->host, bytes ? bytes : 1, ALIGN);
        scratch->size = scratch->data ? bytes : 0;
    }
    return scratch->data;
}

void tn_scratch_free(tn_scratch *scratch) {
    scratch->host->free(scratch->host, scratch->data);
    scratch->data = NULL;
    scratch->size = 0;
}
