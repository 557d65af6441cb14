/*
 * cpu_linear.c - phases of matrix products, cut by weight rows.
 *
 * Few rows: each worker's part of the weights is fixed, so that they stay in its cache from step to step. Many
 * rows: pieces of the weights by a counter. A plain weight meets all rows of the step, that of experts has a
 * matrix for each group of rows that chose the same. Either way a result is the sum of the same numbers in
 * the same order.
 */
#include "cpu.h"

#include <string.h>

enum {
    SLICE = 16,        /* weight rows of a slice are a multiple of it */
    GEMV_BLOCK = 8,    /* activation rows */
    TOKENS_LEAST = 48, /* of a panel; a multiple of what kernels like: 6, 8, 16 */
    TOKENS_MOST = 240,
    TOKEN_BYTES = 1 << 19, /* of the activations of a panel: they stay in the second cache */
    READ_WORK = 8,         /* what reading a weight row costs, in activation rows */
    CHUNKS = 4,            /* pieces of the work a worker, */
    CHUNK_LEAST = 64,      /* weight rows of a piece */
    CHUNK_MOST = 512
};

/* ---- products --------------------------------------------------------------------------------------- */

/* A piece of a job: rows of one matrix and activation rows, and where results go. */
typedef struct block {
    uint64_t matrix, row_from, row_to, act_from, act_rows;
    bool panel; /* enough activation rows, in all blocks together, for the product through panels */
    float *out; /* of act_from and row_from */
    uint64_t stride;
} block;

static const unsigned char *weight_row(const tn_weight *w, uint64_t matrix, uint64_t row) {
    return (const unsigned char *)w->data + (matrix * w->rows + row) * w->row_bytes;
}

static void multiply_gemv(const cpu_member *member, const tn_act *act, const block *b) {
    const tn_weight *w = member->weight;
    tn_gemv call = {.struct_size = sizeof call,
                    .blocks = weight_row(w, b->matrix, b->row_from),
                    .row_stride = w->row_bytes,
                    .rows = b->row_to - b->row_from,
                    .cols = w->cols,
                    .act = act,
                    .out_stride = b->stride};
    uint64_t most = member->service.gemv->max_rows;
    for (uint64_t a = 0; a < b->act_rows; a += most) {
        call.act_from = (uint32_t)(b->act_from + a);
        call.act_rows = (uint32_t)(b->act_rows - a < most ? b->act_rows - a : most);
        call.out = b->out + a * b->stride;
        member->service.gemv->gemv(&call);
    }
}

static void multiply_gemm(const cpu_worker *worker, const cpu_member *member, const tn_act *act,
                          const block *b) {
    const tn_weight *w = member->weight;
    worker->plan->backend->kernels->gemm(
        &(cpu_gemm){.unpack = member->service.unpack,
                    .blocks = weight_row(w, b->matrix, 0),
                    .row_stride = w->row_bytes,
                    .row_from = b->row_from,
                    .row_to = b->row_to,
                    .cols = w->cols,
                    .has_minimum = member->service.has_minimum,
                    .block = w->format->block,
                    .act = act,
                    .act_from = b->act_from,
                    .act_rows = b->act_rows,
                    .out = b->out,
                    .out_stride = b->stride,
                    .scratch = worker->scratch + worker->plan->scratch.gemm});
}

/* Formats without kernels: rows decoded, a few at a time, and multiplied by the float rule. */
static void multiply_decoded(const cpu_worker *worker, const cpu_member *member, const tn_act *act,
                             const block *b) {
    const tn_weight *w = member->weight;
    float *band = (float *)(worker->scratch + worker->plan->scratch.gemm);
    uint64_t stride = cpu_round(w->cols, SLICE);
    const float *x = (const float *)((const unsigned char *)act->data + b->act_from * act->stride);
    for (uint64_t r = b->row_from; r < b->row_to; r += SLICE) {
        uint64_t rows = b->row_to - r < SLICE ? b->row_to - r : SLICE;
        for (uint64_t i = 0; i < rows; i++) {
            w->format->decode(w->format_self, weight_row(w, b->matrix, r + i), w->cols, band + i * stride);
        }
        worker->plan->backend->kernels->dot(band, stride, rows, w->cols, x, act->stride / sizeof(float),
                                            b->act_rows, b->out + (r - b->row_from), b->stride);
    }
}

