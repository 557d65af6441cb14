/*
 * Results do not depend on how tokens are cut into steps or mixed with those of other sequences, bit for bit;
 * forks and cut sequences read what their own tokens wrote. The first test ties it all to numbers that we did
 * not make.
 */
#include "session_rig.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>

enum { LENGTH = 150 }; /* two full pages and a part */

/* The facts of tests/data/golden/llama.txt, and the logits beside it. */
struct golden {
    int32_t prompt[64];
    uint32_t count, width;
    double tolerance;
    float *logits;
};

static void read_golden(struct golden *g) {
    char word[256], name[128] = "", path[256];
    FILE *file = fopen(rig_data("golden/llama.txt"), "r");
    cr_assert_not_null(file);
    while (fscanf(file, "%255s", word) == 1) {
        if (strcmp(word, "prompt") == 0) {
            cr_assert(fscanf(file, "%u", &g->count) == 1 && g->count <= 64);
            for (uint32_t i = 0; i < g->count; i++) { cr_assert_eq(fscanf(file, "%d", &g->prompt[i]), 1); }
        } else if (strcmp(word, "logits") == 0) {
            cr_assert(fscanf(file, "%127s", name) == 1);
            if (fscanf(file, " %*u %u", &g->width) != 1) { name[0] = 0; } /* "kind logits" */
        } else if (strcmp(word, "tolerance") == 0) {
            cr_assert_eq(fscanf(file, "%255s", word), 1);
            if (strcmp(word, "float32") == 0) { cr_assert_eq(fscanf(file, "%lf", &g->tolerance), 1); }
        }
    }
    fclose(file);
    snprintf(path, sizeof path, "golden/%s", name);
    file = fopen(rig_data(path), "rb");
    g->logits = malloc((size_t)g->count * g->width * sizeof *g->logits);
    cr_assert(file && fread(g->logits, g->width * sizeof *g->logits, g->count, file) == g->count);
    fclose(file);
}

Test(session_steps, the_published_numbers) {
    struct golden g = {0};
    read_golden(&g);
    tn_model *model = rig_model("llama", 0);
    cr_assert_eq(tn_model_output_width(model), g.width);
    float *found = rig_alone(model, g.prompt, g.count);
    double worst = 0;
    for (size_t i = 0; i < (size_t)g.count * g.width; i++) {
        worst = fmax(worst, fabs((double)found[i] - g.logits[i]));
    }
    cr_expect(worst <= g.tolerance, "largest difference %g, tolerance %g", worst, g.tolerance);
    free(found);
    free(g.logits);
    tn_model_close(model);
}

Test(session_steps, any_cut_gives_the_same_bits) {
    static const uint32_t cuts[][2] = {{512, 1},    {512, 7},     {512, 64},     {1, LENGTH},
                                       {3, LENGTH}, {64, LENGTH}, {100, LENGTH}, {5, 13}};
    tn_model *model = rig_model("llama", 0);
    size_t width = tn_model_output_width(model);
    int32_t ids[LENGTH];
    rig_ids(model, 1, ids, LENGTH);
    float *wanted = rig_alone(model, ids, LENGTH), *found = malloc(LENGTH * width * sizeof *found);
    for (size_t c = 0; c < sizeof cuts / sizeof *cuts; c++) {
        tn_session *session = rig_session(model, cuts[c][0], 1);
        tn_seq *seq = rig_seq(session);
        for (uint32_t at = 0; at < LENGTH; at += cuts[c][1]) {
            uint32_t count = LENGTH - at < cuts[c][1] ? LENGTH - at : cuts[c][1];
            float *rows = rig_feed(seq, session, model, ids + at, count, TN_WANT_ALL);
            memcpy(found + at * width, rows, count * width * sizeof *rows);
            free(rows);
        }
        char what[64];
        snprintf(what, sizeof what, "steps of %u, feeds of %u", cuts[c][0], cuts[c][1]);
        rig_expect_rows(what, model, found, wanted, LENGTH);
        cr_expect_eq(tn_seq_length(seq), LENGTH);
        tn_session_destroy(session);
    }
    free(found), free(wanted);
    tn_model_close(model);
}

Test(session_steps, the_last_row_alone) {
    tn_model *model = rig_model("llama", 0);
    int32_t ids[LENGTH];
    rig_ids(model, 2, ids, LENGTH);
    float *wanted = rig_alone(model, ids, LENGTH);
    tn_session *session = rig_session(model, 40, 1);
    tn_seq *seq = rig_seq(session);
    cr_expect_null(rig_feed(seq, session, model, ids, 99, TN_WANT_NONE));
    float *found = rig_feed(seq, session, model, ids + 99, LENGTH - 99, TN_WANT_LAST);
    rig_expect_rows("the last row", model, found,
                    wanted + (LENGTH - 1) * (size_t)tn_model_output_width(model), 1);
    free(found), free(wanted);
    tn_session_destroy(session);
    tn_model_close(model);
}

