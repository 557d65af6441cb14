/*
 * graph_check.c - one check an op: operands there and of the right kind, widths and shapes that agree,
 * numbers that mean something. The tables at the end say what each op takes; the text of each rule is
 * tenon/graph.h.
 */
#include "graph_check.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* Widest value: a row of it still has a byte size that fits in 31 bits. */
#define WIDTH_MOST (1u << 28)

/* One node on its way through the checks. */
struct check {
    const tn_graph_scope *scope;
    const tn_node *node;
    tn_graph_results *results;
    tn_error *err;
};

#define WRONG(check, ...) return tn_node_wrong((check)->node, (check)->err, __VA_ARGS__)

int32_t tn_node_wrong(const tn_node *node, tn_error *err, const char *format, ...) {
    char text[sizeof err->text];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    const char *op = tn_op_name(node->op);
    TN_FAIL(err, TN_E_GRAPH, "%s (%s): %s", node->name, op ? op : "unknown op", text);
}

/* ---- operands --------------------------------------------------------------------------------------- */

static const tn_value *input(const struct check *c, int i) {
    return c->node->inputs[i] ? c->scope->values[c->node->inputs[i] - 1] : NULL;
}

static const tn_weight *weight(const struct check *c, int i) {
    return c->node->weights[i] ? c->scope->weights[c->node->weights[i] - 1] : NULL;
}

static const char *maker(const struct check *c, const tn_value *value) {
    return c->scope->nodes[value->node]->name;
}

static uint64_t elements(const tn_weight *w) {
    return w->cols * w->rows * w->count;
}

/* A one-dimensional tensor: one row. */
static int is_vector(const tn_weight *w, uint64_t size) {
    return w->count == 1 && w->rows == 1 && w->cols == size;
}

static int32_t need_vector(const struct check *c, int i, const char *what, uint64_t size) {
    const tn_weight *w = weight(c, i);
    if (w && !is_vector(w, size)) {
        WRONG(c, "%s %s has [%" PRIu64 ", %" PRIu64 ", %" PRIu64 "] numbers, expected %" PRIu64, what,
              w->name, w->cols, w->rows, w->count, size);
    }
    return TN_OK;
}

static int32_t need_matrix(const struct check *c, const tn_weight *w, uint64_t cols) {
    if (w->count != 1) { WRONG(c, "%s holds %" PRIu64 " matrices, expected one", w->name, w->count); }
    if (w->cols != cols) {
        WRONG(c, "rows of %s have %" PRIu64 " numbers, the input is %" PRIu64 " wide", w->name, w->cols,
              cols);
    }
    return TN_OK;
}

static int32_t need_width(const struct check *c, int i, const char *what, uint64_t width) {
    const tn_value *v = input(c, i);
    if (v->width != width) {
        WRONG(c, "%s (%s) is %" PRIu32 " wide, expected %" PRIu64, what, maker(c, v), v->width, width);
    }
    return TN_OK;
}

static int32_t need_rows(const struct check *c, int i, uint32_t rows) {
    static const char *const names[] = {"no rows", "a row a token", "a row an output", "a row a sequence"};
    const tn_value *v = input(c, i);
    if (v->rows != rows) {
        WRONG(c, "input %d (%s) has %s, expected %s", i, maker(c, v), names[v->rows], names[rows]);
    }
    return TN_OK;
}

static int32_t need_finite(const struct check *c, const char *what, double number) {
    if (!isfinite(number)) { WRONG(c, "%s is %g, expected a finite number", what, number); }
    return TN_OK;
}

static int32_t need_not_negative(const struct check *c, const char *what, double number) {
    TN_TRY(need_finite(c, what, number));
    if (number < 0) { WRONG(c, "%s is %g, expected 0 or more", what, number); }
    return TN_OK;
}

static int32_t need_flag(const struct check *c, const char *what, uint32_t number) {
    if (number > 1) { WRONG(c, "%s is %" PRIu32 ", expected 0 or 1", what, number); }
    return TN_OK;
}

/* An entry of a list that is numbered from 1. */
static int32_t need_known(const struct check *c, const char *what, uint32_t number, uint32_t last) {
    if (number < 1 || number > last) {
        WRONG(c, "%s is %" PRIu32 ", expected 1 to %" PRIu32, what, number, last);
    }
    return TN_OK;
}

