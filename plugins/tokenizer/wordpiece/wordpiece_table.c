/*
 * wordpiece_table.c - making the table of short words.
 */
#include "wordpiece_table.h"

#include "tenon/abi.h"

int32_t tn_table_create(tn_wordpiece_table *table, tn_arena *arena, uint32_t words) {
    uint32_t bits = 4;
    while (bits < 31 && 1u << (bits - 1) < words) { bits++; }
    uint64_t count = (1ull << bits) + TN_TABLE_PROBES - 1;
    table->slots = tn_arena_get(arena, count, sizeof *table->slots);
    if (!table->slots) { return TN_E_MEMORY; }
    table->shift = 64 - bits;
    table->seed = (uint64_t)(uintptr_t)table->slots * 0x8ebc6af09c88c6e3u;
    return TN_OK;
}

void tn_table_put(tn_wordpiece_table *table, tn_short_word word, int32_t id) {
    tn_table_slot *slot = &table->slots[tn_table_place(table, word)];
    for (int i = 0; i < TN_TABLE_PROBES; i++, slot++) {
        if (!slot->low || (slot->low == word.low && slot->high == word.high)) {
            *slot = (tn_table_slot){word.low, word.high, id};
            return;
        }
    }
}
