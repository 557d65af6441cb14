/*
 * ref_experts.c - mixtures of experts: which are chosen, what each gives, and the sum.
 */
#include "reference.h"

#include <math.h>

/* ---- route ------------------------------------------------------------------------------------------- */

/* Sum of exp(x - max) and the maximum: softmax(x)_i = exp(x_i - max) / sum. */
static double softmax_sum(const double *x, uint32_t n, double *max) {
    double sum = 0;
    *max = x[0];
    for (uint32_t i = 1; i < n; i++) { *max = x[i] > *max ? x[i] : *max; }
    for (uint32_t i = 0; i < n; i++) { sum += exp(x[i] - *max); }
    return sum;
}

/* One row: y gets `used` expert numbers, then `used` weights. The chosen are kept in order, by logit or, with a bias, by
 * score + bias; an expert goes behind those that are not below it. */
static void route_row(const tn_route *a, const double *logits, uint32_t experts, const float *bias,
                      double *y) {
    double max, sum = softmax_sum(logits, experts, &max), total = 0;
    double *chosen = y, *weights = y + a->used;
    uint32_t count = 0;
    for (uint32_t e = 0; e < experts; e++) {
        double score = a->score == TN_SCORE_SOFTMAX ? exp(logits[e] - max) / sum : 1 / (1 + exp(-logits[e]));
        uint32_t at = count;
        for (; at > 0; at--) {
            uint32_t before = (uint32_t)chosen[at - 1];
            if (bias ? !(score + bias[e] > weights[at - 1] + bias[before]) : !(logits[e] > logits[before])) {
                break;
            }
        }
        if (at == a->used) { continue; }
        count += count < a->used;
        memmove(chosen + at + 1, chosen + at, (count - at - 1) * sizeof *chosen);
        memmove(weights + at + 1, weights + at, (count - at - 1) * sizeof *weights);
        chosen[at] = e;
        weights[at] = score;
    }
    for (uint32_t u = 0; u < a->used; u++) { total += weights[u]; }
    for (uint32_t u = 0; u < a->used; u++) {
        weights[u] = weights[u] / (a->normalise ? total : 1) * a->scale;
    }
}

int32_t ref_route(ref_run *run, const tn_node *node, tn_error *err) {
    const float *bias = ref_numbers(run, ref_weight(run, node, 0), 0);
    uint32_t experts = run->plan->values[node->inputs[0] - 1].width;
    (void)err;
    for (uint32_t r = 0; r < ref_row_count(run, node->result); r++) {
        route_row(node->attributes, ref_row(run, node->inputs[0], r), experts, bias,
                  ref_row(run, node->result, r));
    }
    return TN_OK;
}

/* ---- experts ----------------------------------------------------------------------------------------- */

typedef struct experts_call {
    const ref_run *run;
    const tn_node *node;
    const tn_weight *gate, *up, *down, *gate_bias, *up_bias, *down_bias;
    uint32_t captured; /* 1: a capture sees an input of this node's matrices */
} experts_call;

/* One expert at work for one row. */
typedef struct expert_turn {
    uint32_t row, expert;
    double weight; /* that the route gives it */
} expert_turn;

/* Number `i` of an expert's row of a bias ([size, experts]); 0 if there is none. */
static double expert_bias(const tn_weight *bias, uint64_t expert, uint64_t i, float *row) {
    if (!bias) { return 0; }
    ref_decode_row(bias, 0, expert, row);
    return row[i];
}

/* y[i] = matrix `expert` of w times x, plus bias. */
static double expert_number(const tn_weight *w, const tn_weight *bias, uint64_t expert, uint64_t i,
                            const double *x, float *row) {
    ref_decode_row(w, expert, i, row);
    double dot = ref_weight_dot(w, expert, row, x);
    return dot + expert_bias(bias, expert, i, row);
}

/* Hands x, the input of slots `first` to `last`, to the captures of those matrices. */
static void capture_input(const ref_run *run, const tn_node *node, uint32_t first, uint32_t last,
                          const expert_turn *turn, const double *x, uint64_t width) {
    float *out = run->plan->captured;
    for (uint64_t i = 0; i < width; i++) { out[i] = (float)x[i]; }
    for (uint32_t slot = first; slot <= last; slot++) {
        for (uint32_t i = 0; i < run->step->capture_count; i++) {
            const tn_capture *c = run->step->captures[i];
            if (c->value || !c->weight || c->weight != node->weights[slot]) { continue; }
            c->take_input(c->context, c->weight, turn->expert, turn->row, out, (uint32_t)width);
        }
    }
}

/* Adds weight * expert(x) to y. */
static void add_expert(const experts_call *call, const expert_turn *turn, const double *x, double *y,
                       const ref_scratch *scratch) {
    const tn_experts *a = call->node->attributes;
    uint64_t expert = turn->expert;
    double *hidden = scratch->work;
    for (uint64_t i = 0; i < call->up->rows; i++) {
        double up = expert_number(call->up, call->up_bias, expert, i, x, scratch->row);
        if (call->gate) {
            double gate = expert_number(call->gate, call->gate_bias, expert, i, x, scratch->row);
            hidden[i] = ref_glu_number(a->act, a->alpha, a->limit, a->offset, gate, up);
        } else {
            hidden[i] = ref_activate(a->act, a->alpha, up);
        }
    }
    if (call->captured) {
        capture_input(call->run, call->node, 0, 1, turn, x, call->up->cols);
        capture_input(call->run, call->node, 2, 2, turn, hidden, call->down->cols);
    }
    for (uint64_t i = 0; i < call->down->rows; i++) {
        y[i] += turn->weight * expert_number(call->down, call->down_bias, expert, i, hidden, scratch->row);
    }
}

