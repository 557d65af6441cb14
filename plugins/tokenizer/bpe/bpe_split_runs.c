/*
 * bpe_split_runs.c - see bpe_split.h: the expressions that cut something out of a text, runs of some characters
 * mostly, and leave gaps.
 */
#include "bpe_split.h"
#include "token_spaced.h"

#include "bpe_sets.h"

#include <stddef.h>

typedef const unsigned char *place;

enum { DIGIT = 1u << TN_CLASS_ND };

static inline int is_at(place at, place end, uint32_t classes) {
    uint32_t size;
    return at < end && (tn_unicode_look(at, &size) & classes);
}

/* The last character of a piece. */
static place last_of(place at, place end) {
    do { end--; } while (end > at && (*end & 0xc0) == 0x80);
    return end;
}

/* ---- runs of a set --------------------------------------------------------------------------------------- */

TN_SPLITTER(tn_split_class) {
    uint32_t size, most = stage->most, classes = stage->classes;
    place here = at;
    for (; most && here < end && (tn_unicode_look(here, &size) & classes); most--) { here += size; }
    if (here > at) { return here; }
    while (here < end && !(tn_unicode_look(here, &size) & classes)) { here += size; }
    return here;
}

/* The set that the character at `at` is of, NULL if of none; its bytes. */
static inline const tn_set *set_at(const tn_stage *stage, place at, place end, uint32_t *size) {
    for (uint32_t i = 0; at < end && i < stage->set_count; i++) {
        if (tn_set_has(&stage->sets[i], at, size)) { return &stage->sets[i]; }
    }
    return NULL;
}

/* Where the run itself begins, if a match begins at `at`; NULL: none does. */
static inline place begin_of(const tn_stage *stage, place at, place end, const tn_set **set) {
    uint32_t size = 1;
    int leads = stage->lead == TN_LEAD_SPACE ? *at == ' ' : stage->lead && is_at(at, end, TN_SPACE);
    if (leads) {
        tn_unicode_look(at, &size);
        place inner = at + size;
        if ((*set = set_at(stage, inner, end, &size))) { return inner; }
    }
    return (*set = set_at(stage, at, end, &size)) ? at : NULL;
}

TN_SPLITTER(tn_split_runs) {
    const tn_set *set;
    uint32_t size;
    place here = begin_of(stage, at, end, &set);
    if (here) {
        for (uint32_t most = stage->most; most && here < end && tn_set_has(set, here, &size); most--) {
            here += size;
        }
        return here;
    }
    do {
        tn_unicode_look(at, &size);
        at += size;
    } while (at < end && !begin_of(stage, at, end, &set));
    return at;
}

/* ---- lines and white space -------------------------------------------------------------------------------- */

TN_SPLITTER(tn_split_lines) {
    (void)stage;
    if (*at == '\n') {
        while (at < end && *at == '\n') { at++; }
        return at;
    }
    place newline = memchr(at, '\n', (size_t)(end - at));
    return newline ? newline : end;
}

/* The next U+2581 at `at` or behind it, `end` if there is none. */
static place find_mark(place at, place end) {
    place mark = at < end ? memmem(at, (size_t)(end - at), TN_SPACED, TN_SPACED_SIZE) : NULL;
    return mark ? mark : end;
}

TN_SPLITTER(tn_split_marked) {
    (void)stage;
    return find_mark(at + 1, end);
}

TN_SPLITTER(tn_split_joined) {
    place mark = find_mark(at, end), before = NULL;
    while (mark < end && (mark == at || mark == before || stage->joins[mark[-1]])) {
        before = mark + TN_SPACED_SIZE;
        mark = find_mark(before, end);
    }
    return mark;
}

TN_SPLITTER(tn_split_trailing) {
    (void)stage;
    place white = end;
    while (white > at && is_at(last_of(at, white), end, TN_SPACE)) { white = last_of(at, white); }
    return white > at ? white : end;
}

TN_SPLITTER(tn_split_spaces) {
    (void)stage;
    if (!is_at(at, end, TN_SPACE) || !is_at(last_of(at, end), end, TN_SPACE & ~TN_NEWLINE)) { return end; }
    enum { MOST = 512 };
    place after[MOST + 1]; /* behind so many characters */
    uint32_t count = 0, size;
    for (after[0] = at; count < MOST && after[count] < end; count++) {
        tn_unicode_look(after[count], &size);
        after[count + 1] = after[count] + size;
    }
    uint32_t most = MOST;
    while (most > count) { most /= 2; }
    return after[most];
}

