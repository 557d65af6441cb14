/*
 * fit_plan.c - the last questions: has the text a tokenizer, does the architecture write a sound graph, can
 * the backend run every node of it with these formats, and can keys and values be stored.
 */
#include "groups.h"

#include <inttypes.h>
#include <string.h>

/* ---- tokenizer -------------------------------------------------------------------------------------- */

void tn_fit_codec(tn_fit *fit) {
    tn_match *m = &fit->match;
    tn_kv kv = {.struct_size = sizeof kv};
    const tn_meta *meta = tn_gguf_meta(m->file);
    int present = meta->find(meta, "tokenizer.ggml.model", &kv) == TN_OK;
    int needed = fit->configured && m->facts.needs_tokenizer && !fit->options.no_tokenizer;
    if (!present && !needed) { return; }
    tn_report report = tn_reasons_report(&fit->reasons);
    tn_error err = TN_ERROR_INIT;
    uint64_t before = fit->reasons.total;
    int32_t code = tn_codec_open(m->engine, m->file, &report, &m->codec, &err);
    if (code != TN_OK) {
        tn_reasons_add_error(&fit->reasons, before, "tokenizer", code, &err);
        return;
    }
    fit->vocab.struct_size = sizeof fit->vocab;
    tn_codec_vocab(m->codec, &fit->vocab);
    fit->has_vocab = 1;
}

/* ---- graph ------------------------------------------------------------------------------------------ */

/* Positions that the graph looks up in a table end with the table. */
static void check_positions(tn_fit *fit, const tn_weight *table) {
    tn_match *m = &fit->match;
    char found[32], wanted[64];
    int reported = m->facts.context_limit && m->context > m->facts.context_limit;
    if (m->context <= table->rows || reported) { return; }
    snprintf(found, sizeof found, "%" PRIu32, m->context);
    snprintf(wanted, sizeof wanted, "at most %" PRIu64, table->rows);
    tn_reasons_add(&fit->reasons, TN_E_PARAM_INVALID, "context", found, wanted,
                   "the model has learned positions");
}

static void look_at_embed(tn_fit *fit, const tn_node *node) {
    const tn_embed *embed = node->attributes;
    const tn_weight *table = fit->match.weights[node->weights[0] - 1];
    if (embed->by == TN_EMBED_POSITION) { check_positions(fit, table); }
    if (embed->by == TN_EMBED_TOKEN && !fit->match.vocab_size) {
        fit->match.vocab_size = table->rows < INT32_MAX ? (uint32_t)table->rows : INT32_MAX;
    }
}

static void look_at_output(tn_fit *fit, const tn_node *node) {
    tn_match *m = &fit->match;
    const tn_value *value = m->graph->values[node->inputs[0] - 1];
    uint32_t kind = ((const tn_output *)node->attributes)->kind;
    if (kind == TN_OUTPUT_CTC) { tn_fit_alphabet_read(fit, node); }
    if (m->output_kind) { return; }
    m->output_kind = kind;
    m->output_width = value->width;
    m->output_rows = value->rows;
}

/* A step has tokens, or frames for one port. */
static void look_at_input(tn_fit *fit, const tn_node *node) {
    const tn_input *input = node->attributes;
    char found[64];
    if (input->port || fit->match.frame_width) {
        snprintf(found, sizeof found, "%s with port %" PRIu32, node->name, input->port);
        tn_reasons_add(&fit->reasons, TN_E_GRAPH, "graph", found, "one input, of port 0", NULL);
    }
    fit->match.frame_width = input->width;
}

static void look_at_graph(tn_fit *fit) {
    tn_match *m = &fit->match;
    for (uint32_t i = 0; i < m->graph->node_count; i++) {
        const tn_node *node = m->graph->nodes[i];
        switch (node->op) {
        case TN_OP_embed: look_at_embed(fit, node); break;
        case TN_OP_input: look_at_input(fit, node); break;
        case TN_OP_output: look_at_output(fit, node); break;
        case TN_OP_pool: m->whole = 1; break;
        case TN_OP_attend: m->whole |= !((const tn_attend *)node->attributes)->cached; break;
        }
    }
    if (m->frame_width && m->vocab_size) {
        tn_reasons_add(&fit->reasons, TN_E_GRAPH, "graph", "ids and frames", "one of them", NULL);
    }
}

/* Names of the file's weights that no node reads: the builder has let them pass because their claims allow it. */
static int32_t list_unused(tn_fit *fit, tn_error *err) {
    const tn_match *m = &fit->match;
    uint32_t count = 0;
    fit->unused = tn_arena_array(&fit->reasons.arena, m->own_weight_count + 1, sizeof *fit->unused);
    if (!fit->unused) { TN_FAIL(err, TN_E_MEMORY, "no memory to list the weights"); }
    for (uint32_t w = 0; w < m->own_weight_count; w++) {
        if (!tn_graph_builder_reads(m->builder, w + 1)) { fit->unused[count++] = m->weights[w]->name; }
    }
    return TN_OK;
}

