/*
 * ctc_beam.h - prefix beam search: the most probable texts of the rows so far, each with the sum of its paths.
 */
#ifndef TENON_CTC_BEAM_H
#define TENON_CTC_BEAM_H

#include "tenon/ctc.h"

/** Characters in the order of the text, in memory of its own. */
typedef struct tn_ctc_list {
    tn_ctc_symbol *items;
    uint64_t count, room;
} tn_ctc_list;
/** Makes room for `more` further ones. */
int32_t tn_ctc_list_reserve(tn_ctc_list *list, uint64_t more, tn_error *err);

typedef struct tn_ctc_beam tn_ctc_beam;
/** `options` have been checked. */
int32_t tn_ctc_beam_create(const tn_ctc_options *options, tn_ctc_beam **out, tn_error *err);
void tn_ctc_beam_free(tn_ctc_beam *beam); /**< NULL is fine */
/** The next row, as log probabilities. What is settled is appended to `list`. */
int32_t tn_ctc_beam_step(tn_ctc_beam *beam, const double *row, tn_ctc_list *list, tn_error *err);
/** Appends the rest of the best text. */
int32_t tn_ctc_beam_finish(tn_ctc_beam *beam, tn_ctc_list *list, double *log_probability, tn_error *err);

#endif
