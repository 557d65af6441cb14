/*
 * cpu_linear.c - phases of matrix products: prologue, activations, products cut by weight rows.
 *
 * Few rows: each worker runs the prologue and makes the activations for itself, all rows of them, which is
 * cheaper than a barrier; its part of the weights is fixed, so that they stay in its cache from step to step.
 * Many rows: prologue by rows, a barrier, then pieces of the weights by a counter. Either way a result is the
 * sum of the same numbers in the same order.
 */
#include "cpu.h"

#include <string.h>

enum {
    ALIGN = 64,
    SLICE = 16,        /* weight rows of a slice are a multiple of it */
    GEMV_BLOCK = 8,    /* activation rows */
    TOKENS_LEAST = 48, /* of a panel; a multiple of what kernels like: 6, 8, 16 */
    TOKENS_MOST = 240,
    TOKEN_BYTES = 1 << 19, /* of the activations of a panel: they stay in the second cache */
    CHUNKS = 4,            /* pieces of the weights a worker, */
    CHUNK_LEAST = 64,      /* weight rows of a piece */
    CHUNK_MOST = 512
};

/* ---- activations ------------------------------------------------------------------------------------ */

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

void cpu_source_act(const cpu_source *source, uint64_t count, unsigned char *at, tn_act *act) {
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

/* Row `row` of the activations, or rows 2 row and 2 row + 1, its planes; the memory is this backend's own. */
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

/* Runs the prologue for rows from .. to - 1 and makes their activations. */
static void prepare(const cpu_worker *worker, const cpu_phase *phase, const tn_act *acts, uint64_t from,
                    uint64_t to, bool share) {
    for (uint64_t row = from; row < to; row++) {
        cpu_run_ops(worker, phase, row, share);
        for (uint32_t i = 0; i < phase->source_count; i++) {
            fill_act(worker->plan->backend->kernels, &phase->sources[i], &acts[i], row,
                     cpu_operand(worker, phase, phase->sources[i].value, row));
        }
    }
}

static void prepare_all(const cpu_worker *worker, const cpu_phase *phase, uint64_t rows, tn_act *acts) {
    bool small = rows <= phase->small_rows;
    uint64_t from = 0, to = rows;
    for (uint32_t i = 0; i < phase->source_count; i++) {
        const cpu_source *source = &phase->sources[i];
        unsigned char *mine = worker->scratch + worker->plan->scratch.sources + source->small_offset;
        unsigned char *shared = worker->plan->arena + worker->plan->shared_sources + source->offset;
        cpu_source_act(source, rows, small ? mine : shared, &acts[i]);
    }
    if (!small) { cpu_share(worker, rows, &from, &to); }
    prepare(worker, phase, acts, from, to, !small || worker->id == 0);
    if (!small) { cpu_barrier(worker); }
}

/* ---- products --------------------------------------------------------------------------------------- */

/* A piece of a job: weight rows and activation rows, and where results go. */
typedef struct block {
    uint64_t row_from, row_to, act_from, act_rows;
    float *out; /* of act_from and row_from */
    uint64_t stride;
} block;

static const unsigned char *weight_row(const tn_weight *w, uint64_t row) {
    return (const unsigned char *)w->data + row * w->row_bytes;
}

static void multiply_gemv(const cpu_member *member, const tn_act *act, const block *b) {
    const tn_weight *w = member->weight;
    tn_gemv call = {.struct_size = sizeof call,
                    .blocks = weight_row(w, b->row_from),
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
                    .blocks = w->data,
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
            w->format->decode(w->format_self, weight_row(w, r + i), w->cols, band + i * stride);
        }
        worker->plan->backend->kernels->dot(band, stride, rows, w->cols, x, act->stride / sizeof(float),
                                            b->act_rows, b->out + (r - b->row_from), b->stride);
    }
}

