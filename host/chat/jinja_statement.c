/*
 * jinja_statement.c - executes statements; loops and macros are in files of their own.
 */
#include "jinja_eval.h"

static bool print(struct jinja_eval *e, const struct jinja_node *node) {
    for (const struct jinja_node *part = node->items.first; part; part = part->next) {
        jinja_value value;
        if (!jinja_evaluate(e, part, &value)) { return false; }
        e->run.at = part->place;
        if (value.type != JINJA_STRING && !jinja_text(&e->run, value, &value)) { return false; }
        if (!jinja_emit(e, value.string)) { return false; }
    }
    return true;
}

static enum jinja_flow execute_if(struct jinja_eval *e, const struct jinja_node *node) {
    for (const struct jinja_node *branch = node->items.first; branch; branch = branch->next) {
        jinja_value value;
        bool truth = true;
        if (branch->branch.test) {
            if (!jinja_evaluate(e, branch->branch.test, &value)) { return FLOW_FAULT; }
            e->run.at = branch->place;
            if (!jinja_truth(&e->run, value, &truth)) { return FLOW_FAULT; }
        }
        if (truth) { return jinja_execute(e, &branch->branch.body); }
    }
    return FLOW_ON;
}

static bool execute_set(struct jinja_eval *e, const struct jinja_node *node) {
    jinja_value value;
    return jinja_evaluate(e, node->set.value, &value) && jinja_assign(e, node->set.target, value);
}

/* A `filter` block, whose text is printed, or a `set` block, whose text is assigned. */
static enum jinja_flow execute_capture(struct jinja_eval *e, const struct jinja_node *node) {
    const struct jinja_capture *capture = node->capture;
    jinja_value value;
    if (!jinja_enter_scope(e, &capture->scope)) { return FLOW_FAULT; }
    enum jinja_flow flow = jinja_capture_body(e, &capture->body, &value);
    if (flow != FLOW_ON) { return flow; }
    if (capture->filter) {
        e->filtered = value;
        if (!jinja_evaluate(e, capture->filter, &value)) { return FLOW_FAULT; }
    }
    e->run.at = node->place;
    bool done = capture->target ? jinja_assign(e, capture->target, value) : jinja_emit_block(e, value);
    return done ? FLOW_ON : FLOW_FAULT;
}

static enum jinja_flow execute_with(struct jinja_eval *e, const struct jinja_with *with) {
    const struct jinja_node *value = with->values.first;
    if (!jinja_enter_scope(e, &with->scope)) { return FLOW_FAULT; }
    for (const struct jinja_node *target = with->targets.first; target; target = target->next) {
        jinja_value result;
        if (!jinja_evaluate(e, value, &result) || !jinja_assign(e, target, result)) { return FLOW_FAULT; }
        value = value->next;
    }
    return jinja_execute(e, &with->body);
}

static enum jinja_flow execute(struct jinja_eval *e, const struct jinja_node *node) {
    switch (node->kind) {
    case NODE_OUTPUT: return print(e, node) ? FLOW_ON : FLOW_FAULT;
    case NODE_FOR: return jinja_execute_for(e, node);
    case NODE_IF: return execute_if(e, node);
    case NODE_SET: return execute_set(e, node) ? FLOW_ON : FLOW_FAULT;
    case NODE_SET_BLOCK:
    case NODE_FILTER_BLOCK: return execute_capture(e, node);
    case NODE_MACRO: return jinja_execute_macro(e, node);
    case NODE_CALL_BLOCK:
    case NODE_GENERATION: return jinja_execute_call_block(e, node);
    case NODE_WITH: return execute_with(e, node->with);
    case NODE_BREAK: return FLOW_BREAK;
    default: return FLOW_CONTINUE; /* the parser makes no other statement */
    }
}

enum jinja_flow jinja_execute(struct jinja_eval *e, const struct jinja_nodes *body) {
    enum jinja_flow flow = FLOW_ON;
    if (e->nesting >= JINJA_EVAL_NESTING) {
        jinja_fail(&e->run, JINJA_LIMIT, "expressions and blocks are nested too deep");
        return FLOW_FAULT;
    }
    e->nesting++;
    for (const struct jinja_node *node = body->first; node && flow == FLOW_ON; node = node->next) {
        flow = jinja_spend(&e->run, 1) ? execute(e, node) : FLOW_FAULT;
    }
    e->nesting--;
    return flow;
}