/* Five sequences of different lengths and wants in one call, whatever the size of a step. */
Test(session_steps, mixed_sequences_equal_each_alone) {
    enum { SEQUENCES = 5 };
    static const uint32_t counts[SEQUENCES] = {1, 70, 33, 0, 128};
    static const uint32_t wants[SEQUENCES] = {TN_WANT_LAST, TN_WANT_ALL, TN_WANT_LAST, TN_WANT_NONE,
                                              TN_WANT_ALL};
    static const uint32_t steps[] = {1, 4, 6, 50, 512};
    tn_model *model = rig_model("llama3-ropefreqs", 0);
    size_t width = tn_model_output_width(model);
    int32_t ids[SEQUENCES][128];
    float *wanted[SEQUENCES] = {NULL}, *found[SEQUENCES];
    for (uint32_t s = 0; s < SEQUENCES; s++) {
        rig_ids(model, 10 + s, ids[s], counts[s]);
        if (counts[s]) { wanted[s] = rig_alone(model, ids[s], counts[s]); }
        found[s] = malloc((counts[s] + 1) * width * sizeof(float));
    }
    for (size_t c = 0; c < sizeof steps / sizeof *steps; c++) {
        tn_session *session = rig_session(model, steps[c], SEQUENCES);
        tn_error err = TN_ERROR_INIT;
        tn_feed feeds[SEQUENCES];
        for (uint32_t s = 0; s < SEQUENCES; s++) {
            feeds[s] = (tn_feed){rig_seq(session), ids[s], counts[s], wants[s], found[s], NULL};
        }
        cr_assert_eq(tn_session_run(session, feeds, SEQUENCES, &err), TN_OK, "%s", err.text);
        for (uint32_t s = 0; s < SEQUENCES; s++) {
            char what[64];
            int all = wants[s] == TN_WANT_ALL;
            uint32_t rows = all ? counts[s] : wants[s] == TN_WANT_LAST;
            snprintf(what, sizeof what, "steps of %u, sequence %u", steps[c], s);
            rig_expect_rows(what, model, found[s], wanted[s] + (all ? 0 : (counts[s] - 1) * width), rows);
            cr_expect_eq(tn_seq_length(feeds[s].sequence), counts[s]);
        }
        tn_session_destroy(session);
    }
    for (uint32_t s = 0; s < SEQUENCES; s++) { free(wanted[s]), free(found[s]); }
    tn_model_close(model);
}

/* Outputs that lie one behind the other, with a gap in between, in another order: nothing else is written. */
static void run_in_line(tn_model *model, uint32_t step_rows, const uint32_t *places) {
    enum { SEQUENCES = 4, ROWS = 30, MEMORY = 6 * ROWS };
    static const uint32_t counts[SEQUENCES] = {30, 7, 1, 22};
    const float untouched = -12345.0f;
    size_t width = tn_model_output_width(model);
    int32_t ids[SEQUENCES][ROWS];
    float *memory = malloc(MEMORY * width * sizeof *memory);
    for (size_t i = 0; i < MEMORY * width; i++) { memory[i] = untouched; }
    tn_session *session = rig_session(model, step_rows, SEQUENCES);
    tn_error err = TN_ERROR_INIT;
    tn_feed feeds[SEQUENCES];
    uint32_t written = 0;
    for (uint32_t s = 0; s < SEQUENCES; s++) {
        rig_ids(model, 40 + s, ids[s], counts[s]);
        uint32_t want = s == 1 ? TN_WANT_LAST : TN_WANT_ALL;
        feeds[s] = (tn_feed){rig_seq(session), ids[s], counts[s], want, memory + places[s] * width, NULL};
        written += s == 1 ? 1 : counts[s];
    }
    cr_assert_eq(tn_session_run(session, feeds, SEQUENCES, &err), TN_OK, "%s", err.text);
    for (uint32_t s = 0; s < SEQUENCES; s++) {
        char what[64];
        float *wanted = rig_alone(model, ids[s], counts[s]);
        uint32_t skipped = s == 1 ? counts[s] - 1 : 0;
        snprintf(what, sizeof what, "steps of %u, places from %u, sequence %u", step_rows, places[0], s);
        rig_expect_rows(what, model, feeds[s].out, wanted + skipped * width, counts[s] - skipped);
        free(wanted);
    }
    for (uint32_t row = 0; row < MEMORY; row++) { written -= memory[row * width] != untouched; }
    cr_expect_eq(written, 0, "rows between the outputs were written");
    free(memory);
    tn_session_destroy(session);
}

Test(session_steps, outputs_in_line_and_not) {
    static const uint32_t places[][4] = {
        {0, 30, 31, 32}, {0, 30, 31, 40}, {0, 35, 36, 37}, {60, 59, 58, 0}, {0, 30, 40, 41}};
    static const uint32_t steps[] = {1, 5, 33, 512};
    tn_model *model = rig_model("llama", 0);
    for (size_t p = 0; p < sizeof places / sizeof *places; p++) {
        for (size_t s = 0; s < sizeof steps / sizeof *steps; s++) { run_in_line(model, steps[s], places[p]); }
    }
    tn_model_close(model);
}

