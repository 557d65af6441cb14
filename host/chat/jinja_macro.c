/*
 * jinja_macro.c - macros, and the bodies of `call` and `generation` blocks, which are macros without a name.
 */
#include "jinja_eval.h"
#include "jinja_inside.h"

struct macro {
    struct jinja_object object;
    const struct jinja_macro *node;
    struct jinja_frame *outer; /* the variables where it was made */
};

/* ---- arguments ----------------------------------------------------------------------------------------- */

/* Which of the named arguments have been taken. */
struct taken {
    const struct jinja_args *args;
    bool *taken;
    size_t left;
};

static bool take(struct jinja_run *run, struct taken *taken, const char *name, size_t size,
                 struct jinja_slot *slot) {
    if (taken->left == 0) { return true; }
    if (!jinja_spend(run, 1 + taken->args->named_count)) { return false; }
    for (size_t i = 0; i < taken->args->named_count; i++) {
        const struct jinja_named *named = &taken->args->named[i];
        if (taken->taken[i] || named->size != size || memcmp(named->name, name, size) != 0) { continue; }
        *slot = (struct jinja_slot){true, named->value};
        taken->taken[i] = true;
        taken->left--;
        break;
    }
    return true;
}

static bool set_parameters(struct jinja_eval *e, const struct jinja_macro *macro, struct taken *taken) {
    size_t place = 0;
    for (const struct jinja_node *node = macro->parameters.first; node; node = node->next, place++) {
        struct jinja_slot *slot = &e->frame->slots[node->name.variable.slot];
        const struct jinja_name *name = node->name.name;
        if (place < taken->args->count) {
            *slot = (struct jinja_slot){true, taken->args->at[place]};
        } else if (!take(&e->run, taken, name->bytes, name->size, slot)) {
            return false;
        }
    }
    return true;
}

static bool set_caller(struct jinja_eval *e, const struct jinja_macro *macro, struct taken *taken) {
    if (!macro->wants_caller || macro->explicit_caller) { return true; }
    struct jinja_slot *slot = &e->frame->slots[macro->caller];
    if (!take(&e->run, taken, "caller", 6, slot)) { return false; }
    if (!slot->set || slot->value.type == JINJA_NONE) {
        *slot = (struct jinja_slot){true, jinja_undefined("No caller defined")};
    }
    return true;
}

static const char *name_of(const struct jinja_macro *macro) {
    return macro->name ? macro->name->bytes : "None";
}

static bool set_kwargs(struct jinja_eval *e, const struct jinja_macro *macro, const struct taken *taken) {
    jinja_value rest, key;
    if (!macro->wants_kwargs && taken->left == 0) { return true; }
    if (macro->wants_kwargs && !jinja_dict_make(&e->run, &rest)) { return false; }
    for (size_t i = 0; i < taken->args->named_count; i++) {
        const struct jinja_named *named = &taken->args->named[i];
        if (taken->taken[i]) { continue; }
        if (!macro->wants_kwargs) {
            return jinja_fail(&e->run, JINJA_RUNTIME, "macro '%.60s' takes no keyword argument '%.60s'",
                              name_of(macro), named->name);
        }
        if (!jinja_name_text(&e->run, named, &key) || !jinja_dict_set(&e->run, rest, key, named->value)) {
            return false;
        }
    }
    e->frame->slots[macro->kwargs] = (struct jinja_slot){true, rest};
    return true;
}

static bool set_varargs(struct jinja_eval *e, const struct jinja_macro *macro,
                        const struct jinja_args *args) {
    size_t named = macro->parameters.count;
    jinja_value rest;
    if (!macro->wants_varargs) {
        return args->count <= named ||
               jinja_fail(&e->run, JINJA_RUNTIME, "macro '%.60s' takes not more than %zu argument(s)",
                          name_of(macro), named);
    }
    if (!jinja_list_make(&e->run, JINJA_TUPLE, 0, &rest)) { return false; }
    for (size_t i = named; i < args->count; i++) {
        if (!jinja_list_add(&e->run, rest, args->at[i])) { return false; }
    }
    e->frame->slots[macro->varargs] = (struct jinja_slot){true, rest};
    return true;
}

static bool set_arguments(struct jinja_eval *e, const struct jinja_macro *macro,
                          const struct jinja_args *args) {
    struct taken taken = {.args = args, .left = args->named_count};
    if (args->named_count > 0) {
        taken.taken = jinja_alloc(&e->run, args->named_count, sizeof *taken.taken);
        if (!taken.taken) { return false; }
        memset(taken.taken, 0, args->named_count * sizeof *taken.taken);
    }
    return set_parameters(e, macro, &taken) && set_caller(e, macro, &taken) && set_kwargs(e, macro, &taken) &&
           set_varargs(e, macro, args);
}

/* "parameter 'x' was not provided", for the message of whoever uses it. */
static bool not_provided(struct jinja_eval *e, const struct jinja_name *name, jinja_value *out) {
    enum { ROOM = 40 };
    char *text = jinja_alloc(&e->run, name->size + ROOM, 1);
    if (!text) { return false; }
    snprintf(text, name->size + ROOM, "parameter '%s' was not provided", name->bytes);
    *out = jinja_undefined(text);
    return true;
}