/* ---- digits by threes -------------------------------------------------------------------------------------- */

/* The end of the digits at `at`, at most `most`; how many. */
static place digits(place at, place end, uint32_t classes, uint32_t most, uint32_t *count) {
    uint32_t size;
    for (*count = 0; *count < most && at < end && (tn_unicode_look(at, &size) & classes); at += size) {
        ++*count;
    }
    return at;
}

TN_SPLITTER(tn_split_heads) {
    uint32_t digit = stage->classes, count, size;
    for (place here = at; here < end;) {
        place after = digits(here, end, digit, TN_NO_LIMIT, &count);
        if (count && !set_at(stage, after, end, &size)) {
            if (here > at) { return here; }
            return count % 3 ? digits(at, end, digit, count % 3, &count) : after;
        }
        for (here = after; here < end && !is_at(here, end, digit); here += size) {
            tn_unicode_look(here, &size);
        }
    }
    return end;
}

TN_SPLITTER(tn_split_threes) {
    uint32_t digit = stage->classes, count;
    return is_at(last_of(at, end), end, digit) ? digits(at, end, digit, 3, &count) : end;
}

TN_SPLITTER(tn_split_first_cut) {
    (void)stage;
    uint32_t count, size;
    for (place here = at; here < end;) {
        place after = digits(here, end, DIGIT, TN_NO_LIMIT, &count);
        if (count > 3 && count % 3) { return digits(here, end, DIGIT, count % 3, &count); }
        if (count && count % 3 == 0 && here > at) { return here; }
        for (here = after; here < end && !is_at(here, end, DIGIT); here += size) {
            tn_unicode_look(here, &size);
        }
    }
    return end;
}

TN_SPLITTER(tn_split_more_cuts) {
    (void)stage;
    uint32_t count;
    place after = digits(at, end, DIGIT, 3, &count);
    return count == 3 && is_at(after, end, DIGIT) ? after : end;
}

static int is_ascii_digit(place at, place end) {
    return at < end && *at >= '0' && *at <= '9';
}

static int is_triple(place at, place end) {
    return is_ascii_digit(at, end) && is_ascii_digit(at + 1, end) && is_ascii_digit(at + 2, end);
}

TN_SPLITTER(tn_split_triples) {
    (void)stage;
    if (is_triple(at, end)) { return at + 3; }
    do { at++; } while (at < end && !is_triple(at, end));
    return at;
}

/* ---- texts ------------------------------------------------------------------------------------------------- */

typedef place (*match_fn)(place at, place end);

/* The match at `at`, or the gap before the next one. Matches begin with `first`. */
static place match_or_gap(place at, place end, match_fn match, int first) {
    place found = match(at, end);
    if (found) { return found; }
    do { at = memchr(at + 1, first, (size_t)(end - at - 1)); } while (at && !match(at, end));
    return at ? at : end;
}

static int begins_with(place at, place end, const char *text, ptrdiff_t size) {
    return end - at >= size && memcmp(at, text, (size_t)size) == 0;
}

static place sentinel(place at, place end) {
    if (!begins_with(at, end, "<sentinel:", 10) || !is_ascii_digit(at + 10, end)) { return NULL; }
    for (at += 11; is_ascii_digit(at, end);) { at++; }
    return at < end && *at == '>' ? at + 1 : NULL;
}

static place image(place at, place end) {
    if (!begins_with(at, end, "IMGIMG", 6)) { return NULL; }
    place letter = at + 6;
    while (letter < end && letter < at + 10 && *letter >= 'A' && *letter <= 'I') { letter++; }
    return letter > at + 6 && letter < end && *letter == 'Z' ? letter + 1 : NULL;
}

TN_SPLITTER(tn_split_sentinel) {
    (void)stage;
    return match_or_gap(at, end, sentinel, '<');
}

TN_SPLITTER(tn_split_image) {
    (void)stage;
    return match_or_gap(at, end, image, 'I');
}

static uint32_t indent(place at, place end) {
    return *at == '\t' || *at == '\n'        ? 1
           : begins_with(at, end, "    ", 4) ? 4
           : begins_with(at, end, "  ", 2)   ? 2
                                             : 0;
}

TN_SPLITTER(tn_split_indent) {
    (void)stage;
    uint32_t size = indent(at, end);
    if (size) { return at + size; }
    do { at++; } while (at < end && !indent(at, end));
    return at;
}
