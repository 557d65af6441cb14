/*
 * ref_plan.c - what is served, and the memory of a plan.
 *
 * Each value gets a buffer for as many rows as the limits allow. A buffer is used again for a later value of
 * the same size once nothing reads the earlier one any more; captured values need no more than that, since a
 * capture is served as soon as its node has run.
 */
#include "reference.h"

#include <string.h>

/* Which value lies in which buffer; sizes in doubles. */
typedef struct layout {
    uint32_t *buffer_of; /* by value - 1 */
    uint32_t *last_use;  /* node number, by value - 1 */
    uint64_t *size;      /* by buffer */
    uint32_t *busy;      /* by buffer: the value in it, 0: none */
    uint32_t count;
    uint64_t total; /* bytes of all buffers */
} layout;

/* The most that any node asks of the scratch memories. */
typedef struct needs {
    uint64_t row, work, numbers, captured;
} needs;

uint32_t ref_result_count(const tn_node *node) {
    if (node->op == TN_OP_output) { return 0; }
    return node->op == TN_OP_split ? ((const tn_split *)node->attributes)->count : 1;
}

/* The newest number of a list that a node's attributes choose from, and the choice. */
static uint32_t newest_choice(const tn_node *node, uint32_t *choice) {
    switch (node->op) {
    case TN_OP_embed: *choice = ((const tn_embed *)node->attributes)->by; return TN_EMBED_TYPE;
    case TN_OP_norm: *choice = ((const tn_norm *)node->attributes)->kind; return TN_NORM_LAYER;
    case TN_OP_rope: *choice = ((const tn_rope *)node->attributes)->pairing; return TN_PAIR_HALVES;
    case TN_OP_act: *choice = ((const tn_act_op *)node->attributes)->act; return TN_ACT_SIGMOID;
    case TN_OP_glu: *choice = ((const tn_glu *)node->attributes)->act; return TN_ACT_SIGMOID;
    case TN_OP_route: *choice = ((const tn_route *)node->attributes)->score; return TN_SCORE_SIGMOID;
    case TN_OP_experts: *choice = ((const tn_experts *)node->attributes)->act; return TN_ACT_SIGMOID;
    case TN_OP_pool: *choice = ((const tn_pool *)node->attributes)->kind; return TN_POOL_LAST;
    default: *choice = 1; return 1;
    }
}

int32_t ref_supports(void *self, const tn_graph *graph, uint32_t node, tn_choice *choice, tn_error *err) {
    const tn_node *n = graph->nodes[node];
    uint32_t number;
    (void)self;
    if (n->op == TN_OP_custom) {
        TN_FAIL(err, TN_E_OP_UNSUPPORTED, "custom op %s: no kernel plugin serves it on the reference backend",
                ((const tn_custom *)n->attributes)->id);
    }
    if (n->op < 1 || n->op > TN_OP_LAST) {
        TN_FAIL(err, TN_E_OP_UNSUPPORTED, "op number %d is newer than this backend", n->op);
    }
    if (newest_choice(n, &number) < number) {
        TN_FAIL(err, TN_E_OP_UNSUPPORTED, "kind %u of the op is newer than this backend", number);
    }
    choice->stable = 1;
    snprintf(choice->kernel, sizeof choice->kernel, "plain C, float64");
    choice->others[0] = 0;
    return TN_OK;
}

/* NULL for `count` things of `size` bytes that no memory can hold. */
static void *alloc_array(const tn_host *host, uint64_t count, uint64_t size) {
    uint64_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes)) { return NULL; }
    void *memory = host->alloc(host, bytes ? bytes : 1, 64);
    if (memory) { memset(memory, 0, bytes); }
    return memory;
}

/* ---- buffers ----------------------------------------------------------------------------------------- */

static uint32_t row_limit(const tn_limits *limits, uint32_t rows) {
    switch (rows) {
    case TN_ROWS_O: return limits->output_rows;
    case TN_ROWS_S: return limits->sequences;
    default: return limits->rows;
    }
}

