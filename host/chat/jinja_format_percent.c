/*
 * jinja_format_percent.c - "text %s" % values, as str.__mod__ does it.
 */
#include "jinja_format.h"

#include <inttypes.h>

struct percent {
    struct jinja_run *run;
    const struct jinja_string *format;
    size_t at;
    const jinja_value *values; /* of a tuple, or the one value */
    size_t count, used;
    const jinja_value *mapping; /* for "%(key)s"; NULL if the value is none */
    struct jinja_builder out;
};

static bool incomplete(struct percent *p) {
    return jinja_fail(p->run, JINJA_RUNTIME, "incomplete format");
}

static char look(const struct percent *p) {
    return p->at < p->format->size ? p->format->bytes[p->at] : 0;
}

static bool next_value(struct percent *p, jinja_value *out) {
    if (p->used >= p->count) {
        return jinja_fail(p->run, JINJA_RUNTIME, "not enough arguments for format string");
    }
    *out = p->values[p->used++];
    return true;
}

/* ---- reading ------------------------------------------------------------------------------------------ */

/* "(key)", with parentheses within it: its item becomes the only value. */
static bool read_key(struct percent *p) {
    size_t begin = ++p->at;
    if (!p->mapping || p->mapping->type != JINJA_DICT) {
        return jinja_fail(p->run, JINJA_RUNTIME, "format requires a mapping");
    }
    for (int depth = 1; depth; p->at++) {
        if (p->at >= p->format->size) { return jinja_fail(p->run, JINJA_RUNTIME, "incomplete format key"); }
        depth += look(p) == '(' ? 1 : look(p) == ')' ? -1 : 0;
    }
    size_t size = p->at - 1 - begin;
    const jinja_value *item;
    if (!jinja_dict_find(p->run, *p->mapping, p->format->bytes + begin, size, &item)) { return false; }
    if (!item) {
        return jinja_fail(p->run, JINJA_RUNTIME, "format has no key '%.*s'", (int)(size < 200 ? size : 200),
                          p->format->bytes + begin);
    }
    p->values = item;
    p->count = 1;
    p->used = 0;
    return true;
}

/* Digits or a star; -1 if there is neither. */
static bool read_number(struct percent *p, int64_t *out) {
    jinja_value star;
    *out = -1;
    if (look(p) == '*') {
        p->at++;
        if (!next_value(p, &star)) { return false; }
        if (!jinja_is_whole(star)) { return jinja_fail(p->run, JINJA_RUNTIME, "* wants int"); }
        *out = jinja_whole(star);
        if (*out < -INT32_MAX || *out > INT32_MAX) {
            return jinja_fail(p->run, JINJA_RUNTIME, "width too big");
        }
        return true;
    }
    for (; look(p) >= '0' && look(p) <= '9'; p->at++) {
        *out = (*out < 0 ? 0 : *out) * 10 + (look(p) - '0');
        if (*out > INT32_MAX) { return jinja_fail(p->run, JINJA_RUNTIME, "width too big"); }
    }
    return true;
}

static void read_flags(struct percent *p, struct jinja_spec *spec) {
    bool left = false;
    for (;; p->at++) {
        char flag = look(p);
        if (flag == '-') {
            left = true;
        } else if (flag == '+') {
            spec->sign = '+';
        } else if (flag == ' ' && spec->sign == 0) {
            spec->sign = ' ';
        } else if (flag == '#') {
            spec->alternate = true;
        } else if (flag == '0') {
            spec->zero = true;
        } else if (flag != ' ') {
            break;
        }
    }
    spec->align = left ? '<' : '>';
}

/* Behind the sign of a directive. */
static bool read_spec(struct percent *p, struct jinja_spec *spec) {
    const size_t begin = p->at - 1;
    *spec = (struct jinja_spec){.fill = ' ', .precision = -1, .width = -1};
    if (look(p) == '(' && !read_key(p)) { return false; }
    read_flags(p, spec);
    if (!read_number(p, &spec->width)) { return false; }
    if (spec->width < -1) {
        spec->align = '<';
        spec->width = -spec->width;
    }
    if (look(p) == '.') {
        p->at++;
        if (!read_number(p, &spec->precision)) { return false; }
        if (spec->precision < 0) { spec->precision = 0; }
    }
    if (look(p) && strchr("hlL", look(p))) { p->at++; }
    if (p->at >= p->format->size) { return incomplete(p); }
    spec->type = look(p);
    p->at++;
    spec->origin = spec->fill_origin = jinja_origin_of(p->format, begin, p->at);
    return true;
}

/* ---- writing ------------------------------------------------------------------------------------------ */

static bool write_text(struct percent *p, struct jinja_spec spec, jinja_value value) {
    struct jinja_builder own = {.run = p->run};
    jinja_value text;
    bool done = spec.type == 's'   ? jinja_build_text(&own, value)
                : spec.type == 'r' ? jinja_build_repr(&own, value)
                                   : jinja_build_ascii(&own, value);
    if (!done || !jinja_built(&own, &text)) { return false; }
    bool is_markup = spec.type == 's' && value.type == JINJA_STRING && value.string->markup;
    if (p->format->markup && !is_markup && !jinja_html_escape(p->run, text, &text)) { return false; }
    return jinja_lay_out_text(&p->out, &spec, text.string);
}

