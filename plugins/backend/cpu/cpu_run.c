/*
 * cpu_run.c - one step: checked, cut into tiles, then all workers through all phases.
 */
#include "cpu.h"

#include <string.h>

void cpu_share(const cpu_worker *worker, uint64_t count, uint64_t *from, uint64_t *to) {
    uint64_t workers = worker->plan->backend->workers, each = count / workers, more = count % workers;
    *from = each * worker->id + (worker->id < more ? worker->id : more);
    *to = *from + each + (worker->id < more);
}

float *cpu_value_row(const cpu_worker *worker, uint32_t value, uint32_t domain, uint64_t row) {
    const cpu_plan *plan = worker->plan;
    const cpu_value *v = &plan->values[value], *base = &plan->values[v->base];
    if (base->domain == TN_ROWS_T && domain == TN_ROWS_O) { row = worker->run->step->output_rows[row]; }
    if (base->place == CPU_OUTPUT) {
        float *out = worker->run->step->outputs[base->output];
        return out ? out + row * base->stride + v->column : NULL;
    }
    return (float *)(plan->arena + base->offset) + row * base->stride + v->column;
}

/* ---- the step is what it says ------------------------------------------------------------------------ */

static int32_t check_counts(const cpu_plan *plan, const tn_step *step, tn_error *err) {
    const tn_limits *most = &plan->limits;
    if (step->rows < 1 || step->rows > most->rows || step->output_count > most->output_rows ||
        step->sequence_count < 1 || step->sequence_count > most->sequences) {
        TN_FAIL(err, TN_E_RANGE, "a step of %u rows, %u outputs, %u sequences; the plan takes %u, %u, %u",
                step->rows, step->output_count, step->sequence_count, most->rows, most->output_rows,
                most->sequences);
    }
    for (uint32_t i = 0; i < step->output_count; i++) {
        if (step->output_rows[i] >= step->rows || (i && step->output_rows[i] <= step->output_rows[i - 1])) {
            TN_FAIL(err, TN_E_RANGE, "output %u is row %u of %u, expected rising rows", i,
                    step->output_rows[i], step->rows);
        }
    }
    return TN_OK;
}

/* Ids, positions and types lie in the table that an embedding looks them up in. */
static int32_t check_embed(const cpu_plan *plan, const tn_step *step, const tn_node *node, tn_error *err) {
    uint32_t by = ((const tn_embed *)node->attributes)->by;
    uint64_t rows = plan->graph->weights[node->weights[0] - 1]->rows;
    const int32_t *numbers = by == TN_EMBED_TOKEN      ? step->tokens
                             : by == TN_EMBED_POSITION ? step->position
                                                       : step->type;
    if (!numbers && by != TN_EMBED_TYPE) {
        TN_FAIL(err, TN_E_INPUT, "%s: the step has no numbers for it", node->name);
    }
    for (uint32_t r = 0; numbers && r < step->rows; r++) {
        if (numbers[r] == -1 && by == TN_EMBED_TOKEN && step->embedded) { continue; }
        if (numbers[r] >= 0 && (uint64_t)numbers[r] < rows) { continue; }
        TN_FAIL(err, TN_E_INPUT, "%s: row %u asks for number %d of %llu", node->name, r, numbers[r],
                (unsigned long long)rows);
    }
    return TN_OK;
}

static int32_t check_inputs(const cpu_plan *plan, const tn_step *step, tn_error *err) {
    if (plan->table_count && !step->position) {
        TN_FAIL(err, TN_E_INPUT, "the step has no positions for rope");
    }
    for (uint32_t i = 0; i < plan->op_count; i++) {
        const tn_node *node = plan->ops[i].node;
        if (node->op == TN_OP_embed) { TN_TRY(check_embed(plan, step, node, err)); }
        if (node->op != TN_OP_input) { continue; }
        if (!step->ports || !step->ports[((const tn_input *)node->attributes)->port]) {
            TN_FAIL(err, TN_E_INPUT, "%s: the step has no rows for it", node->name);
        }
    }
    return TN_OK;
}

/* Pages that the step writes to exist; what is only read was written once. */
static int32_t check_pages(const cpu_plan *plan, const cpu_cache *cache, const tn_sequence *sequence,
                           uint32_t number, tn_error *err) {
    uint64_t total = (uint64_t)sequence->held + sequence->count;
    for (uint32_t g = 0; g < cache->group_count; g++) {
        const cpu_cache_group *group = &cache->groups[g];
        uint64_t blocks = (total + group->page_tokens - 1) / group->page_tokens;
        if (g >= sequence->group_count || blocks > plan->limits.pages_per_sequence) {
            TN_FAIL(err, TN_E_RANGE, "sequence %u has %llu tokens in %u groups, more than the plan takes",
                    number, (unsigned long long)total, sequence->group_count);
        }
        for (uint64_t b = sequence->held / group->page_tokens; b < blocks; b++) {
            if (sequence->pages[g][b] < cpu_cache_pages(group)) { continue; }
            TN_FAIL(err, TN_E_RANGE, "sequence %u wants page %u of group %u, which has %llu", number,
                    sequence->pages[g][b], g, (unsigned long long)cpu_cache_pages(group));
        }
    }
    return TN_OK;
}