static int32_t need_positive(const struct check *c, const char *what, uint32_t number) {
    if (!number) { WRONG(c, "%s is 0", what); }
    return TN_OK;
}

/* The one result: as many rows as input 0 has, `width` wide. */
static int32_t gives(const struct check *c, uint32_t rows, uint64_t width) {
    if (width < 1 || width > WIDTH_MOST) {
        WRONG(c, "the result would be %" PRIu64 " wide, expected 1 to %u", width, WIDTH_MOST);
    }
    c->results->count = 1;
    c->results->rows = rows;
    c->results->widths[0] = (uint32_t)width;
    return TN_OK;
}

static int32_t gives_like(const struct check *c, uint64_t width) {
    return gives(c, input(c, 0)->rows, width);
}

/* ---- ops -------------------------------------------------------------------------------------------- */

static int32_t check_embed(const struct check *c, const tn_embed *a) {
    const tn_weight *w = weight(c, 0);
    TN_TRY(need_known(c, "by", a->by, TN_EMBED_TYPE));
    TN_TRY(need_finite(c, "scale", a->scale));
    TN_TRY(need_matrix(c, w, w->cols));
    return gives(c, TN_ROWS_T, w->cols);
}

static int32_t check_input(const struct check *c, const tn_input *a) {
    return gives(c, TN_ROWS_T, a->width);
}

static int32_t need_norm_weight(const struct check *c, int i, const char *what, uint32_t groups) {
    const tn_weight *w = weight(c, i);
    uint64_t width = input(c, 0)->width, part = width / groups;
    if (!w || is_vector(w, part) || is_vector(w, width)) { return TN_OK; }
    if (w->count == 1 && w->cols == part && w->rows == groups) { return TN_OK; }
    WRONG(c,
          "%s %s is [%" PRIu64 ", %" PRIu64 "], expected %" PRIu64 " numbers for each part or %" PRIu64
          " for the row",
          what, w->name, w->cols, w->rows, part, width);
}

static int32_t check_norm(const struct check *c, const tn_norm *a) {
    uint32_t width = input(c, 0)->width;
    TN_TRY(need_known(c, "kind", a->kind, TN_NORM_LAYER));
    TN_TRY(need_not_negative(c, "eps", a->eps));
    TN_TRY(need_positive(c, "groups", a->groups));
    if (width % a->groups) {
        WRONG(c, "%" PRIu32 " groups do not divide a row of %" PRIu32, a->groups, width);
    }
    TN_TRY(need_norm_weight(c, 0, "weight", a->groups));
    TN_TRY(need_norm_weight(c, 1, "bias", a->groups));
    return gives_like(c, width);
}

static int32_t check_linear(const struct check *c, const void *a) {
    const tn_weight *w = weight(c, 0);
    (void)a;
    TN_TRY(need_matrix(c, w, input(c, 0)->width));
    TN_TRY(need_vector(c, 1, "bias", w->rows));
    return gives_like(c, w->rows);
}

static int32_t check_split(const struct check *c, const tn_split *a) {
    uint64_t sum = 0;
    if (a->count < 1 || a->count > 4) { WRONG(c, "%" PRIu32 " parts, expected 1 to 4", a->count); }
    for (uint32_t i = 0; i < 4; i++) {
        if ((i < a->count) != (a->widths[i] > 0)) {
            WRONG(c, "part %" PRIu32 " of %" PRIu32 " is %" PRIu32 " wide", i, a->count, a->widths[i]);
        }
        sum += a->widths[i];
    }
    TN_TRY(need_width(c, 0, "the input", sum));
    TN_TRY(gives_like(c, a->widths[0]));
    c->results->count = a->count;
    memcpy(c->results->widths, a->widths, sizeof a->widths);
    return TN_OK;
}

