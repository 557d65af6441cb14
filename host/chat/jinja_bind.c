/*
 * jinja_bind.c - binds the names of a template to variables, and looks for what is wrong whatever the data.
 *
 * Each scope is walked twice. First everything that happens in it, without the scopes inside, is noted in the
 * order of the text: which names it reads and stores. That decides its variables (see jinja_tree.h). Then its
 * names are bound to them, and the scopes inside follow.
 */
#include "jinja_tree.h"

#include <string.h>

struct function {
    struct function *outer;
    uint32_t depth, slots;
};

/* A variable of an open scope. */
struct jinja_binding {
    const struct open_scope *scope;
    struct jinja_name *name;
    struct jinja_binding *outer; /* of the same name further out */
    struct jinja_binding *next;  /* in the scope */
    struct jinja_load *load;
    bool stored;
};

struct open_scope {
    struct open_scope *outer;
    struct function *function;
    struct jinja_scope *out;
    struct jinja_binding *bindings;
};

struct binder {
    struct jinja_template *t;
    struct open_scope *scope;
    struct function *function;
    uint32_t branches;  /* `if` branches around, in this scope: what is stored there may not be */
    uint32_t loops;     /* loops that `break` can leave */
    uint32_t for_tags;  /* in whose text this is */
    bool as_parameters; /* names that are stored are parameters: a `for` target */
};

static bool fail_at(struct binder *b, const struct jinja_node *node, const char *message) {
    b->t->run.at = node->place;
    return jinja_fail(&b->t->run, JINJA_SYNTAX, "%s", message);
}

/* ---- scopes -------------------------------------------------------------------------------------------- */

static void open_scope(struct binder *b, struct open_scope *scope, struct jinja_scope *out) {
    *scope = (struct open_scope){.outer = b->scope, .function = b->function, .out = out};
    b->scope = scope;
}

static void close_scope(struct binder *b) {
    for (struct jinja_binding *binding = b->scope->bindings; binding; binding = binding->next) {
        binding->name->bound = binding->outer;
    }
    b->scope = b->scope->outer;
}

static struct jinja_binding *own(const struct binder *b, const struct jinja_name *name) {
    return name->bound && name->bound->scope == b->scope ? name->bound : NULL;
}

static struct jinja_variable variable_of(const struct binder *b, const struct jinja_binding *binding) {
    return (struct jinja_variable){b->function->depth - binding->scope->function->depth, binding->load->slot};
}

/* The place of a name among those that are asked for outside. */
static bool ask_outside(struct jinja_template *t, struct jinja_name *name) {
    if (name->outside >= 0) { return true; }
    if (t->outside_count == t->outside_room) {
        size_t room = t->outside_room ? t->outside_room * 2 : 16;
        const struct jinja_name **names = jinja_tree_alloc(t, room, sizeof *names);
        bool *read = jinja_tree_alloc(t, room, sizeof *read);
        if (!names || !read) { return false; }
        if (t->outside_count > 0) {
            memcpy(names, t->outside, t->outside_count * sizeof *names);
            memcpy(read, t->outside_read, t->outside_count * sizeof *read);
        }
        t->outside = names;
        t->outside_read = read;
        t->outside_room = room;
    }
    name->outside = (int32_t)t->outside_count;
    t->outside[t->outside_count++] = name;
    return true;
}

static struct jinja_binding *declare(struct binder *b, struct jinja_name *name, enum jinja_load_kind kind) {
    struct jinja_binding *binding = jinja_tree_alloc(b->t, 1, sizeof *binding);
    struct jinja_load *load = jinja_tree_alloc(b->t, 1, sizeof *load);
    if (!binding || !load || (kind == LOAD_OUTSIDE && !ask_outside(b->t, name))) { return NULL; }
    *load = (struct jinja_load){
        .kind = kind, .slot = b->function->slots++, .name = name, .next = b->scope->out->loads};
    if (kind == LOAD_COPY) { load->from = variable_of(b, name->bound); }
    b->scope->out->loads = load;
    *binding = (struct jinja_binding){
        .scope = b->scope, .name = name, .outer = name->bound, .next = b->scope->bindings, .load = load};
    b->scope->bindings = binding;
    name->bound = binding;
    return binding;
}

