/*
 * tenon/embedding.h - texts to vectors: how a model's rows become one vector, and many texts at once.
 *
 * Part of libtenon's public interface. A model that is loaded for TN_PURPOSE_EMBED gives a row a token, which are
 * pooled here; one that is loaded for TN_PURPOSE_RANK gives a row a text, which is not.
 */
#ifndef TENON_EMBEDDING_H
#define TENON_EMBEDDING_H

#include "tenon/model.h"

TN_BEGIN_C

/** How the rows of a text become one; numbered as pooling_type in files. */
enum {
    TN_POOLING_NONE = 0,  /**< they stay what they are */
    TN_POOLING_MEAN = 1,  /**< summed in float64 */
    TN_POOLING_FIRST = 2, /**< that of the first token, often called cls */
    TN_POOLING_LAST = 3,
    TN_POOLING_RANK = 4,    /**< the scores of a classification head */
    TN_POOLING_OF_FILE = 5, /**< as the file says; of a decoder that says nothing: last */
};

/** What the file says, TN_POOLING_OF_FILE: nothing. TN_E_PARAM_TYPE, TN_E_PARAM_UNSUPPORTED: nothing known. */
int32_t tn_pooling_read(const tn_gguf *file, uint32_t *pooling, tn_error *err);
/** [any] `rows` (at least one) of `width` numbers to one row by MEAN, FIRST or LAST. */
void tn_pool_rows(uint32_t pooling, const float *data, uint32_t rows, uint32_t width, float *out);
/** [any] Divides by the euclidean length. A vector of zeros stays as it is. */
void tn_normalise(float *vector, uint32_t width);

/** A session that embeds texts. One thread at a time. */
typedef struct tn_embedder tn_embedder;

typedef struct tn_embedder_options {
    uint32_t pooling; /**< TN_POOLING_* */
    uint32_t
        step_rows;  /**< tokens of one step; 0: what is fast. More where a text must lie whole in a step */
    uint32_t texts; /**< most texts of one step; 0: what is fast */
} tn_embedder_options;

/** TN_E_PARAM_MISSING: an encoder's file does not say how to pool. TN_E_INPUT: RANK of a model that was not loaded for
 * it, or something else of one that was. */
int32_t tn_embedder_create(tn_model *model, const tn_embedder_options *options, tn_embedder **out,
                           tn_error *err);
void tn_embedder_free(tn_embedder *embedder);              /**< before its model; NULL is fine */
uint32_t tn_embedder_pooling(const tn_embedder *embedder); /**< never TN_POOLING_OF_FILE */
/** Most tokens and most texts of one step: whoever gathers that much before a run wastes nothing. */
uint32_t tn_embedder_rows(const tn_embedder *embedder);
uint32_t tn_embedder_texts(const tn_embedder *embedder);
tn_session *tn_embedder_session(const tn_embedder *embedder); /**< for tn_session_cancel() */

/** A text as ids. */
typedef struct tn_embed_text {
    const int32_t *ids;
    uint32_t count; /**< 1 to tn_model_context() */
    float *out;     /**< room for tn_model_output_width() numbers; with NONE for `count` rows of them */
} tn_embed_text;

/**
 * Embeds any number of texts, as many in one step as fit. The result of a text does not depend on those beside it, bit
 * for bit. Vectors are not normalised. TN_E_INPUT, TN_E_CONTEXT: a text has no tokens, an id outside the vocabulary,
 * more tokens than the context holds; then and when cancelled, vectors of texts before it may be there already.
 */
int32_t tn_embedder_run(tn_embedder *embedder, const tn_embed_text *texts, uint64_t count, tn_error *err);

TN_END_C
#endif
