/*
 * quant_rig.h - small models of any architecture to quantise, and an engine with the plugins of this build.
 */
#ifndef TENON_QUANT_RIG_H
#define TENON_QUANT_RIG_H

#include "support.h"
#include "tenon/formats.h"
#include "tenon/quantize.h"

/** Numbers of types in files. */
enum { F32 = 0, F16 = 1, Q4_0 = 2, Q4_1 = 3, Q8_0 = 8, Q6_K = 14, NVFP4 = 40 };

/** A folder of the test, made at first use; PATH in it, in static memory (the last 64 of them). */
const char *rig_path(const char *name);
/** Removes the folder. */
void rig_end(void);

/** An engine of `threads` workers that finds this build's plugins; destroyed by rig_end(). */
tn_engine *rig_engine(uint32_t threads);
/** 1 if a plugin of this build writes the type. */
int rig_writes(const char *type);

typedef struct rig_tensor {
    const char *name;
    uint32_t type; /**< the data are encoded by its plugin; a type that nobody reads gets `elements` bytes */
    uint32_t dim_count;
    uint64_t dims[4];
} rig_tensor;

typedef struct rig_model {
    const rig_tensor *tensors;
    size_t count;
    uint32_t alignment; /**< 0: the key is not there */
    uint32_t shards; /**< 0: one file; else PATH without ".gguf" gets -0000N-of-0000M.gguf, tensors in turn */
    const char *spoiled; /**< a tensor (F32) with one number replaced ... */
    uint64_t spoiled_at;
    float value;           /**< ... by this */
    uint32_t without_type; /**< 1: general.file_type is not there */
} rig_model;

/** Writes it; returns the path (of the first shard), in static memory. */
const char *rig_write(const char *name, const rig_model *model);
/** Number `i` of tensor number `tensor` of a model. */
float rig_value(size_t tensor, uint64_t i);

/** Opens what must be sound. */
tn_gguf *rig_open(const char *path);
/** Plans what must be possible. */
tn_quantize_plan *rig_plan(const tn_gguf *file, const tn_quantize_options *options);
/** The plan must fail with this code and have these words. */
void rig_refused(const tn_gguf *file, const tn_quantize_options *options, int32_t code, const char *words);
/** Plans and writes; what fails fails the test. Checks that sizes are as planned. */
void rig_quantize(const char *from, const tn_quantize_options *options, const char *to);

/** A tensor's numbers, decoded; to be freed. */
float *rig_numbers(const tn_gguf *file, const char *tensor);

/** An importance file of the newer form. `sums` are columns x experts numbers, `counts` one an expert. */
typedef struct rig_entry {
    const char *name;
    uint64_t columns, experts;
    const float *sums, *counts;
} rig_entry;
const char *rig_importance(const char *name, const rig_entry *entries, size_t count);

#endif
