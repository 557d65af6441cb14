/*
 * tenon/quantize.h - a model file made from another one, its tensors in other types.
 *
 * Part of libtenon's public interface. Needs only the formats: architecture and tokenizer may be unknown. A plan
 * says what becomes of each tensor and how large the new files will be, to the byte; writing carries it out.
 */
#ifndef TENON_QUANTIZE_H
#define TENON_QUANTIZE_H

#include "tenon/engine.h"
#include "tenon/gguf.h"

TN_BEGIN_C

/** A type for all tensors whose name a POSIX extended regular expression matches somewhere. */
typedef struct tn_type_rule {
    const char *pattern, *type;
} tn_type_rule;

/** Names of types are read in either case. */
typedef struct tn_quantize_options {
    const char *type; /**< a file type of an installed mix ("Q4_0"), or "COPY": all tensors as they are */
    const char *importance;                   /**< path of an importance file, or NULL */
    const char *output_type, *embedding_type; /**< for these tensors instead of the mix's choice, or NULL */
    const tn_type_rule *rules;                /**< the first that matches; they come before all else */
    uint32_t rule_count;
    uint32_t pure;             /**< 1: the file type's base type for all, not its mix */
    uint32_t leave_output;     /**< 1: the output tensor stays as it is */
    uint32_t allow_requantize; /**< 1: a tensor that is quantised may be converted */
    uint32_t keep_split;       /**< 1: shards hold the tensors that they hold now */
    uint64_t split_size;       /**< most bytes of a shard, where it has more than one tensor; 0: no limit */
    uint32_t split_tensors;    /**< most tensors of a shard; 0: no limit. Without a limit there is one file */
    uint32_t as_shards;        /**< 1: also one file is named as a shard, 1 of 1 */
} tn_quantize_options;

/** What becomes of a tensor. */
enum {
    TN_QUANTIZE_LEFT,      /**< copied as it is */
    TN_QUANTIZE_CONVERTED, /**< decoded and encoded */
    TN_QUANTIZE_FOLDED     /**< a companion of a converted tensor, of no use to its new type: not written */
};

typedef struct tn_quantize_tensor {
    const tn_gguf_tensor *source;
    uint32_t what;    /**< TN_QUANTIZE_* */
    uint32_t type;    /**< number in the new file */
    const char *from; /**< names of the types, "?" where nobody knows one */
    const char *to;
    const char *wanted; /**< the type that it was to have, if its rows are no multiple of that type's ... */
    uint32_t wanted_block;   /**< ... block; else NULL and 0 */
    uint32_t importance;     /**< 1: importance data are used; 0: there are none, or the type ignores them */
    uint32_t lacks;          /**< 1: the type uses importance, the file given has none for this tensor */
    const char *reason;      /**< left: why, as "one dimension"; folded: what becomes of it; else "" */
    uint64_t old_size, size; /**< bytes; size 0 if it is folded */
    uint32_t shard;          /**< it is written to */
} tn_quantize_tensor;

/** A file type, and the type of those of its tensors that no rule of the mix is about. Names live as long as the call. */
typedef void tn_file_type_visit(void *context, const char *name, const char *base);
/** [load] Visits the file types of the installed mixes whose base type can be written here. COPY is none of them. */
int32_t tn_quantize_file_types(tn_engine *engine, tn_file_type_visit *visit, void *context, tn_error *err);

typedef struct tn_quantize_plan tn_quantize_plan;

/**
 * [load] Decides all and reads no weight. The file must be whole (tn_gguf_open() succeeded) and outlive the plan.
 * TN_E_INPUT: options that cannot be met; TN_E_FORMAT_*: a type that is not read or not written here;
 * TN_E_TENSOR_SHAPE: importance data of another model. Rules that are of no use are told to the engine's log.
 */
int32_t tn_quantize_plan_create(tn_engine *engine, const tn_gguf *file, const tn_quantize_options *options,
                                tn_quantize_plan **out, tn_error *err);
void tn_quantize_plan_free(tn_quantize_plan *plan); /**< NULL is fine */

/** Tensors in the source's order. */
uint64_t tn_quantize_count(const tn_quantize_plan *plan);
const tn_quantize_tensor *tn_quantize_at(const tn_quantize_plan *plan, uint64_t i);
/** Shards, at least 1, and the exact bytes of each. */
uint32_t tn_quantize_shards(const tn_quantize_plan *plan);
uint64_t tn_quantize_shard_size(const tn_quantize_plan *plan, uint32_t shard);
/** Entries of the importance file; 0: none was given. */
uint64_t tn_quantize_importance(const tn_quantize_plan *plan);
/**
 * Bytes of the buffers that writing takes. They depend on the number of workers and on the types, not on the size
 * of tensors: at most 3 MiB a worker. Beside them at most 5 MiB of the mapped source are resident for each worker,
 * and the importance data: twice the bytes of their file, three times while it is read.
 */
uint64_t tn_quantize_memory(const tn_quantize_plan *plan);

/**
 * The path of a shard for an output path: that path if there is one (but see as_shards); else PREFIX-00001-of-00003.gguf, where
 * PREFIX is the path without ".gguf", or without such an end if it has one. To be freed; NULL: no memory.
 */
char *tn_quantize_path(const tn_quantize_plan *plan, const char *path, uint32_t shard);

/** How writing goes on. */
typedef struct tn_quantize_progress {
    /** Bytes of the source that are done. From any worker, one at a time. Not 0: stop. May be NULL. */
    int (*step)(void *context, uint64_t done, uint64_t total);
    void *context;
} tn_quantize_progress;

/**
 * [load] What writing would refuse at once, without writing. TN_E_INPUT: `path` is the source, one of its shards
 * or the importance file (through whatever names), no regular file, or is there and `replace` is 0; or there are
 * more shards than the process may open files.
 */
int32_t tn_quantize_check(const tn_quantize_plan *plan, const char *path, uint32_t replace, tn_error *err);

/**
 * [load] Writes the new file (or shards) on all workers: beside, synced, and put in place when all are whole.
 * Until then nothing is seen at `path`, and a file that is there stays. What tn_quantize_check() refuses;
 * TN_E_FILE_DAMAGED: a number of a tensor that is converted is infinite or none (NaN); TN_E_CANCELLED; TN_E_IO.
 * `progress` may be NULL.
 */
int32_t tn_quantize_write(const tn_quantize_plan *plan, const char *path, uint32_t replace,
                          const tn_quantize_progress *progress, tn_error *err);

TN_END_C
#endif
