/*
 * cpu_plan.c - the planner: goes through the nodes once, in their order, and puts each into a phase.
 *
 * Rowwise ops wait ("pending") until someone needs them: the next linear takes them as its prologue, anything
 * else makes them a phase of their own. Linears join the last phase if what they read is there before it.
 * Experts are two products that their route cuts, and a rowwise sum.
 * Elementwise ops on a product that nobody else reads become links behind it. Norms and ropes of heads belong
 * to the attention that reads them. Nothing here knows a model.
 */
#include "cpu.h"

#include <string.h>

typedef struct planner {
    cpu_plan *plan;
    const tn_compile *compile;
    bool *absorbed; /* by node: part of an attention */
    uint32_t pending_from, pending_domain;
    tn_error *err;
} planner;

enum { UNCACHED_BLOCK = 64 };

static cpu_value *value_of(const planner *p, uint32_t number) {
    return &p->plan->values[number - 1];
}
static cpu_value *base_of(const planner *p, uint32_t number) {
    return &p->plan->values[value_of(p, number)->base];
}
static const tn_node *maker_of(const planner *p, uint32_t number) {
    return p->plan->graph->nodes[p->plan->graph->values[number - 1]->node];
}
static cpu_vector vector_of(const planner *p, const tn_node *node, uint32_t i) {
    return (cpu_vector){node->weights[i] ? p->plan->graph->weights[node->weights[i] - 1] : NULL, NULL};
}
static bool is_pending(const cpu_value *base) {
    return base->by_row && base->first == CPU_NONE;
}
/* Read once, whole, and seen by nobody: need not exist outside of the op that reads it. */
static bool is_private(const planner *p, uint32_t number) {
    const cpu_value *v = value_of(p, number);
    return v->base == number - 1 && v->uses == 1 && !v->captured;
}

static void reads(planner *p, uint32_t index, uint32_t phase) {
    if (index == CPU_NONE) { return; }
    cpu_value *base = &p->plan->values[p->plan->values[index].base];
    if (base->last < phase) { base->last = phase; }
}

static void makes(planner *p, uint32_t index, uint32_t phase) {
    if (index == CPU_NONE) { return; }
    cpu_value *value = &p->plan->values[index];
    value->first = phase;
    value->last = phase + (value->captured ? 1 : 0); /* it is handed out while the next phase runs */
}

/* ---- phases and pending ops ------------------------------------------------------------------------- */

static uint32_t add_phase(planner *p, uint32_t kind, uint32_t domain) {
    cpu_phase *phase = &p->plan->phases[p->plan->phase_count];
    phase->kind = kind;
    phase->domain = domain;
    phase->op_from = p->plan->op_count;
    phase->first_job = phase->route = CPU_NONE;
    return p->plan->phase_count++;
}

/* Floats of the workspace for the result of an op; a route scores all experts behind it. */
static uint64_t result_floats(const planner *p, const cpu_op *op) {
    uint64_t width = cpu_round(p->plan->values[op->result].width, 16);
    return op->node->op == TN_OP_route ? width + cpu_round(p->plan->values[op->a].width, 16) : width;
}

/* Pending ops become the (first) ops of a phase. */
static void take_pending(planner *p, uint32_t number) {
    cpu_phase *phase = &p->plan->phases[number];
    uint64_t workspace = 0;
    phase->op_from = p->pending_from;
    phase->op_count = p->plan->op_count - p->pending_from;
    p->pending_from = p->plan->op_count;
    for (uint32_t i = 0; i < phase->op_count; i++) {
        const cpu_op *op = &p->plan->ops[phase->op_from + i];
        makes(p, op->result, number);
        reads(p, op->a, number);
        reads(p, op->b, number);
        if (op->result == CPU_NONE) { continue; }
        p->plan->values[op->result].workspace = workspace;
        workspace += result_floats(p, op);
    }
    if (workspace > p->plan->workspace_floats) { p->plan->workspace_floats = workspace; }
}

