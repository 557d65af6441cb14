/* abi_view.c - refuses to pass what the reader would silently skip. */
#include "abi_view.h"
#include "graph_check.h"

static const char *const struct_names[] = {
#define NAME(name) #name,
    TN_STRUCTS(NAME)
#undef NAME
};

static const uint32_t struct_sizes[] = {
#define SIZE(name) (uint32_t)sizeof(name),
    TN_STRUCTS(SIZE)
#undef SIZE
};

void tn_view_init(tn_abi_view *view, const tn_entry *entry) {
    view->plugin = tn_entry_info(entry)->id;
    for (uint32_t i = 0; i < TN_STRUCT_COUNT; i++) {
        uint32_t theirs = tn_entry_struct_size(entry, i);
        view->sizes[i] = theirs < struct_sizes[i] ? theirs : struct_sizes[i];
    }
}

int32_t tn_view_check(const tn_abi_view *view, const void *p, uint32_t size, uint32_t number, tn_error *err) {
    const unsigned char *bytes = p;
    for (uint32_t i = view->sizes[number]; i < size; i++) {
        if (bytes[i]) {
            TN_FAIL(err, TN_E_PLUGIN_ABI, "%s knows %u bytes of %s, byte %u is needed", view->plugin,
                    view->sizes[number], struct_names[number], i);
        }
    }
    return TN_OK;
}

int32_t tn_view_check_graph(const tn_abi_view *view, const tn_graph *graph, tn_error *err) {
    for (uint32_t i = 0; i < graph->node_count; i++) {
        const tn_node *node = graph->nodes[i];
        TN_TRY(tn_view_check(view, node, sizeof *node, TN_STRUCT_tn_node, err));
        TN_TRY(tn_view_check(view, node->attributes, tn_op_attribute_size(node->op),
                             tn_op_attribute_struct(node->op), err));
    }
    for (uint32_t i = 0; i < graph->value_count; i++) {
        TN_TRY(tn_view_check(view, graph->values[i], sizeof(tn_value), TN_STRUCT_tn_value, err));
    }
    for (uint32_t i = 0; i < graph->weight_count; i++) {
        const tn_weight *weight = graph->weights[i];
        if (weight) { TN_TRY(tn_view_check(view, weight, sizeof *weight, TN_STRUCT_tn_weight, err)); }
    }
    return TN_OK;
}
