/*
 * importance_collect.c - what goes into a model's matrices, summed while it runs.
 *
 * The input of a plain matrix is a value of the graph; those that share one are watched once. Inside `experts`
 * the first matrices share the op's input, the last one gets what is between; there, and in `expert_linear`, the
 * backend says which expert it is. Sums of a running chunk stand apart until it is whole, so that one that failed
 * leaves nothing behind.
 */
#include "importance_state.h"

#include "checked.h"
#include "gguf_value.h"
#include "model_state.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* ---- while a step runs ----------------------------------------------------------------------------------- */

static void add(tn_importance_source *source, uint64_t expert, const float *x) {
    double *sums = source->sums + expert * source->columns;
    for (uint64_t c = 0; c < source->columns; c++) { sums[c] += (double)x[c] * x[c]; }
    source->counts[expert]++;
}

static void take(void *context, uint32_t value, uint32_t row, const float *data, uint32_t width) {
    (void)value, (void)row, (void)width;
    add(context, 0, data);
}

static void take_input(void *context, uint32_t weight, uint32_t expert, uint32_t row, const float *data,
                       uint32_t width) {
    (void)weight, (void)row, (void)width;
    add(context, expert, data);
}

/* ---- what to watch --------------------------------------------------------------------------------------- */

/* A walk over a model's graph. */
typedef struct watch {
    tn_importance *importance;
    const tn_graph *graph;
} watch;

static int32_t no_memory(tn_error *err) {
    TN_FAIL(err, TN_E_MEMORY, "no memory for the sums of what goes into the matrices");
}

static int32_t add_source(const watch *w, const tn_weight *weight, const tn_capture *capture, tn_error *err) {
    tn_importance *importance = w->importance;
    uint32_t number = importance->source_count;
    tn_importance_source *source = &importance->sources[number];
    uint64_t numbers;
    if (!tn_mul_u64(weight->cols, weight->count, &numbers)) { return no_memory(err); }
    *source =
        (tn_importance_source){.name = weight->name,
                               .columns = weight->cols,
                               .experts = weight->count,
                               .sums = tn_arena_array(&importance->arena, numbers, sizeof(double)),
                               .counts = tn_arena_array(&importance->arena, weight->count, sizeof(double))};
    if (!source->sums || !source->counts) { return no_memory(err); }
    importance->captures[number] = *capture;
    importance->captures[number].context = source;
    importance->source_count++;
    return TN_OK;
}

static int32_t add_link(const watch *w, const tn_weight *weight, uint32_t source, tn_error *err) {
    tn_importance_link *link = &w->importance->links[w->importance->link_count];
    if (strlen(weight->name) + sizeof ".in_sum2" - 1 > TN_TENSOR_NAME_MAX) {
        TN_FAIL(err, TN_E_INPUT,
                "tensor %s: an importance file has no room for a name of more than %zu bytes", weight->name,
                TN_TENSOR_NAME_MAX - (sizeof ".in_sum2" - 1));
    }
    link->source = source;
    TN_TRY(tn_importance_entry(w->importance, weight->name, weight->cols, weight->count, &link->entry, err));
    w->importance->link_count++;
    return TN_OK;
}

static const tn_weight *weight_of(const watch *w, const tn_node *node, uint32_t slot) {
    return node->weights[slot] ? w->graph->weights[node->weights[slot] - 1] : NULL;
}

static int32_t watch_linear(const watch *w, const tn_node *node, tn_error *err) {
    const tn_weight *weight = weight_of(w, node, 0);
    uint32_t source = 0;
    while (source < w->importance->source_count && w->importance->captures[source].value != node->inputs[0]) {
        source++;
    }
    if (source == w->importance->source_count) {
        TN_TRY(add_source(w, weight, &(tn_capture){.value = node->inputs[0], .take = take}, err));
    }
    return add_link(w, weight, source, err);
}

/* Gate (if there is one) and up get the same; down gets what they make. */
static int32_t watch_experts(const watch *w, const tn_node *node, tn_error *err) {
    const tn_weight *gate = weight_of(w, node, 0), *up = weight_of(w, node, 1), *down = weight_of(w, node, 2);
    uint32_t source = w->importance->source_count;
    TN_TRY(add_source(w, up, &(tn_capture){.weight = node->weights[1], .take_input = take_input}, err));
    if (gate) { TN_TRY(add_link(w, gate, source, err)); }
    TN_TRY(add_link(w, up, source, err));
    TN_TRY(add_source(w, down, &(tn_capture){.weight = node->weights[2], .take_input = take_input}, err));
    return add_link(w, down, source + 1, err);
}

