/*
 * graph_build.c - the builder: takes an architecture's nodes, keeps deep copies, and judges the whole at the
 * end.
 */
#include "graph_build.h"
#include "graph_arena.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* A list of pointers that grows by doubling. */
struct list {
    void **items;
    uint32_t count, capacity;
};

struct tn_graph_builder {
    tn_builder table;
    tn_graph graph;
    tn_arena arena;
    struct list nodes, values;
    struct list own; /* for each node, not NULL: added here, not by the architecture */
    bool adding_own;
    uint32_t own_number; /* of the adapter behind the author's node, from 1 on; 0: none */
    unsigned char *used; /* by number of a weight: a node of the finished graph reads it */
    const tn_weight *const *weights;
    const uint32_t *flags;
    uint32_t weight_count;
    tn_adapters *adapters; /* NULL: none */
    tn_error fault;        /* the first one; code TN_OK: none so far */
};

static int append(struct list *list, void *item) {
    if (list->count == list->capacity) {
        if (list->capacity > UINT32_MAX / 2) { return 0; }
        uint32_t capacity = list->capacity ? list->capacity * 2 : 64;
        void **items = realloc(list->items, capacity * sizeof *items);
        if (!items) { return 0; }
        list->items = items;
        list->capacity = capacity;
    }
    list->items[list->count++] = item;
    return 1;
}

static int32_t no_memory(tn_error *err) {
    TN_FAIL(err, TN_E_MEMORY, "no memory for the graph");
}

/* ---- copies ----------------------------------------------------------------------------------------- */

/*
 * Copies a struct of the author's size into one of ours, zeros beyond what the author knows. A newer author's
 * members must be zero where we do not know them. Returns NULL without memory, or with *unknown set.
 */
static void *copy_struct(tn_arena *arena, const void *from, uint32_t theirs, uint32_t ours, int *unknown) {
    const unsigned char *bytes = from;
    for (uint32_t i = ours; i < theirs; i++) { *unknown |= bytes[i] != 0; }
    unsigned char *copy = *unknown ? NULL : tn_arena_take(arena, ours);
    if (!copy) { return NULL; }
    memcpy(copy, from, theirs < ours ? theirs : ours);
    memcpy(copy, &ours, sizeof ours);
    return copy;
}

static uint32_t struct_size_of(const void *any) {
    uint32_t size;
    memcpy(&size, any, sizeof size);
    return size;
}

/* The node itself, under a name of our own; its attributes still are the author's. */
static int32_t copy_node(tn_graph_builder *b, const tn_node *from, tn_node **out, tn_error *err) {
    int unknown = 0;
    if (!from || from->struct_size < sizeof(tn_node)) {
        TN_FAIL(err, TN_E_GRAPH, "node %" PRIu32 ": its struct_size is %" PRIu32 ", expected at least %zu",
                b->nodes.count, from ? from->struct_size : 0, sizeof(tn_node));
    }
    if (!from->name || !from->name[0]) {
        TN_FAIL(err, TN_E_GRAPH, "node %" PRIu32 " has no name", b->nodes.count);
    }
    tn_node *node = copy_struct(&b->arena, from, from->struct_size, sizeof *node, &unknown);
    if (unknown) { TN_FAIL(err, TN_E_GRAPH, "%s: sets members that this host does not know", from->name); }
    if (!node || !(node->name = tn_arena_text(&b->arena, from->name))) { return no_memory(err); }
    *out = node;
    return TN_OK;
}

/* All attribute structs are as long as in ABI 1.0 or longer. */
static int32_t copy_attributes(tn_graph_builder *b, tn_node *node, tn_error *err) {
    int unknown = 0;
    const void *from = node->attributes;
    uint32_t ours = tn_op_attribute_size(node->op);
    if (!from || struct_size_of(from) < ours) {
        return tn_node_wrong(node, err, "its attributes have a struct_size of %" PRIu32 ", expected %" PRIu32,
                             from ? struct_size_of(from) : 0, ours);
    }
    node->attributes = copy_struct(&b->arena, from, struct_size_of(from), ours, &unknown);
    if (unknown) { return tn_node_wrong(node, err, "sets attributes that this host does not know"); }
    return node->attributes ? TN_OK : no_memory(err);
}

