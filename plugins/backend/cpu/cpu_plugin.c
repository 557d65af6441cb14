/*
 * cpu_plugin.c - the cpu backend as a plugin: its tables, and placing, which leaves weights where they are.
 */
#include "cpu.h"
#include "tenon/plugin.h"

static void describe(void *self, char *out, uint64_t capacity) {
    const cpu_backend *backend = self;
    snprintf(out, capacity, "%u thread%s, kernels %s", backend->workers, backend->workers == 1 ? "" : "s",
             backend->kernels->name);
}

static int32_t place(void *self, const tn_place *place, void **placed, tn_memory *out, tn_error *err) {
    uint64_t total = 0;
    for (uint32_t i = 0; i < place->weight_count; i++) {
        if (place->weights[i]) { total = cpu_add(total, place->weights[i]->size); }
    }
    if (place->progress && place->progress(place->context, total, total)) {
        TN_FAIL(err, TN_E_CANCELLED, "placing of weights was cancelled");
    }
    out->mapped = total;
    out->copied = out->packed = out->scratch = 0;
    *placed = self;
    return TN_OK;
}

static void unplace(void *self, void *placed) {
    (void)self;
    (void)placed;
}

static const tn_backend backend = {.struct_size = sizeof backend,
                                   .describe = describe,
                                   .supports = cpu_supports,
                                   .memory = cpu_memory,
                                   .place = place,
                                   .unplace = unplace,
                                   .compile = cpu_compile,
                                   .discard = cpu_discard,
                                   .cache_create = cpu_cache_create,
                                   .cache_destroy = cpu_cache_destroy,
                                   .cache_reserve = cpu_cache_reserve,
                                   .cache_copy = cpu_cache_copy,
                                   .cache_page_bytes = cpu_cache_page_bytes,
                                   .run = cpu_run_step};

static int32_t open(const tn_host *host, void **self, tn_error *err) {
    cpu_backend *made = host->alloc(host, sizeof *made, 64);
    if (!made) { TN_FAIL(err, TN_E_MEMORY, "no memory for the cpu backend"); }
    *made = (cpu_backend){host, cpu_kernels_pick(host->isa), host->worker_count(host)};
    *self = made;
    return TN_OK;
}

static void close(void *self) {
    cpu_backend *made = self;
    made->host->free(made->host, made);
}

static const void *interface(const char *name) {
    return strcmp(name, TN_BACKEND_1) ? NULL : &backend;
}

TN_PLUGIN("backend.cpu", "0.1.0", "Apache-2.0", 0, open, close, interface);