/* After `shared` common tokens two sequences go their own ways, in both orders of writing. */
static void fork_and_diverge(tn_model *model, uint32_t shared) {
    enum { OWN = 20 };
    int32_t ids[2][LENGTH + OWN];
    float *wanted[2];
    rig_ids(model, 20, ids[0], shared + OWN);
    memcpy(ids[1], ids[0], sizeof ids[0]);
    rig_ids(model, 21, ids[1] + shared, OWN);
    for (int s = 0; s < 2; s++) { wanted[s] = rig_alone(model, ids[s], shared + OWN); }
    tn_session *session = rig_session(model, 512, 2);
    tn_error err = TN_ERROR_INIT;
    tn_seq *seqs[2] = {rig_seq(session), NULL};
    rig_feed(seqs[0], session, model, ids[0], shared, TN_WANT_NONE);
    uint64_t before = tn_session_bytes(session);
    cr_assert_eq(tn_seq_fork(seqs[0], &seqs[1], &err), TN_OK, "%s", err.text);
    cr_expect_eq(tn_session_bytes(session), before, "a fork takes no page");
    cr_expect_eq(tn_seq_length(seqs[1]), shared);
    for (uint32_t i = 0; i < OWN; i++) {
        for (int s = 0; s < 2; s++) {
            size_t at = shared + i;
            float *row = rig_feed(seqs[s], session, model, ids[s] + at, 1, TN_WANT_LAST);
            rig_expect_rows(s ? "the fork" : "the parent", model, row,
                            wanted[s] + at * tn_model_output_width(model), 1);
            free(row);
        }
    }
    free(wanted[0]), free(wanted[1]);
    tn_session_destroy(session);
}

Test(session_steps, forks_diverge) {
    tn_model *model = rig_model("llama", 0);
    fork_and_diverge(model, 64);
    fork_and_diverge(model, 63);
    fork_and_diverge(model, 130);
    tn_model_close(model);
}

/* A parent that is freed leaves its fork whole. */
Test(session_steps, forks_outlive_their_parent) {
    tn_model *model = rig_model("llama", 0);
    int32_t ids[LENGTH];
    rig_ids(model, 30, ids, LENGTH);
    float *wanted = rig_alone(model, ids, LENGTH);
    tn_session *session = rig_session(model, 512, 3);
    tn_error err = TN_ERROR_INIT;
    tn_seq *parent = rig_seq(session), *child = NULL;
    rig_feed(parent, session, model, ids, 100, TN_WANT_NONE);
    cr_assert_eq(tn_seq_fork(parent, &child, &err), TN_OK);
    tn_seq_free(parent);
    tn_seq *other = rig_seq(session);
    rig_feed(other, session, model, ids + 50, 100, TN_WANT_NONE);
    float *rows = rig_feed(child, session, model, ids + 100, LENGTH - 100, TN_WANT_ALL);
    rig_expect_rows("the child", model, rows, wanted + 100 * (size_t)tn_model_output_width(model),
                    LENGTH - 100);
    free(rows), free(wanted);
    tn_session_destroy(session);
    tn_model_close(model);
}

Test(session_steps, truncate_and_feed_again) {
    static const uint32_t lengths[] = {0, 1, 63, 64, 65, 128, 149};
    tn_model *model = rig_model("llama", 0);
    int32_t ids[LENGTH], others[LENGTH];
    rig_ids(model, 40, ids, LENGTH);
    rig_ids(model, 41, others, LENGTH);
    float *wanted = rig_alone(model, ids, LENGTH);
    tn_session *session = rig_session(model, 512, 1);
    tn_error err = TN_ERROR_INIT;
    tn_seq *seq = rig_seq(session);
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        uint32_t length = lengths[i];
        cr_assert_eq(tn_seq_truncate(seq, 0, &err), TN_OK);
        rig_feed(seq, session, model, ids, length, TN_WANT_NONE);
        rig_feed(seq, session, model, others, LENGTH - length, TN_WANT_NONE);
        cr_assert_eq(tn_seq_truncate(seq, length, &err), TN_OK, "%s", err.text);
        float *rows = rig_feed(seq, session, model, ids + length, LENGTH - length, TN_WANT_ALL);
        rig_expect_rows("after truncate", model, rows, wanted + length * (size_t)tn_model_output_width(model),
                        LENGTH - length);
        free(rows);
    }
    free(wanted);
    tn_session_destroy(session);
    tn_model_close(model);
}

/* Pages are taken as they fill: a context of many thousand tokens costs nothing until it is used. */
Test(session_steps, cache_grows_as_it_fills) {
    tn_model *model = rig_model("llama", 0);
    int32_t ids[LENGTH];
    rig_ids(model, 50, ids, LENGTH);
    tn_session *session = rig_session(model, 16, 1);
    tn_seq *seq = rig_seq(session);
    uint64_t empty = tn_session_bytes(session);
    rig_feed(seq, session, model, ids, 1, TN_WANT_NONE);
    uint64_t one = tn_session_bytes(session);
    rig_feed(seq, session, model, ids, 10, TN_WANT_NONE);
    cr_expect(one > empty, "%zu bytes, %zu when empty", (size_t)one, (size_t)empty);
    cr_expect_eq(tn_session_bytes(session), one);
    tn_session_destroy(session);
    tn_model_close(model);
}
