/*
 * cpu_compile.c - plans come and go: the graph is planned, its memory taken in one piece, small weights
 * (norms, biases, factors, sinks) decoded to floats.
 */
#include "cpu.h"

#include <string.h>

enum { LINE = 64, HUGE = 2 << 20 };

/* Calls fn for each small weight of the plan. */
static void each_vector(cpu_plan *plan, void (*fn)(cpu_plan *plan, cpu_vector *vector)) {
    for (uint32_t i = 0; i < plan->op_count; i++) {
        fn(plan, &plan->ops[i].w);
        fn(plan, &plan->ops[i].bias);
    }
    for (uint32_t i = 0; i < plan->job_count; i++) {
        for (uint32_t m = 0; m < plan->jobs[i].member_count; m++) {
            fn(plan, &plan->jobs[i].members[m].bias);
        }
    }
    for (uint32_t i = 0; i < plan->attention_count; i++) {
        cpu_attention *a = &plan->attentions[i];
        fn(plan, &a->q.w);
        fn(plan, &a->q.bias);
        fn(plan, &a->k.w);
        fn(plan, &a->k.bias);
        fn(plan, &a->sinks);
    }
    for (uint32_t i = 0; i < plan->table_count; i++) { fn(plan, &plan->tables[i].factors); }
}

static uint64_t vector_floats(const cpu_vector *vector) {
    const tn_weight *w = vector->weight;
    return cpu_round(cpu_mul(cpu_mul(w->cols, w->rows), w->count), LINE / sizeof(float));
}

static void count_vector(cpu_plan *plan, cpu_vector *vector) {
    if (!vector->weight) { return; }
    plan->vector_size = cpu_add(plan->vector_size, cpu_mul(vector_floats(vector), sizeof(float)));
}

/* Decodes into what is left of plan->vectors; vector_size counts the bytes that are used. */
static void load_vector(cpu_plan *plan, cpu_vector *vector) {
    const tn_weight *w = vector->weight;
    if (!w) { return; }
    float *out = plan->vectors + plan->vector_size / sizeof(float);
    for (uint64_t r = 0; r < w->rows * w->count; r++) {
        w->format->decode(w->format_self, (const unsigned char *)w->data + r * w->row_bytes, w->cols,
                          out + r * w->cols);
    }
    vector->data = out;
    plan->vector_size += vector_floats(vector) * sizeof(float);
}

static void *allocate(const tn_host *host, uint64_t count, uint64_t size) {
    uint64_t bytes = cpu_mul(count + 1, size);
    void *memory = bytes > SIZE_MAX / 2 ? NULL : host->alloc(host, bytes, LINE);
    if (memory) { memset(memory, 0, bytes); }
    return memory;
}

void cpu_plan_free(cpu_plan *plan) {
    if (!plan) { return; }
    const tn_host *host = plan->backend->host;
    void *const parts[] = {plan->values, plan->phases,        plan->ops,     plan->jobs,  plan->attentions,
                           plan->tables, plan->expert_inputs, plan->outputs, plan->arena, plan->vectors};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) { host->free(host, parts[i]); }
    host->free(host, plan);
}

/* Arrays as long as they can ever get: a node makes at most one op, job, attention, table and output, two
 * tables if it is an attention, two jobs, inputs and values more if it is of experts, and two phases with the
 * pending ops before it. */
static bool allocate_arrays(cpu_plan *plan) {
    const tn_host *host = plan->backend->host;
    uint64_t nodes = plan->graph->node_count;
    plan->values = allocate(host, plan->value_count + 2 * nodes, sizeof *plan->values);
    plan->phases = allocate(host, 2 * nodes + 2, sizeof *plan->phases);
    plan->ops = allocate(host, nodes, sizeof *plan->ops);
    plan->jobs = allocate(host, 2 * nodes, sizeof *plan->jobs);
    plan->attentions = allocate(host, nodes, sizeof *plan->attentions);
    plan->tables = allocate(host, 2 * nodes, sizeof *plan->tables);
    plan->expert_inputs = allocate(host, 2 * nodes, sizeof *plan->expert_inputs);
    plan->outputs = allocate(host, nodes, sizeof *plan->outputs);
    return plan->values && plan->phases && plan->ops && plan->jobs && plan->attentions && plan->tables &&
           plan->expert_inputs && plan->outputs;
}

int32_t cpu_plan_create(cpu_backend *backend, const tn_compile *compile, cpu_plan **out, tn_error *err) {
    const tn_host *host = backend->host;
    cpu_plan *plan = allocate(host, 1, sizeof *plan);
    int32_t code = TN_E_MEMORY;
    if (plan) {
        plan->backend = backend;
        plan->graph = compile->graph;
        plan->value_count = compile->graph->value_count;
        plan->limits = *compile->limits;
    }
    if (!plan || !allocate_arrays(plan)) {
        tn_fail(err, code, "no memory to plan a graph of %u nodes", compile->graph->node_count);
    } else {
        code = cpu_plan_values(plan, compile, err);
        if (code == TN_OK) { code = cpu_plan_phases(plan, compile, err); }
        if (code == TN_OK) { code = cpu_plan_layout(plan, err); }
    }
    if (code == TN_OK) {
        each_vector(plan, count_vector);
        *out = plan;
    } else {
        cpu_plan_free(plan);
    }
    return code;
}

int32_t cpu_memory(void *self, const tn_compile *compile, tn_memory *out, tn_error *err) {
    cpu_plan *plan;
    TN_TRY(cpu_plan_create(self, compile, &plan, err));
    out->mapped = out->copied = out->packed = 0;
    out->scratch = cpu_add(plan->arena_size, plan->vector_size);
    cpu_plan_free(plan);
    return TN_OK;
}

/* One line a phase, for those who debug. */
static void log_plan(const cpu_plan *plan) {
    const tn_host *host = plan->backend->host;
    uint64_t size = cpu_plan_print(plan, NULL, 0) + 1;
    char *text = host->alloc(host, size, 1);
    if (!text) { return; }
    cpu_plan_print(plan, text, size);
    for (char *line = text; *line;) {
        char *end = strchr(line, '\n');
        *end = 0;
        host->log(host, TN_LOG_DEBUG, line);
        line = end + 1;
    }
    host->free(host, text);
}

int32_t cpu_compile(void *self, void *placed, const tn_compile *compile, void **plan, tn_error *err) {
    cpu_backend *backend = self;
    const tn_host *host = backend->host;
    cpu_plan *made = NULL;
    (void)placed;
    TN_TRY(cpu_plan_create(backend, compile, &made, err));
    made->arena = host->alloc(host, made->arena_size, made->arena_size >= HUGE ? HUGE : LINE);
    made->vectors = host->alloc(host, made->vector_size + LINE, LINE);
    if (!made->arena || !made->vectors) {
        uint64_t size = made->arena_size + made->vector_size;
        cpu_plan_free(made);
        TN_FAIL(err, TN_E_MEMORY, "no %llu bytes for a plan of %u rows", (unsigned long long)size,
                compile->limits->rows);
    }
    made->vector_size = 0;
    each_vector(made, load_vector);
    log_plan(made);
    *plan = made;
    return TN_OK;
}

void cpu_discard(void *self, void *plan) {
    (void)self;
    cpu_plan_free(plan);
}