/* What attributes point to, once they are known to be sound. */
static int32_t copy_pointees(tn_graph_builder *b, const tn_node *node, tn_error *err) {
    if (node->op == TN_OP_rope) {
        tn_rope *rope = (tn_rope *)node->attributes;
        rope->frequencies = tn_arena_copy(&b->arena, rope->frequencies, rope->rotated / 2 * sizeof(double));
        if (!rope->frequencies) { return no_memory(err); }
    } else if (node->op == TN_OP_custom) {
        tn_custom *custom = (tn_custom *)node->attributes;
        custom->id = tn_arena_text(&b->arena, custom->id);
        custom->params = tn_arena_copy(&b->arena, custom->params, custom->params_size);
        if (!custom->id || !custom->params) { return no_memory(err); }
    }
    return TN_OK;
}

/* ---- adding ----------------------------------------------------------------------------------------- */

static tn_graph_scope scope_of(const tn_graph_builder *b) {
    return (tn_graph_scope){(tn_node *const *)b->nodes.items, (tn_value *const *)b->values.items,
                            b->values.count, b->weights, b->weight_count};
}

/* A copy that is sound; it is not part of the graph yet. */
static int32_t check_node(tn_graph_builder *b, const tn_node *from, tn_node **out, tn_graph_results *results,
                          tn_error *err) {
    tn_node *node = NULL;
    TN_TRY(copy_node(b, from, &node, err));
    if (!tn_op_name(node->op)) { return tn_node_wrong(node, err, "op %d does not exist", (int)node->op); }
    if (node->layer < -1) {
        return tn_node_wrong(node, err, "layer %d, expected -1 or more", (int)node->layer);
    }
    TN_TRY(copy_attributes(b, node, err));
    tn_graph_scope scope = scope_of(b);
    TN_TRY(tn_graph_check_node(&scope, node, results, err));
    *out = node;
    return copy_pointees(b, node, err);
}

static int32_t append_results(tn_graph_builder *b, tn_node *node, const tn_graph_results *results,
                              tn_error *err) {
    node->result = results->count ? b->values.count + 1 : 0;
    for (uint32_t i = 0; i < results->count; i++) {
        tn_value *value = tn_arena_take(&b->arena, sizeof *value);
        if (!value || !append(&b->values, value)) { return no_memory(err); }
        *value = (tn_value){.struct_size = sizeof *value,
                            .rows = results->rows,
                            .width = results->widths[i],
                            .kind = results->kind,
                            .node = b->nodes.count};
    }
    return append(&b->nodes, node) && append(&b->own, b->adding_own ? node : NULL) ? TN_OK : no_memory(err);
}

static int32_t append_node(tn_graph_builder *b, tn_node *node, const tn_graph_results *results,
                           uint32_t *result, tn_error *err) {
    TN_TRY(append_results(b, node, results, err));
    for (int i = 0; i < TN_NODE_INPUTS; i++) {
        if (node->inputs[i]) { ((tn_value *)b->values.items[node->inputs[i] - 1])->uses++; }
    }
    *result = node->result;
    return TN_OK;
}

/* ---- adapters --------------------------------------------------------------------------------------- */

/* A node of our own for the author's node `of`: its layer, its name, a word or NULL, and which of several it is. */
static int32_t take_own(tn_graph_builder *b, const tn_node *of, int32_t op, const char *word,
                        const uint32_t inputs[2], const uint32_t weights[2], const void *attributes,
                        uint32_t *result, tn_error *err) {
    char name[512];
    tn_node *copy = NULL;
    tn_graph_results results;
    int size = snprintf(name, sizeof name, "%.400s%s%s", of->name, word ? "." : "", word ? word : "");
    if (b->own_number > 1) { snprintf(name + size, sizeof name - (size_t)size, ".%" PRIu32, b->own_number); }
    const tn_node node = {.struct_size = sizeof node,
                          .op = op,
                          .name = name,
                          .layer = of->layer,
                          .inputs = {inputs[0], inputs[1]},
                          .weights = {weights[0], weights[1]},
                          .attributes = attributes};
    TN_TRY(check_node(b, &node, &copy, &results, err));
    b->adding_own = true;
    int32_t code = append_node(b, copy, &results, result, err);
    b->adding_own = false;
    return code;
}

static const uint32_t none[2];

