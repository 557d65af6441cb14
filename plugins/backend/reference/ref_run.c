/*
 * ref_run.c - one step: what is handed over is checked, then the nodes run in order, each whole before the
 * next.
 */
#include "reference.h"

typedef int32_t (*op_function)(ref_run *run, const tn_node *node, tn_error *err);

static const op_function functions[TN_OP_LAST + 1] = {
#define OP_FUNCTION(name, number, type) [number] = ref_##name,
    TN_OPS(OP_FUNCTION)
#undef OP_FUNCTION
};

/* ---- what ops ask for -------------------------------------------------------------------------------- */

uint32_t ref_row_count(const ref_run *run, uint32_t value) {
    switch (run->plan->graph->values[value - 1]->rows) {
    case TN_ROWS_O: return run->step->output_count;
    case TN_ROWS_S: return run->step->sequence_count;
    default: return run->step->rows;
    }
}

double *ref_row(const ref_run *run, uint32_t value, uint64_t row) {
    const ref_value *v = &run->plan->values[value - 1];
    return v->data + row * v->width;
}

const tn_weight *ref_weight(const ref_run *run, const tn_node *node, uint32_t slot) {
    uint32_t number = node->weights[slot];
    return number ? run->plan->graph->weights[number - 1] : NULL;
}

void ref_decode_row(const tn_weight *weight, uint64_t matrix, uint64_t row, float *out) {
    const unsigned char *blocks =
        (const unsigned char *)weight->data + (matrix * weight->rows + row) * weight->row_bytes;
    weight->format->decode(weight->format_self, blocks, weight->cols, out);
}

const float *ref_numbers(const ref_run *run, const tn_weight *weight, uint32_t at) {
    float *out = run->plan->numbers[at];
    if (!weight) { return NULL; }
    for (uint64_t r = 0; r < weight->rows; r++) { ref_decode_row(weight, 0, r, out + r * weight->cols); }
    return out;
}

/* ---- checks ------------------------------------------------------------------------------------------ */

static int32_t check_counts(const ref_plan *plan, const tn_step *step, tn_error *err) {
    const tn_limits *limits = &plan->limits;
    if (step->rows > limits->rows || step->output_count > limits->output_rows ||
        step->sequence_count > limits->sequences) {
        TN_FAIL(err, TN_E_RANGE,
                "a step of %u rows, %u outputs, %u sequences for a plan of at most %u, %u, %u", step->rows,
                step->output_count, step->sequence_count, limits->rows, limits->output_rows,
                limits->sequences);
    }
    for (uint32_t o = 0; o < step->output_count; o++) {
        if (step->output_rows[o] >= step->rows) {
            TN_FAIL(err, TN_E_RANGE, "output of row %u, the step has %u", step->output_rows[o], step->rows);
        }
    }
    return TN_OK;
}

static int32_t check_rows(const tn_step *step, tn_error *err) {
    for (uint32_t r = 0; r < step->rows; r++) {
        if (step->sequence[r] >= step->sequence_count) {
            TN_FAIL(err, TN_E_RANGE, "row %u is of sequence %u, the step has %u", r, step->sequence[r],
                    step->sequence_count);
        }
        const tn_sequence *s = step->sequences[step->sequence[r]];
        if (step->index[r] < s->held || step->index[r] - s->held >= s->count) {
            TN_FAIL(err, TN_E_RANGE, "row %u has index %u, its sequence holds %u and gets %u", r,
                    step->index[r], s->held, s->count);
        }
    }
    return TN_OK;
}

static int32_t check_pages(const ref_plan *plan, const ref_cache *cache, const tn_step *step, tn_error *err) {
    for (uint32_t i = 0; cache && i < step->sequence_count; i++) {
        const tn_sequence *s = step->sequences[i];
        for (uint32_t g = 0; g < cache->group_count; g++) {
            const ref_group *group = &cache->groups[g];
            uint64_t tokens = (uint64_t)s->held + s->count;
            uint64_t pages = (tokens + group->page_tokens - 1) / group->page_tokens;
            if (pages > plan->limits.pages_per_sequence) {
                TN_FAIL(err, TN_E_CONTEXT, "sequence %u would take %llu pages, the plan allows %llu", i,
                        (unsigned long long)pages, (unsigned long long)plan->limits.pages_per_sequence);
            }
        }
    }
    return TN_OK;
}

/* ---- the run ----------------------------------------------------------------------------------------- */

static void take_rows(const ref_run *run, const tn_capture *capture) {
    uint32_t width = run->plan->values[capture->value - 1].width;
    float *out = run->plan->captured;
    for (uint32_t r = 0; r < ref_row_count(run, capture->value); r++) {
        const double *x = ref_row(run, capture->value, r);
        for (uint32_t c = 0; c < width; c++) { out[c] = (float)x[c]; }
        capture->take(capture->context, capture->value, r, out, width);
    }
}

static void serve_captures(const ref_run *run, const tn_node *node) {
    for (uint32_t i = 0; i < run->step->capture_count; i++) {
        const tn_capture *capture = run->step->captures[i];
        if (capture->value && capture->value - node->result < ref_result_count(node)) {
            take_rows(run, capture);
        }
    }
}

int32_t ref_run_step(void *self, void *plan, void *cache, const tn_step *step, tn_error *err) {
    ref_run run = {.plan = plan, .cache = cache, .step = step};
    const tn_graph *graph = run.plan->graph;
    (void)self;
    TN_TRY(check_counts(plan, step, err));
    TN_TRY(check_rows(step, err));
    TN_TRY(check_pages(plan, cache, step, err));
    for (uint32_t n = 0; n < graph->node_count; n++) {
        if (step->cancelled && step->cancelled(step->cancel_context)) {
            TN_FAIL(err, TN_E_CANCELLED, "cancelled before %s", graph->nodes[n]->name);
        }
        TN_TRY(functions[graph->nodes[n]->op](&run, graph->nodes[n], err));
        serve_captures(&run, graph->nodes[n]);
    }
    return TN_OK;
}
