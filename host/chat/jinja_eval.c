/*
 * jinja_eval.c - evaluates expressions.
 */
#include "jinja_eval.h"

/* ---- values -------------------------------------------------------------------------------------------- */

static bool evaluate_name(struct jinja_eval *e, const struct jinja_node *node, jinja_value *out) {
    const struct jinja_slot *slot = jinja_slot_of(e, node->name.variable);
    *out = slot->set ? slot->value : jinja_undefined(node->name.name->bytes);
    return true;
}

static bool evaluate_items(struct jinja_eval *e, const struct jinja_node *node, jinja_value *out) {
    enum jinja_type type = node->kind == NODE_TUPLE ? JINJA_TUPLE : JINJA_LIST;
    if (!jinja_list_make(&e->run, type, node->items.count, out)) { return false; }
    for (const struct jinja_node *part = node->items.first; part; part = part->next) {
        jinja_value item;
        if (!jinja_evaluate(e, part, &item) || !jinja_list_add(&e->run, *out, item)) { return false; }
    }
    return true;
}

static bool evaluate_dict(struct jinja_eval *e, const struct jinja_node *node, jinja_value *out) {
    if (!jinja_dict_make(&e->run, out)) { return false; }
    for (const struct jinja_node *part = node->items.first; part; part = part->next->next) {
        jinja_value key, item;
        if (!jinja_evaluate(e, part, &key) || !jinja_evaluate(e, part->next, &item)) { return false; }
        e->run.at = part->place;
        if (!jinja_dict_set(&e->run, *out, key, item)) { return false; }
    }
    return true;
}

/* ---- operators ----------------------------------------------------------------------------------------- */

static bool evaluate_binary(struct jinja_eval *e, const struct jinja_node *node, jinja_value *out) {
    jinja_value a, b;
    if (!jinja_evaluate(e, node->pair.left, &a) || !jinja_evaluate(e, node->pair.right, &b)) { return false; }
    e->run.at = node->place;
    return jinja_binary(&e->run, node->op, a, b, out);
}

static bool evaluate_unary(struct jinja_eval *e, const struct jinja_node *node, jinja_value *out) {
    jinja_value a;
    if (!jinja_evaluate(e, node->pair.left, &a)) { return false; }
    e->run.at = node->place;
    return jinja_unary(&e->run, node->op, a, out);
}

/* Text that can be joined as it is. */
static bool is_plain(jinja_value value) {
    return value.type == JINJA_STRING && !value.string->markup;
}

/* Joins the texts from *node on to `sum`, up to what is none: that one's value is left in *next. */
static bool sum_texts(struct jinja_eval *e, const struct jinja_node **node, jinja_value *sum,
                      jinja_value *next) {
    struct jinja_builder text = {.run = &e->run};
    if (!jinja_build_from(&text, sum->string, 0, sum->string->size)) { return false; }
    while (*node && is_plain(*next)) {
        if (!jinja_build_from(&text, next->string, 0, next->string->size)) { return false; }
        *node = (*node)->next;
        if (*node && !jinja_evaluate(e, *node, next)) { return false; }
    }
    return jinja_built(&text, sum);
}

/* a + b + c, from the left; a row of texts is built once. */
static bool evaluate_sum(struct jinja_eval *e, const struct jinja_node *node, jinja_value *out) {
    const struct jinja_node *part = node->items.first->next;
    jinja_value next;
    if (!jinja_evaluate(e, node->items.first, out) || !jinja_evaluate(e, part, &next)) { return false; }
    while (part) {
        if (is_plain(*out) && is_plain(next)) {
            if (!sum_texts(e, &part, out, &next)) { return false; }
            continue;
        }
        e->run.at = node->place;
        if (!jinja_binary(&e->run, JINJA_ADD, *out, next, out)) { return false; }
        part = part->next;
        if (part && !jinja_evaluate(e, part, &next)) { return false; }
    }
    return true;
}

static bool evaluate_concat(struct jinja_eval *e, const struct jinja_node *node, jinja_value *out) {
    struct jinja_builder text = {.run = &e->run};
    for (const struct jinja_node *part = node->items.first; part; part = part->next) {
        jinja_value value;
        if (!jinja_evaluate(e, part, &value)) { return false; }
        e->run.at = node->place;
        if (!jinja_build_text(&text, value)) { return false; }
    }
    return jinja_built(&text, out);
}

static bool evaluate_truth(struct jinja_eval *e, const struct jinja_node *node, bool *out) {
    jinja_value value;
    if (!jinja_evaluate(e, node, &value)) { return false; }
    e->run.at = node->place;
    return jinja_truth(&e->run, value, out);
}

static bool evaluate_not(struct jinja_eval *e, const struct jinja_node *node, jinja_value *out) {
    bool truth;
    if (!evaluate_truth(e, node->pair.left, &truth)) { return false; }
    *out = jinja_bool(!truth);
    return true;
}

