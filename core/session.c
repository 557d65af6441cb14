/*
 * session.c - sessions and their sequences: plan and cache, fork, truncate.
 *
 * Groups with a window hold the pages of all their tokens, as others do: tn_seq_truncate() may go back to any
 * length.
 */
#include "session.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static int32_t no_memory(tn_error *err) {
    TN_FAIL(err, TN_E_MEMORY, "no memory for the session");
}

/* ---- plan and cache --------------------------------------------------------------------------------- */

static int32_t copy_captures(tn_session *s, const tn_session_options *options, tn_error *err) {
    uint32_t count = options ? options->capture_count : 0;
    s->captures = tn_arena_array(&s->arena, count, sizeof *s->captures);
    s->capture_list = tn_arena_array(&s->arena, count, sizeof *s->capture_list);
    if (!s->captures || !s->capture_list) { return no_memory(err); }
    for (uint32_t i = 0; i < count; i++) {
        s->captures[i] = options->captures[i];
        TN_TRY(TN_VIEW(&s->match->view, &s->captures[i], tn_capture, err));
        s->capture_list[i] = &s->captures[i];
    }
    s->capture_count = count;
    return TN_OK;
}

/* The plan learns which values and which matrices' inputs its steps will be asked for. */
static int32_t ask_captures(tn_session *s, tn_compile *compile, tn_error *err) {
    uint32_t *values = tn_arena_array(&s->arena, s->capture_count, sizeof *values);
    uint32_t *weights = tn_arena_array(&s->arena, s->capture_count, sizeof *weights);
    if (!values || !weights) { return no_memory(err); }
    for (uint32_t i = 0; i < s->capture_count; i++) {
        const tn_capture *capture = &s->captures[i];
        if (capture->value) {
            values[compile->capture_count++] = capture->value;
        } else {
            weights[compile->weight_capture_count++] = capture->weight;
        }
    }
    compile->captures = values;
    compile->weight_captures = compile->weight_capture_count ? weights : NULL;
    return TN_VIEW(&s->match->view, compile, tn_compile, err);
}

static int32_t compile_plan(tn_session *s, tn_error *err) {
    const tn_match *m = s->match;
    tn_asked asked;
    TN_TRY(tn_groups_ask(m, &s->groups, s->step_rows, s->sequence_limit, &asked, err));
    TN_TRY(ask_captures(s, &asked.compile, err));
    s->plan_memory.struct_size = m->view.sizes[TN_STRUCT_tn_memory];
    TN_TRY(m->backend->memory(m->backend_self, &asked.compile, &s->plan_memory, err));
    return m->backend->compile(m->backend_self, s->model->placed, &asked.compile, &s->plan, err);
}

static int32_t create_cache(tn_session *s, tn_error *err) {
    const tn_match *m = s->match;
    uint64_t most = (uint64_t)s->pages_per_sequence * s->sequence_limit;
    if (!s->groups.count) { return TN_OK; }
    s->pools = tn_arena_array(&s->arena, s->groups.count, sizeof *s->pools);
    if (!s->pools) { return no_memory(err); }
    TN_TRY(m->backend->cache_create(m->backend_self, s->groups.list, s->groups.count, &s->cache, err));
    for (uint32_t g = 0; g < s->groups.count; g++) {
        s->pools[g] = (tn_page_pool){.backend = m->backend,
                                     .backend_self = m->backend_self,
                                     .cache = s->cache,
                                     .group = g,
                                     .most = most < INT32_MAX ? (uint32_t)most : INT32_MAX};
    }
    return TN_OK;
}

static int32_t make_buffer(tn_session *s, tn_error *err) {
    tn_step_buffer *b = &s->buffer;
    size_t rows = s->step_rows, sequences = s->sequence_limit;
    b->tokens = tn_arena_array(&s->arena, rows, sizeof *b->tokens);
    b->position = tn_arena_array(&s->arena, rows, sizeof *b->position);
    b->sequence = tn_arena_array(&s->arena, rows, sizeof *b->sequence);
    b->index = tn_arena_array(&s->arena, rows, sizeof *b->index);
    b->output_rows = tn_arena_array(&s->arena, rows, sizeof *b->output_rows);
    b->entries = tn_arena_array(&s->arena, sequences, sizeof *b->entries);
    b->entry_list = tn_arena_array(&s->arena, sequences, sizeof *b->entry_list);
    b->pages = tn_arena_array(&s->arena, sequences * s->groups.count, sizeof *b->pages);
    b->outputs = tn_arena_array(&s->arena, s->output_nodes, sizeof *b->outputs);
    b->pieces = tn_arena_array(&s->arena, sequences, sizeof *b->pieces);
    b->done = tn_arena_array(&s->arena, sequences, sizeof *b->done);
    /* Written by the backend only: memory that is not needed is never touched. */
    b->gathered = sequences > 1 ? malloc(sequences * s->match->output_width * sizeof(float)) : NULL;
    size_t frames = sequences > 1 ? s->match->frame_width : 0;
    b->frames = frames ? malloc(rows * frames * sizeof(float)) : NULL;
    int made = b->tokens && b->position && b->sequence && b->index && b->output_rows && b->entries &&
               b->entry_list && b->pages && b->outputs && b->pieces && b->done &&
               (b->gathered || sequences == 1) && (b->frames || !frames);
    return made ? TN_OK : no_memory(err);
}

