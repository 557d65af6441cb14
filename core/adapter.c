/*
 * adapter.c - adapters of a fit: opened, judged, claimed. Everything that does not belong to the model at hand is a
 * reason, with the file and the tensor it is about. Unlike a model's, all their numbers are looked at: they are few.
 */
#include "fit.h"
#include "gguf_mapping.h"
#include "gguf_value.h"

#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* One file on its way in. */
struct opened {
    tn_fit *fit;
    const tn_adapter *asked;
    const tn_gguf *file;
};

static const char *text(struct opened *o, const char *format, const char *a, const char *b) {
    const char *made = tn_arena_format(&o->fit->reasons.arena, format, a, b);
    if (!made) { o->fit->reasons.no_memory = 1; }
    return made ? made : "";
}

/* A fault of a key or tensor of this file. */
static void fault(struct opened *o, int32_t code, const char *what, const char *found, const char *wanted) {
    tn_reasons_add(&o->fit->reasons, code, text(o, "%s: %s", o->asked->path, what), found, wanted, NULL);
}

/* ---- metadata ---------------------------------------------------------------------------------------- */

/* True if the key is there; then `out` is its text, or "" if it is no printable one. */
static bool read_text(const struct opened *o, const char *key, char out[64]) {
    tn_kv kv = {.struct_size = sizeof kv};
    const tn_meta *meta = tn_gguf_meta(o->file);
    out[0] = 0;
    if (meta->find(meta, key, &kv) != TN_OK) { return false; }
    if (kv.type != TN_KV_STRING || kv.count >= 64) { return true; }
    memcpy(out, kv.data, kv.count);
    out[kv.count] = 0;
    return true;
}

static bool need_text(struct opened *o, const char *key, const char *wanted, bool optional) {
    char found[64];
    bool there = read_text(o, key, found);
    if ((!there && optional) || (there && strcmp(found, wanted) == 0)) { return true; }
    fault(o, TN_E_FILE_KIND, key, !there ? "absent" : found[0] ? found : "something else", wanted);
    return false;
}

static bool judge_lora(struct opened *o) {
    tn_kv kv = {.struct_size = sizeof kv};
    const tn_meta *meta = tn_gguf_meta(o->file);
    const char *key = "adapter.alora.invocation_tokens";
    bool good = need_text(o, "general.type", "adapter", false) &&
                need_text(o, "adapter.type", "lora", false) &&
                need_text(o, "general.architecture", o->fit->architecture, false);
    if (good && meta->find(meta, key, &kv) == TN_OK) {
        fault(o, TN_E_PARAM_UNSUPPORTED, key, "present", "absent: an adapter that is switched on by tokens");
        return false;
    }
    return good;
}

static bool judge_control_vector(struct opened *o) {
    if (o->fit->match.facts.kind != TN_ARCH_DECODER) {
        fault(o, TN_E_PARAM_UNSUPPORTED, "control vector", "for an encoder", "a decoder");
        return false;
    }
    return need_text(o, "general.architecture", "controlvector", false) &&
           need_text(o, "controlvector.model_hint", o->fit->architecture, true);
}

/* alpha; 0: the file does not say. */
static double read_alpha(struct opened *o) {
    tn_kv kv = {.struct_size = sizeof kv};
    const tn_meta *meta = tn_gguf_meta(o->file);
    const char *key = "adapter.lora.alpha";
    double alpha = 0;
    if (meta->find(meta, key, &kv) != TN_OK) { return 0; }
    if (kv.type == TN_KV_ARRAY || !tn_kv_float(&kv, 0, &alpha) || !isfinite(alpha)) {
        fault(o, TN_E_PARAM_TYPE, key, "something else", "a finite float");
        return 0;
    }
    if (!isfinite((float)(alpha * o->asked->scale))) {
        fault(o, TN_E_PARAM_INVALID, key, "a number too large",
              "one whose product with the scale is a float");
    }
    return alpha;
}

/* ---- weights ----------------------------------------------------------------------------------------- */