/* ---- what happens in a scope --------------------------------------------------------------------------- */

static bool note_parameter(struct binder *b, struct jinja_name *name) {
    struct jinja_binding *binding = own(b, name);
    if (!binding) { return declare(b, name, LOAD_PARAMETER); }
    binding->load->kind = LOAD_PARAMETER;
    return true;
}

static bool note_store(struct binder *b, struct jinja_name *name) {
    struct jinja_binding *binding = own(b, name);
    if (!binding) {
        binding = declare(b, name, name->bound ? LOAD_COPY : b->branches ? LOAD_OUTSIDE : LOAD_NOTHING);
    }
    if (binding) { binding->stored = true; }
    return binding;
}

static bool note_name(struct binder *b, const struct jinja_node *node) {
    struct jinja_name *name = node->name.name;
    if (node->op == USE_LOAD) { return name->bound || declare(b, name, LOAD_OUTSIDE); }
    if (node->op == USE_PARAMETER || b->as_parameters) { return note_parameter(b, name); }
    return note_store(b, name);
}

static bool note(void *binder, struct jinja_node *node);

/* Only the first test is sure to be evaluated. */
static bool note_if(struct binder *b, struct jinja_node *node) {
    bool noted = true;
    uint32_t branches = b->branches;
    for (struct jinja_node *branch = node->items.first; noted && branch; branch = branch->next) {
        noted = !branch->branch.test || note(b, branch->branch.test);
        b->branches = branches + 1;
        noted = noted && jinja_tree_each_of(&branch->branch.body, note, b);
    }
    b->branches = branches;
    return noted;
}

static bool note(void *binder, struct jinja_node *node) {
    struct binder *b = binder;
    switch (node->kind) {
    case NODE_NAME: return note_name(b, node);
    case NODE_FOR: return note(b, node->loop->iterable);
    case NODE_IF: return note_if(b, node);
    case NODE_SET: return note(b, node->set.value) && note(b, node->set.target);
    case NODE_SET_BLOCK: return note(b, node->capture->target);
    case NODE_FILTER_BLOCK: return note(b, node->capture->filter);
    case NODE_MACRO: return note(b, node->macro->target);
    case NODE_CALL_BLOCK: return note(b, node->macro->call);
    case NODE_GENERATION: return true;
    case NODE_WITH: return jinja_tree_each_of(&node->with->values, note, b);
    default: return jinja_tree_each(node, note, b);
    }
}

static bool note_all(struct binder *b, const struct jinja_nodes *nodes) {
    return jinja_tree_each_of(nodes, note, b);
}

static bool note_target(struct binder *b, struct jinja_node *target) {
    b->as_parameters = true;
    bool noted = note(b, target);
    b->as_parameters = false;
    return noted;
}

/* ---- special names ------------------------------------------------------------------------------------- */

enum { SPECIALS = 3 };
/* Names that are special in a body if they are read in it before anything sets them there. */
struct specials {
    const char *names[SPECIALS];
    bool found[SPECIALS], set[SPECIALS];
};

static bool find_specials(void *specials, struct jinja_node *node) {
    struct specials *s = specials;
    if (node->kind == NODE_MEMBER) { return true; }
    if (node->kind != NODE_NAME) { return jinja_tree_each(node, find_specials, s); }
    for (int i = 0; i < SPECIALS; i++) {
        if (!s->names[i] || strcmp(s->names[i], node->name.name->bytes) != 0) { continue; }
        if (node->op != USE_LOAD) {
            s->set[i] = true;
        } else if (!s->set[i]) {
            s->found[i] = true;
        }
    }
    return true;
}

/* Declares a special parameter. */
static bool declare_special(struct binder *b, const char *word, uint32_t *slot) {
    struct jinja_name *name = jinja_tree_name(b->t, word, strlen(word));
    if (!name || !note_parameter(b, name)) { return false; }
    *slot = name->bound->load->slot;
    return true;
}

/* ---- binding ------------------------------------------------------------------------------------------- */

static bool bind(void *binder, struct jinja_node *node);

static bool bind_all(struct binder *b, const struct jinja_nodes *nodes) {
    return jinja_tree_each_of(nodes, bind, b);
}