/* `and`, `or`: the value that decides. */
static bool evaluate_logic(struct jinja_eval *e, const struct jinja_node *node, jinja_value *out) {
    bool truth;
    if (!jinja_evaluate(e, node->pair.left, out)) { return false; }
    e->run.at = node->place;
    if (!jinja_truth(&e->run, *out, &truth)) { return false; }
    return truth == (node->kind == NODE_OR) || jinja_evaluate(e, node->pair.right, out);
}

/* a < b < c: each part is evaluated once, and none behind a comparison that does not hold. */
static bool evaluate_compare(struct jinja_eval *e, const struct jinja_node *node, jinja_value *out) {
    jinja_value left, right;
    bool holds = true;
    if (!jinja_evaluate(e, node->compare.first, &left)) { return false; }
    for (const struct jinja_node *part = node->compare.operands.first; holds && part; part = part->next) {
        if (!jinja_evaluate(e, part->pair.left, &right)) { return false; }
        e->run.at = node->place;
        if (!jinja_binary(&e->run, part->op, left, right, out) || !jinja_truth(&e->run, *out, &holds)) {
            return false;
        }
        left = right;
    }
    return true;
}

static bool evaluate_condition(struct jinja_eval *e, const struct jinja_node *node, jinja_value *out) {
    bool truth;
    if (!evaluate_truth(e, node->condition.test, &truth)) { return false; }
    if (truth) { return jinja_evaluate(e, node->condition.yes, out); }
    if (node->condition.no) { return jinja_evaluate(e, node->condition.no, out); }
    *out = jinja_undefined("the inline if-expression evaluated to false and no else section was defined");
    return true;
}

/* ---- parts of values ----------------------------------------------------------------------------------- */

static bool evaluate_attribute(struct jinja_eval *e, const struct jinja_node *node, jinja_value *out) {
    const struct jinja_name *name = node->member.name;
    jinja_value object;
    if (!jinja_evaluate(e, node->member.object, &object)) { return false; }
    e->run.at = node->place;
    return jinja_attribute(&e->run, object, name->bytes, name->size, out);
}

static bool evaluate_item(struct jinja_eval *e, const struct jinja_node *node, jinja_value *out) {
    jinja_value object, key;
    if (!jinja_evaluate(e, node->pair.left, &object) || !jinja_evaluate(e, node->pair.right, &key)) {
        return false;
    }
    e->run.at = node->place;
    return jinja_item(&e->run, object, key, out);
}

static bool evaluate_slice(struct jinja_eval *e, const struct jinja_node *node, jinja_value *out) {
    jinja_value object, bounds[3];
    if (!jinja_evaluate(e, node->slice.object, &object)) { return false; }
    for (int i = 0; i < 3; i++) {
        bounds[i] = jinja_none();
        if (node->slice.bounds[i] && !jinja_evaluate(e, node->slice.bounds[i], &bounds[i])) { return false; }
    }
    e->run.at = node->place;
    return jinja_slice(&e->run, object, bounds[0], bounds[1], bounds[2], out);
}

/* ---- all ----------------------------------------------------------------------------------------------- */

static bool evaluate(struct jinja_eval *e, const struct jinja_node *node, jinja_value *out) {
    switch (node->kind) {
    case NODE_CONSTANT: *out = node->constant; return true;
    case NODE_NAME: return evaluate_name(e, node, out);
    case NODE_TUPLE:
    case NODE_LIST: return evaluate_items(e, node, out);
    case NODE_DICT: return evaluate_dict(e, node, out);
    case NODE_SUM: return evaluate_sum(e, node, out);
    case NODE_CONCAT: return evaluate_concat(e, node, out);
    case NODE_ATTRIBUTE: return evaluate_attribute(e, node, out);
    case NODE_ITEM: return evaluate_item(e, node, out);
    case NODE_SLICE: return evaluate_slice(e, node, out);
    case NODE_CALL:
    case NODE_FILTER:
    case NODE_TEST: return jinja_evaluate_call(e, node, NULL, out);
    case NODE_UNARY: return evaluate_unary(e, node, out);
    case NODE_BINARY: return evaluate_binary(e, node, out);
    case NODE_NOT: return evaluate_not(e, node, out);
    case NODE_AND:
    case NODE_OR: return evaluate_logic(e, node, out);
    case NODE_COMPARE: return evaluate_compare(e, node, out);
    default: return evaluate_condition(e, node, out); /* the parser puts nothing else into an expression */
    }
}

bool jinja_evaluate(struct jinja_eval *e, const struct jinja_node *node, jinja_value *out) {
    if (!jinja_spend(&e->run, 1)) { return false; }
    if (e->nesting >= JINJA_EVAL_NESTING) {
        e->run.at = node->place;
        return jinja_fail(&e->run, JINJA_LIMIT, "expressions and blocks are nested too deep");
    }
    e->nesting++;
    bool done = evaluate(e, node, out);
    e->nesting--;
    return done;
}
