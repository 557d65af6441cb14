/*
 * jinja_filter_pprint.c - pprint: Python's pprint.pformat. The keys of dicts are sorted; what does not fit into 80
 * characters is laid out with an item on each line, long texts in pieces between quotes.
 */
#include "jinja_filter.h"
#include "jinja_method.h"

enum { WIDTH = 80 };

/* ---- sorting ------------------------------------------------------------------------------------------ */

static bool sort_dicts(struct jinja_run *run, jinja_value value, jinja_value *out);

static bool sort_items(struct jinja_run *run, jinja_value value, jinja_value *out) {
    jinja_value item;
    if (!jinja_list_make(run, value.type, value.list->count, out)) { return false; }
    for (size_t i = 0; i < value.list->count; i++) {
        if (!sort_dicts(run, value.list->items[i], &item) || !jinja_list_add(run, *out, item)) {
            return false;
        }
    }
    return true;
}

/* The place of a key's type: what has no order among each other is sorted by the names of the types
 * ("<class 'NoneType'>" before "<class 'int'>"). */
static int64_t rank_of(jinja_value key) {
    switch (key.type) {
    case JINJA_NONE: return 0;
    case JINJA_BOOL:
    case JINJA_INT:
    case JINJA_FLOAT: return 1;
    case JINJA_RANGE: return 2;
    case JINJA_STRING: return 3;
    case JINJA_TUPLE: return 4;
    default: return 5; /* functions and objects: a fault once two are compared, addresses in Python */
    }
}

static bool sort_keys(struct jinja_run *run, const struct jinja_dict *dict, jinja_value *out) {
    jinja_value keys, ranked, item;
    if (!jinja_list_make(run, JINJA_LIST, dict->count, &keys)) { return false; }
    for (size_t i = 0; i < dict->count; i++) {
        jinja_value key = dict->pairs[i].key;
        if (key.type == JINJA_UNDEFINED && dict->count > 1) { return jinja_fail_undefined(run, key); }
        if (!jinja_pair_make(run, jinja_int(rank_of(key)), key, &ranked) ||
            !jinja_list_add(run, keys, ranked)) {
            return false;
        }
    }
    size_t *order = jinja_alloc(run, dict->count, sizeof *order);
    if (!order || !jinja_sort(run, keys.list->items, dict->count, false, order) ||
        !jinja_dict_make(run, out)) {
        return false;
    }
    for (size_t i = 0; i < dict->count; i++) {
        const struct jinja_pair *pair = &dict->pairs[order[i]];
        if (!sort_dicts(run, pair->item, &item) || !jinja_dict_set(run, *out, pair->key, item)) {
            return false;
        }
    }
    return true;
}

static bool sort_dicts(struct jinja_run *run, jinja_value value, jinja_value *out) {
    *out = value;
    bool list = value.type == JINJA_LIST || value.type == JINJA_TUPLE;
    if (!list && value.type != JINJA_DICT) { return true; }
    if (!jinja_enter(run)) { return false; }
    bool done = list ? sort_items(run, value, out) : sort_keys(run, value.dict, out);
    jinja_leave(run);
    return done;
}

/* ---- layout ------------------------------------------------------------------------------------------- */

struct layout {
    struct jinja_run *run;
    struct jinja_builder out;
    size_t level;
};

static bool write_value(struct layout *p, jinja_value value, size_t indent, size_t allowance);

static bool new_line(struct layout *p, const char *before, size_t indent) {
    return jinja_build_literal(&p->out, before) && jinja_build_literal(&p->out, "\n") &&
           jinja_build_spaces(&p->out, indent);
}

static bool write_items(struct layout *p, const struct jinja_list *list, const char *open, const char *close,
                        size_t indent, size_t allowance) {
    if (!jinja_build_literal(&p->out, open)) { return false; }
    for (size_t i = 0; i < list->count; i++) {
        bool last = i + 1 == list->count;
        if (i && !new_line(p, ",", indent + 1)) { return false; }
        if (!write_value(p, list->items[i], indent + 1, last ? allowance + strlen(close) : 1)) {
            return false;
        }
    }
    return jinja_build_literal(&p->out, close);
}

static bool write_dict(struct layout *p, const struct jinja_dict *dict, size_t indent, size_t allowance) {
    if (!jinja_build_literal(&p->out, "{")) { return false; }
    for (size_t i = 0; i < dict->count; i++) {
        bool last = i + 1 == dict->count;
        jinja_value key;
        if (i && !new_line(p, ",", indent + 1)) { return false; }
        if (!jinja_repr(p->run, dict->pairs[i].key, &key) || !jinja_build_string(&p->out, key.string) ||
            !jinja_build_literal(&p->out, ": ") ||
            !write_value(p, dict->pairs[i].item, indent + 1 + key.string->characters + 2,
                         last ? allowance + 1 : 1)) {
            return false;
        }
    }
    return jinja_build_literal(&p->out, "}");
}