static int32_t build_graph(tn_fit *fit, tn_error *err) {
    tn_match *m = &fit->match;
    const tn_weight *const *weights = (const tn_weight *const *)m->weights;
    tn_build build = {.context = m->context, .purpose = m->purpose};
    tn_error fault = TN_ERROR_INIT;
    uint64_t before = fit->reasons.total;
    TN_TRY(tn_graph_builder_create(weights, m->claim_flags, m->weight_count, &m->builder, err));
    tn_graph_builder_adapt(m->builder, &m->adapters);
    int32_t code =
        m->arch->build(m->arch_self, m->config, &build, tn_graph_builder_table(m->builder), &fault);
    code = tn_graph_builder_finish(m->builder, code, &m->graph, &fault);
    if (code != TN_OK) {
        tn_reasons_add_error(&fit->reasons, before, "graph", code, &fault);
        return TN_OK;
    }
    look_at_graph(fit);
    tn_fit_adapters_used(fit);
    return list_unused(fit, err);
}

/* ---- backend ---------------------------------------------------------------------------------------- */

static void open_backend(tn_fit *fit) {
    tn_match *m = &fit->match;
    const char *name = fit->options.backend ? fit->options.backend : "cpu";
    tn_error err = TN_ERROR_INIT;
    tn_entry *entry = NULL;
    const void *table = NULL;
    int32_t code = tn_registry_find(m->engine, "backend", name, &entry, &err);
    if (code == TN_E_NOT_FOUND) {
        tn_reasons_add(&fit->reasons, TN_E_PLUGIN_MISSING, "backend", name, tn_fit_installed(fit, "backend"),
                       "install a backend plugin that claims it");
        return;
    }
    if (code == TN_OK) {
        code = tn_entry_open(m->engine, entry, TN_BACKEND_1, &table, &m->backend_self, &err);
    }
    if (code != TN_OK) {
        tn_reasons_add_error(&fit->reasons, fit->reasons.total, name, code, &err);
        return;
    }
    m->backend_entry = entry;
    m->backend = table;
    tn_view_init(&m->view, entry);
}

/* "Q4_1 F32": the formats of a node's weights, each once, in order. NULL: no memory. */
static const char *weight_types(tn_fit *fit, const tn_node *node) {
    char text[256] = "";
    size_t used = 0;
    const char *names[TN_NODE_WEIGHTS];
    int count = 0;
    for (int i = 0; i < TN_NODE_WEIGHTS; i++) {
        if (!node->weights[i]) { continue; }
        tn_fit_format *format = tn_fit_format_of(fit, fit->match.tensors[node->weights[i] - 1]->type);
        const char *name = format ? format->name : "";
        int seen = 0;
        for (int k = 0; k < count; k++) { seen |= strcmp(names[k], name) == 0; }
        if (seen || used + strlen(name) + 2 > sizeof text) { continue; }
        names[count++] = name;
        used += (size_t)snprintf(text + used, sizeof text - used, used ? " %s" : "%s", name);
    }
    return tn_arena_text(&fit->reasons.arena, text);
}

static int formats_known(const tn_match *m, const tn_node *node) {
    for (int i = 0; i < TN_NODE_WEIGHTS; i++) {
        if (node->weights[i] && !m->weights[node->weights[i] - 1]->format) { return 0; }
    }
    return 1;
}

static void ask_backend(tn_fit *fit, uint32_t i, tn_fit_node *out) {
    tn_match *m = &fit->match;
    tn_error err = TN_ERROR_INIT;
    char subject[256];
    out->choice.struct_size = m->view.sizes[TN_STRUCT_tn_choice];
    int32_t code = m->backend->supports(m->backend_self, m->graph, i, &out->choice, &err);
    out->choice.kernel[sizeof out->choice.kernel - 1] = 0;
    out->choice.others[sizeof out->choice.others - 1] = 0;
    if (code == TN_OK) {
        out->plugin = tn_entry_info(m->backend_entry)->id;
        return;
    }
    out->choice.kernel[0] = 0;
    snprintf(subject, sizeof subject, "%s (%s%s%s)", out->name, out->op, out->types[0] ? " " : "",
             out->types);
    tn_reasons_add_error(&fit->reasons, fit->reasons.total, subject, code, &err);
}

static int32_t plan_nodes(tn_fit *fit, tn_error *err) {
    tn_match *m = &fit->match;
    fit->nodes = tn_arena_array(&fit->reasons.arena, m->graph->node_count, sizeof *fit->nodes);
    if (!fit->nodes) { TN_FAIL(err, TN_E_MEMORY, "no memory for the plan"); }
    fit->node_count = m->graph->node_count;
    for (uint32_t i = 0; i < fit->node_count; i++) {
        const tn_node *node = m->graph->nodes[i];
        tn_fit_node *out = &fit->nodes[i];
        *out =
            (tn_fit_node){.op = tn_op_name(node->op), .name = node->name, .layer = node->layer, .plugin = ""};
        out->types = weight_types(fit, node);
        if (!out->types) { TN_FAIL(err, TN_E_MEMORY, "no memory for the plan"); }
        if (m->backend && formats_known(m, node)) { ask_backend(fit, i, out); }
    }
    return TN_OK;
}