/* What no argument was given for: evaluated at each call, in the order of the parameters. */
static bool set_defaults(struct jinja_eval *e, const struct jinja_macro *macro) {
    uint32_t without = macro->parameters.count - macro->defaults.count, place = 0;
    const struct jinja_node *value = macro->defaults.first;
    for (const struct jinja_node *node = macro->parameters.first; node; node = node->next, place++) {
        struct jinja_slot *slot = &e->frame->slots[node->name.variable.slot];
        jinja_value result;
        if (!slot->set) {
            bool done = place < without ? not_provided(e, node->name.name, &result)
                                        : jinja_evaluate(e, value, &result);
            if (!done) { return false; }
            *slot = (struct jinja_slot){true, result};
        }
        if (place >= without) { value = value->next; }
    }
    return true;
}

/* ---- calling ------------------------------------------------------------------------------------------- */

static bool invoke(struct jinja_eval *e, const struct jinja_macro *macro, const struct jinja_args *args,
                   jinja_value *out) {
    return set_arguments(e, macro, args) && jinja_enter_scope(e, &macro->scope) && set_defaults(e, macro) &&
           jinja_capture_body(e, &macro->body, out) == FLOW_ON;
}

static bool call_macro(struct jinja_run *run, struct jinja_object *self, const struct jinja_args *args,
                       jinja_value *out) {
    struct jinja_eval *e = jinja_eval_of(run);
    const struct macro *macro = (const struct macro *)self;
    struct jinja_frame *frame = e->frame;
    if (!jinja_enter(run)) { return false; }
    struct jinja_frame *inner = jinja_frame_make(e, macro->node->slots, macro->outer);
    if (!inner) { return false; }
    e->frame = inner;
    bool done = invoke(e, macro->node, args, out);
    e->frame = frame;
    jinja_leave(run);
    return done;
}

/* ---- attributes ---------------------------------------------------------------------------------------- */

static bool arguments_of(struct jinja_run *run, const struct jinja_macro *macro, jinja_value *out) {
    jinja_value name;
    if (!jinja_list_make(run, JINJA_TUPLE, macro->parameters.count, out)) { return false; }
    for (const struct jinja_node *node = macro->parameters.first; node; node = node->next) {
        if (!jinja_literal(run, node->name.name->bytes, &name) || !jinja_list_add(run, *out, name)) {
            return false;
        }
    }
    return true;
}

static bool macro_attribute(struct jinja_run *run, struct jinja_object *self, const char *name, size_t size,
                            jinja_value *out) {
    const struct jinja_macro *macro = ((const struct macro *)self)->node;
    *out = jinja_undefined("a macro has no such attribute");
    if (jinja_name_is(name, size, "arguments")) { return arguments_of(run, macro, out); }
    if (jinja_name_is(name, size, "name")) {
        *out = jinja_none();
        return !macro->name || jinja_literal(run, macro->name->bytes, out);
    }
    if (jinja_name_is(name, size, "caller")) { *out = jinja_bool(macro->wants_caller); }
    if (jinja_name_is(name, size, "catch_kwargs")) { *out = jinja_bool(macro->wants_kwargs); }
    if (jinja_name_is(name, size, "catch_varargs")) { *out = jinja_bool(macro->wants_varargs); }
    if (jinja_name_is(name, size, "explicit_caller")) { *out = jinja_bool(macro->explicit_caller); }
    return true;
}

static bool macro_text(struct jinja_run *run, struct jinja_object *self, jinja_value *out) {
    const struct jinja_macro *macro = ((const struct macro *)self)->node;
    struct jinja_builder text = {.run = run};
    if (!macro->name) { return jinja_literal(run, "<Macro anonymous>", out); }
    return jinja_build_literal(&text, "<Macro '") && jinja_build_literal(&text, macro->name->bytes) &&
           jinja_build_literal(&text, "'>") && jinja_built(&text, out);
}

static const struct jinja_class macro_class = {
    .name = "Macro", .attribute = macro_attribute, .call = call_macro, .text = macro_text};

/* ---- statements ---------------------------------------------------------------------------------------- */

static bool make(struct jinja_eval *e, const struct jinja_macro *node, jinja_value *out) {
    struct macro *macro = jinja_alloc(&e->run, 1, sizeof *macro);
    if (!macro) { return false; }
    *macro = (struct macro){.object = {&macro_class}, .node = node, .outer = e->frame};
    *out = (jinja_value){.type = JINJA_OBJECT, .object = &macro->object};
    return true;
}

enum jinja_flow jinja_execute_macro(struct jinja_eval *e, const struct jinja_node *node) {
    jinja_value macro;
    return make(e, node->macro, &macro) && jinja_assign(e, node->macro->target, macro) ? FLOW_ON : FLOW_FAULT;
}

enum jinja_flow jinja_execute_call_block(struct jinja_eval *e, const struct jinja_node *node) {
    struct jinja_named caller = {.name = "caller", .size = 6};
    const struct jinja_args nothing = {0};
    jinja_value text;
    if (!make(e, node->macro, &caller.value)) { return FLOW_FAULT; }
    bool done = node->kind == NODE_CALL_BLOCK ? jinja_evaluate_call(e, node->macro->call, &caller, &text)
                                              : jinja_call(&e->run, caller.value, &nothing, &text);
    e->run.at = done ? node->place : e->run.at;
    return done && jinja_emit_block(e, text) ? FLOW_ON : FLOW_FAULT;
}