static void flush(planner *p) {
    if (p->plan->op_count == p->pending_from) { return; }
    take_pending(p, add_phase(p, CPU_PHASE_ROWS, p->pending_domain));
}

/* ---- tables of ropes -------------------------------------------------------------------------------- */

static bool same_table(const cpu_table *table, const tn_rope *rope, const cpu_vector *factors) {
    const tn_rope *other = table->rope;
    return other->rotated == rope->rotated && other->magnitude == rope->magnitude &&
           table->factors.weight == factors->weight &&
           !memcmp(other->frequencies, rope->frequencies, rope->rotated / 2 * sizeof(double));
}

static uint32_t find_table(planner *p, const tn_node *node) {
    const tn_rope *rope = node->attributes;
    cpu_vector factors = vector_of(p, node, 0);
    uint32_t i = 0;
    while (i < p->plan->table_count && !same_table(&p->plan->tables[i], rope, &factors)) { i++; }
    if (i == p->plan->table_count) {
        p->plan->tables[p->plan->table_count++] = (cpu_table){rope, factors, 0};
    }
    return i;
}

/* ---- rowwise ops ------------------------------------------------------------------------------------ */

/* An op for rows of this domain; the next phase that takes pending ones runs it. */
static cpu_op *add_op(planner *p, const tn_node *node, uint32_t domain, uint32_t a, uint32_t b) {
    if (p->plan->op_count > p->pending_from && p->pending_domain != domain) { flush(p); }
    cpu_op *op = &p->plan->ops[p->plan->op_count++];
    p->pending_domain = domain;
    *op = (cpu_op){.node = node, .a = a, .b = b, .result = CPU_NONE, .table = CPU_NONE};
    if (!node->result) { return op; }
    op->result = node->result - 1;
    p->plan->values[op->result].by_row = true;
    return op;
}

static void plan_rowwise(planner *p, const tn_node *node) {
    cpu_op *op =
        add_op(p, node, value_of(p, node->result)->domain, node->inputs[0] ? node->inputs[0] - 1 : CPU_NONE,
               node->inputs[1] ? node->inputs[1] - 1 : CPU_NONE);
    if (node->op == TN_OP_norm || node->op == TN_OP_route) {
        op->w = vector_of(p, node, 0);
        op->bias = vector_of(p, node, 1);
    }
    if (node->op == TN_OP_rope) { op->table = find_table(p, node); }
}

static void plan_output(planner *p, const tn_node *node) {
    uint32_t number = 0;
    while (p->plan->outputs[number] != node) { number++; }
    if (base_of(p, node->inputs[0])->output == number) { return; }
    uint32_t domain = p->plan->graph->values[node->inputs[0] - 1]->rows;
    add_op(p, node, domain, node->inputs[0] - 1, CPU_NONE)->table = number;
}

/* ---- products and the links behind them ------------------------------------------------------------- */

static bool same_source(const cpu_source *a, const cpu_source *b) {
    return a->value == b->value && a->form == b->form && a->planes == b->planes && a->chosen == b->chosen &&
           a->parts == b->parts;
}

/* The rows of a value in the form that a service wants; CPU_NONE: the phase has no room for one more. */
static uint32_t find_source(cpu_phase *phase, const cpu_service *service, cpu_source wanted) {
    uint32_t i = 0;
    wanted.form = service->form;
    wanted.planes = service->planes;
    while (i < phase->source_count && !same_source(&phase->sources[i], &wanted)) { i++; }
    if (i == CPU_ACTS) { return CPU_NONE; }
    if (i == phase->source_count) {
        phase->sources[phase->source_count++] = wanted;
        uint64_t most = CPU_SMALL_CELLS / cpu_mul(wanted.cols, wanted.parts);
        if (most > CPU_SMALL_ROWS) { most = CPU_SMALL_ROWS; }
        if (most < 1) { most = 1; }
        if (i == 0 || most < phase->small_rows) { phase->small_rows = (uint32_t)most; }
    }
    return i;
}

