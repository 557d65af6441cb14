/*
 * gguf_names.h - names in the order they were added, each once, and the way from a name to its number.
 *
 * The hash is keyed by chance, so that no file can be made whose names all fall on one place.
 */
#ifndef TENON_GGUF_NAMES_H
#define TENON_GGUF_NAMES_H

#include <stdint.h>

/** All zero is an empty set. */
typedef struct tn_names {
    char **at; /**< the names, NUL at the end; each stays where it is until tn_names_free() */
    uint64_t count, capacity;
    struct tn_name_slot *slots; /**< slot_count is a power of two, at least 4/3 of count */
    uint64_t slot_count;
    uint64_t seed[2];
} tn_names;

/** Adds a copy of a name without NUL in it: its number is the old count. TN_E_INPUT: it was there already;
 * TN_E_MEMORY; TN_E_IO: no random seed to be had. */
int32_t tn_names_add(tn_names *names, const char *text, uint64_t size);
/** Takes back the name that was added last. */
void tn_names_drop_last(tn_names *names);
/** Its number, or -1. */
int64_t tn_names_find(const tn_names *names, const char *text, uint64_t size);
void tn_names_free(tn_names *names);

#endif
