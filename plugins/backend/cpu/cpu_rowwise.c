/*
 * cpu_rowwise.c - ops that make a row from rows of the same number: embeddings, norms, sums, ropes; the
 * tables of cosines and sines; pooling.
 *
 * The ops of a phase run row by row, each into the worker's workspace, so that a row passes through all of
 * them while it is in the first cache; what others will read is copied out.
 */
#include "cpu.h"

#include <math.h>
#include <string.h>

const float *cpu_table_row(const cpu_plan *plan, uint32_t table, uint64_t row) {
    const cpu_table *t = &plan->tables[table];
    return (const float *)(plan->arena + t->offset) + row * t->rope->rotated;
}

/* One angle: its cosine and sine. Position, frequency and factor are multiplied in float64. */
static void fill_angle(const cpu_table *table, double position, uint32_t pair, float *row) {
    double factor = table->factors.data ? table->factors.data[pair] : 1.0;
    double angle = position * table->rope->frequencies[pair] / factor;
    row[pair] = (float)(cos(angle) * table->rope->magnitude);
    row[table->rope->rotated / 2 + pair] = (float)(sin(angle) * table->rope->magnitude);
}

void cpu_run_tables(cpu_worker *worker) {
    const cpu_plan *plan = worker->plan;
    for (uint32_t i = 0; i < plan->table_count; i++) {
        const cpu_table *table = &plan->tables[i];
        uint64_t pairs = table->rope->rotated / 2, from, to;
        cpu_share(worker, worker->run->rows[TN_ROWS_T] * pairs, &from, &to);
        for (uint64_t at = from; at < to; at++) {
            float *row = (float *)(plan->arena + table->offset) + at / pairs * table->rope->rotated;
            fill_angle(table, worker->run->step->position[at / pairs], (uint32_t)(at % pairs), row);
        }
    }
}

const float *cpu_operand(const cpu_worker *worker, const cpu_phase *phase, uint32_t value, uint64_t row) {
    const cpu_value *v = &worker->plan->values[value], *base = &worker->plan->values[v->base];
    if (base->by_row && base->first == worker->phase) {
        return (float *)(worker->scratch + worker->plan->scratch.workspace) + base->workspace + v->column;
    }
    return cpu_value_row(worker, value, phase->domain, row);
}

/* ---- ops -------------------------------------------------------------------------------------------- */

static void embed(const cpu_worker *worker, const cpu_op *op, uint64_t row, float *out) {
    const tn_embed *embed = op->node->attributes;
    const tn_step *step = worker->run->step;
    const tn_weight *w = worker->plan->graph->weights[op->node->weights[0] - 1];
    int64_t number = embed->by == TN_EMBED_TOKEN      ? step->tokens[row]
                     : embed->by == TN_EMBED_POSITION ? step->position[row]
                     : step->type                     ? step->type[row]
                                                      : 0;
    if (number < 0) { /* only tokens are: run() has checked */
        memcpy(out, step->embedded + worker->run->embedded[row] * w->cols, w->cols * sizeof *out);
        return;
    }
    w->format->decode(w->format_self, (const unsigned char *)w->data + (uint64_t)number * w->row_bytes,
                      w->cols, out);
    if (embed->scale != 1) { worker->plan->backend->kernels->scale(out, (float)embed->scale, w->cols, out); }
}

/* Numbers of one part of a row: its own, or shared by all parts. */
static const float *part_of(const cpu_vector *vector, uint32_t part, uint64_t n) {
    if (!vector->weight) { return NULL; }
    return vector->weight->cols * vector->weight->rows > n ? vector->data + part * n : vector->data;
}

void cpu_norm(const cpu_kernels *kernels, const tn_norm *norm, const cpu_vector *w, const cpu_vector *bias,
              uint32_t part, const float *x, uint64_t n, float *out) {
    const float *weights = part_of(w, part, n), *biases = part_of(bias, part, n);
    if (norm->kind == TN_NORM_RMS) {
        kernels->norm_rms(x, weights, biases, n, (float)norm->eps, out);
    } else {
        kernels->norm_layer(x, weights, biases, n, (float)norm->eps, out);
    }
}

static void norm(const cpu_worker *worker, const cpu_op *op, const float *x, uint32_t width, float *out) {
    const tn_norm *norm = op->node->attributes;
    uint64_t n = width / norm->groups;
    for (uint32_t i = 0; i < norm->groups; i++) {
        cpu_norm(worker->plan->backend->kernels, norm, &op->w, &op->bias, i, x + i * n, n, out + i * n);
    }
}

void cpu_elementwise(const cpu_kernels *kernels, const tn_node *node, const float *a, const float *b,
                     uint64_t n, float *out) {
    const tn_scale *scale = node->attributes;
    switch (node->op) {
    case TN_OP_add: kernels->add(a, b, n, out); break;
    case TN_OP_mul: kernels->mul(a, b, n, out); break;
    case TN_OP_scale: kernels->scale(a, (float)scale->factor, n, out); break;
    case TN_OP_softcap: kernels->softcap(a, (float)scale->factor, n, out); break;
    case TN_OP_clamp: kernels->clamp(a, (float)scale->factor, n, out); break;
    case TN_OP_act: {
        const tn_act_op *act = node->attributes;
        kernels->act(act->act, act->alpha != 0 ? (float)act->alpha : 1.0f, a, n, out);
        break;
    }
    case TN_OP_glu: {
        const tn_glu *glu = node->attributes;
        kernels->glu(glu->act, glu->alpha != 0 ? (float)glu->alpha : 1.0f, (float)glu->limit,
                     (float)glu->offset, a, b, n, out);
        break;
    }
    case TN_OP_experts: {
        const tn_experts *experts = node->attributes;
        float alpha = experts->alpha != 0 ? (float)experts->alpha : 1.0f;
        if (b) {
            kernels->glu(experts->act, alpha, (float)experts->limit, (float)experts->offset, a, b, n, out);
        } else {
            kernels->act(experts->act, alpha, a, n, out);
        }
        break;
    }
    }
}

