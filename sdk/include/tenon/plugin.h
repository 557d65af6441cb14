/*
 * tenon/plugin.h - the one symbol that a plugin exports, and the macro that writes it.
 *
 *     static int32_t open(const tn_host *host, void **self, tn_error *err) {...}
 *     static void close(void *self) {...}
 *     static const void *interface(const char *name) {...}
 *     TN_PLUGIN("format.q4_0", "1.0.0", "Apache-2.0", 0, open, close, interface);
 *
 * It is data, so that all of it can be judged before any code of the plugin runs. A plugin keeps no
 * global mutable state, prints nothing, ends no process, makes no threads, and has no constructor.
 */
#ifndef TENON_PLUGIN_H
#define TENON_PLUGIN_H

#include "tenon/arch.h"
#include "tenon/backend.h"
#include "tenon/errors.h"
#include "tenon/format.h"
#include "tenon/kernel.h"
#include "tenon/tokenizer.h"

TN_BEGIN_C

typedef struct tn_plugin {
    uint32_t struct_size;
    uint32_t abi_major;
    uint32_t abi_min_minor; /**< the smallest minor of the host that will do */
    uint32_t abi_minor;     /**< the minor it was compiled with */
    uint32_t struct_count;
    uint32_t reserved;             /**< 0 */
    const uint32_t *struct_sizes;  /**< sizeof each TN_STRUCT_* as it was compiled */
    const char *id;                /**< "format.q4_0": kind, dot, name; the same as in the manifest */
    const char *version, *license; /**< "1.0.0"; an SPDX expression */
    /**
     * [load] Once for each host, before anything else: fast, no threads, no files. Puts what the plugin
     * wants to find again into *self (NULL is fine); `host` lives until close(). On failure nothing of
     * the plugin is called again.
     */
    int32_t (*open)(const tn_host *host, void **self, tn_error *err);
    /** [load] The last call for this host. May be NULL if open() leaves nothing behind. */
    void (*close)(void *self);
    /**
     * [any] The table of an interface by its id ("tenon.format/1"), or NULL if it has none such. Static
     * data; every function in it takes `self` first. The same answer each time; works before open().
     */
    const void *(*interface)(const char *name);
} tn_plugin;

/** The exported symbol. */
#define TN_PLUGIN_SYMBOL "tenon_plugin"
extern TN_EXPORT const tn_plugin tenon_plugin;

#define TN_STRUCT_SIZEOF(name) (uint32_t)sizeof(name),
#define TN_PLUGIN(id_, version_, license_, min_minor_, open_, close_, interface_)                            \
    static const uint32_t tn_struct_sizes_[] = {TN_STRUCTS(TN_STRUCT_SIZEOF)};                               \
    extern TN_EXPORT const tn_plugin tenon_plugin;                                                           \
    const tn_plugin tenon_plugin = {(uint32_t)sizeof(tn_plugin),                                             \
                                    TN_ABI_MAJOR,                                                            \
                                    (min_minor_),                                                            \
                                    TN_ABI_MINOR,                                                            \
                                    TN_STRUCT_COUNT,                                                         \
                                    0,                                                                       \
                                    tn_struct_sizes_,                                                        \
                                    (id_),                                                                   \
                                    (version_),                                                              \
                                    (license_),                                                              \
                                    (open_),                                                                 \
                                    (close_),                                                                \
                                    (interface_)}

/** The plugin of an architecture whose `self` is its host, and whose configs are one piece of the host's memory. */
#define TN_ARCH_PLUGIN(id_, version_, license_, min_minor_, configure_, tensors_, build_)                    \
    static void tn_arch_release_(void *self, void *config) {                                                 \
        const tn_host *host = (const tn_host *)self;                                                         \
        host->free(host, config);                                                                            \
    }                                                                                                        \
    static const tn_arch tn_arch_table_ = {(uint32_t)sizeof(tn_arch), 0,          (configure_),              \
                                           tn_arch_release_,          (tensors_), (build_)};                 \
    static int32_t tn_arch_open_(const tn_host *host, void **self, tn_error *err) {                          \
        (void)err;                                                                                           \
        *self = (void *)host;                                                                                \
        return TN_OK;                                                                                        \
    }                                                                                                        \
    static const void *tn_arch_interface_(const char *name) {                                                \
        return strcmp(name, TN_ARCH_1) == 0 ? &tn_arch_table_ : NULL;                                        \
    }                                                                                                        \
    TN_PLUGIN(id_, version_, license_, min_minor_, tn_arch_open_, NULL, tn_arch_interface_)

TN_END_C
#endif
