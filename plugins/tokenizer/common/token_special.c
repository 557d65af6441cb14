/*
 * token_special.c - finding special entries: the sorted list is narrowed byte by byte from each place where
 * one can begin. No memory per call, no more than TN_SPECIAL_LONGEST steps at a place.
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

void tn_specials_index(tn_specials *specials) {
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

/* The first of list[low] to list[high - 1], which agree up to `depth`, whose byte there is at least `byte`.
 */
static uint32_t narrow(const tn_special *list, uint32_t low, uint32_t high, uint32_t depth, uint32_t byte) {
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (list[middle].text[depth] < byte) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

/* The longest entry at the start of `text`, NULL if there is none. */
static const tn_special *longest(const tn_specials *specials, const unsigned char *text, uint64_t size,
                                 int special) {
    const tn_special *found = NULL;
    uint32_t low = specials->from[text[0]], high = specials->from[text[0] + 1];
    for (uint32_t depth = 1; low < high; depth++) {
        const tn_special *head = &specials->list[low];
        if (head->size == depth) { /* the shortest comes first */
            if (special || (head->flags & TN_SPECIAL_ALWAYS)) { found = head; }
            low++;
        }
        if (depth == size || low == high) { break; }
        high = narrow(specials->list, low, high, depth, text[depth] + 1u);
        low = narrow(specials->list, low, high, depth, text[depth]);
    }
    return found;
}

static int ascii_space(unsigned char c) {
    return c == ' ' || (c >= '\t' && c <= '\r');
}

tn_stretch tn_specials_next(const tn_specials *specials, const unsigned char *text, uint64_t size,
                            uint64_t at, int special) {
    unsigned char wanted = special ? 1 : 2;
    for (uint64_t i = at; i < size; i++) {
        if (!(specials->first[text[i]] & wanted)) { continue; }
        const tn_special *found = longest(specials, text + i, size - i, special);
        if (!found) { continue; }
        tn_stretch stretch = {at, i, i + found->size, found->id};
        while ((found->flags & TN_SPECIAL_STRIP_LEFT) && stretch.end > at &&
               ascii_space(text[stretch.end - 1])) {
            stretch.end--;
        }
        while ((found->flags & TN_SPECIAL_STRIP_RIGHT) && stretch.next < size &&
               ascii_space(text[stretch.next])) {
            stretch.next++;
        }
        return stretch;
    }
    return (tn_stretch){at, size, size, -1};
}
