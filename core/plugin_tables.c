/*
 * plugin_tables.c - what the tables of the five interfaces must hold: members that may not be NULL, numbers
 * in range, kernels that are whole, and agreement with the manifest's claims.
 */
#include "plugin_check.h"

#include <inttypes.h>
#include <string.h>

#define BROKEN(...) return tn_fail(err, TN_E_PLUGIN_BROKEN, __VA_ARGS__)

/* ---- members that must be set ----------------------------------------------------------------------- */

typedef struct member {
    const char *name;
    size_t offset; /* of a pointer */
} member;

#define M(type, name)                                                                                        \
    { #name, offsetof(type, name) }

static const member arch_members[] = {M(tn_arch, configure), M(tn_arch, release), M(tn_arch, tensors),
                                      M(tn_arch, build)};
static const member backend_members[] = {M(tn_backend, describe),
                                         M(tn_backend, supports),
                                         M(tn_backend, memory),
                                         M(tn_backend, place),
                                         M(tn_backend, unplace),
                                         M(tn_backend, compile),
                                         M(tn_backend, discard),
                                         M(tn_backend, cache_create),
                                         M(tn_backend, cache_destroy),
                                         M(tn_backend, cache_reserve),
                                         M(tn_backend, cache_copy),
                                         M(tn_backend, cache_page_bytes),
                                         M(tn_backend, run)};
static const member tokenizer_members[] = {
    M(tn_tokenizer, create), M(tn_tokenizer, destroy), M(tn_tokenizer, vocab), M(tn_tokenizer, encode),
    M(tn_tokenizer, piece),  M(tn_tokenizer, decode),  M(tn_tokenizer, kind),  M(tn_tokenizer, find),
    M(tn_tokenizer, ends),   M(tn_tokenizer, leading)};
static const member format_members[] = {M(tn_format, name), M(tn_format, decode), M(tn_format, check)};
static const member kernels_members[] = {M(tn_kernels, backend), M(tn_kernels, kernels)};

static int is_null(const void *table, size_t offset) {
    const void *pointer;
    memcpy(&pointer, (const char *)table + offset, sizeof pointer);
    return !pointer;
}

/* A group of functions is whole or absent: one that is there lacks none of these. */
static int32_t check_members(const tn_proof *proof, const char *interface, const void *table,
                             const member *members, size_t count, tn_error *err) {
    for (size_t i = 0; i < count; i++) {
        if (is_null(table, members[i].offset)) {
            BROKEN("%s: %s of %s is NULL", proof->library->path, members[i].name, interface);
        }
    }
    return TN_OK;
}

#define CHECK_MEMBERS(list) check_members(proof, interface, table, list, sizeof list / sizeof list[0], err)

/* ---- kernels of formats ----------------------------------------------------------------------------- */

static int group_fits(uint32_t panel, uint32_t group) {
    switch (panel) {
    case TN_PANEL_P8: return group == 16 || group == 32 || group == 64 || group == 128 || group == 256;
    case TN_PANEL_P16: return group == 16 || group == 32;
    default: return 1;
    }
}

/* The function of the kind is set and no other; the numbers that go with it are known. A plugin built with a
 * later minor may have kinds and forms of which this host knows nothing and makes no use. */
static int32_t check_kernel(const tn_proof *proof, const tn_format_kernel *k, tn_error *err) {
    const char *path = proof->library->path;
    int later = proof->plugin->abi_minor > TN_ABI_MINOR;
    if (!k) { BROKEN("%s: an entry of its kernels is NULL", path); }
    if (k->struct_size < tn_host_sizes[TN_STRUCT_tn_format_kernel]) {
        BROKEN("%s: a kernel has %u bytes, that of abi 1.0 has %u", path, k->struct_size,
               tn_host_sizes[TN_STRUCT_tn_format_kernel]);
    }
    if (!k->name || !k->name[0]) { BROKEN("%s: a kernel has no name", path); }
    int set[] = {0, k->gemv != NULL, k->unpack != NULL, k->store != NULL, k->blend != NULL};
    if (k->kind < TN_KERNEL_GEMV || k->kind > TN_KERNEL_BLEND) {
        if (later && k->kind > TN_KERNEL_BLEND) { return TN_OK; }
        BROKEN("%s: kernel %.80s is of the unknown kind %u", path, k->name, k->kind);
    }
    if (!set[k->kind] || set[1] + set[2] + set[3] + set[4] != 1) {
        BROKEN("%s: kernel %.80s of kind %u must have exactly the function of its kind", path, k->name,
               k->kind);
    }
    uint32_t forms = k->kind == TN_KERNEL_GEMV     ? TN_FORM_I16X256
                     : k->kind == TN_KERNEL_UNPACK ? TN_PANEL_F32
                                                   : 0;
    if (forms && (k->form == 0 || (k->form > forms && !later))) {
        BROKEN("%s: kernel %.80s has the unknown form %u", path, k->name, k->form);
    }
    if ((k->kind == TN_KERNEL_GEMV || k->kind == TN_KERNEL_BLEND) && (k->max_rows < 1 || k->max_rows > 8)) {
        BROKEN("%s: kernel %.80s takes %u rows, must be 1 to 8", path, k->name, k->max_rows);
    }
    if (k->kind == TN_KERNEL_UNPACK && !group_fits(k->form, k->group)) {
        BROKEN("%s: kernel %.80s has groups of %u columns, which panel form %u does not", path, k->name,
               k->group, k->form);
    }
    if (k->minimums > 1 || (k->minimums && (k->kind != TN_KERNEL_UNPACK || k->form == TN_PANEL_F32))) {
        BROKEN("%s: kernel %.80s says %u for minimums, which only panels of codes can have", path, k->name,
               k->minimums);
    }
    return TN_OK;
}

static int32_t check_companions(const tn_proof *proof, const tn_format *f, tn_error *err) {
    const char *path = proof->library->path;
    if (f->companion_count && !f->companions) { BROKEN("%s: its list of companions is NULL", path); }
    for (uint32_t i = 0; i < f->companion_count; i++) {
        const tn_companion *c = f->companions[i];
        if (!c || c->struct_size < tn_host_sizes[TN_STRUCT_tn_companion] || !c->suffix || !c->suffix[0]) {
            BROKEN("%s: companion %u is not whole", path, i);
        }
        if (c->role < TN_COMPANION_SCALE || c->role > TN_COMPANION_INPUT_SCALE) {
            BROKEN("%s: companion %.40s has the unknown role %u", path, c->suffix, c->role);
        }
    }
    return TN_OK;
}

static int32_t check_format(const tn_proof *proof, const tn_format *f, tn_error *err) {
    const char *path = proof->library->path;
    if (f->importance > TN_IMPORTANCE_NEEDED) {
        BROKEN("%s: importance is %u, must be 0 to %d", path, f->importance, TN_IMPORTANCE_NEEDED);
    }
    if (f->kernel_count && !f->kernels) { BROKEN("%s: its list of kernels is NULL", path); }
    for (uint32_t i = 0; i < f->kernel_count; i++) { TN_TRY(check_kernel(proof, f->kernels[i], err)); }
    return check_companions(proof, f, err);
}

/* ---- kernel plugins --------------------------------------------------------------------------------- */

static int32_t check_added(const tn_proof *proof, const tn_kernels *list, tn_error *err) {
    const char *path = proof->library->path;
    if (!list->count) { BROKEN("%s: its list of kernels is empty", path); }
    for (uint32_t i = 0; i < list->count; i++) {
        const tn_kernel *k = list->kernels[i];
        if (!k || k->struct_size < tn_host_sizes[TN_STRUCT_tn_kernel]) {
            BROKEN("%s: kernel %u is NULL or shorter than in abi 1.0", path, i);
        }
        if (!k->custom == !k->format_kernel || !k->custom != !k->rows) {
            BROKEN("%s: kernel %u must serve either a custom op, with rows, or a format", path, i);
        }
        if (k->format_kernel) { TN_TRY(check_kernel(proof, k->format_kernel, err)); }
    }
    return TN_OK;
}

int32_t tn_table_check(const tn_proof *proof, const char *interface, const void *table, tn_error *err) {
    if (strcmp(interface, TN_ARCH_1) == 0) { return CHECK_MEMBERS(arch_members); }
    if (strcmp(interface, TN_BACKEND_1) == 0) { return CHECK_MEMBERS(backend_members); }
    if (strcmp(interface, TN_TOKENIZER_1) == 0) { return CHECK_MEMBERS(tokenizer_members); }
    if (strcmp(interface, TN_FORMAT_1) == 0) {
        TN_TRY(CHECK_MEMBERS(format_members));
        return check_format(proof, table, err);
    }
    TN_TRY(CHECK_MEMBERS(kernels_members));
    return check_added(proof, table, err);
}

/* ---- claims ----------------------------------------------------------------------------------------- */

static int32_t same_number(const tn_proof *proof, const char *what, uint32_t code, uint32_t manifest,
                           tn_error *err) {
    if (code == manifest) { return TN_OK; }
    TN_FAIL(err, TN_E_PLUGIN_MANIFEST, "%s: its %s is %u, its manifest says %u", proof->library->path, what,
            code, manifest);
}

static int32_t same_words(const tn_proof *proof, const char *what, const char *code, const char *manifest,
                          tn_error *err) {
    if (strcmp(code, manifest) == 0) { return TN_OK; }
    TN_FAIL(err, TN_E_PLUGIN_MANIFEST, "%s: its %s is %.100s, its manifest says %.100s", proof->library->path,
            what, code, manifest);
}

static int32_t format_claims(const tn_proof *proof, const tn_format *f, tn_error *err) {
    const tn_manifest *m = proof->manifest;
    TN_TRY(same_number(proof, "type", f->type, m->type, err));
    TN_TRY(same_words(proof, "name", f->name, m->type_name, err));
    TN_TRY(same_number(proof, "block", f->block, m->block, err));
    return same_number(proof, "bytes", f->block_bytes, m->block_bytes, err);
}

static const char *claimed(const tn_manifest *m, const char *key, const char *value) {
    for (uint32_t i = 0; i < m->claim_count; i++) {
        if (strcmp(m->claims[i].key, key) == 0 && (!value || strcmp(m->claims[i].value, value) == 0)) {
            return m->claims[i].value;
        }
    }
    return NULL;
}

/* What a kernel serves, as a manifest writes it. */
static const char *served(const tn_kernel *k, char number[16], const char **key) {
    *key = k->custom ? "custom" : "type";
    snprintf(number, 16, "%" PRIu32, k->type);
    return k->custom ? k->custom : number;
}

static int serves(const tn_kernels *list, const tn_plugin_claim *claim) {
    for (uint32_t i = 0; i < list->count; i++) {
        char number[16];
        const char *key, *value = served(list->kernels[i], number, &key);
        if (strcmp(key, claim->key) == 0 && strcmp(value, claim->value) == 0) { return 1; }
    }
    return 0;
}

static int32_t kernel_claims(const tn_proof *proof, const tn_kernels *list, tn_error *err) {
    const tn_manifest *m = proof->manifest;
    const char *path = proof->library->path;
    TN_TRY(same_words(proof, "backend", list->backend, claimed(m, "backend", NULL), err));
    for (uint32_t i = 0; i < list->count; i++) {
        char number[16];
        const char *key, *value = served(list->kernels[i], number, &key);
        if (!claimed(m, key, value)) {
            TN_FAIL(err, TN_E_PLUGIN_MANIFEST, "%s serves %s %.100s, its manifest does not say so", path, key,
                    value);
        }
    }
    for (uint32_t i = 0; i < m->claim_count; i++) {
        if (strcmp(m->claims[i].key, "backend") != 0 && !serves(list, &m->claims[i])) {
            TN_FAIL(err, TN_E_PLUGIN_MANIFEST, "%s does not serve %s %s, which its manifest promises", path,
                    m->claims[i].key, m->claims[i].value);
        }
    }
    return TN_OK;
}

int32_t tn_claims_check(const tn_proof *proof, tn_error *err) {
    const void *table = proof->plugin->interface(tn_kind_interface(proof->manifest->kind_number));
    switch (proof->manifest->kind_number) {
    case TN_KIND_FORMAT: return format_claims(proof, table, err);
    case TN_KIND_KERNEL: return kernel_claims(proof, table, err);
    default: return TN_OK; /* the other tables name nothing that could be compared */
    }
}
