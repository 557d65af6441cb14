/*
 * quant_choose.c - runs the rules of a mix over the tensors of a model: layer by layer and by name in each, for
 * some rules count what came before.
 */
#include "quant_choose.h"

#include <fnmatch.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- the model ----------------------------------------------------------------------------------------- */

int64_t tn_layer_of(const char *name) {
    char *end;
    if (strncmp(name, "blk.", 4) != 0 || name[4] < '0' || name[4] > '9') { return -1; }
    int64_t layer = strtoll(name + 4, &end, 10);
    return *end == '.' ? layer : -1;
}

/* An integer (of an array: the first) under ARCHITECTURE.KEY, 0 to 2^31 - 1, or `otherwise`. */
static uint64_t model_number(const tn_gguf *file, const char *architecture, const char *key,
                             uint64_t otherwise) {
    char name[128];
    tn_kv kv = {.struct_size = sizeof kv};
    int64_t value;
    snprintf(name, sizeof name, "%s.%s", architecture, key);
    if (tn_gguf_meta(file)->find(tn_gguf_meta(file), name, &kv) != TN_OK || !tn_kv_int(&kv, 0, &value) ||
        value < 0 || value > INT32_MAX) {
        return otherwise;
    }
    return (uint64_t)value;
}

static uint64_t layers_by_name(const tn_gguf *file) {
    int64_t most = -1;
    for (uint64_t i = 0; i < tn_gguf_tensor_count(file); i++) {
        int64_t layer = tn_layer_of(tn_gguf_tensor_at(file, i)->name);
        if (layer > most && layer < INT32_MAX) { most = layer; }
    }
    return (uint64_t)(most + 1);
}

void tn_mix_model_read(const tn_gguf *file, tn_mix_model *out) {
    tn_kv kv = {.struct_size = sizeof kv};
    *out = (tn_mix_model){0};
    if (tn_gguf_meta(file)->find(tn_gguf_meta(file), "general.architecture", &kv) == TN_OK &&
        kv.type == TN_KV_STRING && kv.size < sizeof out->architecture) {
        memcpy(out->architecture, kv.data, kv.size);
    }
    const char *architecture = out->architecture;
    out->layers = model_number(file, architecture, "block_count", layers_by_name(file));
    out->experts = model_number(file, architecture, "expert_count", 0);
    uint64_t heads = model_number(file, architecture, "attention.head_count", 1);
    uint64_t kv_heads = model_number(file, architecture, "attention.head_count_kv", heads);
    out->gqa = kv_heads ? heads / kv_heads : 0;
}

/* ---- names --------------------------------------------------------------------------------------------- */

typedef struct chooser {
    const tn_mix_ask *ask;
    tn_mix_pick *picks;
    uint64_t *order;    /* tensors layer by layer */
    unsigned char *kin; /* class of each tensor */
    uint64_t counts[TN_MIX_CLASSES_MOST + 1], seen[TN_MIX_CLASSES_MOST + 1];
    uint32_t embedding_as; /* class under whose rules an embedding is; TN_MIX_OTHER: its own */
} chooser;

static int has_output(const chooser *c) {
    for (uint32_t k = 0; k < c->ask->mix->class_count; k++) {
        if (c->ask->mix->classes[k].role == TN_MIX_OUTPUT && c->counts[k]) { return 1; }
    }
    return 0;
}

static uint32_t class_of(const tn_mix *mix, const char *name) {
    for (uint32_t k = 0; k < mix->class_count; k++) {
        const tn_mix_words *patterns = &mix->classes[k].patterns;
        for (uint32_t i = 0; i < patterns->count; i++) {
            if (fnmatch(mix->words[patterns->first + i], name, 0) == 0) { return k; }
        }
    }
    return TN_MIX_OTHER;
}

static int is_listed(const tn_mix *mix, const char *name, int keep) {
    for (uint32_t i = 0; i < mix->name_count; i++) {
        if (mix->names[i].keep == keep && fnmatch(mix->names[i].pattern, name, 0) == 0) { return 1; }
    }
    return 0;
}

int tn_mix_is_about(const tn_mix *mix, const char *name) {
    return is_listed(mix, name, 0);
}

static const char *keep_reason(const tn_mix *mix, const tn_gguf_tensor *tensor) {
    if (tensor->elements == tensor->dims[0]) { return "one dimension"; }
    if (is_listed(mix, tensor->name, 1)) { return "a name that is kept"; }
    return tn_mix_is_about(mix, tensor->name) ? NULL : "a name that is no weight's";
}

