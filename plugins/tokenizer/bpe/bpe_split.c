/*
 * bpe_split.c - see bpe_split.h: the expressions that cut whole texts. A regular expression takes the first
 * alternative that matches, each greedily; the functions below follow that order, with the backtracking worked
 * out beforehand.
 */
#include "bpe_split.h"

#include "bpe_sets.h"
#include "token_hash.h"

typedef const unsigned char *place;

enum { LETTER = TN_LETTER, NUMBER = TN_NUMBER };
static const uint32_t symbol = ~(TN_SPACE | TN_LETTER | TN_NUMBER);
static const uint32_t upper =
    1u << TN_CLASS_LU | 1u << TN_CLASS_LT | 1u << TN_CLASS_LM | 1u << TN_CLASS_LO | TN_MARK;
static const uint32_t lower = 1u << TN_CLASS_LL | 1u << TN_CLASS_LM | 1u << TN_CLASS_LO | TN_MARK;

static inline int is_at(place at, place end, uint32_t classes) {
    uint32_t size;
    return at < end && (tn_unicode_look(at, &size) & classes);
}

static const uint64_t each = 0x0101010101010101u;

/* The top bit of each of eight bytes that is no ASCII letter. */
static inline uint64_t no_letters(uint64_t bytes) {
    uint64_t lower_case = (bytes & 0x7f * each) | 0x20 * each;
    uint64_t from_a = lower_case + (0x80 - 'a') * each, behind_z = lower_case + (0x7f - 'z') * each;
    return (bytes | ~from_a | behind_z) & 0x80 * each;
}

/* Behind the ASCII letters at `at`, or some of them: eight at a time, since a loop over single ones ends where no
 * branch foresees it. */
static inline place ascii_letters(place at, place end) {
    for (; end - at >= 8; at += 8) {
        uint64_t others = no_letters(tn_hash_load(at));
        if (others) { return at + __builtin_ctzll(others) / 8; }
    }
    return at;
}

/* The end of a run of the classes. */
static inline place run(place at, place end, uint32_t classes) {
    uint32_t size;
    if (!(~classes & LETTER)) { at = ascii_letters(at, end); }
    while (at < end && (tn_unicode_look(at, &size) & classes)) { at += size; }
    return at;
}

/* The same for at most `most` characters. */
static inline place run_most(place at, place end, uint32_t classes, uint32_t most) {
    uint32_t size;
    for (; most && at < end && (tn_unicode_look(at, &size) & classes); most--) { at += size; }
    return at;
}

uint32_t tn_split_contraction(const unsigned char *at, const unsigned char *end, int any_case) {
    if (end - at < 2 || at[0] != '\'') { return 0; }
    unsigned char fold = any_case ? 0x20 : 0;
    unsigned char a = at[1] | fold;
    if (a == 's' || a == 't' || a == 'm' || a == 'd') { return 2; }
    if (end - at < 3) { return 0; }
    if (any_case && at[1] == 0xc5 && at[2] == 0xbf) { return 3; }
    unsigned char b = at[2] | fold;
    return (a == 'r' && b == 'e') || (a == 'v' && b == 'e') || (a == 'l' && b == 'l') ? 3 : 0;
}

/* \s+(?!\S)|\s+ and, before it, with `newlines`, \s*[\r\n]+; at white space. */
static place space(place at, place end, int newlines) {
    place last = at, newline = NULL, here = at;
    uint32_t size, class;
    for (; here < end && ((class = tn_unicode_look(here, &size)) & TN_SPACE); here += size) {
        last = here;
        if (class & TN_NEWLINE) { newline = here + 1; }
    }
    if (newlines && newline) { return newline; }
    return here < end && last > at ? last : here;
}

TN_SPLITTER(tn_split_gpt2) {
    (void)stage;
    uint32_t size = tn_split_contraction(at, end, 0);
    if (size) { return at + size; }
    place word = at + (*at == ' ');
    if (word < end) {
        uint32_t class = tn_unicode_look(word, &size);
        if (class & LETTER) { return run(word + size, end, LETTER); }
        if (class & NUMBER) { return run(word + size, end, NUMBER); }
        if (class & symbol) { return run(word + size, end, symbol); }
    }
    return space(at, end, 0);
}

/* ---- CI|[^no_prefix]?[letters]+|\p{N}{1,most}| ?[symbols]+[after]*|\s*[\r\n]+|WS ------------------------- */

/* Everything but the shape of the words. A character that begins none of them is part of a gap, which goes on
 * until something matches: such a character too, if it is the prefix of a word. */
static inline place no_word(const tn_stage *stage, const tn_shape *shape, place at, place end) {
    uint32_t size, class = tn_unicode_look(at, &size);
    if (stage->most && (class & NUMBER)) { return run_most(at, end, NUMBER, stage->most); }
    place symbols = at + (*at == ' ');
    if (is_at(symbols, end, shape->symbols)) {
        place here = run(symbols, end, shape->symbols);
        for (uint32_t most = shape->flags & TN_SHAPE_ONE_AFTER ? 1 : TN_NO_LIMIT; most; most--, here++) {
            if (here == end || *here > '/' || !*here || !strchr(stage->after, *here)) { break; }
        }
        return here;
    }
    if (shape->flags & TN_SHAPE_ONE_NEWLINE) {
        if (class & TN_NEWLINE) { return at + 1; }
        if (class & TN_SPACE) { return space(at, end, 0); }
    }
    if (class & TN_SPACE) { return space(at, end, 1); }
    uint32_t known = shape->letters | shape->symbols | TN_SPACE | (stage->most ? NUMBER : 0);
    do {
        at += size;
    } while (at < end && !((class = tn_unicode_look(at, &size)) & known) &&
             ((class & shape->no_prefix) || !is_at(at + size, end, shape->letters)));
    return at;
}

