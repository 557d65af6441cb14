/*
 * tenon/formats.h - tensor formats by themselves: what their plugins can do, and whether a file's blocks are
 * sound. Needs no architecture and no tokenizer.
 *
 * Part of libtenon's public interface.
 */
#ifndef TENON_FORMATS_H
#define TENON_FORMATS_H

#include "tenon/engine.h"
#include "tenon/format.h"

TN_BEGIN_C

/** An opened format. Both live as long as the engine. */
typedef struct tn_format_use {
    const tn_format *format;
    void *self;                   /**< first argument of its functions */
    const tn_plugin_info *plugin; /**< where it comes from */
} tn_format_use;

/**
 * [load] The format of a tensor type, its plugin opened if it was not yet. TN_E_FORMAT_UNKNOWN: no plugin reads
 * the type, with its name and the note about it where there is one; else why the plugin cannot be used.
 */
int32_t tn_engine_format(tn_engine *engine, uint32_t type, tn_format_use *out, tn_error *err);

/** Calls each() for every tensor type that a usable plugin claims, in the order of the plugins' ids. [any] */
void tn_engine_each_type(tn_engine *engine, void (*each)(void *context, uint32_t type), void *context);

/** Blocks of a tensor that no encoder writes: with an infinite or undefined number inside. */
typedef struct tn_tensor_faults {
    uint64_t blocks; /**< of the tensor */
    uint64_t bad;    /**< how many of them are */
    uint64_t first;  /**< number of the first bad one */
} tn_tensor_faults;

/**
 * [load] Looks at every block of a tensor, on all workers. TN_E_FORMAT_UNKNOWN as above; TN_E_FORMAT_REFUSED: the
 * plugin has no check.
 */
int32_t tn_tensor_check(tn_engine *engine, const tn_gguf_tensor *tensor, tn_tensor_faults *out,
                        tn_error *err);

TN_END_C
#endif
