/*
 * engine.c - makes and destroys an engine: instruction sets, pool, registry.
 */
#include "engine_state.h"

#include <stdlib.h>
#include <string.h>

/* A plugin opens in microseconds; one that takes this long hangs. */
enum { PROBE_LIMIT_MS = 5000 };

const char *tn_version(void) {
    return TENON_VERSION;
}

void tn_engine_log(const tn_engine *engine, int32_t level, const char *format, ...) {
    char line[1200];
    va_list args;
    if (!engine->lent.log) { return; }
    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    engine->lent.log(engine->lent.log_context, level, line);
}

static int find_type(const void *context, uint32_t type, uint32_t *block, uint32_t *block_bytes) {
    const tn_engine *engine = context;
    for (uint32_t i = 0; i < engine->entry_count; i++) {
        const tn_manifest *m = &engine->entries[i]->manifest;
        if (m->kind_number != TN_KIND_FORMAT || engine->entries[i]->info.fault || m->type != type) {
            continue;
        }
        *block = m->block;
        *block_bytes = m->block_bytes;
        return 1;
    }
    return 0;
}

/* The trial program lies beside the install's plugin folder. */
static int32_t find_probe(tn_engine *engine, tn_error *err) {
    const char *own = engine->search.own;
    engine->probe_limit_ms = PROBE_LIMIT_MS;
    if (own &&
        asprintf(&engine->probe_program, "%.*s/tenon-probe", (int)(strrchr(own, '/') - own), own) < 0) {
        engine->probe_program = NULL;
        TN_FAIL(err, TN_E_MEMORY, "no memory for an engine");
    }
    return TN_OK;
}

static int32_t fill(tn_engine *engine, const tn_engine_options *options, tn_error *err) {
    TN_TRY(tn_isa_detect(&engine->isa, err));
    tn_isa_text(engine->isa, engine->isa_text);
    TN_TRY(tn_pool_create(options->threads ? options->threads : tn_cpus_usable(""), &engine->pool, err));
    engine->lent = (tn_lent){engine->pool, engine->isa, options->log, options->log_context};
    tn_plugin_host_init(&engine->host, &engine->lent, NULL);
    engine->types = (tn_gguf_types){engine, find_type};
    TN_TRY(tn_search_find(options, &engine->search, err));
    TN_TRY(find_probe(engine, err));
    return tn_registry_scan(engine, err);
}

int32_t tn_engine_create(const tn_engine_options *options, tn_engine **out, tn_error *err) {
    static const tn_engine_options nothing;
    *out = NULL;
    tn_engine *engine = calloc(1, sizeof *engine);
    if (!engine) { TN_FAIL(err, TN_E_MEMORY, "no memory for an engine"); }
    int32_t code = fill(engine, options ? options : &nothing, err);
    if (code != TN_OK) {
        tn_engine_destroy(engine);
        return code;
    }
    *out = engine;
    return TN_OK;
}

void tn_engine_destroy(tn_engine *engine) {
    if (!engine) { return; }
    tn_registry_free(engine);
    tn_search_free(&engine->search);
    tn_pool_destroy(engine->pool);
    free(engine->probe_program);
    free(engine);
}

uint64_t tn_engine_isa(const tn_engine *engine) {
    return engine->isa;
}

const char *tn_engine_isa_text(const tn_engine *engine) {
    return engine->isa_text;
}

uint32_t tn_engine_threads(const tn_engine *engine) {
    return tn_pool_count(engine->pool);
}

const tn_gguf_types *tn_engine_types(const tn_engine *engine) {
    return &engine->types;
}

const tn_host *tn_engine_host(const tn_engine *engine) {
    return &engine->host.host;
}

uint32_t tn_engine_plugin_count(const tn_engine *engine) {
    return engine->entry_count;
}

const tn_plugin_info *tn_engine_plugin(const tn_engine *engine, uint32_t i) {
    return &engine->entries[i]->info;
}
