/* graph_arena.c - a bump allocator over a list of chunks that grow with what was taken. */
#include "graph_arena.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ALIGNMENT = 16, FIRST_CHUNK = 4096, LARGEST_CHUNK = 1 << 20 };

struct tn_arena_chunk {
    struct tn_arena_chunk *older;
    size_t size, used;
    _Alignas(ALIGNMENT) unsigned char data[];
};

static struct tn_arena_chunk *add_chunk(tn_arena *arena, size_t needed) {
    size_t size = arena->newest ? arena->newest->size * 2 : FIRST_CHUNK;
    if (size > LARGEST_CHUNK) { size = LARGEST_CHUNK; }
    if (size < needed) { size = needed; }
    if (size > SIZE_MAX - sizeof(struct tn_arena_chunk)) { return NULL; }
    struct tn_arena_chunk *chunk = calloc(1, sizeof *chunk + size);
    if (!chunk) { return NULL; }
    chunk->size = size;
    chunk->older = arena->newest;
    arena->newest = chunk;
    return chunk;
}

void *tn_arena_take(tn_arena *arena, size_t size) {
    if (size > SIZE_MAX - ALIGNMENT) { return NULL; }
    size = (size + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1);
    struct tn_arena_chunk *chunk = arena->newest;
    if (!chunk || chunk->size - chunk->used < size) { chunk = add_chunk(arena, size); }
    if (!chunk) { return NULL; }
    void *taken = chunk->data + chunk->used;
    chunk->used += size;
    return taken;
}

void *tn_arena_array(tn_arena *arena, size_t count, size_t size) {
    size_t bytes = 0;
    return __builtin_mul_overflow(count, size, &bytes) ? NULL : tn_arena_take(arena, bytes);
}

void *tn_arena_copy(tn_arena *arena, const void *data, size_t size) {
    void *copy = tn_arena_take(arena, size);
    if (copy && size) { memcpy(copy, data, size); }
    return copy;
}

char *tn_arena_text(tn_arena *arena, const char *text) {
    return tn_arena_copy(arena, text, strlen(text) + 1);
}

char *tn_arena_format(tn_arena *arena, const char *format, ...) {
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    int length = vsnprintf(NULL, 0, format, args);
    char *text = length < 0 ? NULL : tn_arena_take(arena, (size_t)length + 1);
    if (text) { vsnprintf(text, (size_t)length + 1, format, again); }
    va_end(again);
    va_end(args);
    return text;
}

void tn_arena_release(tn_arena *arena) {
    while (arena->newest) {
        struct tn_arena_chunk *older = arena->newest->older;
        free(arena->newest);
        arena->newest = older;
    }
}