static int32_t check_rope(const struct check *c, const tn_rope *a) {
    TN_TRY(need_rows(c, 0, TN_ROWS_T));
    TN_TRY(need_positive(c, "heads", a->heads));
    TN_TRY(need_positive(c, "head_dim", a->head_dim));
    TN_TRY(need_width(c, 0, "the input", (uint64_t)a->heads * a->head_dim));
    TN_TRY(need_known(c, "pairing", a->pairing, TN_PAIR_HALVES));
    TN_TRY(need_finite(c, "magnitude", a->magnitude));
    if (!a->rotated || a->rotated % 2 || a->rotated > a->head_dim) {
        WRONG(c,
              "%" PRIu32 " rotated elements of a head of %" PRIu32 ", expected an even number up to its size",
              a->rotated, a->head_dim);
    }
    if (!a->frequencies) { WRONG(c, "no frequencies"); }
    for (uint32_t i = 0; i < a->rotated / 2; i++) {
        TN_TRY(need_finite(c, "a frequency", a->frequencies[i]));
    }
    TN_TRY(need_vector(c, 0, "factors", a->rotated / 2));
    return gives_like(c, input(c, 0)->width);
}

static int32_t check_attend(const struct check *c, const tn_attend *a) {
    for (int i = 0; i < 3; i++) { TN_TRY(need_rows(c, i, TN_ROWS_T)); }
    TN_TRY(need_positive(c, "heads", a->heads));
    TN_TRY(need_positive(c, "kv_heads", a->kv_heads));
    TN_TRY(need_positive(c, "key_dim", a->key_dim));
    TN_TRY(need_positive(c, "value_dim", a->value_dim));
    if (a->heads % a->kv_heads) {
        WRONG(c, "%" PRIu32 " key heads do not divide %" PRIu32 " heads", a->kv_heads, a->heads);
    }
    TN_TRY(need_width(c, 0, "q", (uint64_t)a->heads * a->key_dim));
    TN_TRY(need_width(c, 1, "k", (uint64_t)a->kv_heads * a->key_dim));
    TN_TRY(need_width(c, 2, "v", (uint64_t)a->kv_heads * a->value_dim));
    TN_TRY(need_flag(c, "causal", a->causal));
    TN_TRY(need_flag(c, "cached", a->cached));
    TN_TRY(need_finite(c, "scale", a->scale));
    if (a->scale == 0) { WRONG(c, "scale is 0: it has no default"); }
    TN_TRY(need_not_negative(c, "softcap", a->softcap));
    TN_TRY(need_vector(c, 0, "sinks", a->heads));
    return gives(c, TN_ROWS_T, (uint64_t)a->heads * a->value_dim);
}

static int32_t check_act(const struct check *c, const tn_act_op *a) {
    TN_TRY(need_known(c, "act", a->act, TN_ACT_SIGMOID));
    TN_TRY(need_finite(c, "alpha", a->alpha));
    return gives_like(c, input(c, 0)->width);
}

/* What glu and experts share. */
static int32_t need_gating(const struct check *c, uint32_t act, double alpha, double limit, double offset) {
    TN_TRY(need_known(c, "act", act, TN_ACT_SIGMOID));
    TN_TRY(need_finite(c, "alpha", alpha));
    TN_TRY(need_not_negative(c, "limit", limit));
    return need_finite(c, "offset", offset);
}

static int32_t check_glu(const struct check *c, const tn_glu *a) {
    TN_TRY(need_gating(c, a->act, a->alpha, a->limit, a->offset));
    TN_TRY(need_rows(c, 1, input(c, 0)->rows));
    TN_TRY(need_width(c, 1, "u", input(c, 0)->width));
    return gives_like(c, input(c, 0)->width);
}

static int32_t check_route(const struct check *c, const tn_route *a) {
    uint32_t experts = input(c, 0)->width;
    TN_TRY(need_known(c, "score", a->score, TN_SCORE_SIGMOID));
    TN_TRY(need_flag(c, "normalise", a->normalise));
    TN_TRY(need_finite(c, "scale", a->scale));
    if (a->used < 1 || a->used > experts) {
        WRONG(c, "%" PRIu32 " used of %" PRIu32 " experts", a->used, experts);
    }
    TN_TRY(need_vector(c, 0, "bias", experts));
    TN_TRY(gives_like(c, a->used));
    c->results->kind = TN_VALUE_ROUTE;
    return TN_OK;
}

/* Experts that the route of input 1 chooses from: the width of its logits. */
static uint32_t expert_count(const struct check *c) {
    const tn_node *route = c->scope->nodes[input(c, 1)->node];
    return c->scope->values[route->inputs[0] - 1]->width;
}

