/*
 * token_special.h - the partition of a text: entries of the vocabulary that are cut out of it as they stand,
 * the leftmost first, and there the longest.
 */
#ifndef TENON_TOKEN_SPECIAL_H
#define TENON_TOKEN_SPECIAL_H

#include "tenon/meta.h"
#include "token_memory.h"

/** Longest text that may be cut out: bounds the work at each place of a text. */
#define TN_SPECIAL_LONGEST 1024

/* What a special entry does. */
enum {
    TN_SPECIAL_ALWAYS = 1,     /* USER_DEFINED: in any text; others only where special text is asked for */
    TN_SPECIAL_STRIP_LEFT = 2, /* takes the ASCII white space before it */
    TN_SPECIAL_STRIP_RIGHT = 4 /* ... behind it */
};

typedef struct tn_special {
    const unsigned char *text;
    uint32_t size;
    uint32_t flags;
    int32_t id;
} tn_special;

typedef struct tn_specials {
    tn_special *list; /**< sorted by text, each text once */
    uint32_t count;
    uint32_t from[257];       /**< those that begin with byte b: list[from[b]] up to list[from[b + 1]] */
    unsigned char first[256]; /**< 1: some text begins so; 2: one that is cut out always does */
} tn_specials;

/** One stretch of text, and what follows it. */
typedef struct tn_stretch {
    uint64_t begin, end; /**< text; may be empty */
    uint64_t next;       /**< where to go on */
    int32_t id;          /**< entry behind the text; -1: the text ends here */
} tn_stretch;

/** Sorts specials->list, joins equal texts and builds the index. */
void tn_specials_index(tn_specials *specials);
/** 1 if some entry is cut out of any text; 1 if such a one also takes white space beside it. */
int tn_specials_always(const tn_specials *specials);
int tn_specials_strip(const tn_specials *specials);
/** The stretch that begins at `at`. */
tn_stretch tn_specials_next(const tn_specials *specials, const unsigned char *text, uint64_t size,
                            uint64_t at, int special);

#endif
