/*
 * embedder.c - many texts through one session. Each has a sequence of its own for as long as its run lasts.
 */
#include "groups.h"
#include "model_state.h"
#include "tenon/embedding.h"

#include <inttypes.h>
#include <stdlib.h>

enum {
    WHOLE_ROWS = 2048 /* of texts that lie whole in a step, so that little of it is left over */,
    TEXTS = 256
};

struct tn_embedder {
    tn_model *model;
    tn_session *session;
    uint32_t pooling, width, step_rows, texts;
    tn_seq **sequences; /* `texts` of them, empty between runs */
    tn_feed *feeds;
    float *rows; /* of all tokens of a run, where they are pooled here */
    uint64_t row_room;
};

/* ---- create -------------------------------------------------------------------------------------------- */

static int32_t no_memory(tn_error *err) {
    TN_FAIL(err, TN_E_MEMORY, "no memory to embed texts");
}

static int32_t choose_pooling(tn_embedder *e, uint32_t asked, tn_error *err) {
    e->pooling = asked;
    if (asked == TN_POOLING_OF_FILE) { TN_TRY(tn_pooling_read(e->model->file, &e->pooling, err)); }
    if (e->pooling == TN_POOLING_OF_FILE) {
        if (e->model->match.facts.kind != TN_ARCH_DECODER) {
            TN_FAIL(err, TN_E_PARAM_MISSING, "pooling_type: absent, so it must be said how rows are pooled");
        }
        e->pooling = TN_POOLING_LAST;
    }
    if (e->pooling > TN_POOLING_RANK) {
        TN_FAIL(err, TN_E_INPUT, "pooling is %" PRIu32 ", expected TN_POOLING_*", e->pooling);
    }
    uint32_t kind = e->model->match.output_kind;
    uint32_t wanted = e->pooling == TN_POOLING_RANK ? TN_OUTPUT_SCORE : TN_OUTPUT_HIDDEN;
    if (kind == wanted) { return TN_OK; }
    TN_FAIL(err, TN_E_INPUT, "the model was not loaded for TN_PURPOSE_%s",
            wanted == TN_OUTPUT_SCORE ? "RANK" : "EMBED");
}

static int32_t make_session(tn_embedder *e, const tn_embedder_options *options, tn_error *err) {
    uint32_t whole = e->model->match.whole, usual = tn_groups_step_rows(&e->model->match);
    e->step_rows = options->step_rows ? options->step_rows : whole && usual < WHOLE_ROWS ? WHOLE_ROWS : usual;
    if (whole && e->step_rows < usual) { e->step_rows = usual; }
    e->texts = options->texts ? options->texts : TEXTS;
    tn_session_options session = {.step_rows = e->step_rows, .sequences = e->texts};
    TN_TRY(tn_session_create(e->model, &session, &e->session, err));
    e->sequences = calloc(e->texts, sizeof(tn_seq *));
    e->feeds = calloc(e->texts, sizeof *e->feeds);
    if (!e->sequences || !e->feeds) { return no_memory(err); }
    for (uint32_t i = 0; i < e->texts; i++) { TN_TRY(tn_seq_create(e->session, &e->sequences[i], err)); }
    return TN_OK;
}

int32_t tn_embedder_create(tn_model *model, const tn_embedder_options *options, tn_embedder **out,
                           tn_error *err) {
    *out = NULL;
    tn_embedder *e = calloc(1, sizeof *e);
    if (!e) { return no_memory(err); }
    e->model = model;
    e->width = model->match.output_width;
    int32_t code = choose_pooling(e, options->pooling, err);
    if (code == TN_OK) { code = make_session(e, options, err); }
    if (code != TN_OK) {
        tn_embedder_free(e);
        return code;
    }
    *out = e;
    return TN_OK;
}

void tn_embedder_free(tn_embedder *e) {
    if (!e) { return; }
    tn_session_destroy(e->session);
    free(e->sequences);
    free(e->feeds);
    free(e->rows);
    free(e);
}

