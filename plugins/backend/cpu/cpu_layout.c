/*
 * cpu_layout.c - where everything of a plan lies: sizes and offsets in its one arena, nothing allocated.
 *
 * Values that are there at the same time lie beside each other, others over each other: phases are gone
 * through in order, each value takes the lowest gap that is large enough when it is made and leaves it after
 * the last phase that reads it. A phase never writes where another worker may still read in the same phase,
 * for what it reads is given back after it only.
 */
#include "cpu.h"

#include <string.h>

enum { LINE = 64, PAGE = 4096, ROW_FLOATS = 16, BAD_STRIDE = 512 };

static uint64_t row_limit(const cpu_plan *plan, uint32_t domain) {
    return domain == TN_ROWS_T   ? plan->limits.rows
           : domain == TN_ROWS_O ? plan->limits.output_rows
                                 : plan->limits.sequences;
}

/* Whole cache lines a row, and not a large power of two from row to row. */
static uint64_t row_stride(uint32_t width) {
    uint64_t stride = cpu_round(width, ROW_FLOATS);
    return stride % BAD_STRIDE ? stride : stride + ROW_FLOATS;
}

static uint64_t value_bytes(const cpu_plan *plan, const cpu_value *value) {
    return cpu_round(cpu_mul(row_limit(plan, value->domain), value->stride * sizeof(float)), LINE);
}

static void set_place(cpu_value *value) {
    value->stride = row_stride(value->width);
    if (value->output != CPU_NONE) {
        value->place = CPU_OUTPUT;
        value->stride = value->width;
    } else if (value->by_row && !value->captured && value->last == value->first) {
        value->place = CPU_LOCAL;
    } else {
        value->place = CPU_SHARED;
    }
}

/* The lowest offset where `bytes` fit between the values in `live`, which are sorted by offset. */
static uint32_t find_gap(const cpu_plan *plan, const uint32_t *live, uint32_t count, uint64_t bytes,
                         uint64_t *offset) {
    uint32_t i = 0;
    *offset = 0;
    for (; i < count; i++) {
        const cpu_value *value = &plan->values[live[i]];
        if (value->offset - *offset >= bytes) { break; }
        *offset = value->offset + value_bytes(plan, value);
    }
    return i;
}

static void enter(cpu_plan *plan, uint32_t *live, uint32_t *count, uint32_t index, uint64_t *top) {
    cpu_value *value = &plan->values[index];
    uint64_t bytes = value_bytes(plan, value);
    uint32_t at = find_gap(plan, live, *count, bytes, &value->offset);
    memmove(live + at + 1, live + at, (*count - at) * sizeof *live);
    live[at] = index;
    ++*count;
    if (cpu_add(value->offset, bytes) > *top) { *top = cpu_add(value->offset, bytes); }
}

static void leave(const cpu_plan *plan, uint32_t *live, uint32_t *count, uint32_t phase) {
    uint32_t kept = 0;
    for (uint32_t i = 0; i < *count; i++) {
        if (plan->values[live[i]].last > phase) { live[kept++] = live[i]; }
    }
    *count = kept;
}

/* Shared values into the arena from 0 on. Returns the bytes that they take. */
static uint64_t place_values(cpu_plan *plan, uint32_t *live) {
    uint64_t top = 0;
    uint32_t count = 0;
    for (uint32_t phase = 0; phase < plan->phase_count; phase++) {
        for (uint32_t v = 0; v < plan->value_count; v++) {
            cpu_value *value = &plan->values[v];
            if (value->base != v || value->first != phase) { continue; }
            set_place(value);
            if (value->place == CPU_SHARED) { enter(plan, live, &count, v, &top); }
        }
        leave(plan, live, &count, phase);
    }
    return top;
}

/* Room for the activations of `rows` rows, from *at on. */
static void place_source(const cpu_phase *phase, const cpu_source *source, uint64_t rows, uint64_t *at,
                         uint64_t *offset, uint64_t *sorted_offset) {
    *offset = *at;
    *sorted_offset = cpu_add(*at, cpu_source_bytes(source, cpu_mul(rows, source->parts)));
    *at = cpu_add(*sorted_offset, source->chosen ? cpu_source_bytes(source, cpu_mul(rows, phase->used)) : 0);
}