static void mark_read(struct binder *b, const struct jinja_binding *binding) {
    while (binding->load->kind == LOAD_COPY) { binding = binding->outer; }
    if (binding->load->kind == LOAD_OUTSIDE) { b->t->outside_read[binding->name->outside] = true; }
}

static bool bind_name(struct binder *b, struct jinja_node *node) {
    const struct jinja_binding *binding = node->name.name->bound;
    bool is_read = node->op == USE_LOAD;
    node->name.variable = variable_of(b, binding);
    if (is_read) { mark_read(b, binding); }
    if (is_read && binding->load->kind == LOAD_OUTSIDE && strcmp(binding->name->bytes, "self") == 0) {
        return fail_at(b, node,
                       "'self' is not supported: it is for the blocks of templates that extend others");
    }
    if (b->for_tags > 0 && node->op == USE_STORE && strcmp(binding->name->bytes, "loop") == 0) {
        return fail_at(b, node, "the special variable 'loop' cannot be assigned to in a for-loop");
    }
    return true;
}

static bool bind_call(struct binder *b, struct jinja_node *node) {
    const struct jinja_node *object = node->call->object;
    bool global = false;
    if (object->kind == NODE_NAME) {
        const struct jinja_binding *binding = object->name.name->bound;
        global = binding->load->kind == LOAD_OUTSIDE && !binding->stored;
    }
    return jinja_check_call(b->t, node, global) && jinja_tree_each(node, bind, b);
}

static bool bind_capture(struct binder *b, struct jinja_capture *capture) {
    struct open_scope scope;
    if (capture->target && !bind(b, capture->target)) { return false; }
    open_scope(b, &scope, &capture->scope);
    bool bound = note_all(b, &capture->body) && (!capture->filter || note(b, capture->filter)) &&
                 bind_all(b, &capture->body) && (!capture->filter || bind(b, capture->filter));
    close_scope(b);
    return bound;
}

static bool bind_with(struct binder *b, struct jinja_with *with) {
    struct open_scope scope;
    if (!bind_all(b, &with->values)) { return false; }
    open_scope(b, &scope, &with->scope);
    bool bound = note_all(b, &with->targets) && note_all(b, &with->body) && bind_all(b, &with->targets) &&
                 bind_all(b, &with->body);
    close_scope(b);
    return bound;
}

/* ---- functions ----------------------------------------------------------------------------------------- */

static bool declare_specials(struct binder *b, struct jinja_macro *macro, const struct jinja_node *node) {
    struct specials s = {.names = {"caller", "kwargs", "varargs"}};
    bool given[SPECIALS] = {false}, defaulted = false;
    uint32_t place = 0, first_default = macro->parameters.count - macro->defaults.count;
    jinja_tree_each_of(&macro->body, find_specials, &s);
    for (const struct jinja_node *p = macro->parameters.first; p; p = p->next, place++) {
        for (int i = 0; i < SPECIALS; i++) {
            if (strcmp(p->name.name->bytes, s.names[i]) != 0) { continue; }
            given[i] = true;
            defaulted = i == 0 ? place >= first_default : defaulted;
        }
    }
    macro->wants_caller = s.found[0];
    macro->explicit_caller = given[0];
    macro->wants_kwargs = s.found[1] && !given[1];
    macro->wants_varargs = s.found[2] && !given[2];
    if (s.found[0] && given[0] && !defaulted) {
        return fail_at(b, node, "the special argument 'caller' must be left out or have a default");
    }
    return (!macro->wants_caller || given[0] || declare_special(b, "caller", &macro->caller)) &&
           (!macro->wants_kwargs || declare_special(b, "kwargs", &macro->kwargs)) &&
           (!macro->wants_varargs || declare_special(b, "varargs", &macro->varargs));
}

static bool bind_macro_scope(struct binder *b, struct jinja_macro *macro, const struct jinja_node *node) {
    return note_all(b, &macro->parameters) && declare_specials(b, macro, node) &&
           note_all(b, &macro->defaults) && note_all(b, &macro->body) && bind_all(b, &macro->parameters) &&
           bind_all(b, &macro->defaults) && bind_all(b, &macro->body);
}

