/*
 * fit_tensors.c - the audit: every tensor that the architecture asks for is there in the right shape, every
 * tensor of the file is asked for, and each one's format has a plugin. Reads no tensor's data.
 */
#include "fit.h"

#include "companion.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* What is known of one tensor of the file; found by its address. */
struct entry {
    const tn_gguf_tensor *tensor;
    uint32_t weight; /* number, 0: not claimed (yet) */
    uint32_t read;   /* 1: asked for, as a weight, a companion or in another shape */
};

/* One audit. The table is open-addressed, with more than twice as many places as tensors. */
struct audit {
    tn_fit *fit;
    struct entry *table;
    uint64_t mask;
    uint64_t missing; /* tensors that are absent or of the wrong shape */
    int no_memory;
};

static struct entry *entry_of(const struct audit *audit, const tn_gguf_tensor *tensor) {
    uint64_t at = (uint64_t)(uintptr_t)tensor * 0x9e3779b97f4a7c15u >> 20;
    while (audit->table[at & audit->mask].tensor && audit->table[at & audit->mask].tensor != tensor) { at++; }
    return &audit->table[at & audit->mask];
}

static int32_t index_tensors(struct audit *audit, tn_error *err) {
    uint64_t count = audit->fit->tensor_count, places = 16;
    while (places < count * 2 + 1) { places *= 2; }
    audit->table = calloc(places, sizeof *audit->table);
    if (!audit->table) { TN_FAIL(err, TN_E_MEMORY, "no memory to go through %" PRIu64 " tensors", count); }
    audit->mask = places - 1;
    for (uint64_t i = 0; i < count; i++) {
        const tn_gguf_tensor *tensor = tn_gguf_tensor_at(audit->fit->match.file, i);
        entry_of(audit, tensor)->tensor = tensor;
    }
    return TN_OK;
}

static const char *shape_text(char out[96], const uint64_t dims[4]) {
    uint32_t last = 4;
    while (last > 1 && dims[last - 1] == 1) { last--; }
    size_t used = (size_t)snprintf(out, 96, "[%" PRIu64, dims[0]);
    for (uint32_t i = 1; i < last; i++) {
        used += (size_t)snprintf(out + used, 96 - used, ", %" PRIu64, dims[i]);
    }
    snprintf(out + used, 96 - used, "]");
    return out;
}

/* ---- formats ---------------------------------------------------------------------------------------- */

static void name_format(tn_fit *fit, tn_fit_format *f) {
    f->name = tn_engine_type_name(fit->match.engine, f->type);
    if (!f->name) { f->name = tn_arena_format(&fit->reasons.arena, "type %" PRIu32, f->type); }
    if (!f->name) { fit->reasons.no_memory = 1, f->name = ""; }
}

static void open_format(tn_fit *fit, tn_fit_format *f) {
    tn_error err = TN_ERROR_INIT;
    tn_entry *entry = NULL;
    f->code = tn_registry_open_format(fit->match.engine, f->type, &entry, &f->format, &f->self, &err);
    f->entry = f->code == TN_OK ? entry : NULL;
    f->message = f->code == TN_OK ? "" : tn_arena_text(&fit->reasons.arena, err.text);
    if (!f->message) { fit->reasons.no_memory = 1, f->message = ""; }
}

tn_fit_format *tn_fit_format_of(tn_fit *fit, uint32_t type) {
    for (uint32_t i = 0; i < fit->format_count; i++) {
        if (fit->formats[i].type == type) { return &fit->formats[i]; }
    }
    if (fit->format_count == fit->format_capacity) {
        uint32_t capacity = fit->format_capacity ? fit->format_capacity * 2 : 16;
        tn_fit_format *formats = realloc(fit->formats, capacity * sizeof *formats);
        if (!formats) { return NULL; }
        fit->formats = formats;
        fit->format_capacity = capacity;
    }
    tn_fit_format *f = &fit->formats[fit->format_count++];
    *f = (tn_fit_format){.type = type};
    name_format(fit, f);
    open_format(fit, f);
    return f;
}

/* Types are few, and neighbours often share one; a file of nothing but unknown types is cut off with a
 * reason. */
enum { TYPES_MOST = 256 };