/* Activations of linear phases: shared by all workers, and a small copy in each worker's memory. */
static void place_sources(cpu_plan *plan, uint64_t *shared, uint64_t *small) {
    for (uint32_t n = 0; n < plan->phase_count; n++) {
        cpu_phase *phase = &plan->phases[n];
        uint64_t at = 0, small_at = 0;
        for (uint32_t i = 0; i < phase->source_count; i++) {
            cpu_source *source = &phase->sources[i];
            place_source(phase, source, row_limit(plan, phase->domain), &at, &source->offset,
                         &source->sorted_offset);
            place_source(phase, source, phase->small_rows, &small_at, &source->small_offset,
                         &source->small_sorted_offset);
        }
        if (at > *shared) { *shared = at; }
        if (small_at > *small) { *small = small_at; }
    }
}

static uint64_t choices_bytes(const cpu_plan *plan) {
    uint64_t most = 0;
    for (uint32_t n = 0; n < plan->phase_count; n++) {
        const cpu_phase *phase = &plan->phases[n];
        if (phase->route == CPU_NONE) { continue; }
        uint64_t bytes = cpu_choices_bytes(phase, row_limit(plan, phase->domain));
        if (bytes > most) { most = bytes; }
    }
    return most;
}

static uint64_t gemm_bytes(const cpu_plan *plan) {
    uint64_t most = 0;
    for (uint32_t i = 0; i < plan->job_count; i++) {
        const cpu_job *job = &plan->jobs[i];
        for (uint32_t m = 0; m < job->member_count; m++) {
            uint64_t cols = job->members[m].weight->cols;
            uint64_t rows = cpu_token_block_most(cols, row_limit(plan, job->domain));
            uint64_t bytes =
                plan->backend->kernels->gemm_scratch(cols, rows * job->members[m].service.planes);
            uint64_t band =
                cpu_mul(ROW_FLOATS, cpu_round(cols, ROW_FLOATS) * sizeof(float)); /* decoded rows */
            if (bytes > most) { most = bytes; }
            if (band > most) { most = band; }
        }
    }
    return most;
}

/* What attention phases ask for at most. */
static void measure_attentions(cpu_plan *plan, uint64_t *keys, uint64_t *values) {
    uint32_t share = 1;
    plan->kv_heads_least = UINT32_MAX;
    for (uint32_t i = 0; i < plan->attention_count; i++) {
        const cpu_attention *a = &plan->attentions[i];
        uint64_t k = (uint64_t)a->block * cpu_round(a->key_pad, ROW_FLOATS);
        uint64_t v = (uint64_t)a->block * cpu_round(a->value_pad, ROW_FLOATS);
        if (k > *keys) { *keys = k; }
        if (v > *values) { *values = v; }
        if (a->share > share) { share = a->share; }
        if (a->block > plan->block_most) { plan->block_most = a->block; }
        if (a->key_pad > plan->key_pad_most) { plan->key_pad_most = a->key_pad; }
        if (a->value_pad > plan->value_pad_most) { plan->value_pad_most = a->value_pad; }
        if (a->heads > plan->heads_most) { plan->heads_most = a->heads; }
        if (a->kv_heads < plan->kv_heads_least) { plan->kv_heads_least = a->kv_heads; }
        if (a->cached) { continue; }
        uint64_t heads = (uint64_t)a->kv_heads * (a->key_dim + a->value_dim);
        uint64_t bytes = cpu_mul(cpu_mul(heads, plan->limits.rows), sizeof(float));
        if (bytes > plan->uncached_bytes) { plan->uncached_bytes = bytes; }
    }
    plan->tile_rows = CPU_TILE_ACTS / share ? CPU_TILE_ACTS / share : 1;
    plan->tile_acts = plan->tile_rows * share;
}

/* Hands out `bytes` from *at on. */
static uint64_t put(uint64_t *at, uint64_t bytes, uint64_t align) {
    uint64_t offset = cpu_round(*at, align);
    *at = cpu_add(offset, bytes);
    return offset;
}