static void multiply_rows(const cpu_worker *worker, const cpu_member *member, const tn_act *act,
                          const block *b) {
    const cpu_service *service = &member->service;
    if (service->unpack && (!service->gemv || b->panel)) {
        multiply_gemm(worker, member, act, b);
    } else if (service->gemv) {
        multiply_gemv(member, act, b);
    } else {
        multiply_decoded(worker, member, act, b);
    }
}

/* Both planes as rows of their own, then their sum. */
static void multiply_planes(const cpu_worker *worker, const cpu_member *member, const tn_act *act,
                            const block *b) {
    uint64_t rows = b->row_to - b->row_from;
    block both = {.matrix = b->matrix,
                  .row_from = b->row_from,
                  .row_to = b->row_to,
                  .panel = b->panel,
                  .act_from = 2 * b->act_from,
                  .act_rows = 2 * b->act_rows,
                  .out = (float *)(worker->scratch + worker->plan->scratch.planes),
                  .stride = cpu_round(rows, SLICE)};
    multiply_rows(worker, member, act, &both);
    for (uint64_t a = 0; a < b->act_rows; a++) {
        const float *high = both.out + 2 * a * both.stride;
        worker->plan->backend->kernels->add(high, high + both.stride, rows, b->out + a * b->stride);
    }
}

/* One member: product, companion scale, bias. */
static void multiply(const cpu_worker *worker, const cpu_member *member, const tn_act *act, const block *b) {
    const cpu_kernels *kernels = worker->plan->backend->kernels;
    const tn_weight *w = member->weight;
    const float *scale = w->scales ? w->scales + (w->scale_count > 1 ? b->matrix : 0) : NULL;
    const float *bias = member->bias.data ? member->bias.data + b->matrix * w->rows + b->row_from : NULL;
    uint64_t rows = b->row_to - b->row_from;
    if (member->service.planes == 2) {
        multiply_planes(worker, member, act, b);
    } else {
        multiply_rows(worker, member, act, b);
    }
    for (uint64_t a = 0; a < b->act_rows; a++) {
        float *out = b->out + a * b->stride;
        if (scale) { kernels->scale(out, *scale, rows, out); }
        if (bias) { kernels->add(out, bias, rows, out); }
    }
}

/* A job at work: which rows meet which matrix, and where their results belong. */
typedef struct task {
    const cpu_worker *worker;
    const cpu_job *job;
    const tn_act *acts;
    const cpu_group *groups;
    uint32_t group_count;
    const uint32_t *pairs; /* of the activation rows of a chosen job, else NULL */
    uint32_t used;
} task;

static task task_of(const cpu_worker *worker, const cpu_job *job, const cpu_inputs *in) {
    if (!job->chosen) { return (task){worker, job, in->acts, &in->whole, 1, NULL, 1}; }
    const cpu_choices *choices = &in->choices;
    return (task){worker,         job,          in->acts, choices->groups, choices->group_count,
                  choices->pairs, choices->used};
}

/* What of a value belongs to activation row `act`, from weight row 0 on. */
static float *numbers_of(const task *t, uint32_t value, uint64_t act) {
    if (!t->pairs) { return cpu_value_row(t->worker, value, t->job->domain, act); }
    uint32_t row = t->pairs[act] / t->used, place = t->pairs[act] % t->used;
    return cpu_value_row(t->worker, value, t->job->domain, row) + place * t->job->members[0].weight->rows;
}

/* Where its results go. */
static float *result_of(const task *t, uint64_t act) {
    return numbers_of(t, t->job->result, act);
}

/* The elementwise ops behind a product, row by row; the last one writes the result. Without any the results
 * are brought to their places. */
