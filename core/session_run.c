/*
 * session_run.c - from feeds to steps: which tokens go together, where their outputs go, and what is undone
 * when a step fails. A run counts its tokens only at its end, so undoing is giving back the pages that it
 * took.
 */
#include "session.h"

#include <inttypes.h>
#include <string.h>

/* One call of tn_session_run(). */
struct run {
    tn_session *session;
    const tn_feed *feeds;
    uint32_t feed_count;
};

/* ---- what is asked ---------------------------------------------------------------------------------- */

static int pooled(const tn_session *s) {
    return s->match->output_rows == TN_ROWS_S;
}

static int32_t check_ids(const tn_session *s, const tn_feed *feed, tn_error *err) {
    uint32_t vocab = s->match->vocab_size, width = s->match->frame_width;
    if (width && feed->ids) {
        TN_FAIL(err, TN_E_INPUT, "the model reads frames of %" PRIu32 " numbers, no token ids", width);
    }
    if (!width && feed->frames) { TN_FAIL(err, TN_E_INPUT, "the model reads token ids, no frames"); }
    if (width) { return TN_OK; }
    for (uint32_t i = 0; i < feed->count; i++) {
        if (feed->ids[i] < 0 || (uint32_t)feed->ids[i] >= vocab) {
            TN_FAIL(err, TN_E_INPUT, "token %" PRIu32 " has id %" PRId32 ", the vocabulary has 0 to %" PRId64,
                    i, feed->ids[i], (int64_t)vocab - 1);
        }
    }
    return TN_OK;
}

static int32_t check_room(const tn_session *s, const tn_feed *feed, tn_error *err) {
    uint32_t held = feed->sequence->length, context = s->match->context;
    if (feed->count > context - held) {
        TN_FAIL(err, TN_E_CONTEXT,
                "the sequence holds %" PRIu32 " tokens, %" PRIu32
                " more do not fit into a context of %" PRIu32,
                held, feed->count, context);
    }
    if (!s->match->whole || !feed->count) { return TN_OK; }
    if (held) {
        TN_FAIL(err, TN_E_INPUT,
                "the model sees a sequence only whole, this one holds %" PRIu32 " tokens already", held);
    }
    if (feed->count > s->step_rows) {
        TN_FAIL(err, TN_E_INPUT,
                "the model sees a sequence only whole: %" PRIu32 " tokens do not fit into a step of %" PRIu32,
                feed->count, s->step_rows);
    }
    return TN_OK;
}

static int32_t check_want(const tn_session *s, const tn_feed *feed, tn_error *err) {
    if (feed->want > TN_WANT_ALL) {
        TN_FAIL(err, TN_E_INPUT, "want is %" PRIu32 ", expected TN_WANT_*", feed->want);
    }
    if (feed->want == TN_WANT_NONE) { return TN_OK; }
    if (!feed->out) { TN_FAIL(err, TN_E_INPUT, "outputs are wanted and there is no memory for them"); }
    if (!feed->count) { TN_FAIL(err, TN_E_INPUT, "outputs are wanted of no tokens"); }
    if (pooled(s) && feed->want != TN_WANT_LAST) {
        TN_FAIL(err, TN_E_INPUT, "the model has one output a sequence: TN_WANT_LAST");
    }
    return TN_OK;
}

static int32_t check_feeds(const struct run *run, tn_error *err) {
    tn_session *s = run->session;
    s->run_number++;
    for (uint32_t f = 0; f < run->feed_count; f++) {
        const tn_feed *feed = &run->feeds[f];
        if (!feed->sequence || feed->sequence->session != s) {
            TN_FAIL(err, TN_E_INPUT, "feed %" PRIu32 " has no sequence of this session", f);
        }
        if (feed->sequence->run_number == s->run_number) {
            TN_FAIL(err, TN_E_INPUT, "feed %" PRIu32 ": its sequence occurs twice", f);
        }
        feed->sequence->run_number = s->run_number;
        if (feed->count && !feed->ids && !feed->frames) {
            TN_FAIL(err, TN_E_INPUT, "feed %" PRIu32 " has no %s", f,
                    s->match->frame_width ? "frames" : "ids");
        }
        TN_TRY(check_room(s, feed, err));
        TN_TRY(check_ids(s, feed, err));
        TN_TRY(check_want(s, feed, err));
    }
    return TN_OK;
}

/* ---- cutting into steps ----------------------------------------------------------------------------- */

static uint32_t outputs_of(const tn_feed *feed, uint32_t done, uint32_t rows) {
    switch (feed->want) {
    case TN_WANT_ALL: return rows;
    case TN_WANT_LAST: return done + rows == feed->count;
    default: return 0;
    }
}

/*
 * Tokens of a feed for a step with `room` for more rows and, if other feeds have outputs in it already,
 * `budget` for more of those.
 */