static void classify(chooser *c) {
    const tn_mix *mix = c->ask->mix;
    for (uint64_t i = 0; i < c->ask->count; i++) {
        const tn_gguf_tensor *tensor = c->ask->tensors[i];
        uint32_t kin = class_of(mix, tensor->name);
        c->kin[i] = (unsigned char)kin;
        c->counts[kin]++;
        c->picks[i] = (tn_mix_pick){.keep = keep_reason(mix, tensor),
                                    .role = kin == TN_MIX_OTHER ? TN_MIX_LAYERED : mix->classes[kin].role};
    }
    c->embedding_as = TN_MIX_OTHER;
    for (uint32_t k = 0; k < mix->class_count && !has_output(c); k++) {
        if (mix->classes[k].role == TN_MIX_OUTPUT) {
            c->embedding_as = k;
            break;
        }
    }
    for (uint64_t i = 0; i < c->ask->count; i++) {
        tn_mix_pick *pick = &c->picks[i];
        int tied = pick->role == TN_MIX_EMBEDDING && c->embedding_as != TN_MIX_OTHER;
        pick->is_output = pick->role == TN_MIX_OUTPUT || tied;
    }
}

/* ---- conditions ---------------------------------------------------------------------------------------- */

/* A tensor as the conditions see it. */
typedef struct view {
    const tn_gguf_tensor *tensor;
    uint64_t i, n, seen;
    const char *chosen;
    int misfit;
} view;

static uint64_t number_of(const chooser *c, const view *v, uint32_t subject) {
    const tn_mix_model *model = c->ask->model;
    switch (subject) {
    case TN_MIX_I: return v->i;
    case TN_MIX_SEEN: return v->seen;
    case TN_MIX_LAYERS: return model->layers;
    case TN_MIX_GQA: return model->gqa;
    case TN_MIX_EXPERTS: return model->experts;
    default: return v->tensor->dims[2];
    }
}

static int is_one_of(const tn_mix *mix, const tn_mix_words *words, const char *word) {
    for (uint32_t i = 0; i < words->count; i++) {
        if (strcmp(mix->words[words->first + i], word) == 0) { return 1; }
    }
    return 0;
}

/* n is below 2^31 or a number of tensors in a file, a factor at most a million: no product is too large. */
static int compare(const chooser *c, const view *v, const tn_mix_condition *condition) {
    uint64_t bound = condition->of_n ? condition->factor * v->n / condition->divisor : condition->factor;
    uint64_t value = number_of(c, v, condition->subject);
    return condition->test == '<' ? value < bound : condition->test == '>' ? value >= bound : value == bound;
}

static int holds(const chooser *c, const view *v, const tn_mix_condition *condition) {
    const tn_mix_ask *ask = c->ask;
    switch (condition->subject) {
    case TN_MIX_ARCH: return is_one_of(ask->mix, &condition->words, ask->model->architecture);
    case TN_MIX_CHOSEN: return is_one_of(ask->mix, &condition->words, v->chosen);
    case TN_MIX_IMPORTANCE: return ask->model->importance;
    case TN_MIX_NO_IMPORTANCE: return !ask->model->importance;
    case TN_MIX_MISFIT: return v->misfit;
    case TN_MIX_MORE: return v->i < v->n / 8 || v->i >= 7 * v->n / 8 || (v->i - v->n / 8) % 3 == 2;
    default: return compare(c, v, condition);
    }
}

static int fits(const chooser *c, const view *v, const tn_mix_rule *rule, uint32_t kin) {
    if (!(rule->files >> c->ask->file & 1) || !(rule->classes >> kin & 1)) { return 0; }
    for (uint32_t i = 0; i < rule->count; i++) {
        if (!holds(c, v, &c->ask->mix->conditions[rule->first + i])) { return 0; }
    }
    return 1;
}

static const char *type_of(const tn_mix_rule *rule, const char *base) {
    return rule->type ? rule->type : base;
}

static const char *by_rules(const chooser *c, view *v, uint32_t kin) {
    const tn_mix *mix = c->ask->mix;
    const char *base = mix->files[c->ask->file].base;
    v->chosen = base;
    for (uint32_t i = 0; i < mix->rule_count; i++) {
        if (fits(c, v, &mix->rules[i], kin)) {
            v->chosen = type_of(&mix->rules[i], base);
            break;
        }
    }
    for (uint32_t i = 0; i < mix->then_count; i++) {
        if (fits(c, v, &mix->thens[i], kin)) { v->chosen = type_of(&mix->thens[i], base); }
    }
    return v->chosen;
}

/* ---- blocks -------------------------------------------------------------------------------------------- */

static int32_t block_of(const chooser *c, const char *type, uint32_t *out, tn_error *err) {
    return c->ask->block(c->ask->context, type, out, err);
}

static const tn_mix_fallback *fallback_of(const tn_mix *mix, const char *type) {
    for (uint32_t i = 0; i < mix->fallback_count; i++) {
        if (strcmp(mix->fallbacks[i].type, type) == 0) { return &mix->fallbacks[i]; }
    }
    return NULL;
}

