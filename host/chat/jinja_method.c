/*
 * jinja_method.c - which methods values have, and those of lists, tuples, ranges and dicts. What would change a value
 * is known, so that its use is a fault as the immutable sandbox of Jinja makes it.
 */
#include "jinja_method.h"

/* ---- sequences ---------------------------------------------------------------------------------------- */

static bool count_items(struct jinja_run *run, jinja_value self, const struct jinja_args *args,
                        jinja_value *out) {
    struct jinja_iterator each;
    jinja_value item;
    bool done, equal;
    int64_t count = 0;
    if (!jinja_iterate(run, self, &each)) { return false; }
    while (jinja_next(run, &each, &item, &done) && !done) {
        if (!jinja_equal(run, item, args->at[0], &equal)) { return false; }
        count += equal;
    }
    *out = jinja_int(count);
    return done;
}

static int64_t clamp_index(int64_t index, int64_t count) {
    if (index < 0) { index += count; }
    return index < 0 ? 0 : index > count ? count : index;
}

static bool index_of(struct jinja_run *run, jinja_value self, const struct jinja_args *args,
                     jinja_value *out) {
    size_t length;
    int64_t start, stop;
    if (!jinja_length(run, self, &length) || !jinja_arg_int(run, args, 1, 0, &start) ||
        !jinja_arg_int(run, args, 2, (int64_t)length, &stop)) {
        return false;
    }
    start = clamp_index(start, (int64_t)length);
    stop = clamp_index(stop, (int64_t)length);
    for (int64_t i = start; i < stop; i++) {
        bool equal;
        jinja_value item;
        if (!jinja_item(run, self, jinja_int(i), &item) || !jinja_equal(run, item, args->at[0], &equal)) {
            return false;
        }
        if (!equal) { continue; }
        *out = jinja_int(i);
        return true;
    }
    return jinja_fail(run, JINJA_RUNTIME, "%s.index(x): x not in %s", jinja_type_name(self),
                      jinja_type_name(self));
}

static bool copy_list(struct jinja_run *run, jinja_value self, const struct jinja_args *args,
                      jinja_value *out) {
    (void)args;
    return jinja_to_list(run, self, out);
}

/* ---- dicts -------------------------------------------------------------------------------------------- */

static bool dict_items(struct jinja_run *run, jinja_value self, const struct jinja_args *args,
                       jinja_value *out) {
    (void)args;
    return jinja_view_make(run, "items", self, out);
}

static bool dict_keys(struct jinja_run *run, jinja_value self, const struct jinja_args *args,
                      jinja_value *out) {
    (void)args;
    return jinja_view_make(run, "keys", self, out);
}

static bool dict_values(struct jinja_run *run, jinja_value self, const struct jinja_args *args,
                        jinja_value *out) {
    (void)args;
    return jinja_view_make(run, "values", self, out);
}

static bool dict_get(struct jinja_run *run, jinja_value self, const struct jinja_args *args,
                     jinja_value *out) {
    const jinja_value *item;
    if (!jinja_dict_get(run, self.dict, args->at[0], &item)) { return false; }
    *out = item ? *item : args->given[1] ? args->at[1] : jinja_none();
    return true;
}

static bool dict_copy(struct jinja_run *run, jinja_value self, const struct jinja_args *args,
                      jinja_value *out) {
    (void)args;
    return jinja_dict_make(run, out) && jinja_dict_update(run, *out, self);
}

/* ---- tables ------------------------------------------------------------------------------------------- */

static const struct jinja_builtin sequence_methods[] = {
    {"count", {"/value"}, 1, count_items},
    {"index", {"/value", "/start", "/stop"}, 1, index_of},
    {"copy", {NULL}, 0, copy_list}, /* of lists only */
};
static const struct jinja_builtin dict_methods[] = {
    {"items", {NULL}, 0, dict_items},   {"keys", {NULL}, 0, dict_keys},
    {"values", {NULL}, 0, dict_values}, {"get", {"/key", "/default"}, 1, dict_get},
    {"copy", {NULL}, 0, dict_copy},
};

#define STRING_METHOD(name, required, ...) {#name, {__VA_ARGS__}, required, jinja_str_##name},
static const struct jinja_builtin string_methods[] = {JINJA_STRING_METHODS(STRING_METHOD)};

/* Methods that change a list or a dict, or of which nothing here has a use. */
static const char *const list_refused[] = {"append", "clear", "pop",    "reverse",
                                           "insert", "sort",  "extend", "remove"};
static const char *const dict_refused[] = {"clear", "pop", "popitem", "setdefault", "update", "fromkeys"};
static const char *const string_refused[] = {"translate", "encode", "maketrans"};
static const char *const other_refused[] = {"add", "discard"}; /* of sets, which no template can make */

static bool listed(const char *const *names, size_t count, const char *name, size_t size) {
    for (size_t i = 0; i < count; i++) {
        if (jinja_name_is(name, size, names[i])) { return true; }
    }
    return false;
}
#define LISTED(names) listed(names, JINJA_COUNT(names), name, size)
#define FIND(table) jinja_builtin_find(table, JINJA_COUNT(table), name, size)

const struct jinja_builtin *jinja_method_find(jinja_value self, const char *name, size_t size,
                                              bool *forbidden) {
    switch (self.type) {
    case JINJA_STRING: *forbidden = LISTED(string_refused); return FIND(string_methods);
    case JINJA_DICT: *forbidden = LISTED(dict_refused); return FIND(dict_methods);
    case JINJA_LIST: *forbidden = LISTED(list_refused); return FIND(sequence_methods);
    case JINJA_TUPLE:
    case JINJA_RANGE: return size == 4 ? NULL : FIND(sequence_methods); /* all but copy */
    default: return NULL;
    }
}

bool jinja_method_known(const char *name, size_t size) {
    return FIND(string_methods) || FIND(dict_methods) || FIND(sequence_methods) || LISTED(string_refused) ||
           LISTED(dict_refused) || LISTED(list_refused) || LISTED(other_refused);
}

bool jinja_is_string_method(const struct jinja_builtin *method) {
    return method >= string_methods && method < string_methods + JINJA_COUNT(string_methods);
}

bool jinja_string_method(struct jinja_run *run, const char *name, jinja_value self, const jinja_value *at,
                         size_t count, jinja_value *out) {
    const struct jinja_args args = {.at = at, .count = count};
    const struct jinja_builtin *method =
        jinja_builtin_find(string_methods, JINJA_COUNT(string_methods), name, strlen(name));
    return jinja_builtin_call(run, method, self, &args, out);
}
