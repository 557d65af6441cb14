/*
 * token_special.c - see token_special.h. One automaton for all entries reads a text once; it is made when the
 * vocabulary is loaded.
 */
#include "token_special.h"

#include <string.h>

/* By text; of equal texts those that are cut out always come first, then the higher id. */
static int order(const tn_special *a, const tn_special *b) {
    int c = memcmp(a->text, b->text, a->size < b->size ? a->size : b->size);
    if (c) { return c; }
    if (a->size != b->size) { return a->size < b->size ? -1 : 1; }
    int always = (int)(b->flags & TN_SPECIAL_ALWAYS) - (int)(a->flags & TN_SPECIAL_ALWAYS);
    return always ? always : b->id - a->id;
}

static void sift(tn_special *list, uint32_t at, uint32_t count) {
    tn_special moved = list[at];
    for (uint32_t child; (child = 2 * at + 1) < count; at = child) {
        if (child + 1 < count && order(&list[child], &list[child + 1]) < 0) { child++; }
        if (order(&moved, &list[child]) >= 0) { break; }
        list[at] = list[child];
    }
    list[at] = moved;
}

/* Heap sort: in place and n log n for any file. */
static void sort(tn_special *list, uint32_t count) {
    for (uint32_t i = count / 2; i-- > 0;) { sift(list, i, count); }
    for (uint32_t last = count; last-- > 1;) {
        tn_special top = list[0];
        list[0] = list[last];
        list[last] = top;
        sift(list, 0, last);
    }
}

static int same_text(const tn_special *a, const tn_special *b) {
    return a->size == b->size && memcmp(a->text, b->text, a->size) == 0;
}

/* ---- the automaton ----------------------------------------------------------------------------------- */

static uint32_t common_prefix(const tn_special *a, const tn_special *b) {
    uint32_t size = a->size < b->size ? a->size : b->size, n = 0;
    while (n < size && a->text[n] == b->text[n]) { n++; }
    return n;
}

static uint64_t count_nodes(const tn_specials *specials) {
    const tn_special *list = specials->list;
    uint64_t nodes = 1;
    for (uint32_t i = 0; i < specials->count; i++) {
        nodes += list[i].size - (i ? common_prefix(&list[i - 1], &list[i]) : 0);
    }
    return nodes;
}

/* The child of a node by its byte, 0 if there is none. */
static inline uint32_t child_of(const tn_special_node *nodes, uint32_t node, unsigned char byte) {
    uint32_t low = nodes[node].child, high = low + nodes[node].children;
    while (high - low > 4) {
        uint32_t middle = low + (high - low) / 2;
        if (nodes[middle].byte <= byte) {
            low = middle;
        } else {
            high = middle;
        }
    }
    for (; low < high; low++) {
        if (nodes[low].byte == byte) { return low; }
    }
    return 0;
}

/* From a node by a byte, over the ends of its text that go on so. */
static inline uint32_t step(const tn_special_node *nodes, uint32_t node, unsigned char byte) {
    for (;;) {
        uint32_t next = child_of(nodes, node, byte);
        if (next || !node) { return next; }
        node = nodes[node].fail;
    }
}

/* Gives a node its entry and its children, which are the last nodes then. Until all nodes are there, `fail` and
 * `link` are the first and the end of the part of the list that begins with the node's text. */
static uint32_t expand(const tn_special *list, tn_special_node *nodes, uint32_t node, uint32_t last) {
    uint32_t low = nodes[node].fail, high = nodes[node].link, depth = nodes[node].depth;
    if (low < high && list[low].size == depth) { nodes[node].entry = ++low; }
    nodes[node].child = last;
    while (low < high) {
        uint32_t from = low;
        unsigned char byte = list[from].text[depth];
        while (low < high && list[low].text[depth] == byte) { low++; }
        nodes[last++] =
            (tn_special_node){.fail = from, .link = low, .depth = (uint16_t)(depth + 1), .byte = byte};
    }
    nodes[node].children = (uint16_t)(last - nodes[node].child);
    return last;
}

/* Breadth first, so that what a node falls back to is ready before it. */
static int32_t build(tn_specials *specials, tn_arena *arena) {
    uint64_t count = count_nodes(specials);
    tn_special_node *nodes = count < UINT32_MAX ? tn_arena_get(arena, count, sizeof *nodes) : NULL;
    if (!nodes) { return TN_E_MEMORY; }
    nodes[0].link = specials->count;
    uint32_t last = 1;
    for (uint32_t i = 0; i < last; i++) { last = expand(specials->list, nodes, i, last); }
    nodes[0].fail = nodes[0].link = 0;
    for (uint32_t i = 0; i < last; i++) {
        for (uint32_t k = 0; k < nodes[i].children; k++) {
            tn_special_node *child = &nodes[nodes[i].child + k];
            child->fail = i ? step(nodes, nodes[i].fail, child->byte) : 0;
            child->link = nodes[child->fail].entry ? child->fail : nodes[child->fail].link;
        }
    }
    specials->nodes = nodes;
    return TN_OK;
}

/* The only byte with this bit. */
static int16_t only_first(const tn_specials *specials, unsigned char bit) {
    int16_t found = -2;
    for (int16_t b = 0; b < 256; b++) {
        if (!(specials->first[b] & bit)) { continue; }
        if (found >= 0) { return -1; }
        found = b;
    }
    return found;
}

