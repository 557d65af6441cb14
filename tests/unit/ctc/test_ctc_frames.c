/*
 * test_ctc_frames.c - frames through sessions: each sequence as it is alone, in steps of any size; ids and frames are not
 * mixed up.
 */
#include "session_rig.h"
#include "tenon/ctc.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>

enum { SEQUENCES = 4, FRAMES = 60 };

static tn_model *load(uint32_t context) {
    tn_model_options options = {.backend = "reference", .context = context};
    tn_error err = TN_ERROR_INIT;
    tn_model *model = NULL;
    int32_t code = tn_model_load(rig_engine(), rig_data("ocr/azmx-ocr.gguf"), &options, &model, NULL, &err);
    cr_assert_eq(code, TN_OK, "%s", err.text);
    return model;
}

static float *make_frames(const tn_model *model, uint32_t count, uint32_t seed) {
    size_t numbers = (size_t)count * tn_model_frame_width(model);
    float *frames = malloc(numbers * sizeof *frames);
    for (size_t i = 0; i < numbers; i++) {
        seed = seed * 1664525u + 1013904223u;
        frames[i] = (float)(seed >> 8) / (1 << 23) - 1;
    }
    return frames;
}

static float *alone(tn_model *model, const float *frames, uint32_t count) {
    tn_session *session = rig_session(model, 7, 1);
    tn_error err = TN_ERROR_INIT;
    float *out = malloc((size_t)count * tn_model_output_width(model) * sizeof *out);
    tn_feed feed = {
        .sequence = rig_seq(session), .frames = frames, .count = count, .want = TN_WANT_ALL, .out = out};
    cr_assert_eq(tn_session_run(session, &feed, 1, &err), TN_OK, "%s", err.text);
    tn_session_destroy(session);
    return out;
}

static void in_company(tn_model *model, uint32_t step_rows) {
    static const uint32_t counts[SEQUENCES] = {FRAMES, 1, 33, 12};
    tn_session *session = rig_session(model, step_rows, SEQUENCES);
    tn_error err = TN_ERROR_INIT;
    tn_feed feeds[SEQUENCES];
    size_t width = tn_model_output_width(model);
    for (uint32_t s = 0; s < SEQUENCES; s++) {
        feeds[s] = (tn_feed){.sequence = rig_seq(session),
                             .frames = make_frames(model, counts[s], s),
                             .count = counts[s],
                             .want = s == 3 ? TN_WANT_LAST : TN_WANT_ALL,
                             .out = malloc(FRAMES * width * sizeof(float))};
    }
    cr_assert_eq(tn_session_run(session, feeds, SEQUENCES, &err), TN_OK, "%s", err.text);
    for (uint32_t s = 0; s < SEQUENCES; s++) {
        char what[64];
        snprintf(what, sizeof what, "steps of %u, sequence %u", step_rows, s);
        float *wanted = alone(model, feeds[s].frames, counts[s]);
        uint32_t skipped = s == 3 ? counts[s] - 1 : 0;
        rig_expect_rows(what, model, feeds[s].out, wanted + skipped * width, counts[s] - skipped);
        cr_expect_eq(tn_seq_length(feeds[s].sequence), counts[s]);
        free(wanted);
        free((float *)feeds[s].frames);
        free(feeds[s].out);
    }
    tn_session_destroy(session);
}

Test(ctc_frames, company_changes_nothing) {
    tn_model *model = load(0);
    for (uint32_t rows = 1; rows < 200; rows = 3 * rows + 2) { in_company(model, rows); }
    tn_model_close(model);
}

static void expect_fault(tn_session *session, const tn_feed *feed, int32_t code, const char *words) {
    tn_error err = TN_ERROR_INIT;
    int32_t found = tn_session_run(session, feed, 1, &err);
    cr_expect_eq(found, code, "%s (%s), expected %s", tn_code_text(found), err.text, tn_code_text(code));
    cr_expect(strstr(err.text, words), "\"%s\" lacks \"%s\"", err.text, words);
}

Test(ctc_frames, ids_are_none) {
    tn_model *model = load(20);
    tn_session *session = rig_session(model, 0, 1);
    tn_seq *seq = rig_seq(session);
    int32_t ids[] = {0, 1};
    float *frames = make_frames(model, 21, 1);
    cr_expect(tn_model_frame_width(model) == 64 && tn_model_vocab_size(model) == 0);
    cr_expect_eq(tn_model_output_kind(model), TN_OUTPUT_CTC);
    expect_fault(session, &(tn_feed){.sequence = seq, .ids = ids, .count = 2}, TN_E_INPUT,
                 "the model reads frames of 64 numbers, no token ids");
    expect_fault(session, &(tn_feed){.sequence = seq, .ids = ids, .frames = frames, .count = 2}, TN_E_INPUT,
                 "no token ids");
    expect_fault(session, &(tn_feed){.sequence = seq, .count = 2}, TN_E_INPUT, "has no frames");
    expect_fault(session, &(tn_feed){.sequence = seq, .frames = frames, .count = 21}, TN_E_CONTEXT,
                 "21 more");
    expect_fault(session, &(tn_feed){.sequence = seq, .frames = frames, .count = 20}, TN_OK, "");
    tn_session_destroy(session);
    tn_model_close(model);
    model = rig_model("llama", 0);
    session = rig_session(model, 0, 1);
    expect_fault(session, &(tn_feed){.sequence = rig_seq(session), .frames = frames, .count = 1}, TN_E_INPUT,
                 "the model reads token ids, no frames");
    tn_error err = TN_ERROR_INIT;
    tn_ctc *ctc;
    cr_expect_eq(tn_ctc_open(model, 0, &ctc, &err), TN_E_INPUT);
    cr_expect(!ctc && strstr(err.text, "no ctc output"), "%s", err.text);
    cr_expect(!tn_model_alphabet(model) && tn_model_frame_width(model) == 0);
    tn_session_destroy(session);
    tn_model_close(model);
    free(frames);
}
