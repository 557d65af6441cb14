/*
 * cpu_attend.c - attention phases: who does what, and the way of a head: norm, rope, store, blocks, result.
 *
 * A task is a tile of query rows of one sequence with one key head. Where every sequence is one tile, the
 * worker that has a task stores the keys and values of these rows first, and nobody else needs them: one
 * barrier at the end of the phase is all. Else all is stored before a barrier. Where tasks are few and
 * contexts long, a task is cut into ranges of blocks; their parts are kept, and the worker that finishes the
 * last range of a task merges all of them in order. None of this changes what is added to what.
 */
#include "cpu.h"

#include <string.h>

enum {
    TASKS = 4,          /* a worker, for a good balance */
    SHORT_CONTEXT = 128 /* up to here one barrier less is worth more than balance */
};

typedef struct cutting {
    const cpu_attention *a;
    uint32_t tasks;  /* tiles * key heads */
    uint32_t blocks; /* of the longest sequence */
    uint32_t ranges; /* pieces of a task */
    uint64_t floats; /* of the part of a block, for the largest tile */
    bool stored;     /* before the tasks begin */
} cutting;

static float *scratch(const cpu_worker *worker, uint64_t offset) {
    return (float *)(worker->scratch + offset);
}

/* ---- heads ------------------------------------------------------------------------------------------ */

/* Head number `head` of row `row`: normalised and rotated, behind it zeros up to `pad`. */
static void make_head(const cpu_worker *worker, const cpu_heads *heads, uint64_t row, uint32_t head,
                      uint32_t dim, uint64_t pad, float *out) {
    const cpu_kernels *kernels = worker->plan->backend->kernels;
    const float *x = cpu_value_row(worker, heads->value, TN_ROWS_T, row) + (uint64_t)head * dim;
    if (heads->norm) {
        cpu_norm(kernels, heads->norm->attributes, &heads->w, &heads->bias, head, x, dim, out);
    } else {
        memcpy(out, x, dim * sizeof *out);
    }
    if (heads->rope) {
        const tn_rope *rope = heads->rope->attributes;
        const float *cosine = cpu_table_row(worker->plan, heads->table, row);
        kernels->rope(out, 1, dim, rope->rotated, rope->pairing, cosine, cosine + rope->rotated / 2);
    }
    memset(out + dim, 0, (pad - dim) * sizeof *out);
}

static void store_row(const cpu_worker *worker, const cpu_unit *unit, uint32_t i) {
    const cpu_attention *a = unit->attention;
    uint64_t row = unit->tile->row + i;
    uint32_t token = unit->index + i, head = unit->kv_head;
    const float *v = cpu_value_row(worker, a->v, TN_ROWS_T, row) + (uint64_t)head * a->value_dim;
    if (!a->cached) {
        float *keys = cpu_uncached_keys(worker->plan, a, head),
              *values = cpu_uncached_values(worker->plan, a, head);
        make_head(worker, &a->k, row, head, a->key_dim, a->key_dim, keys + row * a->key_dim);
        memcpy(values + row * a->value_dim, v, a->value_dim * sizeof *v);
        return;
    }
    const cpu_cache_group *group = &worker->run->cache->groups[a->group];
    uint32_t page = worker->run->step->sequences[unit->tile->sequence]->pages[a->group][token / a->block];
    uint64_t at = token % a->block;
    float *x = scratch(worker, worker->plan->scratch.row);
    make_head(worker, &a->k, row, head, a->key_dim, a->key_pad, x);
    a->key_store->store(x, a->key_pad, cpu_cache_keys(group, page, a->slot, head) + at * group->key_row);
    memcpy(x, v, a->value_dim * sizeof *v);
    memset(x + a->value_dim, 0, (a->value_pad - a->value_dim) * sizeof *x);
    a->value_store->store(x, a->value_pad,
                          cpu_cache_values(group, page, a->slot, head) + at * group->value_row);
}

static void store_rows(const cpu_worker *worker, const cpu_unit *unit) {
    for (uint32_t i = 0; i < unit->tile->rows; i++) { store_row(worker, unit, i); }
}

