/*
 * jinja_format_spec.c - format(value, spec): the mini-language behind the colon in "{:>8.2f}".
 */
#include "jinja_format.h"

#include <inttypes.h>

/* ---- reading ------------------------------------------------------------------------------------------ */

struct reader {
    const struct jinja_string *s;
    size_t at;
};

static bool take(struct reader *r, char c) {
    bool there = r->at < r->s->size && r->s->bytes[r->at] == c;
    r->at += there;
    return there;
}

static char take_of(struct reader *r, const char *set) {
    bool there = r->at < r->s->size && r->s->bytes[r->at] && strchr(set, r->s->bytes[r->at]);
    return there ? r->s->bytes[r->at++] : 0;
}

/* A number; -1 if there is none, INT32_MAX for all beyond. */
static int64_t take_number(struct reader *r) {
    int64_t value = -1;
    while (r->at < r->s->size && r->s->bytes[r->at] >= '0' && r->s->bytes[r->at] <= '9') {
        value = (value < 0 ? 0 : value) * 10 + (r->s->bytes[r->at++] - '0');
        if (value > INT32_MAX) { value = INT32_MAX; }
    }
    return value;
}

static bool is_align(char c) {
    return c == '<' || c == '>' || c == '^' || c == '=';
}

/* "x<" or "<" */
static void take_fill(struct reader *r, struct jinja_spec *spec) {
    size_t next = r->at;
    if (r->at == r->s->size) { return; }
    uint32_t code = jinja_code_at(r->s, &next);
    if (next < r->s->size && is_align(r->s->bytes[next])) {
        spec->fill = code;
        spec->fill_origin = jinja_origin_at(r->s, r->at);
        spec->align = r->s->bytes[next];
        r->at = next + 1;
        return;
    }
    spec->align = take_of(r, "<>^=");
}

static bool read_spec(struct jinja_run *run, const struct jinja_string *s, struct jinja_spec *out) {
    struct reader r = {s, 0};
    const uint8_t origin = jinja_origin_of(s, 0, s->size);
    *out = (struct jinja_spec){
        .fill = ' ', .fill_origin = origin, .origin = origin, .precision = -1, .width = -1};
    take_fill(&r, out);
    out->sign = take_of(&r, "+- ");
    out->no_negative_zero = take(&r, 'z');
    out->alternate = take(&r, '#');
    if (out->fill == ' ' && take(&r, '0')) {
        out->zero = true;
        out->fill = '0';
    }
    out->width = take_number(&r);
    out->grouping = take_of(&r, ",_");
    if (take(&r, '.') && (out->precision = take_number(&r)) < 0) {
        return jinja_fail(run, JINJA_RUNTIME, "Format specifier missing precision");
    }
    if (r.at + 1 == s->size) { out->type = s->bytes[r.at++]; }
    if (r.at == s->size) { return true; }
    return jinja_fail(run, JINJA_RUNTIME, "Invalid format specifier '%.200s'", s->bytes);
}

/* ---- by type ------------------------------------------------------------------------------------------ */

static bool refuse(struct jinja_run *run, const char *what, const char *type) {
    return jinja_fail(run, JINJA_RUNTIME, "%s not allowed in %s format specifier", what, type);
}

static bool unknown_type(struct jinja_run *run, char type, jinja_value value) {
    return jinja_fail(run, JINJA_RUNTIME, "Unknown format code '%c' for object of type '%s'", type,
                      jinja_type_name(value));
}

static bool format_string(struct jinja_builder *b, jinja_value value, struct jinja_spec spec) {
    if (spec.type && spec.type != 's') { return unknown_type(b->run, spec.type, value); }
    if (spec.sign) { return refuse(b->run, "Sign", "string"); }
    if (spec.no_negative_zero) { return refuse(b->run, "Negative zero coercion (z)", "string"); }
    if (spec.alternate) { return refuse(b->run, "Alternate form (#)", "string"); }
    if (spec.grouping) {
        return jinja_fail(b->run, JINJA_RUNTIME, "Cannot specify '%c' with 's'.", spec.grouping);
    }
    if (spec.align == '=') { return refuse(b->run, "'=' alignment", "string"); }
    return jinja_lay_out_text(b, &spec, value.string);
}

/* A character made from its number counts as given: see jinja_value.h. */
static bool format_character(struct jinja_builder *b, struct jinja_spec spec, int64_t code) {
    struct jinja_builder own = {.run = b->run};
    jinja_value character;
    if (spec.sign) {
        return jinja_fail(b->run, JINJA_RUNTIME, "Sign not allowed with integer format specifier 'c'");
    }
    if (spec.alternate) {
        return jinja_fail(b->run, JINJA_RUNTIME,
                          "Alternate form (#) not allowed with integer format specifier 'c'");
    }
    if (code < 0 || code > 0x10FFFF || (code >= 0xD800 && code < 0xE000)) {
        return jinja_fail(b->run, JINJA_RUNTIME, "%%c arg is no character: %" PRId64, code);
    }
    if (!spec.align) { spec.align = '>'; }
    return jinja_build_code(&own, (uint32_t)code, JINJA_GIVEN) && jinja_built(&own, &character) &&
           jinja_lay_out_text(b, &spec, character.string);
}

static bool format_int(struct jinja_builder *b, jinja_value value, struct jinja_spec spec) {
    if (spec.zero && !spec.align) { spec.align = '='; }
    if (spec.type && strchr("eEfFgG%", spec.type)) {
        return jinja_lay_out_float(b, &spec, jinja_real(value));
    }
    if (spec.type && !strchr("bcdoxXn", spec.type)) { return unknown_type(b->run, spec.type, value); }
    if (spec.precision >= 0) { return refuse(b->run, "Precision", "integer"); }
    if (spec.no_negative_zero) { return refuse(b->run, "Negative zero coercion (z)", "integer"); }
    bool grouped = !spec.type || spec.type == 'd' || (spec.grouping == '_' && strchr("boxX", spec.type));
    if (spec.grouping && !grouped) {
        return jinja_fail(b->run, JINJA_RUNTIME, "Cannot specify '%c' with '%c'.", spec.grouping, spec.type);
    }
    if (spec.type == 'c') { return format_character(b, spec, jinja_whole(value)); }
    return jinja_lay_out_int(b, &spec, jinja_whole(value));
}

static bool format_float(struct jinja_builder *b, jinja_value value, struct jinja_spec spec) {
    if (spec.zero && !spec.align) { spec.align = '='; }
    if (spec.type && !strchr("eEfFgGn%", spec.type)) { return unknown_type(b->run, spec.type, value); }
    if (spec.grouping && spec.type == 'n') {
        return jinja_fail(b->run, JINJA_RUNTIME, "Cannot specify '%c' with 'n'.", spec.grouping);
    }
    return jinja_lay_out_float(b, &spec, value.number);
}

bool jinja_format_value(struct jinja_builder *b, jinja_value value, const struct jinja_string *text) {
    struct jinja_spec spec;
    if (text->size == 0) { return jinja_build_text(b, value); }
    if (value.type != JINJA_STRING && !jinja_is_number(value)) {
        return jinja_fail(b->run, JINJA_RUNTIME, "unsupported format string passed to %s.__format__",
                          jinja_type_name(value));
    }
    if (!read_spec(b->run, text, &spec)) { return false; }
    if (value.type == JINJA_STRING) { return format_string(b, value, spec); }
    return value.type == JINJA_FLOAT ? format_float(b, value, spec) : format_int(b, value, spec);
}
