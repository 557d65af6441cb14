/*
 * jinja_call.c - calls: arguments against parameters as Python binds them, and reading them in builtins.
 */
#include "jinja_inside.h"

/* ---- parameters --------------------------------------------------------------------------------------- */

struct parameters {
    size_t count;        /* of those with a name */
    bool further, named; /* "*", "**" */
};

static struct parameters parameters_of(const struct jinja_builtin *builtin) {
    struct parameters p = {0};
    for (size_t i = 0; i < JINJA_PARAMETERS && builtin->parameters[i]; i++) {
        const char *name = builtin->parameters[i];
        if (name[0] != '*') {
            p.count++;
        } else if (name[1] == '*') {
            p.named = true;
        } else {
            p.further = true;
        }
    }
    return p;
}

/* The parameter of a name, p.count if there is none; those by place alone begin with a slash. */
static size_t parameter_named(const struct jinja_builtin *builtin, size_t count, const char *name,
                              size_t size) {
    size_t i = 0;
    while (i < count &&
           (strlen(builtin->parameters[i]) != size || memcmp(builtin->parameters[i], name, size) != 0)) {
        i++;
    }
    return i;
}

static bool check_named(struct jinja_run *run, const struct jinja_builtin *builtin, struct parameters p,
                        const struct jinja_args *args, bool given[JINJA_PARAMETERS]) {
    for (size_t i = 0; i < args->named_count; i++) {
        const struct jinja_named *named = &args->named[i];
        int size = (int)(named->size < 200 ? named->size : 200);
        size_t at = parameter_named(builtin, p.count, named->name, named->size);
        if (at == p.count && !p.named) {
            return jinja_fail(run, JINJA_RUNTIME, "%s() got an unexpected keyword argument '%.*s'",
                              builtin->name, size, named->name);
        }
        if (at < p.count && given[at]) {
            return jinja_fail(run, JINJA_RUNTIME, "%s() got multiple values for argument '%.*s'",
                              builtin->name, size, named->name);
        }
        if (at < p.count) { given[at] = true; }
    }
    return true;
}

static bool bind(struct jinja_run *run, const struct jinja_builtin *builtin, struct parameters p,
                 const struct jinja_args *args, bool given[JINJA_PARAMETERS]) {
    if (args->count > p.count && !p.further) {
        return jinja_fail(run, JINJA_RUNTIME, "%s() takes at most %zu argument%s (%zu given)", builtin->name,
                          p.count, p.count == 1 ? "" : "s", args->count);
    }
    for (size_t i = 0; i < args->count && i < p.count; i++) { given[i] = true; }
    if (!check_named(run, builtin, p, args, given)) { return false; }
    for (size_t i = 0; i < builtin->required; i++) {
        if (!given[i]) {
            return jinja_fail(run, JINJA_RUNTIME, "%s() missing required argument '%s'", builtin->name,
                              builtin->parameters[i] + (builtin->parameters[i][0] == '/'));
        }
    }
    return true;
}

bool jinja_arguments_fit(struct jinja_run *run, const struct jinja_builtin *builtin,
                         const struct jinja_args *args) {
    bool given[JINJA_PARAMETERS] = {false};
    return bind(run, builtin, parameters_of(builtin), args, given);
}

/* ---- calls -------------------------------------------------------------------------------------------- */

/* Puts the arguments in the order of the parameters, the further ones behind. */
static bool place(struct jinja_run *run, const struct jinja_builtin *builtin, struct parameters p,
                  const struct jinja_args *args, jinja_value *at, struct jinja_named **rest,
                  size_t *rest_count) {
    for (size_t i = 0; i < p.count; i++) { at[i] = jinja_undefined(NULL); }
    for (size_t i = 0; i < args->count; i++) { at[i] = args->at[i]; }
    *rest = NULL;
    *rest_count = 0;
    if (p.named && args->named_count && !(*rest = jinja_alloc(run, args->named_count, sizeof **rest))) {
        return false;
    }
    for (size_t i = 0; i < args->named_count; i++) {
        size_t parameter = parameter_named(builtin, p.count, args->named[i].name, args->named[i].size);
        if (parameter < p.count) {
            at[parameter] = args->named[i].value;
        } else {
            (*rest)[(*rest_count)++] = args->named[i];
        }
    }
    return true;
}

