/*
 * bpe_merges.h - a merge as the file writes it.
 */
#ifndef TENON_BPE_MERGES_H
#define TENON_BPE_MERGES_H

#include "tenon/meta.h"

#include <string.h>

/** Splits "left right" at the first space behind the first byte; 0: it is no merge. */
static inline int tn_bpe_split_merge(tn_text text, tn_text *left, tn_text *right) {
    const char *space = text.size > 1 ? memchr(text.data + 1, ' ', text.size - 1) : NULL;
    uint64_t size = space ? (uint64_t)(space - text.data) : text.size;
    *left = (tn_text){text.data, size};
    *right = space ? (tn_text){space + 1, text.size - size - 1} : (tn_text){0};
    return right->size > 0 && text.size < UINT32_MAX;
}

#endif
