/*
 * session.h - a session: a compiled plan, a cache in groups of pages, and the sequences in it.
 *
 * session.c makes and frees them, session_run.c cuts feeds into steps and runs them.
 */
#ifndef TENON_SESSION_H
#define TENON_SESSION_H

#include "groups.h"
#include "model_state.h"
#include "pages.h"

#include <stdatomic.h>

/** What one feed puts into a step. */
typedef struct tn_piece {
    uint32_t feed;    /**< its number */
    uint32_t rows;    /**< tokens, from the feed's `done` on */
    uint32_t outputs; /**< rows of output that it asks for */
} tn_piece;

/** One step on its way to the backend. The arrays are made once, for the largest step. */
typedef struct tn_step_buffer {
    tn_step step;
    int32_t *tokens, *position;
    uint32_t *sequence, *index, *output_rows;
    tn_sequence *entries;
    const tn_sequence **entry_list;
    const uint32_t **pages; /**< group_count for each entry */
    float **outputs;        /**< for each output node; the first is the one that feeds ask for */
    tn_piece *pieces;
    uint32_t piece_count;
    int in_line;    /**< 1: what the pieces ask for is to lie one behind the other */
    uint32_t *done; /**< by feed: tokens that earlier steps of this run have taken */
    float *frames;  /**< of a step that has those of several sequences */
    const float *ports[1];
    float *gathered; /**< else: outputs of a step, at most `sequence_limit` rows */
} tn_step_buffer;

struct tn_session {
    tn_model *model;
    const tn_match *match;
    tn_arena arena;
    uint32_t step_rows, sequence_limit, sequence_count;
    uint32_t pages_per_sequence;
    uint32_t output_nodes;
    uint64_t run_number;
    atomic_uint cancelled;
    void *plan, *cache;
    tn_memory plan_memory;
    tn_groups groups;
    tn_page_pool *pools; /**< one a group */
    tn_capture *captures;
    const tn_capture **capture_list;
    uint32_t capture_count;
    tn_step_buffer buffer;
    tn_seq *sequences; /**< a list */
};

struct tn_sequence_state {
    tn_session *session;
    tn_seq *next, *previous;
    uint32_t length;
    uint64_t run_number;    /**< of the run that it was last part of */
    tn_page_table tables[]; /**< one a group */
};

#endif
