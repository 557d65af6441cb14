/* cpu_test_graph.c - graphs by hand, with random weights. */
#include "cpu_test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void test_graph_init(test_graph *g, uint64_t seed) {
    memset(g, 0, sizeof *g);
    g->random.state = seed;
    g->graph = (tn_graph){.struct_size = sizeof g->graph,
                          .nodes = g->node_list,
                          .values = g->value_list,
                          .weights = g->weight_list};
}

void test_graph_free(test_graph *g) {
    for (uint32_t i = 0; i < g->owned_count; i++) { free(g->owned[i]); }
}

static void *own(test_graph *g, size_t size) {
    void *memory = calloc(1, size);
    cr_assert(memory && g->owned_count < TEST_WEIGHTS + TEST_NODES);
    return g->owned[g->owned_count++] = memory;
}

/* Random blocks: floats around 0, or int8 codes with a small scale. */
static void fill(test_graph *g, const tn_format *format, uint64_t count, float size, unsigned char *data) {
    for (uint64_t i = 0; i < count; i++) {
        float x = test_uniform(&g->random);
        if (format->block == 1) {
            x *= size;
            memcpy(data + i * sizeof x, &x, sizeof x);
            continue;
        }
        unsigned char *block = data + i / format->block * format->block_bytes;
        float scale = size / 127;
        memcpy(block, &scale, sizeof scale);
        block[4 + i % format->block] = (unsigned char)(int8_t)(x * 127);
    }
}

uint32_t test_weight(test_graph *g, const tn_format *format, const char *name, uint32_t rows, uint32_t cols) {
    uint32_t id = ++g->graph.weight_count;
    cr_assert(id <= TEST_WEIGHTS && cols % format->block == 0);
    uint64_t row_bytes = (uint64_t)cols / format->block * format->block_bytes;
    unsigned char *data = own(g, row_bytes * rows);
    fill(g, format, (uint64_t)rows * cols, rows == 1 ? 1.0f : 2.0f / sqrtf((float)cols), data);
    g->weights[id - 1] = (tn_weight){.struct_size = sizeof(tn_weight),
                                     .id = id,
                                     .name = name,
                                     .format = format,
                                     .cols = cols,
                                     .rows = rows,
                                     .count = 1,
                                     .row_bytes = row_bytes,
                                     .size = row_bytes * rows,
                                     .data = data};
    g->weight_list[id - 1] = &g->weights[id - 1];
    return id;
}

static uint32_t result_width(const test_graph *g, const tn_node *node, const void *attributes,
                             uint32_t result) {
    uint32_t a = node->inputs[0] ? g->values[node->inputs[0] - 1].width : 0;
    uint32_t b = node->inputs[1] ? g->values[node->inputs[1] - 1].width : 0;
    switch (node->op) {
    case TN_OP_embed: return (uint32_t)g->weights[node->weights[0] - 1].cols;
    case TN_OP_input: return ((const tn_input *)attributes)->width;
    case TN_OP_linear: return (uint32_t)g->weights[node->weights[0] - 1].rows;
    case TN_OP_split: return ((const tn_split *)attributes)->widths[result];
    case TN_OP_attend: {
        const tn_attend *attend = attributes;
        return attend->heads * attend->value_dim;
    }
    case TN_OP_mul: return a > b ? a : b;
    default: return a;
    }
}

