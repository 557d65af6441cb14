/*
 * pool.h - the compute pool: threads made once, gangs of all of them, barriers inside a gang.
 */
#ifndef TENON_POOL_H
#define TENON_POOL_H

#include "tenon/errors.h"
#include "tenon/host.h"

typedef struct tn_pool tn_pool;

/** CPUs that this process may really use: affinity, capped by the quotas of its control groups (rounded up).
 * All hardware threads of a core count. `root` is put before /proc and /sys: "" but in tests. */
uint32_t tn_cpus_usable(const char *root);

/** `count` workers, at least 1: the caller of a gang and count - 1 threads. */
int32_t tn_pool_create(uint32_t count, tn_pool **out, tn_error *err);
/** No gang may be at work. NULL is fine. */
void tn_pool_destroy(tn_pool *pool);
uint32_t tn_pool_count(const tn_pool *pool);

/** As tn_host.gang, .barrier and .parallel_for. */
void tn_pool_gang(tn_pool *pool, void (*fn)(void *arg, uint32_t worker, tn_gang *gang), void *arg);
void tn_gang_barrier(tn_gang *gang);
void tn_pool_for(tn_pool *pool, uint64_t count, void (*fn)(void *arg, uint64_t index, uint32_t worker),
                 void *arg);

#endif
