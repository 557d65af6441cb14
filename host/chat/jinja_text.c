/*
 * jinja_text.c - str(), repr() and ascii() of every value, as Python 3.11 writes them.
 */
#include "jinja_inside.h"

#include <inttypes.h>
#include <stdio.h>

const char *jinja_type_name(jinja_value value) {
    static const char *const names[] = {
        [JINJA_UNDEFINED] = "Undefined",
        [JINJA_NONE] = "NoneType",
        [JINJA_BOOL] = "bool",
        [JINJA_INT] = "int",
        [JINJA_FLOAT] = "float",
        [JINJA_STRING] = "str",
        [JINJA_LIST] = "list",
        [JINJA_TUPLE] = "tuple",
        [JINJA_DICT] = "dict",
        [JINJA_RANGE] = "range",
        [JINJA_METHOD] = "builtin_function_or_method",
        [JINJA_BUILTIN] = "function",
    };
    return value.type == JINJA_OBJECT ? value.object->class->name : names[value.type];
}

/* ---- texts in quotes ---------------------------------------------------------------------------------- */

/* What stands for a character in quotes: itself (0), a short escape or one by its number. */
static size_t escape(uint32_t code, char quote, bool ascii, char out[12]) {
    static const char short_ones[] = "\\\\\tt\nn\rr";
    for (size_t i = 0; i + 1 < sizeof short_ones; i += 2) {
        if (code == (unsigned char)short_ones[i]) {
            return (size_t)snprintf(out, 12, "\\%c", short_ones[i + 1]);
        }
    }
    if (code == (unsigned char)quote) { return (size_t)snprintf(out, 12, "\\%c", quote); }
    if (jinja_code_is_printable(code) && (!ascii || code < 0x80)) { return 0; }
    const char *form = code < 0x100 ? "\\x%02" PRIx32 : code < 0x10000 ? "\\u%04" PRIx32 : "\\U%08" PRIx32;
    return (size_t)snprintf(out, 12, form, code);
}

/* Single quotes, unless there are such in the text and no double ones. */
static bool quoted(struct jinja_builder *b, const struct jinja_string *s, bool ascii) {
    bool single = memchr(s->bytes, '\'', s->size) != NULL, twofold = memchr(s->bytes, '"', s->size) != NULL;
    char quote = single && !twofold ? '"' : '\'', form[12];
    size_t begin = 0, at = 0;
    if (!jinja_build(b, &quote, 1, JINJA_WRITTEN)) { return false; }
    while (at < s->size) {
        size_t place = at;
        size_t size = escape(jinja_code_at(s, &at), quote, ascii, form);
        if (size == 0) { continue; }
        if (!jinja_build_from(b, s, begin, place) || !jinja_build(b, form, size, jinja_origin_at(s, place))) {
            return false;
        }
        begin = at;
    }
    return jinja_build_from(b, s, begin, s->size) && jinja_build(b, &quote, 1, JINJA_WRITTEN);
}

/* ---- containers --------------------------------------------------------------------------------------- */

static bool represent(struct jinja_builder *b, jinja_value value, bool ascii);

static bool represent_items(struct jinja_builder *b, const struct jinja_list *list, const char *open,
                            const char *close, bool ascii) {
    if (!jinja_build_literal(b, open)) { return false; }
    for (size_t i = 0; i < list->count; i++) {
        if ((i && !jinja_build_literal(b, ", ")) || !represent(b, list->items[i], ascii)) { return false; }
    }
    return jinja_build_literal(b, close);
}

static bool represent_dict(struct jinja_builder *b, const struct jinja_dict *dict, bool ascii) {
    if (!jinja_build_literal(b, "{")) { return false; }
    for (size_t i = 0; i < dict->count; i++) {
        if ((i && !jinja_build_literal(b, ", ")) || !represent(b, dict->pairs[i].key, ascii) ||
            !jinja_build_literal(b, ": ") || !represent(b, dict->pairs[i].item, ascii)) {
            return false;
        }
    }
    return jinja_build_literal(b, "}");
}