static int32_t count_formats(tn_fit *fit, tn_error *err) {
    uint32_t last_type = 0;
    tn_fit_format *last = NULL;
    for (uint64_t i = 0; i < fit->tensor_count; i++) {
        const tn_gguf_tensor *tensor = tn_gguf_tensor_at(fit->match.file, i);
        if (!last || tensor->type != last_type) {
            last = fit->format_count < TYPES_MOST ? tn_fit_format_of(fit, tensor->type) : NULL;
            last_type = tensor->type;
            if (!last && fit->format_count == TYPES_MOST) {
                tn_reasons_add(&fit->reasons, TN_E_FORMAT_UNKNOWN, "the file", "more than 256 tensor types",
                               "a few", NULL);
                return TN_OK;
            }
            if (!last) { TN_FAIL(err, TN_E_MEMORY, "no memory for the file's tensor types"); }
        }
        if (!last->tensors++) { last->tensor = tensor->name; }
    }
    return TN_OK;
}

static void refuse_format(tn_fit *fit, const tn_fit_format *f) {
    tn_arena *arena = &fit->reasons.arena;
    char number[16];
    snprintf(number, sizeof number, "%" PRIu32, f->type);
    const char *note = tn_registry_note(fit->match.engine, "type", number);
    const char *subject = tn_engine_type_name(fit->match.engine, f->type)
                              ? tn_arena_format(arena, "tensor type %s (%" PRIu32 ")", f->name, f->type)
                              : tn_arena_format(arena, "tensor type %" PRIu32, f->type);
    const char *found = f->tensors > 1
                            ? tn_arena_format(arena, "in %s and %" PRIu64 " more", f->tensor, f->tensors - 1)
                            : tn_arena_format(arena, "in %s", f->tensor);
    if (f->code != TN_E_NOT_FOUND) {
        tn_reasons_add(&fit->reasons, f->code, subject, found, "a usable plugin for it", f->message);
        return;
    }
    const char *wanted =
        tn_arena_format(arena, "types that are installed: %s", tn_fit_installed(fit, "type"));
    tn_reasons_add(&fit->reasons, note ? TN_E_FORMAT_REFUSED : TN_E_FORMAT_UNKNOWN, subject, found, wanted,
                   note ? note : "install a format plugin that claims it");
}

/* ---- claims ----------------------------------------------------------------------------------------- */

tn_weight *tn_fit_weight(tn_fit *fit, const tn_gguf_tensor *t) {
    tn_match *m = &fit->match;
    tn_weight *w = tn_arena_take(&m->arena, sizeof *w);
    char *name = tn_arena_text(&m->arena, t->name);
    tn_fit_format *f = tn_fit_format_of(fit, t->type);
    if (!w || !name || !f) { return NULL; }
    *w = (tn_weight){.struct_size = sizeof *w,
                     .name = name,
                     .format = f->format,
                     .format_self = f->self,
                     .cols = t->dims[0],
                     .rows = t->dims[1],
                     .count = t->dims[2] * t->dims[3],
                     .size = t->size};
    if (f->format) { w->row_bytes = w->cols / f->format->block * f->format->block_bytes; }
    return w;
}

static int32_t new_weight(struct audit *audit, struct entry *entry, uint32_t flags) {
    tn_match *m = &audit->fit->match;
    tn_weight *w = tn_fit_weight(audit->fit, entry->tensor);
    if (!w) { return TN_E_MEMORY; }
    m->weights[m->weight_count] = w;
    m->tensors[m->weight_count] = entry->tensor;
    m->claim_flags[m->weight_count] = flags;
    w->id = entry->weight = ++m->weight_count;
    return TN_OK;
}

static void report_missing(struct audit *audit, const tn_claim *claim, const uint64_t dims[4]) {
    char shape[96];
    audit->missing++;
    tn_reasons_add(&audit->fit->reasons, TN_E_TENSOR_MISSING, claim->name, "absent", shape_text(shape, dims),
                   NULL);
}

static void report_shape(struct audit *audit, const tn_claim *claim, const uint64_t dims[4],
                         const uint64_t found[4]) {
    char wanted[512], want[96], have[96];
    audit->missing++;
    snprintf(wanted, sizeof wanted, claim->why && claim->why[0] ? "%s (%s)" : "%s", shape_text(want, dims),
             claim->why);
    tn_reasons_add(&audit->fit->reasons, TN_E_TENSOR_SHAPE, claim->name, shape_text(have, found), wanted,
                   NULL);
}

