/*
 * jinja_string_find.c - the methods of strings that search, replace, join and pad.
 */
#include "jinja_method.h"

/* ---- searching ---------------------------------------------------------------------------------------- */

/* PySlice_AdjustIndices for step 1; *beyond keeps that the start lies behind the end. */
bool jinja_arg_range(struct jinja_run *run, const struct jinja_string *s, const struct jinja_args *args,
                     size_t at, size_t *begin, size_t *end, bool *beyond) {
    int64_t count = (int64_t)s->characters, bounds[2] = {0, count};
    for (size_t i = 0; i < 2; i++) {
        if (!jinja_has(args, at + i)) { continue; }
        if (!jinja_index(run, args->at[at + i], &bounds[i])) { return false; }
        if (bounds[i] < 0) { bounds[i] += count; }
        if (bounds[i] < 0) { bounds[i] = 0; }
    }
    if (bounds[1] > count) { bounds[1] = count; }
    *beyond = bounds[0] > bounds[1];
    if (*beyond) { bounds[0] = bounds[1]; }
    return jinja_byte_of(run, s, (size_t)bounds[0], begin) && jinja_byte_of(run, s, (size_t)bounds[1], end);
}

struct search {
    const struct jinja_string *part;
    size_t begin, end;
    bool beyond;
};

static bool read_search(struct jinja_run *run, const struct jinja_string *s, const struct jinja_args *args,
                        struct search *out) {
    out->part = NULL;
    if (!jinja_arg_string(run, args, 0, &out->part)) { return false; }
    if (!out->part) { return jinja_fail(run, JINJA_RUNTIME, "must be str, not NoneType"); }
    return jinja_spend_walk(run, s->size) &&
           jinja_arg_range(run, s, args, 1, &out->begin, &out->end, &out->beyond);
}

static bool find(struct jinja_run *run, jinja_value self, const struct jinja_args *args, bool back, bool must,
                 jinja_value *out) {
    const struct jinja_string *s = self.string;
    struct search search;
    size_t place = SIZE_MAX, character = 0;
    if (!read_search(run, s, args, &search)) { return false; }
    if (!search.beyond && !back) { place = jinja_string_find(s, search.begin, search.end, search.part); }
    if (!search.beyond && back &&
        !jinja_string_find_last(run, s, search.begin, search.end, search.part, &place)) {
        return false;
    }
    if (place == SIZE_MAX && must) { return jinja_fail(run, JINJA_RUNTIME, "substring not found"); }
    if (place != SIZE_MAX && !jinja_character_of(run, s, place, &character)) { return false; }
    *out = jinja_int(place == SIZE_MAX ? -1 : (int64_t)character);
    return true;
}

bool jinja_str_find(struct jinja_run *run, jinja_value self, const struct jinja_args *args,
                    jinja_value *out) {
    return find(run, self, args, false, false, out);
}

bool jinja_str_rfind(struct jinja_run *run, jinja_value self, const struct jinja_args *args,
                     jinja_value *out) {
    return find(run, self, args, true, false, out);
}

bool jinja_str_index(struct jinja_run *run, jinja_value self, const struct jinja_args *args,
                     jinja_value *out) {
    return find(run, self, args, false, true, out);
}

bool jinja_str_rindex(struct jinja_run *run, jinja_value self, const struct jinja_args *args,
                      jinja_value *out) {
    return find(run, self, args, true, true, out);
}

bool jinja_str_count(struct jinja_run *run, jinja_value self, const struct jinja_args *args,
                     jinja_value *out) {
    const struct jinja_string *s = self.string;
    struct search search;
    size_t first, last;
    int64_t count = 0;
    if (!read_search(run, s, args, &search)) { return false; }
    if (search.part->size == 0) {
        if (!jinja_character_of(run, s, search.begin, &first) ||
            !jinja_character_of(run, s, search.end, &last)) {
            return false;
        }
        *out = jinja_int(search.beyond ? 0 : (int64_t)(last - first) + 1);
        return true;
    }
    for (size_t at = search.begin; !search.beyond; at += search.part->size, count++) {
        at = jinja_string_find(s, at, search.end, search.part);
        if (at == SIZE_MAX) { break; }
        if (!jinja_spend(run, 1)) { return false; }
    }
    *out = jinja_int(count);
    return true;
}

static bool has_end(const struct jinja_string *s, const struct search *search, bool tail) {
    const struct jinja_string *part = search->part;
    if (search->beyond || part->size > search->end - search->begin) { return false; }
    return memcmp(s->bytes + (tail ? search->end - part->size : search->begin), part->bytes, part->size) == 0;
}

