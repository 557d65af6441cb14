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

/** A prefix of entries. Its children, one byte longer, lie together, by that byte; number 0 is the empty one. */
typedef struct tn_special_node {
    uint32_t child, fail; /**< first child; the longest node that is a proper end of this one's text */
    uint32_t link;        /**< the longest such that is an entry, 0: none */
    uint32_t entry;       /**< number in `list` and 1, 0: none */
    uint16_t children, depth;
    unsigned char byte; /**< its last */
} tn_special_node;

typedef struct tn_specials {
    tn_special *list; /**< sorted by text, each text once */
    uint32_t count;
    uint32_t from[257];       /**< those that begin with byte b: list[from[b]] up to list[from[b + 1]] */
    unsigned char first[256]; /**< 1: some text begins so; 2: one that is cut out always does */
    int16_t only[2];          /**< the only byte with 1, with 2; -1: several, -2: none */
    tn_special_node *nodes;   /**< Aho and Corasick's automaton */
} tn_specials;

/** One stretch of text, and what follows it. */
typedef struct tn_stretch {
    uint64_t begin, end; /**< text; may be empty */
    uint64_t next;       /**< where to go on */
    int32_t id;          /**< entry behind the text; -1: the text ends here */
} tn_stretch;

/** Ranges of bytes that no entry may touch but those that are always cut out: begin, end; ascending, disjoint. */
typedef struct tn_plain {
    const uint64_t *ranges;
    uint64_t count;
    uint64_t past; /**< those that end before where the text is read: only ever moved on */
} tn_plain;

/** Sorts specials->list, joins equal texts and builds the rest; the arena keeps it. TN_OK or TN_E_MEMORY. */
int32_t tn_specials_index(tn_specials *specials, tn_arena *arena);
/** 1 if some entry is cut out of any text; 1 if such a one also takes white space beside it. */
int tn_specials_always(const tn_specials *specials);
int tn_specials_strip(const tn_specials *specials);
/** The stretch that begins at `at`, in time linear in what is read of the text. `plain` may be NULL. */
tn_stretch tn_specials_next(const tn_specials *specials, const unsigned char *text, uint64_t size,
                            uint64_t at, int special, tn_plain *plain);

#endif
