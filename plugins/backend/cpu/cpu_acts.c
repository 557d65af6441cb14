/*
 * cpu_acts.c - what the products of a phase read: the prologue runs, its rows become activations.
 *
 * Few rows: each worker does it for itself, all rows, which is cheaper than a barrier. Many rows: each does a
 * part, and all wait. Where rows choose experts, activations are made by row first, and copied then so that
 * those of one expert lie together, as matrix products need them.
 */
#include "cpu.h"

#include <string.h>

enum { ALIGN = 64 };

/* ---- memory of activations -------------------------------------------------------------------------- */

static uint64_t data_stride(const cpu_source *source) {
    return cpu_round(source->cols * (source->form == TN_FORM_F32 ? sizeof(float) : 1), ALIGN);
}

uint64_t cpu_source_bytes(const cpu_source *source, uint64_t count) {
    uint64_t rows = cpu_mul(count, source->planes);
    uint64_t bytes = cpu_mul(data_stride(source), rows);
    if (source->form == TN_FORM_F32) { return bytes; }
    uint64_t scales = cpu_round(source->cols / 32 * sizeof(float), ALIGN);
    uint64_t sums = cpu_round(source->cols / 16 * sizeof(int16_t), ALIGN);
    return cpu_add(bytes, cpu_mul(scales + sums, rows));
}

static void act_at(const cpu_source *source, uint64_t count, unsigned char *at, tn_act *act) {
    uint64_t rows = count * source->planes;
    uint64_t stride = data_stride(source);
    *act = (tn_act){.struct_size = sizeof *act,
                    .form = source->form,
                    .rows = rows,
                    .cols = source->cols,
                    .data = at,
                    .stride = stride};
    if (source->form == TN_FORM_F32) { return; }
    uint64_t scales = cpu_round(source->cols / 32 * sizeof(float), ALIGN);
    act->scales = (const float *)(at + rows * stride);
    act->scale_stride = scales / sizeof(float);
    act->sums = (const int16_t *)(at + rows * (stride + scales));
    act->sum_stride = cpu_round(source->cols / 16 * sizeof(int16_t), ALIGN) / sizeof(int16_t);
}

/* ---- rows to activations; their memory is this backend's own ---------------------------------------- */

/* Activation row `row`, or rows 2 row and 2 row + 1, its planes. */
static void fill_act(const cpu_kernels *kernels, const cpu_source *source, const tn_act *act, uint64_t row,
                     const float *x) {
    unsigned char *data = (unsigned char *)act->data + row * source->planes * act->stride;
    if (act->form == TN_FORM_F32) {
        memcpy(data, x, act->cols * sizeof *x);
        return;
    }
    float *scales = (float *)act->scales + row * source->planes * act->scale_stride;
    int16_t *sums = (int16_t *)act->sums + row * source->planes * act->sum_stride;
    if (source->planes == 1) {
        kernels->quantise_i8x32(x, act->cols, (int8_t *)data, scales, sums);
    } else {
        cpu_quantise_planes(x, act->cols, (int8_t *)data, (int8_t *)data + act->stride, scales,
                            scales + act->scale_stride, sums, sums + act->sum_stride);
    }
}

static void copy_act(const tn_act *from, uint64_t row, const tn_act *to, uint64_t at) {
    memcpy((unsigned char *)to->data + at * to->stride,
           (const unsigned char *)from->data + row * from->stride, to->stride);
    if (from->form == TN_FORM_F32) { return; }
    memcpy((float *)to->scales + at * to->scale_stride, from->scales + row * from->scale_stride,
           to->scale_stride * sizeof(float));
    memcpy((int16_t *)to->sums + at * to->sum_stride, from->sums + row * from->sum_stride,
           to->sum_stride * sizeof(int16_t));
}

/* ---- a phase ---------------------------------------------------------------------------------------- */

/* One way through the rows of a phase. */
typedef struct preparing {
    const cpu_worker *worker;
    const cpu_phase *phase;
    cpu_inputs *in;
    uint64_t rows;
    bool small;              /* every worker has activations of its own */
    tn_act by_row[CPU_ACTS]; /* of chosen sources: before they are sorted */
} preparing;