/* One text, or a tuple of them. */
static bool ends_with(struct jinja_run *run, jinja_value self, const struct jinja_args *args, bool tail,
                      jinja_value *out) {
    const jinja_value *parts = &args->at[0];
    size_t count = 1;
    struct search search;
    bool has = false;
    if (args->at[0].type == JINJA_TUPLE) {
        parts = args->at[0].list->items;
        count = args->at[0].list->count;
    }
    if (!jinja_arg_range(run, self.string, args, 1, &search.begin, &search.end, &search.beyond)) {
        return false;
    }
    for (size_t i = 0; i < count && !has; i++) {
        if (parts[i].type == JINJA_UNDEFINED) { return jinja_fail_undefined(run, parts[i]); }
        if (parts[i].type != JINJA_STRING) {
            return jinja_fail(run, JINJA_RUNTIME, "%s first arg must be str or a tuple of str, not %s",
                              tail ? "endswith" : "startswith", jinja_type_name(parts[i]));
        }
        search.part = parts[i].string;
        has = has_end(self.string, &search, tail);
        if (!jinja_spend_bytes(run, search.part->size)) { return false; }
    }
    *out = jinja_bool(has);
    return true;
}

bool jinja_str_startswith(struct jinja_run *run, jinja_value self, const struct jinja_args *args,
                          jinja_value *out) {
    return ends_with(run, self, args, false, out);
}

bool jinja_str_endswith(struct jinja_run *run, jinja_value self, const struct jinja_args *args,
                        jinja_value *out) {
    return ends_with(run, self, args, true, out);
}

/* ---- replace and join --------------------------------------------------------------------------------- */

/* An empty text is found before each character and at the end. */
static bool replace_nothing(struct jinja_builder *b, const struct jinja_string *s,
                            const struct jinja_string *new, uint64_t count) {
    size_t at = 0, next = 0;
    for (uint64_t i = 0; i < count; i++) {
        if (!jinja_build_string(b, new)) { return false; }
        if (at == s->size) { return true; }
        jinja_code_at(s, &next);
        if (!jinja_build_from(b, s, at, next)) { return false; }
        at = next;
    }
    return jinja_build_from(b, s, at, s->size);
}

bool jinja_replace(struct jinja_run *run, const struct jinja_string *s, const struct jinja_string *old,
                   const struct jinja_string *new, int64_t count, jinja_value *out) {
    struct jinja_builder b = {.run = run};
    uint64_t most = count < 0 ? UINT64_MAX : (uint64_t)count;
    size_t begin = 0, found;
    if (!jinja_spend_walk(run, s->size)) { return false; }
    if (old->size == 0) { return replace_nothing(&b, s, new, most) && jinja_built(&b, out); }
    for (uint64_t i = 0; i < most; i++) {
        found = jinja_string_find(s, begin, s->size, old);
        if (found == SIZE_MAX) { break; }
        if (!jinja_spend(run, 1) || !jinja_build_from(&b, s, begin, found) || !jinja_build_string(&b, new)) {
            return false;
        }
        begin = found + old->size;
    }
    if (begin == 0 && jinja_string_find(s, 0, most ? s->size : 0, old) == SIZE_MAX) {
        return jinja_substring(run, s, 0, s->size, out);
    }
    return jinja_build_from(&b, s, begin, s->size) && jinja_built(&b, out);
}

bool jinja_str_replace(struct jinja_run *run, jinja_value self, const struct jinja_args *args,
                       jinja_value *out) {
    const struct jinja_string *old = NULL, *new = NULL;
    int64_t count;
    if (!jinja_arg_string(run, args, 0, &old) || !jinja_arg_string(run, args, 1, &new) ||
        !jinja_arg_int(run, args, 2, -1, &count)) {
        return false;
    }
    if (!old || !new) {
        return jinja_fail(run, JINJA_RUNTIME, "replace() argument must be str, not NoneType");
    }
    return jinja_replace(run, self.string, old, new, count, out);
}

bool jinja_join(struct jinja_run *run, const struct jinja_string *separator, jinja_value items, bool any,
                jinja_value *out) {
    struct jinja_builder b = {.run = run};
    struct jinja_iterator each;
    jinja_value item;
    bool done;
    if (!jinja_iterate(run, items, &each)) { return false; }
    for (size_t i = 0; jinja_next(run, &each, &item, &done); i++) {
        if (done) { return jinja_built(&b, out); }
        if (!any && item.type != JINJA_STRING) {
            return jinja_fail(run, JINJA_RUNTIME, "sequence item %zu: expected str instance, %s found", i,
                              jinja_type_name(item));
        }
        if ((i && !jinja_build_string(&b, separator)) || !jinja_build_text(&b, item)) { return false; }
    }
    return false;
}