static bool bind_macro(struct binder *b, struct jinja_node *node) {
    struct jinja_macro *macro = node->macro;
    struct function function = {.outer = b->function, .depth = b->function->depth + 1};
    struct open_scope scope;
    struct binder inside = *b; /* neither branches nor loops around it count in it */
    if (macro->target && !bind(b, macro->target)) { return false; }
    if (macro->call && !bind(b, macro->call)) { return false; }
    inside.function = &function;
    inside.branches = inside.loops = 0;
    open_scope(&inside, &scope, &macro->scope);
    bool bound = bind_macro_scope(&inside, macro, node);
    close_scope(&inside);
    macro->slots = function.slots;
    return bound;
}

static bool bind_for_body(struct binder *b, struct jinja_for *loop) {
    struct specials s = {.names = {"loop"}};
    struct open_scope scope;
    jinja_tree_each_of(&loop->body, find_specials, &s);
    loop->uses_loop = loop->recursive || s.found[0];
    open_scope(b, &scope, &loop->scope);
    b->loops++;
    bool bound = (!loop->uses_loop || declare_special(b, "loop", &loop->loop)) &&
                 note_target(b, loop->target) && note_all(b, &loop->body) && bind(b, loop->target) &&
                 bind_all(b, &loop->body);
    b->loops--;
    close_scope(b);
    return bound;
}

static bool bind_for_test(struct binder *b, struct jinja_for *loop) {
    struct open_scope scope;
    if (!loop->test) { return true; }
    open_scope(b, &scope, &loop->test_scope);
    bool bound = note_target(b, loop->test_target) && note(b, loop->test) && bind(b, loop->test_target) &&
                 bind(b, loop->test);
    close_scope(b);
    return bound;
}

static bool bind_for_else(struct binder *b, struct jinja_for *loop) {
    struct open_scope scope;
    open_scope(b, &scope, &loop->else_scope);
    bool bound = note_all(b, &loop->otherwise) && bind_all(b, &loop->otherwise);
    close_scope(b);
    return bound;
}

/* A recursive loop is a function, which `loop` calls. */
static bool bind_for(struct binder *b, struct jinja_for *loop) {
    struct function function = {.outer = b->function, .depth = b->function->depth + 1};
    struct binder inside = *b;
    if (!bind(b, loop->iterable)) { return false; }
    inside.for_tags++;
    inside.branches = 0;
    if (loop->recursive) {
        inside.function = &function;
        inside.loops = 0;
    }
    bool bound = bind_for_test(&inside, loop) && bind_for_body(&inside, loop) && bind_for_else(&inside, loop);
    loop->slots = function.slots;
    return bound;
}

static bool bind(void *binder, struct jinja_node *node) {
    struct binder *b = binder;
    switch (node->kind) {
    case NODE_NAME: return bind_name(b, node);
    case NODE_FILTER: return jinja_check_filter(b->t, node) && jinja_tree_each(node, bind, b);
    case NODE_TEST: return jinja_check_test(b->t, node) && jinja_tree_each(node, bind, b);
    case NODE_CALL: return bind_call(b, node);
    case NODE_FOR: return bind_for(b, node->loop);
    case NODE_SET_BLOCK:
    case NODE_FILTER_BLOCK: return bind_capture(b, node->capture);
    case NODE_MACRO:
    case NODE_CALL_BLOCK:
    case NODE_GENERATION: return bind_macro(b, node);
    case NODE_WITH: return bind_with(b, node->with);
    case NODE_BREAK: return b->loops > 0 || fail_at(b, node, "'break' outside of a loop");
    case NODE_CONTINUE: return b->loops > 0 || fail_at(b, node, "'continue' outside of a loop");
    default: return jinja_tree_each(node, bind, b);
    }
}

bool jinja_bind(struct jinja_template *t) {
    struct function function = {0};
    struct open_scope scope;
    struct binder b = {.t = t, .function = &function};
    open_scope(&b, &scope, &t->scope);
    bool bound = note_all(&b, &t->body) && bind_all(&b, &t->body);
    close_scope(&b);
    t->slots = function.slots;
    return bound;
}
