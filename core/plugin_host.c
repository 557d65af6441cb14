/*
 * plugin_host.c - memory, log, pool and struct sizes as plugins see them.
 */
#include "plugin_host.h"

#include "gguf_mapping.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

const uint32_t tn_host_sizes[TN_STRUCT_COUNT] = {TN_STRUCTS(TN_STRUCT_SIZEOF)};

static const tn_plugin_host *whole(const tn_host *host) {
    return (const tn_plugin_host *)host;
}

/* Large memory comes in huge pages where the system gives them for the asking: a fault for each 4 KiB page of a
 * vocabulary's tables took a third of the time of loading it. */
static void *host_alloc(const tn_host *host, uint64_t size, uint64_t align) {
    void *memory = NULL;
    (void)host;
    if (align == 0 || align & (align - 1) || size > PTRDIFF_MAX || align > PTRDIFF_MAX) { return NULL; }
    if (align < sizeof(void *)) { align = sizeof(void *); }
    if (size >= TN_HUGE_PAGE && align < TN_HUGE_PAGE) { align = TN_HUGE_PAGE; }
    if (posix_memalign(&memory, align, size ? size : 1) != 0) { return NULL; }
    if (size >= TN_HUGE_PAGE) { /* a wish */
        madvise(memory, size / TN_HUGE_PAGE * TN_HUGE_PAGE, MADV_HUGEPAGE);
    }
    return memory;
}

static void host_free(const tn_host *host, void *memory) {
    (void)host;
    free(memory);
}

static void host_log(const tn_host *host, int32_t level, const char *text) {
    const tn_plugin_host *self = whole(host);
    char line[1024];
    if (!self->log || !text) { return; }
    snprintf(line, sizeof line, "%s%s%s", self->id ? self->id : "", self->id ? ": " : "", text);
    self->log(self->log_context, level, line);
}

static uint32_t host_worker_count(const tn_host *host) {
    return tn_pool_count(whole(host)->pool);
}

static void host_gang(const tn_host *host, void (*fn)(void *arg, uint32_t worker, tn_gang *gang), void *arg) {
    tn_pool_gang(whole(host)->pool, fn, arg);
}

static void host_parallel_for(const tn_host *host, uint64_t count,
                              void (*fn)(void *arg, uint64_t index, uint32_t worker), void *arg) {
    tn_pool_for(whole(host)->pool, count, fn, arg);
}

/* The smaller of what both sides were compiled with; 0 for what the plugin has never heard of. */
static uint32_t agreed_size(const tn_plugin *plugin, uint32_t number) {
    uint32_t ours = tn_host_sizes[number];
    if (!plugin) { return ours; }
    if (number >= plugin->struct_count) { return 0; }
    return plugin->struct_sizes[number] < ours ? plugin->struct_sizes[number] : ours;
}

void tn_plugin_host_init(tn_plugin_host *out, const tn_lent *lent, const tn_plugin *plugin) {
    *out = (tn_plugin_host){.pool = lent->pool,
                            .id = plugin ? plugin->id : NULL,
                            .log = lent->log,
                            .log_context = lent->log_context};
    for (uint32_t i = 0; i < TN_STRUCT_COUNT; i++) { out->sizes[i] = agreed_size(plugin, i); }
    out->host = (tn_host){.struct_size = out->sizes[TN_STRUCT_tn_host],
                          .abi_major = TN_ABI_MAJOR,
                          .abi_minor = TN_ABI_MINOR,
                          .struct_count = TN_STRUCT_COUNT,
                          .struct_sizes = out->sizes,
                          .isa = lent->isa,
                          .alloc = host_alloc,
                          .free = host_free,
                          .log = host_log,
                          .worker_count = host_worker_count,
                          .gang = host_gang,
                          .barrier = tn_gang_barrier,
                          .parallel_for = host_parallel_for};
}