/* [compute] One row: its experts in the order of the route. */
static void experts_row(void *arg, uint64_t r, uint32_t worker) {
    const experts_call *call = arg;
    const double *x = ref_row(call->run, call->node->inputs[0], r);
    const double *route = ref_row(call->run, call->node->inputs[1], r);
    uint32_t used = call->run->plan->values[call->node->inputs[1] - 1].width / 2;
    double *y = ref_row(call->run, call->node->result, r);
    for (uint64_t i = 0; i < call->down->rows; i++) { y[i] = 0; }
    for (uint32_t u = 0; u < used; u++) {
        expert_turn turn = {(uint32_t)r, (uint32_t)route[u], route[used + u]};
        add_expert(call, &turn, x, y, &call->run->plan->workers[worker]);
    }
}

/* [compute] All rows in order: captures are promised that. */
static void experts_rows(void *arg, uint64_t index, uint32_t worker) {
    const experts_call *call = arg;
    (void)index;
    for (uint32_t r = 0; r < ref_row_count(call->run, call->node->result); r++) {
        experts_row(arg, r, worker);
    }
}

uint32_t ref_expert_matrices(const tn_node *node) {
    return node->op == TN_OP_experts ? 3 : node->op == TN_OP_expert_linear ? 1 : 0;
}

static uint32_t is_captured(const tn_step *step, const tn_node *node) {
    for (uint32_t i = 0; i < step->capture_count; i++) {
        const tn_capture *c = step->captures[i];
        for (uint32_t slot = 0; slot < ref_expert_matrices(node) && !c->value; slot++) {
            if (c->weight && c->weight == node->weights[slot]) { return 1; }
        }
    }
    return 0;
}

int32_t ref_experts(ref_run *run, const tn_node *node, tn_error *err) {
    const tn_host *host = run->plan->host;
    experts_call call = {run,
                         node,
                         ref_weight(run, node, 0),
                         ref_weight(run, node, 1),
                         ref_weight(run, node, 2),
                         ref_weight(run, node, 3),
                         ref_weight(run, node, 4),
                         ref_weight(run, node, 5),
                         is_captured(run->step, node)};
    (void)err;
    if (call.captured) {
        host->parallel_for(host, 1, experts_rows, &call);
    } else {
        host->parallel_for(host, ref_row_count(run, node->result), experts_row, &call);
    }
    return TN_OK;
}

/* ---- one matrix of experts, and the sum --------------------------------------------------------------- */

typedef struct expert_linear_call {
    const ref_run *run;
    const tn_node *node;
    const tn_weight *weight, *bias;
    uint32_t used, stride; /* numbers from one expert's part of x to the next: 0, all get the same */
    uint32_t captured;
} expert_linear_call;

/* [compute] One row: what its experts give, side by side. */
static void expert_linear_row(void *arg, uint64_t r, uint32_t worker) {
    const expert_linear_call *call = arg;
    const double *x = ref_row(call->run, call->node->inputs[0], r);
    const double *route = ref_row(call->run, call->node->inputs[1], r);
    double *y = ref_row(call->run, call->node->result, r);
    float *row = call->run->plan->workers[worker].row;
    for (uint32_t u = 0; u < call->used; u++, x += call->stride) {
        const expert_turn turn = {(uint32_t)r, (uint32_t)route[u], route[call->used + u]};
        if (call->captured) { capture_input(call->run, call->node, 0, 0, &turn, x, call->weight->cols); }
        for (uint64_t i = 0; i < call->weight->rows; i++) {
            *y++ = expert_number(call->weight, call->bias, turn.expert, i, x, row);
        }
    }
}

/* [compute] All rows in order, for captures. */
static void expert_linear_rows(void *arg, uint64_t index, uint32_t worker) {
    const expert_linear_call *call = arg;
    (void)index;
    for (uint32_t r = 0; r < ref_row_count(call->run, call->node->result); r++) {
        expert_linear_row(arg, r, worker);
    }
}

int32_t ref_expert_linear(ref_run *run, const tn_node *node, tn_error *err) {
    const tn_host *host = run->plan->host;
    const tn_weight *w = ref_weight(run, node, 0);
    const ref_value *x = &run->plan->values[node->inputs[0] - 1];
    expert_linear_call call = {run,
                               node,
                               w,
                               ref_weight(run, node, 1),
                               run->plan->values[node->inputs[1] - 1].width / 2,
                               x->width == w->cols ? 0 : (uint32_t)w->cols,
                               is_captured(run->step, node)};
    (void)err;
    if (call.captured) {
        host->parallel_for(host, 1, expert_linear_rows, &call);
    } else {
        host->parallel_for(host, ref_row_count(run, node->result), expert_linear_row, &call);
    }
    return TN_OK;
}

int32_t ref_expert_sum(ref_run *run, const tn_node *node, tn_error *err) {
    uint32_t width = run->plan->values[node->result - 1].width;
    uint32_t used = run->plan->values[node->inputs[1] - 1].width / 2;
    (void)err;
    for (uint32_t r = 0; r < ref_row_count(run, node->result); r++) {
        const double *x = ref_row(run, node->inputs[0], r), *route = ref_row(run, node->inputs[1], r);
        double *y = ref_row(run, node->result, r);
        for (uint32_t i = 0; i < width; i++) {
            y[i] = 0;
            for (uint32_t u = 0; u < used; u++) { y[i] += route[used + u] * x[(uint64_t)u * width + i]; }
        }
    }
    return TN_OK;
}
