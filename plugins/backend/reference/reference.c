/*
 * reference.c - the reference backend's place among the plugins: its table, and placing of weights.
 *
 * Weights are read where they are mapped; so placing takes nothing and `placed` has nothing to say.
 */
#include "reference.h"

#include "tenon/plugin.h"

static void describe(void *self, char *out, uint64_t capacity) {
    const tn_host *host = self;
    snprintf(out, capacity, "plain C in float64, %u threads", host->worker_count(host));
}

static int32_t place(void *self, const tn_place *place, void **placed, tn_memory *out, tn_error *err) {
    out->mapped = out->copied = out->packed = out->scratch = 0;
    for (uint32_t i = 0; i < place->weight_count; i++) {
        if (place->weights[i]) { out->mapped += place->weights[i]->size; }
    }
    if (place->progress && place->progress(place->context, out->mapped, out->mapped)) {
        TN_FAIL(err, TN_E_CANCELLED, "cancelled while placing weights");
    }
    *placed = self;
    return TN_OK;
}

static void unplace(void *self, void *placed) {
    (void)self;
    (void)placed;
}

static const tn_backend backend = {
    .struct_size = sizeof(tn_backend),
    .describe = describe,
    .supports = ref_supports,
    .memory = ref_memory,
    .place = place,
    .unplace = unplace,
    .compile = ref_compile,
    .discard = ref_discard,
    .cache_create = ref_cache_create,
    .cache_destroy = ref_cache_destroy,
    .cache_reserve = ref_cache_reserve,
    .cache_copy = ref_cache_copy,
    .cache_page_bytes = ref_cache_page_bytes,
    .run = ref_run_step,
};

/* The host is all that this plugin has to find again. */
static int32_t open_plugin(const tn_host *host, void **self, tn_error *err) {
    (void)err;
    *self = (void *)host;
    return TN_OK;
}

static const void *interface(const char *name) {
    return strcmp(name, TN_BACKEND_1) == 0 ? &backend : NULL;
}

TN_PLUGIN("backend.reference", "0.1.0", "Apache-2.0", 0, open_plugin, NULL, interface);
