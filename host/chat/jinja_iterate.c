/*
 * jinja_iterate.c - iterating, lengths, ranges; and what only iterates: generators, reversed() and the views of a
 * dict. Generators compute all of their items at once, but are used up by the first who iterates, as in Python.
 */
#include "jinja_inside.h"

/* ---- streams and views -------------------------------------------------------------------------------- */

static const struct jinja_class generator_class = {.name = "generator"};
static const struct jinja_class keys_class = {.name = "dict_keys"};
static const struct jinja_class values_class = {.name = "dict_values"};
static const struct jinja_class items_class = {.name = "dict_items"};

static bool make_stream(struct jinja_run *run, const struct jinja_class *class, jinja_value items,
                        jinja_value *out) {
    struct jinja_stream *stream = jinja_alloc(run, 1, sizeof *stream);
    if (!stream) { return false; }
    *stream = (struct jinja_stream){.object = {class}, .items = items};
    *out = (jinja_value){.type = JINJA_OBJECT, .object = &stream->object};
    return true;
}

bool jinja_stream_make(struct jinja_run *run, jinja_value items, jinja_value *out) {
    return make_stream(run, &generator_class, items, out);
}

struct jinja_stream *jinja_stream_of(jinja_value value, bool *view) {
    if (value.type != JINJA_OBJECT) { return NULL; }
    const struct jinja_class *class = value.object->class;
    *view = class == &keys_class || class == &values_class || class == &items_class;
    if (!*view && class != &generator_class) { return NULL; }
    return (struct jinja_stream *)((char *)value.object - offsetof(struct jinja_stream, object));
}

bool jinja_view_make(struct jinja_run *run, const char *method, jinja_value value, jinja_value *out) {
    const struct jinja_dict *dict = value.dict;
    bool keys = method[0] == 'k', values = method[0] == 'v';
    jinja_value list;
    if (!jinja_list_make(run, JINJA_LIST, dict->count, &list)) { return false; }
    for (size_t i = 0; i < dict->count; i++) {
        jinja_value element = keys ? dict->pairs[i].key : dict->pairs[i].item;
        if (!keys && !values && !jinja_pair_make(run, dict->pairs[i].key, dict->pairs[i].item, &element)) {
            return false;
        }
        if (!jinja_list_add(run, list, element)) { return false; }
    }
    return make_stream(run, keys ? &keys_class : values ? &values_class : &items_class, list, out);
}

bool jinja_build_view(struct jinja_builder *b, jinja_value view) {
    bool is_view;
    const struct jinja_stream *stream = jinja_stream_of(view, &is_view);
    return jinja_build_literal(b, view.object->class->name) && jinja_build_literal(b, "(") &&
           jinja_build_repr(b, stream->items) && jinja_build_literal(b, ")");
}

/* ---- lengths ------------------------------------------------------------------------------------------ */

size_t jinja_range_length(const struct jinja_range *range) {
    uint64_t low = (uint64_t)range->start, high = (uint64_t)range->stop;
    if (range->step > 0) {
        return range->start < range->stop ? (high - low - 1) / (uint64_t)range->step + 1 : 0;
    }
    return range->start > range->stop ? (low - high - 1) / (0 - (uint64_t)range->step) + 1 : 0;
}

bool jinja_length(struct jinja_run *run, jinja_value value, size_t *out) {
    bool view;
    struct jinja_stream *stream = jinja_stream_of(value, &view);
    switch (value.type) {
    case JINJA_UNDEFINED: *out = 0; return true;
    case JINJA_STRING: *out = value.string->characters; return true;
    case JINJA_LIST:
    case JINJA_TUPLE: *out = value.list->count; return true;
    case JINJA_DICT: *out = value.dict->count; return true;
    case JINJA_RANGE: *out = jinja_range_length(value.range); return true;
    default:
        if (stream && view) {
            *out = stream->items.list->count;
            return true;
        }
        return jinja_fail(run, JINJA_RUNTIME, "object of type '%s' has no len()", jinja_type_name(value));
    }
}

/* ---- iterating ---------------------------------------------------------------------------------------- */

/* A stream gives its items to the first who asks. */
static bool iterate_stream(struct jinja_run *run, jinja_value over, struct jinja_iterator *out) {
    bool view;
    struct jinja_stream *stream = jinja_stream_of(over, &view);
    if (!stream) {
        return jinja_fail(run, JINJA_RUNTIME, "'%s' object is not iterable", jinja_type_name(over));
    }
    *out = (struct jinja_iterator){.over = stream->items};
    if (!stream->used) { out->count = stream->items.list->count; }
    stream->used = !view;
    return true;
}

bool jinja_iterate(struct jinja_run *run, jinja_value over, struct jinja_iterator *out) {
    if (over.type == JINJA_OBJECT) { return iterate_stream(run, over, out); }
    if (over.type == JINJA_NONE || jinja_is_number(over) || over.type == JINJA_METHOD ||
        over.type == JINJA_BUILTIN) {
        return jinja_fail(run, JINJA_RUNTIME, "'%s' object is not iterable", jinja_type_name(over));
    }
    *out = (struct jinja_iterator){.over = over};
    return jinja_length(run, over, &out->count);
}

bool jinja_iterate_back(struct jinja_run *run, jinja_value over, struct jinja_iterator *out) {
    bool view;
    if (jinja_stream_of(over, &view) && !view) {
        return jinja_fail(run, JINJA_RUNTIME, "'%s' object is not reversible", jinja_type_name(over));
    }
    if (!jinja_iterate(run, over, out)) { return false; }
    out->backwards = true;
    if (out->over.type == JINJA_STRING) { out->byte = out->over.string->size; }
    return true;
}

static bool next_character(struct jinja_run *run, struct jinja_iterator *it, jinja_value *item) {
    const struct jinja_string *s = it->over.string;
    size_t begin = it->byte, end = it->byte;
    if (it->backwards) {
        jinja_code_before(s, &begin);
    } else {
        jinja_code_at(s, &end);
    }
    it->byte = it->backwards ? begin : end;
    bool markup = s->markup && it->backwards; /* reversed() goes by index, which keeps markup */
    return jinja_substring(run, s, begin, end, item) && jinja_markup(run, *item, markup, item);
}

bool jinja_next(struct jinja_run *run, struct jinja_iterator *it, jinja_value *item, bool *done) {
    *done = it->at >= it->count;
    if (*done) { return true; }
    if (!jinja_spend(run, 1)) { return false; }
    size_t at = it->backwards ? it->count - 1 - it->at : it->at;
    it->at++;
    switch (it->over.type) {
    case JINJA_STRING: return next_character(run, it, item);
    case JINJA_DICT: *item = it->over.dict->pairs[at].key; return true;
    case JINJA_RANGE:
        *item = jinja_int((int64_t)((uint64_t)it->over.range->start + at * (uint64_t)it->over.range->step));
        return true;
    default: *item = it->over.list->items[at]; return true;
    }
}

bool jinja_to_list(struct jinja_run *run, jinja_value value, jinja_value *out) {
    struct jinja_iterator each;
    jinja_value item;
    bool done;
    if (!jinja_iterate(run, value, &each) || !jinja_spend(run, each.count) ||
        !jinja_list_make(run, JINJA_LIST, each.count, out)) {
        return false;
    }
    while (jinja_next(run, &each, &item, &done) && !done) {
        if (!jinja_list_add(run, *out, item)) { return false; }
    }
    return done;
}
