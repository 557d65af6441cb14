/*
 * importance_rig.h - a model whose matrices are watched, a folder for files, and what was gathered read back.
 */
#ifndef TENON_IMPORTANCE_RIG_H
#define TENON_IMPORTANCE_RIG_H

#include "imatrix.h"
#include "session_rig.h"

#include "tenon/importance.h"

enum { TOKENS = 40 };

struct watched {
    tn_model *model;
    tn_importance *importance;
    tn_session *session;
    tn_seq *sequence;
    int32_t ids[TOKENS];
};

/** A folder of the test's own: before and after each test of a suite. Nothing may be left in it. */
void rig_make_folder(void);
void rig_remove_folder(void);
/** "FOLDER/name"; the last four stay. */
const char *rig_file(const char *name);

tn_model *rig_load(const char *path, const char *backend);
/** A fixture ("llama") on a backend. */
tn_model *rig_fixture(const char *name, const char *backend);
/** Watches a model, which unwatch() closes. Chunks are of TOKENS tokens. */
void rig_watch(struct watched *w, tn_model *model, uint32_t step_rows, uint32_t output);
void rig_unwatch(struct watched *w);
/** One chunk: runs it, with TN_WANT_ALL its outputs too; and counts it. */
void rig_run_chunk(struct watched *w, uint32_t want);
void rig_end_chunk(struct watched *w);

/** What was gathered, by way of a file. */
void rig_read_back(const tn_importance *importance, tn_imatrix *out);
const tn_imatrix_entry *rig_entry(const tn_imatrix *matrix, const char *name);
/** Relative; fails the test at the first number that is farther off. */
void rig_expect_near(const char *what, const double *found, const double *wanted, uint64_t count,
                     double tolerance);

#endif
