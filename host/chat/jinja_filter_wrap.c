/*
 * jinja_filter_wrap.c - wordwrap: Python's textwrap.wrap for each line. Texts are cut into chunks (words, blanks,
 * parts of hyphenated words), which fill lines of at most `width` characters.
 */
#include "jinja_filter.h"
#include "jinja_method.h"

struct chunk {
    size_t begin, end; /* bytes */
    size_t width;      /* characters */
};
struct wrap {
    struct jinja_run *run;
    const struct jinja_string *s;
    const struct jinja_string *newline;
    struct jinja_builder out;
    int64_t width;
    bool whole; /* the width is an integer; another does as long as nothing has to be broken */
    bool break_words, break_hyphens;
    struct chunk *chunks;
    size_t count, room;
};

/* ---- chunks ------------------------------------------------------------------------------------------- */

static bool is_blank(uint32_t code) {
    return code == ' ' || (code >= '\t' && code <= '\r');
}
static bool is_letter(uint32_t code) { /* [^\d\W] */
    return (code == '_' || jinja_code_is_alnum(code)) && !jinja_code_is_decimal(code);
}
static bool is_word(uint32_t code) {
    return code == '_' || jinja_code_is_alnum(code);
}
static bool is_word_sign(uint32_t code) {
    return is_word(code) || (code < 0x80 && code && strchr("!\"'&.,?", (int)code));
}

static uint32_t code_at(const struct wrap *w, size_t at, size_t end) {
    return at < end ? jinja_code_at(w->s, &at) : 0;
}

/* A hyphen at `at` may end a chunk: two letters, or letter hyphen letter, stand before it; a letter with a letter
 * (behind one more hyphen at most) after it. */
static bool hyphen_breaks(const struct wrap *w, size_t line, size_t at, size_t end) {
    uint32_t before[3] = {0};
    size_t place = at;
    for (size_t i = 0; i < 3 && place > line; i++) { before[i] = jinja_code_before(w->s, &place); }
    bool two = is_letter(before[0]) && is_letter(before[1]);
    bool apart = is_letter(before[0]) && before[1] == '-' && is_letter(before[2]);
    if (!two && !apart) { return false; }
    place = at + 1;
    if (place >= end || !is_letter(jinja_code_at(w->s, &place))) { return false; }
    if (place < end && w->s->bytes[place] == '-') { place++; }
    return is_letter(code_at(w, place, end));
}

/* Two hyphens or more at `at`, between a word and a word. */
static size_t dash_end(const struct wrap *w, size_t at, size_t end, uint32_t before) {
    size_t stop = at;
    if (!is_word_sign(before)) { return at; /* also from the second hyphen of a row on */ }
    while (stop < end && w->s->bytes[stop] == '-') { stop++; }
    return stop - at >= 2 && is_word(code_at(w, stop, end)) ? stop : at;
}

static size_t word_end(const struct wrap *w, size_t line, size_t begin, size_t end) {
    uint32_t before = 0;
    for (size_t at = begin; at < end;) {
        size_t place = at;
        uint32_t code = jinja_code_at(w->s, &at);
        if (is_blank(code)) { return place; }
        if (w->break_hyphens && code == '-' && place > begin) {
            if (dash_end(w, place, end, before) > place) { return place; }
            if (hyphen_breaks(w, line, place, end)) { return at; }
        }
        before = code;
    }
    return end;
}

static size_t chunk_end(const struct wrap *w, size_t line, size_t begin, size_t end) {
    size_t at = begin, next = begin;
    if (is_blank(jinja_code_at(w->s, &next))) {
        for (at = next; at < end && is_blank(code_at(w, at, end));) { at++; }
        return at;
    }
    if (w->break_hyphens && w->s->bytes[begin] == '-' && begin > line) {
        uint32_t before = jinja_code_before(w->s, &at);
        size_t dash = dash_end(w, begin, end, before);
        if (dash > begin) { return dash; }
    }
    return word_end(w, line, begin, end);
}

static bool add_chunk(struct wrap *w, size_t begin, size_t end) {
    if (w->count == w->room) {
        size_t room = w->room ? 2 * w->room : 16;
        struct chunk *chunks = jinja_alloc(w->run, room, sizeof *chunks);
        if (!chunks) { return false; }
        if (w->count) { memcpy(chunks, w->chunks, w->count * sizeof *chunks); }
        jinja_release(w->run, w->chunks, w->room, sizeof *chunks);
        w->chunks = chunks;
        w->room = room;
    }
    size_t width = 0;
    for (size_t at = begin; at < end; width++) { jinja_code_at(w->s, &at); }
    if (!w->whole && w->break_words && width > (size_t)w->width) {
        return jinja_fail(w->run, JINJA_RUNTIME, "wordwrap: the width must be int to break words");
    }
    w->chunks[w->count++] = (struct chunk){begin, end, width};
    return jinja_spend_walk(w->run, end - begin);
}

/* ---- lines -------------------------------------------------------------------------------------------- */

