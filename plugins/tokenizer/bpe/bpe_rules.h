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

/**
 * Where the pieces of an expression begin among the bytes behind `at`, which one begins at: a bit for each of the next
 * 64, but only for those that are certain. 0: ask the expression itself for the next one.
 */
typedef uint64_t (*tn_marks_fn)(const tn_stage *stage, const unsigned char *at, const unsigned char *end);

/** A set of characters. Of those above ASCII: some classes (bits of unicode_tables.h), to which ranges are added
 * or, with `except`, from which they are taken away. */
typedef struct tn_set {
    uint64_t ascii[2]; /**< bit c % 64 of number c / 64 */
    uint32_t classes;
    const uint32_t (*ranges)[2]; /**< first and last of each, ascending */
    uint32_t count, except;
} tn_set;

/** The classes of an expression of the common shape (bpe_split.h), and its peculiarities. */
typedef struct tn_shape {
    uint32_t letters, no_prefix, symbols, flags;
} tn_shape;

enum {
    TN_SHAPE_CONTRACTIONS = 1, /* 's|'t|'re|'ve|'m|'ll|'d come first */
    TN_SHAPE_ASCII_WORDS = 2,  /* an ASCII symbol and ASCII letters come first */
    TN_SHAPE_PHRASES = 4,      /* words joined by single spaces are one; they have marks behind letters */
    TN_SHAPE_ONE_AFTER = 8,    /* symbols take one character along, not a run */
    TN_SHAPE_ONE_NEWLINE = 16  /* a newline is a piece of its own, white space before it another */
};

/** An expression with its parameters; which of them count is the function's. */
struct tn_stage {
    tn_stage_fn next;
    tn_marks_fn marks;     /**< a quicker way for a stage that is the only one; NULL: there is none */
    uint32_t most;         /**< most digits (characters of a run) in one piece; 0: no pieces of digits */
    uint32_t lead;         /**< TN_LEAD_*: what a run takes along in front */
    const char *after;     /**< characters that a run of symbols takes along at its end */
    const tn_shape *shape; /**< of tn_split_shaped */
    uint32_t classes;      /**< what a run consists of, where that is no set */
    const tn_set *sets;    /**< alternatives */
    uint32_t set_count;
    const unsigned char *joins; /**< of tn_split_joined: [256] */
};

enum { TN_LEAD_SPACE = 1, TN_LEAD_WHITE = 2 };
#define TN_NO_LIMIT UINT32_MAX

enum { TN_STAGES_MAX = 8 };

/* What else a name settles. */
enum {
    TN_RULES_WHOLE = 1,         /* a word that is a token is not merged ("ignore_merges") */
    TN_RULES_BOS = 2,           /* BOS is added unless the file says otherwise */
    TN_RULES_SEPARATOR = 4,     /* the separator likewise */
    TN_RULES_NFC = 8,           /* the text is composed first */
    TN_RULES_MASK_STRIPS = 16,  /* <mask> and [MASK] take the white space before them */
    TN_RULES_NO_BOS_ID = 32,    /* without a key there is no BOS */
    TN_RULES_BY_ID = 64,        /* without merges, the lower of two ids is the earlier merge */
    TN_RULES_RAW = 128,         /* entries are UTF-8 as it stands, not the byte alphabet */
    TN_RULES_SPACES = 256,      /* spaces become U+2581 */
    TN_RULES_PREFIX = 512,      /* ... and one is put before each line that has none */
    TN_RULES_ALWAYS_BOS = 1024, /* BOS is added, whatever the file says */
    TN_RULES_NEWLINES = 2048,   /* newlines that are a token are not merged */
    TN_RULES_NO_WHITE = 4096    /* words of white space are left out */
};

typedef struct tn_rules {
    const char *name;
    const tn_stage *stages; /**< each cuts the pieces that the one before left */
    uint32_t stage_count;
    uint32_t flags;
} tn_rules;

/** The rules of a name, NULL if it is not known. */
const tn_rules *tn_rules_find(const char *name, uint64_t size);
/** The rules of an architecture whose files name none; NULL: they have to. */
const tn_rules *tn_rules_of_architecture(const char *name, uint64_t size);

/** Cuts a text into words by a rule set: set text, at = end = its bounds, then next. */
typedef struct tn_cutter {
    const tn_rules *rules;
    const unsigned char *at;                      /**< where the next word begins */
    const unsigned char *ends[TN_STAGES_MAX + 1]; /**< of the text, then of each stage's present piece */
    const unsigned char *block;                   /**< where `marks` begin */
    uint64_t marks;                               /**< begins of words behind `at` that are known already */
} tn_cutter;

void tn_cutter_begin(tn_cutter *cutter, const tn_rules *rules, const unsigned char *text, uint64_t size);
/** The same where no mark is left. */
const unsigned char *tn_cutter_look(tn_cutter *cutter, const unsigned char **begin);

/** The end of the next word, which begins at `*begin`; NULL when the text is used up. */
static inline const unsigned char *tn_cutter_next(tn_cutter *cutter, const unsigned char **begin) {
    if (!cutter->marks) { return tn_cutter_look(cutter, begin); }
    *begin = cutter->at;
    cutter->at = cutter->block + __builtin_ctzll(cutter->marks);
    cutter->marks &= cutter->marks - 1;
    return cutter->at;
}

#endif
