/*
 * model.c - loading: open, prove, place. What was proved stays as it is; only here do weights get their data.
 */
#include "gguf_file.h"
#include "model_state.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

/* What the system could give without swapping, in bytes; 0 if it does not say. */
static uint64_t available_memory(void) {
    char line[128];
    uint64_t kib = 0;
    FILE *file = fopen("/proc/meminfo", "re");
    while (file && kib == 0 && fgets(line, sizeof line, file)) {
        sscanf(line, "MemAvailable: %" SCNu64, &kib);
    }
    if (file) { fclose(file); }
    return kib * 1024;
}

/* How far reading is, and who wants to know. */
typedef struct reading {
    const tn_model_options *options;
    uint64_t done, total;
} reading;

/* Reads a weight, in parts that a caller can cancel between. */
static int32_t read_weight(reading *r, const tn_gguf_tensor *tensor, tn_error *err) {
    enum { PART = 64 << 20 };
    const tn_model_options *options = r->options;
    for (uint64_t at = 0; at < tensor->size; at += PART) {
        uint64_t size = tensor->size - at < PART ? tensor->size - at : PART;
        if (options && options->progress && options->progress(options->progress_context, r->done, r->total)) {
            TN_FAIL(err, TN_E_CANCELLED, "reading of weights was cancelled");
        }
        TN_TRY(tn_gguf_tensor_fetch(tensor, (const uint8_t *)tensor->data + at, size, err));
        r->done += size;
    }
    return TN_OK;
}

static int by_place(const void *a, const void *b) {
    const void *x = (*(const tn_gguf_tensor *const *)a)->data, *y = (*(const tn_gguf_tensor *const *)b)->data;
    return (x > y) - (x < y);
}

/* Reads all weights of the graph, in the order in which they lie: in the first step every page would be a fault, and
 * a cold file would come in small pieces. Weights that memory cannot hold are left to come when they are used. */
static int32_t read_weights(tn_match *m, const tn_model_options *options, tn_error *err) {
    reading r = {.options = options};
    uint32_t count = 0;
    const tn_gguf_tensor **tensors = tn_arena_array(&m->arena, m->weight_count, sizeof *tensors);
    if (!tensors) { TN_FAIL(err, TN_E_MEMORY, "no memory to read the weights"); }
    for (uint32_t i = 0; i < m->weight_count; i++) {
        bool made = !tn_gguf_mapped_at(m->tensors[i]->data); /* an adapter's, turned over */
        if (made || !tn_graph_builder_reads(m->builder, i + 1)) { continue; }
        tensors[count++] = m->tensors[i];
        r.total += m->tensors[i]->size;
    }
    if (r.total > available_memory()) { return TN_OK; }
    qsort(tensors, count, sizeof *tensors, by_place);
    for (uint32_t i = 0; i < count; i++) { TN_TRY(read_weight(&r, tensors[i], err)); }
    return TN_OK;
}

/* Companion scales become floats of our own: in the file they may be of any format and alignment. */
static int32_t decode_companions(tn_match *m, tn_error *err) {
    for (uint32_t i = 0; i < m->companion_count; i++) {
        const tn_companion_tensor *c = &m->companions[i];
        float *scales = tn_arena_array(&m->arena, c->tensor->elements, sizeof *scales);
        if (!scales) { TN_FAIL(err, TN_E_MEMORY, "no memory for %s", c->tensor->name); }
        TN_TRY(tn_gguf_tensor_fetch(c->tensor, c->tensor->data, c->tensor->size, err));
        c->format->decode(c->format_self, c->tensor->data, c->tensor->elements, scales);
        c->weight->scales = scales;
    }
    return TN_OK;
}

static int32_t place(tn_model *model, const tn_model_options *options, tn_error *err) {
    tn_match *m = &model->match;
    for (uint32_t i = 0; i < m->weight_count; i++) { m->weights[i]->data = m->tensors[i]->data; }
    TN_TRY(read_weights(m, options, err));
    TN_TRY(decode_companions(m, err));
    tn_place place = {.weight_count = m->weight_count,
                      .weights = (const tn_weight *const *)m->weights,
                      .progress = options ? options->progress : NULL,
                      .context = options ? options->progress_context : NULL};
    TN_TRY(TN_VIEW(&m->view, &place, tn_place, err));
    model->memory.struct_size = m->view.sizes[TN_STRUCT_tn_memory];
    return m->backend->place(m->backend_self, &place, &model->placed, &model->memory, err);
}

/* A refused file: the first reason in words, and how many there are. */
static int32_t refuse(const tn_fit *fit, tn_error *err) {
    char text[900];
    uint64_t others = tn_fit_total(fit) - 1 - tn_fit_reason_at(fit, 0)->more;
    tn_fit_reason_text(tn_fit_reason_at(fit, 0), text, sizeof text);
    if (others) {
        TN_FAIL(err, tn_fit_code(fit), "%s; and %" PRIu64 " other reason%s", text, others,
                others > 1 ? "s" : "");
    }
    TN_FAIL(err, tn_fit_code(fit), "%s", text);
}