/* The first number of a tensor that is none is a fault. */
static void judge_numbers(struct opened *o, const tn_gguf_tensor *t, const float *row, uint64_t number) {
    char found[128];
    uint64_t column = 0;
    while (column < t->dims[0] && isfinite(row[column])) { column++; }
    if (column == t->dims[0]) { return; }
    snprintf(found, sizeof found, "%s at [%" PRIu64 ", %" PRIu64 ", %" PRIu64 "]",
             isnan(row[column]) ? "NaN" : "an infinite number", column, number % t->dims[1],
             number / t->dims[1]);
    fault(o, TN_E_FILE_DAMAGED, t->name, found, "finite numbers");
}

/* Goes through all numbers of a tensor, and keeps them in `all` unless it is NULL. A format that nobody can read is a
 * reason already. */
static void read_numbers(struct opened *o, const tn_gguf_tensor *t, float *all) {
    const tn_fit_format *f = tn_fit_format_of(o->fit, t->type);
    uint64_t rows = t->elements / t->dims[0], total = o->fit->reasons.total;
    if (f && (!f->format || !t->data)) { return; }
    if (tn_pages_fetch(t->data, t->size) != 0) {
        fault(o, TN_E_IO, t->name, "the file was cut short, or cannot be read, while it was in use",
              "all of it");
        return;
    }
    float *row = calloc(t->dims[0], sizeof *row);
    if (!f || !row) {
        o->fit->reasons.no_memory = 1;
    } else {
        uint64_t row_bytes = t->dims[0] / f->format->block * f->format->block_bytes;
        for (uint64_t r = 0; r < rows && o->fit->reasons.total == total; r++) {
            float *to = all ? all + r * t->dims[0] : row;
            f->format->decode(f->self, (const unsigned char *)t->data + r * row_bytes, t->dims[0], to);
            judge_numbers(o, t, to, r);
        }
    }
    free(row);
}

/* The next weight of the graph; 0: no memory. */
static uint32_t add_weight(struct opened *o, const tn_gguf_tensor *t) {
    tn_match *m = &o->fit->match;
    tn_fit_format *f = tn_fit_format_of(o->fit, t->type);
    if (f && !f->tensor) { /* a type that only an adapter has */
        f->tensor = text(o, "%s of %s", t->name, o->asked->path);
        f->tensors = 1;
    }
    tn_weight *w = tn_fit_weight(o->fit, t);
    if (!w) {
        o->fit->reasons.no_memory = 1;
        return 0;
    }
    m->weights[m->weight_count] = w;
    m->tensors[m->weight_count] = t;
    m->claim_flags[m->weight_count] = TN_CLAIM_UNUSED;
    return w->id = ++m->weight_count;
}

/* A weight for a tensor of the file. */
static uint32_t claim(struct opened *o, const tn_gguf_tensor *t) {
    read_numbers(o, t, NULL);
    return add_weight(o, t);
}

/* A weight for a tensor [cols, rows] of the file turned over, [rows, cols], of floats; 0: it has no data either. */
static uint32_t claim_turned(struct opened *o, const tn_gguf_tensor *t) {
    if (!t->data) { return 0; }
    tn_arena *arena = &o->fit->match.arena;
    int64_t type = tn_engine_type_number(o->fit->match.engine, "F32");
    float *numbers = calloc(t->elements, sizeof *numbers);
    float *turned = tn_arena_array(arena, t->elements, sizeof *turned);
    tn_gguf_tensor *made = tn_arena_copy(arena, t, sizeof *t);
    bool whole = numbers && turned && made && (made->name = tn_arena_format(arena, "%s.turned", t->name));
    if (whole) {
        read_numbers(o, t, numbers);
        for (uint64_t i = 0; i < t->elements; i++) {
            turned[i % t->dims[0] * t->dims[1] + i / t->dims[0]] = numbers[i];
        }
        made->type = (uint32_t)type;
        made->dims[0] = t->dims[1];
        made->dims[1] = t->dims[0];
        made->size = t->elements * sizeof *turned;
        made->data = turned;
    } else {
        o->fit->reasons.no_memory = 1;
    }
    free(numbers);
    return whole ? add_weight(o, made) : 0;
}

/* The model's weight of that name; 0: the architecture reads no such tensor. */
static uint32_t target_of(const struct opened *o, const char *name) {
    const tn_match *m = &o->fit->match;
    const tn_gguf_tensor *tensor = tn_gguf_tensor_find(m->file, name);
    for (uint32_t i = 0; tensor && i < m->weight_count; i++) {
        if (m->tensors[i] == tensor) { return i + 1; }
    }
    return 0;
}