static void make_queries(const cpu_worker *worker, const cpu_unit *unit) {
    const cpu_attention *a = unit->attention;
    uint64_t stride = cpu_round(a->key_pad, 16);
    float *out = scratch(worker, worker->plan->scratch.queries);
    for (uint32_t act = 0; act < unit->acts; act++) {
        make_head(worker, &a->q, unit->tile->row + act / a->share, unit->kv_head * a->share + act % a->share,
                  a->key_dim, stride, out + act * stride);
    }
}

/* ---- results ---------------------------------------------------------------------------------------- */

/* Sinks come last: a score without a value. Then the division by the sum of all. */
static void finish(const cpu_worker *worker, const cpu_unit *unit, const cpu_part *state) {
    const cpu_attention *a = unit->attention;
    const cpu_kernels *kernels = worker->plan->backend->kernels;
    for (uint32_t act = 0; act < unit->acts; act++) {
        uint32_t head = unit->kv_head * a->share + act % a->share;
        float *out = cpu_value_row(worker, a->result, TN_ROWS_T, unit->tile->row + act / a->share);
        float factor = 1.0f, sum = state->sum[act];
        if (a->sinks.data) {
            float old = state->maximum[act], sink = a->sinks.data[head], most = sink > old ? sink : old;
            factor = cpu_exp(kernels, old - most);
            sum = sum * factor + cpu_exp(kernels, sink - most);
        }
        kernels->scale(state->out + act * (uint64_t)a->value_pad, factor / sum, a->value_dim,
                       out + (uint64_t)head * a->value_dim);
    }
}

/* ---- tasks ------------------------------------------------------------------------------------------ */

/* Heavy tiles, those with the longest context, come first: the last ones of the step. */
static cpu_unit unit_of(const cpu_worker *worker, const cpu_attention *a, uint32_t task) {
    const cpu_run *run = worker->run;
    const cpu_tile *tile = &run->tiles[run->tile_count - 1 - task / a->kv_heads];
    const tn_sequence *sequence = run->step->sequences[tile->sequence];
    return (cpu_unit){.attention = a,
                      .tile = tile,
                      .kv_head = task % a->kv_heads,
                      .acts = tile->rows * a->share,
                      .index = run->step->index[tile->row],
                      .total = sequence->held + sequence->count};
}

static void block_range(const cpu_unit *unit, uint32_t *from, uint32_t *to) {
    const tn_attend *attend = unit->attention->node->attributes;
    uint32_t last = attend->causal ? unit->index + unit->tile->rows : unit->total, first = 0;
    if (attend->window && unit->index + 1 > attend->window) { first = unit->index + 1 - attend->window; }
    *from = first / unit->attention->block;
    *to = (last + unit->attention->block - 1) / unit->attention->block;
}

static void run_task(const cpu_worker *worker, const cutting *at, uint32_t task) {
    const cpu_attention *a = at->a;
    cpu_unit unit = unit_of(worker, a, task);
    cpu_part state = cpu_part_at(scratch(worker, worker->plan->scratch.state), unit.acts, a->value_pad);
    cpu_part part = cpu_part_at(scratch(worker, worker->plan->scratch.partial), unit.acts, a->value_pad);
    uint32_t from, to;
    if (!at->stored) { store_rows(worker, &unit); }
    make_queries(worker, &unit);
    memset(state.sum, 0, unit.acts * sizeof(float));
    block_range(&unit, &from, &to);
    for (uint32_t block = from; block < to; block++) {
        cpu_attend_block(worker, &unit, block, &part);
        cpu_attend_merge(worker->plan->backend->kernels, &unit, &state, &part);
    }
    finish(worker, &unit, &state);
}

/* Where the part of a block is kept: tasks one after another, each with room for all blocks. */
static cpu_part kept_part(const cpu_worker *worker, const cutting *at, const cpu_unit *unit, uint32_t task,
                          uint32_t block) {
    float *memory = (float *)(worker->plan->arena + worker->plan->partials);
    return cpu_part_at(memory + ((uint64_t)task * at->blocks + block) * at->floats, unit->acts,
                       unit->attention->value_pad);
}

