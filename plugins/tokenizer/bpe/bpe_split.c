/*
 * bpe_split.c - see bpe_split.h. A regular expression takes the first alternative that matches, each
 * greedily; the functions below follow that order, with the backtracking worked out beforehand.
 */
#include "bpe_split.h"

#include "unicode_tables.h"

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

/* The end of a run of the classes. */
static inline place run(place at, place end, uint32_t classes) {
    uint32_t size;
    while (at < end && (tn_unicode_look(at, &size) & classes)) { at += size; }
    return at;
}

/* The same for at most `most` characters. */
static inline place run_most(place at, place end, uint32_t classes, uint32_t most) {
    uint32_t size;
    for (; most && at < end && (tn_unicode_look(at, &size) & classes); most--) { at += size; }
    return at;
}

/* Bytes of an apostrophe and s, t, m, d, re, ve or ll; 0 if that is not here. Without regard to case, U+017F
 * (long s) is an s too. */
static uint32_t contraction(place at, place end, int any_case) {
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
    uint32_t size = contraction(at, end, 0);
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

/* \p{N}{1,digits}| ?[^\s\p{L}\p{N}]+[after_symbols]*|\s*[\r\n]+|WS; what is neither must be a letter. */
static place no_word(const tn_stage *stage, place at, place end) {
    if (is_at(at, end, NUMBER)) { return run_most(at, end, NUMBER, stage->digits); }
    place symbols = at + (*at == ' ');
    if (is_at(symbols, end, symbol)) {
        place here = run(symbols, end, symbol);
        while (here < end && *here && strchr(stage->after_symbols, *here)) { here++; }
        return here;
    }
    return space(at, end, 1);
}

TN_SPLITTER(tn_split_words) {
    uint32_t size = contraction(at, end, 1);
    if (size) { return at + size; }
    uint32_t class = tn_unicode_look(at, &size);
    if (class & LETTER) { return run(at + size, end, LETTER); }
    if (!(class & (NUMBER | TN_NEWLINE)) && is_at(at + size, end, LETTER)) {
        return run(at + size, end, LETTER);
    }
    return no_word(stage, at, end);
}

/* UP*LOW+. Letters without case, modifiers and marks are of both sets: where no lower-case letter follows the
 * run of UP, the match ends behind the last of those. NULL: no match. */
static place lower_word(place at, place end) {
    place both = NULL;
    uint32_t size, class = 0;
    for (; at < end && ((class = tn_unicode_look(at, &size)) & upper); at += size) {
        if (class & lower) { both = at + size; }
    }
    return at < end && (class & lower) ? run(at, end, lower) : both;
}

/* UP+LOW* */
static place upper_word(place at, place end) {
    place here = run(at, end, upper);
    return here == at ? NULL : run(here, end, lower);
}

TN_SPLITTER(tn_split_cased) {
    uint32_t size, class = tn_unicode_look(at, &size);
    place inner =
        class & (TN_NEWLINE | LETTER | NUMBER) ? NULL : at + size; /* behind the optional first character */
    place word = inner ? lower_word(inner, end) : NULL;
    if (!word) { word = lower_word(at, end); }
    if (!word && inner) { word = upper_word(inner, end); }
    if (!word) { word = upper_word(at, end); }
    return word ? word + contraction(word, end, 1) : no_word(stage, at, end);
}

/* The next place where `classes` begin, if they do not begin here. */
static place gap(place at, place end, uint32_t classes) {
    return run(at, end, ~classes);
}

TN_SPLITTER(tn_split_digits) {
    return is_at(at, end, NUMBER) ? run_most(at, end, NUMBER, stage->digits) : gap(at, end, NUMBER);
}

static int is_falcon_symbol(place at, uint32_t *size) {
    uint32_t class = tn_unicode_look(at, size);
    return (class & TN_PUNCTUATION) || (*at && strchr("$+<=>^~|`", *at));
}

TN_SPLITTER(tn_split_punctuation) {
    (void)stage;
    uint32_t size;
    int inside = is_falcon_symbol(at, &size);
    do { at += size; } while (at < end && is_falcon_symbol(at, &size) == inside);
    return at;
}

static int is_ascii_digit(unsigned char c) {
    return c >= '0' && c <= '9';
}

static int is_triple(place at, place end) {
    return end - at >= 3 && is_ascii_digit(at[0]) && is_ascii_digit(at[1]) && is_ascii_digit(at[2]);
}

TN_SPLITTER(tn_split_triples) {
    (void)stage;
    if (is_triple(at, end)) { return at + 3; }
    do { at++; } while (at < end && !is_triple(at, end));
    return at;
}