/* The claim's shape with 1 beyond its dimensions: equal to a file's that writes trailing ones or leaves them
 * out. */
static int claimed_dims(const tn_claim *claim, uint64_t dims[4]) {
    if (claim->struct_size < sizeof *claim || !claim->name || claim->dim_count < 1 || claim->dim_count > 4) {
        return 0;
    }
    for (uint32_t i = 0; i < 4; i++) { dims[i] = i < claim->dim_count ? claim->dims[i] : 1; }
    return 1;
}

static uint32_t take_claim(const tn_claims *claims, const tn_claim *claim) {
    struct audit *audit = claims->context;
    tn_match *m = &audit->fit->match;
    uint64_t dims[4];
    if (!claimed_dims(claim, dims)) {
        audit->missing++;
        tn_reasons_add(&audit->fit->reasons, TN_E_PLUGIN_BROKEN, tn_entry_info(m->arch_entry)->id,
                       "a claim without a name or a number of dimensions", "1 to 4 dimensions", NULL);
        return 0;
    }
    const tn_gguf_tensor *tensor = tn_gguf_tensor_find(m->file, claim->name);
    if (!tensor) {
        if (!(claim->flags & TN_CLAIM_OPTIONAL)) { report_missing(audit, claim, dims); }
        return 0;
    }
    struct entry *entry = entry_of(audit, tensor);
    entry->read = 1;
    if (memcmp(dims, tensor->dims, sizeof dims) != 0) {
        report_shape(audit, claim, dims, tensor->dims);
        return 0;
    }
    if (!entry->weight && new_weight(audit, entry, claim->flags) != TN_OK) {
        audit->no_memory = 1;
        return 0;
    }
    m->claim_flags[entry->weight - 1] &= claim->flags;
    return entry->weight;
}

static uint32_t has_tensor(const tn_claims *claims, const char *name) {
    const struct audit *audit = claims->context;
    return tn_gguf_tensor_find(audit->fit->match.file, name) != NULL;
}

/* ---- companions ------------------------------------------------------------------------------------- */

/* The scale is one number, or one for each matrix of the weight, in a format that is there to decode it. */
static int32_t take_scale(tn_fit *fit, tn_weight *w, const tn_gguf_tensor *tensor) {
    tn_match *m = &fit->match;
    char found[96], wanted[96];
    tn_fit_format *f = tn_fit_format_of(fit, tensor->type);
    if (!f) { return TN_E_MEMORY; }
    if (w->scale_count) {
        tn_reasons_add(&fit->reasons, TN_E_PLUGIN_BROKEN, w->format->name, "two scales for a tensor", "one",
                       NULL);
    } else if (tensor->elements != 1 && tensor->elements != w->count) {
        snprintf(wanted, sizeof wanted, "1 number or, one a matrix of the weight, %" PRIu64, w->count);
        tn_reasons_add(&fit->reasons, TN_E_TENSOR_SHAPE, tensor->name, shape_text(found, tensor->dims),
                       wanted, NULL);
    } else {
        w->scale_count = tensor->elements;
        m->companions[m->companion_count++] = (tn_companion_tensor){w, tensor, f->format, f->self};
    }
    return TN_OK;
}

static int32_t claim_companion(struct audit *audit, tn_weight *w, const tn_companion *companion) {
    tn_fit *fit = audit->fit;
    char name[TN_COMPANION_NAME];
    const tn_gguf_tensor *tensor = tn_companion_find(fit->match.file, w->name, companion->suffix, name);
    if (tensor) {
        entry_of(audit, tensor)->read = 1;
        return companion->role == TN_COMPANION_SCALE ? take_scale(fit, w, tensor) : TN_OK;
    }
    if (!companion->optional) {
        const char *wanted = tn_arena_format(&fit->reasons.arena, "the companion of %s", w->name);
        audit->missing++;
        tn_reasons_add(&fit->reasons, TN_E_TENSOR_MISSING, name, "absent", wanted, NULL);
    }
    return TN_OK;
}