static void merge_kept(const cpu_worker *worker, const cutting *at, const cpu_unit *unit, uint32_t task,
                       uint32_t from, uint32_t to) {
    cpu_part state = cpu_part_at(scratch(worker, worker->plan->scratch.state), unit->acts, at->a->value_pad);
    memset(state.sum, 0, unit->acts * sizeof(float));
    for (uint32_t block = from; block < to; block++) {
        cpu_part part = kept_part(worker, at, unit, task, block);
        cpu_attend_merge(worker->plan->backend->kernels, unit, &state, &part);
    }
    finish(worker, unit, &state);
}

/* One range of blocks of a task; the last range to be done merges. */
static void run_range(const cpu_worker *worker, const cutting *at, uint32_t task, uint32_t range) {
    cpu_unit unit = unit_of(worker, at->a, task);
    _Atomic uint32_t *left = (_Atomic uint32_t *)(worker->plan->arena + worker->plan->left);
    uint32_t from, to;
    block_range(&unit, &from, &to);
    make_queries(worker, &unit);
    uint32_t count = to - from, first = from + (uint32_t)((uint64_t)count * range / at->ranges);
    uint32_t last = from + (uint32_t)((uint64_t)count * (range + 1) / at->ranges);
    for (uint32_t block = first; block < last; block++) {
        cpu_part part = kept_part(worker, at, &unit, task, block);
        cpu_attend_block(worker, &unit, block, &part);
    }
    if (atomic_fetch_sub_explicit(&left[task], 1, memory_order_acq_rel) == 1) {
        merge_kept(worker, at, &unit, task, from, to);
    }
}

/* How the phase is cut. A matter of the step alone, so that all workers decide alike. */
static cutting decide(const cpu_worker *worker, const cpu_attention *a) {
    const cpu_run *run = worker->run;
    uint32_t wanted = TASKS * worker->plan->backend->workers;
    cutting at = {.a = a,
                  .tasks = run->tile_count * a->kv_heads,
                  .blocks = (run->context + a->block - 1) / a->block,
                  .floats = cpu_part_floats((uint64_t)run->tile_most * a->share, a->value_pad),
                  .ranges = 1};
    at.stored = !(run->whole && (at.tasks >= wanted || run->context <= SHORT_CONTEXT));
    if (!at.stored || at.tasks >= wanted) { return at; }
    if (cpu_mul(cpu_mul(at.tasks, at.blocks), at.floats) > worker->plan->partial_floats) { return at; }
    at.ranges = (wanted + at.tasks - 1) / at.tasks;
    if (at.ranges > at.blocks) { at.ranges = at.blocks; }
    return at;
}

/* Stores everything, and lets all ranges be counted. */
static void store_all(const cpu_worker *worker, const cutting *at) {
    _Atomic uint32_t *left = (_Atomic uint32_t *)(worker->plan->arena + worker->plan->left);
    uint64_t from, to;
    cpu_share(worker, at->tasks, &from, &to);
    for (uint64_t task = from; task < to; task++) {
        cpu_unit unit = unit_of(worker, at->a, (uint32_t)task);
        store_rows(worker, &unit);
        if (at->ranges > 1) { atomic_store_explicit(&left[task], at->ranges, memory_order_relaxed); }
    }
    cpu_barrier(worker);
}

void cpu_run_attend(cpu_worker *worker, const cpu_phase *phase) {
    cutting at = decide(worker, &worker->plan->attentions[phase->attention]);
    if (!at.stored) { /* a fixed share: keys stay in the cache of one worker from step to step */
        for (uint32_t task = worker->id; task < at.tasks; task += worker->plan->backend->workers) {
            run_task(worker, &at, task);
        }
        return;
    }
    store_all(worker, &at);
    _Atomic uint32_t *counter = &worker->run->counters[worker->phase];
    uint32_t all = at.tasks * at.ranges, mine = atomic_fetch_add_explicit(counter, 1, memory_order_relaxed);
    for (; mine < all; mine = atomic_fetch_add_explicit(counter, 1, memory_order_relaxed)) {
        if (at.ranges == 1) {
            run_task(worker, &at, mine);
        } else {
            run_range(worker, &at, mine / at.ranges, mine % at.ranges);
        }
    }
}
