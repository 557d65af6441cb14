/*
 * jinja_statement_for.c - loops, and the variable `loop`: where it is, what is around, the recursion.
 */
#include "jinja_eval.h"
#include "jinja_inside.h"

/* Items come one at a time, tested when they are asked for: a test may depend on what the body has set. */
struct loop {
    struct jinja_object object;
    const struct jinja_for *node;
    struct jinja_frame *frame; /* with its variables */
    struct jinja_iterator it;
    bool tested; /* the items that are left have passed the test */
    bool has_after, has_changed, has_length;
    jinja_value before, current, after; /* after: read ahead */
    jinja_value changed;                /* what changed() was called with: a tuple */
    int64_t index;                      /* from 1; 0 before the first */
    int64_t length;
    uint32_t depth; /* from 0 */
};

/* ---- items --------------------------------------------------------------------------------------------- */

static bool passes(struct jinja_eval *e, const struct loop *loop, jinja_value item, bool *out) {
    const struct jinja_for *node = loop->node;
    jinja_value result;
    struct jinja_frame *frame = e->frame;
    e->frame = loop->frame; /* loop.last may be asked for elsewhere */
    bool done = jinja_assign(e, node->test_target, item) && jinja_evaluate(e, node->test, &result) &&
                jinja_truth(&e->run, result, out);
    e->frame = frame;
    return done;
}

static bool next_item(struct jinja_eval *e, struct loop *loop, jinja_value *item, bool *done) {
    for (bool passed = false; !passed;) {
        if (!jinja_spend(&e->run, 1) || !jinja_next(&e->run, &loop->it, item, done)) { return false; }
        if (*done || !loop->node->test || loop->tested) { return true; }
        if (!passes(e, loop, *item, &passed)) { return false; }
    }
    return true;
}

static bool read_ahead(struct jinja_eval *e, struct loop *loop) {
    bool done;
    if (loop->has_after) { return true; }
    if (!next_item(e, loop, &loop->after, &done)) { return false; }
    loop->has_after = !done;
    return true;
}

static bool advance(struct jinja_eval *e, struct loop *loop, bool *done) {
    jinja_value item = loop->after;
    *done = false;
    if (!loop->has_after && !next_item(e, loop, &item, done)) { return false; }
    if (*done) { return true; }
    loop->has_after = false;
    loop->before = loop->current;
    loop->current = item;
    loop->index++;
    return true;
}

/* With a test, the length is known once all items have been tested. */
static bool measure(struct jinja_eval *e, struct loop *loop) {
    jinja_value rest, item;
    bool done = false;
    if (loop->has_length) { return true; }
    if (!jinja_list_make(&e->run, JINJA_LIST, 0, &rest)) { return false; }
    for (;;) {
        if (!next_item(e, loop, &item, &done)) { return false; }
        if (done) { break; }
        if (!jinja_list_add(&e->run, rest, item)) { return false; }
    }
    loop->length = (int64_t)rest.list->count + loop->index + loop->has_after;
    loop->has_length = loop->tested = true;
    return jinja_iterate(&e->run, rest, &loop->it);
}

/* ---- executing ----------------------------------------------------------------------------------------- */

static const struct jinja_class loop_class;

static bool begin(struct jinja_eval *e, struct loop *loop, const struct jinja_for *node, jinja_value over) {
    loop->object.class = &loop_class;
    loop->node = node;
    loop->frame = e->frame;
    if (!jinja_iterate(&e->run, over, &loop->it)) { return false; }
    loop->has_length = !node->test;
    loop->length = (int64_t)loop->it.count;
    return !node->test || jinja_enter_scope(e, &node->test_scope);
}

static enum jinja_flow run_body(struct jinja_eval *e, struct loop *loop) {
    const struct jinja_for *node = loop->node;
    if (!jinja_assign(e, node->target, loop->current)) { return FLOW_FAULT; }
    if (node->uses_loop) {
        e->frame->slots[node->loop] =
            (struct jinja_slot){true, {.type = JINJA_OBJECT, .object = &loop->object}};
    }
    return jinja_enter_scope(e, &node->scope) ? jinja_execute(e, &node->body) : FLOW_FAULT;
}

/* The `else` of a loop: if no turn reached the end of the body, as Jinja has it. */
static enum jinja_flow run(struct jinja_eval *e, struct loop *loop) {
    const struct jinja_for *node = loop->node;
    enum jinja_flow flow = FLOW_ON;
    bool completed = false, done;
    while (flow != FLOW_BREAK) {
        if (!advance(e, loop, &done)) { return FLOW_FAULT; }
        if (done) { break; }
        flow = run_body(e, loop);
        if (flow == FLOW_FAULT) { return flow; }
        completed = completed || flow == FLOW_ON;
    }
    if (completed || node->otherwise.count == 0) { return FLOW_ON; }
    return jinja_enter_scope(e, &node->else_scope) ? jinja_execute(e, &node->otherwise) : FLOW_FAULT;
}