static int32_t check_sequences(const cpu_plan *plan, const cpu_cache *cache, const tn_step *step,
                               tn_error *err) {
    for (uint32_t i = 0; i < plan->attention_count; i++) {
        const cpu_attention *a = &plan->attentions[i];
        if (a->cached && (!cache || a->group >= cache->group_count)) {
            TN_FAIL(err, TN_E_INPUT, "%s: the cache has no group %u", a->node->name, a->group);
        }
        for (uint32_t s = 0; !a->cached && s < step->sequence_count; s++) {
            if (!step->sequences[s]->held) { continue; }
            TN_FAIL(err, TN_E_INPUT, "%s: sequence %u does not lie whole in the step", a->node->name, s);
        }
    }
    for (uint32_t s = 0; cache && s < step->sequence_count; s++) {
        TN_TRY(check_pages(plan, cache, step->sequences[s], s, err));
    }
    return TN_OK;
}

/* Rows of a sequence lie together, in the order of their index, and begin where the cache ends. */
static int32_t check_rows(const tn_step *step, tn_error *err) {
    uint64_t rows = 0;
    for (uint32_t s = 0; s < step->sequence_count; s++) { rows += step->sequences[s]->count; }
    for (uint32_t r = 0, at = 0; r < step->rows; r++, at++) {
        if (r && step->sequence[r] != step->sequence[r - 1]) { at = 0; }
        uint32_t number = step->sequence[r];
        if (number >= step->sequence_count || at >= step->sequences[number]->count ||
            step->index[r] != step->sequences[number]->held + at) {
            TN_FAIL(err, TN_E_INPUT, "row %u is number %u of sequence %u, which is not the next one", r,
                    step->index[r], number);
        }
    }
    if (rows != step->rows) {
        TN_FAIL(err, TN_E_INPUT, "%llu tokens of sequences in %u rows", (unsigned long long)rows, step->rows);
    }
    return TN_OK;
}

/* ---- cut into tiles --------------------------------------------------------------------------------- */

/* Rows of a tile: as many as fit, fewer if there would be too few tasks for all workers. */
static uint32_t choose_tile(const cpu_plan *plan, const tn_step *step) {
    uint32_t rows = plan->tile_rows, wanted = 4 * plan->backend->workers;
    if (!plan->attention_count) { return step->rows; }
    while (rows > 8 && (uint64_t)(step->rows / rows) * plan->kv_heads_least < wanted) {
        rows = (rows + 1) / 2;
    }
    return rows;
}

static void make_tiles(cpu_run *run) {
    const cpu_plan *plan = run->plan;
    const tn_step *step = run->step;
    cpu_tile *tiles = (cpu_tile *)(plan->arena + plan->tiles);
    uint32_t most = choose_tile(plan, step), count = 0;
    for (uint32_t r = 0; r < step->rows; r++) {
        cpu_tile *last = &tiles[count - (count > 0)];
        if (count && last->sequence == step->sequence[r] && last->rows < most) {
            last->rows++;
        } else {
            tiles[count++] = (cpu_tile){step->sequence[r], r, 1};
        }
    }
    run->tiles = tiles;
    run->tile_count = count;
    run->tile_most = most < step->rows ? most : step->rows;
    run->whole = count == step->sequence_count;
    for (uint32_t s = 0; s < step->sequence_count; s++) {
        uint32_t total = step->sequences[s]->held + step->sequences[s]->count;
        if (total > run->context) { run->context = total; }
    }
}

/* Rows that the step gives as numbers are counted by their tokens of -1. */
static void number_embedded(cpu_run *run) {
    uint32_t *numbers = (uint32_t *)(run->plan->arena + run->plan->embedded), next = 0;
    for (uint32_t r = 0; run->step->embedded && r < run->step->rows; r++) {
        numbers[r] = next;
        next += run->step->tokens[r] < 0;
    }
    run->embedded = numbers;
}

/* ---- all workers ------------------------------------------------------------------------------------ */

static void deliver_value(const cpu_worker *worker, const tn_capture *capture) {
    const cpu_value *value = &worker->plan->values[capture->value - 1];
    for (uint64_t row = 0; row < worker->run->rows[value->domain]; row++) {
        const float *data = cpu_value_row(worker, capture->value - 1, value->domain, row);
        capture->take(capture->context, capture->value, (uint32_t)row, data, value->width);
    }
}

