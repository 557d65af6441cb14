/*
 * wordpiece_table.h - short ASCII words that are one piece, which most words of most texts are: one look-up in
 * place of a walk through the trie. Words that find no place near where they belong are left out, and whoever
 * does not find a word here asks the trie: no result depends on this table.
 */
#ifndef TENON_WORDPIECE_TABLE_H
#define TENON_WORDPIECE_TABLE_H

#include "token_memory.h"

#include <string.h>

enum { TN_SHORT_WORD = 12, TN_TABLE_PROBES = 6 };

/** A word of at most TN_SHORT_WORD bytes without NUL, zeros behind it. */
typedef struct tn_short_word {
    uint64_t low;
    uint32_t high;
} tn_short_word;

typedef struct tn_table_slot {
    uint64_t low; /**< 0: free */
    uint32_t high;
    int32_t id;
} tn_table_slot;

typedef struct tn_wordpiece_table {
    tn_table_slot *slots; /**< TN_TABLE_PROBES - 1 more than shift says, so that probes need not wrap */
    uint32_t shift;       /**< 64 - log2 of the slots */
    uint64_t seed;        /**< differs from run to run */
} tn_wordpiece_table;

/** TN_OK or TN_E_MEMORY. */
int32_t tn_table_create(tn_wordpiece_table *table, tn_arena *arena, uint32_t words);
/** An equal word that is there gets the new id. */
void tn_table_put(tn_wordpiece_table *table, tn_short_word word, int32_t id);

/** Where a word belongs. */
static inline uint32_t tn_table_place(const tn_wordpiece_table *table, tn_short_word word) {
    uint64_t h = (word.low ^ table->seed) * 0x9e3779b97f4a7c15u;
    h = (h ^ h >> 32 ^ word.high) * 0xd6e8feb86659fd93u;
    return (uint32_t)(h >> table->shift);
}

/** The id of a word, whose place has been worked out; -1 if it is not there. */
static inline int32_t tn_table_find(const tn_wordpiece_table *table, uint32_t place, tn_short_word word) {
    const tn_table_slot *slot = &table->slots[place];
    for (int i = 0; i < TN_TABLE_PROBES && slot->low; i++, slot++) {
        if (slot->low == word.low && slot->high == word.high) { return slot->id; }
    }
    return -1;
}

#endif
