/*
 * importance_state.h - what an importance holds: sums that are final, and those of the chunk that is running.
 *
 * importance.c makes, merges, writes and tells; importance_collect.c knows what goes into which matrix.
 */
#ifndef TENON_IMPORTANCE_STATE_H
#define TENON_IMPORTANCE_STATE_H

#include "graph_arena.h"
#include "imatrix.h"

#include "tenon/importance.h"

#include <float.h>

enum { TN_IMPORTANCE_CHUNK = 512 }; /* tokens, if nobody says */

/** One input that is watched: of one or more plain matrices, or of one or two matrices of experts. */
typedef struct tn_importance_source {
    const char *name; /**< of the first matrix that it goes into */
    uint64_t columns, experts;
    double *sums, *counts; /**< of the chunk that is running, as in an entry */
} tn_importance_source;

/** A source goes into an entry. */
typedef struct tn_importance_link {
    uint64_t entry;
    uint32_t source;
} tn_importance_link;

struct tn_importance {
    tn_imatrix total;
    uint64_t tokens;  /**< of all chunks counted */
    uint32_t unsized; /**< files merged that do not tell their chunks' tokens */
    tn_arena arena;   /**< of what follows */
    tn_importance_source *sources;
    tn_capture *captures; /**< one a source */
    tn_importance_link *links;
    uint32_t source_count, link_count;
};

/**
 * A sum or a count as a file holds it. What is final is kept so, rounded after each chunk and each file: then a run
 * that goes on with a file adds the same numbers as one that never stopped. What is too large for a float32 stays, and
 * is refused when it is written.
 */
static inline double tn_importance_final(double number) {
    return number <= FLT_MAX ? (double)(float)number : number;
}
/** The entry of a matrix, added if there is none; one of the older form is cut into experts. */
int32_t tn_importance_entry(tn_importance *importance, const char *name, uint64_t columns, uint64_t experts,
                            uint64_t *number, tn_error *err);
/** Counts `tokens` more in the total. */
int32_t tn_importance_tokens(tn_importance *importance, uint64_t tokens, tn_error *err);

#endif