static uint32_t value_width(const tn_value *value) {
    return value->kind == TN_VALUE_ROUTE ? 2 * value->width : value->width;
}

static int32_t value_size(const tn_graph *graph, const tn_limits *limits, uint32_t v, uint64_t *size,
                          tn_error *err) {
    const tn_value *value = graph->values[v - 1];
    uint32_t rows = row_limit(limits, value->rows);
    if (__builtin_mul_overflow((uint64_t)value_width(value), rows, size) || *size > UINT64_MAX / 16) {
        TN_FAIL(err, TN_E_MEMORY, "a value of %u rows of %u numbers is larger than memory", rows,
                value->width);
    }
    return TN_OK;
}

static void free_layout(const tn_host *host, layout *l) {
    host->free(host, l->buffer_of);
    host->free(host, l->last_use);
    host->free(host, l->size);
    host->free(host, l->busy);
}

static int32_t alloc_layout(const tn_host *host, uint32_t values, layout *l, tn_error *err) {
    memset(l, 0, sizeof *l);
    l->buffer_of = alloc_array(host, values, sizeof *l->buffer_of);
    l->last_use = alloc_array(host, values, sizeof *l->last_use);
    l->size = alloc_array(host, values, sizeof *l->size);
    l->busy = alloc_array(host, values, sizeof *l->busy);
    if (l->buffer_of && l->last_use && l->size && l->busy) { return TN_OK; }
    free_layout(host, l);
    TN_FAIL(err, TN_E_MEMORY, "no memory to plan %u values", values);
}

static void find_last_uses(const tn_graph *graph, layout *l) {
    for (uint32_t v = 0; v < graph->value_count; v++) { l->last_use[v] = graph->values[v]->node; }
    for (uint32_t n = 0; n < graph->node_count; n++) {
        for (uint32_t i = 0; i < TN_NODE_INPUTS; i++) {
            uint32_t v = graph->nodes[n]->inputs[i];
            if (v) { l->last_use[v - 1] = n; }
        }
    }
}

/* A free buffer of just this size, or a new one. */
static uint32_t take_buffer(layout *l, uint64_t size) {
    uint32_t b = 0;
    while (b < l->count && (l->busy[b] || l->size[b] != size)) { b++; }
    if (b == l->count) {
        l->size[b] = size;
        l->count++;
        if (__builtin_add_overflow(l->total, size * sizeof(double), &l->total)) { l->total = UINT64_MAX; }
    }
    return b;
}

static int32_t lay_out(const tn_compile *compile, layout *l, tn_error *err) {
    const tn_graph *graph = compile->graph;
    find_last_uses(graph, l);
    for (uint32_t n = 0; n < graph->node_count; n++) {
        const tn_node *node = graph->nodes[n];
        for (uint32_t i = 0; i < ref_result_count(node); i++) {
            uint32_t v = node->result + i;
            uint64_t size;
            TN_TRY(value_size(graph, compile->limits, v, &size, err));
            l->buffer_of[v - 1] = take_buffer(l, size);
            l->busy[l->buffer_of[v - 1]] = v;
        }
        for (uint32_t b = 0; b < l->count; b++) {
            if (l->busy[b] && l->last_use[l->busy[b] - 1] <= n) { l->busy[b] = 0; }
        }
    }
    return TN_OK;
}

/* ---- scratch ----------------------------------------------------------------------------------------- */

static void at_least(uint64_t *most, uint64_t n) {
    if (*most < n) { *most = n; }
}