static void shape_fault(struct opened *o, const tn_gguf_tensor *t, uint64_t cols, uint64_t rows,
                        uint64_t count) {
    char found[96], wanted[128];
    snprintf(found, sizeof found, "[%" PRIu64 ", %" PRIu64 ", %" PRIu64 "]", t->dims[0], t->dims[1],
             t->dims[2] * t->dims[3]);
    snprintf(wanted, sizeof wanted, "[%" PRIu64 ", %" PRIu64 ", %" PRIu64 "] for the tensor it adapts", cols,
             rows, count);
    fault(o, TN_E_TENSOR_SHAPE, t->name, found, wanted);
}

static bool has_shape(const tn_gguf_tensor *t, uint64_t cols, uint64_t rows, uint64_t count) {
    return t->dims[0] == cols && t->dims[1] == rows && t->dims[2] * t->dims[3] == count;
}

/* The pair fits neither as that of a matrix nor as that of a table: which of the two is wrong. */
static void pair_fault(struct opened *o, const tn_gguf_tensor *a, const tn_gguf_tensor *b,
                       const tn_weight *w) {
    if (has_shape(a, w->cols, a->dims[1], w->count)) {
        shape_fault(o, b, a->dims[1], w->rows, w->count);
    } else if (w->count == 1 && has_shape(a, a->dims[0], w->rows, 1)) {
        shape_fault(o, b, a->dims[0], w->cols, 1);
    } else {
        shape_fault(o, a, w->cols, b->dims[0], w->count);
    }
}

/* `a` is [in, rank], `b` [rank, out] for a matrix [in, out], and as many of them for as many; of a table [width, rows] it
 * is [rank, rows] and [rank, width]. Only a table that the graph looks up takes the latter: that is known later. */
static void take_pair(struct opened *o, const char *name, const tn_gguf_tensor *a, const tn_gguf_tensor *b,
                      double alpha) {
    tn_adapters *adapters = &o->fit->match.adapters;
    uint32_t target = target_of(o, name);
    if (!target && tn_gguf_tensor_find(o->fit->match.file, name)) { return; } /* not read for this purpose */
    if (!target) {
        fault(o, TN_E_TENSOR_UNREAD, a->name, "an adapter", "one for a tensor that the model reads");
        return;
    }
    const tn_weight *w = o->fit->match.weights[target - 1];
    uint64_t rank = b->dims[0];
    tn_adapter_pair pair = {.file = o->asked->path, .name = w->name, .target = target};
    pair.scale = alpha != 0 ? o->asked->scale * alpha / (double)rank : o->asked->scale;
    if (has_shape(a, w->cols, rank, w->count) && has_shape(b, rank, w->rows, w->count)) {
        pair.a = claim(o, a);
        pair.b = claim(o, b);
    } else if (w->count == 1 && has_shape(a, rank, w->rows, 1) && has_shape(b, rank, w->cols, 1)) {
        pair.b = pair.rows = claim(o, a);
        pair.rows_b = add_weight(o, b);
        pair.a = claim_turned(o, b);
    } else {
        pair_fault(o, a, b, w);
        return;
    }
    if (pair.a && pair.b) { adapters->pairs[adapters->pair_count++] = pair; }
}

/* The name without its suffix, in `out`; false if it does not end so. */
static bool strip(const char *name, const char *suffix, char out[TN_TENSOR_NAME_MAX + 1]) {
    size_t size = strlen(name), tail = strlen(suffix);
    if (size <= tail || strcmp(name + size - tail, suffix) != 0) { return false; }
    snprintf(out, TN_TENSOR_NAME_MAX + 1, "%.*s", (int)(size - tail), name);
    return true;
}