static int32_t watch_expert_linear(const watch *w, const tn_node *node, tn_error *err) {
    const tn_weight *weight = weight_of(w, node, 0);
    const tn_capture capture = {.weight = node->weights[0], .take_input = take_input};
    TN_TRY(add_source(w, weight, &capture, err));
    return add_link(w, weight, w->importance->source_count - 1, err);
}

int32_t tn_importance_collect(tn_importance *importance, const tn_model *model, uint32_t output,
                              tn_error *err) {
    const watch w = {importance, model->match.graph};
    uint32_t nodes = w.graph->node_count;
    if (importance->sources) { TN_FAIL(err, TN_E_INPUT, "the importance collects from a model already"); }
    if (!importance->total.chunk_size) { importance->total.chunk_size = TN_IMPORTANCE_CHUNK; }
    importance->sources = tn_arena_array(&importance->arena, nodes, 2 * sizeof *importance->sources);
    importance->captures = tn_arena_array(&importance->arena, nodes, 2 * sizeof *importance->captures);
    importance->links = tn_arena_array(&importance->arena, nodes, 3 * sizeof *importance->links);
    if (!importance->sources || !importance->captures || !importance->links) { return no_memory(err); }
    for (uint32_t n = 0; n < nodes; n++) {
        const tn_node *node = w.graph->nodes[n];
        if (node->layer < 0 && !output) { continue; }
        if (node->weights[0] > model->match.own_weight_count) { continue; } /* an adapter's */
        if (node->op == TN_OP_linear) { TN_TRY(watch_linear(&w, node, err)); }
        if (node->op == TN_OP_experts) { TN_TRY(watch_experts(&w, node, err)); }
        if (node->op == TN_OP_expert_linear) { TN_TRY(watch_expert_linear(&w, node, err)); }
    }
    if (!importance->source_count) { TN_FAIL(err, TN_E_INPUT, "the model has no matrix in a layer"); }
    return TN_OK;
}

const tn_capture *tn_importance_captures(const tn_importance *importance, uint32_t *count) {
    *count = importance->source_count;
    return importance->captures;
}

/* ---- the end of a chunk ---------------------------------------------------------------------------------- */

/* Squares of floats fit into a double: a sum that is none has met one that was none. */
static int32_t check_sums(const tn_importance *importance, tn_error *err) {
    for (uint32_t s = 0; s < importance->source_count; s++) {
        const tn_importance_source *source = &importance->sources[s];
        for (uint64_t c = 0; c < source->columns * source->experts; c++) {
            if (isfinite(source->sums[c])) { continue; }
            TN_FAIL(err, TN_E_FAILED, "%s: what goes into column %" PRIu64 " is not finite (NaN or infinite)",
                    source->name, c % source->columns);
        }
    }
    return TN_OK;
}

static void count_sums(tn_importance *importance) {
    for (uint32_t l = 0; l < importance->link_count; l++) {
        const tn_importance_source *source = &importance->sources[importance->links[l].source];
        tn_imatrix_entry *entry = &importance->total.entries[importance->links[l].entry];
        for (uint64_t x = 0; x < source->experts; x++) {
            entry->counts[x] = tn_importance_final(entry->counts[x] + source->counts[x]);
        }
        for (uint64_t c = 0; c < source->columns * source->experts; c++) {
            entry->sums[c] = tn_importance_final(entry->sums[c] + source->sums[c]);
        }
    }
}

int32_t tn_importance_end_chunk(tn_importance *importance, uint32_t keep, tn_error *err) {
    int32_t code = keep ? check_sums(importance, err) : TN_OK;
    if (keep && code == TN_OK) {
        code = tn_importance_tokens(importance, importance->total.chunk_size, err);
        if (code == TN_OK) { count_sums(importance); }
    }
    for (uint32_t s = 0; s < importance->source_count; s++) {
        tn_importance_source *source = &importance->sources[s];
        memset(source->sums, 0, source->columns * source->experts * sizeof *source->sums);
        memset(source->counts, 0, source->experts * sizeof *source->counts);
    }
    return code;
}
