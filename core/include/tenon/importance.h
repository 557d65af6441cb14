/*
 * tenon/importance.h - importance matrices: which columns of a model's matrices matter, learnt from what goes
 * into them while the model reads a text. Quantising reads them.
 *
 * Part of libtenon's public interface. Collecting: create, collect, a session made with the captures, then for
 * each chunk of text run it and end the chunk; write at any time between chunks. Merging: create, merge, write.
 * One thread at a time.
 */
#ifndef TENON_IMPORTANCE_H
#define TENON_IMPORTANCE_H

#include "tenon/model.h"

TN_BEGIN_C

typedef struct tn_importance tn_importance;

/** An empty one. `chunk_size`: tokens of a chunk; 0: what the first file merged says, or 512. */
int32_t tn_importance_create(uint32_t chunk_size, tn_importance **out, tn_error *err);
/** After the session that shows it anything. NULL is fine. */
void tn_importance_free(tn_importance *importance);

/** Adds what another run has gathered: a file of either form. Going on with the file of one run, chunk after chunk,
 * ends in the same bits as a run that never stopped. TN_E_INPUT: it has a matrix of another shape. */
int32_t tn_importance_merge(tn_importance *importance, const char *path, tn_error *err);
/** Adds the name of a text, unless it is there. */
int32_t tn_importance_dataset(tn_importance *importance, const char *name, tn_error *err);

/**
 * Adds an entry for each matrix of the model's layers, with `output` also for those behind the last layer.
 * Experts have their own sums and counts each. At most once. TN_E_INPUT: a file that was merged has a matrix of
 * another shape.
 */
int32_t tn_importance_collect(tn_importance *importance, const tn_model *model, uint32_t output,
                              tn_error *err);
/** For the session that is to be watched; they live as long as the importance. */
const tn_capture *tn_importance_captures(const tn_importance *importance, uint32_t *count);
/**
 * After a chunk of text was run: counts all that was seen since the last call, or (keep = 0: the run failed)
 * forgets it. TN_E_FAILED: some of it were no numbers; names the matrix and counts nothing.
 */
int32_t tn_importance_end_chunk(tn_importance *importance, uint32_t keep, tn_error *err);

/** Writes a GGUF file beside `path` and renames it over. */
int32_t tn_importance_write(const tn_importance *importance, const char *path, tn_error *err);

/** What is known of one matrix. */
typedef struct tn_importance_row {
    const char *name;
    uint64_t columns, experts; /**< experts: 1 for a plain matrix */
    double least, most;        /**< activations seen, over the experts */
    uint64_t unseen;           /**< experts that saw none */
    double
        spread; /**< importance of the most important column over that of all in the mean: 1 to `columns`; of
                      experts the largest; 0: nothing is known */
} tn_importance_row;
/** Files merged that do not tell how many tokens a chunk has, as the older form never does. There the chunk size of
 * the importance was taken, which weighs an older file against the others. */
uint32_t tn_importance_unsized(const tn_importance *importance);
uint64_t tn_importance_count(const tn_importance *importance);
void tn_importance_at(const tn_importance *importance, uint64_t i, tn_importance_row *out);
uint32_t tn_importance_chunks(const tn_importance *importance);     /**< in all, those merged included */
uint32_t tn_importance_chunk_size(const tn_importance *importance); /**< tokens */

TN_END_C
#endif