/* Each .lora_a takes its .lora_b along; what has no partner is a fault. */
static void take_lora_tensor(struct opened *o, const tn_gguf_tensor *t, double alpha) {
    char name[TN_TENSOR_NAME_MAX + 1], partner[TN_TENSOR_NAME_MAX + 8];
    bool is_a = strip(t->name, ".lora_a", name);
    if (!is_a && !strip(t->name, ".lora_b", name)) {
        fault(o, TN_E_TENSOR_UNREAD, t->name, "a tensor", "only pairs NAME.lora_a, NAME.lora_b");
        return;
    }
    snprintf(partner, sizeof partner, "%s.lora_%c", name, is_a ? 'b' : 'a');
    const tn_gguf_tensor *other = tn_gguf_tensor_find(o->file, partner);
    if (!other) {
        fault(o, TN_E_TENSOR_MISSING, partner, "absent", text(o, "%s %s", "the partner of", t->name));
    } else if (is_a) {
        take_pair(o, name, t, other, alpha);
    }
}

static void take_lora(struct opened *o) {
    double alpha = read_alpha(o);
    uint64_t count = tn_gguf_tensor_count(o->file);
    if (count == 0) { fault(o, TN_E_TENSOR_MISSING, "tensors", "none", "pairs NAME.lora_a, NAME.lora_b"); }
    for (uint64_t i = 0; i < count; i++) { take_lora_tensor(o, tn_gguf_tensor_at(o->file, i), alpha); }
}

static void take_direction(struct opened *o, const tn_gguf_tensor *t) {
    tn_adapters *adapters = &o->fit->match.adapters;
    const tn_facts *facts = &o->fit->match.facts;
    const char *digits = strncmp(t->name, "direction.", 10) == 0 ? t->name + 10 : "";
    size_t size = strspn(digits, "0123456789");
    int plain = size && size < 7 && !digits[size] && digits[0] != '0';
    unsigned long layer = plain ? strtoul(digits, NULL, 10) : 0;
    char wanted[64];
    if (layer < 1 || layer >= facts->layers) {
        snprintf(wanted, sizeof wanted, "direction.1 to direction.%" PRIu32, facts->layers - 1);
        fault(o, TN_E_TENSOR_UNREAD, t->name, "a tensor", wanted);
    } else if (t->elements != facts->width || t->dims[0] != facts->width) {
        shape_fault(o, t, facts->width, 1, 1);
    } else if (!o->asked->last || (layer >= o->asked->first && layer <= o->asked->last)) {
        tn_adapter_direction *d = &adapters->directions[adapters->direction_count++];
        *d =
            (tn_adapter_direction){.file = o->asked->path, .layer = (int32_t)layer, .scale = o->asked->scale};
        d->weight = claim(o, t);
    }
}

static void take_control_vector(struct opened *o) {
    tn_adapters *adapters = &o->fit->match.adapters;
    uint32_t before = adapters->direction_count;
    uint64_t total = o->fit->reasons.total;
    for (uint64_t i = 0; i < tn_gguf_tensor_count(o->file); i++) {
        take_direction(o, tn_gguf_tensor_at(o->file, i));
    }
    if (adapters->direction_count == before && o->fit->reasons.total == total) {
        fault(o, TN_E_TENSOR_MISSING, "directions", "none in the asked layers",
              "direction.N for one of them");
    }
}

/* ---- the stages -------------------------------------------------------------------------------------- */

int32_t tn_fit_adapters_open(tn_fit *fit, tn_error *err) {
    tn_adapters *adapters = &fit->match.adapters;
    uint32_t count = fit->options.adapter_count;
    adapters->files = tn_arena_array(&fit->match.arena, count, sizeof *adapters->files);
    if (!adapters->files) { TN_FAIL(err, TN_E_MEMORY, "no memory for %" PRIu32 " adapters", count); }
    for (uint32_t i = 0; i < count; i++) {
        tn_error refused = TN_ERROR_INIT;
        const char *path = fit->options.adapters[i].path;
        int32_t code = tn_gguf_open(path, tn_engine_types(fit->match.engine), &adapters->files[i], &refused);
        adapters->file_count++;
        if (code == TN_E_MEMORY) { TN_FAIL(err, code, "%s", refused.text); }
        if (code != TN_OK) {
            tn_reasons_add_error(&fit->reasons, fit->reasons.total, "adapter", code, &refused);
            tn_gguf_close(adapters->files[i]);
            adapters->files[i] = NULL;
            continue;
        }
        uint64_t tensors = tn_gguf_tensor_count(adapters->files[i]);
        adapters->tensor_count += tensors;
        adapters->weight_most += tensors + tensors / 2; /* of a pair three at most */
    }
    adapters->pairs = tn_arena_array(&fit->match.arena, adapters->tensor_count, sizeof *adapters->pairs);
    adapters->directions =
        tn_arena_array(&fit->match.arena, adapters->tensor_count, sizeof *adapters->directions);
    if (!adapters->pairs || !adapters->directions) { TN_FAIL(err, TN_E_MEMORY, "no memory for adapters"); }
    return TN_OK;
}