static unsigned char *region(const preparing *p, uint64_t offset, uint64_t small_offset) {
    const cpu_plan *plan = p->worker->plan;
    return p->small ? p->worker->scratch + plan->scratch.sources + small_offset
                    : plan->arena + plan->shared_sources + offset;
}

static void place_acts(preparing *p) {
    for (uint32_t i = 0; i < p->phase->source_count; i++) {
        const cpu_source *source = &p->phase->sources[i];
        tn_act *act = &p->in->acts[i];
        if (source->chosen) {
            act_at(source, p->rows * p->phase->used,
                   region(p, source->sorted_offset, source->small_sorted_offset), act);
            act = &p->by_row[i];
        }
        act_at(source, p->rows * source->parts, region(p, source->offset, source->small_offset), act);
    }
}

/* The prologue for rows from .. to - 1, and their activations. */
static void fill_rows(preparing *p, uint64_t from, uint64_t to, bool share) {
    const cpu_phase *phase = p->phase;
    for (uint64_t row = from; row < to; row++) {
        cpu_run_ops(p->worker, phase, row, share);
        for (uint32_t i = 0; i < phase->source_count; i++) {
            const cpu_source *source = &phase->sources[i];
            const float *x = cpu_operand(p->worker, phase, source->value, row);
            for (uint32_t part = 0; part < source->parts; part++) {
                fill_act(p->worker->plan->backend->kernels, source,
                         source->chosen ? &p->by_row[i] : &p->in->acts[i], row * source->parts + part,
                         x + part * source->cols);
            }
        }
        if (p->small && phase->route != CPU_NONE) {
            cpu_choices_take(&p->in->choices, row, cpu_operand(p->worker, phase, phase->route, row));
        }
    }
}

/* Activations number from .. to - 1 in the order of their experts. */
static void sort_acts(preparing *p, uint64_t from, uint64_t to) {
    const cpu_choices *choices = &p->in->choices;
    for (uint32_t i = 0; i < p->phase->source_count; i++) {
        const cpu_source *source = &p->phase->sources[i];
        if (!source->chosen) { continue; }
        for (uint64_t at = from; at < to; at++) {
            uint32_t pair = choices->pairs[at];
            copy_act(&p->by_row[i], source->parts == 1 ? pair / choices->used : pair, &p->in->acts[i], at);
        }
    }
}

static void finish_part(const preparing *p) {
    if (!p->small) { cpu_barrier(p->worker); }
}

static void prepare_chosen(preparing *p) {
    cpu_choices *choices = &p->in->choices;
    uint64_t from = 0, to = p->rows * choices->used;
    for (uint64_t row = 0; row < p->rows && !p->small; row++) {
        cpu_choices_take(choices, row, cpu_value_row(p->worker, p->phase->route, p->phase->domain, row));
    }
    cpu_choices_sort(choices, p->rows);
    if (!p->small) { cpu_share(p->worker, to, &from, &to); }
    sort_acts(p, from, to);
    finish_part(p);
}

void cpu_prepare(const cpu_worker *worker, const cpu_phase *phase, cpu_inputs *in) {
    preparing p = {.worker = worker, .phase = phase, .in = in, .rows = worker->run->rows[phase->domain]};
    uint64_t from = 0, to = p.rows;
    p.small = p.rows <= phase->small_rows;
    in->whole = (cpu_group){0, 0, (uint32_t)p.rows};
    place_acts(&p);
    if (phase->route != CPU_NONE) {
        cpu_choices_at(phase, p.rows, worker->scratch + worker->plan->scratch.choices, &in->choices);
    }
    if (!p.small) { cpu_share(worker, p.rows, &from, &to); }
    fill_rows(&p, from, to, !p.small || worker->id == 0);
    finish_part(&p);
    if (phase->route != CPU_NONE) { prepare_chosen(&p); }
}
