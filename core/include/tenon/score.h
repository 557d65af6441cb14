/*
 * tenon/score.h - how well a model predicts a text: what its logits say of the token that really follows, and how
 * far they are from those of another run, which a base file holds.
 *
 * Part of libtenon's public interface. A text is cut into chunks of `context` tokens; the second half of each is
 * scored: of the rows context / 2 to context - 2 each predicts the token after it.
 *
 * A base file, little-endian: "TNLOGITS", uint32 version (1), uint32 width, uint32 context, uint32 chunks, then
 * int32 ids[chunks][context] as they were fed, then float32 logits[chunks][context - 1 - context / 2][width], the
 * rows that are scored. Nothing follows.
 */
#ifndef TENON_SCORE_H
#define TENON_SCORE_H

#include "tenon/engine.h"

TN_BEGIN_C

/** What is known of one row. Logarithms are natural. */
typedef struct tn_score {
    double loss;       /**< -ln of the probability of the token that follows */
    double base_loss;  /**< the same by the base's row */
    double divergence; /**< Kullback-Leibler: sum of p_base * ln(p_base / p) */
    uint32_t same_top; /**< 1: both rows have their (first) largest logit at the same token */
    uint32_t reserved;
} tn_score;

typedef struct tn_scoring {
    const float *logits;
    const float *base;   /**< as many rows of the base; NULL: then only `loss` is set */
    const int32_t *next; /**< for each row the token that follows; below `width` */
    uint32_t rows, width;
    tn_score *out;
} tn_scoring;

/** [load] Scores rows on all workers, each in float64 and by itself. TN_E_FAILED (of the base: TN_E_FILE_DAMAGED)
 * names a row that has a NaN or no largest finite number; minus infinity is a probability of 0. */
int32_t tn_score_rows(tn_engine *engine, const tn_scoring *scoring, tn_error *err);

/* ---- base files ------------------------------------------------------------------------------------- */

typedef struct tn_base_shape {
    uint32_t width;   /**< numbers of a row: the vocabulary */
    uint32_t context; /**< tokens of a chunk, at least 3 */
    uint32_t chunks;  /**< at least 1 */
} tn_base_shape;

/** Rows of a chunk that are scored. */
static inline uint32_t tn_score_count(uint32_t context) {
    return context - 1 - context / 2;
}

/** Bytes of a file of this shape; 0: more than 2^63. */
uint64_t tn_base_bytes(const tn_base_shape *shape);

/** Writes beside `path` and renames. `ids` are chunks * context. Then put() all rows in order, then finish(). */
typedef struct tn_base_writer tn_base_writer;
int32_t tn_base_create(const char *path, const tn_base_shape *shape, const int32_t *ids, tn_base_writer **out,
                       tn_error *err);
/** The name that the file has until it is whole; NULL where the system lets it have none. */
const char *tn_base_unfinished(const tn_base_writer *writer);
int32_t tn_base_put(tn_base_writer *writer, const float *rows, uint32_t count, tn_error *err);
/** Frees the writer, whatever happens. TN_E_INPUT: there are fewer or more rows than the shape says. */
int32_t tn_base_finish(tn_base_writer *writer, tn_error *err);
void tn_base_abandon(tn_base_writer *writer); /**< removes the unfinished file; NULL is fine */

/** TN_E_FILE_*: it is no such file, or not whole. */
typedef struct tn_base tn_base;
int32_t tn_base_open(const char *path, tn_base **out, tn_error *err);
void tn_base_close(tn_base *base); /**< NULL is fine */
const tn_base_shape *tn_base_shape_of(const tn_base *base);
const int32_t *tn_base_ids(const tn_base *base); /**< chunks * context of them, each below width */
/** The next `count` rows. */
int32_t tn_base_read(tn_base *base, float *rows, uint32_t count, tn_error *err);

TN_END_C
#endif
