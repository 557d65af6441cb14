/*
 * graph_check.h - what each op asks of its operands and attributes, and the facts about ops that others need.
 */
#ifndef TENON_GRAPH_CHECK_H
#define TENON_GRAPH_CHECK_H

#include "tenon/errors.h"
#include "tenon/graph.h"

/** What is built so far: what a node's operands are looked up in. */
typedef struct tn_graph_scope {
    tn_node *const *nodes;
    tn_value *const *values; /**< values[v - 1] is value v */
    uint32_t value_count;
    const tn_weight *const *weights; /**< weights[w - 1] is weight w, NULL: claimed but absent */
    uint32_t weight_count;
} tn_graph_scope;

/** The values that a node makes. */
typedef struct tn_graph_results {
    uint32_t count; /**< 0: an output */
    uint32_t rows;  /**< TN_ROWS_* */
    uint32_t kind;  /**< TN_VALUE_* */
    uint32_t widths[4];
} tn_graph_results;

/** The op's name ("linear"); "op 99" has none: NULL. */
const char *tn_op_name(int32_t op);
/** Bytes of its attributes as this host was compiled, and their number in TN_STRUCTS. */
uint32_t tn_op_attribute_size(int32_t op);
uint32_t tn_op_attribute_struct(int32_t op);

/**
 * Checks a node of a known op whose attributes are complete. TN_E_GRAPH, with a message that names the node,
 * or TN_OK and what it makes.
 */
int32_t tn_graph_check_node(const tn_graph_scope *scope, const tn_node *node, tn_graph_results *out,
                            tn_error *err);

/** Fails with TN_E_GRAPH and "name (op): text". */
TN_PRINTF(3, 4) int32_t tn_node_wrong(const tn_node *node, tn_error *err, const char *format, ...);

#endif
