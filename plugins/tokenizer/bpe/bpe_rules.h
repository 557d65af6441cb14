/*
 * bpe_rules.h - the rule sets that tokenizer.ggml.pre names: how a text is cut into words before merging, and
 * what else the name settles.
 */
#ifndef TENON_BPE_RULES_H
#define TENON_BPE_RULES_H

#include <stdint.h>

typedef struct tn_stage tn_stage;

/**
 * One regular expression as a function: the end of the piece that begins at `at`, which is before `end`.
 * Pieces are the matches and the gaps between them. The text is well-formed UTF-8 and nothing beyond `end` is
 * looked at.
 */
typedef const unsigned char *(*tn_stage_fn)(const tn_stage *stage, const unsigned char *at,
                                            const unsigned char *end);

/** An expression with its parameters. */
struct tn_stage {
    tn_stage_fn next;
    uint32_t digits;           /**< most digits in one piece */
    const char *after_symbols; /**< characters that a run of symbols takes with it at its end */
};

enum { TN_STAGES_MAX = 8 };

/* What else a name settles. */
enum {
    TN_RULES_WHOLE = 1,       /* a word that is a token is not merged ("ignore_merges") */
    TN_RULES_BOS = 2,         /* BOS is added unless the file says otherwise */
    TN_RULES_SEPARATOR = 4,   /* the separator likewise */
    TN_RULES_NFC = 8,         /* the text is composed first */
    TN_RULES_MASK_STRIPS = 16 /* <mask> takes the white space before it */
};

typedef struct tn_rules {
    const char *name;
    const tn_stage *stages; /**< each cuts the pieces that the one before left */
    uint32_t stage_count;
    uint32_t flags;
} tn_rules;

/** The rules of a name, NULL if it is not known. */
const tn_rules *tn_rules_find(const char *name, uint64_t size);

/** Cuts a text into words by a rule set: set text, at = end = its bounds, then next. */
typedef struct tn_cutter {
    const tn_rules *rules;
    const unsigned char *at;                      /**< where the next word begins */
    const unsigned char *ends[TN_STAGES_MAX + 1]; /**< of the text, then of each stage's present piece */
} tn_cutter;

void tn_cutter_begin(tn_cutter *cutter, const tn_rules *rules, const unsigned char *text, uint64_t size);
/** The end of the next word, which begins at `*begin`; NULL when the text is used up. */
const unsigned char *tn_cutter_next(tn_cutter *cutter, const unsigned char **begin);

#endif