static void run_links(const task *t, const block *first, const float *second) {
    const cpu_job *job = t->job;
    uint64_t n = first->row_to - first->row_from;
    for (uint64_t a = 0; a < first->act_rows; a++) {
        float *x = first->out + a * first->stride;
        float *to = result_of(t, first->act_from + a) + first->row_from;
        if (!job->link_count) { memcpy(to, x, n * sizeof *to); }
        for (uint32_t i = 0; i < job->link_count; i++) {
            const cpu_link *link = &job->links[i];
            const float *other = second ? second + a * first->stride : NULL;
            if (link->other != CPU_NONE) {
                other = numbers_of(t, link->other, first->act_from + a) + first->row_from;
            }
            cpu_elementwise(t->worker->plan->backend->kernels, link->node, x, other, n,
                            i + 1 == job->link_count ? to : x);
        }
    }
}

/* Results are written to their places at once where nothing follows and they lie like the activations. */
static bool goes_straight(const task *t, uint64_t act_rows) {
    return !t->job->link_count && (!t->pairs || act_rows == 1);
}

static void run_block(const task *t, block b) {
    const cpu_job *job = t->job;
    if (goes_straight(t, b.act_rows)) {
        b.out = result_of(t, b.act_from) + b.row_from;
        b.stride = t->worker->plan->values[job->result].stride;
        multiply(t->worker, &job->members[0], &t->acts[job->members[0].act], &b);
        return;
    }
    float *blocks = (float *)(t->worker->scratch + t->worker->plan->scratch.blocks);
    for (uint32_t m = job->member_count; m-- > 0;) {
        b.out = blocks + (uint64_t)m * CPU_BLOCK_CELLS;
        b.stride = cpu_round(b.row_to - b.row_from, SLICE);
        multiply(t->worker, &job->members[m], &t->acts[job->members[m].act], &b);
    }
    run_links(t, &b, job->member_count > 1 ? blocks + CPU_BLOCK_CELLS : NULL);
}

uint64_t cpu_token_block_most(uint64_t cols, uint64_t rows) {
    uint64_t most = TOKEN_BYTES / cols / TOKENS_LEAST * TOKENS_LEAST;
    if (most < TOKENS_LEAST) { most = TOKENS_LEAST; }
    if (most > TOKENS_MOST) { most = TOKENS_MOST; }
    return rows < most ? rows : most;
}

uint64_t cpu_token_block(uint64_t cols, uint64_t rows) {
    uint64_t most = cpu_token_block_most(cols, rows);
    uint64_t blocks = (rows + most - 1) / most;
    return blocks == 1 ? rows : cpu_round((rows + blocks - 1) / blocks, TOKENS_LEAST);
}

/* Rows from .. to - 1 of the matrix of a group, for all its activation rows. */
static void run_slice(const task *t, const cpu_group *group, uint64_t from, uint64_t to) {
    const cpu_member *member = &t->job->members[0];
    const cpu_service *service = &member->service;
    uint64_t count = group->count, tokens = cpu_token_block(member->weight->cols, count);
    bool panel = count * service->planes >= t->worker->plan->backend->kernels->gemm_from;
    bool waits = service->planes == 2 || !goes_straight(t, count); /* results go to scratch first */
    if (!(panel && service->unpack) && service->gemv && tokens > GEMV_BLOCK) { tokens = GEMV_BLOCK; }
    uint64_t rows = waits ? CPU_BLOCK_CELLS / tokens / SLICE * SLICE : to - from;
    if (!cpu_value_row(t->worker, t->job->result, t->job->domain, 0)) { return; }
    for (uint64_t r = from; r < to; r += rows) {
        for (uint64_t a = 0; a < count; a += tokens) {
            run_block(t, (block){.matrix = group->matrix,
                                 .row_from = r,
                                 .row_to = r + rows < to ? r + rows : to,
                                 .act_from = group->from + a,
                                 .act_rows = tokens < count - a ? tokens : count - a,
                                 .panel = panel});
        }
    }
}

/* ---- who does what ---------------------------------------------------------------------------------- */

static uint64_t row_bytes(const cpu_job *job) {
    return job->members[0].weight->row_bytes +
           (job->member_count > 1 ? job->members[1].weight->row_bytes : 0);
}

/* The weight row of a job that the byte `at` of its weights falls to. */
static uint64_t cut(const cpu_job *job, uint64_t at) {
    uint64_t row = cpu_round(at / row_bytes(job), SLICE), rows = job->members[0].weight->rows;
    return row < rows ? row : rows;
}

/* What a phase has to do in all: the bytes of its weights, and their rows times what one costs. */
typedef struct extent {
    uint64_t bytes, work;
} extent;

