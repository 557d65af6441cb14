/*
 * groups.c - layer groups from the graph's attends, and the question to the backend.
 */
#include "groups.h"

#include "pages.h"

enum { DEFAULT_STEP_ROWS = 512 };

uint32_t tn_groups_step_rows(const tn_match *m) {
    return m->whole && m->context > DEFAULT_STEP_ROWS ? m->context : DEFAULT_STEP_ROWS;
}

static int same_group(const tn_cache_group *group, const tn_attend *attend) {
    return group->kv_heads == attend->kv_heads && group->key_dim == attend->key_dim &&
           group->value_dim == attend->value_dim && group->window == attend->window;
}

static tn_cache_group *group_for(const tn_match *m, tn_arena *arena, tn_groups *all,
                                 const tn_attend *attend) {
    for (uint32_t g = 0; g < all->count; g++) {
        if (same_group(&all->groups[g], attend)) { return &all->groups[g]; }
    }
    tn_cache_group *group = &all->groups[all->count++];
    *group = (tn_cache_group){.kind = TN_GROUP_PAGED,
                              .page_tokens = TN_PAGE_TOKENS,
                              .slots = tn_arena_array(arena, m->graph->slot_count, sizeof *group->slots),
                              .kv_heads = attend->kv_heads,
                              .key_dim = attend->key_dim,
                              .value_dim = attend->value_dim,
                              .window = attend->window,
                              .key_format = m->cache_format,
                              .value_format = m->cache_format,
                              .key_self = m->cache_self,
                              .value_self = m->cache_self};
    return group;
}

static int32_t no_memory(tn_error *err) {
    TN_FAIL(err, TN_E_MEMORY, "no memory for the groups of the cache");
}

int32_t tn_groups_form(const tn_match *m, tn_arena *arena, tn_groups *out, tn_error *err) {
    const tn_graph *graph = m->graph;
    *out = (tn_groups){.groups = tn_arena_array(arena, graph->slot_count, sizeof *out->groups),
                       .list = tn_arena_array(arena, graph->slot_count, sizeof *out->list)};
    if (!out->groups || !out->list) { return no_memory(err); }
    for (uint32_t i = 0; i < graph->node_count; i++) {
        const tn_attend *attend = graph->nodes[i]->attributes;
        if (graph->nodes[i]->op != TN_OP_attend || !attend->cached) { continue; }
        tn_cache_group *group = group_for(m, arena, out, attend);
        if (!group->slots) { return no_memory(err); }
        ((uint32_t *)group->slots)[group->slot_count++] = attend->slot;
    }
    for (uint32_t g = 0; g < out->count; g++) {
        TN_TRY(TN_VIEW(&m->view, &out->groups[g], tn_cache_group, err));
        out->list[g] = &out->groups[g];
    }
    return TN_OK;
}

int32_t tn_groups_ask(const tn_match *m, const tn_groups *groups, uint32_t rows, uint32_t sequences,
                      tn_asked *out, tn_error *err) {
    out->limits = (tn_limits){.rows = rows,
                              .output_rows = rows,
                              .sequences = sequences,
                              .pages_per_sequence = groups->count ? tn_pages_for(m->context) : 0};
    out->compile = (tn_compile){
        .group_count = groups->count, .graph = m->graph, .limits = &out->limits, .groups = groups->list};
    TN_TRY(TN_VIEW(&m->view, &out->limits, tn_limits, err));
    return TN_VIEW(&m->view, &out->compile, tn_compile, err);
}
