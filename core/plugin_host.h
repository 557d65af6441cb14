/*
 * plugin_host.h - the tn_host that a plugin, or core itself, is lent.
 */
#ifndef TENON_PLUGIN_HOST_H
#define TENON_PLUGIN_HOST_H

#include "pool.h"
#include "tenon/plugin.h"

typedef struct tn_plugin_host {
    tn_host host; /**< first: what plugins hold is a pointer to it */
    uint32_t sizes[TN_STRUCT_COUNT];
    tn_pool *pool;
    const char *id; /**< put before what it logs; NULL: nothing */
    void (*log)(void *context, int32_t level, const char *text); /**< NULL: nowhere */
    void *log_context;
} tn_plugin_host;

/** What a host lends of its own. */
typedef struct tn_lent {
    tn_pool *pool;
    uint64_t isa;
    void (*log)(void *context, int32_t level, const char *text);
    void *log_context;
} tn_lent;

/** Fills *out for a plugin (NULL: for core, with all of this host's sizes). *out must not move afterwards. */
void tn_plugin_host_init(tn_plugin_host *out, const tn_lent *lent, const tn_plugin *plugin);

/** sizeof each TN_STRUCT_* in this host. */
extern const uint32_t tn_host_sizes[TN_STRUCT_COUNT];

#endif
