/*
 * ref_linear.c - ops with matrices: linear, route, experts. Weights are decoded a row at a time.
 */
#include "reference.h"

#include <math.h>

/* Row `row` of matrix `matrix` times x, companion scale included, in column order. */
static double weight_dot(const tn_weight *w, uint64_t matrix, const float *row, const double *x) {
    double sum = 0;
    for (uint64_t c = 0; c < w->cols; c++) { sum += row[c] * x[c]; }
    return w->scales ? w->scales[w->scale_count > 1 ? matrix : 0] * sum : sum;
}

/* ---- linear ------------------------------------------------------------------------------------------ */

typedef struct linear_call {
    const ref_run *run;
    const tn_node *node;
    const tn_weight *weight;
    const float *bias;
} linear_call;

/* [compute] One column of the result: one weight row for all rows of x. */
static void linear_row(void *arg, uint64_t i, uint32_t worker) {
    const linear_call *call = arg;
    const tn_node *node = call->node;
    float *row = call->run->plan->workers[worker].row;
    ref_decode_row(call->weight, 0, i, row);
    for (uint32_t r = 0; r < ref_row_count(call->run, node->result); r++) {
        double dot = weight_dot(call->weight, 0, row, ref_row(call->run, node->inputs[0], r));
        ref_row(call->run, node->result, r)[i] = dot + (call->bias ? call->bias[i] : 0);
    }
}

int32_t ref_linear(ref_run *run, const tn_node *node, tn_error *err) {
    const tn_host *host = run->plan->host;
    linear_call call = {run, node, ref_weight(run, node, 0), ref_numbers(run, ref_weight(run, node, 1), 0)};
    (void)err;
    host->parallel_for(host, call.weight->rows, linear_row, &call);
    return TN_OK;
}

/* ---- route ------------------------------------------------------------------------------------------- */

/* Sum of exp(x - max) and the maximum: softmax(x)_i = exp(x_i - max) / sum. */
static double softmax_sum(const double *x, uint32_t n, double *max) {
    double sum = 0;
    *max = x[0];
    for (uint32_t i = 1; i < n; i++) { *max = x[i] > *max ? x[i] : *max; }
    for (uint32_t i = 0; i < n; i++) { sum += exp(x[i] - *max); }
    return sum;
}

static int is_chosen(const double *chosen, uint32_t count, uint32_t expert) {
    for (uint32_t i = 0; i < count; i++) {
        if (chosen[i] == expert) { return 1; }
    }
    return 0;
}

/* One row: y gets `used` expert numbers, then `used` weights. */
static void route_row(const tn_route *a, const double *logits, uint32_t experts, const float *bias,
                      double *y) {
    double max, sum = softmax_sum(logits, experts, &max), total = 0;
    double *chosen = y, *weights = y + a->used;
    for (uint32_t u = 0; u < a->used; u++) {
        double best_rank = 0;
        int found = 0;
        for (uint32_t e = 0; e < experts; e++) {
            double score =
                a->score == TN_SCORE_SOFTMAX ? exp(logits[e] - max) / sum : 1 / (1 + exp(-logits[e]));
            double rank = bias ? score + bias[e] : logits[e];
            if (is_chosen(chosen, u, e) || (found && !(rank > best_rank))) { continue; }
            found = 1;
            best_rank = rank;
            chosen[u] = e;
            weights[u] = score;
        }
        total += weights[u];
    }
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
    double dot = weight_dot(w, expert, row, x);
    return dot + expert_bias(bias, expert, i, row);
}

/* Hands x, the input of slots `first` to `last`, to the captures of those matrices. */
static void capture_input(const experts_call *call, uint32_t first, uint32_t last, const expert_turn *turn,
                          const double *x, uint64_t width) {
    const tn_step *step = call->run->step;
    float *out = call->run->plan->captured;
    for (uint64_t i = 0; i < width; i++) { out[i] = (float)x[i]; }
    for (uint32_t slot = first; slot <= last; slot++) {
        for (uint32_t i = 0; i < step->capture_count; i++) {
            const tn_capture *c = step->captures[i];
            if (c->value || !c->weight || c->weight != call->node->weights[slot]) { continue; }
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
        capture_input(call, 0, 1, turn, x, call->up->cols);
        capture_input(call, 2, 2, turn, hidden, call->down->cols);
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

static uint32_t is_captured(const tn_step *step, const tn_node *node) {
    for (uint32_t i = 0; i < step->capture_count; i++) {
        const tn_capture *c = step->captures[i];
        for (uint32_t slot = 0; slot < 3 && !c->value; slot++) {
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
