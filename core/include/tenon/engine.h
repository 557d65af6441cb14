/*
 * tenon/engine.h - the engine: the registry of plugins and the compute pool.
 *
 * Part of libtenon's public interface. One engine serves any number of models. Functions are [load] unless
 * they say otherwise.
 */
#ifndef TENON_ENGINE_H
#define TENON_ENGINE_H

#include "tenon/errors.h"
#include "tenon/gguf.h"

TN_BEGIN_C

typedef struct tn_engine tn_engine;

/** Program version, e.g. "0.1.0". [any] */
const char *tn_version(void);

/** How an engine is made. */
typedef struct tn_engine_options {
    const char *const *plugin_dirs; /**< more folders to look in, before the install's own */
    uint32_t plugin_dir_count;
    uint32_t threads; /**< workers; 0: as many as this process may really use (affinity, cgroup quota) */
    const char *const *pins; /**< ids of plugins that win where two claim one name */
    uint32_t pin_count;
    /** Gets warnings and, if asked, more; NULL: nowhere. [any] */
    void (*log)(void *context, int32_t level, const char *text);
    void *log_context;
} tn_engine_options;

/**
 * Reads the manifests of all plugin folders; opens no plugin. A folder or plugin that is not to be trusted,
 * or whose manifest is wrong, is kept with its fault (tn_plugin_info) and never opened. Fails for a wrong
 * TENON_ISA (TN_E_INPUT), one of plugin_dirs that is not there, memory. `options` may be NULL: all zero.
 */
int32_t tn_engine_create(const tn_engine_options *options, tn_engine **out, tn_error *err);
/** After every model is closed. NULL is fine. */
void tn_engine_destroy(tn_engine *engine);

/** TN_ISA_* bits in use, and their names ("avx2 avx512 avx512_vnni", or "portable"). [any] */
uint64_t tn_engine_isa(const tn_engine *engine);
const char *tn_engine_isa_text(const tn_engine *engine);
uint32_t tn_engine_threads(const tn_engine *engine);

/** Answers for tn_gguf_open() from the formats' manifests; lives as long as the engine. */
const tn_gguf_types *tn_engine_types(const tn_engine *engine);
/** Name of a tensor type ("Q4_0") from manifests and notes, NULL if nobody knows the number. [any] */
const char *tn_engine_type_name(const tn_engine *engine, uint32_t type);
/** Its number, by name in either case; -1 if nobody knows it. [any] */
int64_t tn_engine_type_number(const tn_engine *engine, const char *name);

/** Why a name is known and not supported (keys "architecture", "type" with the number, "model"), or NULL.
 * [any] */
const char *tn_engine_note(const tn_engine *engine, const char *key, const char *value);

/* ---- plugins, for `tenon plugins` ------------------------------------------------------------------- */

/** One claim of a manifest: key "architecture", value "llama". */
typedef struct tn_plugin_claim {
    const char *key, *value;
} tn_plugin_claim;

/** One plugin as its manifest tells; nothing of it has been opened. */
typedef struct tn_plugin_info {
    const char *id, *kind, *version, *license; /**< "" where the manifest could not be read so far */
    const char *manifest, *library;            /**< paths; library "" for notes */
    const char *origin; /**< "install", "--plugin-dir", "TENON_PLUGIN_PATH", "config" */
    const char *sha256; /**< as the manifest says, hex */
    const char *isa;    /**< what it needs, "" if nothing */
    uint32_t abi_major, abi_min_minor;
    const char *const *interfaces;
    uint32_t interface_count;
    uint32_t claim_count;
    const tn_plugin_claim *claims;
    uint32_t pinned; /**< 1: named by a pin */
    int32_t fault;   /**< TN_OK: usable as far as can be seen; else why not, in words: */
    const char *fault_text;
} tn_plugin_info;

uint32_t tn_engine_plugin_count(const tn_engine *engine);
const tn_plugin_info *tn_engine_plugin(const tn_engine *engine, uint32_t i); /**< sorted by id, then path */

/**
 * Goes through every check that loading would make on a plugin file (its manifest lies beside it): folder,
 * file, manifest, hash, ELF, ABI version, ABI sizes, interfaces, claims, open in a child process. Calls
 * report once a check, in order; stops after the first that failed. TN_OK: would be accepted; else the code.
 */
int32_t tn_engine_check(tn_engine *engine, const char *library,
                        void (*report)(void *context, const char *check, int passed, const char *text),
                        void *context, tn_error *err);

TN_END_C
#endif