/* One worker's memory: for linear and rowwise phases, and over the same bytes for attention. */
static void place_scratch(cpu_plan *plan, uint64_t sources, uint64_t keys, uint64_t values) {
    cpu_scratch *s = &plan->scratch;
    uint64_t at = 0, acts = plan->tile_acts;
    s->workspace = put(&at, cpu_mul(plan->workspace_floats, sizeof(float)), LINE);
    s->sources = put(&at, sources, LINE);
    s->choices = put(&at, choices_bytes(plan), LINE);
    s->blocks = put(&at, 2ull * CPU_BLOCK_CELLS * sizeof(float), LINE);
    s->planes = put(&at, 2ull * CPU_BLOCK_CELLS * sizeof(float), LINE);
    s->gemm = put(&at, gemm_bytes(plan), LINE);
    s->size = cpu_round(at, PAGE);
    if (!plan->attention_count) { return; }
    at = 0;
    uint64_t part = cpu_part_floats(acts, plan->value_pad_most) * sizeof(float);
    uint64_t key_pad = cpu_round(plan->key_pad_most, ROW_FLOATS);
    s->row = put(&at, cpu_mul(key_pad + plan->value_pad_most, sizeof(float)), LINE);
    s->queries = put(&at, cpu_mul(acts * key_pad, sizeof(float)), LINE);
    s->scores = put(&at, cpu_mul(acts * plan->block_most, sizeof(float)), LINE);
    s->partial = put(&at, part, LINE);
    s->state = put(&at, part, LINE);
    s->keys = put(&at, cpu_mul(keys, sizeof(float)), LINE);
    s->values = put(&at, cpu_mul(values, sizeof(float)), LINE);
    if (cpu_round(at, PAGE) > s->size) { s->size = cpu_round(at, PAGE); }
}

/* Kept parts of blocks, for one row with all its heads in the longest context: tasks are fewest then. */
static void count_partials(cpu_plan *plan) {
    for (uint32_t i = 0; i < plan->attention_count; i++) {
        const cpu_attention *a = &plan->attentions[i];
        uint64_t parts = cpu_mul(plan->limits.pages_per_sequence, a->kv_heads);
        uint64_t floats = cpu_mul(parts, cpu_part_floats(a->share, a->value_pad));
        if (a->cached && floats > plan->partial_floats) { plan->partial_floats = floats; }
    }
}

static void place_rest(cpu_plan *plan, uint64_t at, uint64_t shared) {
    uint64_t rows = plan->limits.rows;
    plan->shared_sources = put(&at, shared, PAGE);
    for (uint32_t i = 0; i < plan->table_count; i++) {
        uint64_t floats = cpu_mul(rows, plan->tables[i].rope->rotated);
        plan->tables[i].offset = put(&at, cpu_mul(floats, sizeof(float)), LINE);
    }
    plan->uncached = put(&at, plan->uncached_bytes, LINE);
    plan->partials = put(&at, cpu_mul(plan->partial_floats, sizeof(float)), LINE);
    plan->left = put(&at, cpu_mul(cpu_mul(rows, plan->heads_most), sizeof(uint32_t)), LINE);
    plan->tiles = put(&at, cpu_mul(rows, sizeof(cpu_tile)), LINE);
    plan->embedded = put(&at, cpu_mul(rows, sizeof(uint32_t)), LINE);
    plan->counters = put(&at, plan->phase_count * sizeof(uint32_t), LINE);
    plan->workers = put(&at, cpu_mul(plan->backend->workers, plan->scratch.size), PAGE);
    plan->arena_size = at;
}

int32_t cpu_plan_layout(cpu_plan *plan, tn_error *err) {
    const tn_host *host = plan->backend->host;
    uint64_t shared = 0, small = 0, keys = 0, values = 0;
    uint32_t *live = host->alloc(host, ((uint64_t)plan->value_count + 1) * sizeof *live, LINE);
    if (!live) { TN_FAIL(err, TN_E_MEMORY, "no memory for the layout of a plan"); }
    uint64_t top = place_values(plan, live);
    host->free(host, live);
    place_sources(plan, &shared, &small);
    measure_attentions(plan, &keys, &values);
    place_scratch(plan, small, keys, values);
    count_partials(plan);
    place_rest(plan, top, shared);
    if (plan->arena_size > SIZE_MAX / 2) {
        TN_FAIL(err, TN_E_MEMORY, "a plan for %u rows would take more memory than there can be",
                plan->limits.rows);
    }
    return TN_OK;
}
