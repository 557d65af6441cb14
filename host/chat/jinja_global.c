/*
 * jinja_global.c - the functions that every template has: range, dict, namespace, cycler, joiner, raise_exception
 * and strftime_now.
 */
#include "jinja_global.h"

enum { LARGEST_RANGE = 100000 }; /* as the sandbox of Jinja has it */

static bool range_of(struct jinja_run *run, jinja_value self, const struct jinja_args *args,
                     jinja_value *out) {
    (void)self;
    int64_t first, second = 0, step = 1;
    if (!jinja_arg_int(run, args, 0, 0, &first) || !jinja_arg_int(run, args, 1, 0, &second) ||
        !jinja_arg_int(run, args, 2, 1, &step)) {
        return false;
    }
    if (step == 0) { return jinja_fail(run, JINJA_RUNTIME, "range() arg 3 must not be zero"); }
    struct jinja_range *range = jinja_alloc(run, 1, sizeof *range);
    if (!range) { return false; }
    *range = args->given[1] ? (struct jinja_range){first, second, step} : (struct jinja_range){0, first, 1};
    if (jinja_range_length(range) > LARGEST_RANGE) {
        return jinja_fail(run, JINJA_RUNTIME,
                          "Range too big. The sandbox blocks ranges larger than MAX_RANGE (%d).",
                          LARGEST_RANGE);
    }
    *out = (jinja_value){.type = JINJA_RANGE, .range = range};
    return true;
}

/* Pairs or a dict, then what has a name. */
bool jinja_global_dict(struct jinja_run *run, jinja_value self, const struct jinja_args *args,
                       jinja_value *out) {
    (void)self;
    jinja_value key;
    if (!jinja_dict_make(run, out)) { return false; }
    if (args->given[0]) {
        const jinja_value from = args->at[0];
        if (from.type == JINJA_UNDEFINED) { return jinja_fail_undefined(run, from); }
        if (!(from.type == JINJA_DICT ? jinja_dict_update(run, *out, from)
                                      : jinja_dict_pairs(run, *out, from))) {
            return false;
        }
    }
    for (size_t i = 0; i < args->named_count; i++) {
        if (!jinja_name_text(run, &args->named[i], &key) ||
            !jinja_dict_set(run, *out, key, args->named[i].value)) {
            return false;
        }
    }
    return true;
}

static bool raise_exception(struct jinja_run *run, jinja_value self, const struct jinja_args *args,
                            jinja_value *out) {
    (void)self;
    jinja_value text;
    (void)out;
    return jinja_text(run, args->at[0], &text) && jinja_fail(run, JINJA_RAISED, "%s", text.string->bytes);
}

static bool strftime_now(struct jinja_run *run, jinja_value self, const struct jinja_args *args,
                         jinja_value *out) {
    (void)self;
    const struct jinja_string *format = NULL;
    if (!jinja_arg_string(run, args, 0, &format)) { return false; }
    if (!format) {
        return jinja_fail(run, JINJA_RUNTIME, "strftime_now: the format must be str, not NoneType");
    }
    return jinja_strftime(run, format, out);
}

static const struct jinja_builtin globals[] = {
    {"range", {"/start", "/stop", "/step"}, 1, range_of},
    {"dict", {"/items", "**"}, 0, jinja_global_dict},
    {"namespace", {"/items", "**"}, 0, jinja_global_namespace},
    {"cycler", {"*"}, 0, jinja_global_cycler},
    {"joiner", {"sep"}, 0, jinja_global_joiner},
    {"raise_exception", {"message"}, 1, raise_exception},
    {"strftime_now", {"format"}, 1, strftime_now},
};

const struct jinja_builtin *jinja_global_find(const char *name, size_t size) {
    return jinja_builtin_find(globals, JINJA_COUNT(globals), name, size);
}

const char *jinja_global_refused(const char *name, size_t size) {
    return size == 6 && memcmp(name, "lipsum", 6) == 0 ? "a rendering gives the same text each time" : NULL;
}