/* The part of a chunk that is too long for any line that fits into `space`: behind its last hyphen if it may. */
static struct chunk take_part(const struct wrap *w, struct chunk *chunk, int64_t space) {
    struct chunk part = {chunk->begin, chunk->begin, 0};
    size_t hyphen = 0, hyphen_width = 0;
    bool other = false;
    while (part.width < (size_t)space && part.end < chunk->end) {
        uint32_t code = jinja_code_at(w->s, &part.end);
        part.width++;
        if (code == '-' && other) {
            hyphen = part.end - chunk->begin;
            hyphen_width = part.width;
        }
        other = other || code != '-';
    }
    if (w->break_hyphens && hyphen && chunk->width > (size_t)space) {
        part.end = chunk->begin + hyphen;
        part.width = hyphen_width;
    }
    chunk->begin = part.end;
    chunk->width -= part.width;
    return part;
}

static bool chunk_blank(const struct wrap *w, const struct chunk *chunk) {
    size_t at = chunk->begin;
    while (at < chunk->end) {
        if (!jinja_code_is_space(jinja_code_at(w->s, &at))) { return false; }
    }
    return true;
}

/* One line from chunk `*next` on: [*begin, *end) of the text; false if it is empty. */
static bool fill_line(struct wrap *w, size_t *next, bool first, size_t *begin, size_t *end) {
    int64_t left = w->width;
    if (!first && *next < w->count && chunk_blank(w, &w->chunks[*next])) { ++*next; }
    if (*next == w->count) { return false; }
    size_t last = *next, from = *next;
    *begin = *end = w->chunks[*next].begin;
    for (; *next < w->count && (int64_t)w->chunks[*next].width <= left; ++*next) {
        left -= (int64_t)w->chunks[*next].width;
        *end = w->chunks[last = *next].end;
    }
    bool split = *next < w->count && (int64_t)w->chunks[*next].width > w->width;
    if (split && w->break_words) {
        if (left < 1) { return true; /* nothing fits; a blank before it stays, as in Python */ }
        struct chunk part = take_part(w, &w->chunks[*next], left);
        if (!chunk_blank(w, &part)) { *end = part.end; }
        return *end > *begin;
    }
    if (split && from == *next) { *end = w->chunks[last = (*next)++].end; }
    if (*next > from && chunk_blank(w, &w->chunks[last])) { *end = w->chunks[last].begin; }
    return *end > *begin;
}

/* textwrap.wrap of [line, end), its lines joined. */
static bool wrap_line(struct wrap *w, size_t line, size_t end) {
    if (w->width <= 0) { return jinja_fail(w->run, JINJA_RUNTIME, "wordwrap: the width must be above 0"); }
    w->count = 0;
    for (size_t at = line; at < end;) {
        size_t stop = chunk_end(w, line, at, end);
        if (!add_chunk(w, at, stop)) { return false; }
        at = stop;
    }
    bool first = true;
    for (size_t next = 0, begin, stop; next < w->count;) {
        if (!jinja_spend(w->run, 1)) { return false; }
        if (!fill_line(w, &next, first, &begin, &stop)) { continue; }
        if ((!first && !jinja_build_string(&w->out, w->newline)) ||
            !jinja_build_from(&w->out, w->s, begin, stop)) {
            return false;
        }
        first = false;
    }
    return true;
}

static bool read_width(struct wrap *w, const struct jinja_args *args) {
    w->whole = !args->given[0] || args->at[0].type != JINJA_FLOAT;
    if (w->whole) { return jinja_arg_int(w->run, args, 0, 79, &w->width); }
    double width = args->at[0].number;
    w->width = width >= 1e9 ? 1000000000 : width >= 1 ? (int64_t)width : 0;
    return true;
}

bool jinja_filter_wordwrap(struct jinja_run *run, jinja_value self, const struct jinja_args *args,
                           jinja_value *out) {
    struct wrap w = {.run = run, .out = {.run = run}};
    jinja_value newline;
    if (self.type == JINJA_UNDEFINED) { return jinja_fail_undefined(run, self); }
    if (self.type != JINJA_STRING) {
        return jinja_fail(run, JINJA_RUNTIME, "wordwrap: expected str, got %s", jinja_type_name(self));
    }
    if (!jinja_literal(run, "\n", &newline) || !read_width(&w, args) ||
        !jinja_arg_bool(run, args, 1, true, &w.break_words) ||
        !jinja_arg_string(run, args, 2, &newline.string) ||
        !jinja_arg_bool(run, args, 3, true, &w.break_hyphens)) {
        return false;
    }
    w.s = self.string;
    w.newline = newline.string;
    size_t begin, end, next = 0;
    if (!jinja_spend_walk(run, w.s->size)) { return false; }
    for (size_t i = 0; jinja_line(w.s, &begin, &end, &next); i++) {
        if ((i && !jinja_build_string(&w.out, w.newline)) || !wrap_line(&w, begin, end)) { return false; }
    }
    return jinja_built(&w.out, out);
}