/* Sets pick->type to pick->wanted or to what stands in for it. */
static int32_t fit_rows(const chooser *c, const tn_gguf_tensor *tensor, tn_mix_pick *pick, tn_error *err) {
    const tn_mix *mix = c->ask->mix;
    TN_TRY(block_of(c, pick->wanted, &pick->wanted_block, err));
    pick->type = pick->wanted;
    if (tensor->dims[0] % pick->wanted_block == 0) { return TN_OK; }
    const tn_mix_fallback *fallback = fallback_of(mix, pick->wanted);
    for (uint32_t i = 0; fallback && i < fallback->types.count; i++) {
        uint32_t block;
        pick->type = mix->words[fallback->types.first + i];
        TN_TRY(block_of(c, pick->type, &block, err));
        if (tensor->dims[0] % block == 0) { return TN_OK; }
    }
    TN_FAIL(err, TN_E_FORMAT_REFUSED,
            "tensor %s: its rows of %" PRIu64 " are not a multiple of %" PRIu32
            ", the block of %s, and no other type "
            "stands in for that one",
            tensor->name, tensor->dims[0], pick->wanted_block, pick->wanted);
}

static int needs_importance(const chooser *c, const tn_mix_pick *pick) {
    const tn_mix *mix = c->ask->mix;
    if (pick->role == TN_MIX_OUTPUT || pick->role == TN_MIX_EMBEDDING) { return 0; }
    for (uint32_t i = 0; i < mix->need_count; i++) {
        if (mix->needs[i].files >> c->ask->file & 1 && is_one_of(mix, &mix->needs[i].types, pick->type)) {
            return 1;
        }
    }
    return 0;
}

/* ---- all tensors --------------------------------------------------------------------------------------- */

static int32_t view_tensor(const chooser *c, uint64_t index, view *out, tn_error *err) {
    const tn_mix *mix = c->ask->mix;
    uint32_t kin = c->kin[index], block;
    *out = (view){.tensor = c->ask->tensors[index], .seen = c->seen[kin], .i = c->seen[kin]};
    int64_t layer = tn_layer_of(out->tensor->name);
    int counted = kin != TN_MIX_OTHER && mix->classes[kin].role == TN_MIX_COUNTED;
    out->n = counted ? c->counts[kin] : c->ask->model->layers;
    if (!counted && c->ask->model->experts > 1 && layer >= 0) { out->i = (uint64_t)layer; }
    TN_TRY(block_of(c, mix->files[c->ask->file].base, &block, err));
    out->misfit = out->tensor->dims[0] % block != 0;
    return TN_OK;
}

static int32_t choose(chooser *c, uint64_t index, tn_error *err) {
    const tn_mix_ask *ask = c->ask;
    const tn_gguf_tensor *tensor = ask->tensors[index];
    tn_mix_pick *pick = &c->picks[index];
    uint32_t kin = c->kin[index];
    view v;
    if (ask->leave_output && pick->role == TN_MIX_OUTPUT) { pick->keep = "the output, which is to be left"; }
    if (pick->keep) { return TN_OK; }
    TN_TRY(view_tensor(c, index, &v, err));
    c->seen[kin]++;
    pick->wanted = ask->override ? ask->override(ask->context, tensor, pick) : NULL;
    if (!pick->wanted && ask->pure) { pick->wanted = ask->mix->files[ask->file].base; }
    if (!pick->wanted) {
        int tied = pick->is_output && pick->role == TN_MIX_EMBEDDING;
        pick->wanted = by_rules(c, &v, tied ? c->embedding_as : kin);
    }
    TN_TRY(fit_rows(c, tensor, pick, err));
    pick->needs_importance = needs_importance(c, pick);
    return TN_OK;
}

static int by_layer(const void *a, const void *b, void *context) {
    const tn_gguf_tensor *const *tensors = context;
    const char *x = tensors[*(const uint64_t *)a]->name, *y = tensors[*(const uint64_t *)b]->name;
    int64_t i = tn_layer_of(x), k = tn_layer_of(y);
    return i != k ? (i > k) - (i < k) : strcmp(x, y);
}

int32_t tn_mix_choose(const tn_mix_ask *ask, tn_mix_pick *picks, tn_error *err) {
    chooser c = {.ask = ask,
                 .picks = picks,
                 .order = calloc(ask->count + 1, sizeof *c.order),
                 .kin = calloc(ask->count + 1, 1)};
    int32_t code = c.order && c.kin ? TN_OK : tn_fail(err, TN_E_MEMORY, "no memory to choose types");
    if (code == TN_OK) {
        classify(&c);
        for (uint64_t i = 0; i < ask->count; i++) { c.order[i] = i; }
        qsort_r(c.order, ask->count, sizeof *c.order, by_layer, (void *)ask->tensors);
    }
    for (uint64_t i = 0; code == TN_OK && i < ask->count; i++) { code = choose(&c, c.order[i], err); }
    free(c.order);
    free(c.kin);
    return code;
}