/* Not inlined: gcc 12 would warn of the cases that other ops take. */
__attribute__((noinline)) uint32_t test_node(test_graph *g, const tn_node *node, const void *attributes,
                                             size_t size) {
    tn_node *made = &g->nodes[g->graph.node_count];
    uint32_t results = node->op == TN_OP_split    ? ((const tn_split *)attributes)->count
                       : node->op == TN_OP_output ? 0
                                                  : 1;
    cr_assert(g->graph.node_count < TEST_NODES && g->graph.value_count + results <= TEST_NODES);
    *made = *node;
    made->struct_size = sizeof *made;
    made->attributes = memcpy(own(g, size), attributes, size);
    made->result = results ? g->graph.value_count + 1 : 0;
    for (uint32_t i = 0; i < TN_NODE_INPUTS && node->inputs[i]; i++) {
        g->values[node->inputs[i] - 1].uses++;
    }
    for (uint32_t i = 0; i < results; i++) {
        tn_value *value = &g->values[g->graph.value_count];
        uint32_t rows = node->inputs[0] ? g->values[node->inputs[0] - 1].rows : TN_ROWS_T;
        *value = (tn_value){.struct_size = sizeof *value,
                            .rows = node->op == TN_OP_rows   ? TN_ROWS_O
                                    : node->op == TN_OP_pool ? TN_ROWS_S
                                                             : rows,
                            .width = result_width(g, node, attributes, i),
                            .node = g->graph.node_count};
        g->value_list[g->graph.value_count++] = value;
    }
    g->node_list[g->graph.node_count++] = made;
    return made->result;
}

uint32_t test_embed(test_graph *g, const char *name, uint32_t w) {
    tn_embed a = {sizeof a, TN_EMBED_TOKEN, 1};
    return test_node(g, &(tn_node){.op = TN_OP_embed, .name = name, .weights = {w}}, &a, sizeof a);
}

uint32_t test_norm(test_graph *g, const char *name, uint32_t x, uint32_t w, uint32_t groups) {
    tn_norm a = {sizeof a, TN_NORM_RMS, groups, 0, 1e-5};
    return test_node(g, &(tn_node){.op = TN_OP_norm, .name = name, .inputs = {x}, .weights = {w}}, &a,
                     sizeof a);
}

uint32_t test_linear(test_graph *g, const char *name, uint32_t x, uint32_t w, uint32_t bias) {
    tn_linear a = {sizeof a, 0};
    return test_node(g, &(tn_node){.op = TN_OP_linear, .name = name, .inputs = {x}, .weights = {w, bias}}, &a,
                     sizeof a);
}

uint32_t test_rope(test_graph *g, const char *name, uint32_t x, uint32_t heads, uint32_t pairing) {
    uint32_t dim = g->values[x - 1].width / heads;
    double *frequencies = own(g, dim / 2 * sizeof *frequencies);
    for (uint32_t i = 0; i < dim / 2; i++) { frequencies[i] = pow(10000, -2.0 * i / dim); }
    tn_rope a = {sizeof a, heads, dim, dim, pairing, 0, frequencies, 1};
    return test_node(g, &(tn_node){.op = TN_OP_rope, .name = name, .inputs = {x}}, &a, sizeof a);
}

uint32_t test_plain(test_graph *g, int32_t op, const char *name, uint32_t a, uint32_t b, double factor) {
    tn_scale attributes = {sizeof attributes, 0, factor};
    return test_node(g, &(tn_node){.op = op, .name = name, .inputs = {a, b}}, &attributes, sizeof attributes);
}

uint32_t test_glu(test_graph *g, const char *name, uint32_t gate, uint32_t up) {
    tn_glu a = {sizeof a, TN_ACT_SILU, 1, 0, 0};
    return test_node(g, &(tn_node){.op = TN_OP_glu, .name = name, .inputs = {gate, up}}, &a, sizeof a);
}

uint32_t test_attend(test_graph *g, const char *name, uint32_t q, uint32_t k, uint32_t v,
                     const tn_attend *attend) {
    return test_node(g, &(tn_node){.op = TN_OP_attend, .name = name, .inputs = {q, k, v}}, attend,
                     sizeof *attend);
}

void test_output(test_graph *g, uint32_t x) {
    tn_output a = {sizeof a, TN_OUTPUT_LOGITS};
    test_node(g, &(tn_node){.op = TN_OP_output, .name = "output", .inputs = {x}}, &a, sizeof a);
}
