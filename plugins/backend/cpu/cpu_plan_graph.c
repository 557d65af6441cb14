/*
 * cpu_plan_graph.c - what the planner knows of the values before it forms phases: which are views of which,
 * how often each is read, which are captured, and for which rows each must be computed.
 *
 * rows() keeps the rows asked for. It is moved up here: a value that is needed for those rows only, through
 * rowwise ops, is computed for those rows only, back to the last op that mixes rows (attend, pool) or to a
 * value that someone needs whole. rows() itself is then a view.
 */
#include "cpu.h"

#include <string.h>

uint32_t cpu_plan_base(const cpu_plan *plan, uint32_t value) {
    return plan->values[value - 1].base;
}

static uint32_t result_count(const tn_node *node) {
    if (node->op == TN_OP_split) { return ((const tn_split *)node->attributes)->count; }
    return node->op == TN_OP_output ? 0 : 1;
}

static bool is_view(const tn_node *node) {
    return node->op == TN_OP_split || node->op == TN_OP_mark || node->op == TN_OP_rows;
}

static void set_values(cpu_plan *plan, const tn_node *node) {
    uint32_t column = 0;
    for (uint32_t i = 0; i < result_count(node); i++) {
        uint32_t v = node->result - 1 + i;
        cpu_value *value = &plan->values[v];
        value->base = v;
        value->width = plan->graph->values[v]->width;
        if (node->op == TN_OP_route) { value->width *= 2; }
        value->output = CPU_NONE;
        value->first = CPU_NONE;
        if (is_view(node)) {
            const cpu_value *of = &plan->values[node->inputs[0] - 1];
            value->base = of->base;
            value->column = of->column + column;
            column += value->width;
        }
    }
}

/* Rows of a node: all, if a result is needed whole. `whole` is by value. */
static uint32_t node_domain(const cpu_plan *plan, const tn_node *node, const bool *whole) {
    uint32_t results = result_count(node);
    uint32_t rows = plan->graph->values[(results ? node->result : node->inputs[0]) - 1]->rows;
    if (rows != TN_ROWS_T || node->op == TN_OP_attend) { return rows; }
    for (uint32_t i = 0; i < results; i++) {
        if (whole[node->result - 1 + i]) { return TN_ROWS_T; }
    }
    return TN_ROWS_O;
}

/* From the last node to the first: who needs all rows of what. */
static void set_domains(cpu_plan *plan, bool *whole) {
    const tn_graph *graph = plan->graph;
    for (uint32_t n = graph->node_count; n-- > 0;) {
        const tn_node *node = graph->nodes[n];
        uint32_t domain = node_domain(plan, node, whole);
        for (uint32_t i = 0; i < result_count(node); i++) {
            plan->values[node->result - 1 + i].domain = domain;
        }
        if (domain != TN_ROWS_T && node->op != TN_OP_pool) { continue; }
        for (uint32_t i = 0; i < TN_NODE_INPUTS && node->inputs[i]; i++) {
            whole[node->inputs[i] - 1] = true;
        }
    }
}

static void count_uses(cpu_plan *plan) {
    const tn_graph *graph = plan->graph;
    for (uint32_t n = 0; n < graph->node_count; n++) {
        const tn_node *node = graph->nodes[n];
        if (is_view(node)) { continue; }
        for (uint32_t i = 0; i < TN_NODE_INPUTS && node->inputs[i]; i++) {
            plan->values[cpu_plan_base(plan, node->inputs[i])].uses++;
        }
    }
}

uint32_t cpu_expert_matrices(const tn_node *node) {
    return node->op == TN_OP_experts ? 3 : node->op == TN_OP_expert_linear ? 1 : 0;
}

/* Marks whole what the experts of this matrix compute: 0 if there are none. */
static bool keep_experts_whole(const cpu_plan *plan, uint32_t weight, bool *whole) {
    bool found = false;
    for (uint32_t n = 0; n < plan->graph->node_count; n++) {
        const tn_node *node = plan->graph->nodes[n];
        for (uint32_t slot = 0; slot < cpu_expert_matrices(node); slot++) {
            if (!weight || node->weights[slot] != weight) { continue; }
            whole[node->result - 1] = plan->graph->values[node->result - 1]->rows == TN_ROWS_T;
            found = true;
        }
    }
    return found;
}

static int32_t set_captures(cpu_plan *plan, const tn_compile *compile, bool *whole, tn_error *err) {
    for (uint32_t i = 0; i < compile->weight_capture_count; i++) {
        if (keep_experts_whole(plan, compile->weight_captures[i], whole)) { continue; }
        TN_FAIL(err, TN_E_INPUT, "capture of the inputs of weight %u, which is no matrix of experts",
                compile->weight_captures[i]);
    }
    for (uint32_t i = 0; i < compile->capture_count; i++) {
        uint32_t v = compile->captures[i];
        if (v < 1 || v > plan->value_count) {
            TN_FAIL(err, TN_E_INPUT, "capture of value %u, the graph has %u", v, plan->value_count);
        }
        whole[v - 1] = plan->graph->values[v - 1]->rows == TN_ROWS_T;
        plan->values[cpu_plan_base(plan, v)].captured = true;
    }
    return TN_OK;
}

/* An output that is the only reader of a whole value that has its rows is where the value is written to. */
static void set_outputs(cpu_plan *plan) {
    const tn_graph *graph = plan->graph;
    for (uint32_t n = 0; n < graph->node_count; n++) {
        const tn_node *node = graph->nodes[n];
        if (node->op != TN_OP_output) { continue; }
        const cpu_value *value = &plan->values[node->inputs[0] - 1];
        cpu_value *base = &plan->values[value->base];
        const tn_node *maker = graph->nodes[graph->values[value->base]->node];
        if (base->uses == 1 && !base->captured && base->width == value->width && base->domain != TN_ROWS_T &&
            maker->op != TN_OP_pool) {
            base->output = plan->output_count;
        }
        plan->outputs[plan->output_count++] = node;
    }
}

int32_t cpu_plan_values(cpu_plan *plan, const tn_compile *compile, tn_error *err) {
    const tn_host *host = plan->backend->host;
    const tn_graph *graph = plan->graph;
    bool *whole = host->alloc(host, (uint64_t)plan->value_count + 1, 1);
    if (!whole) { TN_FAIL(err, TN_E_MEMORY, "no memory for the values of a plan"); }
    memset(whole, 0, plan->value_count + 1u);
    for (uint32_t n = 0; n < graph->node_count; n++) { set_values(plan, graph->nodes[n]); }
    int32_t code = set_captures(plan, compile, whole, err);
    if (code == TN_OK) {
        set_domains(plan, whole);
        count_uses(plan);
        set_outputs(plan);
    }
    host->free(host, whole);
    return code;
}
