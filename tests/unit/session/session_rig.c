/* session_rig.c - see session_rig.h. */
#include "session_rig.h"

#include <criterion/criterion.h>
#include <stdlib.h>

static tn_model *load(const char *path, uint32_t context) {
    tn_model_options options = {.backend = "reference", .cache_type = "f32", .context = context};
    tn_error err = TN_ERROR_INIT;
    tn_model *model = NULL;
    cr_assert_eq(tn_model_load(rig_engine(), path, &options, &model, NULL, &err), TN_OK, "%s", err.text);
    return model;
}

tn_model *rig_model(const char *name, uint32_t context) {
    char file[256];
    snprintf(file, sizeof file, "models/%s.gguf", name);
    return load(rig_data(file), context);
}

tn_model *rig_probe_model(const rig_probe *probe) {
    return load(rig_make_probe(probe), 0);
}

tn_session *rig_session(tn_model *model, uint32_t step_rows, uint32_t sequences) {
    tn_session_options options = {.step_rows = step_rows, .sequences = sequences};
    tn_error err = TN_ERROR_INIT;
    tn_session *session = NULL;
    cr_assert_eq(tn_session_create(model, &options, &session, &err), TN_OK, "%s", err.text);
    return session;
}

tn_seq *rig_seq(tn_session *session) {
    tn_error err = TN_ERROR_INIT;
    tn_seq *seq = NULL;
    cr_assert_eq(tn_seq_create(session, &seq, &err), TN_OK, "%s", err.text);
    return seq;
}

void rig_ids(const tn_model *model, uint32_t seed, int32_t *ids, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        seed = seed * 1664525u + 1013904223u;
        ids[i] = (int32_t)((seed >> 8) % tn_model_vocab_size(model));
    }
}

float *rig_feed(tn_seq *seq, tn_session *session, const tn_model *model, const int32_t *ids, uint32_t count,
                uint32_t want) {
    tn_error err = TN_ERROR_INIT;
    size_t rows = want == TN_WANT_ALL ? count : want == TN_WANT_LAST;
    float *out = rows ? malloc(rows * tn_model_output_width(model) * sizeof *out) : NULL;
    tn_feed feed = {seq, ids, count, want, out, NULL};
    cr_assert_eq(tn_session_run(session, &feed, 1, &err), TN_OK, "%s", err.text);
    return out;
}

float *rig_alone(tn_model *model, const int32_t *ids, uint32_t count) {
    tn_session *session = rig_session(model, 512, 1);
    float *out = rig_feed(rig_seq(session), session, model, ids, count, TN_WANT_ALL);
    tn_session_destroy(session);
    return out;
}

void rig_expect_rows(const char *what, const tn_model *model, const float *found, const float *wanted,
                     uint32_t rows) {
    size_t width = tn_model_output_width(model);
    for (size_t i = 0; i < rows * width; i++) {
        cr_assert(memcmp(&found[i], &wanted[i], sizeof *found) == 0,
                  "%s: row %zu, column %zu is %.9g, expected %.9g", what, i / width, i % width, found[i],
                  wanted[i]);
    }
}
