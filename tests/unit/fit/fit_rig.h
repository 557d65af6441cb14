/*
 * fit_rig.h - an engine with the plugins of this build, and files made from a fixture with faults put in.
 */
#ifndef TENON_FIT_RIG_H
#define TENON_FIT_RIG_H

#include "tenon/model.h"

/** The engine of the test program: made on the first call. */
tn_engine *rig_engine(void);
/** "FOLDER/name" under TENON_TEST_DATA, in static memory. */
const char *rig_data(const char *name);
/** Milliseconds of CPU time that this process has used. */
double rig_cpu_ms(void);
/** 0 in builds where time says nothing: sanitizers, valgrind. */
int rig_timed(void);

/** A key whose value is a uint32. */
typedef struct rig_number {
    const char *key;
    uint32_t number;
} rig_number;

/** How a copy of a fixture differs from it. Lists end with NULL. */
typedef struct rig_edit {
    const char *source; /**< "models/llama.gguf" */
    const char *const *drop_keys;
    const char *key, *text; /**< sets a string */
    const char *number_key; /**< sets a uint32 */
    uint32_t number;
    rig_number numbers[4]; /**< sets more */
    const char *const *drop_tensors;
    int no_tensors;
    const char *reshape; /**< a tensor whose dims are `dims` instead; same number of elements */
    uint64_t dims[4];
    uint32_t dim_count;
    const char *retype; /**< a tensor that claims to be of type `type`: its bytes stay */
    uint32_t type;
    uint32_t extra;         /**< so many more tensors "extra.N" of 1 float */
    const char *extra_name; /**< another one */
} rig_edit;

/** Writes the copy into a folder of this test and returns its path (static memory, one at a time). */
const char *rig_make(const rig_edit *edit);

/** The graphs of the probe architecture (probe/arch_probe.c). */
enum {
    RIG_POOLED = 0,
    RIG_HIDDEN = 1,
    RIG_WINDOWED = 2,
    RIG_SCALED = 3,
    RIG_MIXED = 4,
    RIG_PORTED = 5,
    RIG_SPELLED = 6
};

/** A model file of the probe architecture; its embedding has 32 rows of 16, its positions (if pooled) 64. */
typedef struct rig_probe {
    uint32_t graph, context;
    uint32_t scales;      /**< scaled: numbers in turn.scale, 0: it is absent */
    float scale;          /**< each of them */
    uint32_t input_scale; /**< scaled: 1: turn.input_scale is there */
} rig_probe;
/** Writes it and returns its path, as rig_make() does. */
const char *rig_make_probe(const rig_probe *probe);

/** An adapter of one pair of F32 tensors TENSOR.lora_a, TENSOR.lora_b, or, where b[0] is 0, a control vector of one TENSOR. */
typedef struct rig_adapter {
    const char *architecture, *tensor;
    uint64_t a[3], b[3];
    uint32_t type;     /**< what the tensors claim to be */
    const char *poked; /**< "a" or "b": one of its numbers is `number`; NULL: none */
    uint64_t at;
    float number;
    float alpha; /**< adapter.lora.alpha; 0: absent */
} rig_adapter;
/** Writes it and returns its path, as rig_make() does. */
const char *rig_make_adapter(const rig_adapter *adapter);

/** Opens and fits a file; closes it again with rig_end(). */
typedef struct rig_result {
    tn_gguf *file;
    tn_fit *fit;
    int32_t opened;
    char text[16384]; /**< all reasons, a line each */
} rig_result;
void rig_fit(const char *path, const tn_model_options *options, rig_result *out);
/** The number of reasons of a code in the list (not those only counted). */
uint32_t rig_count(const rig_result *result, int32_t code);
void rig_end(rig_result *result);

#endif
