/*
 * fit_file.c - the first questions to a file: is it a model at all, whose architecture is it, and do its
 * hyperparameters make sense to the plugin that serves that architecture.
 */
#include "fit.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* A string value, NUL-terminated and cut: names of architectures, kinds and the like are short. */
static int32_t read_name(const tn_meta *meta, const char *key, char *out, size_t capacity, tn_kv *kv) {
    kv->struct_size = sizeof *kv;
    TN_TRY(meta->find(meta, key, kv));
    if (kv->type != TN_KV_STRING) { return TN_E_PARAM_TYPE; }
    size_t size = kv->count < capacity - 1 ? kv->count : capacity - 1;
    memcpy(out, kv->data, size);
    for (size_t i = 0; i < size; i++) {
        if (!out[i]) { out[i] = '?'; } /* a NUL inside is part of the name, and of none that we know */
    }
    out[size] = 0;
    return TN_OK;
}

const char *tn_fit_kv_type(const tn_kv *kv) {
    static const char *const names[] = {"a uint8",  "an int8",   "a uint16", "an int16", "a uint32",
                                        "an int32", "a float32", "a bool",   "a string", "an array",
                                        "a uint64", "an int64",  "a float64"};
    return kv->type < sizeof names / sizeof *names ? names[kv->type] : "an unknown type";
}

/* ---- what kind of file ------------------------------------------------------------------------------ */

struct kind {
    const char *name, *what;
};

/* Values of general.type, and of general.architecture, that are not models. */
static const struct kind other_types[] = {
    {"adapter", "an adapter (LoRA) for a model, not a model"},
    {"imatrix", "an importance matrix, not a model"},
    {"mmproj", "a vision or audio projector for a model, not a language model"},
    {"vocab", "a vocabulary without a model"},
};
static const struct kind other_architectures[] = {
    {"clip", "a vision or audio projector for a model, not a language model"},
    {"imatrix", "an importance matrix, not a model"},
    {"controlvector", "a control vector for a model, not a model"},
};

static const char *find_kind(const struct kind *kinds, size_t count, const char *name) {
    for (size_t i = 0; i < count; i++) {
        if (strcmp(kinds[i].name, name) == 0) { return kinds[i].what; }
    }
    return NULL;
}

static uint64_t token_count(const tn_meta *meta) {
    tn_kv kv = {.struct_size = sizeof kv};
    int32_t code = meta->find(meta, "tokenizer.ggml.tokens", &kv);
    return code == TN_OK && kv.type == TN_KV_ARRAY && kv.element_type == TN_KV_STRING ? kv.count : 0;
}

int tn_fit_file_kind(tn_fit *fit) {
    const tn_meta *meta = tn_gguf_meta(fit->match.file);
    const size_t type_count = sizeof other_types / sizeof *other_types;
    const size_t architecture_count = sizeof other_architectures / sizeof *other_architectures;
    char name[64];
    tn_kv kv;
    const char *subject = "general.type", *what = NULL;
    if (read_name(meta, subject, name, sizeof name, &kv) == TN_OK && strcmp(name, "model") != 0) {
        what = find_kind(other_types, type_count, name);
        if (!what) { what = "a kind of file that is not known here"; }
    }
    if (!what && read_name(meta, "general.architecture", name, sizeof name, &kv) == TN_OK) {
        subject = "general.architecture";
        what = find_kind(other_architectures, architecture_count, name);
    }
    if (!what && fit->tensor_count == 0 && token_count(meta) > 0) {
        subject = "the file";
        what = "a vocabulary without a model: it has tokens and no tensors";
        name[0] = 0;
    }
    if (!what) { return 0; }
    const char *found = tn_arena_format(&fit->reasons.arena, "%s%s%s", name, name[0] ? ": " : "", what);
    if (!found) { fit->reasons.no_memory = 1; }
    tn_reasons_add(&fit->reasons, TN_E_FILE_KIND, subject, found, "a model", NULL);
    return 1;
}

/* ---- architecture ----------------------------------------------------------------------------------- */

struct listing {
    tn_fit *fit;
    const char *key, *text;
};

static void list_claim(void *context, const char *value, tn_entry *entry) {
    struct listing *listing = context;
    tn_fit *fit = listing->fit;
    (void)entry;
    if (strcmp(listing->key, "type") == 0) {
        const char *name = tn_engine_type_name(fit->match.engine, (uint32_t)strtoul(value, NULL, 10));
        if (name) { value = name; }
    }
    if (strlen(listing->text) > 400) { return; }
    listing->text =
        tn_arena_format(&fit->reasons.arena, "%s%s%s", listing->text, listing->text[0] ? ", " : "", value);
    if (!listing->text) {
        fit->reasons.no_memory = 1;
        listing->text = "";
    }
}

const char *tn_fit_installed(tn_fit *fit, const char *key) {
    struct listing listing = {fit, key, ""};
    tn_registry_each(fit->match.engine, key, list_claim, &listing);
    return listing.text[0] ? listing.text : "none";
}