/* \p{L}\p{M}*(?: ?\p{L}\p{M}*)*, behind the first letter. */
static place phrase(place at, place end) {
    uint32_t size;
    while (at < end) {
        if (tn_unicode_look(at, &size) & (LETTER | TN_MARK)) {
            at += size;
        } else if (*at == ' ' && is_at(at + 1, end, LETTER)) {
            at++;
        } else {
            break;
        }
    }
    return at;
}

static int is_ascii_letter(place at, place end) {
    return at < end && (unsigned char)((*at | 0x20) - 'a') < 26;
}

/* [!-/:-@\[-`{-~][A-Za-z]+; NULL: no match. */
static place ascii_word(place at, place end) {
    static const uint32_t not_symbol = LETTER | NUMBER | TN_SPACE | 1u << TN_CLASS_CC;
    if (*at >= 0x80 || is_at(at, end, not_symbol) || !is_ascii_letter(at + 1, end)) { return NULL; }
    do { at++; } while (is_ascii_letter(at + 1, end));
    return at + 1;
}

static inline place words(const tn_stage *stage, const tn_shape *shape, place at, place end) {
    if (shape->flags & TN_SHAPE_CONTRACTIONS) {
        uint32_t bytes = *at == '\'' ? tn_split_contraction(at, end, 1) : 0;
        if (bytes) { return at + bytes; }
    }
    if (shape->flags & TN_SHAPE_ASCII_WORDS) {
        place word = ascii_word(at, end);
        if (word) { return word; }
    }
    uint32_t size, class = tn_unicode_look(at, &size), more = 0, next = 0;
    if (at + size < end) { next = tn_unicode_look(at + size, &more); }
    int begins = (class & shape->letters) != 0,
        follows = !(class & shape->no_prefix) & ((next & shape->letters) != 0);
    if (begins | follows) { /* which of them no branch foresees */
        if (shape->flags & TN_SHAPE_PHRASES) { return phrase(at + size, end); }
        return run(at + size, end, shape->letters);
    }
    return no_word(stage, shape, at, end);
}

static const tn_shape usual = {LETTER, TN_NEWLINE | LETTER | NUMBER, ~(TN_SPACE | LETTER | NUMBER),
                               TN_SHAPE_CONTRACTIONS};

/* Most words are ASCII letters behind a space or another letter, and end before the eighth byte. */
TN_SPLITTER(tn_split_words) {
    if (end - at >= 8) {
        uint64_t bytes = tn_hash_load(at), others = no_letters(bytes);
        unsigned char first = (unsigned char)bytes;
        int begins = (others & 0x80) == 0 || (first == ' ' && (others & 0x8000) == 0);
        uint64_t behind = others & ~0x80ull;
        if (begins && behind) {
            place here = at + __builtin_ctzll(behind) / 8;
            return *here < 0x80 ? here : run(here, end, LETTER);
        }
    }
    return words(stage, &usual, at, end);
}

TN_SPLITTER(tn_split_shaped) {
    return words(stage, stage->shape, at, end);
}

/* ---- words cut at capitals ---------------------------------------------------------------------------- */

/* The class of a character; without Han letters, as if they had none. */
static inline uint32_t look(place at, uint32_t *size, int han) {
    uint32_t class = tn_unicode_look(at, size);
    return han && *at >= 0xe2 && tn_set_has(tn_set_han, at, size) ? 0 : class;
}

static inline place lower_run(place at, place end, int han) {
    uint32_t size;
    while (at < end && (look(at, &size, han) & lower)) { at += size; }
    return at;
}

/* UP*LOW+. Letters without case, modifiers and marks are of both sets: where no lower-case letter follows the
 * run of UP, the match ends behind the last of those. NULL: no match. */
static inline place lower_word(place at, place end, int han) {
    place both = NULL;
    uint32_t size, class = 0;
    for (; at < end && ((class = look(at, &size, han)) & upper); at += size) {
        if (class & lower) { both = at + size; }
    }
    return at < end && (class & lower) ? lower_run(at, end, han) : both;
}

/* UP+LOW* */
static inline place upper_word(place at, place end, int han) {
    place here = at;
    uint32_t size;
    while (here < end && (look(here, &size, han) & upper)) { here += size; }
    return here == at ? NULL : lower_run(here, end, han);
}

static inline place cased(const tn_stage *stage, place at, place end, int han, int contractions) {
    uint32_t size, class = tn_unicode_look(at, &size);
    place inner =
        class & (TN_NEWLINE | LETTER | NUMBER) ? NULL : at + size; /* behind the optional first character */
    place word = inner ? lower_word(inner, end, han) : NULL;
    if (!word) { word = lower_word(at, end, han); }
    if (!word && inner) { word = upper_word(inner, end, han); }
    if (!word) { word = upper_word(at, end, han); }
    if (word) { return contractions ? word + tn_split_contraction(word, end, 1) : word; }
    return no_word(stage, &usual, at, end);
}

TN_SPLITTER(tn_split_cased) {
    return cased(stage, at, end, 0, 1);
}

TN_SPLITTER(tn_split_cased_only) {
    return cased(stage, at, end, 0, 0);
}

TN_SPLITTER(tn_split_han) {
    uint32_t size;
    place here = at;
    while (here < end && tn_set_has(tn_set_han, here, &size)) { here += size; }
    return here > at ? here : cased(stage, at, end, 1, 1);
}
