/*
 * groups.h - what a backend is asked for when a graph is compiled: cache groups and limits. Fit asks with it
 * whether a plan could be made, a session has one made.
 */
#ifndef TENON_GROUPS_H
#define TENON_GROUPS_H

#include "fit.h"

typedef struct tn_groups {
    tn_cache_group *groups;
    const tn_cache_group **list;
    uint32_t count;
} tn_groups;

typedef struct tn_asked {
    tn_limits limits;
    tn_compile compile; /**< points to limits, groups and graph */
} tn_asked;

/** Rows of a step if nothing else is asked: a model that sees sequences whole gets steps that hold its
 * longest. */
uint32_t tn_groups_step_rows(const tn_match *match);
/** Groups of the graph's attends whose pages look alike. Memory of the arena. */
int32_t tn_groups_form(const tn_match *match, tn_arena *arena, tn_groups *out, tn_error *err);
/** Fills *out, which must not move afterwards. */
int32_t tn_groups_ask(const tn_match *match, const tn_groups *groups, uint32_t rows, uint32_t sequences,
                      tn_asked *out, tn_error *err);

#endif