static bool represent_range(struct jinja_builder *b, const struct jinja_range *range) {
    char text[80];
    snprintf(text, sizeof text,
             range->step == 1 ? "range(%" PRId64 ", %" PRId64 ")"
                              : "range(%" PRId64 ", %" PRId64 ", %" PRId64 ")",
             range->start, range->stop, range->step);
    return jinja_build_literal(b, text);
}

static bool represent_object(struct jinja_builder *b, jinja_value value) {
    bool view;
    jinja_value text;
    const struct jinja_class *class = value.object->class;
    if (jinja_stream_of(value, &view)) {
        if (view) { return jinja_build_view(b, value); }
        return jinja_fail(b->run, JINJA_RUNTIME, "a %s has no text of its own: |list or |join is missing",
                          class->name);
    }
    if (!class->text) { return jinja_fail(b->run, JINJA_RUNTIME, "a '%s' object has no text", class->name); }
    return class->text(b->run, value.object, &text) && jinja_build_string(b, text.string);
}

/* ---- values ------------------------------------------------------------------------------------------- */

static bool represent_int(struct jinja_builder *b, int64_t value) {
    char text[24];
    snprintf(text, sizeof text, "%" PRId64, value);
    return jinja_build_literal(b, text);
}

static bool represent_float(struct jinja_builder *b, double value) {
    char text[JINJA_FLOAT_TEXT];
    return jinja_spend(b->run, JINJA_FLOAT_STEPS) &&
           jinja_build(b, text, jinja_float_text(value, text), JINJA_WRITTEN);
}

static bool represent_tuple(struct jinja_builder *b, const struct jinja_list *list, bool ascii) {
    return represent_items(b, list, "(", list->count == 1 ? ",)" : ")", ascii);
}

static bool represent_value(struct jinja_builder *b, jinja_value value, bool ascii) {
    switch (value.type) {
    case JINJA_UNDEFINED: return jinja_build_literal(b, "Undefined");
    case JINJA_NONE: return jinja_build_literal(b, "None");
    case JINJA_BOOL: return jinja_build_literal(b, value.boolean ? "True" : "False");
    case JINJA_INT: return represent_int(b, value.integer);
    case JINJA_FLOAT: return represent_float(b, value.number);
    case JINJA_STRING:
        if (!value.string->markup) { return quoted(b, value.string, ascii); }
        return jinja_build_literal(b, "Markup(") && quoted(b, value.string, ascii) &&
               jinja_build_literal(b, ")");
    case JINJA_LIST: return represent_items(b, value.list, "[", "]", ascii);
    case JINJA_TUPLE: return represent_tuple(b, value.list, ascii);
    case JINJA_DICT: return represent_dict(b, value.dict, ascii);
    case JINJA_RANGE: return represent_range(b, value.range);
    case JINJA_OBJECT: return represent_object(b, value);
    default: {
        const struct jinja_builtin *builtin =
            value.type == JINJA_METHOD ? value.method->method : value.builtin;
        return jinja_fail(b->run, JINJA_RUNTIME, "the function %s() has no text: its call is missing",
                          builtin->name);
    }
    }
}

static bool represent(struct jinja_builder *b, jinja_value value, bool ascii) {
    if (!jinja_spend(b->run, 1) || !jinja_enter(b->run)) { return false; }
    bool done = represent_value(b, value, ascii);
    jinja_leave(b->run);
    return done;
}

bool jinja_build_repr(struct jinja_builder *b, jinja_value value) {
    return represent(b, value, false);
}

bool jinja_build_ascii(struct jinja_builder *b, jinja_value value) {
    return represent(b, value, true);
}

bool jinja_build_text(struct jinja_builder *b, jinja_value value) {
    if (value.type == JINJA_UNDEFINED) { return true; }
    if (value.type == JINJA_STRING) { return jinja_build_string(b, value.string); }
    return represent(b, value, false);
}

bool jinja_text(struct jinja_run *run, jinja_value value, jinja_value *out) {
    if (value.type == JINJA_STRING) {
        *out = value;
        return true;
    }
    struct jinja_builder b = {.run = run};
    return jinja_build_text(&b, value) && jinja_built(&b, out);
}

bool jinja_repr(struct jinja_run *run, jinja_value value, jinja_value *out) {
    struct jinja_builder b = {.run = run};
    return jinja_build_repr(&b, value) && jinja_built(&b, out);
}