/* y + s delta */
static int32_t add_delta(tn_graph_builder *b, const tn_node *of, double s, uint32_t delta, uint32_t *y,
                         tn_error *err) {
    const tn_scale scale = {.struct_size = sizeof scale, .factor = s}, sum = {.struct_size = sizeof sum};
    TN_TRY(take_own(b, of, TN_OP_scale, "lora", (uint32_t[2]){delta}, none, &scale, &delta, err));
    return take_own(b, of, TN_OP_add, "adapted", (uint32_t[2]){*y, delta}, none, &sum, y, err);
}

/* y + s B (A x), of experts by the same route. */
static int32_t add_product(tn_graph_builder *b, const tn_node *of, tn_adapter_pair *pair, uint32_t *y,
                           tn_error *err) {
    const tn_linear linear = {.struct_size = sizeof linear};
    uint32_t x[2] = {of->inputs[0], of->inputs[1]};
    TN_TRY(take_own(b, of, of->op, "lora_a", x, (uint32_t[2]){pair->a}, &linear, &x[0], err));
    TN_TRY(take_own(b, of, of->op, "lora_b", x, (uint32_t[2]){pair->b}, &linear, &x[0], err));
    pair->uses++;
    return add_delta(b, of, pair->scale, x[0], y, err);
}

/* y + s B a: y is a row of the table, times its scale, a that row of A. (libtenon makes no steps with rows that are given as
 * numbers: to those nothing would have to be added.) */
static int32_t add_row(tn_graph_builder *b, const tn_node *of, tn_adapter_pair *pair, uint32_t *y,
                       tn_error *err) {
    const tn_linear linear = {.struct_size = sizeof linear};
    const tn_embed *table = of->attributes;
    tn_embed embed = *table;
    uint32_t x[2] = {0};
    embed.scale = 1;
    TN_TRY(take_own(b, of, TN_OP_embed, "lora_a", none, (uint32_t[2]){pair->rows}, &embed, &x[0], err));
    TN_TRY(take_own(b, of, TN_OP_linear, "lora_b", x, (uint32_t[2]){pair->rows_b}, &linear, &x[0], err));
    pair->uses++;
    return add_delta(b, of, pair->scale * table->scale, x[0], y, err);
}

/* y + s direction: the direction is a table of one row, which every row of y gets. */
static int32_t add_direction(tn_graph_builder *b, const tn_node *of, tn_adapter_direction *d, uint32_t *y,
                             tn_error *err) {
    const tn_embed embed = {.struct_size = sizeof embed, .by = TN_EMBED_TYPE, .scale = d->scale};
    const tn_scale sum = {.struct_size = sizeof sum};
    uint32_t v;
    TN_TRY(take_own(b, of, TN_OP_embed, "direction", none, (uint32_t[2]){d->weight}, &embed, &v, err));
    d->uses++;
    return take_own(b, of, TN_OP_add, "steered", (uint32_t[2]){*y, v}, none, &sum, y, err);
}

/* What adapters add behind the last node; *y is its result, and then the sum. */
static int32_t adapt(tn_graph_builder *b, uint32_t *y, tn_error *err) {
    const tn_node *node = b->nodes.items[b->nodes.count - 1];
    bool product = node->op == TN_OP_linear || node->op == TN_OP_expert_linear;
    for (uint32_t i = 0; i < b->adapters->pair_count; i++) {
        tn_adapter_pair *pair = &b->adapters->pairs[i];
        if (pair->target != node->weights[0]) { continue; }
        b->own_number++;
        if (product) { TN_TRY(add_product(b, node, pair, y, err)); }
        if (node->op == TN_OP_embed && pair->rows) { TN_TRY(add_row(b, node, pair, y, err)); }
    }
    for (uint32_t i = 0; node->op == TN_OP_mark && i < b->adapters->direction_count; i++) {
        tn_adapter_direction *d = &b->adapters->directions[i];
        if (d->layer != node->layer) { continue; }
        b->own_number++;
        TN_TRY(add_direction(b, node, d, y, err));
    }
    b->own_number = 0;
    return TN_OK;
}

/* ---- adapters of experts ----------------------------------------------------------------------------- */

enum { GATE, UP, DOWN, BIASES };

