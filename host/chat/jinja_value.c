/*
 * jinja_value.c - a rendering's memory, steps and faults.
 */
#include "jinja_inside.h"

#include <stdalign.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

/* Blocks are a list; small pieces are cut from the first one, large ones have one of their own behind it, so that
 * it can be given back alone. Under AddressSanitizer every piece has its own block, with guards around it. */
struct jinja_block {
    struct jinja_block *next, *before;
    size_t size, used;
    alignas(16) char bytes[];
};

#if defined(__SANITIZE_ADDRESS__)
enum { CHUNK = 0, LARGE = 0 };
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
enum { CHUNK = 0, LARGE = 0 };
#else
enum { CHUNK = 1 << 16, LARGE = 1 << 12 };
#endif
#else
enum { CHUNK = 1 << 16, LARGE = 1 << 12 };
#endif
enum { ALIGNMENT = 16, BYTES_A_STEP = 64, WALKED_A_STEP = 4, STEPS_UNASKED = 4096 };

/* ---- faults ------------------------------------------------------------------------------------------- */

/* One line of valid UTF-8: control characters become spaces, a character that was cut goes. */
static void tidy(char *message) {
    size_t size = strlen(message), out = 0;
    for (size_t at = 0; at < size;) {
        uint32_t code;
        size_t length = jinja_decode(message + at, size - at, &code);
        if (code < ' ' || code == 0x7F) {
            message[out++] = ' ';
        } else if (code != UINT32_MAX) {
            for (size_t i = 0; i < length; i++) { message[out++] = message[at + i]; }
        }
        at += length;
    }
    message[out] = 0;
}

bool jinja_fail(struct jinja_run *run, enum jinja_fault_kind kind, const char *format, ...) {
    va_list values;
    va_start(values, format);
    run->fault.kind = kind;
    run->fault.place = run->at;
    vsnprintf(run->fault.message, sizeof run->fault.message, format, values);
    va_end(values);
    tidy(run->fault.message);
    return false;
}

bool jinja_fail_undefined(struct jinja_run *run, jinja_value value) {
    if (!value.name) { return jinja_fail(run, JINJA_RUNTIME, "a value is undefined"); }
    bool message = strchr(value.name, ' ') != NULL;
    return jinja_fail(run, JINJA_RUNTIME, message ? "%s" : "'%s' is undefined", value.name);
}

bool jinja_fail_operand(struct jinja_run *run, const char *sign, jinja_value a, jinja_value b) {
    if (a.type == JINJA_UNDEFINED) { return jinja_fail_undefined(run, a); }
    if (b.type == JINJA_UNDEFINED) { return jinja_fail_undefined(run, b); }
    return jinja_fail(run, JINJA_RUNTIME, "unsupported operand type(s) for %s: '%s' and '%s'", sign,
                      jinja_type_name(a), jinja_type_name(b));
}

bool jinja_fail_overflow(struct jinja_run *run) {
    return jinja_fail(run, JINJA_RUNTIME, "an integer is beyond 64 bits");
}

/* ---- steps and depth ---------------------------------------------------------------------------------- */

bool jinja_spend(struct jinja_run *run, uint64_t count) {
    if (count > run->left.steps) {
        run->left.steps = 0;
        return jinja_fail(run, JINJA_LIMIT, "the template takes too many steps");
    }
    uint64_t left = run->left.steps - count;
    bool ask = run->stopped && left / STEPS_UNASKED != run->left.steps / STEPS_UNASKED;
    run->left.steps = left;
    return !ask || !run->stopped() || jinja_fail(run, JINJA_STOPPED, "stopped");
}

bool jinja_spend_bytes(struct jinja_run *run, uint64_t bytes) {
    return jinja_spend(run, bytes / BYTES_A_STEP + 1);
}

bool jinja_spend_walk(struct jinja_run *run, uint64_t bytes) {
    return jinja_spend(run, bytes / WALKED_A_STEP + 1);
}

bool jinja_enter(struct jinja_run *run) {
    if (run->left.depth == 0) { return jinja_fail(run, JINJA_LIMIT, "values or calls are nested too deep"); }
    run->left.depth--;
    return true;
}

void jinja_leave(struct jinja_run *run) {
    run->left.depth++;
}

/* ---- memory ------------------------------------------------------------------------------------------- */

static struct jinja_block *add_block(struct jinja_run *run, size_t size, bool first) {
    struct jinja_block *block = malloc(sizeof *block + size);
    if (!block) {
        jinja_fail(run, JINJA_MEMORY, "no memory for %zu bytes of values", size);
        return NULL;
    }
    struct jinja_block *after = first ? NULL : run->blocks;
    block->size = size;
    block->used = 0;
    block->before = after;
    block->next = after ? after->next : run->blocks;
    if (block->next) { block->next->before = block; }
    if (after) {
        after->next = block;
    } else {
        run->blocks = block;
    }
    return block;
}

/* The size of a piece in multiples of the alignment; SIZE_MAX if it is beyond what can be. */
static size_t piece_size(size_t count, size_t size) {
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes) || bytes > SIZE_MAX / 4) { return SIZE_MAX; }
    return bytes == 0 ? ALIGNMENT : (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

void *jinja_alloc(struct jinja_run *run, size_t count, size_t size) {
    size_t bytes = piece_size(count, size);
    if (!jinja_spend(run, bytes / BYTES_A_STEP)) { return NULL; }
    if (bytes > run->left.memory) {
        jinja_fail(run, JINJA_LIMIT, "the values of the template take too much memory");
        return NULL;
    }
    struct jinja_block *block = run->blocks;
    if (bytes > LARGE) {
        block = add_block(run, bytes, !block);
    } else if (!block || block->size - block->used < bytes) {
        block = add_block(run, CHUNK, true);
    }
    if (!block) { return NULL; }
    run->left.memory -= bytes;
    void *piece = block->bytes + block->used;
    block->used += bytes;
    return piece;
}

void jinja_release(struct jinja_run *run, void *memory, size_t count, size_t size) {
    size_t bytes = piece_size(count, size);
    if (!memory || bytes <= LARGE) { return; }
    struct jinja_block *block = (struct jinja_block *)((char *)memory - offsetof(struct jinja_block, bytes));
    if (block->before) {
        block->before->next = block->next;
    } else {
        run->blocks = block->next;
    }
    if (block->next) { block->next->before = block->before; }
    run->left.memory += bytes;
    free(block);
}

void jinja_run_free(struct jinja_run *run) {
    for (struct jinja_block *block = run->blocks, *next; block; block = next) {
        next = block->next;
        free(block);
    }
    run->blocks = NULL;
}