/* A phase for products, with the ops that wait as its prologue. */
static uint32_t add_linear_phase(planner *p, uint32_t domain) {
    if (p->plan->op_count > p->pending_from && p->pending_domain != domain) { flush(p); }
    uint32_t number = add_phase(p, CPU_PHASE_LINEAR, domain);
    take_pending(p, number);
    return number;
}

/* The last phase, if a product of this value may be part of it. */
static uint32_t joinable(const planner *p, const cpu_value *base, uint32_t domain) {
    uint32_t last = p->plan->phase_count - 1;
    const cpu_phase *phase = &p->plan->phases[last];
    if (phase->kind != CPU_PHASE_LINEAR || phase->domain != domain || is_pending(base)) { return CPU_NONE; }
    return base->first < last || base->by_row ? last : CPU_NONE;
}

static cpu_job *add_job(planner *p, uint32_t number, const cpu_member *member, uint32_t result) {
    cpu_phase *phase = &p->plan->phases[number];
    uint32_t index = p->plan->job_count++;
    cpu_job *job = &p->plan->jobs[index];
    *job = (cpu_job){
        .member_count = 1, .result = result, .domain = phase->domain, .phase = number, .next = CPU_NONE};
    job->members[0] = *member;
    uint32_t *at = &phase->first_job;
    while (*at != CPU_NONE) { at = &p->plan->jobs[*at].next; }
    *at = index;
    makes(p, result, number);
    return job;
}

static void plan_linear(planner *p, const tn_node *node) {
    const cpu_value *base = base_of(p, node->inputs[0]);
    uint32_t domain = value_of(p, node->result)->domain, x = node->inputs[0] - 1;
    cpu_member member = {.weight = p->plan->graph->weights[node->weights[0] - 1],
                         .bias = vector_of(p, node, 1)};
    cpu_serve_linear(p->plan->backend, p->plan->graph, node, &member.service);
    const cpu_source source = {.value = x, .parts = 1, .cols = member.weight->cols};
    uint32_t phase = joinable(p, base, domain);
    member.act = CPU_NONE;
    if (phase != CPU_NONE) { member.act = find_source(&p->plan->phases[phase], &member.service, source); }
    if (member.act == CPU_NONE) {
        phase = add_linear_phase(p, domain);
        member.act = find_source(&p->plan->phases[phase], &member.service, source);
    }
    reads(p, x, phase);
    add_job(p, phase, &member, node->result - 1);
}

/* The product whose last result is this value, if links may follow it; NULL: none. */
static cpu_job *tail(const planner *p, uint32_t number, const tn_node *node) {
    if (!number || !is_private(p, number)) { return NULL; }
    for (uint32_t i = p->plan->job_count; i-- > 0;) {
        cpu_job *job = &p->plan->jobs[i];
        if (job->result != number - 1) { continue; }
        return job->link_count < CPU_LINKS && job->domain == value_of(p, node->result)->domain ? job : NULL;
    }
    return NULL;
}

static void add_link(planner *p, cpu_job *job, const tn_node *node, uint32_t other) {
    job->links[job->link_count++] = (cpu_link){node, other};
    p->plan->values[job->result].first = CPU_NONE;
    job->result = node->result - 1;
    makes(p, job->result, job->phase);
    reads(p, other, job->phase);
}

static void drop_job(planner *p, cpu_job *job) {
    uint32_t *at = &p->plan->phases[job->phase].first_job;
    while (&p->plan->jobs[*at] != job) { at = &p->plan->jobs[*at].next; }
    *at = job->next;
    p->plan->values[job->result].first = CPU_NONE;
    job->member_count = 0;
    job->result = CPU_NONE;
}

/* Gate and up of the same phase, with nothing behind them yet: one job of two members. */
static bool link_glu(planner *p, const tn_node *node) {
    cpu_job *gate = tail(p, node->inputs[0], node), *up = tail(p, node->inputs[1], node);
    if (!gate || !up || gate == up || gate->phase != up->phase || gate->chosen != up->chosen ||
        gate->link_count || up->link_count) {
        return false;
    }
    gate->members[gate->member_count++] = up->members[0];
    drop_job(p, up);
    add_link(p, gate, node, CPU_NONE);
    return true;
}