static int32_t claim_companions(struct audit *audit) {
    tn_match *m = &audit->fit->match;
    for (uint32_t i = 0; i < m->weight_count; i++) {
        tn_weight *w = m->weights[i];
        for (uint32_t k = 0; w->format && k < w->format->companion_count; k++) {
            TN_TRY(claim_companion(audit, w, w->format->companions[k]));
        }
    }
    return TN_OK;
}

/* ---- the audit -------------------------------------------------------------------------------------- */

static void report_unread(struct audit *audit) {
    tn_fit *fit = audit->fit;
    const char *wanted =
        tn_arena_format(&fit->reasons.arena, "only tensors that %s reads", fit->architecture);
    for (uint64_t i = 0; i < fit->tensor_count; i++) {
        const tn_gguf_tensor *tensor = tn_gguf_tensor_at(fit->match.file, i);
        char shape[96];
        if (entry_of(audit, tensor)->read) {
            fit->tensors_read++;
        } else {
            shape_text(shape, tensor->dims);
            tn_reasons_add(&fit->reasons, TN_E_TENSOR_UNREAD, tensor->name, shape, wanted, NULL);
        }
    }
}

static int32_t make_room(tn_match *m, uint64_t count, tn_error *err) {
    m->weights = tn_arena_array(&m->arena, count, sizeof *m->weights);
    m->tensors = tn_arena_array(&m->arena, count, sizeof *m->tensors);
    m->claim_flags = tn_arena_array(&m->arena, count, sizeof *m->claim_flags);
    m->companions = tn_arena_array(&m->arena, count, sizeof *m->companions);
    if (!m->weights || !m->tensors || !m->claim_flags || !m->companions || count > UINT32_MAX) {
        TN_FAIL(err, TN_E_MEMORY, "no memory for %" PRIu64 " tensors", count);
    }
    return TN_OK;
}

static int32_t run_claims(struct audit *audit, tn_error *err) {
    tn_fit *fit = audit->fit;
    tn_match *m = &fit->match;
    tn_claims claims = {
        .struct_size = sizeof claims, .context = audit, .claim = take_claim, .has = has_tensor};
    tn_error fault = TN_ERROR_INIT;
    uint64_t before = fit->reasons.total;
    int32_t code = m->arch->tensors(m->arch_self, m->config, &claims, &fault);
    if (code != TN_OK) { tn_reasons_add_error(&fit->reasons, before, fit->architecture, code, &fault); }
    if (audit->no_memory || claim_companions(audit) != TN_OK) {
        TN_FAIL(err, TN_E_MEMORY, "no memory for the weights");
    }
    report_unread(audit);
    fit->claimed = code == TN_OK && audit->missing == 0;
    if (fit->claimed) { tn_fit_adapters_claim(fit); }
    return TN_OK;
}

/* Layers up to which all that is missing is gone through, whatever the file holds. */
enum { LAYERS_LISTED = 1024 };

/* A layer has at least one tensor: a file of few tensors and tens of thousands of layers is not asked for
 * each. */
static int layers_can_be_there(tn_fit *fit) {
    uint32_t layers = fit->match.facts.layers;
    char found[32], wanted[96];
    if (layers <= LAYERS_LISTED || layers <= fit->tensor_count) { return 1; }
    snprintf(found, sizeof found, "%" PRIu32, layers);
    snprintf(wanted, sizeof wanted, "no more than the file's %" PRIu64 " tensors", fit->tensor_count);
    tn_reasons_add(&fit->reasons, TN_E_PARAM_INVALID, "number of layers", found, wanted, NULL);
    return 0;
}

int32_t tn_fit_tensors(tn_fit *fit, tn_error *err) {
    struct audit audit = {.fit = fit};
    int32_t code = count_formats(fit, err);
    if (code == TN_OK && fit->configured && layers_can_be_there(fit)) {
        code = make_room(&fit->match, fit->tensor_count + fit->match.adapters.weight_most, err);
        if (code == TN_OK) { code = index_tensors(&audit, err); }
        if (code == TN_OK) { code = run_claims(&audit, err); }
    }
    for (uint32_t i = 0; i < fit->format_count; i++) {
        if (fit->formats[i].code != TN_OK) { refuse_format(fit, &fit->formats[i]); }
    }
    free(audit.table);
    return code;
}
