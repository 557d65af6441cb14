/*
 * token_reach.h - whether an entry that is cut out of a text as it stands can reach over a place, whatever
 * follows the text: such a place is none to cut a long text at.
 */
#ifndef TENON_TOKEN_REACH_H
#define TENON_TOKEN_REACH_H

#include "token_special.h"

/* True if one of list[low] to list[high - 1] counts. */
static inline int tn_reach_counts(const tn_special *list, uint32_t low, uint32_t high, int special) {
    for (uint32_t i = low; i < high; i++) {
        if (special || (list[i].flags & TN_SPECIAL_ALWAYS)) { return 1; }
    }
    return 0;
}

/* True if an entry of more than `over` bytes begins at `text`, as far as its `size` bytes tell. */
static inline int tn_reach_from(const tn_specials *specials, const unsigned char *text, uint64_t size,
                                uint64_t over, int special) {
    const tn_special *list = specials->list;
    uint32_t low = specials->from[text[0]], high = specials->from[text[0] + 1];
    for (uint32_t depth = 1; low < high; depth++) {
        if (list[low].size == depth) {
            if (depth > over && tn_reach_counts(list, low, low + 1, special)) { return 1; }
            low++; /* equal texts are one entry, the shortest comes first */
        }
        if (depth == size) { return tn_reach_counts(list, low, high, special); }
        while (low < high && list[low].text[depth] < text[depth]) { low++; }
        uint32_t end = low;
        while (end < high && list[end].text[depth] == text[depth]) { end++; }
        high = end;
    }
    return 0;
}

/** The first place before `at` from which an entry can reach over `at`, or with `ending` just up to it; `at` if
 * there is none. */
static inline uint64_t tn_specials_reach(const tn_specials *specials, const unsigned char *text,
                                         uint64_t size, uint64_t at, int special, int ending) {
    unsigned char wanted = special ? 1 : 2;
    uint64_t from = at > TN_SPECIAL_LONGEST ? at - TN_SPECIAL_LONGEST : 0;
    for (; from < at; from++) {
        if ((specials->first[text[from]] & wanted) &&
            tn_reach_from(specials, text + from, size - from, at - from - (ending != 0), special)) {
            return from;
        }
    }
    return at;
}

#endif