/* a + b, a * b behind the product that makes one of them, if the other is there before. */
static bool link_pair(planner *p, const tn_node *node) {
    for (uint32_t side = 0; side < 2; side++) {
        uint32_t mine = node->inputs[side], theirs = node->inputs[1 - side];
        cpu_job *job = tail(p, mine, node);
        const cpu_value *base = base_of(p, theirs);
        if (!job || value_of(p, mine)->width != value_of(p, theirs)->width) { continue; }
        if (base->first == CPU_NONE || base->first >= job->phase) { continue; }
        add_link(p, job, node, theirs - 1);
        return true;
    }
    return false;
}

static bool link_single(planner *p, const tn_node *node) {
    cpu_job *job = tail(p, node->inputs[0], node);
    if (job) { add_link(p, job, node, CPU_NONE); }
    return job;
}

static bool plan_link(planner *p, const tn_node *node) {
    switch (node->op) {
    case TN_OP_glu: return link_glu(p, node);
    case TN_OP_add:
    case TN_OP_mul: return link_pair(p, node);
    case TN_OP_act:
    case TN_OP_scale:
    case TN_OP_softcap:
    case TN_OP_clamp: return link_single(p, node);
    default: return false;
    }
}

/* ---- experts ---------------------------------------------------------------------------------------- */

enum { GATE, UP, DOWN, BIASES };

/* A value of no node: `used` results of `width` numbers side by side. */
static int32_t add_parts(planner *p, const tn_node *node, uint32_t used, uint64_t width, uint32_t *index) {
    if (cpu_mul(used, width) > UINT32_MAX) {
        TN_FAIL(p->err, TN_E_OP_UNSUPPORTED, "%s: %u experts of %llu numbers each are too wide a row",
                node->name, used, (unsigned long long)width);
    }
    *index = p->plan->value_count++;
    p->plan->values[*index] = (cpu_value){.base = *index,
                                          .width = (uint32_t)(used * width),
                                          .domain = value_of(p, node->result)->domain,
                                          .output = CPU_NONE};
    return TN_OK;
}

/* A phase for products that the route of a node cuts, with a matrix of `weight` for each expert. */
static uint32_t add_chosen_phase(planner *p, const tn_node *node, const tn_weight *weight) {
    uint32_t number = add_linear_phase(p, value_of(p, node->result)->domain);
    cpu_phase *phase = &p->plan->phases[number];
    phase->route = node->inputs[1] - 1;
    phase->used = p->plan->graph->values[phase->route]->width;
    phase->experts = (uint32_t)weight->count;
    reads(p, phase->route, number);
    return number;
}

static const tn_weight *weight_of(const planner *p, const tn_node *node, uint32_t slot) {
    return p->plan->graph->weights[node->weights[slot] - 1];
}

/* Gate, up or down, which multiply x, of which each row holds `parts` rows for them. */
static cpu_member expert_member(planner *p, const tn_node *node, uint32_t slot, uint32_t phase, uint32_t x,
                                uint32_t parts) {
    cpu_member member = {.weight = weight_of(p, node, slot), .bias = vector_of(p, node, slot + BIASES)};
    cpu_serve(p->plan->backend, member.weight, &member.service);
    member.act =
        find_source(&p->plan->phases[phase], &member.service,
                    (cpu_source){.value = x, .parts = parts, .chosen = true, .cols = member.weight->cols});
    reads(p, x, phase);
    return member;
}

/* Notes what goes into a node's matrices `first` and `last` in `phase`; if it is captured, it and the route stay one
 * phase longer: it is handed out then. */