/* ---- long texts --------------------------------------------------------------------------------------- */

static bool add_piece(struct jinja_run *run, const struct jinja_string *s, size_t begin, size_t end,
                      jinja_value pieces) {
    jinja_value piece;
    return begin == end || (jinja_substring(run, s, begin, end, &piece) && jinja_repr(run, piece, &piece) &&
                            jinja_list_add(run, pieces, piece));
}

static bool fits(struct jinja_run *run, const struct jinja_string *s, size_t begin, size_t end, int64_t room,
                 bool *out) {
    jinja_value piece;
    if (!jinja_substring(run, s, begin, end, &piece) || !jinja_repr(run, piece, &piece)) { return false; }
    *out = (int64_t)piece.string->characters <= room;
    return true;
}

/* The end of a word and of the blanks behind it. */
static size_t word_end(const struct jinja_string *s, size_t at, size_t end) {
    size_t next = at;
    while (at < end && !jinja_code_is_space(jinja_code_at(s, &next))) { at = next; }
    for (next = at; at < end && jinja_code_is_space(jinja_code_at(s, &next));) { at = next; }
    return at;
}

/* A line in pieces of as many words as fit. */
static bool cut_line(struct jinja_run *run, const struct jinja_string *s, size_t begin, size_t end,
                     int64_t room, int64_t last_room, jinja_value pieces) {
    size_t current = begin;
    for (size_t at = begin, next; at < end; at = next) {
        bool fit;
        next = word_end(s, at, end);
        if (!fits(run, s, current, next, next == end ? last_room : room, &fit)) { return false; }
        if (fit) { continue; }
        if (!add_piece(run, s, current, at, pieces)) { return false; }
        current = at;
    }
    return add_piece(run, s, current, end, pieces);
}

static bool write_text(struct layout *p, const struct jinja_string *s, size_t indent, size_t allowance) {
    const bool top = p->level == 1;
    const int64_t room = WIDTH - (int64_t)(indent + top), last_room = room - (int64_t)(allowance + top);
    jinja_value pieces;
    size_t begin, end, next = 0;
    if (!jinja_spend_walk(p->run, s->size) || !jinja_list_make(p->run, JINJA_LIST, 0, &pieces)) {
        return false;
    }
    while (jinja_line(s, &begin, &end, &next)) {
        bool fit, last = next == s->size;
        if (!fits(p->run, s, begin, next, last ? last_room : room, &fit)) { return false; }
        if (!(fit ? add_piece(p->run, s, begin, next, pieces)
                  : cut_line(p->run, s, begin, next, room, last ? last_room : room, pieces))) {
            return false;
        }
    }
    const struct jinja_list *list = pieces.list;
    const bool brackets = top && list->count > 1;
    if (brackets && !jinja_build_literal(&p->out, "(")) { return false; }
    for (size_t i = 0; i < list->count; i++) {
        if ((i && !new_line(p, "", indent + top)) || !jinja_build_string(&p->out, list->items[i].string)) {
            return false;
        }
    }
    return !brackets || jinja_build_literal(&p->out, ")");
}

/* ---- values ------------------------------------------------------------------------------------------- */

/* A value whose parts go on lines of their own. */
static bool write_parts(struct layout *p, jinja_value value, size_t indent, size_t allowance) {
    switch (value.type) {
    case JINJA_STRING: return write_text(p, value.string, indent, allowance);
    case JINJA_LIST: return write_items(p, value.list, "[", "]", indent, allowance);
    case JINJA_TUPLE:
        return write_items(p, value.list, "(", value.list->count == 1 ? ",)" : ")", indent, allowance);
    default: return write_dict(p, value.dict, indent, allowance);
    }
}

static bool has_parts(jinja_value value) {
    return (value.type == JINJA_STRING && !value.string->markup && value.string->size) ||
           value.type == JINJA_LIST || value.type == JINJA_TUPLE || value.type == JINJA_DICT;
}

static bool write_value(struct layout *p, jinja_value value, size_t indent, size_t allowance) {
    jinja_value flat;
    if (!jinja_repr(p->run, value, &flat)) { return false; }
    if (flat.string->characters + indent + allowance <= WIDTH || !has_parts(value)) {
        return jinja_build_string(&p->out, flat.string);
    }
    if (!jinja_enter(p->run)) { return false; }
    p->level++;
    bool done = write_parts(p, value, indent, allowance);
    p->level--;
    jinja_leave(p->run);
    return done;
}

bool jinja_filter_pprint(struct jinja_run *run, jinja_value self, const struct jinja_args *args,
                         jinja_value *out) {
    (void)args;
    struct layout p = {.run = run, .out = {.run = run}};
    jinja_value sorted;
    return sort_dicts(run, self, &sorted) && write_value(&p, sorted, 0, 0) && jinja_built(&p.out, out);
}