/* Where no name `loop` can reach it, the loop lives on the stack. */
static enum jinja_flow run_plain(struct jinja_eval *e, const struct jinja_for *node, jinja_value over) {
    struct loop loop = {0};
    return begin(e, &loop, node, over) ? run(e, &loop) : FLOW_FAULT;
}

static enum jinja_flow run_seen(struct jinja_eval *e, const struct jinja_for *node, jinja_value over,
                                uint32_t depth) {
    struct loop *loop = jinja_alloc(&e->run, 1, sizeof *loop);
    if (!loop) { return FLOW_FAULT; }
    *loop = (struct loop){.depth = depth};
    return begin(e, loop, node, over) ? run(e, loop) : FLOW_FAULT;
}

/* A recursive loop in a frame of its own. */
static enum jinja_flow run_recursive(struct jinja_eval *e, const struct jinja_for *node, jinja_value over,
                                     uint32_t depth, struct jinja_frame *outer) {
    struct jinja_frame *frame = e->frame;
    struct jinja_frame *inner = jinja_frame_make(e, node->slots, outer);
    if (!inner) { return FLOW_FAULT; }
    e->frame = inner;
    enum jinja_flow flow = run_seen(e, node, over, depth);
    e->frame = frame;
    return flow;
}

enum jinja_flow jinja_execute_for(struct jinja_eval *e, const struct jinja_node *node) {
    const struct jinja_for *loop = node->loop;
    jinja_value over;
    if (!jinja_evaluate(e, loop->iterable, &over)) { return FLOW_FAULT; }
    e->run.at = node->place;
    if (loop->recursive) { return run_recursive(e, loop, over, 0, e->frame); }
    return loop->uses_loop ? run_seen(e, loop, over, 0) : run_plain(e, loop, over);
}

/* ---- loop(items) --------------------------------------------------------------------------------------- */

static bool recurse(struct jinja_eval *e, const struct loop *loop, jinja_value over, jinja_value *out) {
    struct jinja_builder text = {.run = &e->run};
    struct jinja_builder *capture = e->capture;
    e->capture = &text;
    enum jinja_flow flow = run_recursive(e, loop->node, over, loop->depth + 1, loop->frame->outer);
    e->capture = capture;
    return flow != FLOW_FAULT && jinja_built(&text, out);
}

static bool call_loop(struct jinja_run *run, struct jinja_object *self, const struct jinja_args *args,
                      jinja_value *out) {
    const struct loop *loop = (const struct loop *)self;
    if (!loop->node->recursive) {
        return jinja_fail(run, JINJA_RUNTIME,
                          "the loop must have the 'recursive' marker to be called recursively");
    }
    bool by_name = args->count == 0 && args->named_count == 1 && args->named[0].size == 8 &&
                   memcmp(args->named[0].name, "iterable", 8) == 0;
    if (!by_name && (args->count != 1 || args->named_count > 0)) {
        return jinja_fail(run, JINJA_RUNTIME, "loop() takes 1 argument: what to iterate over");
    }
    if (!jinja_enter(run)) { return false; }
    bool done = recurse(jinja_eval_of(run), loop, by_name ? args->named[0].value : args->at[0], out);
    jinja_leave(run);
    return done;
}

/* ---- loop.cycle(...), loop.changed(...) ---------------------------------------------------------------- */

struct method {
    struct jinja_object object;
    struct loop *loop;
};

static bool check_positional(struct jinja_run *run, const char *name, const struct jinja_args *args) {
    return args->named_count == 0 ||
           jinja_fail(run, JINJA_RUNTIME, "%s() got an unexpected keyword argument '%.60s'", name,
                      args->named[0].name);
}

static bool call_cycle(struct jinja_run *run, struct jinja_object *self, const struct jinja_args *args,
                       jinja_value *out) {
    const struct loop *loop = ((const struct method *)self)->loop;
    if (!check_positional(run, "cycle", args)) { return false; }
    if (args->count == 0) { return jinja_fail(run, JINJA_RUNTIME, "no items for cycling given"); }
    *out = args->at[(uint64_t)(loop->index - 1) % args->count];
    return true;
}

static bool call_changed(struct jinja_run *run, struct jinja_object *self, const struct jinja_args *args,
                         jinja_value *out) {
    struct loop *loop = ((const struct method *)self)->loop;
    jinja_value now;
    bool same = false;
    if (!check_positional(run, "changed", args) || !jinja_list_make(run, JINJA_TUPLE, args->count, &now)) {
        return false;
    }
    for (size_t i = 0; i < args->count; i++) {
        if (!jinja_list_add(run, now, args->at[i])) { return false; }
    }
    if (loop->has_changed && !jinja_equal(run, loop->changed, now, &same)) { return false; }
    loop->changed = same ? loop->changed : now;
    loop->has_changed = true;
    *out = jinja_bool(!same);
    return true;
}

