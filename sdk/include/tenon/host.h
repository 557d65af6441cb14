/*
 * tenon/host.h - what the host lends to a plugin: memory, logging, the compute pool, instruction sets.
 *
 * A plugin links to nothing of ours. It is handed one tn_host in open(); the table stays valid until its
 * close() has returned, and every function in it takes the table back as its first argument.
 */
#ifndef TENON_HOST_H
#define TENON_HOST_H

#include "tenon/abi.h"

TN_BEGIN_C

/** Log levels: TN_LOG_WARN and above reach the user by default. */
enum { TN_LOG_DEBUG = 0, TN_LOG_INFO = 1, TN_LOG_WARN = 2, TN_LOG_ERROR = 3 };

/** A gang at work: all workers of the pool inside one function. Opaque; lives for the call of gang(). */
typedef struct tn_gang tn_gang;

typedef struct tn_host tn_host;
struct tn_host {
    uint32_t struct_size;
    uint32_t abi_major, abi_minor; /**< the host's own version */
    uint32_t struct_count;         /**< entries of struct_sizes */
    const uint32_t *struct_sizes;  /**< size of each TN_STRUCT_* as host and plugin agree on it */
    uint64_t isa; /**< TN_ISA_* bits that this process may use; already capped by TENON_ISA */

    /** [any] `size` bytes at a multiple of `align` (a power of two, at least 1), not cleared; NULL: none. */
    void *(*alloc)(const tn_host *host, uint64_t size, uint64_t align);
    /** [any] Gives back what alloc() returned; NULL is fine. */
    void (*free)(const tn_host *host, void *memory);
    /** [any] One line without newline, at a level of TN_LOG_*. The text is copied. Never in [compute]. */
    void (*log)(const tn_host *host, int32_t level, const char *text);

    /** [any] Workers of the pool, at least 1; fixed for the life of the engine. */
    uint32_t (*worker_count)(const tn_host *host);
    /**
     * [any, but not from inside a worker] Calls fn(arg, worker, gang) once on every worker at the same
     * time, worker 0 being the caller, and returns when all have returned. Two gangs take turns. The
     * floating-point mode of the workers is IEEE, round to nearest, subnormals kept.
     */
    void (*gang)(const tn_host *host, void (*fn)(void *arg, uint32_t worker, tn_gang *gang), void *arg);
    /** [compute] Waits until every worker of the gang is here; what was written before is seen after. */
    void (*barrier)(tn_gang *gang);
    /**
     * [any, but not from inside a worker] Calls fn(arg, i, worker) for each i < count, spread over the
     * pool in unspecified order, and returns when all are done. For work that need not wait in between.
     */
    void (*parallel_for)(const tn_host *host, uint64_t count,
                         void (*fn)(void *arg, uint64_t index, uint32_t worker), void *arg);
};

/** The size to stamp into a struct of the given type that this plugin hands to the host. */
#define TN_NEGOTIATED(host, type)                                                                            \
    ((host)->struct_count > TN_STRUCT_##type && (host)->struct_sizes[TN_STRUCT_##type] < sizeof(type)        \
         ? (host)->struct_sizes[TN_STRUCT_##type]                                                            \
         : (uint32_t)sizeof(type))
#define TN_STAMP(host, p, type) ((p)->struct_size = TN_NEGOTIATED(host, type))

TN_END_C
#endif
