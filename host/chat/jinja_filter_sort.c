/*
 * jinja_filter_sort.c - filters that order or group: by the values themselves or by attributes of theirs, texts
 * without regard to case unless asked.
 */
#include "jinja_filter.h"
#include "jinja_method.h"

/* ---- attributes --------------------------------------------------------------------------------------- */

/* A part of digits alone is an index. */
static bool path_part(struct jinja_run *run, const struct jinja_string *s, size_t begin, size_t end,
                      jinja_value *out) {
    jinja_value text, digits;
    int64_t number;
    bool overflow;
    if (!jinja_substring(run, s, begin, end, &text) ||
        !jinja_string_method(run, "isdigit", text, NULL, 0, &digits)) {
        return false;
    }
    *out = text;
    if (!digits.boolean) { return true; }
    if (!jinja_spend_walk(run, end - begin)) { return false; }
    if (!jinja_parse_int(text.string, 10, &number, &overflow) || overflow) {
        return jinja_fail(run, JINJA_RUNTIME, "'%.200s' is no index", text.string->bytes);
    }
    *out = jinja_int(number);
    return true;
}

static bool step(struct jinja_run *run, jinja_value *item, jinja_value key, const jinja_value *fallback) {
    if (!jinja_item(run, *item, key, item)) { return false; }
    if (fallback && item->type == JINJA_UNDEFINED) { *item = *fallback; }
    return true;
}

bool jinja_attribute_path(struct jinja_run *run, jinja_value item, jinja_value path,
                          const jinja_value *fallback, jinja_value *out) {
    *out = item;
    if (path.type == JINJA_NONE) { return true; }
    if (path.type != JINJA_STRING) { return step(run, out, path, fallback); }
    const struct jinja_string *s = path.string;
    for (size_t begin = 0, end; begin <= s->size; begin = end + 1) {
        const char *dot = memchr(s->bytes + begin, '.', s->size - begin);
        jinja_value part;
        end = dot ? (size_t)(dot - s->bytes) : s->size;
        if (!path_part(run, s, begin, end, &part) || !step(run, out, part, fallback)) { return false; }
    }
    return true;
}

static bool ignore_case(struct jinja_run *run, bool case_sensitive, jinja_value *key) {
    return case_sensitive || key->type != JINJA_STRING || jinja_case(run, key->string, JINJA_LOWER, key);
}

struct keying {
    jinja_value path; /* none: the items themselves */
    const jinja_value *fallback;
    bool case_sensitive, several; /* several: paths between commas make a list of keys */
};

static bool single_key(struct jinja_run *run, const struct keying *by, jinja_value item, jinja_value path,
                       jinja_value *out) {
    return jinja_attribute_path(run, item, path, by->fallback, out) &&
           ignore_case(run, by->case_sensitive, out);
}

static bool key_of(struct jinja_run *run, const struct keying *by, jinja_value item, jinja_value *out) {
    if (!by->several) { return single_key(run, by, item, by->path, out); }
    jinja_value comma, paths, key;
    bool text = by->path.type == JINJA_STRING;
    if (!jinja_literal(run, ",", &comma)) { return false; }
    if (!(text ? jinja_split(run, by->path.string, comma.string, -1, &paths)
               : jinja_list_make(run, JINJA_LIST, 1, &paths) && jinja_list_add(run, paths, by->path)) ||
        !jinja_list_make(run, JINJA_LIST, paths.list->count, out)) {
        return false;
    }
    for (size_t i = 0; i < paths.list->count; i++) {
        if (!single_key(run, by, item, paths.list->items[i], &key) || !jinja_list_add(run, *out, key)) {
            return false;
        }
    }
    return true;
}

/* A list of the items and one of their keys. */
static bool items_and_keys(struct jinja_run *run, jinja_value self, const struct keying *by,
                           jinja_value *items, jinja_value *keys) {
    jinja_value key;
    if (!jinja_to_list(run, self, items) || !jinja_list_make(run, JINJA_LIST, items->list->count, keys)) {
        return false;
    }
    for (size_t i = 0; i < items->list->count; i++) {
        if (!key_of(run, by, items->list->items[i], &key) || !jinja_list_add(run, *keys, key)) {
            return false;
        }
    }
    return true;
}

static jinja_value path_of(const struct jinja_args *args, size_t i) {
    return jinja_has(args, i) ? args->at[i] : jinja_none();
}

static bool sorted(struct jinja_run *run, jinja_value items, jinja_value keys, bool reverse,
                   jinja_value *out) {
    size_t count = items.list->count, *order = jinja_alloc(run, count, sizeof *order);
    if (!order || !jinja_sort(run, keys.list->items, count, reverse, order) ||
        !jinja_list_make(run, JINJA_LIST, count, out)) {
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        if (!jinja_list_add(run, *out, items.list->items[order[i]])) { return false; }
    }
    return true;
}

/* ---- filters ------------------------------------------------------------------------------------------ */

bool jinja_filter_sort(struct jinja_run *run, jinja_value self, const struct jinja_args *args,
                       jinja_value *out) {
    struct keying by = {.path = path_of(args, 2), .several = true};
    jinja_value items, keys;
    bool reverse;
    return jinja_arg_flag(run, args, 0, &reverse) &&
           jinja_arg_bool(run, args, 1, false, &by.case_sensitive) &&
           items_and_keys(run, self, &by, &items, &keys) && sorted(run, items, keys, reverse, out);
}