static void need_of_weights(const tn_graph *graph, const tn_node *node, needs *most) {
    for (uint32_t i = 0; i < TN_NODE_WEIGHTS; i++) {
        const tn_weight *w = node->weights[i] ? graph->weights[node->weights[i] - 1] : NULL;
        if (!w) { continue; }
        at_least(&most->row, w->cols);
        if (node->op == TN_OP_experts && i == 1) {
            at_least(&most->work, 2 * w->rows);
            at_least(&most->captured, w->rows);
        }
        if (node->op != TN_OP_embed && !ref_expert_matrices(node) && node->op != TN_OP_output &&
            !(node->op == TN_OP_linear && i == 0)) {
            at_least(&most->numbers, w->cols * w->rows);
        }
    }
}

static void need_of_attend(const tn_compile *compile, const tn_attend *a, needs *most) {
    uint64_t tokens = compile->limits->rows;
    for (uint32_t g = 0; g < compile->group_count; g++) {
        const tn_cache_group *group = compile->groups[g];
        at_least(&tokens, compile->limits->pages_per_sequence * group->page_tokens);
        at_least(&most->row, (uint64_t)group->key_dim + group->key_format->block);
        at_least(&most->row, (uint64_t)group->value_dim + group->value_format->block);
    }
    at_least(&most->work, tokens + (a->key_dim > a->value_dim ? a->key_dim : a->value_dim));
}

static needs find_needs(const tn_compile *compile) {
    const tn_graph *graph = compile->graph;
    needs most = {1, 1, 1, 1};
    for (uint32_t n = 0; n < graph->node_count; n++) {
        const tn_node *node = graph->nodes[n];
        need_of_weights(graph, node, &most);
        if (node->op == TN_OP_attend) { need_of_attend(compile, node->attributes, &most); }
    }
    for (uint32_t v = 0; v < graph->value_count; v++) {
        at_least(&most.captured, value_width(graph->values[v]));
    }
    return most;
}

int32_t ref_memory(void *self, const tn_compile *compile, tn_memory *out, tn_error *err) {
    const tn_host *host = self;
    layout l;
    needs most = find_needs(compile);
    TN_TRY(alloc_layout(host, compile->graph->value_count, &l, err));
    int32_t code = lay_out(compile, &l, err);
    out->mapped = out->copied = out->packed = 0;
    out->scratch = l.total + (3 * most.numbers + most.captured) * sizeof(float) +
                   host->worker_count(host) * (most.row * sizeof(float) + most.work * sizeof(double));
    free_layout(host, &l);
    return code;
}

/* ---- plans ------------------------------------------------------------------------------------------- */

/* Every cached attention must have a group for its slot. */
static int32_t check_slots(const tn_compile *compile, tn_error *err) {
    for (uint32_t n = 0; n < compile->graph->node_count; n++) {
        const tn_node *node = compile->graph->nodes[n];
        const tn_attend *attend = node->attributes;
        int found = node->op != TN_OP_attend || !attend->cached;
        for (uint32_t g = 0; g < compile->group_count && !found; g++) {
            const tn_cache_group *group = compile->groups[g];
            for (uint32_t i = 0; i < group->slot_count; i++) { found |= group->slots[i] == attend->slot; }
        }
        if (!found) { TN_FAIL(err, TN_E_BUG, "%s: no group for cache slot %u", node->name, attend->slot); }
    }
    return TN_OK;
}

static int is_expert_matrix(const tn_graph *graph, uint32_t weight) {
    for (uint32_t n = 0; n < graph->node_count; n++) {
        const tn_node *node = graph->nodes[n];
        for (uint32_t slot = 0; slot < ref_expert_matrices(node); slot++) {
            if (node->weights[slot] == weight) { return 1; }
        }
    }
    return 0;
}

static int32_t check_captures(const tn_compile *compile, tn_error *err) {
    const tn_graph *graph = compile->graph;
    for (uint32_t i = 0; i < compile->capture_count; i++) {
        uint32_t v = compile->captures[i];
        if (v < 1 || v > graph->value_count) {
            TN_FAIL(err, TN_E_INPUT, "capture of value %u, the graph has %u", v, graph->value_count);
        }
    }
    for (uint32_t i = 0; i < compile->weight_capture_count; i++) {
        uint32_t w = compile->weight_captures[i];
        if (!w || !is_expert_matrix(graph, w)) {
            TN_FAIL(err, TN_E_INPUT, "capture of the inputs of weight %u, which is no matrix of experts", w);
        }
    }
    return TN_OK;
}

