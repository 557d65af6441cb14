/*
 * jinja_filter_select.c - map, select, reject and those by attribute: each item through a filter or a test that is
 * named by a text. They give generators.
 */
#include "jinja_filter.h"

/* ---- select ------------------------------------------------------------------------------------------- */

struct choice {
    const struct jinja_builtin *test; /* NULL: by truth */
    struct jinja_args args;
    jinja_value path; /* none: the item itself */
    bool wanted;
};

static bool read_choice(struct jinja_run *run, const struct jinja_args *args, bool attribute, bool wanted,
                        struct choice *out) {
    size_t at = attribute;
    *out = (struct choice){.path = jinja_none(), .wanted = wanted};
    if (attribute) {
        if (args->count == 0) {
            return jinja_fail(run, JINJA_RUNTIME, "Missing parameter for attribute name");
        }
        out->path = args->at[0];
    }
    if (args->count == at) { return true; }
    const jinja_value name = args->at[at];
    if (name.type != JINJA_STRING) {
        return jinja_fail(run, JINJA_RUNTIME, "the name of a test must be str");
    }
    out->test = jinja_test_find(name.string->bytes, name.string->size);
    if (!out->test) { return jinja_fail(run, JINJA_RUNTIME, "No test named '%.200s'.", name.string->bytes); }
    out->args = (struct jinja_args){.at = args->at + at + 1,
                                    .count = args->count - at - 1,
                                    .named = args->named,
                                    .named_count = args->named_count};
    return true;
}

static bool chosen(struct jinja_run *run, const struct choice *choice, jinja_value item, bool *out) {
    if (!jinja_attribute_path(run, item, choice->path, NULL, &item)) { return false; }
    if (!(choice->test ? jinja_test_call(run, choice->test, item, &choice->args, out)
                       : jinja_truth(run, item, out))) {
        return false;
    }
    *out = *out == choice->wanted;
    return true;
}

static bool choose(struct jinja_run *run, jinja_value self, const struct jinja_args *args, bool attribute,
                   bool wanted, jinja_value *out) {
    struct choice choice;
    struct jinja_iterator each;
    jinja_value list, item;
    bool done = true, any, keep;
    if (!jinja_truth(run, self, &any) || !jinja_list_make(run, JINJA_LIST, 0, &list)) { return false; }
    if (any && (!read_choice(run, args, attribute, wanted, &choice) || !jinja_iterate(run, self, &each))) {
        return false;
    }
    while (any && jinja_next(run, &each, &item, &done) && !done) {
        if (!chosen(run, &choice, item, &keep) || (keep && !jinja_list_add(run, list, item))) {
            return false;
        }
    }
    return done && jinja_stream_make(run, list, out);
}

bool jinja_filter_select(struct jinja_run *run, jinja_value self, const struct jinja_args *args,
                         jinja_value *out) {
    return choose(run, self, args, false, true, out);
}

bool jinja_filter_reject(struct jinja_run *run, jinja_value self, const struct jinja_args *args,
                         jinja_value *out) {
    return choose(run, self, args, false, false, out);
}

bool jinja_filter_selectattr(struct jinja_run *run, jinja_value self, const struct jinja_args *args,
                             jinja_value *out) {
    return choose(run, self, args, true, true, out);
}

bool jinja_filter_rejectattr(struct jinja_run *run, jinja_value self, const struct jinja_args *args,
                             jinja_value *out) {
    return choose(run, self, args, true, false, out);
}

/* ---- map ---------------------------------------------------------------------------------------------- */

struct mapping {
    const struct jinja_builtin *filter; /* NULL: an attribute */
    struct jinja_args args;
    jinja_value path;
    const jinja_value *fallback;
};

static const struct jinja_named *named(const struct jinja_args *args, const char *name) {
    for (size_t i = 0; i < args->named_count; i++) {
        if (jinja_name_is(args->named[i].name, args->named[i].size, name)) { return &args->named[i]; }
    }
    return NULL;
}

static bool read_attribute(struct jinja_run *run, const struct jinja_args *args,
                           const struct jinja_named *attribute, struct mapping *out) {
    const struct jinja_named *fallback = named(args, "default");
    for (size_t i = 0; i < args->named_count; i++) {
        if (&args->named[i] != attribute && &args->named[i] != fallback) {
            return jinja_fail(run, JINJA_RUNTIME, "Unexpected keyword argument '%.*s'",
                              (int)(args->named[i].size < 200 ? args->named[i].size : 200),
                              args->named[i].name);
        }
    }
    out->path = attribute->value;
    if (fallback && fallback->value.type != JINJA_NONE) { out->fallback = &fallback->value; }
    return true;
}

static bool read_mapping(struct jinja_run *run, const struct jinja_args *args, struct mapping *out) {
    const struct jinja_named *attribute = named(args, "attribute");
    *out = (struct mapping){.path = jinja_none()};
    if (args->count == 0 && attribute) { return read_attribute(run, args, attribute, out); }
    if (args->count == 0) { return jinja_fail(run, JINJA_RUNTIME, "map requires a filter argument"); }
    const jinja_value name = args->at[0];
    if (name.type != JINJA_STRING) {
        return jinja_fail(run, JINJA_RUNTIME, "the name of a filter must be str");
    }
    out->filter = jinja_filter_find(name.string->bytes, name.string->size);
    if (!out->filter) {
        return jinja_fail(run, JINJA_RUNTIME, "No filter named '%.200s'.", name.string->bytes);
    }
    out->args = (struct jinja_args){
        .at = args->at + 1, .count = args->count - 1, .named = args->named, .named_count = args->named_count};
    return true;
}

bool jinja_filter_map(struct jinja_run *run, jinja_value self, const struct jinja_args *args,
                      jinja_value *out) {
    struct mapping mapping;
    struct jinja_iterator each;
    jinja_value list, item;
    bool done = true, any;
    if (!jinja_truth(run, self, &any) || !jinja_list_make(run, JINJA_LIST, 0, &list)) { return false; }
    if (any && (!read_mapping(run, args, &mapping) || !jinja_iterate(run, self, &each))) { return false; }
    while (any && jinja_next(run, &each, &item, &done) && !done) {
        if (!(mapping.filter ? jinja_filter_call(run, mapping.filter, item, &mapping.args, &item)
                             : jinja_attribute_path(run, item, mapping.path, mapping.fallback, &item))) {
            return false;
        }
        if (!jinja_list_add(run, list, item)) { return false; }
    }
    return done && jinja_stream_make(run, list, out);
}
