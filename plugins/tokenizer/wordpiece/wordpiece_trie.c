/*
 * wordpiece_trie.c - first a trie of linked nodes, in the order of the vocabulary, then a place in the arrays
 * for the children of each node. The search for a place looks at few cells and then takes fresh ones, so that
 * no vocabulary makes it slow; nodes with one child fill the holes.
 */
#include "wordpiece_trie.h"

#include "tenon/errors.h"

#include <string.h>

#define FREE UINT32_MAX
enum { WINDOW = 256, TABLES = TN_TRIE_ROOTS * 257, CELLS_MAX = INT32_MAX - 1024 };

typedef struct node {
    uint32_t child, next; /* first child, next child of the same parent; 0: none */
    int32_t id;
    uint32_t cell;  /* where it lies in the arrays */
    uint16_t table; /* one more than the number of its table of children; 0: none */
    unsigned char byte;
} node;

typedef struct builder {
    const tn_host *host;
    node *nodes;
    uint32_t node_count;
    uint32_t (*tables)[256]; /* children by byte, of the roots and their children: these have many */
    uint32_t table_count;
    tn_trie_cell *cells;
    uint64_t *used; /* a bit for each cell */
    uint32_t capacity;
    uint32_t top;    /* behind the last cell in use */
    uint32_t first;  /* no cell before it is free */
    uint32_t recent; /* where fresh cells were taken last */
} builder;

/* ---- linked ------------------------------------------------------------------------------------------- */

static uint32_t add_node(builder *b, uint32_t parent, unsigned char byte) {
    uint32_t i = b->node_count++;
    b->nodes[i] = (node){.next = b->nodes[parent].child, .id = -1, .byte = byte};
    b->nodes[parent].child = i;
    return i;
}

static uint32_t child_of(builder *b, uint32_t parent, unsigned char byte) {
    if (b->nodes[parent].table) {
        uint32_t *child = &b->tables[b->nodes[parent].table - 1][byte];
        if (!*child) {
            *child = add_node(b, parent, byte);
            if (parent < TN_TRIE_ROOTS) { b->nodes[*child].table = (uint16_t)++b->table_count; }
        }
        return *child;
    }
    for (uint32_t i = b->nodes[parent].child; i; i = b->nodes[i].next) {
        if (b->nodes[i].byte == byte) { return i; }
    }
    return add_node(b, parent, byte);
}

static int32_t link_pieces(builder *b, const tn_trie_piece *pieces, uint32_t count) {
    uint64_t total = TN_TRIE_ROOTS;
    for (uint32_t i = 0; i < count; i++) { total += pieces[i].size; }
    if (total >= CELLS_MAX) { return TN_E_MEMORY; }
    b->nodes = b->host->alloc(b->host, total * sizeof *b->nodes, 64);
    b->tables = b->host->alloc(b->host, TABLES * sizeof *b->tables, 64);
    if (!b->nodes || !b->tables) { return TN_E_MEMORY; }
    memset(b->tables, 0, TABLES * sizeof *b->tables);
    while (b->node_count < TN_TRIE_ROOTS) {
        b->nodes[b->node_count++] = (node){.id = -1, .table = (uint16_t)++b->table_count};
    }
    for (uint32_t i = 0; i < count; i++) {
        uint32_t at = pieces[i].root;
        for (uint32_t k = 0; k < pieces[i].size; k++) { at = child_of(b, at, pieces[i].text[k]); }
        b->nodes[at].id = pieces[i].id;
    }
    return TN_OK;
}

/* ---- in cells ----------------------------------------------------------------------------------------- */

static int is_used(const builder *b, uint32_t cell) {
    return b->used[cell / 64] >> cell % 64 & 1;
}

/* Cells up to top + 512 are there. */
static int32_t make_room(builder *b) {
    if (b->top + 512u <= b->capacity) { return TN_OK; }
    uint64_t capacity = b->capacity ? 2ull * b->capacity : 4096;
    if (capacity > CELLS_MAX) { return TN_E_MEMORY; }
    tn_trie_cell *cells = b->host->alloc(b->host, capacity * sizeof *cells, 64);
    uint64_t *used = b->host->alloc(b->host, capacity / 8, 64);
    if (!cells || !used) {
        b->host->free(b->host, cells);
        b->host->free(b->host, used);
        return TN_E_MEMORY;
    }
    memset(cells, 0xff, capacity * sizeof *cells); /* all FREE */
    memset(used, 0, capacity / 8);
    if (b->capacity) {
        memcpy(cells, b->cells, b->capacity * sizeof *cells);
        memcpy(used, b->used, b->capacity / 8);
    }
    b->host->free(b->host, b->cells);
    b->host->free(b->host, b->used);
    b->cells = cells;
    b->used = used;
    b->capacity = (uint32_t)capacity;
    return TN_OK;
}

