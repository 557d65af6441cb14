/*
 * quant_choose.h - chooses the type of each tensor of a model by a mix.
 */
#ifndef TENON_QUANT_CHOOSE_H
#define TENON_QUANT_CHOOSE_H

#include "quant_mix.h"
#include "tenon/gguf.h"

/** What conditions ask of a model. */
typedef struct tn_mix_model {
    char architecture[64]; /**< "" if the file does not say */
    uint64_t layers, gqa, experts;
    int importance; /**< 1: there is importance data */
} tn_mix_model;

/** Fills all but `importance` from the metadata; what they do not say is taken from the tensors' names (layers)
 * or as 1 (gqa) and 0 (experts). */
void tn_mix_model_read(const tn_gguf *file, tn_mix_model *out);

/** What becomes of a tensor. */
typedef struct tn_mix_pick {
    const char *keep;   /**< why it is not converted, in words; NULL: it is */
    const char *type;   /**< its type */
    const char *wanted; /**< the type it was to have: another one only where that does not fit its rows */
    uint32_t wanted_block;
    uint32_t role;        /**< of its class, TN_MIX_*; TN_MIX_LAYERED if it is in none */
    int is_output;        /**< it is the output, or the embedding in its place */
    int needs_importance; /**< this type may not be made without */
} tn_mix_pick;

typedef struct tn_mix_ask {
    const tn_mix *mix;
    uint32_t file; /**< number of the file type */
    const tn_mix_model *model;
    const tn_gguf_tensor *const *tensors;
    uint64_t count;
    int pure;         /**< no rules: the base type for all */
    int leave_output; /**< what is of the class of outputs stays as it is */
    /** A type that somebody named for this tensor, instead of all rules; NULL: none. The pick has its class.
     * May be NULL. */
    const char *(*override)(void *context, const tn_gguf_tensor *tensor, const tn_mix_pick *pick);
    /** Elements of a block of a type. */
    int32_t (*block)(void *context, const char *type, uint32_t *out, tn_error *err);
    void *context;
} tn_mix_ask;

/** Fills a pick for each tensor. TN_E_FORMAT_REFUSED: blocks do not fit a row and nothing stands in. */
int32_t tn_mix_choose(const tn_mix_ask *ask, tn_mix_pick *picks, tn_error *err);

/** 1 if the mix is about tensors of this name: converts them, or would but for a line that keeps them. */
int tn_mix_is_about(const tn_mix *mix, const char *name);

/** N of a name blk.N.rest, or -1. */
int64_t tn_layer_of(const char *name);

#endif
