/*
 * engine_state.h - what an engine holds: engine.c makes it, registry_scan.c reads manifests into it,
 * registry.c looks names up, registry_open.c opens plugins, registry_check.c tries one.
 */
#ifndef TENON_ENGINE_STATE_H
#define TENON_ENGINE_STATE_H

#include "isa.h"
#include "plugin_check.h"
#include "registry.h"
#include "trust_search.h"

/** A place on the search path: a folder that is trusted, or the fault of one that is not. */
typedef struct tn_place_in {
    tn_folder folder;
    const char *origin;
    int own; /**< the install's own folder, whichever way it was named */
} tn_place_in;

/** An interface that was handed out. */
typedef struct tn_opened {
    struct tn_opened *next;
    const char *interface; /**< the manifest's string */
    void *table;
} tn_opened;

struct tn_entry {
    tn_engine *engine;
    uint32_t place; /**< number in engine->places: the order of the search path */
    tn_manifest manifest;
    tn_plugin_info info;
    char *manifest_path, *library_path, *fault_text;
    tn_library library;
    tn_proof proof;
    int tried, open;
    tn_error result; /**< of the one try to open it */
    tn_opened *tables;
};

struct tn_engine {
    uint64_t isa;
    char isa_text[TN_ISA_TEXT_SIZE];
    tn_pool *pool;
    tn_lent lent;
    tn_plugin_host host;
    tn_gguf_types types;
    tn_search search;
    tn_place_in *places; /**< one for each of search.paths; folder.fd is -1 where there is nothing to read */
    uint32_t place_count;
    tn_entry **entries; /**< sorted by id, then path */
    uint32_t entry_count;
    char *probe_program;     /**< NULL: not known */
    uint32_t probe_limit_ms; /**< how long a plugin may take to open in the child; tests shorten it */
};

/** Fills places and entries from engine->search. */
int32_t tn_registry_scan(tn_engine *engine, tn_error *err);
void tn_registry_free(tn_engine *engine);

/** What a manifest tells of whether this host can use its plugin: TN_E_PLUGIN_ABI, TN_E_PLUGIN_ISA. */
int32_t tn_manifest_judge(const tn_engine *engine, const tn_manifest *manifest, const char *path,
                          tn_error *err);

/** A line to the engine's log. */
TN_PRINTF(3, 4)
void tn_engine_log(const tn_engine *engine, int32_t level, const char *format, ...);

#endif