static void check_view(tn_fit *fit) {
    tn_match *m = &fit->match;
    tn_error err = TN_ERROR_INIT;
    int32_t code = tn_view_check_graph(&m->view, m->graph, &err);
    if (code == TN_OK) { return; }
    tn_reasons_add_error(&fit->reasons, fit->reasons.total, tn_entry_info(m->backend_entry)->id, code, &err);
    m->backend = NULL; /* it would read the graph wrong */
}

/* ---- cache ------------------------------------------------------------------------------------------ */

static uint64_t padded_bytes(const tn_format *format, uint32_t cols) {
    return ((uint64_t)cols + format->block - 1) / format->block * format->block_bytes;
}

static void count_cache(tn_fit *fit) {
    const tn_format *format = fit->match.cache_format;
    const tn_graph *graph = fit->match.graph;
    for (uint32_t i = 0; i < graph->node_count; i++) {
        const tn_attend *attend = graph->nodes[i]->attributes;
        if (graph->nodes[i]->op != TN_OP_attend || !attend->cached) { continue; }
        uint64_t head = padded_bytes(format, attend->key_dim) + padded_bytes(format, attend->value_dim);
        fit->kv_bytes += head * attend->kv_heads;
    }
}

static int32_t choose_cache(tn_fit *fit, tn_error *err) {
    const char *name = fit->options.cache_type ? fit->options.cache_type : "F16";
    int64_t type = tn_engine_type_number(fit->match.engine, name);
    tn_fit_format *f = type < 0 ? NULL : tn_fit_format_of(fit, (uint32_t)type);
    if (type >= 0 && !f) { TN_FAIL(err, TN_E_MEMORY, "no memory for the cache type"); }
    if (f && f->format) {
        fit->match.cache_format = f->format;
        fit->match.cache_self = f->self;
        count_cache(fit);
        return TN_OK;
    }
    int32_t code = f && f->code != TN_E_NOT_FOUND ? f->code : TN_E_FORMAT_UNKNOWN;
    tn_reasons_add(&fit->reasons, code, "cache type", name, tn_fit_installed(fit, "type"),
                   f ? f->message : NULL);
    return TN_OK;
}

/* An architecture's manifest may list the ops of its graphs; then it must list all of them. */
static void check_ops(tn_fit *fit) {
    const tn_plugin_info *info = tn_entry_info(fit->match.arch_entry);
    for (uint32_t i = 0; i < fit->node_count; i++) {
        const char *op = fit->nodes[i].op;
        int listing = 0, listed = 0;
        for (uint32_t c = 0; c < info->claim_count; c++) {
            if (strcmp(info->claims[c].key, "op") != 0) { continue; }
            listing = 1;
            listed |= strcmp(info->claims[c].value, op) == 0;
        }
        if (!listing || listed || fit->match.graph->nodes[i]->op == TN_OP_custom) { continue; }
        if (tn_graph_builder_own(fit->match.builder, i)) {
            continue;
        } /* the architecture did not ask for it */
        tn_reasons_add(&fit->reasons, TN_E_PLUGIN_MANIFEST, info->id, op, "only ops that its manifest lists",
                       NULL);
        return;
    }
}

/* Each node can be run, but can all of them together, with this cache? The backend plans without taking
 * memory. */
static void ask_for_plan(tn_fit *fit) {
    tn_match *m = &fit->match;
    tn_groups groups;
    tn_asked asked;
    tn_error err = TN_ERROR_INIT;
    tn_memory memory = {.struct_size = m->view.sizes[TN_STRUCT_tn_memory]};
    int32_t code = tn_groups_form(m, &m->arena, &groups, &err);
    if (code == TN_OK) { code = tn_groups_ask(m, &groups, tn_groups_step_rows(m), 1, &asked, &err); }
    if (code == TN_OK) { code = m->backend->memory(m->backend_self, &asked.compile, &memory, &err); }
    if (code != TN_OK) {
        tn_reasons_add_error(&fit->reasons, fit->reasons.total, tn_entry_info(m->backend_entry)->id, code,
                             &err);
    }
}

int32_t tn_fit_plan(tn_fit *fit, tn_error *err) {
    open_backend(fit);
    if (!fit->claimed || fit->match.context < 1) { return TN_OK; }
    TN_TRY(build_graph(fit, err));
    if (!fit->match.graph) { return TN_OK; }
    if (fit->match.backend) { check_view(fit); }
    TN_TRY(plan_nodes(fit, err));
    check_ops(fit);
    if (fit->match.graph->slot_count) { TN_TRY(choose_cache(fit, err)); }
    if (fit->reasons.total == 0) { ask_for_plan(fit); }
    return TN_OK;
}