static void rope(const cpu_worker *worker, const cpu_op *op, uint64_t row, const float *x, uint32_t width,
                 float *out) {
    const tn_rope *rope = op->node->attributes;
    const float *cosine = cpu_table_row(worker->plan, op->table, row);
    memcpy(out, x, width * sizeof *out);
    worker->plan->backend->kernels->rope(out, rope->heads, rope->head_dim, rope->rotated, rope->pairing,
                                         cosine, cosine + rope->rotated / 2);
}

static void mul(const cpu_worker *worker, const cpu_op *op, const float *a, const float *b, uint32_t width,
                float *out) {
    const cpu_kernels *kernels = worker->plan->backend->kernels;
    uint32_t wide_a = worker->plan->values[op->a].width, wide_b = worker->plan->values[op->b].width;
    if (wide_a == wide_b) {
        kernels->mul(a, b, width, out);
    } else if (wide_a == 1) {
        kernels->scale(b, a[0], width, out);
    } else {
        kernels->scale(a, b[0], width, out);
    }
}

static void run_op(const cpu_worker *worker, const cpu_op *op, uint64_t row, const float *a, const float *b,
                   uint32_t width, float *out) {
    const cpu_kernels *kernels = worker->plan->backend->kernels;
    const void *attributes = op->node->attributes;
    switch (op->node->op) {
    case TN_OP_embed: embed(worker, op, row, out); break;
    case TN_OP_input: {
        const tn_input *input = attributes;
        memcpy(out, worker->run->step->ports[input->port] + row * width, width * sizeof *out);
        break;
    }
    case TN_OP_norm: norm(worker, op, a, width, out); break;
    case TN_OP_rope: rope(worker, op, row, a, width, out); break;
    case TN_OP_mul: mul(worker, op, a, b, width, out); break;
    case TN_OP_route:
        cpu_route(kernels, attributes, a, worker->plan->values[op->a].width, op->w.data,
                  out + cpu_round(width, 16), out);
        break;
    case TN_OP_experts:
    case TN_OP_expert_sum:
        cpu_sum_experts(kernels, a, b, worker->plan->values[op->b].width / 2, width, out);
        break;
    default: cpu_elementwise(kernels, op->node, a, b, width, out);
    }
}

void cpu_run_ops(const cpu_worker *worker, const cpu_phase *phase, uint64_t row, bool share) {
    const cpu_plan *plan = worker->plan;
    const tn_step *step = worker->run->step;
    uint64_t step_row = phase->domain == TN_ROWS_O ? step->output_rows[row] : row;
    for (uint32_t i = 0; i < phase->op_count; i++) {
        const cpu_op *op = &plan->ops[phase->op_from + i];
        const float *a = op->a == CPU_NONE ? NULL : cpu_operand(worker, phase, op->a, row);
        const float *b = op->b == CPU_NONE ? NULL : cpu_operand(worker, phase, op->b, row);
        if (op->result == CPU_NONE) { /* output */
            float *to = step->outputs[op->table];
            uint64_t width = plan->values[op->a].width;
            if (share && to) { memcpy(to + row * width, a, width * sizeof *to); }
            continue;
        }
        const cpu_value *value = &plan->values[op->result];
        float *out = (float *)(worker->scratch + plan->scratch.workspace) + value->workspace;
        run_op(worker, op, step_row, a, b, value->width, out);
        if (!share || value->place == CPU_LOCAL) { continue; }
        float *to = cpu_value_row(worker, op->result, phase->domain, row);
        if (to) { memcpy(to, out, value->width * sizeof *to); }
    }
}

void cpu_run_rows(cpu_worker *worker, const cpu_phase *phase) {
    uint64_t from, to;
    cpu_share(worker, worker->run->rows[phase->domain], &from, &to);
    for (uint64_t row = from; row < to; row++) { cpu_run_ops(worker, phase, row, true); }
}

/* ---- pooling ---------------------------------------------------------------------------------------- */

static uint64_t first_row(const cpu_run *run, uint32_t sequence) {
    uint32_t i = 0;
    while (run->tiles[i].sequence != sequence) { i++; }
    return run->tiles[i].row;
}

static void pool_sequence(const cpu_worker *worker, const cpu_op *op, uint32_t sequence) {
    const cpu_kernels *kernels = worker->plan->backend->kernels;
    const tn_pool *pool = op->node->attributes;
    uint64_t first = first_row(worker->run, sequence), count = worker->run->step->sequences[sequence]->count;
    uint64_t width = worker->plan->values[op->result].width;
    uint64_t start = pool->kind == TN_POOL_LAST ? first + count - 1 : first;
    float *out = cpu_value_row(worker, op->result, TN_ROWS_S, sequence);
    memcpy(out, cpu_value_row(worker, op->a, TN_ROWS_T, start), width * sizeof *out);
    if (pool->kind != TN_POOL_MEAN) { return; }
    for (uint64_t i = 1; i < count; i++) {
        kernels->add(out, cpu_value_row(worker, op->a, TN_ROWS_T, first + i), width, out);
    }
    kernels->scale(out, 1.0f / (float)count, width, out);
}

void cpu_run_pool(cpu_worker *worker, const cpu_phase *phase) {
    uint64_t from, to;
    cpu_share(worker, worker->run->rows[TN_ROWS_S], &from, &to);
    for (uint64_t s = from; s < to; s++) {
        pool_sequence(worker, &worker->plan->ops[phase->op_from], (uint32_t)s);
    }
}