static void note_input(planner *p, const tn_node *node, uint32_t first, uint32_t last, uint32_t phase,
                       uint32_t value, uint32_t parts) {
    const cpu_phase *chosen = &p->plan->phases[phase];
    p->plan->expert_inputs[p->plan->expert_input_count++] =
        (cpu_expert_input){.weights = {node->weights[first], node->weights[last]},
                           .phase = phase,
                           .value = value,
                           .route = node->inputs[1] - 1,
                           .used = chosen->used,
                           .parts = parts};
    for (uint32_t i = 0; i < p->compile->weight_capture_count; i++) {
        uint32_t weight = p->compile->weight_captures[i];
        if (weight != node->weights[first] && weight != node->weights[last]) { continue; }
        reads(p, value, phase + 1);
        reads(p, node->inputs[1] - 1, phase + 1);
    }
}

/* Two phases, each with a product of what the route chooses, and the sum, which waits for the next phase. */
static int32_t plan_experts(planner *p, const tn_node *node) {
    uint32_t x = node->inputs[0] - 1, route = node->inputs[1] - 1;
    uint32_t used = p->plan->graph->values[route]->width, hidden = CPU_NONE, results = CPU_NONE;
    TN_TRY(add_parts(p, node, used, weight_of(p, node, UP)->rows, &hidden));
    TN_TRY(add_parts(p, node, used, weight_of(p, node, DOWN)->rows, &results));
    uint32_t number = add_chosen_phase(p, node, weight_of(p, node, UP));
    uint32_t first = node->weights[GATE] ? GATE : UP;
    cpu_member member = expert_member(p, node, first, number, x, 1);
    cpu_job *job = add_job(p, number, &member, hidden);
    job->chosen = true;
    if (first == GATE) { job->members[job->member_count++] = expert_member(p, node, UP, number, x, 1); }
    job->links[job->link_count++] = (cpu_link){node, CPU_NONE};
    note_input(p, node, first, UP, number, x, 1);
    uint32_t next = add_chosen_phase(p, node, weight_of(p, node, DOWN));
    member = expert_member(p, node, DOWN, next, hidden, used);
    add_job(p, next, &member, results)->chosen = true;
    note_input(p, node, DOWN, DOWN, next, hidden, used);
    add_op(p, node, value_of(p, node->result)->domain, results, route);
    return TN_OK;
}

/* One product that the route cuts; it joins the last phase if that one follows the same route. */
static void plan_expert_linear(planner *p, const tn_node *node) {
    uint32_t x = node->inputs[0] - 1, domain = value_of(p, node->result)->domain;
    uint32_t phase = joinable(p, base_of(p, node->inputs[0]), domain);
    cpu_member member = {.weight = weight_of(p, node, 0), .bias = vector_of(p, node, 1)};
    cpu_serve(p->plan->backend, member.weight, &member.service);
    uint64_t width = p->plan->values[x].width, cols = member.weight->cols;
    const cpu_source source = {.value = x, .parts = (uint32_t)(width / cols), .chosen = true, .cols = cols};
    member.act = CPU_NONE;
    if (phase != CPU_NONE && p->plan->phases[phase].route == node->inputs[1] - 1) {
        member.act = find_source(&p->plan->phases[phase], &member.service, source);
    }
    if (member.act == CPU_NONE) {
        phase = add_chosen_phase(p, node, member.weight);
        member.act = find_source(&p->plan->phases[phase], &member.service, source);
    }
    reads(p, x, phase);
    add_job(p, phase, &member, node->result - 1)->chosen = true;
    note_input(p, node, 0, 0, phase, x, source.parts);
}

/* ---- attention -------------------------------------------------------------------------------------- */

/* Takes over the node that makes a value, if it is of this op and nobody else reads the value. */
static const tn_node *take_over(planner *p, uint32_t *number, int32_t op) {
    uint32_t index = p->plan->graph->values[*number - 1]->node;
    const tn_node *node = p->plan->graph->nodes[index];
    if (node->op != op || !is_private(p, *number)) { return NULL; }
    p->absorbed[index] = true;
    *number = node->inputs[0];
    return node;
}

static bool is_rope_of(const planner *p, uint32_t number, uint32_t heads, uint32_t head_dim) {
    const tn_node *node = maker_of(p, number);
    const tn_rope *rope = node->attributes;
    return node->op == TN_OP_rope && rope->heads == heads && rope->head_dim == head_dim;
}

