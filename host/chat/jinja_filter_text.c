/*
 * jinja_filter_text.c - filters that give texts.
 */
#include "jinja_filter.h"
#include "jinja_method.h"

/* ---- letters and ends --------------------------------------------------------------------------------- */

static bool by_method(struct jinja_run *run, const char *method, jinja_value self, const jinja_value *at,
                      size_t count, jinja_value *out) {
    jinja_value text;
    return jinja_text(run, self, &text) && jinja_string_method(run, method, text, at, count, out);
}

bool jinja_filter_capitalize(struct jinja_run *run, jinja_value self, const struct jinja_args *args,
                             jinja_value *out) {
    (void)args;
    return by_method(run, "capitalize", self, NULL, 0, out);
}

bool jinja_filter_lower(struct jinja_run *run, jinja_value self, const struct jinja_args *args,
                        jinja_value *out) {
    (void)args;
    return by_method(run, "lower", self, NULL, 0, out);
}

bool jinja_filter_upper(struct jinja_run *run, jinja_value self, const struct jinja_args *args,
                        jinja_value *out) {
    (void)args;
    return by_method(run, "upper", self, NULL, 0, out);
}

bool jinja_filter_center(struct jinja_run *run, jinja_value self, const struct jinja_args *args,
                         jinja_value *out) {
    const jinja_value width = args->given[0] ? args->at[0] : jinja_int(80);
    return by_method(run, "center", self, &width, 1, out);
}

bool jinja_filter_trim(struct jinja_run *run, jinja_value self, const struct jinja_args *args,
                       jinja_value *out) {
    return by_method(run, "strip", self, args->at, jinja_has(args, 0), out);
}

/* str() of all three, as without autoescape. */
bool jinja_filter_replace(struct jinja_run *run, jinja_value self, const struct jinja_args *args,
                          jinja_value *out) {
    jinja_value s, old, new;
    int64_t count = -1;
    if (jinja_has(args, 2) && !jinja_index(run, args->at[2], &count)) { return false; }
    return jinja_text(run, self, &s) && jinja_text(run, args->at[0], &old) &&
           jinja_text(run, args->at[1], &new) &&
           jinja_replace(run, s.string, old.string, new.string, count, out) &&
           jinja_markup(run, *out, false, out);
}

bool jinja_filter_string(struct jinja_run *run, jinja_value self, const struct jinja_args *args,
                         jinja_value *out) {
    (void)args;
    return jinja_text(run, self, out);
}

bool jinja_filter_format(struct jinja_run *run, jinja_value self, const struct jinja_args *args,
                         jinja_value *out) {
    jinja_value text, values, key;
    if (args->count && args->named_count) {
        return jinja_fail(run, JINJA_RUNTIME,
                          "format: can't handle positional and keyword arguments at the same time");
    }
    if (!jinja_text(run, self, &text)) { return false; }
    if (!(args->named_count ? jinja_dict_make(run, &values)
                            : jinja_list_make(run, JINJA_TUPLE, args->count, &values))) {
        return false;
    }
    for (size_t i = 0; i < args->named_count; i++) {
        if (!jinja_name_text(run, &args->named[i], &key) ||
            !jinja_dict_set(run, values, key, args->named[i].value)) {
            return false;
        }
    }
    for (size_t i = 0; i < args->count; i++) {
        if (!jinja_list_add(run, values, args->at[i])) { return false; }
    }
    return jinja_format_percent(run, text.string, values, out);
}

static bool begins_word(uint32_t code) {
    return code == '-' || code == '(' || code == '{' || code == '[' || code == '<' ||
           jinja_code_is_space(code);
}

/* Each stretch between such signs with its first character in upper and the others in lower case. */
bool jinja_filter_title(struct jinja_run *run, jinja_value self, const struct jinja_args *args,
                        jinja_value *out) {
    (void)args;
    jinja_value text, part, cased;
    struct jinja_builder b = {.run = run};
    if (!jinja_text(run, self, &text) || !jinja_spend_walk(run, text.string->size)) { return false; }
    const struct jinja_string *s = text.string;
    for (size_t begin = 0; begin < s->size;) {
        size_t first = begin, end;
        bool sign = begins_word(jinja_code_at(s, &first));
        for (end = first; end < s->size;) {
            size_t next = end;
            if (begins_word(jinja_code_at(s, &next)) != sign) { break; }
            end = next;
        }
        if (!jinja_substring(run, s, begin, first, &part) ||
            !jinja_case(run, part.string, JINJA_UPPER, &cased) || !jinja_build_string(&b, cased.string) ||
            !jinja_substring(run, s, first, end, &part) ||
            !jinja_case(run, part.string, JINJA_LOWER, &cased) || !jinja_build_string(&b, cased.string)) {
            return false;
        }
        begin = end;
    }
    return jinja_built(&b, out);
}

/* ---- HTML --------------------------------------------------------------------------------------------- */