static tn_piece cut_piece(const struct run *run, uint32_t f, uint32_t room, uint32_t budget) {
    const tn_feed *feed = &run->feeds[f];
    uint32_t done = run->session->buffer.done[f], left = feed->count - done;
    uint32_t rows = left < room ? left : room;
    uint32_t outputs = outputs_of(feed, done, rows);
    if (outputs > budget) {
        rows = feed->want == TN_WANT_ALL ? budget : rows - 1;
        outputs = outputs_of(feed, done, rows);
    }
    if (run->session->match->whole && rows < left) { rows = outputs = 0; }
    return (tn_piece){f, rows, outputs};
}

static float *out_of(const struct run *run, uint32_t f) {
    const tn_feed *feed = &run->feeds[f];
    size_t from = feed->want == TN_WANT_ALL ? run->session->buffer.done[f] : 0;
    return feed->out + from * run->session->match->output_width;
}

/* A step that is being cut: rows and outputs so far, and where in memory the next output would be in line. */
struct cut {
    uint32_t rows, outputs;
    const float *next;
};

/* Outputs that feed `f` may still have. */
static uint32_t budget_of(const struct run *run, const struct cut *cut, uint32_t f) {
    const tn_session *s = run->session;
    int in_line = s->buffer.in_line && run->feeds[f].want != TN_WANT_NONE && out_of(run, f) == cut->next;
    if (!cut->outputs || in_line) { return s->step_rows; }
    return cut->outputs < s->sequence_limit ? s->sequence_limit - cut->outputs : 0;
}

static void add_piece(struct run *run, struct cut *cut, const tn_piece *piece) {
    tn_step_buffer *b = &run->session->buffer;
    b->pieces[b->piece_count++] = *piece;
    cut->rows += piece->rows;
    if (!piece->outputs) { return; }
    float *out = out_of(run, piece->feed);
    b->in_line &= !cut->outputs || out == cut->next;
    cut->next = out + (size_t)piece->outputs * run->session->match->output_width;
    cut->outputs += piece->outputs;
}

/*
 * A step takes what fits, in the order of the feeds. Outputs that are to lie one behind the other go straight to the
 * caller; else those of several feeds are gathered first, so they are no more than the gathering memory holds.
 */
static void cut_step(struct run *run) {
    tn_session *s = run->session;
    struct cut cut = {0};
    s->buffer.piece_count = 0;
    s->buffer.in_line = 1;
    for (uint32_t f = 0; f < run->feed_count && cut.rows < s->step_rows; f++) {
        tn_piece piece = cut_piece(run, f, s->step_rows - cut.rows, budget_of(run, &cut, f));
        if (piece.rows) { add_piece(run, &cut, &piece); }
    }
}

static int32_t take_pages(struct run *run, tn_error *err) {
    tn_session *s = run->session;
    for (uint32_t i = 0; i < s->buffer.piece_count; i++) {
        const tn_piece *piece = &s->buffer.pieces[i];
        tn_seq *seq = run->feeds[piece->feed].sequence;
        uint32_t from = seq->length + s->buffer.done[piece->feed];
        for (uint32_t g = 0; g < s->groups.count; g++) {
            TN_TRY(tn_pages_extend(&s->pools[g], &seq->tables[g], from, from + piece->rows, err));
        }
    }
    return TN_OK;
}

/* ---- the step --------------------------------------------------------------------------------------- */

static uint32_t poll_cancelled(void *context) {
    tn_session *s = context;
    return atomic_load_explicit(&s->cancelled, memory_order_relaxed);
}

static int32_t fill_entry(struct run *run, uint32_t i, tn_error *err) {
    tn_session *s = run->session;
    tn_step_buffer *b = &s->buffer;
    const tn_piece *piece = &b->pieces[i];
    const tn_seq *seq = run->feeds[piece->feed].sequence;
    const uint32_t **pages = b->pages + (size_t)i * s->groups.count;
    for (uint32_t g = 0; g < s->groups.count; g++) { pages[g] = seq->tables[g].pages; }
    b->entries[i] = (tn_sequence){.held = seq->length + b->done[piece->feed],
                                  .count = piece->rows,
                                  .group_count = s->groups.count,
                                  .pages = pages};
    b->entry_list[i] = &b->entries[i];
    return TN_VIEW(&s->match->view, &b->entries[i], tn_sequence, err);
}

/* Rows of a piece; those whose output is wanted are its last ones. */
static void fill_rows(struct run *run, uint32_t i) {
    tn_step_buffer *b = &run->session->buffer;
    const tn_piece *piece = &b->pieces[i];
    const tn_feed *feed = &run->feeds[piece->feed];
    for (uint32_t k = 0; k < piece->rows; k++) {
        uint32_t row = b->step.rows++, index = b->entries[i].held + k;
        if (feed->ids) { b->tokens[row] = feed->ids[b->done[piece->feed] + k]; }
        b->sequence[row] = i;
        b->index[row] = index;
        b->position[row] = (int32_t)index;
        if (k >= piece->rows - piece->outputs) { b->output_rows[b->step.output_count++] = row; }
    }
}

