/*
 * registry.h - what the rest of core asks of the registry (engine.c, manifest.c, trust.c, loader.c).
 *
 * Lookups go through manifests only; tn_entry_open() is where a plugin's file is checked, hashed, loaded and
 * opened, once an engine.
 */
#ifndef TENON_REGISTRY_H
#define TENON_REGISTRY_H

#include "tenon/engine.h"
#include "tenon/plugin.h"

typedef struct tn_entry tn_entry;

/**
 * The plugin that claims `value` under `key` ("architecture", "type", "model", "pre", "backend", "kernel").
 * TN_E_NOT_FOUND: nobody does. TN_E_PLUGIN_DUPLICATE: several, no pin decides; names both files. Any other
 * code: the one that does is not usable, and why. Numbers (key "type") are written in decimal.
 */
int32_t tn_registry_find(tn_engine *engine, const char *key, const char *value, tn_entry **out,
                         tn_error *err);

/** Finds the plugin of a tensor type, as tn_registry_find(), and opens its format, as tn_entry_open(). */
int32_t tn_registry_open_format(tn_engine *engine, uint32_t type, tn_entry **entry, const tn_format **format,
                                void **self, tn_error *err);

/** Calls each(context, value, entry) for every usable claim of `key`, in the order of the ids. */
void tn_registry_each(tn_engine *engine, const char *key,
                      void (*each)(void *context, const char *value, tn_entry *entry), void *context);

/** Why a name is known and not supported (notes of manifests, key "architecture", "type", "model"), or NULL.
 */
const char *tn_registry_note(const tn_engine *engine, const char *key, const char *value);

const tn_plugin_info *tn_entry_info(const tn_entry *entry);

/**
 * Opens the plugin if it is not yet open and hands out an interface: its table, completed with zeros to what
 * this host was compiled with, and its self. Lives until the engine is destroyed.
 */
int32_t tn_entry_open(tn_engine *engine, tn_entry *entry, const char *interface, const void **table,
                      void **self, tn_error *err);

/** Bytes of a TN_STRUCT_* that an open plugin can read: what lies beyond must be zero to be passed. */
uint32_t tn_entry_struct_size(const tn_entry *entry, uint32_t number);

/** The tn_host that core itself uses: the pool and the allocator. */
const tn_host *tn_engine_host(const tn_engine *engine);

#endif