static void refuse_architecture(tn_fit *fit, const char *name) {
    const char *note = tn_registry_note(fit->match.engine, "architecture", name);
    const char *installed = tn_fit_installed(fit, "architecture");
    const char *wanted = tn_arena_format(&fit->reasons.arena, "one that is installed: %s", installed);
    if (note) {
        tn_reasons_add(&fit->reasons, TN_E_ARCH_REFUSED, "general.architecture", name,
                       "one that is supported", note);
    } else {
        tn_reasons_add(&fit->reasons, TN_E_ARCH_UNKNOWN, "general.architecture", name, wanted,
                       "install an architecture plugin that claims it");
    }
}

/* The declared name in `name`; 0, and a reason, if there is none. */
static int read_architecture(tn_fit *fit, char *name, size_t capacity) {
    tn_kv kv;
    const char *key = "general.architecture";
    int32_t code = read_name(tn_gguf_meta(fit->match.file), key, name, capacity, &kv);
    if (code == TN_E_PARAM_TYPE) {
        tn_reasons_add(&fit->reasons, TN_E_PARAM_TYPE, key, tn_fit_kv_type(&kv), "a string", NULL);
    } else if (code != TN_OK) {
        tn_reasons_add(&fit->reasons, TN_E_PARAM_MISSING, key, "absent", "the name of the architecture",
                       NULL);
    }
    return code == TN_OK;
}

/* The plugin for a declared name, opened; 0, and a reason, if there is none. */
static int open_architecture(tn_fit *fit, const char *name) {
    tn_match *m = &fit->match;
    tn_error err = TN_ERROR_INIT;
    tn_entry *entry = NULL;
    uint64_t before = fit->reasons.total;
    const void *table = NULL;
    int32_t code = tn_registry_find(m->engine, "architecture", name, &entry, &err);
    if (code == TN_E_NOT_FOUND) {
        refuse_architecture(fit, name);
        return 0;
    }
    if (code == TN_OK) { code = tn_entry_open(m->engine, entry, TN_ARCH_1, &table, &m->arch_self, &err); }
    if (code != TN_OK) {
        tn_reasons_add_error(&fit->reasons, before, name, code, &err);
        return 0;
    }
    m->arch = table;
    m->arch_entry = entry;
    return 1;
}

/* Neither the user nor the file says how long a text may get. */
static void refuse_context(tn_fit *fit) {
    const tn_meta *meta = tn_gguf_meta(fit->match.file);
    tn_kv kv = {.struct_size = sizeof kv};
    int64_t n = 0;
    char found[32] = "no number that can be used";
    const char *key = tn_arena_format(&fit->reasons.arena, "%s.context_length", fit->architecture);
    if (!key) {
        fit->reasons.no_memory = 1;
    } else if (meta->find(meta, key, &kv) != TN_OK) {
        snprintf(found, sizeof found, "absent");
    } else if (tn_kv_int(&kv, 0, &n)) {
        snprintf(found, sizeof found, "%" PRId64, n);
    } else if (kv.type == TN_KV_U64) {
        uint64_t large;
        memcpy(&large, kv.data, sizeof large);
        snprintf(found, sizeof found, "%" PRIu64, large);
    }
    tn_reasons_add(&fit->reasons, TN_E_PARAM_INVALID, key, found, "1 to 2147483647",
                   "choose how many tokens a text may have with -c N");
}

static void choose_context(tn_fit *fit) {
    tn_match *m = &fit->match;
    m->context = fit->options.context ? fit->options.context : m->facts.context;
    m->purpose = fit->options.purpose                  ? fit->options.purpose
                 : m->facts.kind == TN_ARCH_ENCODER    ? TN_PURPOSE_EMBED
                 : m->facts.kind == TN_ARCH_RECOGNISER ? TN_PURPOSE_RECOGNISE
                                                       : TN_PURPOSE_GENERATE;
    char found[32], wanted[64];
    if (!m->context || (!fit->options.context && m->context > INT32_MAX)) {
        refuse_context(fit);
        return;
    }
    snprintf(found, sizeof found, "%u", m->context);
    if (m->facts.context_limit && m->context > m->facts.context_limit) {
        snprintf(wanted, sizeof wanted, "at most %u", m->facts.context_limit);
        tn_reasons_add(&fit->reasons, TN_E_PARAM_INVALID, "context", found, wanted,
                       "the model has learned positions");
    } else if (m->context > INT32_MAX) {
        tn_reasons_add(&fit->reasons, TN_E_PARAM_INVALID, "context", found, "1 to 2147483647", NULL);
    }
}

void tn_fit_architecture_run(tn_fit *fit) {
    tn_match *m = &fit->match;
    char name[64];
    if (!read_architecture(fit, name, sizeof name)) { return; }
    fit->architecture = tn_reasons_printable(&fit->reasons, name);
    if (!open_architecture(fit, name)) { return; }
    tn_error fault = TN_ERROR_INIT;
    tn_report report = tn_reasons_report(&fit->reasons);
    const tn_meta *meta = tn_gguf_meta(m->file);
    uint64_t before = fit->reasons.total;
    tn_view_init(&m->arch_view, m->arch_entry);
    m->facts.struct_size = m->arch_view.sizes[TN_STRUCT_tn_facts];
    int32_t code = m->arch->configure(m->arch_self, name, meta, token_count(meta), &report, &m->facts,
                                      &m->config, &fault);
    if (code != TN_OK) {
        tn_reasons_add_error(&fit->reasons, before, name, code, &fault);
        return;
    }
    fit->configured = 1;
    choose_context(fit);
}
