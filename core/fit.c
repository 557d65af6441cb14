/*
 * fit.c - proves that plugins fit a file, or refuses it with every reason: the order of the stages, and the
 * answers.
 */
#include "fit.h"
#include "codec.h"

#include <stdlib.h>
#include <string.h>

/* A file that could not be opened whole says so itself; without its metadata in full nothing else can be
 * judged. */
static void judge_container(tn_fit *fit, const tn_error *opened) {
    if (!opened || opened->code == TN_OK) { return; }
    tn_reasons_add_error(&fit->reasons, fit->reasons.total, "", opened->code, opened);
    fit->reasons.muted = fit->tensor_count == 0; /* tensors are read after the metadata */
}

static int32_t judge(tn_fit *fit, const tn_error *opened, tn_error *err) {
    int whole = !opened || opened->code == TN_OK;
    judge_container(fit, opened);
    if (!fit->match.file) { return TN_OK; }
    if (tn_fit_file_kind(fit)) { fit->reasons.muted = 1; } /* what is missing in it belongs to a model */
    tn_fit_architecture_run(fit);
    if (fit->reasons.muted && !whole) { return TN_OK; }
    if (whole && !fit->reasons.muted) {
        if (fit->configured) { TN_TRY(tn_fit_adapters_open(fit, err)); }
        TN_TRY(tn_fit_tensors(fit, err));
    }
    tn_fit_codec(fit);
    return whole && !fit->reasons.muted ? tn_fit_plan(fit, err) : TN_OK;
}

static void add_plugin(tn_fit *fit, const tn_entry *entry) {
    if (entry) { fit->plugins[fit->plugin_count++] = tn_entry_info(entry)->id; }
}

static int32_t list_plugins(tn_fit *fit, tn_error *err) {
    const tn_match *m = &fit->match;
    fit->plugins = tn_arena_array(&fit->reasons.arena, fit->format_count + 3, sizeof *fit->plugins);
    if (!fit->plugins) { TN_FAIL(err, TN_E_MEMORY, "no memory to list the plugins"); }
    add_plugin(fit, m->arch_entry);
    for (uint32_t i = 0; i < fit->format_count; i++) { add_plugin(fit, fit->formats[i].entry); }
    if (m->codec) { add_plugin(fit, tn_codec_entry(m->codec)); }
    add_plugin(fit, m->backend_entry);
    return TN_OK;
}

int32_t tn_fit_run(tn_engine *engine, const tn_gguf *file, const tn_error *opened,
                   const tn_model_options *options, tn_fit **out, tn_error *err) {
    tn_fit *fit = calloc(1, sizeof *fit);
    *out = NULL;
    if (!fit) { TN_FAIL(err, TN_E_MEMORY, "no memory to fit the file"); }
    fit->match.engine = engine;
    fit->match.file = file;
    fit->architecture = "";
    if (options) { fit->options = *options; }
    if (file) { fit->tensor_count = tn_gguf_tensor_count(file); }
    int32_t code = judge(fit, opened, err);
    if (code == TN_OK) { code = list_plugins(fit, err); }
    if (code == TN_OK && fit->reasons.no_memory) {
        code = tn_fail(err, TN_E_MEMORY, "no memory to fit the file");
    }
    if (code != TN_OK) {
        tn_fit_free(fit);
        return code;
    }
    *out = fit;
    return TN_OK;
}

void tn_match_release(tn_match *match) {
    tn_graph_builder_free(match->builder);
    tn_codec_close(match->codec);
    tn_adapters_close(&match->adapters);
    if (match->config) { match->arch->release(match->arch_self, match->config); }
    tn_arena_release(&match->arena);
    memset(match, 0, sizeof *match);
}

void tn_fit_free(tn_fit *fit) {
    if (!fit) { return; }
    if (!fit->taken) { tn_match_release(&fit->match); }
    tn_reasons_free(&fit->reasons);
    free(fit->formats);
    free(fit);
}

/* ---- answers ---------------------------------------------------------------------------------------- */

int32_t tn_fit_code(const tn_fit *fit) {
    return fit->reasons.count ? fit->reasons.items[0].code : TN_OK;
}

uint32_t tn_fit_reason_count(const tn_fit *fit) {
    return fit->reasons.count;
}

const tn_fit_reason *tn_fit_reason_at(const tn_fit *fit, uint32_t i) {
    return i < fit->reasons.count ? &fit->reasons.items[i] : NULL;
}

uint64_t tn_fit_total(const tn_fit *fit) {
    return fit->reasons.total;
}

const tn_facts *tn_fit_facts(const tn_fit *fit) {
    return fit->configured ? &fit->match.facts : NULL;
}

const tn_alphabet *tn_fit_alphabet(const tn_fit *fit) {
    return fit->match.alphabet;
}

const char *tn_fit_architecture(const tn_fit *fit) {
    return fit->architecture;
}

void tn_fit_audit(const tn_fit *fit, uint64_t *tensors, uint64_t *read) {
    *tensors = fit->tensor_count;
    *read = fit->tensors_read;
}

const char *tn_fit_unused(const tn_fit *fit, uint32_t i) {
    return fit->unused && i < fit->match.own_weight_count ? fit->unused[i] : NULL;
}

uint64_t tn_fit_kv_bytes(const tn_fit *fit) {
    return fit->kv_bytes;
}

const tn_vocab *tn_fit_vocab(const tn_fit *fit) {
    return fit->has_vocab ? &fit->vocab : NULL;
}

uint32_t tn_fit_node_count(const tn_fit *fit) {
    return fit->node_count;
}

const tn_fit_node *tn_fit_node_at(const tn_fit *fit, uint32_t i) {
    return i < fit->node_count ? &fit->nodes[i] : NULL;
}

const char *tn_fit_plugin(const tn_fit *fit, uint32_t i) {
    return i < fit->plugin_count ? fit->plugins[i] : NULL;
}
