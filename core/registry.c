/*
 * registry.c - who claims a name, and what notes say about it. Looks at manifests only.
 */
#include "registry.h"

#include "engine_state.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* What can be looked up: which kind of plugin answers, and under which of its claims. */
static const struct lookup {
    const char *key;
    uint32_t kind;
    const char *claim;
} lookups[] = {
    {"architecture", TN_KIND_ARCH, "architecture"}, {"type", TN_KIND_FORMAT, "type"},
    {"model", TN_KIND_TOKENIZER, "model"},          {"pre", TN_KIND_TOKENIZER, "pre"},
    {"backend", TN_KIND_BACKEND, "backend"},        {"kernel", TN_KIND_KERNEL, "backend"},
};

static const struct lookup *find_lookup(const char *key) {
    for (size_t i = 0; i < sizeof lookups / sizeof lookups[0]; i++) {
        if (strcmp(lookups[i].key, key) == 0) { return &lookups[i]; }
    }
    return NULL;
}

static int claims(const tn_entry *entry, const struct lookup *lookup, const char *value) {
    if (entry->manifest.kind_number != lookup->kind) { return 0; }
    for (uint32_t i = 0; i < entry->info.claim_count; i++) {
        const tn_plugin_claim *claim = &entry->info.claims[i];
        if (strcmp(claim->key, lookup->claim) == 0 && strcmp(claim->value, value) == 0) { return 1; }
    }
    return 0;
}

/* The claimants of a name: the one to use, one that has an equal right, one that cannot be used. */
typedef struct claimants {
    tn_entry *best, *rival, *broken;
} claimants;

/* The same bytes in two folders are one plugin: the first on the search path serves. */
static int same_plugin(const tn_entry *a, const tn_entry *b) {
    return strcmp(a->info.id, b->info.id) == 0 && strcmp(a->info.sha256, b->info.sha256) == 0;
}

static claimants find_claimants(const tn_engine *engine, const struct lookup *lookup, const char *value) {
    claimants found = {0};
    for (uint32_t i = 0; i < engine->entry_count; i++) {
        tn_entry *entry = engine->entries[i];
        if (!claims(entry, lookup, value)) { continue; }
        if (entry->info.fault != TN_OK) {
            found.broken = entry;
        } else if (!found.best || entry->info.pinned > found.best->info.pinned) {
            found.best = entry;
            found.rival = NULL;
        } else if (same_plugin(entry, found.best)) {
            if (entry->place < found.best->place) { found.best = entry; }
        } else if (entry->info.pinned == found.best->info.pinned) {
            found.rival = entry;
        }
    }
    return found;
}

int32_t tn_registry_find(tn_engine *engine, const char *key, const char *value, tn_entry **out,
                         tn_error *err) {
    const struct lookup *lookup = find_lookup(key);
    *out = NULL;
    if (!lookup) { TN_FAIL(err, TN_E_BUG, "plugins are not looked up by \"%s\"", key); }
    claimants found = find_claimants(engine, lookup, value);
    if (found.rival) {
        const tn_plugin_info *a = &found.best->info, *b = &found.rival->info;
        TN_FAIL(err, TN_E_PLUGIN_DUPLICATE, "two plugins claim %s %s: %s (%s) and %s (%s)%s", key, value,
                a->id, a->library, b->id, b->library,
                strcmp(a->id, b->id) == 0 ? "; remove one" : "; pin one by its id");
    }
    if (found.best) {
        *out = found.best;
        return TN_OK;
    }
    if (found.broken) { TN_FAIL(err, found.broken->info.fault, "%s", found.broken->info.fault_text); }
    TN_FAIL(err, TN_E_NOT_FOUND, "no plugin claims %s %s", key, value);
}

void tn_registry_each(tn_engine *engine, const char *key,
                      void (*each)(void *context, const char *value, tn_entry *entry), void *context) {
    const struct lookup *lookup = find_lookup(key);
    for (uint32_t i = 0; lookup && i < engine->entry_count; i++) {
        tn_entry *entry = engine->entries[i];
        if (entry->manifest.kind_number != lookup->kind || entry->info.fault != TN_OK) { continue; }
        for (uint32_t c = 0; c < entry->info.claim_count; c++) {
            const tn_plugin_claim *claim = &entry->info.claims[c];
            if (strcmp(claim->key, lookup->claim) != 0) { continue; }
            claimants found = find_claimants(engine, lookup, claim->value);
            int serves = lookup->kind == TN_KIND_KERNEL || (found.best == entry && !found.rival);
            if (serves) { each(context, claim->value, entry); }
        }
    }
}

/* ---- notes and types -------------------------------------------------------------------------------- */

static const tn_note *find_note(const tn_engine *engine, const char *key, const char *value) {
    for (uint32_t i = 0; i < engine->entry_count; i++) {
        const tn_manifest *m = &engine->entries[i]->manifest;
        for (uint32_t n = 0; n < m->note_count && engine->entries[i]->info.fault == TN_OK; n++) {
            if (strcmp(m->notes[n].key, key) == 0 && strcmp(m->notes[n].value, value) == 0) {
                return &m->notes[n];
            }
        }
    }
    return NULL;
}

const char *tn_engine_note(const tn_engine *engine, const char *key, const char *value) {
    const tn_note *note = find_note(engine, key, value);
    return note ? note->text : NULL;
}

const char *tn_registry_note(const tn_engine *engine, const char *key, const char *value) {
    return tn_engine_note(engine, key, value);
}

/* A type's name is no secret even where its plugin cannot be used. */
const char *tn_engine_type_name(const tn_engine *engine, uint32_t type) {
    char number[16];
    for (uint32_t i = 0; i < engine->entry_count; i++) {
        const tn_manifest *m = &engine->entries[i]->manifest;
        if (m->kind_number == TN_KIND_FORMAT && m->type == type && *m->type_name) { return m->type_name; }
    }
    snprintf(number, sizeof number, "%u", type);
    const tn_note *note = find_note(engine, "type", number);
    return note ? note->name : NULL;
}

int64_t tn_engine_type_number(const tn_engine *engine, const char *name) {
    for (uint32_t i = 0; i < engine->entry_count; i++) {
        const tn_manifest *m = &engine->entries[i]->manifest;
        if (m->kind_number == TN_KIND_FORMAT && strcasecmp(m->type_name, name) == 0) { return m->type; }
        for (uint32_t n = 0; n < m->note_count; n++) {
            if (strcmp(m->notes[n].key, "type") == 0 && strcasecmp(m->notes[n].name, name) == 0) {
                return strtoll(m->notes[n].value, NULL, 10);
            }
        }
    }
    return -1;
}

const tn_plugin_info *tn_entry_info(const tn_entry *entry) {
    return &entry->info;
}

uint32_t tn_entry_struct_size(const tn_entry *entry, uint32_t number) {
    return entry->open && number < TN_STRUCT_COUNT ? entry->proof.host.sizes[number] : 0;
}