static int alloc_scratch(ref_plan *plan, const needs *most) {
    const tn_host *host = plan->host;
    int complete = (plan->captured = alloc_array(host, most->captured, sizeof(float))) != NULL;
    for (uint32_t i = 0; i < 3; i++) {
        complete &= (plan->numbers[i] = alloc_array(host, most->numbers, sizeof(float))) != NULL;
    }
    plan->workers = alloc_array(host, plan->worker_count, sizeof *plan->workers);
    for (uint32_t i = 0; plan->workers && i < plan->worker_count; i++) {
        plan->workers[i].row = alloc_array(host, most->row, sizeof(float));
        plan->workers[i].work = alloc_array(host, most->work, sizeof(double));
        complete &= plan->workers[i].row && plan->workers[i].work;
    }
    return complete && plan->workers;
}

static int alloc_values(ref_plan *plan, const layout *l) {
    const tn_graph *graph = plan->graph;
    plan->values = alloc_array(plan->host, graph->value_count, sizeof *plan->values);
    plan->buffers = alloc_array(plan->host, l->count, sizeof *plan->buffers);
    if (!plan->values || !plan->buffers) { return 0; }
    plan->buffer_count = l->count;
    for (uint32_t b = 0; b < l->count; b++) {
        plan->buffers[b] = alloc_array(plan->host, l->size[b], sizeof(double));
        if (!plan->buffers[b]) { return 0; }
    }
    for (uint32_t v = 0; v < graph->value_count; v++) {
        plan->values[v].data = plan->buffers[l->buffer_of[v]];
        plan->values[v].width = value_width(graph->values[v]);
    }
    return 1;
}

static int32_t fill_plan(ref_plan *plan, const tn_compile *compile, tn_error *err) {
    layout l;
    needs most = find_needs(compile);
    TN_TRY(alloc_layout(plan->host, compile->graph->value_count, &l, err));
    int32_t code = lay_out(compile, &l, err);
    if (code == TN_OK && !(alloc_values(plan, &l) && alloc_scratch(plan, &most))) {
        code = tn_fail(err, TN_E_MEMORY, "no memory for a plan of %llu bytes", (unsigned long long)l.total);
    }
    free_layout(plan->host, &l);
    return code;
}

int32_t ref_compile(void *self, void *placed, const tn_compile *compile, void **plan, tn_error *err) {
    const tn_host *host = self;
    (void)placed;
    TN_TRY(check_slots(compile, err));
    TN_TRY(check_captures(compile, err));
    ref_plan *p = alloc_array(host, 1, sizeof *p);
    if (!p) { TN_FAIL(err, TN_E_MEMORY, "no memory for a plan"); }
    p->host = host;
    p->graph = compile->graph;
    p->limits = *compile->limits;
    p->worker_count = host->worker_count(host);
    int32_t code = fill_plan(p, compile, err);
    if (code != TN_OK) {
        ref_discard(self, p);
        return code;
    }
    *plan = p;
    return TN_OK;
}

void ref_discard(void *self, void *plan) {
    const tn_host *host = self;
    ref_plan *p = plan;
    for (uint32_t b = 0; b < p->buffer_count; b++) { host->free(host, p->buffers[b]); }
    for (uint32_t i = 0; p->workers && i < p->worker_count; i++) {
        host->free(host, p->workers[i].row);
        host->free(host, p->workers[i].work);
    }
    for (uint32_t i = 0; i < 3; i++) { host->free(host, p->numbers[i]); }
    host->free(host, p->captured);
    host->free(host, p->workers);
    host->free(host, p->buffers);
    host->free(host, p->values);
    host->free(host, p);
}