static int32_t need_expert(const struct check *c, int i, uint64_t cols, uint64_t rows) {
    const tn_weight *w = weight(c, i);
    if (w && (w->cols != cols || w->rows != rows || w->count != expert_count(c))) {
        WRONG(c,
              "%s is [%" PRIu64 ", %" PRIu64 ", %" PRIu64 "], expected [%" PRIu64 ", %" PRIu64 ", %" PRIu32
              "]",
              w->name, w->cols, w->rows, w->count, cols, rows, expert_count(c));
    }
    return TN_OK;
}

static int32_t need_expert_bias(const struct check *c, int i, uint64_t cols) {
    const tn_weight *w = weight(c, i);
    if (w && (w->cols != cols || elements(w) != cols * expert_count(c))) {
        WRONG(c, "%s is [%" PRIu64 ", %" PRIu64 "], expected [%" PRIu64 ", %" PRIu32 "]", w->name, w->cols,
              w->rows, cols, expert_count(c));
    }
    return TN_OK;
}

static int32_t check_experts(const struct check *c, const tn_experts *a) {
    enum { GATE, UP, DOWN, GATE_BIAS, UP_BIAS, DOWN_BIAS };
    uint64_t width = input(c, 0)->width, hidden = weight(c, UP)->rows, result = weight(c, DOWN)->rows;
    TN_TRY(need_gating(c, a->act, a->alpha, a->limit, a->offset));
    TN_TRY(need_rows(c, 1, input(c, 0)->rows));
    TN_TRY(need_expert(c, GATE, width, hidden));
    TN_TRY(need_expert(c, UP, width, hidden));
    TN_TRY(need_expert(c, DOWN, hidden, result));
    if (weight(c, GATE_BIAS) && !weight(c, GATE)) { WRONG(c, "a gate bias without a gate"); }
    TN_TRY(need_expert_bias(c, GATE_BIAS, hidden));
    TN_TRY(need_expert_bias(c, UP_BIAS, hidden));
    TN_TRY(need_expert_bias(c, DOWN_BIAS, result));
    return gives_like(c, result);
}

/* x holds numbers for all chosen experts, or for each. */
static int32_t check_expert_linear(const struct check *c, const void *a) {
    const tn_weight *w = weight(c, 0);
    uint32_t width = input(c, 0)->width, used = input(c, 1)->width;
    (void)a;
    TN_TRY(need_rows(c, 1, input(c, 0)->rows));
    if (width != w->cols && (width % used || width / used != w->cols)) {
        WRONG(c, "rows of %s have %" PRIu64 " numbers, the input is %" PRIu32 " wide for %" PRIu32 " experts",
              w->name, w->cols, width, used);
    }
    TN_TRY(need_expert(c, 0, w->cols, w->rows));
    TN_TRY(need_expert_bias(c, 1, w->rows));
    return gives_like(c, w->rows > WIDTH_MOST ? w->rows : w->rows * used);
}

static int32_t need_no_factor(const struct check *c, const tn_scale *a) {
    if (a->factor != 0) { WRONG(c, "takes no factor, has %g", a->factor); }
    return TN_OK;
}

static int32_t check_add(const struct check *c, const tn_scale *a) {
    TN_TRY(need_no_factor(c, a));
    TN_TRY(need_rows(c, 1, input(c, 0)->rows));
    TN_TRY(need_width(c, 1, "the second input", input(c, 0)->width));
    return gives_like(c, input(c, 0)->width);
}

static int32_t check_mul(const struct check *c, const tn_scale *a) {
    uint32_t left = input(c, 0)->width, right = input(c, 1)->width;
    TN_TRY(need_no_factor(c, a));
    TN_TRY(need_rows(c, 1, input(c, 0)->rows));
    if (left != right && left != 1 && right != 1) {
        WRONG(c, "%s is %" PRIu32 " wide and %s is %" PRIu32 ", expected the same width or 1",
              maker(c, input(c, 0)), left, maker(c, input(c, 1)), right);
    }
    return gives_like(c, left > right ? left : right);
}

static int32_t check_expert_sum(const struct check *c, const tn_scale *a) {
    uint32_t width = input(c, 0)->width, used = input(c, 1)->width;
    TN_TRY(need_no_factor(c, a));
    TN_TRY(need_rows(c, 1, input(c, 0)->rows));
    if (width % used) { WRONG(c, "%" PRIu32 " experts do not divide a row of %" PRIu32, used, width); }
    return gives_like(c, width / used);
}