static void multiply_rows(const cpu_worker *worker, const cpu_member *member, const tn_act *act,
                          const block *b) {
    const cpu_kernels *kernels = worker->plan->backend->kernels;
    const cpu_service *service = &member->service;
    if (service->unpack && (!service->gemv || act->rows >= kernels->gemm_from)) {
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
    block both = {.row_from = b->row_from,
                  .row_to = b->row_to,
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
    uint64_t rows = b->row_to - b->row_from;
    if (member->service.planes == 2) {
        multiply_planes(worker, member, act, b);
    } else {
        multiply_rows(worker, member, act, b);
    }
    for (uint64_t a = 0; a < b->act_rows; a++) {
        float *out = b->out + a * b->stride;
        if (member->weight->scales) { kernels->scale(out, member->weight->scales[0], rows, out); }
        if (member->bias.data) { kernels->add(out, member->bias.data + b->row_from, rows, out); }
    }
}

/* The elementwise ops behind a product, row by row; the last one writes the result. */
static void run_links(const cpu_worker *worker, const cpu_job *job, const block *first, const float *second) {
    const cpu_kernels *kernels = worker->plan->backend->kernels;
    uint64_t n = first->row_to - first->row_from;
    for (uint64_t a = 0; a < first->act_rows; a++) {
        uint64_t row = first->act_from + a;
        float *x = first->out + a * first->stride;
        for (uint32_t i = 0; i < job->link_count; i++) {
            const cpu_link *link = &job->links[i];
            const float *other = second + a * first->stride;
            if (link->other != CPU_NONE) {
                other = cpu_value_row(worker, link->other, job->domain, row) + first->row_from;
            }
            float *out = x;
            if (i + 1 == job->link_count) {
                out = cpu_value_row(worker, job->result, job->domain, row) + first->row_from;
            }
            cpu_elementwise(kernels, link->node, x, other, n, out);
        }
    }
}

static void run_block(const cpu_worker *worker, const cpu_job *job, const tn_act *acts, block b) {
    if (!job->link_count) {
        b.out = cpu_value_row(worker, job->result, job->domain, b.act_from) + b.row_from;
        b.stride = worker->plan->values[job->result].stride;
        multiply(worker, &job->members[0], &acts[job->members[0].act], &b);
        return;
    }
    float *blocks = (float *)(worker->scratch + worker->plan->scratch.blocks);
    for (uint32_t m = job->member_count; m-- > 0;) {
        b.out = blocks + (uint64_t)m * CPU_BLOCK_CELLS;
        b.stride = cpu_round(b.row_to - b.row_from, SLICE);
        multiply(worker, &job->members[m], &acts[job->members[m].act], &b);
    }
    run_links(worker, job, &b, blocks + CPU_BLOCK_CELLS);
}

uint64_t cpu_token_block(uint64_t cols, uint64_t rows) {
    uint64_t most = TOKEN_BYTES / cols / TOKENS_LEAST * TOKENS_LEAST;
    if (most < TOKENS_LEAST) { most = TOKENS_LEAST; }
    if (most > TOKENS_MOST) { most = TOKENS_MOST; }
    if (rows <= most) { return rows; }
    uint64_t blocks = (rows + most - 1) / most;
    return cpu_round((rows + blocks - 1) / blocks, TOKENS_LEAST);
}

/* Weight rows from .. to - 1 of a job, for all activation rows. */
static void run_slice(const cpu_worker *worker, const cpu_job *job, const tn_act *acts, uint64_t from,
                      uint64_t to) {
    const cpu_member *member = &job->members[0];
    const tn_act *act = &acts[member->act];
    bool panel = member->service.unpack && act->rows >= worker->plan->backend->kernels->gemm_from;
    bool waits = job->link_count || member->service.planes == 2; /* results go to scratch first */
    uint64_t count = act->rows / member->service.planes;
    uint64_t tokens = cpu_token_block(act->cols, count);
    if (!panel && member->service.gemv && tokens > GEMV_BLOCK) { tokens = GEMV_BLOCK; }
    uint64_t rows = waits ? CPU_BLOCK_CELLS / tokens / SLICE * SLICE : to - from;
    if (!cpu_value_row(worker, job->result, job->domain, 0)) { return; }
    for (uint64_t r = from; r < to; r += rows) {
        for (uint64_t a = 0; a < count; a += tokens) {
            block b = {
                .row_from = r, .row_to = r + rows < to ? r + rows : to, .act_from = a, .act_rows = tokens};
            if (b.act_rows > count - a) { b.act_rows = count - a; }
            run_block(worker, job, acts, b);
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

/* A fixed part of the phase's weights, by bytes. */
static void run_part(const cpu_worker *worker, const cpu_phase *phase, const tn_act *acts) {
    uint64_t workers = worker->plan->backend->workers, start = 0;
    uint64_t from = phase->job_bytes / workers * worker->id;
    uint64_t to =
        worker->id + 1 == workers ? phase->job_bytes : phase->job_bytes / workers * (worker->id + 1);
    for (uint32_t j = phase->first_job; j != CPU_NONE; j = worker->plan->jobs[j].next) {
        const cpu_job *job = &worker->plan->jobs[j];
        uint64_t bytes = row_bytes(job) * job->members[0].weight->rows;
        uint64_t first = from > start ? from - start : 0, last = to > start ? to - start : 0;
        start += bytes;
        uint64_t row_from = cut(job, first),
                 row_to = last >= bytes ? job->members[0].weight->rows : cut(job, last);
        if (row_from < row_to) { run_slice(worker, job, acts, row_from, row_to); }
    }
}

/* Weight rows of a chunk of the phase. */
static uint64_t chunk_rows(const cpu_worker *worker, const cpu_phase *phase) {
    uint64_t rows = 0, step = worker->plan->backend->kernels->gemm_rows;
    for (uint32_t j = phase->first_job; j != CPU_NONE; j = worker->plan->jobs[j].next) {
        rows += worker->plan->jobs[j].members[0].weight->rows;
    }
    rows /= (uint64_t)CHUNKS * worker->plan->backend->workers;
    if (rows < CHUNK_LEAST) { rows = CHUNK_LEAST; }
    if (rows > CHUNK_MOST) { rows = CHUNK_MOST; }
    return cpu_round(rows, step);
}

/* Chunks as long as there are any. */
static void run_chunks(const cpu_worker *worker, const cpu_phase *phase, const tn_act *acts) {
    _Atomic uint32_t *counter = &worker->run->counters[worker->phase];
    uint64_t rows = chunk_rows(worker, phase), start = 0;
    uint64_t mine = atomic_fetch_add_explicit(counter, 1, memory_order_relaxed);
    for (uint32_t j = phase->first_job; j != CPU_NONE; j = worker->plan->jobs[j].next) {
        const cpu_job *job = &worker->plan->jobs[j];
        uint64_t all = job->members[0].weight->rows, chunks = (all + rows - 1) / rows;
        while (mine < start + chunks) {
            uint64_t from = (mine - start) * rows;
            run_slice(worker, job, acts, from, from + rows < all ? from + rows : all);
            mine = atomic_fetch_add_explicit(counter, 1, memory_order_relaxed);
        }
        start += chunks;
    }
}

void cpu_run_linear(cpu_worker *worker, const cpu_phase *phase) {
    tn_act acts[CPU_ACTS];
    uint64_t rows = worker->run->rows[phase->domain];
    prepare_all(worker, phase, rows, acts);
    if (rows < worker->plan->backend->kernels->gemm_from) {
        run_part(worker, phase, acts);
    } else {
        run_chunks(worker, phase, acts);
    }
}