void tn_fit_adapters_claim(tn_fit *fit) {
    fit->match.own_weight_count = fit->match.weight_count;
    for (uint32_t i = 0; i < fit->match.adapters.file_count; i++) {
        struct opened o = {fit, &fit->options.adapters[i], fit->match.adapters.files[i]};
        if (!o.file) { continue; }
        if (!isfinite((float)o.asked->scale)) {
            fault(&o, TN_E_PARAM_INVALID, "its scale", "no finite float", "one");
        } else if (o.asked->kind == TN_ADAPTER_LORA) {
            if (judge_lora(&o)) { take_lora(&o); }
        } else if (judge_control_vector(&o)) {
            take_control_vector(&o);
        }
    }
}

static bool is_looked_up(const tn_graph *graph, uint32_t weight) {
    for (uint32_t i = 0; i < graph->node_count; i++) {
        const tn_node *node = graph->nodes[i];
        if (node->op == TN_OP_embed && node->weights[0] == weight) { return true; }
    }
    return false;
}

/* A pair whose matrix the graph has no use for changes nothing, as that matrix does not. */
static void judge_pair(struct opened *o, const tn_adapter_pair *pair) {
    const tn_match *m = &o->fit->match;
    const tn_weight *w = m->weights[pair->target - 1];
    uint64_t rank = m->weights[pair->b - 1]->cols;
    bool looked_up = is_looked_up(m->graph, pair->target);
    if (!pair->uses && !tn_graph_builder_reads(m->builder, pair->target)) { return; }
    if (looked_up && !pair->rows) {
        shape_fault(o, m->tensors[pair->a - 1], rank, w->rows, 1);
    } else if (!looked_up && pair->rows) {
        shape_fault(o, m->tensors[pair->rows - 1], w->cols, rank, 1);
    } else if (!pair->uses) {
        fault(o, TN_E_PARAM_UNSUPPORTED, pair->name, "a tensor that is neither multiplied nor looked up",
              "adapters of matrices and tables");
    }
}

/* A file of which nothing is used is a mistake. */
static void judge_uses(struct opened *o) {
    const tn_adapters *adapters = &o->fit->match.adapters;
    uint32_t uses = 0;
    for (uint32_t i = 0; i < adapters->pair_count; i++) {
        if (adapters->pairs[i].file == o->asked->path) { uses += adapters->pairs[i].uses; }
    }
    if (!uses && o->fit->reasons.total == 0) {
        fault(o, TN_E_PARAM_UNSUPPORTED, "adapter", "for tensors that this purpose does not compute with",
              "one for a tensor that is used");
    }
}

void tn_fit_adapters_used(tn_fit *fit) {
    tn_match *m = &fit->match;
    for (uint32_t i = 0; i < m->adapters.pair_count; i++) {
        const tn_adapter_pair *pair = &m->adapters.pairs[i];
        struct opened o = {.fit = fit, .asked = &(tn_adapter){.path = pair->file}};
        judge_pair(&o, pair);
    }
    for (uint32_t i = 0; i < m->adapters.file_count; i++) {
        struct opened o = {fit, &fit->options.adapters[i], m->adapters.files[i]};
        if (o.asked->kind == TN_ADAPTER_LORA) { judge_uses(&o); }
    }
    for (uint32_t i = 0; i < m->adapters.direction_count; i++) {
        const tn_adapter_direction *d = &m->adapters.directions[i];
        struct opened o = {.fit = fit, .asked = &(tn_adapter){.path = d->file}};
        if (!d->uses) {
            fault(&o, TN_E_PARAM_UNSUPPORTED, "control vector", "an architecture that marks no layer outputs",
                  "one that does");
        }
    }
}

void tn_adapters_close(tn_adapters *adapters) {
    for (uint32_t i = 0; i < adapters->file_count; i++) { tn_gguf_close(adapters->files[i]); }
}
