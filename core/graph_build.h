/*
 * graph_build.h - the builder that an architecture writes its graph into.
 *
 * Every node is checked as it comes and copied whole, so nothing of the plugin's memory is kept. The first
 * fault stays: the build fails with it.
 */
#ifndef TENON_GRAPH_BUILD_H
#define TENON_GRAPH_BUILD_H

#include "adapter.h"
#include "graph_check.h"
#include "tenon/arch.h"

#include <stdbool.h>

typedef struct tn_graph_builder tn_graph_builder;

/**
 * A builder over `count` claimed weights (entries may be NULL: absent) and the TN_CLAIM_* flags each was
 * claimed with. All must outlive it.
 */
int32_t tn_graph_builder_create(const tn_weight *const *weights, const uint32_t *flags, uint32_t count,
                                tn_graph_builder **out, tn_error *err);
/** Before build(): nodes for these follow the products and layer outputs that they change. Must outlive the builder;
 * `uses` are counted in it. */
void tn_graph_builder_adapt(tn_graph_builder *builder, tn_adapters *adapters);
/** Of a finished graph: true if a node reads weight number `weight`. */
bool tn_graph_builder_reads(const tn_graph_builder *builder, uint32_t weight);
/** True for a node that adapters added. */
bool tn_graph_builder_own(const tn_graph_builder *builder, uint32_t node);
/** The table for the architecture's build(). */
const tn_builder *tn_graph_builder_table(tn_graph_builder *builder);
/**
 * Checks the graph as a whole: outputs, cache slots, unused values and weights. `built` is what build()
 * returned, with its message in err: a fault of a node goes before it. The graph lives as long as the
 * builder.
 */
int32_t tn_graph_builder_finish(tn_graph_builder *builder, int32_t built, const tn_graph **out,
                                tn_error *err);
/** Frees the builder and its graph; NULL is fine. */
void tn_graph_builder_free(tn_graph_builder *builder);

#endif