static bool is_norm_of(const planner *p, uint32_t number, uint32_t heads) {
    const tn_node *node = maker_of(p, number);
    return node->op == TN_OP_norm && ((const tn_norm *)node->attributes)->groups == heads;
}

/* A norm and a rope of the heads of q or k are done by the attention that reads them. */
static cpu_heads absorb(planner *p, uint32_t number, uint32_t heads, uint32_t head_dim) {
    cpu_heads out = {0};
    if (is_rope_of(p, number, heads, head_dim)) { out.rope = take_over(p, &number, TN_OP_rope); }
    if (is_norm_of(p, number, heads)) { out.norm = take_over(p, &number, TN_OP_norm); }
    if (out.norm) {
        out.w = vector_of(p, out.norm, 0);
        out.bias = vector_of(p, out.norm, 1);
    }
    out.value = number - 1;
    return out;
}

/* Before any node gets a phase, so that what is absorbed gets none. */
static void absorb_all(planner *p) {
    cpu_attention *a = p->plan->attentions;
    for (uint32_t n = 0; n < p->plan->graph->node_count; n++) {
        const tn_node *node = p->plan->graph->nodes[n];
        const tn_attend *attend = node->attributes;
        if (node->op != TN_OP_attend) { continue; }
        a->q = absorb(p, node->inputs[0], attend->heads, attend->key_dim);
        a->k = absorb(p, node->inputs[1], attend->kv_heads, attend->key_dim);
        a++;
    }
}

static int32_t find_group(planner *p, const tn_node *node, cpu_attention *a) {
    const tn_attend *attend = node->attributes;
    for (uint32_t g = 0; g < p->compile->group_count; g++) {
        const tn_cache_group *group = p->compile->groups[g];
        for (uint32_t s = 0; s < group->slot_count; s++) {
            if (group->slots[s] != attend->slot) { continue; }
            if (group->kv_heads != a->kv_heads || group->key_dim != a->key_dim ||
                group->value_dim != a->value_dim || !group->page_tokens) {
                TN_FAIL(p->err, TN_E_GRAPH, "%s: cache group %u of slot %u has another shape", node->name, g,
                        attend->slot);
            }
            a->group = g;
            a->slot = s;
            a->block = group->page_tokens;
            a->key_format = group->key_format;
            a->key_self = group->key_self;
            a->value_format = group->value_format;
            a->value_self = group->value_self;
            return TN_OK;
        }
    }
    TN_FAIL(p->err, TN_E_GRAPH, "%s: no cache group has slot %u", node->name, attend->slot);
}

static int32_t choose_cache_kernels(planner *p, const tn_node *node, cpu_attention *a) {
    uint64_t isa = p->plan->backend->host->isa;
    const tn_format *keys = a->key_format, *values = a->value_format;
    a->key_pad = cpu_cache_pad(keys, a->key_dim);
    a->value_pad = cpu_cache_pad(values, a->value_dim);
    a->key_gemv = cpu_find_kernel(keys, isa, TN_KERNEL_GEMV, TN_FORM_F32);
    a->key_unpack = cpu_find_kernel(keys, isa, TN_KERNEL_UNPACK, TN_PANEL_F32);
    a->key_store = cpu_find_kernel(keys, isa, TN_KERNEL_STORE, 0);
    a->value_blend = cpu_find_kernel(values, isa, TN_KERNEL_BLEND, 0);
    a->value_unpack = cpu_find_kernel(values, isa, TN_KERNEL_UNPACK, TN_PANEL_F32);
    a->value_store = cpu_find_kernel(values, isa, TN_KERNEL_STORE, 0);
    if (a->key_store && a->value_store) { return TN_OK; }
    TN_FAIL(p->err, TN_E_OP_UNSUPPORTED, "%s: %s cannot be a cache format here: it has no store kernel",
            node->name, a->key_store ? values->name : keys->name);
}

