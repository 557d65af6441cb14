/*
 * jinja_string_cut.c - the methods of strings that take them apart or off their ends.
 */
#include "jinja_method.h"

/* ---- ends --------------------------------------------------------------------------------------------- */

/* True if the character [begin, end) of a string is one of `chars`, of blanks if that is NULL. */
static bool among(struct jinja_run *run, const struct jinja_string *s, size_t begin, size_t end,
                  const struct jinja_string *chars, bool *out) {
    if (chars) {
        const char *found = memmem(chars->bytes, chars->size, s->bytes + begin, end - begin);
        *out = found != NULL;
        return jinja_spend_walk(run, found ? (size_t)(found - chars->bytes) : chars->size);
    }
    *out = jinja_code_is_space(jinja_code_at(s, &begin));
    return jinja_spend(run, 1);
}

bool jinja_strip(struct jinja_run *run, const struct jinja_string *s, const struct jinja_string *chars,
                 bool left, bool right, jinja_value *out) {
    size_t begin = 0, end = s->size, next, last;
    bool go = left;
    while (go && begin < end) {
        next = begin;
        jinja_code_at(s, &next);
        if (!among(run, s, begin, next, chars, &go)) { return false; }
        if (go) { begin = next; }
    }
    for (go = right; go && begin < end;) {
        last = end;
        jinja_code_before(s, &last);
        if (!among(run, s, last, end, chars, &go)) { return false; }
        if (go) { end = last; }
    }
    return jinja_substring(run, s, begin, end, out);
}

static bool strip_by(struct jinja_run *run, jinja_value self, const struct jinja_args *args, bool left,
                     bool right, jinja_value *out) {
    const struct jinja_string *chars = NULL;
    return jinja_arg_string(run, args, 0, &chars) && jinja_strip(run, self.string, chars, left, right, out);
}

bool jinja_str_strip(struct jinja_run *run, jinja_value self, const struct jinja_args *args,
                     jinja_value *out) {
    return strip_by(run, self, args, true, true, out);
}

bool jinja_str_lstrip(struct jinja_run *run, jinja_value self, const struct jinja_args *args,
                      jinja_value *out) {
    return strip_by(run, self, args, true, false, out);
}

bool jinja_str_rstrip(struct jinja_run *run, jinja_value self, const struct jinja_args *args,
                      jinja_value *out) {
    return strip_by(run, self, args, false, true, out);
}

/* A text that must be given. */
static bool needed_string(struct jinja_run *run, const struct jinja_args *args,
                          const struct jinja_string **out) {
    *out = NULL;
    if (!jinja_arg_string(run, args, 0, out)) { return false; }
    return *out || jinja_fail(run, JINJA_RUNTIME, "an argument must be str, not NoneType");
}

bool jinja_str_removeprefix(struct jinja_run *run, jinja_value self, const struct jinja_args *args,
                            jinja_value *out) {
    const struct jinja_string *part, *s = self.string;
    if (!needed_string(run, args, &part) || !jinja_spend_bytes(run, part->size)) { return false; }
    bool has = part->size <= s->size && memcmp(s->bytes, part->bytes, part->size) == 0;
    return jinja_substring(run, s, has ? part->size : 0, s->size, out);
}

bool jinja_str_removesuffix(struct jinja_run *run, jinja_value self, const struct jinja_args *args,
                            jinja_value *out) {
    const struct jinja_string *part, *s = self.string;
    if (!needed_string(run, args, &part) || !jinja_spend_bytes(run, part->size)) { return false; }
    bool has = part->size <= s->size && memcmp(s->bytes + s->size - part->size, part->bytes, part->size) == 0;
    return jinja_substring(run, s, 0, has ? s->size - part->size : s->size, out);
}

/* ---- lines -------------------------------------------------------------------------------------------- */