int32_t tn_specials_index(tn_specials *specials, tn_arena *arena) {
    tn_special *list = specials->list;
    sort(list, specials->count);
    uint32_t kept = 0;
    for (uint32_t i = 0; i < specials->count; i++) {
        if (!kept || !same_text(&list[i], &list[kept - 1])) { list[kept++] = list[i]; }
    }
    specials->count = kept;
    for (uint32_t i = 0; i < kept; i++) {
        specials->from[list[i].text[0] + 1] = i + 1;
        specials->first[list[i].text[0]] |= list[i].flags & TN_SPECIAL_ALWAYS ? 3 : 1;
    }
    for (uint32_t b = 1; b < 257; b++) {
        if (specials->from[b] < specials->from[b - 1]) { specials->from[b] = specials->from[b - 1]; }
    }
    specials->only[0] = only_first(specials, 1);
    specials->only[1] = only_first(specials, 2);
    return build(specials, arena);
}

int tn_specials_always(const tn_specials *specials) {
    for (uint32_t i = 0; i < specials->count; i++) {
        if (specials->list[i].flags & TN_SPECIAL_ALWAYS) { return 1; }
    }
    return 0;
}

int tn_specials_strip(const tn_specials *specials) {
    for (uint32_t i = 0; i < specials->count; i++) {
        uint32_t flags = specials->list[i].flags;
        if ((flags & TN_SPECIAL_ALWAYS) && (flags & (TN_SPECIAL_STRIP_LEFT | TN_SPECIAL_STRIP_RIGHT))) {
            return 1;
        }
    }
    return 0;
}

/* ---- reading a text ---------------------------------------------------------------------------------- */

static int ascii_space(unsigned char c) {
    return c == ' ' || (c >= '\t' && c <= '\r');
}

/* The next place where an entry can begin. */
static uint64_t skip(const tn_specials *specials, const unsigned char *text, uint64_t size, uint64_t at,
                     int special) {
    int only = specials->only[!special];
    if (only == -2) { return size; }
    if (only >= 0) {
        const unsigned char *found = memchr(text + at, only, size - at);
        return found ? (uint64_t)(found - text) : size;
    }
    unsigned char wanted = special ? 1 : 2;
    while (at < size && !(specials->first[text[at]] & wanted)) { at++; }
    return at;
}

/* Where the last range ends that begins before `end`; *next moves on behind it. */
static uint64_t plain_before(const tn_plain *plain, uint64_t end, uint64_t *next, uint64_t last) {
    for (; *next < plain->count && plain->ranges[2 * *next] < end; ++*next) {
        if (plain->ranges[2 * *next + 1] > plain->ranges[2 * *next]) { last = plain->ranges[2 * *next + 1]; }
    }
    return last;
}

/* The longest entry that ends where the text has come to `node` and counts there: no other may begin before
 * `free`, where plain bytes end. */
static const tn_special *entry_at(const tn_specials *specials, uint32_t node, uint64_t end, int special,
                                  uint64_t free) {
    if (!specials->nodes[node].entry) { node = specials->nodes[node].link; }
    for (; node; node = specials->nodes[node].link) {
        const tn_special *entry = &specials->list[specials->nodes[node].entry - 1];
        if ((entry->flags & TN_SPECIAL_ALWAYS) || (special && end - entry->size >= free)) { return entry; }
    }
    return NULL;
}

/* The first entry in the text, the longest there; NULL if there is none. */
static const tn_special *find(const tn_specials *specials, const unsigned char *text, uint64_t size,
                              uint64_t at, int special, tn_plain *plain, uint64_t *begin) {
    const tn_special *found = NULL;
    uint64_t range = plain->past, free = 0;
    uint32_t node = 0;
    for (uint64_t i = at; i < size; i++) {
        if (!node) {
            if (found || (i = skip(specials, text, size, i, special)) == size) { break; }
        }
        node = step(specials->nodes, node, text[i]);
        if (found && i + 1 - specials->nodes[node].depth > *begin) { break; }
        if (!specials->nodes[node].entry && !specials->nodes[node].link) { continue; }
        free = plain_before(plain, i + 1, &range, free);
        const tn_special *entry = entry_at(specials, node, i + 1, special, free);
        if (entry && (!found || i + 1 - entry->size <= *begin)) {
            found = entry;
            *begin = i + 1 - entry->size;
        }
    }
    return found;
}

tn_stretch tn_specials_next(const tn_specials *specials, const unsigned char *text, uint64_t size,
                            uint64_t at, int special, tn_plain *plain) {
    tn_plain none = {0};
    uint64_t begin = 0;
    if (!plain) { plain = &none; }
    while (plain->past < plain->count && plain->ranges[2 * plain->past + 1] <= at) { plain->past++; }
    const tn_special *found = find(specials, text, size, at, special, plain, &begin);
    if (!found) { return (tn_stretch){at, size, size, -1}; }
    tn_stretch stretch = {at, begin, begin + found->size, found->id};
    while ((found->flags & TN_SPECIAL_STRIP_LEFT) && stretch.end > at && ascii_space(text[stretch.end - 1])) {
        stretch.end--;
    }
    while ((found->flags & TN_SPECIAL_STRIP_RIGHT) && stretch.next < size &&
           ascii_space(text[stretch.next])) {
        stretch.next++;
    }
    return stretch;
}