/* What went into the matrices of experts: x for each expert of a row, or what each has made of it. */
static void deliver_inputs(const cpu_worker *worker, const cpu_expert_input *in, const tn_capture *capture) {
    uint32_t domain = worker->plan->phases[in->phase].domain;
    uint32_t width = (uint32_t)worker->plan->graph->weights[capture->weight - 1]->cols;
    for (uint64_t row = 0; row < worker->run->rows[domain]; row++) {
        const float *route = cpu_value_row(worker, in->route, domain, row);
        const float *data = cpu_value_row(worker, in->value, domain, row);
        for (uint32_t u = 0; u < in->used; u++) {
            capture->take_input(capture->context, capture->weight, (uint32_t)route[u], (uint32_t)row,
                                in->parts > 1 ? data + (uint64_t)u * width : data, width);
        }
    }
}

/* Hands out what a phase has made and the host wants to see. Worker 0, while the others are in the next
 * phase: captured values outlive it. */
static void deliver(const cpu_worker *worker, uint32_t phase) {
    const cpu_plan *plan = worker->plan;
    for (uint32_t i = 0; i < worker->run->step->capture_count; i++) {
        const tn_capture *capture = worker->run->step->captures[i];
        if (capture->value) {
            uint32_t base = plan->values[capture->value - 1].base;
            if (plan->values[base].first == phase) { deliver_value(worker, capture); }
            continue;
        }
        for (uint32_t e = 0; e < plan->expert_input_count; e++) {
            const cpu_expert_input *in = &plan->expert_inputs[e];
            if (in->phase == phase && capture->weight &&
                (capture->weight == in->weights[0] || capture->weight == in->weights[1])) {
                deliver_inputs(worker, in, capture);
            }
        }
    }
}

static void run_phase(cpu_worker *worker, const cpu_phase *phase) {
    switch (phase->kind) {
    case CPU_PHASE_TABLES: cpu_run_tables(worker); break;
    case CPU_PHASE_ROWS: cpu_run_rows(worker, phase); break;
    case CPU_PHASE_LINEAR: cpu_run_linear(worker, phase); break;
    case CPU_PHASE_ATTEND: cpu_run_attend(worker, phase); break;
    case CPU_PHASE_POOL: cpu_run_pool(worker, phase); break;
    }
}

static void work(void *arg, uint32_t id, tn_gang *gang) {
    cpu_run *run = arg;
    const cpu_plan *plan = run->plan;
    cpu_worker worker = {run, plan, gang, id, 0, plan->arena + plan->workers + id * plan->scratch.size};
    uint32_t before = CPU_NONE, turn = 0;
    for (uint32_t i = 0; i < plan->phase_count; i++) {
        const cpu_phase *phase = &plan->phases[i];
        if (!run->rows[phase->domain] || (phase->kind == CPU_PHASE_TABLES && !plan->table_count)) {
            continue;
        }
        worker.phase = i;
        if (id == 0) {
            const tn_step *step = run->step;
            if (before != CPU_NONE) { deliver(&worker, before); }
            run->stop[turn] = step->cancelled && step->cancelled(step->cancel_context);
        }
        run_phase(&worker, phase);
        cpu_barrier(&worker);
        if (run->stop[turn]) { return; }
        turn = !turn;
        before = i;
    }
    if (id == 0 && before != CPU_NONE) { deliver(&worker, before); }
}

static int32_t check_step(const cpu_plan *plan, const cpu_cache *cache, const tn_step *step, tn_error *err) {
    TN_TRY(check_counts(plan, step, err));
    TN_TRY(check_rows(step, err));
    TN_TRY(check_inputs(plan, step, err));
    return check_sequences(plan, cache, step, err);
}

int32_t cpu_run_step(void *self, void *plan, void *cache, const tn_step *step, tn_error *err) {
    const cpu_backend *backend = self;
    cpu_run run = {.plan = plan, .cache = cache, .step = step};
    TN_TRY(check_step(plan, cache, step, err));
    run.rows[TN_ROWS_T] = step->rows;
    run.rows[TN_ROWS_O] = step->output_count;
    run.rows[TN_ROWS_S] = step->sequence_count;
    run.counters = (_Atomic uint32_t *)(run.plan->arena + run.plan->counters);
    memset((void *)run.counters, 0, run.plan->phase_count * sizeof(uint32_t));
    make_tiles(&run);
    number_embedded(&run);
    backend->host->gang(backend->host, work, &run);
    if (run.stop[0] || run.stop[1]) { TN_FAIL(err, TN_E_CANCELLED, "the step was cancelled"); }
    return TN_OK;
}
