/* importance_rig.c - see importance_rig.h. */
#include "importance_rig.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <unistd.h>

/* ---- a place for files ---------------------------------------------------------------------------------- */

static char folder[] = "importance_XXXXXX";

void rig_make_folder(void) {
    cr_assert_not_null(mkdtemp(folder));
}

void rig_remove_folder(void) {
    cr_expect_eq(rmdir(folder), 0, "%s is not empty: something was left behind", folder);
}

const char *rig_file(const char *name) {
    static char paths[4][64];
    static int next;
    char *path = paths[next++ % 4];
    snprintf(path, sizeof paths[0], "%s/%s", folder, name);
    return path;
}

/* ---- a model that is watched ---------------------------------------------------------------------------- */

tn_model *rig_load(const char *path, const char *backend) {
    tn_model_options options = {.backend = backend, .cache_type = "f32"};
    tn_error err = TN_ERROR_INIT;
    tn_model *model = NULL;
    cr_assert_eq(tn_model_load(rig_engine(), path, &options, &model, NULL, &err), TN_OK, "%s", err.text);
    return model;
}

tn_model *rig_fixture(const char *name, const char *backend) {
    char file[64];
    snprintf(file, sizeof file, "models/%s.gguf", name);
    return rig_load(rig_data(file), backend);
}

void rig_watch(struct watched *w, tn_model *model, uint32_t step_rows, uint32_t output) {
    tn_error err = TN_ERROR_INIT;
    tn_session_options options = {.step_rows = step_rows};
    w->model = model;
    cr_assert_eq(tn_importance_create(TOKENS, &w->importance, &err), TN_OK);
    cr_assert_eq(tn_importance_collect(w->importance, w->model, output, &err), TN_OK, "%s", err.text);
    options.captures = tn_importance_captures(w->importance, &options.capture_count);
    cr_assert_eq(tn_session_create(w->model, &options, &w->session, &err), TN_OK, "%s", err.text);
    w->sequence = rig_seq(w->session);
    rig_ids(w->model, 3, w->ids, TOKENS);
}

void rig_unwatch(struct watched *w) {
    tn_session_destroy(w->session);
    tn_importance_free(w->importance);
    tn_model_close(w->model);
}

void rig_run_chunk(struct watched *w, uint32_t want) {
    tn_error err = TN_ERROR_INIT;
    cr_assert_eq(tn_seq_truncate(w->sequence, 0, &err), TN_OK);
    free(rig_feed(w->sequence, w->session, w->model, w->ids, TOKENS, want));
}

void rig_end_chunk(struct watched *w) {
    tn_error err = TN_ERROR_INIT;
    cr_assert_eq(tn_importance_end_chunk(w->importance, 1, &err), TN_OK, "%s", err.text);
}

void rig_read_back(const tn_importance *importance, tn_imatrix *out) {
    tn_error err = TN_ERROR_INIT;
    const char *path = rig_file("back.gguf");
    cr_assert_eq(tn_importance_write(importance, path, &err), TN_OK, "%s", err.text);
    cr_assert_eq(tn_imatrix_read(path, out, &err), TN_OK, "%s", err.text);
    unlink(path);
}

const tn_imatrix_entry *rig_entry(const tn_imatrix *matrix, const char *name) {
    const tn_imatrix_entry *entry = tn_imatrix_find(matrix, name);
    cr_assert_not_null(entry, "there is no entry %s", name);
    return entry;
}

void rig_expect_near(const char *what, const double *found, const double *wanted, uint64_t count,
                     double tolerance) {
    for (uint64_t i = 0; i < count; i++) {
        cr_assert(fabs(found[i] - wanted[i]) <= tolerance * fabs(wanted[i]) + 1e-30,
                  "%s: number %llu is %.9g, expected %.9g", what, (unsigned long long)i, found[i], wanted[i]);
    }
}
