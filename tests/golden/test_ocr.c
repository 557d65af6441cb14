/*
 * test_ocr.c - lines of text from frames, through libtenon as a program would use it, against tests/data/ocr/lines.txt:
 * texts, probabilities, rows and confidences that were computed in float64 by another program. On the reference and on the
 * cpu backend with each instruction set.
 */
#include "golden_place.h"
#include "tenon/ctc.h"

#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <math.h>
#include <stdlib.h>

enum { MOST = 128, WIDTH = 64, NPY_HEAD = 128 };

struct wanted {
    double log_probability;
    int count;
    tn_ctc_symbol symbols[MOST];
};

ParameterizedTestParameters(ocr, lines) {
    static golden_place places[] = {{"", "reference", "", 2},
                                    {"", "cpu", "portable", 2},
                                    {"", "cpu", "avx2", 2},
                                    {"", "cpu", "avx512vnni", 2}};
    return cr_make_param_array(golden_place, places, sizeof places / sizeof *places);
}

static const char *data(const char *name) {
    static char path[4096];
    snprintf(path, sizeof path, "%s/ocr/%s", getenv("TENON_TEST_DATA"), name);
    return path;
}

/* ---- the line */

static void read_wanted(FILE *file, struct wanted *out) {
    cr_assert(fscanf(file, "%lf %d", &out->log_probability, &out->count) == 2 && out->count <= MOST);
    for (int i = 0; i < out->count; i++) {
        tn_ctc_symbol *s = &out->symbols[i];
        unsigned long first, last;
        cr_assert(fscanf(file, "%u %lu %lu %lf", &s->symbol, &first, &last, &s->confidence) == 4);
        s->first = first;
        s->last = last;
    }
}

/* A .npy that the maker has written: behind its header the rows. */
static float *read_frames(const char *name, uint32_t count) {
    char file_name[128];
    float *frames = malloc((size_t)count * WIDTH * sizeof *frames);
    snprintf(file_name, sizeof file_name, "%s.npy", name);
    FILE *file = fopen(data(file_name), "rb");
    cr_assert(file && fseek(file, NPY_HEAD, SEEK_SET) == 0, "%s", file_name);
    cr_assert(fread(frames, WIDTH * sizeof *frames, count + 1, file) == count, "%s", file_name);
    fclose(file);
    return frames;
}

static void expect_text(const char *what, const tn_ctc_text *found, const struct wanted *wanted,
                        double tolerance) {
    cr_assert(found->count == (uint64_t)wanted->count, "%s: %d characters, expected %d", what,
              (int)found->count, wanted->count);
    double off = fabs(found->log_probability - wanted->log_probability);
    cr_assert(off <= 50 * tolerance, "%s: log probability %.9g, expected %.9g", what, found->log_probability,
              wanted->log_probability);
    for (int i = 0; i < wanted->count; i++) {
        const tn_ctc_symbol *f = &found->symbols[i], *w = &wanted->symbols[i];
        cr_assert(f->symbol == w->symbol && f->first == w->first && f->last == w->last,
                  "%s, character %d: symbol %u in rows %d to %d, expected %u in %d to %d", what, i, f->symbol,
                  (int)f->first, (int)f->last, w->symbol, (int)w->first, (int)w->last);
        cr_assert(fabs(f->confidence - w->confidence) <= tolerance,
                  "%s, character %d: confidence %.9g, expected %.9g", what, i, f->confidence, w->confidence);
    }
}

static void decode(const char *what, const tn_model *model, uint32_t beam, const float *rows, uint32_t count,
                   const struct wanted *wanted, double tolerance) {
    tn_error err = TN_ERROR_INIT;
    tn_ctc *ctc;
    tn_ctc_text text;
    cr_assert(tn_ctc_open(model, beam, &ctc, &err) == TN_OK, "%s", err.text);
    cr_assert(tn_ctc_push(ctc, rows, count, &err) == TN_OK, "%s", err.text);
    cr_assert(tn_ctc_finish(ctc, &text, &err) == TN_OK, "%s", err.text);
    expect_text(what, &text, wanted, tolerance);
    tn_ctc_free(ctc);
}

static float *run(tn_model *model, const float *frames, uint32_t count) {
    tn_error err = TN_ERROR_INIT;
    tn_session *session = NULL;
    tn_seq *seq = NULL;
    float *rows = malloc((size_t)count * tn_model_output_width(model) * sizeof *rows);
    cr_assert(tn_session_create(model, &(tn_session_options){.step_rows = 50}, &session, &err) == TN_OK);
    cr_assert(tn_seq_create(session, &seq, &err) == TN_OK);
    tn_feed feed = {.sequence = seq, .frames = frames, .count = count, .want = TN_WANT_ALL, .out = rows};
    cr_assert(tn_session_run(session, &feed, 1, &err) == TN_OK, "%s", err.text);
    tn_session_destroy(session);
    return rows;
}

static void check_line(tn_engine *engine, const golden_place *p, FILE *file) {
    char model_name[64], frames_name[64], what[256];
    struct wanted path, text;
    uint32_t count, beam;
    tn_model_options options = {.backend = p->backend};
    tn_error err = TN_ERROR_INIT;
    tn_model *model;
    cr_assert(fscanf(file, "%63s %63s %u path", model_name, frames_name, &count) == 3);
    read_wanted(file, &path);
    cr_assert(fscanf(file, " beam %u", &beam) == 1);
    read_wanted(file, &text);
    cr_assert(tn_model_load(engine, data(model_name), &options, &model, NULL, &err) == TN_OK, "%s", err.text);
    cr_assert(tn_model_frame_width(model) == WIDTH);
    float *frames = read_frames(frames_name, count), *rows = run(model, frames, count);
    /* Q8_0: on the cpu backend frames are rounded to 8 bits too. */
    double tolerance = strstr(model_name, "q8_0") && strcmp(p->backend, "cpu") == 0 ? 0.03 : 1e-5;
    snprintf(what, sizeof what, "%s, %s on %s %s", model_name, frames_name, p->backend, p->isa);
    decode(what, model, 0, rows, count, &path, tolerance);
    decode(what, model, beam, rows, count, &text, tolerance);
    free(frames);
    free(rows);
    tn_model_close(model);
}

ParameterizedTest(golden_place *p, ocr, lines) {
    tn_engine *engine = golden_engine_if(p->isa, p->threads);
    FILE *file = fopen(data("lines.txt"), "r");
    char word[16];
    int lines = 0;
    cr_assert(file);
    while (fscanf(file, "%15s", word) == 1) {
        cr_assert(strcmp(word, "line") == 0, "%s", word);
        check_line(engine, p, file);
        lines++;
    }
    cr_assert(lines == 6, "%d lines", lines);
    fclose(file);
    tn_engine_destroy(engine);
}