/* A weight row's products with so many activation rows, in those: it must be read and unpacked as well. */
static uint64_t row_work(const cpu_group *group) {
    return group->count + READ_WORK;
}

static extent measure(const cpu_worker *worker, const cpu_phase *phase, const cpu_inputs *in) {
    extent all = {0, 0};
    for (uint32_t j = phase->first_job; j != CPU_NONE; j = worker->plan->jobs[j].next) {
        const cpu_job *job = &worker->plan->jobs[j];
        task t = task_of(worker, job, in);
        for (uint32_t g = 0; g < t.group_count; g++) {
            all.bytes += job->members[0].weight->rows * row_bytes(job);
            all.work += job->members[0].weight->rows * row_work(&t.groups[g]);
        }
    }
    return all;
}

/* What of a matrix lies in bytes from .. to - 1, counted from its first. */
static void run_bytes(const task *t, const cpu_group *group, uint64_t from, uint64_t to) {
    uint64_t rows = t->job->members[0].weight->rows, bytes = rows * row_bytes(t->job);
    uint64_t row_from = cut(t->job, from), row_to = to >= bytes ? rows : cut(t->job, to);
    if (row_from < row_to) { run_slice(t, group, row_from, row_to); }
}

/* A fixed part of the phase's weights, by bytes. */
static void run_part(const cpu_worker *worker, const cpu_phase *phase, const cpu_inputs *in) {
    uint64_t workers = worker->plan->backend->workers, all = measure(worker, phase, in).bytes, start = 0;
    uint64_t from = all / workers * worker->id;
    uint64_t to = worker->id + 1 == workers ? all : all / workers * (worker->id + 1);
    for (uint32_t j = phase->first_job; j != CPU_NONE; j = worker->plan->jobs[j].next) {
        const cpu_job *job = &worker->plan->jobs[j];
        task t = task_of(worker, job, in);
        for (uint32_t g = 0; g < t.group_count; g++) {
            run_bytes(&t, &t.groups[g], from > start ? from - start : 0, to > start ? to - start : 0);
            start += job->members[0].weight->rows * row_bytes(job);
        }
    }
}

/* Weight rows of a chunk of about this much work. */
static uint64_t chunk_rows(const cpu_worker *worker, const cpu_group *group, uint64_t work) {
    uint64_t rows = work / row_work(group);
    if (rows < CHUNK_LEAST) { rows = CHUNK_LEAST; }
    if (rows > CHUNK_MOST) { rows = CHUNK_MOST; }
    return cpu_round(rows, worker->plan->backend->kernels->gemm_rows);
}

/* Chunks as long as there are any. */
static void run_chunks(const cpu_worker *worker, const cpu_phase *phase, const cpu_inputs *in) {
    _Atomic uint32_t *counter = &worker->run->counters[worker->phase];
    uint64_t work = measure(worker, phase, in).work / ((uint64_t)CHUNKS * worker->plan->backend->workers);
    uint64_t mine = atomic_fetch_add_explicit(counter, 1, memory_order_relaxed), start = 0;
    for (uint32_t j = phase->first_job; j != CPU_NONE; j = worker->plan->jobs[j].next) {
        task t = task_of(worker, &worker->plan->jobs[j], in);
        uint64_t all = t.job->members[0].weight->rows;
        for (uint32_t g = 0; g < t.group_count; g++) {
            uint64_t rows = chunk_rows(worker, &t.groups[g], work), chunks = (all + rows - 1) / rows;
            for (; mine < start + chunks;
                 mine = atomic_fetch_add_explicit(counter, 1, memory_order_relaxed)) {
                uint64_t from = (mine - start) * rows;
                run_slice(&t, &t.groups[g], from, from + rows < all ? from + rows : all);
            }
            start += chunks;
        }
    }
}

void cpu_run_linear(cpu_worker *worker, const cpu_phase *phase) {
    cpu_inputs in;
    cpu_prepare(worker, phase, &in);
    if (worker->run->rows[phase->domain] < worker->plan->backend->kernels->gemm_from) {
        run_part(worker, phase, &in);
    } else {
        run_chunks(worker, phase, &in);
    }
}
