/*
 * adapter.c - adapters of a fit: opened, judged, claimed. Everything that does not belong to the model at hand is a
 * reason, with the file and the tensor it is about.
 */
#include "fit.h"
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
    fault(o, TN_E_FILE_KIND, key, there ? found : "absent", wanted);
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
    return alpha;
}

/* ---- weights ----------------------------------------------------------------------------------------- */

/* A weight for a tensor of the file; 0: no memory. */
static uint32_t claim(struct opened *o, const tn_gguf_tensor *t) {
    tn_match *m = &o->fit->match;
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

/* The model's weight of that name; 0: the architecture reads no such tensor. */
static uint32_t target_of(const struct opened *o, const char *name) {
    const tn_match *m = &o->fit->match;
    const tn_gguf_tensor *tensor = tn_gguf_tensor_find(m->file, name);
    for (uint32_t i = 0; tensor && i < m->weight_count; i++) {
        if (m->tensors[i] == tensor) { return i + 1; }
    }
    return 0;
}

static void shape_fault(struct opened *o, const tn_gguf_tensor *t, uint64_t cols, uint64_t rows) {
    char found[96], wanted[128];
    snprintf(found, sizeof found, "[%" PRIu64 ", %" PRIu64 ", %" PRIu64 "]", t->dims[0], t->dims[1],
             t->dims[2] * t->dims[3]);
    snprintf(wanted, sizeof wanted, "[%" PRIu64 ", %" PRIu64 "] for the tensor it adapts", cols, rows);
    fault(o, TN_E_TENSOR_SHAPE, t->name, found, wanted);
}

/* `a` is [in, rank], `b` [rank, out] for a matrix [in, out]. */
static void take_pair(struct opened *o, const char *name, const tn_gguf_tensor *a, const tn_gguf_tensor *b,
                      double alpha) {
    tn_adapters *adapters = &o->fit->match.adapters;
    uint32_t target = target_of(o, name);
    if (!target) {
        fault(o, TN_E_TENSOR_UNREAD, a->name, "an adapter", "one for a tensor that the model reads");
        return;
    }
    const tn_weight *w = o->fit->match.weights[target - 1];
    uint64_t rank = a->dims[1];
    if (w->count != 1) {
        fault(o, TN_E_PARAM_UNSUPPORTED, a->name, "an adapter of experts", "adapters of single matrices");
    } else if (a->dims[0] != w->cols || a->dims[2] * a->dims[3] != 1) {
        shape_fault(o, a, w->cols, rank);
    } else if (b->dims[0] != rank || b->dims[1] != w->rows || b->dims[2] * b->dims[3] != 1) {
        shape_fault(o, b, rank, w->rows);
    } else {
        tn_adapter_pair *pair = &adapters->pairs[adapters->pair_count++];
        *pair = (tn_adapter_pair){.file = o->asked->path, .name = w->name, .target = target};
        pair->a = claim(o, a);
        pair->b = claim(o, b);
        pair->scale = alpha != 0 ? o->asked->scale * alpha / (double)rank : o->asked->scale;
    }
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
        shape_fault(o, t, facts->width, 1);
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
            tn_reasons_add_error(&fit->reasons, fit->reasons.total, path, code, &refused);
            tn_gguf_close(adapters->files[i]);
            adapters->files[i] = NULL;
            continue;
        }
        adapters->tensor_count += tn_gguf_tensor_count(adapters->files[i]);
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
        if (o.asked->kind == TN_ADAPTER_LORA) {
            if (judge_lora(&o)) { take_lora(&o); }
        } else if (judge_control_vector(&o)) {
            take_control_vector(&o);
        }
    }
}

/* A table that tokens are looked up in cannot be adapted at a product. */
static bool is_looked_up(const tn_graph *graph, uint32_t weight) {
    for (uint32_t i = 0; i < graph->node_count; i++) {
        const tn_node *node = graph->nodes[i];
        if (node->op == TN_OP_embed && node->weights[0] == weight) { return true; }
    }
    return false;
}

void tn_fit_adapters_used(tn_fit *fit) {
    tn_match *m = &fit->match;
    for (uint32_t i = 0; i < m->adapters.pair_count; i++) {
        const tn_adapter_pair *pair = &m->adapters.pairs[i];
        struct opened o = {.fit = fit, .asked = &(tn_adapter){.path = pair->file}};
        if (is_looked_up(m->graph, pair->target)) {
            fault(&o, TN_E_PARAM_UNSUPPORTED, pair->name, "a table that tokens are looked up in",
                  "adapters of matrices that are multiplied only");
        } else if (!pair->uses) {
            fault(&o, TN_E_PARAM_UNSUPPORTED, pair->name, "a tensor that multiplies nothing for this purpose",
                  "adapters of matrices that are multiplied");
        }
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