uint32_t tn_embedder_pooling(const tn_embedder *e) {
    return e->pooling;
}

uint32_t tn_embedder_rows(const tn_embedder *e) {
    return e->step_rows;
}

uint32_t tn_embedder_texts(const tn_embedder *e) {
    return e->texts;
}

tn_session *tn_embedder_session(const tn_embedder *e) {
    return e->session;
}

/* ---- run ----------------------------------------------------------------------------------------------- */

static int pools_here(const tn_embedder *e) {
    return e->pooling == TN_POOLING_MEAN || e->pooling == TN_POOLING_FIRST;
}

static int32_t check_texts(const tn_embedder *e, const tn_embed_text *texts, uint64_t count, tn_error *err) {
    uint32_t context = e->model->match.context;
    for (uint64_t i = 0; i < count; i++) {
        if (!texts[i].count) { TN_FAIL(err, TN_E_INPUT, "text %" PRIu64 " has no tokens", i); }
        if (texts[i].count > context) {
            TN_FAIL(err, TN_E_CONTEXT, "text %" PRIu64 " has %" PRIu32 " tokens, the context holds %" PRIu32,
                    i, texts[i].count, context);
        }
    }
    return TN_OK;
}

/* How many of the texts fit into one step, one at least, and their tokens. */
static uint32_t cut_texts(const tn_embedder *e, const tn_embed_text *texts, uint64_t count,
                          uint64_t *tokens) {
    uint32_t n = 1;
    *tokens = texts[0].count;
    while (n < count && n < e->texts && *tokens + texts[n].count <= e->step_rows) {
        *tokens += texts[n++].count;
    }
    return n;
}

static int32_t reserve_rows(tn_embedder *e, uint64_t tokens, tn_error *err) {
    if (!pools_here(e) || tokens <= e->row_room) { return TN_OK; }
    free(e->rows);
    e->row_room = 0;
    e->rows = malloc(tokens * e->width * sizeof *e->rows);
    if (!e->rows) { return no_memory(err); }
    e->row_room = tokens;
    return TN_OK;
}

/* Rows that are pooled here lie one behind the other, as the session hands them out best. */
static void fill_feeds(tn_embedder *e, const tn_embed_text *texts, uint32_t count) {
    int here = pools_here(e), all = here || e->pooling == TN_POOLING_NONE;
    float *rows = e->rows;
    for (uint32_t i = 0; i < count; i++) {
        e->feeds[i] = (tn_feed){.sequence = e->sequences[i],
                                .ids = texts[i].ids,
                                .count = texts[i].count,
                                .want = all ? TN_WANT_ALL : TN_WANT_LAST,
                                .out = here ? rows : texts[i].out};
        if (here) { rows += (size_t)texts[i].count * e->width; }
    }
}

static int32_t run_texts(tn_embedder *e, const tn_embed_text *texts, uint32_t count, uint64_t tokens,
                         tn_error *err) {
    TN_TRY(reserve_rows(e, tokens, err));
    fill_feeds(e, texts, count);
    TN_TRY(tn_session_run(e->session, e->feeds, count, err));
    for (uint32_t i = 0; i < count; i++) {
        if (pools_here(e)) {
            tn_pool_rows(e->pooling, e->feeds[i].out, texts[i].count, e->width, texts[i].out);
        }
        TN_TRY(tn_seq_truncate(e->sequences[i], 0, err));
    }
    return TN_OK;
}

int32_t tn_embedder_run(tn_embedder *e, const tn_embed_text *texts, uint64_t count, tn_error *err) {
    TN_TRY(check_texts(e, texts, count, err));
    for (uint64_t at = 0; at < count;) {
        uint64_t tokens;
        uint32_t n = cut_texts(e, texts + at, count - at, &tokens);
        TN_TRY(run_texts(e, texts + at, n, tokens, err));
        at += n;
    }
    return TN_OK;
}