bool jinja_filter_dictsort(struct jinja_run *run, jinja_value self, const struct jinja_args *args,
                           jinja_value *out) {
    const struct jinja_string *which = NULL;
    bool case_sensitive, reverse, is_view;
    jinja_value keys, view, key;
    if (!jinja_arg_bool(run, args, 0, false, &case_sensitive) || !jinja_arg_string(run, args, 1, &which) ||
        !jinja_arg_flag(run, args, 2, &reverse)) {
        return false;
    }
    bool by_value = which && jinja_string_is(which, "value"), by_key = which && jinja_string_is(which, "key");
    if (args->given[1] && !by_value && !by_key) {
        return jinja_fail(run, JINJA_RUNTIME, "You can only sort by either \"key\" or \"value\"");
    }
    if (self.type == JINJA_UNDEFINED) { return jinja_fail_undefined(run, self); }
    if (self.type != JINJA_DICT) {
        return jinja_fail(run, JINJA_RUNTIME, "dictsort: '%s' object has no attribute 'items'",
                          jinja_type_name(self));
    }
    if (!jinja_view_make(run, "items", self, &view) ||
        !jinja_list_make(run, JINJA_LIST, self.dict->count, &keys)) {
        return false;
    }
    for (size_t i = 0; i < self.dict->count; i++) {
        key = by_value ? self.dict->pairs[i].item : self.dict->pairs[i].key;
        if (!ignore_case(run, case_sensitive, &key) || !jinja_list_add(run, keys, key)) { return false; }
    }
    return sorted(run, jinja_stream_of(view, &is_view)->items, keys, reverse, out);
}

bool jinja_filter_unique(struct jinja_run *run, jinja_value self, const struct jinja_args *args,
                         jinja_value *out) {
    struct keying by = {.path = path_of(args, 1)};
    jinja_value items, keys, seen, list;
    const jinja_value *before;
    if (!jinja_arg_bool(run, args, 0, false, &by.case_sensitive) ||
        !items_and_keys(run, self, &by, &items, &keys) || !jinja_dict_make(run, &seen) ||
        !jinja_list_make(run, JINJA_LIST, 0, &list)) {
        return false;
    }
    for (size_t i = 0; i < items.list->count; i++) {
        if (!jinja_dict_get(run, seen.dict, keys.list->items[i], &before)) { return false; }
        if (before) { continue; }
        if (!jinja_dict_set(run, seen, keys.list->items[i], jinja_none()) ||
            !jinja_list_add(run, list, items.list->items[i])) {
            return false;
        }
    }
    return jinja_stream_make(run, list, out);
}

/* The first of the smallest, the first of the largest. */
static bool extreme(struct jinja_run *run, jinja_value self, const struct jinja_args *args,
                    enum jinja_operator better, jinja_value *out) {
    struct keying by = {.path = path_of(args, 1)};
    jinja_value items, keys;
    size_t best = 0;
    if (!jinja_arg_bool(run, args, 0, false, &by.case_sensitive) ||
        !items_and_keys(run, self, &by, &items, &keys)) {
        return false;
    }
    *out = jinja_undefined("No aggregated item, sequence was empty.");
    for (size_t i = 1; i < items.list->count; i++) {
        bool is_better;
        if (!jinja_compare(run, better, keys.list->items[i], keys.list->items[best], &is_better)) {
            return false;
        }
        if (is_better) { best = i; }
    }
    if (items.list->count) { *out = items.list->items[best]; }
    return true;
}

bool jinja_filter_min(struct jinja_run *run, jinja_value self, const struct jinja_args *args,
                      jinja_value *out) {
    return extreme(run, self, args, JINJA_LT, out);
}

bool jinja_filter_max(struct jinja_run *run, jinja_value self, const struct jinja_args *args,
                      jinja_value *out) {
    return extreme(run, self, args, JINJA_GT, out);
}

/* ---- groupby ------------------------------------------------------------------------------------------ */

static bool add_group(struct jinja_run *run, jinja_value groups, jinja_value key, jinja_value *members) {
    jinja_value group;
    if (!jinja_list_make(run, JINJA_LIST, 0, members) || !jinja_pair_make(run, key, *members, &group)) {
        return false;
    }
    group.list->group = true;
    return jinja_list_add(run, groups, group);
}

/* Neighbours of one key after sorting; the key that a group shows is that of its first item as it stands. */
bool jinja_filter_groupby(struct jinja_run *run, jinja_value self, const struct jinja_args *args,
                          jinja_value *out) {
    struct keying by = {.path = args->at[0], .fallback = jinja_has(args, 1) ? &args->at[1] : NULL};
    jinja_value items, keys, key, members = jinja_none();
    if (!jinja_arg_bool(run, args, 2, false, &by.case_sensitive) ||
        !items_and_keys(run, self, &by, &items, &keys) || !jinja_list_make(run, JINJA_LIST, 0, out)) {
        return false;
    }
    size_t count = items.list->count, *order = jinja_alloc(run, count, sizeof *order);
    if (!order || !jinja_sort(run, keys.list->items, count, false, order)) { return false; }
    for (size_t i = 0; i < count; i++) {
        bool same = false;
        if (i && !jinja_equal(run, keys.list->items[order[i - 1]], keys.list->items[order[i]], &same)) {
            return false;
        }
        jinja_value item = items.list->items[order[i]];
        if (!same && (!jinja_attribute_path(run, item, by.path, by.fallback, &key) ||
                      !add_group(run, *out, key, &members))) {
            return false;
        }
        if (!jinja_list_add(run, members, item)) { return false; }
    }
    return true;
}
