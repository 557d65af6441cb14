/*
 * plugin_check.h - everything that a library must stand before it serves, check by check.
 */
#ifndef TENON_PLUGIN_CHECK_H
#define TENON_PLUGIN_CHECK_H

#include "loader.h"
#include "manifest.h"
#include "plugin_host.h"

/** A plugin on its way from file to open; checks fill it as they pass. */
typedef struct tn_proof {
    const tn_manifest *manifest;
    tn_library *library;
    const tn_lent *lent;
    const tn_plugin *plugin; /**< once loaded */
    tn_plugin_host host;
    void *self;     /**< once opened */
    char said[256]; /**< of the last check that passed: what was found */
} tn_proof;

/** Told of every check in order. [as tn_engine_check()] */
typedef struct tn_check_report {
    void (*report)(void *context, const char *check, int passed, const char *text);
    void *context;
} tn_check_report;

/** hash, elf: on the file's bytes. Runs no code of it. `report` may be NULL. */
int32_t tn_proof_file(tn_proof *proof, const tn_check_report *report, tn_error *err);

/** load, abi version, abi sizes, interfaces, claims, open: in this process. On failure nothing of the plugin
 * is called again. */
int32_t tn_proof_open(tn_proof *proof, const tn_check_report *report, tn_error *err);

/** The table of an interface that passed, filled with zeros to the `size` that this host was compiled with.
 */
void tn_proof_table(const tn_proof *proof, const char *interface, void *out, size_t size);

/** sizeof the table of an interface that this host knows, 0 for others. */
size_t tn_interface_size(const char *interface);

/** abi of a manifest or plugin against this host's: TN_E_PLUGIN_ABI with both numbers. */
int32_t tn_abi_check(const char *path, uint32_t major, uint32_t min_minor, tn_error *err);

/** Members that must be set and tables that must be consistent (plugin_tables.c), and agreement with the
 * manifest's claims. */
int32_t tn_table_check(const tn_proof *proof, const char *interface, const void *table, tn_error *err);
int32_t tn_claims_check(const tn_proof *proof, tn_error *err);

#endif