bool jinja_build_escaped(struct jinja_builder *b, jinja_value text) {
    const struct jinja_string *s = text.string;
    size_t begin = 0;
    if (!jinja_spend_walk(b->run, s->size)) { return false; }
    for (size_t i = 0; i < s->size; i++) {
        const char *form = NULL;
        switch (s->bytes[i]) {
        case '&': form = "&amp;"; break;
        case '<': form = "&lt;"; break;
        case '>': form = "&gt;"; break;
        case '"': form = "&#34;"; break;
        case '\'': form = "&#39;"; break;
        default: continue;
        }
        if (!jinja_build_from(b, s, begin, i) || !jinja_build(b, form, strlen(form), jinja_origin_at(s, i))) {
            return false;
        }
        begin = i + 1;
    }
    return jinja_build_from(b, s, begin, s->size);
}

bool jinja_filter_escape_all(struct jinja_run *run, jinja_value self, const struct jinja_args *args,
                             jinja_value *out) {
    (void)args;
    struct jinja_builder b = {.run = run};
    jinja_value text;
    return jinja_text(run, self, &text) && jinja_build_escaped(&b, text) && jinja_built(&b, out) &&
           jinja_markup(run, *out, true, out);
}

bool jinja_html_escape(struct jinja_run *run, jinja_value value, jinja_value *out) {
    *out = value;
    if (value.type == JINJA_STRING && value.string->markup) { return true; }
    return jinja_filter_escape_all(run, value, NULL, out);
}

bool jinja_filter_escape(struct jinja_run *run, jinja_value self, const struct jinja_args *args,
                         jinja_value *out) {
    (void)args;
    return jinja_html_escape(run, self, out);
}

bool jinja_filter_safe(struct jinja_run *run, jinja_value self, const struct jinja_args *args,
                       jinja_value *out) {
    (void)args;
    return jinja_text(run, self, out) && jinja_markup(run, *out, true, out);
}

static bool is_bad_in_key(char c) {
    return c == '/' || c == '>' || c == '=' || c == ' ' || (c >= '\t' && c <= '\r');
}

static bool build_attribute(struct jinja_builder *b, jinja_value key, jinja_value value) {
    jinja_value escaped;
    if (key.type != JINJA_STRING) {
        return jinja_fail(b->run, JINJA_RUNTIME, "xmlattr: expected str as a key, got %s",
                          jinja_type_name(key));
    }
    if (!jinja_spend_walk(b->run, key.string->size)) { return false; }
    for (size_t i = 0; i < key.string->size; i++) {
        if (is_bad_in_key(key.string->bytes[i])) {
            return jinja_fail(b->run, JINJA_RUNTIME, "Invalid character in attribute name: '%.200s'",
                              key.string->bytes);
        }
    }
    return (b->size == 0 || jinja_build_literal(b, " ")) && jinja_html_escape(b->run, key, &escaped) &&
           jinja_build_string(b, escaped.string) && jinja_build_literal(b, "=\"") &&
           jinja_html_escape(b->run, value, &escaped) && jinja_build_string(b, escaped.string) &&
           jinja_build_literal(b, "\"");
}

bool jinja_filter_xmlattr(struct jinja_run *run, jinja_value self, const struct jinja_args *args,
                          jinja_value *out) {
    struct jinja_builder b = {.run = run}, spaced = {.run = run};
    bool autospace;
    if (self.type == JINJA_UNDEFINED) { return jinja_fail_undefined(run, self); }
    if (self.type != JINJA_DICT) {
        return jinja_fail(run, JINJA_RUNTIME, "xmlattr: '%s' object has no attribute 'items'",
                          jinja_type_name(self));
    }
    for (size_t i = 0; i < self.dict->count; i++) {
        const struct jinja_pair *pair = &self.dict->pairs[i];
        if (pair->item.type == JINJA_NONE || pair->item.type == JINJA_UNDEFINED) { continue; }
        if (!build_attribute(&b, pair->key, pair->item)) { return false; }
    }
    if (!jinja_arg_bool(run, args, 0, true, &autospace) || !jinja_built(&b, out)) { return false; }
    if (!autospace || out->string->size == 0) { return true; }
    return jinja_build_literal(&spaced, " ") && jinja_build_string(&spaced, out->string) &&
           jinja_built(&spaced, out);
}

/* ---- layout ------------------------------------------------------------------------------------------- */

static bool needs_string(struct jinja_run *run, const char *filter, jinja_value value) {
    if (value.type == JINJA_UNDEFINED) { return jinja_fail_undefined(run, value); }
    return value.type == JINJA_STRING ||
           jinja_fail(run, JINJA_RUNTIME, "%s: expected str, got %s", filter, jinja_type_name(value));
}

