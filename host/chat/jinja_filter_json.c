/*
 * jinja_filter_json.c - tojson as chat templates have it: json.dumps without ASCII escapes unless asked. What the
 * caller gave stays given, with its escapes; quotes and punctuation around it are the template's.
 */
#include "jinja_filter.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

struct json {
    struct jinja_builder *b;
    const struct jinja_string *indent; /* NULL: on one line */
    const struct jinja_string *between, *colon;
    bool ascii, sort;
    size_t depth;
};

/* ---- texts -------------------------------------------------------------------------------------------- */

/* What stands for a character; 0 if it stands for itself. */
static size_t escape(uint32_t code, bool ascii, char out[16]) {
    static const char short_ones[] = "\"\"\\\\\bb\ff\nn\rr\tt";
    for (size_t i = 0; i + 1 < sizeof short_ones; i += 2) {
        if (code == (unsigned char)short_ones[i]) {
            return (size_t)snprintf(out, 16, "\\%c", short_ones[i + 1]);
        }
    }
    if (code >= 0x20 && (code < 0x7F || !ascii)) { return 0; }
    if (code < 0x10000) { return (size_t)snprintf(out, 16, "\\u%04" PRIx32, code); }
    uint32_t high = 0xD800 + ((code - 0x10000) >> 10), low = 0xDC00 + ((code - 0x10000) & 0x3FF);
    return (size_t)snprintf(out, 16, "\\u%04" PRIx32 "\\u%04" PRIx32, high, low);
}

static bool write_string(const struct json *j, const struct jinja_string *s) {
    char form[16];
    size_t begin = 0, at = 0;
    if (!jinja_build_literal(j->b, "\"")) { return false; }
    while (at < s->size) {
        size_t place = at;
        size_t size = escape(jinja_code_at(s, &at), j->ascii, form);
        if (size == 0) { continue; }
        if (!jinja_build_from(j->b, s, begin, place) ||
            !jinja_build(j->b, form, size, jinja_origin_at(s, place))) {
            return false;
        }
        begin = at;
    }
    return jinja_build_from(j->b, s, begin, s->size) && jinja_build_literal(j->b, "\"");
}

static bool write_float(const struct json *j, double value) {
    char text[JINJA_FLOAT_TEXT];
    if (!jinja_spend(j->b->run, JINJA_FLOAT_STEPS)) { return false; }
    if (isnan(value)) { return jinja_build_literal(j->b, "NaN"); }
    if (isinf(value)) { return jinja_build_literal(j->b, value < 0 ? "-Infinity" : "Infinity"); }
    return jinja_build(j->b, text, jinja_float_text(value, text), JINJA_WRITTEN);
}

/* ---- containers --------------------------------------------------------------------------------------- */

static bool write_value(struct json *j, jinja_value value);

static bool new_line(struct json *j) {
    return !j->indent || (jinja_build_literal(j->b, "\n") && jinja_build_repeat(j->b, j->indent, j->depth));
}

static bool begin_item(struct json *j, bool first) {
    return (first || jinja_build_string(j->b, j->between)) && new_line(j);
}

static bool write_list(struct json *j, const struct jinja_list *list) {
    if (list->count == 0) { return jinja_build_literal(j->b, "[]"); }
    j->depth++;
    if (!jinja_build_literal(j->b, "[")) { return false; }
    for (size_t i = 0; i < list->count; i++) {
        if (!begin_item(j, i == 0) || !write_value(j, list->items[i])) { return false; }
    }
    j->depth--;
    return new_line(j) && jinja_build_literal(j->b, "]");
}

/* Keys that are no texts are written as what they would be as values. */
static bool write_key(struct json *j, jinja_value key) {
    if (key.type == JINJA_STRING) { return write_string(j, key.string); }
    if (key.type != JINJA_NONE && !jinja_is_number(key)) {
        return jinja_fail(j->b->run, JINJA_RUNTIME, "keys must be str, int, float, bool or None, not %s",
                          jinja_type_name(key));
    }
    return jinja_build_literal(j->b, "\"") && write_value(j, key) && jinja_build_literal(j->b, "\"");
}

