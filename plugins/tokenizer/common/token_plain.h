/*
 * token_plain.h - the partition of a text of which parts are plain (tn_encode.plain): an entry that only counts
 * where special text is asked for must not touch a plain byte; those that are always cut out are, everywhere.
 */
#ifndef TENON_TOKEN_PLAIN_H
#define TENON_TOKEN_PLAIN_H

#include "tenon/tokenizer.h"
#include "token_special.h"

typedef struct tn_partition {
    const tn_specials *specials;
    const unsigned char *text;
    uint64_t size;
    int special;
    tn_plain plain;
    uint64_t at; /**< where the next stretch begins */
} tn_partition;

/** Of a call's text. */
static inline tn_partition tn_partition_of(const tn_specials *specials, const tn_encode *call) {
    tn_partition p = {.specials = specials,
                      .text = (const unsigned char *)call->text,
                      .size = call->text_size,
                      .special = (call->flags & TN_ENCODE_SPECIAL) != 0};
    if (TN_HAS(call, plain_count)) { p.plain = (tn_plain){call->plain, call->plain_count, 0}; }
    return p;
}

/** The stretch that begins at p->at, which moves on. */
static inline tn_stretch tn_partition_next(tn_partition *p) {
    tn_stretch found = tn_specials_next(p->specials, p->text, p->size, p->at, p->special, &p->plain);
    p->at = found.next;
    return found;
}

#endif