/* An adapter changes a matrix inside of this node. */
static bool is_taken_apart(const tn_graph_builder *b, const tn_node *node) {
    for (uint32_t i = 0; node->op == TN_OP_experts && i < b->adapters->pair_count; i++) {
        for (uint32_t slot = GATE; slot <= DOWN; slot++) {
            if (b->adapters->pairs[i].target == node->weights[slot]) { return true; }
        }
    }
    return false;
}

/* The product of one matrix of each chosen expert with x, and what adapts it. */
static int32_t take_matrix(tn_graph_builder *b, const tn_node *of, uint32_t slot, uint32_t x, uint32_t *y,
                           tn_error *err) {
    static const char *const words[] = {"gate", "up", "down"};
    const tn_linear linear = {.struct_size = sizeof linear};
    const uint32_t inputs[2] = {x, of->inputs[1]},
                   weights[2] = {of->weights[slot], of->weights[slot + BIASES]};
    TN_TRY(take_own(b, of, TN_OP_expert_linear, words[slot], inputs, weights, &linear, y, err));
    return adapt(b, y, err);
}

/* The op in its parts: the same numbers, with a place for adapters behind each product. */
static int32_t take_apart(tn_graph_builder *b, const tn_node *of, uint32_t *result, tn_error *err) {
    const tn_experts *e = of->attributes;
    const tn_glu glu = {sizeof glu, e->act, e->alpha, e->limit, e->offset};
    const tn_act_op act = {sizeof act, e->act, e->alpha};
    const tn_scale sum = {.struct_size = sizeof sum};
    uint32_t h[2] = {0};
    if (of->weights[GATE]) {
        TN_TRY(take_matrix(b, of, GATE, of->inputs[0], &h[0], err));
        TN_TRY(take_matrix(b, of, UP, of->inputs[0], &h[1], err));
        TN_TRY(take_own(b, of, TN_OP_glu, "hidden", h, none, &glu, &h[0], err));
    } else {
        TN_TRY(take_matrix(b, of, UP, of->inputs[0], &h[0], err));
        TN_TRY(take_own(b, of, TN_OP_act, "hidden", h, none, &act, &h[0], err));
    }
    TN_TRY(take_matrix(b, of, DOWN, h[0], &h[0], err));
    return take_own(b, of, TN_OP_expert_sum, NULL, (uint32_t[2]){h[0], of->inputs[1]}, none, &sum, result,
                    err);
}

/* ---- the builder's table ----------------------------------------------------------------------------- */

static int32_t take_node(tn_graph_builder *b, const tn_node *from, uint32_t *result, tn_error *err) {
    tn_node *node = NULL;
    tn_graph_results results;
    TN_TRY(check_node(b, from, &node, &results, err));
    if (b->adapters && is_taken_apart(b, node)) { return take_apart(b, node, result, err); }
    TN_TRY(append_node(b, node, &results, result, err));
    return b->adapters ? adapt(b, result, err) : TN_OK;
}

bool tn_graph_builder_own(const tn_graph_builder *builder, uint32_t node) {
    return builder->own.items[node] != NULL;
}

void tn_graph_builder_adapt(tn_graph_builder *builder, tn_adapters *adapters) {
    builder->adapters = adapters;
}

static uint32_t add(const tn_builder *table, const tn_node *node) {
    tn_graph_builder *b = table->context;
    uint32_t result = 0;
    if (b->fault.code != TN_OK || take_node(b, node, &result, &b->fault) != TN_OK) { return 0; }
    return result;
}

/* ---- the whole graph -------------------------------------------------------------------------------- */

static const tn_node *node_at(const tn_graph_builder *b, uint32_t i) {
    return b->nodes.items[i];
}

static int32_t check_outputs(const tn_graph_builder *b, tn_error *err) {
    const tn_node *by_kind[TN_OUTPUT_CTC + 1] = {NULL};
    uint32_t outputs = 0;
    for (uint32_t i = 0; i < b->nodes.count; i++) {
        const tn_node *node = node_at(b, i);
        if (node->op != TN_OP_output) { continue; }
        const tn_node **seen = &by_kind[((const tn_output *)node->attributes)->kind];
        if (*seen) { return tn_node_wrong(node, err, "the same kind of output as %s", (*seen)->name); }
        *seen = node;
        outputs++;
    }
    if (!outputs) { TN_FAIL(err, TN_E_GRAPH, "the graph has no output"); }
    return TN_OK;
}