bool jinja_line(const struct jinja_string *s, size_t *begin, size_t *end, size_t *next) {
    *begin = *next;
    if (*begin >= s->size) { return false; }
    for (*end = *begin; *end < s->size; *end = *next) {
        uint32_t code = jinja_code_at(s, next);
        if (!jinja_code_breaks_line(code)) { continue; }
        if (code == '\r' && *next < s->size && s->bytes[*next] == '\n') { ++*next; }
        return true;
    }
    return true;
}

bool jinja_split_lines(struct jinja_run *run, const struct jinja_string *s, bool keep, jinja_value *out) {
    jinja_value line;
    size_t begin, end, next = 0;
    if (!jinja_spend_walk(run, s->size) || !jinja_list_make(run, JINJA_LIST, 0, out)) { return false; }
    while (jinja_line(s, &begin, &end, &next)) {
        if (!jinja_substring(run, s, begin, keep ? next : end, &line) || !jinja_list_add(run, *out, line)) {
            return false;
        }
    }
    return true;
}

bool jinja_str_splitlines(struct jinja_run *run, jinja_value self, const struct jinja_args *args,
                          jinja_value *out) {
    bool keep;
    return jinja_arg_flag(run, args, 0, &keep) && jinja_split_lines(run, self.string, keep, out);
}

/* ---- split -------------------------------------------------------------------------------------------- */

static bool add_part(struct jinja_run *run, jinja_value list, const struct jinja_string *s, size_t begin,
                     size_t end) {
    jinja_value part;
    return jinja_substring(run, s, begin, end, &part) && jinja_list_add(run, list, part);
}

/* Blanks separate, however many; those at the ends belong to no part but the last of a limited number. */
static bool split_blanks(struct jinja_run *run, const struct jinja_string *s, int64_t most,
                         jinja_value list) {
    size_t at = 0, begin;
    for (int64_t parts = 0;; parts++) {
        for (begin = at; at < s->size && jinja_code_is_space(jinja_code_at(s, &at));) { begin = at; }
        if (begin == s->size) { return true; }
        if (parts == most) { return add_part(run, list, s, begin, s->size); }
        size_t end = begin;
        for (at = begin; at < s->size && !jinja_code_is_space(jinja_code_at(s, &at));) { end = at; }
        if (!add_part(run, list, s, begin, end)) { return false; }
        at = end;
    }
}

/* The same from the right; the parts come in reverse order. */
static bool split_blanks_back(struct jinja_run *run, const struct jinja_string *s, int64_t most,
                              jinja_value list) {
    size_t at = s->size, end;
    for (int64_t parts = 0;; parts++) {
        for (end = at; at > 0 && jinja_code_is_space(jinja_code_before(s, &at));) { end = at; }
        if (end == 0) { return true; }
        if (parts == most) { return add_part(run, list, s, 0, end); }
        size_t begin = end;
        for (at = end; at > 0 && !jinja_code_is_space(jinja_code_before(s, &at));) { begin = at; }
        if (!add_part(run, list, s, begin, end)) { return false; }
        at = begin;
    }
}

static bool split_at(struct jinja_run *run, const struct jinja_string *s,
                     const struct jinja_string *separator, int64_t most, jinja_value list) {
    size_t begin = 0, found;
    for (int64_t parts = 0; parts != most; parts++) {
        found = jinja_string_find(s, begin, s->size, separator);
        if (found == SIZE_MAX) { break; }
        if (!add_part(run, list, s, begin, found)) { return false; }
        begin = found + separator->size;
    }
    return add_part(run, list, s, begin, s->size);
}

static void copy_backwards(char *to, const char *from, size_t size) {
    for (size_t i = 0; i < size; i++) { to[i] = from[size - 1 - i]; }
}