static int32_t check_scale(const struct check *c, const tn_scale *a) {
    TN_TRY(need_finite(c, "factor", a->factor));
    return gives_like(c, input(c, 0)->width);
}

static int32_t check_softcap(const struct check *c, const tn_scale *a) {
    TN_TRY(need_finite(c, "factor", a->factor));
    if (a->factor <= 0) { WRONG(c, "factor is %g, expected more than 0", a->factor); }
    return gives_like(c, input(c, 0)->width);
}

static int32_t check_clamp(const struct check *c, const tn_scale *a) {
    return check_softcap(c, a);
}

static int32_t check_mark(const struct check *c, const tn_mark *a) {
    TN_TRY(need_known(c, "role", a->role, TN_MARK_LAYER_OUTPUT));
    return gives_like(c, input(c, 0)->width);
}

static int32_t check_rows(const struct check *c, const tn_scale *a) {
    TN_TRY(need_no_factor(c, a));
    TN_TRY(need_rows(c, 0, TN_ROWS_T));
    return gives(c, TN_ROWS_O, input(c, 0)->width);
}

static int32_t check_pool(const struct check *c, const tn_pool *a) {
    TN_TRY(need_known(c, "kind", a->kind, TN_POOL_LAST));
    TN_TRY(need_rows(c, 0, TN_ROWS_T));
    return gives(c, TN_ROWS_S, input(c, 0)->width);
}

static int32_t check_output(const struct check *c, const tn_output *a) {
    TN_TRY(need_known(c, "kind", a->kind, TN_OUTPUT_CTC));
    if (input(c, 0)->rows == TN_ROWS_T) {
        WRONG(c, "%s has a row a token: `rows` or `pool` comes first", maker(c, input(c, 0)));
    }
    const tn_weight *bigrams = weight(c, 0);
    uint32_t width = input(c, 0)->width;
    if (bigrams && a->kind != TN_OUTPUT_CTC) { WRONG(c, "only ctc takes bigrams"); }
    if (bigrams && (bigrams->cols != width || bigrams->rows != width || bigrams->count != 1)) {
        WRONG(c, "bigrams %s is [%" PRIu64 ", %" PRIu64 "], expected [%" PRIu32 ", %" PRIu32 "]",
              bigrams->name, bigrams->cols, bigrams->rows, width, width);
    }
    c->results->count = 0;
    return TN_OK;
}

static int32_t check_custom(const struct check *c, const tn_custom *a) {
    const char *slash = a->id ? strrchr(a->id, '/') : NULL;
    if (!slash || slash == a->id || !slash[1]) {
        WRONG(c, "its id is %s, expected \"name/1\"", a->id ? a->id : "missing");
    }
    if (a->params_size && !a->params) { WRONG(c, "%" PRIu64 " bytes of parameters at NULL", a->params_size); }
    for (int i = 1; i < TN_NODE_INPUTS && input(c, i); i++) { TN_TRY(need_rows(c, i, input(c, 0)->rows)); }
    return gives_like(c, a->width);
}

/* ---- the tables ------------------------------------------------------------------------------------- */

/* Operands: how many an op takes, and which of them (bits) must be there. */
struct rule {
    const char *name;
    uint32_t size, number; /* of the attributes, here and in TN_STRUCTS */
    int inputs, weights;
    uint32_t inputs_needed, weights_needed;
    uint32_t route; /* the input (bit) that is a choice of experts */
};

