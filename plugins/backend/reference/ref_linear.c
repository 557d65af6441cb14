/*
 * ref_linear.c - linear. Weights are decoded a row at a time.
 */
#include "reference.h"

double ref_weight_dot(const tn_weight *w, uint64_t matrix, const float *row, const double *x) {
    double sum = 0;
    for (uint64_t c = 0; c < w->cols; c++) { sum += row[c] * x[c]; }
    return w->scales ? w->scales[w->scale_count > 1 ? matrix : 0] * sum : sum;
}

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
        double dot = ref_weight_dot(call->weight, 0, row, ref_row(call->run, node->inputs[0], r));
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