/* Searches in the reversed text, once for all. */
static bool split_at_back(struct jinja_run *run, const struct jinja_string *s,
                          const struct jinja_string *separator, int64_t most, jinja_value list) {
    size_t end = s->size, room = s->size + separator->size;
    char *copy = jinja_alloc(run, room, 1);
    if (!copy) { return false; }
    copy_backwards(copy, s->bytes, s->size);
    copy_backwards(copy + s->size, separator->bytes, separator->size);
    for (int64_t parts = 0; parts != most; parts++) {
        const char *found = memmem(copy + s->size - end, end, copy + s->size, separator->size);
        if (!found) { break; }
        size_t begin = s->size - (size_t)(found - copy);
        if (!add_part(run, list, s, begin, end)) { return false; }
        end = begin - separator->size;
    }
    jinja_release(run, copy, room, 1);
    return add_part(run, list, s, 0, end);
}

static void reverse_list(struct jinja_list *list) {
    for (size_t i = 0, j = list->count; i + 1 < j; i++) {
        jinja_value swap = list->items[--j];
        list->items[j] = list->items[i];
        list->items[i] = swap;
    }
}

static bool split(struct jinja_run *run, const struct jinja_string *s, const struct jinja_string *separator,
                  int64_t most, bool back, jinja_value *out) {
    if (separator && separator->size == 0) { return jinja_fail(run, JINJA_RUNTIME, "empty separator"); }
    if (most < 0) { most = -1; }
    if (!jinja_spend_walk(run, s->size) || !jinja_list_make(run, JINJA_LIST, 0, out)) { return false; }
    if (!back) {
        return separator ? split_at(run, s, separator, most, *out) : split_blanks(run, s, most, *out);
    }
    bool done =
        separator ? split_at_back(run, s, separator, most, *out) : split_blanks_back(run, s, most, *out);
    reverse_list(out->list);
    return done;
}

bool jinja_split(struct jinja_run *run, const struct jinja_string *s, const struct jinja_string *separator,
                 int64_t most, jinja_value *out) {
    return split(run, s, separator, most, false, out);
}

static bool split_by(struct jinja_run *run, jinja_value self, const struct jinja_args *args, bool back,
                     jinja_value *out) {
    const struct jinja_string *separator = NULL;
    int64_t most;
    return jinja_arg_string(run, args, 0, &separator) && jinja_arg_int(run, args, 1, -1, &most) &&
           split(run, self.string, separator, most, back, out);
}

bool jinja_str_split(struct jinja_run *run, jinja_value self, const struct jinja_args *args,
                     jinja_value *out) {
    return split_by(run, self, args, false, out);
}

bool jinja_str_rsplit(struct jinja_run *run, jinja_value self, const struct jinja_args *args,
                      jinja_value *out) {
    return split_by(run, self, args, true, out);
}

/* ---- partition ---------------------------------------------------------------------------------------- */

static bool cut_in_three(struct jinja_run *run, const struct jinja_string *s, size_t begin, size_t end,
                         jinja_value *out) {
    return jinja_list_make(run, JINJA_TUPLE, 3, out) && add_part(run, *out, s, 0, begin) &&
           add_part(run, *out, s, begin, end) && add_part(run, *out, s, end, s->size);
}

static bool partition(struct jinja_run *run, jinja_value self, const struct jinja_args *args, bool back,
                      jinja_value *out) {
    const struct jinja_string *separator, *s = self.string;
    size_t found;
    if (!needed_string(run, args, &separator) || !jinja_spend_walk(run, s->size)) { return false; }
    if (separator->size == 0) { return jinja_fail(run, JINJA_RUNTIME, "empty separator"); }
    if (!back) {
        found = jinja_string_find(s, 0, s->size, separator);
    } else if (!jinja_string_find_last(run, s, 0, s->size, separator, &found)) {
        return false;
    }
    if (found != SIZE_MAX) { return cut_in_three(run, s, found, found + separator->size, out); }
    return cut_in_three(run, s, back ? 0 : s->size, back ? 0 : s->size, out);
}

bool jinja_str_partition(struct jinja_run *run, jinja_value self, const struct jinja_args *args,
                         jinja_value *out) {
    return partition(run, self, args, false, out);
}

bool jinja_str_rpartition(struct jinja_run *run, jinja_value self, const struct jinja_args *args,
                          jinja_value *out) {
    return partition(run, self, args, true, out);
}