#define RULE(op, type, inputs, inputs_needed, weights, weights_needed, route)                                \
    [TN_OP_##                                                                                                \
        op] = {#op, sizeof(type), TN_STRUCT_##type, inputs, weights, inputs_needed, weights_needed, route}
static const struct rule rules[] = {
    RULE(embed, tn_embed, 0, 0, 1, 1, 0),      RULE(input, tn_input, 0, 0, 0, 0, 0),
    RULE(norm, tn_norm, 1, 1, 2, 0, 0),        RULE(linear, tn_linear, 1, 1, 2, 1, 0),
    RULE(split, tn_split, 1, 1, 0, 0, 0),      RULE(rope, tn_rope, 1, 1, 1, 0, 0),
    RULE(attend, tn_attend, 3, 7, 1, 0, 0),    RULE(act, tn_act_op, 1, 1, 0, 0, 0),
    RULE(glu, tn_glu, 2, 3, 0, 0, 0),          RULE(route, tn_route, 1, 1, 1, 0, 0),
    RULE(experts, tn_experts, 2, 3, 6, 6, 2),  RULE(add, tn_scale, 2, 3, 0, 0, 0),
    RULE(mul, tn_scale, 2, 3, 0, 0, 0),        RULE(scale, tn_scale, 1, 1, 0, 0, 0),
    RULE(softcap, tn_scale, 1, 1, 0, 0, 0),    RULE(mark, tn_mark, 1, 1, 0, 0, 0),
    RULE(rows, tn_scale, 1, 1, 0, 0, 0),       RULE(pool, tn_pool, 1, 1, 0, 0, 0),
    RULE(output, tn_output, 1, 1, 1, 0, 0),    RULE(custom, tn_custom, 4, 1, 6, 0, 0),
    RULE(clamp, tn_scale, 1, 1, 0, 0, 0),      RULE(expert_linear, tn_linear, 2, 3, 2, 1, 2),
    RULE(expert_sum, tn_scale, 2, 3, 0, 0, 2),
};
_Static_assert(sizeof rules / sizeof rules[0] == TN_OP_LAST + 1, "every op has its rule");

static const struct rule *rule_of(int32_t op) {
    return op >= 1 && op <= TN_OP_LAST ? &rules[op] : NULL;
}

const char *tn_op_name(int32_t op) {
    return rule_of(op) ? rule_of(op)->name : NULL;
}

uint32_t tn_op_attribute_size(int32_t op) {
    return rule_of(op)->size;
}

uint32_t tn_op_attribute_struct(int32_t op) {
    return rule_of(op)->number;
}

/* Operands that are not taken must be 0; numbers must have been given out; there are no holes in the inputs.
 */
static int32_t check_inputs(const struct check *c, const struct rule *rule) {
    int ended = 0;
    for (int i = 0; i < TN_NODE_INPUTS; i++) {
        uint32_t number = c->node->inputs[i];
        if (!number) {
            if (rule->inputs_needed >> i & 1) { WRONG(c, "input %d of %d is missing", i, rule->inputs); }
            ended = 1;
            continue;
        }
        if (i >= rule->inputs) { WRONG(c, "takes %d inputs, has one at place %d", rule->inputs, i); }
        if (ended) { WRONG(c, "input %d follows one that is missing", i); }
        if (number > c->scope->value_count) {
            WRONG(c, "input %d is value %" PRIu32 ", there are %" PRIu32, i, number, c->scope->value_count);
        }
        uint32_t wanted = rule->route >> i & 1 ? TN_VALUE_ROUTE : TN_VALUE_FLOAT;
        if (input(c, i)->kind != wanted) {
            WRONG(c, "input %d (%s) %s", i, maker(c, input(c, i)),
                  wanted == TN_VALUE_ROUTE ? "is not the result of a route"
                                           : "is a choice of experts, not numbers");
        }
    }
    return TN_OK;
}

static int32_t check_weights(const struct check *c, const struct rule *rule) {
    for (int i = 0; i < TN_NODE_WEIGHTS; i++) {
        uint32_t number = c->node->weights[i];
        if (!number) {
            if (rule->weights_needed >> i & 1) { WRONG(c, "weight %d is missing", i); }
            continue;
        }
        if (i >= rule->weights) { WRONG(c, "takes %d weights, has one at place %d", rule->weights, i); }
        if (number > c->scope->weight_count) {
            WRONG(c, "weight %d is number %" PRIu32 ", there are %" PRIu32, i, number,
                  c->scope->weight_count);
        }
        if (!weight(c, i)) {
            WRONG(c, "weight %d is claim %" PRIu32 ", which the file does not have", i, number);
        }
    }
    return TN_OK;
}

int32_t tn_graph_check_node(const tn_graph_scope *scope, const tn_node *node, tn_graph_results *out,
                            tn_error *err) {
    struct check c = {scope, node, out, err};
    const struct rule *rule = rule_of(node->op);
    memset(out, 0, sizeof *out);
    TN_TRY(check_inputs(&c, rule));
    TN_TRY(check_weights(&c, rule));
    switch (node->op) {
#define CHECK(op, number, type)                                                                              \
    case TN_OP_##op: return check_##op(&c, node->attributes);
        TN_OPS(CHECK)
#undef CHECK
    }
    WRONG(&c, "op %d has no check", (int)node->op);
}