static bool sorted_order(struct jinja_run *run, const struct jinja_dict *dict, size_t **out) {
    jinja_value keys;
    if (!jinja_list_make(run, JINJA_LIST, dict->count, &keys)) { return false; }
    for (size_t i = 0; i < dict->count; i++) {
        if (!jinja_list_add(run, keys, dict->pairs[i].key)) { return false; }
    }
    *out = jinja_alloc(run, dict->count, sizeof **out);
    return *out && jinja_sort(run, keys.list->items, dict->count, false, *out);
}

static bool write_dict(struct json *j, const struct jinja_dict *dict) {
    size_t *order = NULL;
    if (dict->count == 0) { return jinja_build_literal(j->b, "{}"); }
    if (j->sort && !sorted_order(j->b->run, dict, &order)) { return false; }
    j->depth++;
    if (!jinja_build_literal(j->b, "{")) { return false; }
    for (size_t i = 0; i < dict->count; i++) {
        const struct jinja_pair *pair = &dict->pairs[order ? order[i] : i];
        if (!begin_item(j, i == 0) || !write_key(j, pair->key) || !jinja_build_string(j->b, j->colon) ||
            !write_value(j, pair->item)) {
            return false;
        }
    }
    j->depth--;
    return new_line(j) && jinja_build_literal(j->b, "}");
}

static bool write_any(struct json *j, jinja_value value) {
    char text[24];
    switch (value.type) {
    case JINJA_NONE: return jinja_build_literal(j->b, "null");
    case JINJA_BOOL: return jinja_build_literal(j->b, value.boolean ? "true" : "false");
    case JINJA_INT:
        snprintf(text, sizeof text, "%" PRId64, value.integer);
        return jinja_build_literal(j->b, text);
    case JINJA_FLOAT: return write_float(j, value.number);
    case JINJA_STRING: return write_string(j, value.string);
    case JINJA_LIST:
    case JINJA_TUPLE: return write_list(j, value.list);
    case JINJA_DICT: return write_dict(j, value.dict);
    default:
        if (value.type == JINJA_UNDEFINED && value.name) { return jinja_fail_undefined(j->b->run, value); }
        return jinja_fail(j->b->run, JINJA_RUNTIME, "Object of type %s is not JSON serializable",
                          jinja_type_name(value));
    }
}

static bool write_value(struct json *j, jinja_value value) {
    if (!jinja_spend(j->b->run, 1) || !jinja_enter(j->b->run)) { return false; }
    bool done = write_any(j, value);
    jinja_leave(j->b->run);
    return done;
}

/* ---- the filter --------------------------------------------------------------------------------------- */

/* A number of blanks, or the text itself. */
static bool read_indent(struct jinja_run *run, const struct jinja_args *args, struct json *j) {
    struct jinja_builder b = {.run = run};
    jinja_value text = args->at[1];
    int64_t width;
    if (!jinja_has(args, 1)) { return true; }
    if (text.type != JINJA_STRING) {
        if (!jinja_index(run, text, &width) || !jinja_build_spaces(&b, width > 0 ? (uint64_t)width : 0) ||
            !jinja_built(&b, &text)) {
            return false;
        }
    }
    j->indent = text.string;
    return true;
}

/* (between items, behind a key); without them a comma has no blank where a line ends. */
static bool read_separators(struct jinja_run *run, const struct jinja_args *args, struct json *j) {
    jinja_value between, colon, pair;
    if (!jinja_literal(run, j->indent ? "," : ", ", &between) || !jinja_literal(run, ": ", &colon)) {
        return false;
    }
    if (jinja_has(args, 2)) {
        if (!jinja_to_list(run, args->at[2], &pair)) { return false; }
        const struct jinja_list *list = pair.list;
        if (list->count != 2 || list->items[0].type != JINJA_STRING || list->items[1].type != JINJA_STRING) {
            return jinja_fail(run, JINJA_RUNTIME, "tojson: separators are two texts");
        }
        between = list->items[0];
        colon = list->items[1];
    }
    j->between = between.string;
    j->colon = colon.string;
    return true;
}

bool jinja_filter_tojson(struct jinja_run *run, jinja_value self, const struct jinja_args *args,
                         jinja_value *out) {
    struct jinja_builder b = {.run = run};
    struct json j = {.b = &b};
    return jinja_arg_bool(run, args, 0, false, &j.ascii) && jinja_arg_bool(run, args, 3, false, &j.sort) &&
           read_indent(run, args, &j) && read_separators(run, args, &j) && write_value(&j, self) &&
           jinja_built(&b, out);
}