/* The first cell from `cell` on that is free. There is one: top. */
static uint32_t next_free(const builder *b, uint32_t cell) {
    uint64_t word = ~b->used[cell / 64] >> cell % 64;
    if (word) { return cell + (uint32_t)__builtin_ctzll(word); }
    uint32_t i = cell / 64 + 1;
    while (!~b->used[i]) { i++; }
    return i * 64 + (uint32_t)__builtin_ctzll(~b->used[i]);
}

static int fits(const builder *b, uint32_t base, const unsigned char *bytes, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        if (is_used(b, base + bytes[i])) { return 0; }
    }
    return 1;
}

/* A base for these children within a window of cells; FREE if there is none. */
static uint32_t search(const builder *b, uint32_t from, const unsigned char *bytes, uint32_t count) {
    uint32_t end = from + WINDOW < b->top ? from + WINDOW : b->top;
    for (uint32_t cell = next_free(b, from); cell < end; cell = next_free(b, cell + 1)) {
        if (cell >= bytes[0] && fits(b, cell - bytes[0], bytes, count)) { return cell - bytes[0]; }
    }
    return FREE;
}

static uint32_t find_base(builder *b, const unsigned char *bytes, uint32_t count) {
    b->first = next_free(b, b->first);
    uint32_t base = count > 4 ? FREE : search(b, b->first, bytes, count); /* many do not fit into holes */
    if (base == FREE) { base = search(b, b->recent, bytes, count); }
    if (base == FREE) { base = b->recent = b->top; }
    return base;
}

static int32_t place_children(builder *b, uint32_t parent) {
    unsigned char bytes[256];
    uint32_t count = 0;
    for (uint32_t i = b->nodes[parent].child; i; i = b->nodes[i].next) { bytes[count++] = b->nodes[i].byte; }
    uint32_t end = b->nodes[parent].id >= 0, cell = b->nodes[parent].cell;
    b->cells[cell].base = end;
    if (!count) { return TN_OK; }
    TN_TRY(make_room(b));
    uint32_t base = find_base(b, bytes, count);
    b->cells[cell].base = base << 1 | end;
    for (uint32_t i = b->nodes[parent].child; i; i = b->nodes[i].next) {
        uint32_t at = base + b->nodes[i].byte;
        b->nodes[i].cell = at;
        b->cells[at].parent = cell;
        b->used[at / 64] |= 1ull << at % 64;
        if (at >= b->top) { b->top = at + 1; }
    }
    return TN_OK;
}

static int32_t place_all(builder *b) {
    b->top = b->recent = b->first = TN_TRIE_ROOTS;
    TN_TRY(make_room(b));
    for (uint32_t i = 0; i < TN_TRIE_ROOTS; i++) {
        b->nodes[i].cell = i;
        b->used[0] |= 1ull << i;
    }
    for (uint32_t i = 0; i < b->node_count; i++) { TN_TRY(place_children(b, i)); }
    return TN_OK;
}

/* Copies what is in use, and 256 cells so that no byte leads outside. */
static int32_t keep(const builder *b, tn_trie *trie, tn_arena *arena) {
    uint32_t count = b->top + 256;
    tn_trie_cell *cells = tn_arena_get(arena, count, sizeof *cells);
    int32_t *ids = tn_arena_get(arena, count, sizeof *ids);
    if (!cells || !ids) { return TN_E_MEMORY; }
    memcpy(cells, b->cells, b->top * sizeof *cells);
    memset(cells + b->top, 0xff, 256 * sizeof *cells);
    for (uint32_t i = 0; i < b->node_count; i++) { ids[b->nodes[i].cell] = b->nodes[i].id; }
    *trie = (tn_trie){cells, ids, count};
    return TN_OK;
}

int32_t tn_trie_build(tn_trie *trie, tn_arena *arena, const tn_trie_piece *pieces, uint32_t count) {
    builder b = {.host = arena->host};
    int32_t code = link_pieces(&b, pieces, count);
    if (code == TN_OK) { code = place_all(&b); }
    if (code == TN_OK) { code = keep(&b, trie, arena); }
    b.host->free(b.host, b.nodes);
    b.host->free(b.host, b.tables);
    b.host->free(b.host, b.cells);
    b.host->free(b.host, b.used);
    return code;
}
