/*
 * Sessions of models that see a sequence only whole, that pool, that have windows or several groups of
 * layers, and weights with a companion scale.
 */
#include "session_rig.h"

#include <criterion/criterion.h>
#include <stdlib.h>

enum { WIDTH = 16, LENGTH = 150 };

static void expect_fault(tn_session *session, const tn_feed *feed, int32_t code, const char *words) {
    tn_error err = TN_ERROR_INIT;
    int32_t found = tn_session_run(session, feed, 1, &err);
    cr_expect_eq(found, code, "%s (%s), expected %s", tn_code_text(found), err.text, tn_code_text(code));
    cr_expect(strstr(err.text, words), "\"%s\" lacks \"%s\"", err.text, words);
}

Test(session_probes, whole_or_not_at_all) {
    tn_model *model = rig_probe_model(&(rig_probe){.graph = RIG_HIDDEN, .context = 100});
    tn_session *session = rig_session(model, 30, 1);
    tn_seq *seq = rig_seq(session);
    tn_error err = TN_ERROR_INIT;
    int32_t ids[100];
    float *out = malloc(100 * WIDTH * sizeof *out);
    rig_ids(model, 1, ids, 100);
    expect_fault(session, &(tn_feed){seq, ids, 31, TN_WANT_ALL, out, NULL}, TN_E_INPUT,
                 "31 tokens do not fit into a step of 30");
    expect_fault(session, &(tn_feed){seq, ids, 30, TN_WANT_ALL, out, NULL}, TN_OK, "");
    cr_expect_eq(tn_seq_length(seq), 30);
    expect_fault(session, &(tn_feed){seq, ids, 1, TN_WANT_ALL, out, NULL}, TN_E_INPUT,
                 "holds 30 tokens already");
    cr_expect_eq(tn_seq_truncate(seq, 0, &err), TN_OK);
    expect_fault(session, &(tn_feed){seq, ids, 5, TN_WANT_ALL, out, NULL}, TN_OK, "");
    free(out);
    tn_session_destroy(session);
    tn_model_close(model);
}

/* Four sequences through steps of 30 rows: whole ones share steps, and the order of the feeds is that of the
 * rows. */
static void mixed(uint32_t graph, uint32_t want) {
    enum { SEQUENCES = 4 };
    static const uint32_t counts[SEQUENCES] = {10, 25, 4, 30};
    tn_model *model = rig_probe_model(&(rig_probe){.graph = graph, .context = 64});
    tn_session *session = rig_session(model, 30, SEQUENCES);
    tn_error err = TN_ERROR_INIT;
    int32_t ids[SEQUENCES][30];
    float *found[SEQUENCES], *wanted[SEQUENCES];
    tn_feed feeds[SEQUENCES];
    for (uint32_t s = 0; s < SEQUENCES; s++) {
        rig_ids(model, 5 + s, ids[s], counts[s]);
        tn_session *alone = rig_session(model, 30, 1);
        wanted[s] = rig_feed(rig_seq(alone), alone, model, ids[s], counts[s], want);
        tn_session_destroy(alone);
        found[s] = calloc(counts[s] * WIDTH, sizeof(float));
        feeds[s] = (tn_feed){rig_seq(session), ids[s], counts[s], want, found[s], NULL};
    }
    feeds[2].want = TN_WANT_NONE;
    cr_assert_eq(tn_session_run(session, feeds, SEQUENCES, &err), TN_OK, "%s", err.text);
    for (uint32_t s = 0; s < SEQUENCES; s++) {
        if (s != 2) {
            rig_expect_rows("mixed", model, found[s], wanted[s], want == TN_WANT_ALL ? counts[s] : 1);
        }
        free(found[s]), free(wanted[s]);
    }
    tn_session_destroy(session);
    tn_model_close(model);
}

Test(session_probes, hidden_rows_of_mixed_sequences) {
    mixed(RIG_HIDDEN, TN_WANT_ALL);
    mixed(RIG_HIDDEN, TN_WANT_LAST);
}

Test(session_probes, pooled_rows_of_mixed_sequences) {
    mixed(RIG_POOLED, TN_WANT_LAST);
}

Test(session_probes, pooled_gives_one_row) {
    tn_model *model = rig_probe_model(&(rig_probe){.graph = RIG_POOLED, .context = 64});
    tn_session *session = rig_session(model, 0, 1);
    int32_t ids[3] = {1, 2, 3};
    float out[3 * WIDTH];
    cr_expect_eq(tn_model_output_kind(model), TN_OUTPUT_HIDDEN);
    expect_fault(session, &(tn_feed){rig_seq(session), ids, 3, TN_WANT_ALL, out, NULL}, TN_E_INPUT,
                 "TN_WANT_LAST");
    tn_session_destroy(session);
    tn_model_close(model);
}

/* A step that nobody asks for holds the longest sequence of a model that sees it whole. */
Test(session_probes, whole_models_get_whole_steps) {
    tn_model *model = rig_probe_model(&(rig_probe){.graph = RIG_HIDDEN, .context = 700});
    tn_session *session = rig_session(model, 0, 1);
    int32_t ids[700];
    float out[WIDTH];
    rig_ids(model, 1, ids, 700);
    expect_fault(session, &(tn_feed){rig_seq(session), ids, 700, TN_WANT_LAST, out, NULL}, TN_OK, "");
    tn_session_destroy(session);
    tn_model_close(model);
}

/* Two groups, one of them with a window: steps of any size, and forks, give the bits of one step. */
Test(session_probes, groups_and_windows) {
    tn_model *model = rig_probe_model(&(rig_probe){.graph = RIG_WINDOWED, .context = 256});
    int32_t ids[LENGTH];
    rig_ids(model, 3, ids, LENGTH);
    float *wanted = rig_alone(model, ids, LENGTH);
    tn_session *session = rig_session(model, 7, 2);
    tn_error err = TN_ERROR_INIT;
    tn_seq *seq = rig_seq(session), *child = NULL;
    rig_feed(seq, session, model, ids, 100, TN_WANT_NONE);
    cr_assert_eq(tn_seq_fork(seq, &child, &err), TN_OK);
    for (int s = 0; s < 2; s++) {
        float *rows = rig_feed(s ? child : seq, session, model, ids + 100, LENGTH - 100, TN_WANT_ALL);
        rig_expect_rows(s ? "the fork" : "the parent", model, rows, wanted + 100 * WIDTH, LENGTH - 100);
        free(rows);
    }
    free(wanted);
    tn_session_destroy(session);
    tn_model_close(model);
}

/* The companion scale multiplies the product: twice the scale, twice the row. */
Test(session_probes, companion_scale) {
    float *rows[2];
    int32_t ids[4] = {1, 5, 9, 31};
    for (int i = 0; i < 2; i++) {
        tn_model *model = rig_probe_model(&(rig_probe){RIG_SCALED, 64, 1, i ? 3.0f : 1.5f, 1});
        rows[i] = rig_alone(model, ids, 4);
        tn_model_close(model);
    }
    for (int i = 0; i < 4 * WIDTH; i++) {
        cr_expect_eq(rows[1][i], 2 * rows[0][i], "number %d: %g, expected twice %g", i, rows[1][i],
                     rows[0][i]);
    }
    cr_expect(rows[0][0] != 0 || rows[0][1] != 0);
    free(rows[0]), free(rows[1]);
}
