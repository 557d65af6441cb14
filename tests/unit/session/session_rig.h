/* session_rig.h - a model on the reference backend, sequences fed in one go, and rows compared bit for bit.
 */
#ifndef TENON_SESSION_RIG_H
#define TENON_SESSION_RIG_H

#include "fit_rig.h"

/** Loads a fixture ("llama") with a float32 cache. */
tn_model *rig_model(const char *name, uint32_t context);
/** Loads a file of the probe architecture, likewise. */
tn_model *rig_probe_model(const rig_probe *probe);
tn_session *rig_session(tn_model *model, uint32_t step_rows, uint32_t sequences);
tn_seq *rig_seq(tn_session *session);
/** `count` ids that look random and are below the model's vocabulary; the same for the same seed. */
void rig_ids(const tn_model *model, uint32_t seed, int32_t *ids, uint32_t count);
/** Feeds ids to one sequence and returns the wanted rows, to be freed. */
float *rig_feed(tn_seq *seq, tn_session *session, const tn_model *model, const int32_t *ids, uint32_t count,
                uint32_t want);
/** All rows of the ids in a session of its own, in one step. To be freed. */
float *rig_alone(tn_model *model, const int32_t *ids, uint32_t count);
/** Fails the test at the first number that differs in any bit. */
void rig_expect_rows(const char *what, const tn_model *model, const float *found, const float *wanted,
                     uint32_t rows);

#endif
