/*
 * quant_plan.h - what a plan holds. quant_plan.c makes it, quant_names.c knows what the user named,
 * quant_companion.c folds scales, quant_keys.c describes the new files, quant_write.c makes them.
 */
#ifndef TENON_QUANT_PLAN_H
#define TENON_QUANT_PLAN_H

#include "imatrix.h"
#include "quant_choose.h"
#include "tenon/formats.h"
#include "tenon/quantize.h"

#include <regex.h>

/** A type that the user named, for all names that an expression matches. */
typedef struct tn_named_type {
    regex_t regex;
    const char *pattern;
    const char *type; /**< its name as the registry spells it */
    int used;
} tn_named_type;

/** How a tensor is converted, beside what is public. */
typedef struct tn_conversion {
    tn_format_use from, to;
    const tn_imatrix_entry *importance; /**< NULL: none */
    float *scales;                      /**< to multiply what was decoded: one, or one a matrix; NULL: none */
    uint64_t scale_count;
} tn_conversion;

struct tn_quantize_plan {
    tn_engine *engine;
    const tn_gguf *file;
    tn_mixes mixes;
    const tn_mix *mix; /**< NULL: COPY */
    uint32_t file_type;
    tn_imatrix importance;
    char *importance_path; /**< NULL: none */
    tn_named_type *rules;
    uint32_t rule_count;
    const char *output_type, *embedding_type; /**< as the registry spells them, or NULL */
    int output_used, embedding_used;
    tn_quantize_tensor *tensors;
    tn_conversion *conversions; /**< one for each of tensors */
    uint64_t count;
    uint64_t *shard_sizes;
    uint32_t shard_count;
    uint32_t as_shards;
};

/* ---- quant_names.c: types, mixes and expressions by name ---------------------------------------------- */

/** Finds options->type among the mixes. */
int32_t tn_plan_find_mix(tn_quantize_plan *plan, const char *type, tn_error *err);
/** Compiles the rules, finds the types that options name. */
int32_t tn_plan_read_rules(tn_quantize_plan *plan, const tn_quantize_options *options, tn_error *err);
/** tn_mix_ask's functions; the context is the plan. */
const char *tn_plan_override(void *context, const tn_gguf_tensor *tensor, const tn_mix_pick *pick);
int32_t tn_plan_block(void *context, const char *type, uint32_t *out, tn_error *err);
/** Tells of rules that no tensor took. */
void tn_plan_warn_of_rules(const tn_quantize_plan *plan);
void tn_plan_free_rules(tn_quantize_plan *plan);

/* ---- quant_companion.c --------------------------------------------------------------------------------- */

/** Takes the companions of a tensor that is converted into the conversion and marks them as folded. */
int32_t tn_plan_fold(tn_quantize_plan *plan, uint64_t tensor, tn_error *err);
/** Once all is decided. TN_E_INPUT: a tensor's new format would take another one, by its name, for its companion. */
int32_t tn_plan_check_companions(const tn_quantize_plan *plan, tn_error *err);

/* ---- quant_keys.c: metadata and shards ----------------------------------------------------------------- */

/** Puts each tensor into a shard, counts and measures them. */
int32_t tn_plan_shards(tn_quantize_plan *plan, const tn_quantize_options *options, tn_error *err);
/** Metadata and tensors of a shard, for a writer that is new. */
int32_t tn_plan_describe(const tn_quantize_plan *plan, uint32_t shard, tn_gguf_writer *writer, tn_error *err);

/* ---- quant_pipe.c -------------------------------------------------------------------------------------- */

/** Converts all tensors and writes them, each to its shard's writer. */
int32_t tn_plan_run(const tn_quantize_plan *plan, tn_gguf_writer *const *writers,
                    const tn_quantize_progress *progress, tn_error *err);

/** How messages call the file (the shard) that a tensor is in. */
const char *tn_plan_source(const tn_quantize_plan *plan, const tn_gguf_tensor *tensor);

/** Matrices of a tensor: what lies beyond two dimensions. */
static inline uint64_t tn_matrices(const tn_gguf_tensor *tensor) {
    return tensor->dims[2] * tensor->dims[3];
}

#endif