static int32_t check_values_used(const tn_graph_builder *b, tn_error *err) {
    for (uint32_t i = 0; i < b->values.count; i++) {
        const tn_value *value = b->values.items[i];
        const tn_node *node = node_at(b, value->node);
        if (!value->uses) {
            return tn_node_wrong(node, err, "result %" PRIu32 " is not used", i + 1 - node->result);
        }
    }
    return TN_OK;
}

static int32_t check_weights_used(tn_graph_builder *b, tn_error *err) {
    b->used = tn_arena_take(&b->arena, (size_t)b->weight_count + 1);
    if (!b->used) { return no_memory(err); }
    for (uint32_t i = 0; i < b->nodes.count; i++) {
        for (int k = 0; k < TN_NODE_WEIGHTS; k++) { b->used[node_at(b, i)->weights[k]] = 1; }
    }
    for (uint32_t w = 0; w < b->weight_count; w++) {
        if (b->weights[w] && !b->used[w + 1] && !(b->flags[w] & TN_CLAIM_UNUSED)) {
            TN_FAIL(err, TN_E_GRAPH, "%s is claimed and not used by any node", b->weights[w]->name);
        }
    }
    return TN_OK;
}

bool tn_graph_builder_reads(const tn_graph_builder *builder, uint32_t weight) {
    return builder->used[weight];
}

/* Slots of the cached attends are 0 to n - 1, each used once. */
static int32_t check_slots(tn_graph_builder *b, tn_error *err) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < b->nodes.count; i++) {
        const tn_node *node = node_at(b, i);
        count += node->op == TN_OP_attend && ((const tn_attend *)node->attributes)->cached;
    }
    const tn_node **owners = tn_arena_array(&b->arena, count, sizeof(tn_node *));
    if (!owners) { return no_memory(err); }
    for (uint32_t i = 0; i < b->nodes.count; i++) {
        const tn_node *node = node_at(b, i);
        const tn_attend *attend = node->attributes;
        if (node->op != TN_OP_attend || !attend->cached) { continue; }
        if (attend->slot >= count) {
            return tn_node_wrong(node, err, "cache slot %" PRIu32 ", the graph has %" PRIu32 " from 0",
                                 attend->slot, count);
        }
        if (owners[attend->slot]) {
            return tn_node_wrong(node, err, "cache slot %" PRIu32 " belongs to %s", attend->slot,
                                 owners[attend->slot]->name);
        }
        owners[attend->slot] = node;
    }
    b->graph.slot_count = count;
    return TN_OK;
}

int32_t tn_graph_builder_finish(tn_graph_builder *b, int32_t built, const tn_graph **out, tn_error *err) {
    if (b->fault.code != TN_OK) { TN_FAIL(err, b->fault.code, "%s", b->fault.text); }
    if (built != TN_OK) { return built; }
    TN_TRY(check_outputs(b, err));
    TN_TRY(check_values_used(b, err));
    TN_TRY(check_weights_used(b, err));
    TN_TRY(check_slots(b, err));
    b->graph.struct_size = sizeof b->graph;
    b->graph.node_count = b->nodes.count;
    b->graph.value_count = b->values.count;
    b->graph.weight_count = b->weight_count;
    b->graph.nodes = (const tn_node *const *)b->nodes.items;
    b->graph.values = (const tn_value *const *)b->values.items;
    b->graph.weights = b->weights;
    *out = &b->graph;
    return TN_OK;
}

int32_t tn_graph_builder_create(const tn_weight *const *weights, const uint32_t *flags, uint32_t count,
                                tn_graph_builder **out, tn_error *err) {
    tn_graph_builder *b = calloc(1, sizeof *b);
    if (!b) { return no_memory(err); }
    b->table = (tn_builder){.struct_size = sizeof b->table, .context = b, .add = add};
    b->weights = weights;
    b->flags = flags;
    b->weight_count = count;
    b->fault = (tn_error)TN_ERROR_INIT;
    *out = b;
    return TN_OK;
}

const tn_builder *tn_graph_builder_table(tn_graph_builder *builder) {
    return &builder->table;
}

void tn_graph_builder_free(tn_graph_builder *builder) {
    if (!builder) { return; }
    tn_arena_release(&builder->arena);
    free(builder->nodes.items);
    free(builder->values.items);
    free(builder->own.items);
    free(builder);
}