static bool build_lines(struct jinja_builder *b, const struct jinja_string *s,
                        const struct jinja_string *margin, bool blank) {
    size_t begin, end, next = 0;
    if (!jinja_spend_walk(b->run, s->size)) { return false; }
    for (size_t i = 0; jinja_line(s, &begin, &end, &next); i++) {
        if (i && !jinja_build_literal(b, "\n")) { return false; }
        if (i && (blank || end > begin) && !jinja_build_string(b, margin)) { return false; }
        if (!jinja_build_from(b, s, begin, end)) { return false; }
    }
    return true;
}

/* Lines as str.splitlines finds them in the text with a newline behind it; the first is not indented unless asked. */
bool jinja_filter_indent(struct jinja_run *run, jinja_value self, const struct jinja_args *args,
                         jinja_value *out) {
    struct jinja_builder with_newline = {.run = run}, spaces = {.run = run}, b = {.run = run};
    jinja_value text, margin = args->at[0];
    bool first, blank;
    int64_t width = 4;
    if (!needs_string(run, "indent", self) || !jinja_arg_bool(run, args, 1, false, &first) ||
        !jinja_arg_bool(run, args, 2, false, &blank)) {
        return false;
    }
    if (margin.type != JINJA_STRING) {
        if (!jinja_arg_int(run, args, 0, 4, &width)) { return false; }
        if (!jinja_build_spaces(&spaces, width > 0 ? (uint64_t)width : 0) || !jinja_built(&spaces, &margin)) {
            return false;
        }
    }
    return jinja_build_string(&with_newline, self.string) && jinja_build_literal(&with_newline, "\n") &&
           jinja_built(&with_newline, &text) && (!first || jinja_build_string(&b, margin.string)) &&
           build_lines(&b, text.string, margin.string, blank) && jinja_built(&b, out) &&
           jinja_markup(run, *out, self.string->markup, out);
}

/* Cuts a text at its last blank, if there is one. */
static bool cut_words(struct jinja_run *run, jinja_value *text) {
    if (!needs_string(run, "truncate", *text)) { return false; }
    const struct jinja_string *s = text->string;
    const char *blank = memrchr(s->bytes, ' ', s->size);
    return jinja_spend_bytes(run, s->size) &&
           jinja_substring(run, s, 0, blank ? (size_t)(blank - s->bytes) : s->size, text);
}

/* Checks length >= len(end) and leeway >= 0; gives what stays before the end, and what is short enough as a whole. */
static bool truncate_bounds(struct jinja_run *run, jinja_value length, jinja_value leeway, jinja_value end,
                            jinja_value *kept, jinja_value *enough) {
    size_t size;
    bool fits;
    if (!jinja_length(run, end, &size) ||
        !jinja_compare(run, JINJA_GE, length, jinja_int((int64_t)size), &fits)) {
        return false;
    }
    if (!fits) { return jinja_fail(run, JINJA_RUNTIME, "truncate: expected length >= %zu", size); }
    if (!jinja_compare(run, JINJA_GE, leeway, jinja_int(0), &fits)) { return false; }
    if (!fits) { return jinja_fail(run, JINJA_RUNTIME, "truncate: expected leeway >= 0"); }
    return jinja_binary(run, JINJA_SUB, length, jinja_int((int64_t)size), kept) &&
           jinja_binary(run, JINJA_ADD, length, leeway, enough);
}

/* Whatever has a length and is short enough stays as it is. */
bool jinja_filter_truncate(struct jinja_run *run, jinja_value self, const struct jinja_args *args,
                           jinja_value *out) {
    jinja_value end, kept, enough, length = args->given[0] ? args->at[0] : jinja_int(255);
    jinja_value leeway = jinja_has(args, 3) ? args->at[3] : jinja_int(5);
    bool killwords, fits;
    size_t size;
    if (!jinja_arg_bool(run, args, 1, false, &killwords) || !jinja_literal(run, "...", &end)) {
        return false;
    }
    if (args->given[2]) { end = args->at[2]; }
    if (!truncate_bounds(run, length, leeway, end, &kept, &enough) || !jinja_length(run, self, &size) ||
        !jinja_compare(run, JINJA_LE, jinja_int((int64_t)size), enough, &fits)) {
        return false;
    }
    *out = self;
    return fits || (jinja_slice(run, self, jinja_none(), kept, jinja_none(), out) &&
                    (killwords || cut_words(run, out)) && jinja_binary(run, JINJA_ADD, *out, end, out));
}

bool jinja_filter_wordcount(struct jinja_run *run, jinja_value self, const struct jinja_args *args,
                            jinja_value *out) {
    (void)args;
    jinja_value text;
    int64_t count = 0;
    bool inside = false;
    if (!jinja_text(run, self, &text) || !jinja_spend_walk(run, text.string->size)) { return false; }
    for (size_t at = 0; at < text.string->size;) {
        uint32_t code = jinja_code_at(text.string, &at);
        bool word = code == '_' || jinja_code_is_alnum(code);
        count += word && !inside;
        inside = word;
    }
    *out = jinja_int(count);
    return true;
}