bool jinja_str_join(struct jinja_run *run, jinja_value self, const struct jinja_args *args,
                    jinja_value *out) {
    return jinja_join(run, self.string, args->at[0], false, out);
}

/* ---- padding ------------------------------------------------------------------------------------------ */

static bool pad(struct jinja_run *run, const struct jinja_string *s, uint64_t left, uint64_t right,
                const struct jinja_string *fill, jinja_value *out) {
    struct jinja_builder b = {.run = run};
    bool done = fill ? jinja_build_repeat(&b, fill, left) : jinja_build_spaces(&b, left);
    return done && jinja_build_string(&b, s) &&
           (fill ? jinja_build_repeat(&b, fill, right) : jinja_build_spaces(&b, right)) &&
           jinja_built(&b, out);
}

/* The width and the character to fill with; NULL for a blank. Gives how much is lacking. */
static bool read_padding(struct jinja_run *run, const struct jinja_string *s, const struct jinja_args *args,
                         int64_t *width, uint64_t *lacking, const struct jinja_string **fill) {
    *fill = NULL;
    if (!jinja_arg_int(run, args, 0, 0, width) || !jinja_arg_string(run, args, 1, fill)) { return false; }
    bool none = args->given[1] && args->at[1].type == JINJA_NONE;
    if (none || (*fill && (*fill)->characters != 1)) {
        return jinja_fail(run, JINJA_RUNTIME, "The fill character must be exactly one character long");
    }
    *lacking = *width > 0 && (uint64_t)*width > s->characters ? (uint64_t)*width - s->characters : 0;
    return true;
}

bool jinja_str_center(struct jinja_run *run, jinja_value self, const struct jinja_args *args,
                      jinja_value *out) {
    const struct jinja_string *fill;
    int64_t width;
    uint64_t lacking = 0;
    if (!read_padding(run, self.string, args, &width, &lacking, &fill)) { return false; }
    uint64_t left = lacking / 2 + (lacking & (uint64_t)width & 1); /* as CPython rounds */
    return pad(run, self.string, left, lacking - left, fill, out);
}

bool jinja_str_ljust(struct jinja_run *run, jinja_value self, const struct jinja_args *args,
                     jinja_value *out) {
    const struct jinja_string *fill;
    int64_t width;
    uint64_t lacking = 0;
    return read_padding(run, self.string, args, &width, &lacking, &fill) &&
           pad(run, self.string, 0, lacking, fill, out);
}

bool jinja_str_rjust(struct jinja_run *run, jinja_value self, const struct jinja_args *args,
                     jinja_value *out) {
    const struct jinja_string *fill;
    int64_t width;
    uint64_t lacking = 0;
    return read_padding(run, self.string, args, &width, &lacking, &fill) &&
           pad(run, self.string, lacking, 0, fill, out);
}

/* Zeros go between a sign and the digits. */
bool jinja_str_zfill(struct jinja_run *run, jinja_value self, const struct jinja_args *args,
                     jinja_value *out) {
    const struct jinja_string *s = self.string;
    jinja_value zero;
    int64_t width;
    if (!jinja_arg_int(run, args, 0, 0, &width) || !jinja_literal(run, "0", &zero)) { return false; }
    uint64_t lacking = width > 0 && (uint64_t)width > s->characters ? (uint64_t)width - s->characters : 0;
    size_t sign = s->size && (s->bytes[0] == '+' || s->bytes[0] == '-');
    struct jinja_builder b = {.run = run};
    return jinja_build_from(&b, s, 0, sign) && jinja_build_repeat(&b, zero.string, lacking) &&
           jinja_build_from(&b, s, sign, s->size) && jinja_built(&b, out);
}

bool jinja_str_expandtabs(struct jinja_run *run, jinja_value self, const struct jinja_args *args,
                          jinja_value *out) {
    const struct jinja_string *s = self.string;
    struct jinja_builder b = {.run = run};
    int64_t stop;
    uint64_t column = 0;
    if (!jinja_arg_int(run, args, 0, 8, &stop) || !jinja_spend_walk(run, s->size)) { return false; }
    for (size_t at = 0; at < s->size;) {
        size_t begin = at;
        uint32_t code = jinja_code_at(s, &at);
        uint64_t gap = code == '\t' && stop > 0 ? (uint64_t)stop - column % (uint64_t)stop : 0;
        if (!(code == '\t' ? jinja_build_spaces(&b, gap) : jinja_build_from(&b, s, begin, at))) {
            return false;
        }
        column = code == '\n' || code == '\r' ? 0 : column + (code == '\t' ? gap : 1);
    }
    return jinja_built(&b, out);
}
