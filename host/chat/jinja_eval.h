/*
 * jinja_eval.h - a rendering in progress, and what the files of the evaluator share.
 */
#ifndef TENON_JINJA_EVAL_H
#define TENON_JINJA_EVAL_H

#include "jinja_tree.h"

enum { JINJA_EVAL_NESTING = 1500 }; /* nodes evaluated within each other: 1 MB of stack at most */

struct jinja_slot {
    bool set;
    jinja_value value;
};
/* The variables of a function's call; those of the template itself are the outermost. */
struct jinja_frame {
    struct jinja_frame *outer;
    struct jinja_slot slots[];
};

/* The rendered text. It is not in the arena: it outlives the rendering. */
struct jinja_sink {
    char *text;
    size_t size, room;
    struct jinja_span *given;
    size_t given_count, given_room;
};

struct jinja_eval {
    struct jinja_run run; /* first: an object's functions get this and find the rest */
    const struct jinja_template *t;
    const struct jinja_input *input;
    struct jinja_frame *frame;
    struct jinja_slot *outside; /* what was asked for outside, once it was */
    bool *asked;
    struct jinja_builder *capture; /* where texts go; NULL: to the sink */
    jinja_value filtered;          /* the text that a `filter` or `set` block's filter begins with */
    struct jinja_sink sink;
    uint32_t nesting;
};

static inline struct jinja_eval *jinja_eval_of(struct jinja_run *run) {
    return (struct jinja_eval *)(void *)run;
}

/* What follows a statement. */
enum jinja_flow { FLOW_ON, FLOW_BREAK, FLOW_CONTINUE, FLOW_FAULT };

/* Expressions. */
bool jinja_evaluate(struct jinja_eval *e, const struct jinja_node *node, jinja_value *out);
/* A call, filter or test; `extra` (or NULL) is one more keyword argument. */
bool jinja_evaluate_call(struct jinja_eval *e, const struct jinja_node *node, const struct jinja_named *extra,
                         jinja_value *out);

/* Variables. */
struct jinja_frame *jinja_frame_make(struct jinja_eval *e, uint32_t slots, struct jinja_frame *outer);
struct jinja_slot *jinja_slot_of(const struct jinja_eval *e, struct jinja_variable variable);
bool jinja_enter_scope(struct jinja_eval *e, const struct jinja_scope *scope);
bool jinja_assign(struct jinja_eval *e, const struct jinja_node *target, jinja_value value);

/* Statements. */
enum jinja_flow jinja_execute(struct jinja_eval *e, const struct jinja_nodes *body);
enum jinja_flow jinja_execute_for(struct jinja_eval *e, const struct jinja_node *node);
enum jinja_flow jinja_execute_macro(struct jinja_eval *e, const struct jinja_node *node);
enum jinja_flow jinja_execute_call_block(struct jinja_eval *e, const struct jinja_node *node);
/* The text of a body; *out is it only if the flow is FLOW_ON. */
enum jinja_flow jinja_capture_body(struct jinja_eval *e, const struct jinja_nodes *body, jinja_value *out);

/* Output. */
bool jinja_emit(struct jinja_eval *e, const struct jinja_string *text);
/* The result of a filter or call block, which has to be a text. */
bool jinja_emit_block(struct jinja_eval *e, jinja_value value);
bool jinja_sink_put(struct jinja_eval *e, const struct jinja_string *text);
void jinja_sink_free(struct jinja_sink *sink);

#endif
