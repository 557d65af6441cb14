/*
 * configure.c - what every configure() here begins and ends with: the number of layers, memory for the config, keys that
 * nobody read, the first fault.
 */
#include "decoder.h"

int32_t reading_begin(reading *r, const tn_host *host, const char *name, const tn_meta *meta,
                      const tn_report *report, uint64_t size, uint64_t layer_size, tn_error *err) {
    variant_watch_begin(&r->watch, host, meta, name);
    r->params = tn_params_begin(host, &r->watch.meta, report, name);
    r->layer_count = tn_param_u32(&r->params, "block_count", 1, TN_LAYERS_MAX);
    size += r->layer_count * layer_size;
    r->config = host->alloc(host, size, _Alignof(max_align_t));
    if (!r->config) {
        TN_FAIL(err, TN_E_MEMORY, "no memory for the hyperparameters of %u layers", r->layer_count);
    }
    memset(r->config, 0, size);
    return TN_OK;
}

int32_t reading_end(reading *r, void **config, tn_error *err) {
    const tn_host *host = r->params.host;
    variant_watch_check(&r->watch, &r->params);
    int32_t code = tn_params_end(&r->params, err);
    if (code == TN_OK) {
        *config = r->config;
    } else {
        host->free(host, r->config);
    }
    return code;
}
