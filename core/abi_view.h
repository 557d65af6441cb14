/*
 * abi_view.h - what a plugin's reader sees of our structs.
 *
 * A plugin that was compiled with older headers skips members that it does not know. Where such a member
 * would change a result, zero means "as before", and a struct that is not zero beyond the reader's size is
 * not passed.
 */
#ifndef TENON_ABI_VIEW_H
#define TENON_ABI_VIEW_H

#include "registry.h"

/** The negotiated size of every struct, by TN_STRUCT_*. */
typedef struct tn_abi_view {
    const char *plugin; /**< its id, for messages; lives as long as the engine */
    uint32_t sizes[TN_STRUCT_COUNT];
} tn_abi_view;

/** Sizes as the open plugin and this host agree on them. */
void tn_view_init(tn_abi_view *view, const tn_entry *entry);

/** TN_OK, or TN_E_PLUGIN_ABI: `size` bytes at `p`, a struct of that number, say something the reader cannot
 * see. */
int32_t tn_view_check(const tn_abi_view *view, const void *p, uint32_t size, uint32_t number, tn_error *err);

/** The same for all nodes of a graph, their attributes, its values and weights. */
int32_t tn_view_check_graph(const tn_abi_view *view, const tn_graph *graph, tn_error *err);

/** Stamps *p, a struct of the given type, with the negotiated size and checks what lies beyond. */
#define TN_VIEW(view, p, type, err)                                                                          \
    ((p)->struct_size = (view)->sizes[TN_STRUCT_##type],                                                     \
     tn_view_check((view), (p), (uint32_t)sizeof(type), TN_STRUCT_##type, (err)))

#endif