static int32_t plan_attend(planner *p, const tn_node *node) {
    const tn_attend *attend = node->attributes;
    flush(p);
    uint32_t number = add_phase(p, CPU_PHASE_ATTEND, TN_ROWS_T);
    cpu_attention *a = &p->plan->attentions[p->plan->attention_count];
    p->plan->phases[number].attention = p->plan->attention_count++;
    *a = (cpu_attention){.node = node,
                         .heads = attend->heads,
                         .kv_heads = attend->kv_heads,
                         .share = attend->heads / attend->kv_heads,
                         .key_dim = attend->key_dim,
                         .value_dim = attend->value_dim,
                         .key_pad = attend->key_dim,
                         .value_pad = attend->value_dim,
                         .block = UNCACHED_BLOCK,
                         .cached = attend->cached,
                         .q = a->q,
                         .k = a->k,
                         .v = node->inputs[2] - 1,
                         .result = node->result - 1,
                         .sinks = vector_of(p, node, 0)};
    if (a->q.rope) { a->q.table = find_table(p, a->q.rope); }
    if (a->k.rope) { a->k.table = find_table(p, a->k.rope); }
    reads(p, a->q.value, number);
    reads(p, a->k.value, number);
    reads(p, a->v, number);
    makes(p, a->result, number);
    if (!attend->cached) { return TN_OK; }
    TN_TRY(find_group(p, node, a));
    return choose_cache_kernels(p, node, a);
}

static void plan_pool(planner *p, const tn_node *node) {
    flush(p);
    uint32_t number = add_phase(p, CPU_PHASE_POOL, TN_ROWS_S);
    p->plan->phases[number].op_count = 1;
    p->plan->ops[p->plan->op_count++] = (cpu_op){
        .node = node, .a = node->inputs[0] - 1, .b = CPU_NONE, .result = node->result - 1, .table = CPU_NONE};
    p->pending_from = p->plan->op_count;
    reads(p, node->inputs[0] - 1, number);
    makes(p, node->result - 1, number);
}

/* ---- all nodes -------------------------------------------------------------------------------------- */

static int32_t plan_node(planner *p, uint32_t index) {
    const tn_node *node = p->plan->graph->nodes[index];
    tn_choice unused = {.struct_size = sizeof unused};
    TN_TRY(cpu_supports(p->plan->backend, p->plan->graph, index, &unused, p->err));
    if (p->absorbed[index]) { return TN_OK; }
    switch (node->op) {
    case TN_OP_split:
    case TN_OP_mark:
    case TN_OP_rows: return TN_OK;
    case TN_OP_linear: plan_linear(p, node); return TN_OK;
    case TN_OP_experts: return plan_experts(p, node);
    case TN_OP_expert_linear: plan_expert_linear(p, node); return TN_OK;
    case TN_OP_attend: return plan_attend(p, node);
    case TN_OP_pool: plan_pool(p, node); return TN_OK;
    case TN_OP_output: plan_output(p, node); return TN_OK;
    default:
        if (!plan_link(p, node)) { plan_rowwise(p, node); }
        return TN_OK;
    }
}

int32_t cpu_plan_phases(cpu_plan *plan, const tn_compile *compile, tn_error *err) {
    const tn_host *host = plan->backend->host;
    const tn_graph *graph = plan->graph;
    planner p = {.plan = plan, .compile = compile, .err = err};
    p.absorbed = host->alloc(host, (uint64_t)graph->node_count + 1, 1);
    if (!p.absorbed) { TN_FAIL(err, TN_E_MEMORY, "no memory for the nodes of a plan"); }
    memset(p.absorbed, 0, graph->node_count + 1u);
    absorb_all(&p);
    add_phase(&p, CPU_PHASE_TABLES, TN_ROWS_T);
    int32_t code = TN_OK;
    for (uint32_t n = 0; n < graph->node_count && code == TN_OK; n++) { code = plan_node(&p, n); }
    if (code == TN_OK) { flush(&p); }
    host->free(host, p.absorbed);
    return code;
}