/* A character made from its number counts as given: see jinja_value.h. */
static bool write_character(struct percent *p, struct jinja_spec spec, jinja_value value) {
    struct jinja_builder own = {.run = p->run};
    jinja_value text = value;
    spec.precision = -1;
    if (jinja_is_whole(value)) {
        int64_t code = jinja_whole(value);
        if (code < 0 || code > 0x10FFFF || (code >= 0xD800 && code < 0xE000)) {
            return jinja_fail(p->run, JINJA_RUNTIME, "%%c arg is no character: %" PRId64, code);
        }
        if (!jinja_build_code(&own, (uint32_t)code, JINJA_GIVEN) || !jinja_built(&own, &text)) {
            return false;
        }
    } else if (value.type != JINJA_STRING || value.string->characters != 1) {
        return jinja_fail(p->run, JINJA_RUNTIME, "%%c requires int or char");
    }
    return jinja_lay_out_text(&p->out, &spec, text.string);
}

static bool whole_of(struct percent *p, char type, jinja_value value, int64_t *out) {
    if (value.type == JINJA_UNDEFINED) { return jinja_fail_undefined(p->run, value); }
    bool decimal = type == 'd' || type == 'i' || type == 'u';
    if (decimal && value.type == JINJA_FLOAT) { return jinja_float_to_int(p->run, value.number, out); }
    if (!jinja_is_whole(value)) {
        return jinja_fail(p->run, JINJA_RUNTIME, "%%%c format: %s is required, not %s", type,
                          decimal ? "a real number" : "an integer", jinja_type_name(value));
    }
    *out = jinja_whole(value);
    return true;
}

/* The precision is the smallest number of digits: zeros in front of them, in the prefix's place. */
static bool write_int(struct percent *p, struct jinja_spec spec, jinja_value value) {
    int64_t whole;
    if (!whole_of(p, spec.type, value, &whole)) { return false; }
    if (spec.type == 'i' || spec.type == 'u') { spec.type = 'd'; }
    if (spec.precision < 0) { return jinja_lay_out_int(&p->out, &spec, whole); }
    struct jinja_builder digits = {.run = p->run};
    jinja_value text;
    bool has_prefix = spec.alternate && spec.type != 'd';
    const struct jinja_spec inner = {
        .fill = '0', .align = '=', .width = spec.precision, .precision = -1, .type = spec.type};
    uint64_t size = whole < 0 ? 0 - (uint64_t)whole : (uint64_t)whole;
    if (size > INT64_MAX) { return jinja_fail_overflow(p->run); }
    if (!jinja_lay_out_int(&digits, &inner, (int64_t)size) || !jinja_built(&digits, &text)) { return false; }
    const struct jinja_number_parts parts = {.sign = jinja_sign_of(&spec, whole < 0),
                                             .prefix = !has_prefix        ? ""
                                                       : spec.type == 'x' ? "0x"
                                                       : spec.type == 'X' ? "0X"
                                                                          : "0o",
                                             .digits = text.string->bytes,
                                             .digit_count = text.string->size,
                                             .rest = "",
                                             .group = 3};
    return jinja_lay_out_number(&p->out, &spec, &parts);
}

static bool write_float(struct percent *p, struct jinja_spec spec, jinja_value value) {
    if (value.type == JINJA_UNDEFINED) { return jinja_fail_undefined(p->run, value); }
    if (!jinja_is_number(value)) {
        return jinja_fail(p->run, JINJA_RUNTIME, "must be real number, not %s", jinja_type_name(value));
    }
    return jinja_lay_out_float(&p->out, &spec, jinja_real(value));
}

static bool write_value(struct percent *p) {
    struct jinja_spec spec;
    jinja_value value;
    if (look(p) == '%') { return jinja_build_from(&p->out, p->format, p->at, p->at + 1) && ++p->at; }
    if (!read_spec(p, &spec)) { return false; }
    if (!next_value(p, &value)) { return false; }
    if (strchr("sra", spec.type)) { return write_text(p, spec, value); }
    if (spec.type == 'c') { return write_character(p, spec, value); }
    if (spec.zero && spec.align != '<') {
        spec.fill = '0';
        spec.align = '=';
    }
    if (strchr("diuoxX", spec.type)) { return write_int(p, spec, value); }
    if (strchr("eEfFgG", spec.type)) { return write_float(p, spec, value); }
    return jinja_fail(p->run, JINJA_RUNTIME, "unsupported format character '%c' at index %zu", spec.type,
                      p->at - 1);
}

/* What Python takes for a mapping: it may leave values without a use. */
static bool has_items(jinja_value value) {
    return value.type == JINJA_DICT || value.type == JINJA_LIST || value.type == JINJA_RANGE ||
           value.type == JINJA_UNDEFINED;
}

bool jinja_format_percent(struct jinja_run *run, const struct jinja_string *format, jinja_value values,
                          jinja_value *out) {
    bool tuple = values.type == JINJA_TUPLE, mapping = has_items(values);
    struct percent p = {.run = run,
                        .format = format,
                        .values = tuple ? values.list->items : &values,
                        .count = tuple ? values.list->count : 1,
                        .mapping = mapping ? &values : NULL,
                        .out = {.run = run}};
    for (size_t begin = 0;;) {
        size_t found = begin;
        const char *sign = memchr(format->bytes + begin, '%', format->size - begin);
        found = sign ? (size_t)(sign - format->bytes) : format->size;
        if (!jinja_build_from(&p.out, format, begin, found)) { return false; }
        if (!sign) { break; }
        p.at = found + 1;
        if (!write_value(&p) || !jinja_spend_bytes(run, p.at - found)) { return false; }
        begin = p.at;
    }
    if (p.used < p.count && !p.mapping) {
        return jinja_fail(run, JINJA_RUNTIME, "not all arguments converted during string formatting");
    }
    return jinja_built(&p.out, out) && jinja_markup(run, *out, format->markup, out);
}
