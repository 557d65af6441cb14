/*
 * jinja_eval_call.c - calls, filters and tests: gathers the arguments, *x and **x spread out.
 */
#include "jinja_eval.h"

#include <string.h>

/* Arguments in the making. */
struct gathered {
    jinja_value *at;
    struct jinja_named *named;
    size_t count, named_count, named_room;
};

static bool gather_spread(struct jinja_eval *e, const struct jinja_call_parts *call, struct gathered *g) {
    struct jinja_iterator it = {0};
    jinja_value more;
    bool done = true;
    size_t room = call->positional.count;
    if (call->spread) {
        if (!jinja_evaluate(e, call->spread, &more)) { return false; }
        e->run.at = call->spread->place;
        if (!jinja_iterate(&e->run, more, &it)) { return false; }
        room += it.count;
        done = false;
    }
    if (room == 0) { return true; }
    jinja_value *all = jinja_alloc(&e->run, room, sizeof *all);
    if (!all) { return false; }
    if (g->count > 0) { memcpy(all, g->at, g->count * sizeof *all); }
    g->at = all;
    while (!done && g->count < room) {
        if (!jinja_spend(&e->run, 1) || !jinja_next(&e->run, &it, &g->at[g->count], &done)) { return false; }
        g->count += !done;
    }
    return true;
}

static bool gather_positional(struct jinja_eval *e, const struct jinja_call_parts *call, struct gathered *g) {
    if (call->positional.count > 0) {
        g->at = jinja_alloc(&e->run, call->positional.count, sizeof *g->at);
        if (!g->at) { return false; }
    }
    for (const struct jinja_node *node = call->positional.first; node; node = node->next) {
        if (!jinja_evaluate(e, node, &g->at[g->count])) { return false; }
        g->count++;
    }
    return !call->spread || gather_spread(e, call, g);
}

static bool name_argument(struct jinja_eval *e, struct gathered *g, struct jinja_named argument) {
    if (!jinja_spend(&e->run, 1 + g->named_count)) { return false; }
    for (size_t i = 0; i < g->named_count; i++) {
        if (g->named[i].size == argument.size &&
            memcmp(g->named[i].name, argument.name, argument.size) == 0) {
            return jinja_fail(&e->run, JINJA_RUNTIME, "multiple values for keyword argument '%.60s'",
                              argument.name);
        }
    }
    if (g->named_count == g->named_room) {
        size_t room = g->named_room ? g->named_room * 2 : 4;
        struct jinja_named *named = jinja_alloc(&e->run, room, sizeof *named);
        if (!named) { return false; }
        if (g->named_count > 0) { memcpy(named, g->named, g->named_count * sizeof *named); }
        g->named = named;
        g->named_room = room;
    }
    g->named[g->named_count++] = argument;
    return true;
}

static bool gather_mapping(struct jinja_eval *e, const struct jinja_node *node, struct gathered *g) {
    struct jinja_iterator it;
    jinja_value mapping, key;
    bool done = false;
    if (!jinja_evaluate(e, node, &mapping)) { return false; }
    e->run.at = node->place;
    if (mapping.type != JINJA_DICT) {
        return jinja_fail(&e->run, JINJA_RUNTIME, "argument after ** must be a mapping, not %s",
                          jinja_type_name(mapping));
    }
    if (!jinja_iterate(&e->run, mapping, &it)) { return false; }
    while (jinja_next(&e->run, &it, &key, &done)) {
        if (done) { return true; }
        if (key.type != JINJA_STRING) {
            return jinja_fail(&e->run, JINJA_RUNTIME, "keywords must be strings");
        }
        struct jinja_named argument = {
            .name = key.string->bytes, .size = key.string->size, .key = key.string};
        if (!jinja_item(&e->run, mapping, key, &argument.value) || !name_argument(e, g, argument)) {
            return false;
        }
    }
    return false;
}

static bool gather(struct jinja_eval *e, const struct jinja_call_parts *call, const struct jinja_named *extra,
                   struct gathered *g) {
    if (!gather_positional(e, call, g)) { return false; }
    for (const struct jinja_node *node = call->keywords.first; node; node = node->next) {
        const struct jinja_name *name = node->member.name;
        struct jinja_named argument = {.name = name->bytes, .size = name->size};
        if (!jinja_evaluate(e, node->member.object, &argument.value)) { return false; }
        e->run.at = node->place;
        if (!name_argument(e, g, argument)) { return false; }
    }
    if (extra && !name_argument(e, g, *extra)) { return false; }
    return !call->spread_keywords || gather_mapping(e, call->spread_keywords, g);
}

bool jinja_evaluate_call(struct jinja_eval *e, const struct jinja_node *node, const struct jinja_named *extra,
                         jinja_value *out) {
    const struct jinja_call_parts *call = node->call;
    struct gathered g = {0};
    jinja_value object = e->filtered;
    bool truth;
    if (call->object && !jinja_evaluate(e, call->object, &object)) { return false; }
    if (!gather(e, call, extra, &g)) { return false; }
    const struct jinja_args args = {
        .at = g.at, .count = g.count, .named = g.named, .named_count = g.named_count};
    e->run.at = node->place;
    if (node->kind == NODE_CALL) { return jinja_call(&e->run, object, &args, out); }
    if (node->kind == NODE_FILTER) { return jinja_filter_call(&e->run, call->builtin, object, &args, out); }
    if (!jinja_test_call(&e->run, call->builtin, object, &args, &truth)) { return false; }
    *out = jinja_bool(truth);
    return true;
}