static void choose_limits(tn_session *s, const tn_session_options *options) {
    const tn_match *m = s->match;
    uint32_t rows = options ? options->step_rows : 0, sequences = options ? options->sequences : 0;
    s->sequence_limit = sequences ? sequences : 1;
    if (!rows) { rows = tn_groups_step_rows(m); }
    uint64_t most = (uint64_t)m->context * s->sequence_limit;
    s->step_rows = rows < most ? rows : (uint32_t)most;
    s->pages_per_sequence = tn_pages_for(m->context);
    for (uint32_t i = 0; i < m->graph->node_count; i++) {
        s->output_nodes += m->graph->nodes[i]->op == TN_OP_output;
    }
}

int32_t tn_session_create(tn_model *model, const tn_session_options *options, tn_session **out,
                          tn_error *err) {
    tn_session *s = calloc(1, sizeof *s);
    *out = NULL;
    if (!s) { return no_memory(err); }
    s->model = model;
    s->match = &model->match;
    atomic_init(&s->cancelled, 0);
    choose_limits(s, options);
    int32_t code = tn_groups_form(s->match, &s->arena, &s->groups, err);
    if (code == TN_OK) { code = copy_captures(s, options, err); }
    if (code == TN_OK) { code = compile_plan(s, err); }
    if (code == TN_OK) { code = create_cache(s, err); }
    if (code == TN_OK) { code = make_buffer(s, err); }
    if (code != TN_OK) {
        tn_session_destroy(s);
        return code;
    }
    *out = s;
    return TN_OK;
}

void tn_session_destroy(tn_session *s) {
    if (!s) { return; }
    const tn_match *m = s->match;
    while (s->sequences) { tn_seq_free(s->sequences); }
    if (s->plan) { m->backend->discard(m->backend_self, s->plan); }
    if (s->cache) { m->backend->cache_destroy(m->backend_self, s->cache); }
    for (uint32_t g = 0; s->pools && g < s->groups.count; g++) { tn_pages_free(&s->pools[g]); }
    free(s->buffer.frames);
    free(s->buffer.gathered);
    tn_arena_release(&s->arena);
    free(s);
}

void tn_session_cancel(tn_session *session) {
    atomic_store(&session->cancelled, 1);
}

uint64_t tn_session_bytes(const tn_session *s) {
    const tn_match *m = s->match;
    uint64_t bytes = s->plan_memory.scratch;
    for (uint32_t g = 0; g < s->groups.count; g++) {
        bytes += s->pools[g].existing * m->backend->cache_page_bytes(m->backend_self, s->cache, g);
    }
    return bytes;
}

/* ---- sequences -------------------------------------------------------------------------------------- */

int32_t tn_seq_create(tn_session *session, tn_seq **out, tn_error *err) {
    *out = NULL;
    if (session->sequence_count == session->sequence_limit) {
        TN_FAIL(err, TN_E_RANGE, "the session holds %" PRIu32 " sequences, as many as it was made for",
                session->sequence_limit);
    }
    size_t head = sizeof(tn_seq) + session->groups.count * sizeof(tn_page_table);
    size_t table = session->pages_per_sequence * sizeof(uint32_t);
    tn_seq *seq = calloc(1, head + session->groups.count * table);
    if (!seq) { TN_FAIL(err, TN_E_MEMORY, "no memory for a sequence"); }
    for (uint32_t g = 0; g < session->groups.count; g++) {
        seq->tables[g].pages = (uint32_t *)((unsigned char *)seq + head + g * table);
    }
    seq->session = session;
    seq->next = session->sequences;
    if (seq->next) { seq->next->previous = seq; }
    session->sequences = seq;
    session->sequence_count++;
    *out = seq;
    return TN_OK;
}

int32_t tn_seq_fork(tn_seq *sequence, tn_seq **out, tn_error *err) {
    tn_session *session = sequence->session;
    TN_TRY(tn_seq_create(session, out, err));
    for (uint32_t g = 0; g < session->groups.count; g++) {
        tn_pages_share(&session->pools[g], &(*out)->tables[g], &sequence->tables[g]);
    }
    (*out)->length = sequence->length;
    return TN_OK;
}

static void cut(tn_seq *seq, uint32_t length) {
    tn_session *session = seq->session;
    for (uint32_t g = 0; g < session->groups.count; g++) {
        tn_pages_cut(&session->pools[g], &seq->tables[g], length);
    }
    seq->length = length;
}

void tn_seq_free(tn_seq *seq) {
    if (!seq) { return; }
    cut(seq, 0);
    if (seq->next) { seq->next->previous = seq->previous; }
    *(seq->previous ? &seq->previous->next : &seq->session->sequences) = seq->next;
    seq->session->sequence_count--;
    free(seq);
}

uint32_t tn_seq_length(const tn_seq *sequence) {
    return sequence->length;
}

int32_t tn_seq_truncate(tn_seq *sequence, uint32_t length, tn_error *err) {
    if (length > sequence->length) {
        TN_FAIL(err, TN_E_RANGE, "the sequence holds %" PRIu32 " tokens, it cannot be cut to %" PRIu32,
                sequence->length, length);
    }
    cut(sequence, length);
    return TN_OK;
}