static bool call_placed(struct jinja_run *run, const struct jinja_builtin *builtin, jinja_value self,
                        const struct jinja_args *args, jinja_value *out) {
    struct parameters p = parameters_of(builtin);
    bool given[JINJA_PARAMETERS] = {false};
    jinja_value few[JINJA_PARAMETERS], *at = few;
    struct jinja_named *rest;
    size_t rest_count;
    if (!jinja_spend(run, 1 + args->count + args->named_count) || !bind(run, builtin, p, args, given)) {
        return false;
    }
    if (args->count > JINJA_PARAMETERS && !(at = jinja_alloc(run, args->count, sizeof *at))) { return false; }
    if (!place(run, builtin, p, args, at, &rest, &rest_count)) { return false; }
    const struct jinja_args placed = {.at = at,
                                      .count = args->count > p.count ? args->count : p.count,
                                      .named = rest,
                                      .named_count = rest_count,
                                      .given = given};
    if (self.type == JINJA_STRING && self.string->markup && jinja_is_string_method(builtin)) {
        return jinja_markup_call(run, builtin, self, &placed, out);
    }
    return builtin->call(run, self, &placed, out);
}

bool jinja_builtin_call(struct jinja_run *run, const struct jinja_builtin *builtin, jinja_value self,
                        const struct jinja_args *args, jinja_value *out) {
    if (!jinja_enter(run)) { return false; }
    bool done = call_placed(run, builtin, self, args, out);
    jinja_leave(run);
    return done;
}

bool jinja_call(struct jinja_run *run, jinja_value callee, const struct jinja_args *args, jinja_value *out) {
    switch (callee.type) {
    case JINJA_METHOD: return jinja_builtin_call(run, callee.method->method, *callee.method->self, args, out);
    case JINJA_BUILTIN: return jinja_builtin_call(run, callee.builtin, jinja_undefined(NULL), args, out);
    case JINJA_UNDEFINED: return jinja_fail_undefined(run, callee);
    case JINJA_OBJECT:
        if (callee.object->class->call) { return callee.object->class->call(run, callee.object, args, out); }
        return jinja_fail(run, JINJA_RUNTIME, "'%s' object is not callable", jinja_type_name(callee));
    default: return jinja_fail(run, JINJA_RUNTIME, "'%s' object is not callable", jinja_type_name(callee));
    }
}

bool jinja_filter_call(struct jinja_run *run, const struct jinja_builtin *filter, jinja_value self,
                       const struct jinja_args *args, jinja_value *out) {
    return jinja_builtin_call(run, filter, self, args, out);
}

bool jinja_test_call(struct jinja_run *run, const struct jinja_builtin *test, jinja_value self,
                     const struct jinja_args *args, bool *out) {
    jinja_value result;
    return jinja_builtin_call(run, test, self, args, &result) && jinja_truth(run, result, out);
}

const struct jinja_builtin *jinja_builtin_find(const struct jinja_builtin *table, size_t count,
                                               const char *name, size_t size) {
    for (size_t i = 0; i < count; i++) {
        if (table[i].name[0] == (size ? name[0] : 0) && jinja_name_is(name, size, table[i].name)) {
            return &table[i];
        }
    }
    return NULL;
}

/* ---- reading arguments in builtins -------------------------------------------------------------------- */

bool jinja_name_text(struct jinja_run *run, const struct jinja_named *named, jinja_value *out) {
    if (!named->key) { return jinja_string_make(run, named->name, named->size, JINJA_WRITTEN, out); }
    *out = jinja_string_value(named->key);
    return true;
}

bool jinja_has(const struct jinja_args *args, size_t i) {
    return args->given[i] && args->at[i].type != JINJA_NONE;
}

bool jinja_index(struct jinja_run *run, jinja_value value, int64_t *out) {
    if (value.type == JINJA_UNDEFINED) { return jinja_fail_undefined(run, value); }
    if (!jinja_is_whole(value)) {
        return jinja_fail(run, JINJA_RUNTIME, "'%s' object cannot be interpreted as an integer",
                          jinja_type_name(value));
    }
    *out = jinja_whole(value);
    return true;
}

bool jinja_arg_int(struct jinja_run *run, const struct jinja_args *args, size_t i, int64_t fallback,
                   int64_t *out) {
    *out = fallback;
    return !args->given[i] || jinja_index(run, args->at[i], out);
}

bool jinja_arg_bool(struct jinja_run *run, const struct jinja_args *args, size_t i, bool fallback,
                    bool *out) {
    *out = fallback;
    return !args->given[i] || jinja_truth(run, args->at[i], out);
}

bool jinja_arg_flag(struct jinja_run *run, const struct jinja_args *args, size_t i, bool *out) {
    int64_t value;
    if (!jinja_arg_int(run, args, i, 0, &value)) { return false; }
    *out = value != 0;
    return true;
}

bool jinja_arg_string(struct jinja_run *run, const struct jinja_args *args, size_t i,
                      const struct jinja_string **out) {
    if (!jinja_has(args, i)) { return true; }
    jinja_value value = args->at[i];
    if (value.type == JINJA_UNDEFINED) { return jinja_fail_undefined(run, value); }
    if (value.type != JINJA_STRING) {
        return jinja_fail(run, JINJA_RUNTIME, "an argument must be str, not %s", jinja_type_name(value));
    }
    *out = value.string;
    return true;
}