/* Frames of one sequence are read where they are, those of several are put together. */
static void aim_frames(struct run *run) {
    tn_step_buffer *b = &run->session->buffer;
    size_t width = run->session->match->frame_width, at = 0;
    b->ports[0] = b->frames;
    for (uint32_t i = 0; i < b->piece_count; i++) {
        const tn_piece *piece = &b->pieces[i];
        const float *from = run->feeds[piece->feed].frames + b->done[piece->feed] * width;
        if (b->piece_count == 1) {
            b->ports[0] = from;
        } else {
            memcpy(b->frames + at, from, piece->rows * width * sizeof *from);
        }
        at += piece->rows * width;
    }
}

/* Where the step's outputs go: nowhere, straight to the feeds, or to the gathering memory. */
static void aim_outputs(struct run *run) {
    tn_step_buffer *b = &run->session->buffer;
    const tn_piece *first = NULL;
    uint32_t count = 0;
    for (uint32_t i = 0; i < b->piece_count; i++) {
        if (!b->pieces[i].outputs) { continue; }
        if (!first) { first = &b->pieces[i]; }
        count++;
    }
    int direct = b->in_line && (!pooled(run->session) || b->piece_count == count);
    b->outputs[0] = !count ? NULL : direct ? out_of(run, first->feed) : b->gathered;
}

static void hand_out(struct run *run) {
    tn_step_buffer *b = &run->session->buffer;
    size_t width = run->session->match->output_width, row = 0;
    if (!b->outputs[0] || b->outputs[0] != b->gathered) { return; }
    for (uint32_t i = 0; i < b->piece_count; i++) {
        const tn_piece *piece = &b->pieces[i];
        if (piece->outputs) {
            memcpy(out_of(run, piece->feed), b->gathered + row * width,
                   piece->outputs * width * sizeof(float));
        }
        row += pooled(run->session) ? 1 : piece->outputs;
    }
}

static int32_t fill_step(struct run *run, tn_error *err) {
    tn_session *s = run->session;
    tn_step_buffer *b = &s->buffer;
    int frames = s->match->frame_width != 0;
    b->step = (tn_step){.tokens = frames ? NULL : b->tokens,
                        .ports = frames ? b->ports : NULL,
                        .sequence = b->sequence,
                        .index = b->index,
                        .position = b->position,
                        .sequence_count = b->piece_count,
                        .output_rows = b->output_rows,
                        .sequences = b->entry_list,
                        .outputs = b->outputs,
                        .captures = s->capture_list,
                        .capture_count = s->capture_count,
                        .cancelled = poll_cancelled,
                        .cancel_context = s};
    for (uint32_t i = 0; i < b->piece_count; i++) {
        TN_TRY(fill_entry(run, i, err));
        fill_rows(run, i);
    }
    if (frames) { aim_frames(run); }
    aim_outputs(run);
    return TN_VIEW(&s->match->view, &b->step, tn_step, err);
}

static int32_t run_step(struct run *run, tn_error *err) {
    tn_session *s = run->session;
    tn_step_buffer *b = &s->buffer;
    if (atomic_load(&s->cancelled)) { TN_FAIL(err, TN_E_CANCELLED, "cancelled"); }
    TN_TRY(take_pages(run, err));
    TN_TRY(fill_step(run, err));
    TN_TRY(s->match->backend->run(s->match->backend_self, s->plan, s->cache, &b->step, err));
    hand_out(run);
    for (uint32_t i = 0; i < b->piece_count; i++) { b->done[b->pieces[i].feed] += b->pieces[i].rows; }
    return TN_OK;
}

/* ---- the run ---------------------------------------------------------------------------------------- */

/* On success the tokens count; otherwise the pages taken for them go back. */
static void settle(struct run *run, int32_t code) {
    tn_session *s = run->session;
    for (uint32_t f = 0; f < run->feed_count; f++) {
        tn_seq *seq = run->feeds[f].sequence;
        if (code == TN_OK) { seq->length += run->feeds[f].count; }
        for (uint32_t g = 0; g < s->groups.count; g++) {
            tn_pages_cut(&s->pools[g], &seq->tables[g], seq->length);
        }
    }
    if (code == TN_E_CANCELLED) { atomic_store(&s->cancelled, 0); }
}

int32_t tn_session_run(tn_session *session, const tn_feed *feeds, uint32_t feed_count, tn_error *err) {
    struct run run = {session, feeds, feed_count};
    tn_error fault = TN_ERROR_INIT;
    TN_TRY(check_feeds(&run, err));
    memset(session->buffer.done, 0, feed_count * sizeof *session->buffer.done);
    int32_t code = TN_OK;
    cut_step(&run);
    while (code == TN_OK && session->buffer.piece_count) {
        code = run_step(&run, &fault);
        if (code == TN_OK) { cut_step(&run); }
    }
    settle(&run, code);
    if (code != TN_OK) { TN_FAIL(err, code, "%s", fault.text[0] ? fault.text : tn_code_text(code)); }
    return TN_OK;
}
