/*
 * ref_rows.c - ops that look rows up or move them: embed, input, split, rows, pool, mark, output, custom.
 */
#include "reference.h"

#include <string.h>

static void copy_row(double *to, const double *from, uint64_t width) {
    memcpy(to, from, width * sizeof(double));
}

static void widen_row(double *to, const float *from, uint64_t width) {
    for (uint64_t c = 0; c < width; c++) { to[c] = from[c]; }
}

/* The row of the table that step row `r` asks for; -1: it comes as numbers. */
static int64_t embed_row(const tn_step *step, uint32_t by, uint32_t r) {
    switch (by) {
    case TN_EMBED_POSITION: return step->position[r];
    case TN_EMBED_TYPE: return step->type ? step->type[r] : 0;
    default: return step->tokens[r];
    }
}

int32_t ref_embed(ref_run *run, const tn_node *node, tn_error *err) {
    const tn_embed *a = node->attributes;
    const tn_weight *w = ref_weight(run, node, 0);
    float *row = run->plan->workers[0].row;
    const float *given = run->step->embedded;
    for (uint32_t r = 0; r < run->step->rows; r++) {
        int64_t i = embed_row(run->step, a->by, r);
        double *y = ref_row(run, node->result, r);
        if (a->by == TN_EMBED_TOKEN && i == -1 && given) {
            widen_row(y, given, w->cols);
            given += w->cols;
            continue;
        }
        if (i < 0 || (uint64_t)i >= w->rows) {
            TN_FAIL(err, TN_E_RANGE, "%s: row %lld of a table of %llu", node->name, (long long)i,
                    (unsigned long long)w->rows);
        }
        ref_decode_row(w, 0, (uint64_t)i, row);
        for (uint64_t c = 0; c < w->cols; c++) { y[c] = row[c] * a->scale; }
    }
    return TN_OK;
}

int32_t ref_input(ref_run *run, const tn_node *node, tn_error *err) {
    const tn_input *a = node->attributes;
    (void)err;
    for (uint32_t r = 0; r < run->step->rows; r++) {
        const float *x = run->step->ports[a->port] + (uint64_t)r * a->width;
        widen_row(ref_row(run, node->result, r), x, a->width);
    }
    return TN_OK;
}

int32_t ref_split(ref_run *run, const tn_node *node, tn_error *err) {
    const tn_split *a = node->attributes;
    (void)err;
    for (uint32_t r = 0; r < ref_row_count(run, node->inputs[0]); r++) {
        const double *x = ref_row(run, node->inputs[0], r);
        for (uint32_t i = 0; i < a->count; i++) {
            copy_row(ref_row(run, node->result + i, r), x, a->widths[i]);
            x += a->widths[i];
        }
    }
    return TN_OK;
}

int32_t ref_mark(ref_run *run, const tn_node *node, tn_error *err) {
    uint32_t width = run->plan->values[node->result - 1].width;
    (void)err;
    for (uint32_t r = 0; r < ref_row_count(run, node->result); r++) {
        copy_row(ref_row(run, node->result, r), ref_row(run, node->inputs[0], r), width);
    }
    return TN_OK;
}

int32_t ref_rows(ref_run *run, const tn_node *node, tn_error *err) {
    uint32_t width = run->plan->values[node->result - 1].width;
    (void)err;
    for (uint32_t o = 0; o < run->step->output_count; o++) {
        copy_row(ref_row(run, node->result, o), ref_row(run, node->inputs[0], run->step->output_rows[o]),
                 width);
    }
    return TN_OK;
}

/* One sequence: its rows are first .. first + count - 1. */
static void pool_sequence(ref_run *run, const tn_node *node, uint32_t s, uint32_t first, uint32_t count) {
    const tn_pool *a = node->attributes;
    uint32_t width = run->plan->values[node->result - 1].width;
    double *y = ref_row(run, node->result, s);
    if (a->kind != TN_POOL_MEAN) {
        uint32_t r = a->kind == TN_POOL_FIRST ? first : first + count - 1;
        copy_row(y, ref_row(run, node->inputs[0], r), width);
        return;
    }
    for (uint32_t c = 0; c < width; c++) {
        double sum = 0;
        for (uint32_t r = first; r < first + count; r++) { sum += ref_row(run, node->inputs[0], r)[c]; }
        y[c] = sum / count;
    }
}

int32_t ref_pool(ref_run *run, const tn_node *node, tn_error *err) {
    const tn_step *step = run->step;
    uint32_t count = 0;
    for (uint32_t first = 0; first < step->rows; first += count) {
        uint32_t s = step->sequence[first];
        count = step->sequences[s]->count;
        if (step->sequences[s]->held || count > step->rows - first) {
            TN_FAIL(err, TN_E_BUG, "%s: sequence %u does not lie whole in the step", node->name, s);
        }
        pool_sequence(run, node, s, first, count);
    }
    return TN_OK;
}

int32_t ref_output(ref_run *run, const tn_node *node, tn_error *err) {
    float *out = run->step->outputs[run->outputs_done++];
    uint32_t width = run->plan->values[node->inputs[0] - 1].width;
    (void)err;
    for (uint32_t r = 0; out && r < ref_row_count(run, node->inputs[0]); r++) {
        const double *x = ref_row(run, node->inputs[0], r);
        for (uint32_t c = 0; c < width; c++) { *out++ = (float)x[c]; }
    }
    return TN_OK;
}

int32_t ref_custom(ref_run *run, const tn_node *node, tn_error *err) {
    (void)run;
    TN_FAIL(err, TN_E_OP_UNSUPPORTED, "%s: custom op %s", node->name,
            ((const tn_custom *)node->attributes)->id);
}
