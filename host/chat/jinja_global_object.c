/*
 * jinja_global_object.c - namespace(), cycler() and joiner().
 */
#include "jinja_global.h"

/* ---- namespace ---------------------------------------------------------------------------------------- */

struct namespace {
    struct jinja_object object;
    jinja_value items; /* a dict */
};

static bool namespace_attribute(struct jinja_run *run, struct jinja_object *self, const char *name,
                                size_t size, jinja_value *out) {
    const jinja_value *item;
    if (!jinja_dict_find(run, ((struct namespace *)self)->items, name, size, &item)) { return false; }
    *out = item ? *item : jinja_undefined(NULL);
    return true;
}

static bool namespace_text(struct jinja_run *run, struct jinja_object *self, jinja_value *out) {
    struct jinja_builder b = {.run = run};
    return jinja_build_literal(&b, "<Namespace ") &&
           jinja_build_repr(&b, ((struct namespace *)self)->items) && jinja_build_literal(&b, ">") &&
           jinja_built(&b, out);
}

static const struct jinja_class namespace_class = {
    .name = "Namespace", .attribute = namespace_attribute, .text = namespace_text};

bool jinja_global_namespace(struct jinja_run *run, jinja_value self, const struct jinja_args *args,
                            jinja_value *out) {
    struct namespace *space = jinja_alloc(run, 1, sizeof *space);
    if (!space) { return false; }
    *space = (struct namespace){.object = {&namespace_class}};
    *out = (jinja_value){.type = JINJA_OBJECT, .object = &space->object};
    return jinja_global_dict(run, self, args, &space->items);
}

bool jinja_namespace_set(struct jinja_run *run, jinja_value to, const char *name, size_t size,
                         jinja_value item) {
    jinja_value key;
    if (to.type == JINJA_UNDEFINED) { return jinja_fail_undefined(run, to); }
    if (to.type != JINJA_OBJECT || to.object->class != &namespace_class) {
        return jinja_fail(run, JINJA_RUNTIME, "cannot assign attribute on non-namespace object");
    }
    return jinja_string_make(run, name, size, JINJA_WRITTEN, &key) &&
           jinja_dict_set(run, ((struct namespace *)to.object)->items, key, item);
}

/* ---- cycler ------------------------------------------------------------------------------------------- */

struct cycler {
    struct jinja_object object;
    jinja_value items;
    size_t at;
};

static bool cycler_next(struct jinja_run *run, jinja_value self, const struct jinja_args *args,
                        jinja_value *out) {
    (void)run;
    (void)args;
    struct cycler *cycler = (struct cycler *)self.object;
    *out = cycler->items.list->items[cycler->at];
    cycler->at = (cycler->at + 1) % cycler->items.list->count;
    return true;
}

static bool cycler_reset(struct jinja_run *run, jinja_value self, const struct jinja_args *args,
                         jinja_value *out) {
    (void)run;
    (void)args;
    ((struct cycler *)self.object)->at = 0;
    *out = jinja_none();
    return true;
}

static const struct jinja_builtin cycler_methods[] = {{"next", {NULL}, 0, cycler_next},
                                                      {"reset", {NULL}, 0, cycler_reset}};

static bool cycler_attribute(struct jinja_run *run, struct jinja_object *self, const char *name, size_t size,
                             jinja_value *out) {
    struct cycler *cycler = (struct cycler *)self;
    const jinja_value value = {.type = JINJA_OBJECT, .object = self};
    const struct jinja_builtin *method =
        jinja_builtin_find(cycler_methods, JINJA_COUNT(cycler_methods), name, size);
    if (method) { return jinja_method_value(run, value, method, out); }
    *out = jinja_undefined(NULL);
    if (size == 7 && memcmp(name, "current", 7) == 0) { *out = cycler->items.list->items[cycler->at]; }
    if (size == 5 && memcmp(name, "items", 5) == 0) { *out = cycler->items; }
    if (size == 3 && memcmp(name, "pos", 3) == 0) { *out = jinja_int((int64_t)cycler->at); }
    return true;
}

static const struct jinja_class cycler_class = {.name = "Cycler", .attribute = cycler_attribute};

bool jinja_global_cycler(struct jinja_run *run, jinja_value self, const struct jinja_args *args,
                         jinja_value *out) {
    (void)self;
    if (args->count == 0) { return jinja_fail(run, JINJA_RUNTIME, "at least one item has to be provided"); }
    struct cycler *cycler = jinja_alloc(run, 1, sizeof *cycler);
    if (!cycler) { return false; }
    *cycler = (struct cycler){.object = {&cycler_class}};
    if (!jinja_list_make(run, JINJA_TUPLE, args->count, &cycler->items)) { return false; }
    for (size_t i = 0; i < args->count; i++) {
        if (!jinja_list_add(run, cycler->items, args->at[i])) { return false; }
    }
    *out = (jinja_value){.type = JINJA_OBJECT, .object = &cycler->object};
    return true;
}

/* ---- joiner ------------------------------------------------------------------------------------------- */

struct joiner {
    struct jinja_object object;
    jinja_value separator;
    bool used;
};

static bool joiner_call(struct jinja_run *run, struct jinja_object *self, const struct jinja_args *args,
                        jinja_value *out) {
    struct joiner *joiner = (struct joiner *)self;
    if (args->count || args->named_count) {
        return jinja_fail(run, JINJA_RUNTIME, "a joiner takes no arguments");
    }
    if (!joiner->used) {
        joiner->used = true;
        return jinja_literal(run, "", out);
    }
    *out = joiner->separator;
    return true;
}

static const struct jinja_class joiner_class = {.name = "Joiner", .call = joiner_call};

bool jinja_global_joiner(struct jinja_run *run, jinja_value self, const struct jinja_args *args,
                         jinja_value *out) {
    (void)self;
    struct joiner *joiner = jinja_alloc(run, 1, sizeof *joiner);
    if (!joiner) { return false; }
    *joiner = (struct joiner){.object = {&joiner_class}};
    if (args->given[0]) {
        joiner->separator = args->at[0];
    } else if (!jinja_literal(run, ", ", &joiner->separator)) {
        return false;
    }
    *out = (jinja_value){.type = JINJA_OBJECT, .object = &joiner->object};
    return true;
}
