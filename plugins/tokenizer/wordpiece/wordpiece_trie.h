/*
 * wordpiece_trie.h - the pieces as a trie of bytes in two arrays: the child of node n for byte b is the cell
 * base(n) + b, if that cell says that n is its parent. Two roots: pieces that begin a word, and the others.
 */
#ifndef TENON_WORDPIECE_TRIE_H
#define TENON_WORDPIECE_TRIE_H

#include "token_memory.h"

enum { TN_TRIE_START = 0, TN_TRIE_INSIDE = 1, TN_TRIE_ROOTS = 2 };

typedef struct tn_trie_cell {
    uint32_t base;   /**< shifted left by one; 1 in the lowest bit: a piece ends here */
    uint32_t parent; /**< UINT32_MAX: no node */
} tn_trie_cell;

typedef struct tn_trie {
    const tn_trie_cell *cells; /**< a base and any byte stay inside */
    const int32_t *ids;        /**< of the piece that ends at a cell */
    uint32_t count;
} tn_trie;

/** A piece to put in; of equal ones under the same root the last counts. */
typedef struct tn_trie_piece {
    const unsigned char *text; /**< at least one byte */
    uint32_t size;
    uint32_t root;
    int32_t id;
} tn_trie_piece;

/** Builds the trie in time and memory linear in the size of the pieces. TN_OK or TN_E_MEMORY. */
int32_t tn_trie_build(tn_trie *trie, tn_arena *arena, const tn_trie_piece *pieces, uint32_t count);

/** The id of the longest piece at the start of a text and, in *stop, the place behind it; -1: none. */
static inline int32_t tn_trie_longest(const tn_trie *trie, uint32_t root, const unsigned char *text,
                                      const unsigned char *end, const unsigned char **stop) {
    uint32_t node = root, found = 0, base = trie->cells[root].base;
    while (text < end) {
        uint32_t next = (base >> 1) + *text++;
        tn_trie_cell cell = trie->cells[next];
        if (cell.parent != node) { break; }
        node = next;
        base = cell.base;
        if (base & 1) {
            found = node;
            *stop = text;
        }
    }
    return found ? trie->ids[found] : -1;
}

#endif