static const struct jinja_class cycle_class = {.name = "method", .call = call_cycle};
static const struct jinja_class changed_class = {.name = "method", .call = call_changed};

static bool method_of(struct jinja_eval *e, struct loop *loop, const struct jinja_class *class,
                      jinja_value *out) {
    struct method *method = jinja_alloc(&e->run, 1, sizeof *method);
    if (!method) { return false; }
    *method = (struct method){.object = {class}, .loop = loop};
    *out = (jinja_value){.type = JINJA_OBJECT, .object = &method->object};
    return true;
}

/* ---- attributes ---------------------------------------------------------------------------------------- */

static bool get_cycle(struct jinja_eval *e, struct loop *loop, jinja_value *out) {
    return method_of(e, loop, &cycle_class, out);
}
static bool get_changed(struct jinja_eval *e, struct loop *loop, jinja_value *out) {
    return method_of(e, loop, &changed_class, out);
}
static bool get_depth(struct jinja_eval *e, struct loop *loop, jinja_value *out) {
    (void)e;
    *out = jinja_int(loop->depth + 1);
    return true;
}
static bool get_depth0(struct jinja_eval *e, struct loop *loop, jinja_value *out) {
    (void)e;
    *out = jinja_int(loop->depth);
    return true;
}
static bool get_first(struct jinja_eval *e, struct loop *loop, jinja_value *out) {
    (void)e;
    *out = jinja_bool(loop->index == 1);
    return true;
}
static bool get_index(struct jinja_eval *e, struct loop *loop, jinja_value *out) {
    (void)e;
    *out = jinja_int(loop->index);
    return true;
}
static bool get_index0(struct jinja_eval *e, struct loop *loop, jinja_value *out) {
    (void)e;
    *out = jinja_int(loop->index - 1);
    return true;
}
static bool get_last(struct jinja_eval *e, struct loop *loop, jinja_value *out) {
    if (!read_ahead(e, loop)) { return false; }
    *out = jinja_bool(!loop->has_after);
    return true;
}
static bool get_length(struct jinja_eval *e, struct loop *loop, jinja_value *out) {
    if (!measure(e, loop)) { return false; }
    *out = jinja_int(loop->length);
    return true;
}
static bool get_nextitem(struct jinja_eval *e, struct loop *loop, jinja_value *out) {
    if (!read_ahead(e, loop)) { return false; }
    *out = loop->has_after ? loop->after : jinja_undefined("there is no next item");
    return true;
}
static bool get_previtem(struct jinja_eval *e, struct loop *loop, jinja_value *out) {
    (void)e;
    *out = loop->index > 1 ? loop->before : jinja_undefined("there is no previous item");
    return true;
}
static bool get_revindex(struct jinja_eval *e, struct loop *loop, jinja_value *out) {
    if (!measure(e, loop)) { return false; }
    *out = jinja_int(loop->length - loop->index + 1);
    return true;
}
static bool get_revindex0(struct jinja_eval *e, struct loop *loop, jinja_value *out) {
    if (!measure(e, loop)) { return false; }
    *out = jinja_int(loop->length - loop->index);
    return true;
}

static const struct {
    const char *name;
    bool (*get)(struct jinja_eval *e, struct loop *loop, jinja_value *out);
} attributes[] = {
    {"changed", get_changed},     {"cycle", get_cycle},       {"depth", get_depth},
    {"depth0", get_depth0},       {"first", get_first},       {"index", get_index},
    {"index0", get_index0},       {"last", get_last},         {"length", get_length},
    {"nextitem", get_nextitem},   {"previtem", get_previtem}, {"revindex", get_revindex},
    {"revindex0", get_revindex0},
};

static bool loop_attribute(struct jinja_run *run, struct jinja_object *self, const char *name, size_t size,
                           jinja_value *out) {
    for (size_t i = 0; i < JINJA_COUNT(attributes); i++) {
        if (jinja_name_is(name, size, attributes[i].name)) {
            return attributes[i].get(jinja_eval_of(run), (struct loop *)self, out);
        }
    }
    *out = jinja_undefined("a loop has no such attribute");
    return true;
}

static bool loop_text(struct jinja_run *run, struct jinja_object *self, jinja_value *out) {
    struct loop *loop = (struct loop *)self;
    char text[80];
    if (!measure(jinja_eval_of(run), loop)) { return false; }
    snprintf(text, sizeof text, "<LoopContext %lld/%lld>", (long long)loop->index, (long long)loop->length);
    return jinja_literal(run, text, out);
}

static const struct jinja_class loop_class = {
    .name = "LoopContext", .attribute = loop_attribute, .call = call_loop, .text = loop_text};