/* Positions beyond those that the model was made for are computed, and may mean nothing to it. Frames have none. */
static void warn_of_context(const tn_match *m) {
    char text[160];
    if (!m->facts.context || m->context <= m->facts.context || m->frame_width) { return; }
    snprintf(text, sizeof text,
             "context %" PRIu32 " is larger than the %" PRIu32 " tokens that the model was made for",
             m->context, m->facts.context);
    const tn_host *host = tn_engine_host(m->engine);
    host->log(host, TN_LOG_WARN, text);
}

/* Takes what the fit has proved, and places it. */
static int32_t load_fitted(tn_model *model, tn_fit *fit, const tn_model_options *options, tn_error *err) {
    if (tn_fit_code(fit) != TN_OK) { return refuse(fit, err); }
    model->match = fit->match;
    fit->taken = 1;
    warn_of_context(&model->match);
    return place(model, options, err);
}

/* `opened` is a reason of its own, but for what is no fault of the file. */
static int32_t open_and_load(tn_engine *engine, tn_model *model, const char *path,
                             const tn_model_options *options, tn_fit **fit, tn_error *err) {
    tn_error opened = TN_ERROR_INIT;
    int32_t code = tn_gguf_open(path, tn_engine_types(engine), &model->file, &opened);
    if (code == TN_E_IO || code == TN_E_MEMORY) { TN_FAIL(err, code, "%s", opened.text); }
    opened.code = code;
    TN_TRY(tn_fit_run(engine, model->file, &opened, options, fit, err));
    return load_fitted(model, *fit, options, err);
}

int32_t tn_model_load(tn_engine *engine, const char *path, const tn_model_options *options, tn_model **out,
                      tn_fit **fit, tn_error *err) {
    tn_fit *own = NULL;
    tn_model *model = calloc(1, sizeof *model);
    *out = NULL;
    if (fit) { *fit = NULL; }
    if (!model) { TN_FAIL(err, TN_E_MEMORY, "no memory for the model"); }
    int32_t code = open_and_load(engine, model, path, options, &own, err);
    if (code == TN_OK) {
        *out = model;
        model = NULL;
    }
    int refused = own && tn_fit_code(own) != TN_OK;
    if (fit && (code == TN_OK || refused)) {
        *fit = own;
        own = NULL;
    }
    tn_fit_free(own);
    tn_model_close(model);
    return code;
}

void tn_model_close(tn_model *model) {
    if (!model) { return; }
    if (model->placed) { model->match.backend->unplace(model->match.backend_self, model->placed); }
    tn_match_release(&model->match);
    tn_gguf_close(model->file);
    free(model);
}

/* ---- answers ---------------------------------------------------------------------------------------- */

const tn_facts *tn_model_facts(const tn_model *model) {
    return &model->match.facts;
}

const tn_gguf *tn_model_file(const tn_model *model) {
    return model->file;
}

uint32_t tn_model_context(const tn_model *model) {
    return model->match.context;
}

uint32_t tn_model_output_width(const tn_model *model) {
    return model->match.output_width;
}

uint32_t tn_model_output_kind(const tn_model *model) {
    return model->match.output_kind;
}

uint32_t tn_model_vocab_size(const tn_model *model) {
    return model->match.vocab_size;
}

uint32_t tn_model_frame_width(const tn_model *model) {
    return model->match.frame_width;
}

const tn_alphabet *tn_model_alphabet(const tn_model *model) {
    return model->match.alphabet;
}

uint32_t tn_model_value_count(const tn_model *model) {
    return model->match.graph->value_count;
}

int32_t tn_model_value_at(const tn_model *model, uint32_t number, tn_model_value *out, tn_error *err) {
    const tn_graph *graph = model->match.graph;
    if (number < 1 || number > graph->value_count) {
        TN_FAIL(err, TN_E_RANGE, "value %" PRIu32 ", the graph has 1 to %" PRIu32, number,
                graph->value_count);
    }
    const tn_value *value = graph->values[number - 1];
    const tn_node *node = graph->nodes[value->node];
    *out =
        (tn_model_value){.name = node->name,
                         .op = tn_op_name(node->op),
                         .part = number - node->result,
                         .parts = node->op == TN_OP_split ? ((const tn_split *)node->attributes)->count : 1,
                         .rows = value->rows,
                         .width = value->width,
                         .kind = value->kind};
    return TN_OK;
}

void tn_model_memory(const tn_model *model, tn_memory *out) {
    *out = model->memory;
}

const tn_text_codec *tn_model_codec(const tn_model *model) {
    return model->match.codec;
}
