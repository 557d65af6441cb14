/*
 * manifest.c - manifests: which keys there are, in which kind of plugin, how often, and what each may say.
 */
#include "manifest.h"

#include "hash.h"
#include "ini_lines.h"
#include "isa.h"
#include "tenon/plugin.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name, *interface;
} kinds[TN_KIND_COUNT] = {
    [TN_KIND_ARCH] = {"arch", TN_ARCH_1},
    [TN_KIND_BACKEND] = {"backend", TN_BACKEND_1},
    [TN_KIND_TOKENIZER] = {"tokenizer", TN_TOKENIZER_1},
    [TN_KIND_FORMAT] = {"format", TN_FORMAT_1},
    [TN_KIND_KERNEL] = {"kernel", TN_KERNEL_1},
    [TN_KIND_NOTES] = {"notes", NULL},
};

const tn_manifest tn_manifest_empty = {.id = "",
                                       .kind = "",
                                       .version = "",
                                       .license = "",
                                       .library = "",
                                       .sha256 = "",
                                       .isa = "",
                                       .type_name = "",
                                       .kind_number = TN_KIND_COUNT};

const char *tn_kind_interface(uint32_t kind) {
    return kinds[kind].interface;
}

typedef struct parser {
    tn_manifest *out;
    size_t used;       /* bytes of out->strings */
    uint32_t seen[32]; /* how often each rule's key came */
} parser;

/* ---- storage ---------------------------------------------------------------------------------------- */

/* The room is twice the file: every name and value is stored once, and of a note's value a part again. */
static const char *store(parser *p, const char *text, size_t size) {
    char *at = p->out->strings + p->used;
    memcpy(at, text, size);
    at[size] = 0;
    p->used += size + 1;
    return at;
}

/* One more element at the end of an array that holds `count`; grows by powers of two. */
static void *grow(void *array, uint32_t count, size_t size) {
    if (count & (count - 1)) { return array; }
    return reallocarray(array, count ? 2 * (size_t)count : 1, size);
}

#define APPEND(array, count, ...)                                                                            \
    do {                                                                                                     \
        void *grown_ = grow((void *)(array), (count), sizeof *(array));                                      \
        if (!grown_) { TN_FAIL(err, TN_E_MEMORY, "no memory for a manifest"); }                              \
        (array) = grown_;                                                                                    \
        (array)[(count)++] = __VA_ARGS__;                                                                    \
    } while (0)

/* More entries of one sort than any plugin has; they are compared with each other. */
enum { ENTRIES_MOST = 2000 };

static int32_t few(uint32_t count, const char *what, tn_error *err) {
    if (count >= ENTRIES_MOST) { TN_FAIL(err, TN_E_PLUGIN_MANIFEST, "more than %d %s", ENTRIES_MOST, what); }
    return TN_OK;
}

/* ---- values ----------------------------------------------------------------------------------------- */

static int only(const char *text, const char *more) {
    for (; *text; text++) {
        if (!isalnum((unsigned char)*text) && !strchr(more, *text)) { return 0; }
    }
    return 1;
}

/* A decimal number without sign or leading zero, at most `most`; *end is what follows. */
static int number(const char *text, uint32_t most, uint32_t *out, const char **end) {
    uint64_t value = 0;
    const char *at = text;
    while (*at >= '0' && *at <= '9' && value <= UINT32_MAX) { value = 10 * value + (uint64_t)(*at++ - '0'); }
    *out = (uint32_t)value;
    *end = at;
    return at != text && value <= most && (text[0] != '0' || at == text + 1);
}

static int32_t set_manifest(parser *p, const char *value, tn_error *err) {
    (void)p;
    if (strcmp(value, "1") != 0) {
        TN_FAIL(err, TN_E_PLUGIN_MANIFEST, "manifest = %s: this host reads version 1", value);
    }
    return TN_OK;
}

static int32_t set_id(parser *p, const char *value, tn_error *err) {
    const char *dot = strchr(value, '.');
    if (!dot || dot == value || !dot[1] || strlen(value) > 64 || !only(value, "._-") ||
        !isalnum((unsigned char)dot[1])) {
        TN_FAIL(err, TN_E_PLUGIN_MANIFEST,
                "id = %s: must be kind.name of at most 64 letters, digits and . _ -", value);
    }
    p->out->id = store(p, value, strlen(value));
    return TN_OK;
}

static int32_t set_kind(parser *p, const char *value, tn_error *err) {
    for (uint32_t i = 0; i < TN_KIND_COUNT; i++) {
        if (strcmp(value, kinds[i].name) == 0) {
            p->out->kind = kinds[i].name;
            p->out->kind_number = i;
            return TN_OK;
        }
    }
    TN_FAIL(err, TN_E_PLUGIN_MANIFEST,
            "kind = %s: not one of arch, backend, tokenizer, format, kernel, notes", value);
}

static int32_t set_version(parser *p, const char *value, tn_error *err) {
    if (!isdigit((unsigned char)value[0]) || !only(value, ".-+")) {
        TN_FAIL(err, TN_E_PLUGIN_MANIFEST, "version = %s: must be like 1.0.0", value);
    }
    p->out->version = store(p, value, strlen(value));
    return TN_OK;
}

static int32_t set_license(parser *p, const char *value, tn_error *err) {
    if (!only(value, "-.+() ")) {
        TN_FAIL(err, TN_E_PLUGIN_MANIFEST, "license = %s: must be an SPDX expression", value);
    }
    p->out->license = store(p, value, strlen(value));
    return TN_OK;
}

static int32_t set_abi(parser *p, const char *value, tn_error *err) {
    const char *at, *end;
    if (!number(value, 65535, &p->out->abi_major, &at) || *at != '.' ||
        !number(at + 1, 65535, &p->out->abi_min_minor, &end) || *end) {
        TN_FAIL(err, TN_E_PLUGIN_MANIFEST,
                "abi = %s: must be major.minor, the smallest minor of the host that will do", value);
    }
    return TN_OK;
}

static int32_t set_interface(parser *p, const char *value, tn_error *err) {
    tn_manifest *m = p->out;
    const char *slash = strchr(value, '/');
    if (!slash || slash == value || !isdigit((unsigned char)slash[1]) || strchr(slash + 1, '/') ||
        !only(value, "._-/")) {
        TN_FAIL(err, TN_E_PLUGIN_MANIFEST, "interface = %s: must be name/major", value);
    }
    TN_TRY(few(m->interface_count, "interfaces", err));
    for (uint32_t i = 0; i < m->interface_count; i++) {
        if (strcmp(m->interfaces[i], value) == 0) {
            TN_FAIL(err, TN_E_PLUGIN_MANIFEST, "interface = %s: said twice", value);
        }
    }
    APPEND(m->interfaces, m->interface_count, store(p, value, strlen(value)));
    return TN_OK;
}

static int32_t set_isa(parser *p, const char *value, tn_error *err) {
    char bad[64];
    if (!tn_isa_parse(value, &p->out->isa_bits, bad, sizeof bad)) {
        TN_FAIL(err, TN_E_PLUGIN_MANIFEST, "isa = %s: no instruction set is called %s", value, bad);
    }
    p->out->isa = store(p, value, strlen(value));
    return TN_OK;
}

static int32_t set_library(parser *p, const char *value, tn_error *err) {
    if (strchr(value, '/') || value[0] == '.' || strlen(value) > 128) {
        TN_FAIL(err, TN_E_PLUGIN_MANIFEST,
                "library = %s: must be the name of a file in the manifest's folder, without a slash", value);
    }
    p->out->library = store(p, value, strlen(value));
    return TN_OK;
}

static int32_t set_sha256(parser *p, const char *value, tn_error *err) {
    size_t size = strlen(value);
    if (size != TN_SHA256_TEXT - 1 || strspn(value, "0123456789abcdef") != size) {
        TN_FAIL(err, TN_E_PLUGIN_MANIFEST, "sha256: must be 64 digits of lower-case hex, has %zu characters",
                size);
    }
    p->out->sha256 = store(p, value, size);
    return TN_OK;
}

static int32_t set_size(const char *name, const char *value, uint32_t least, uint32_t most, uint32_t *out,
                        tn_error *err) {
    const char *end;
    if (!number(value, most, out, &end) || *end || *out < least) {
        TN_FAIL(err, TN_E_PLUGIN_MANIFEST, "%s = %s: must be a whole number from %u to %u", name, value,
                least, most);
    }
    return TN_OK;
}

static int32_t set_type(parser *p, const char *value, tn_error *err) {
    return set_size("type", value, 0, INT32_MAX, &p->out->type, err);
}

static int32_t set_block(parser *p, const char *value, tn_error *err) {
    return set_size("block", value, 1, 1 << 20, &p->out->block, err);
}

static int32_t set_bytes(parser *p, const char *value, tn_error *err) {
    return set_size("bytes", value, 1, 1 << 20, &p->out->block_bytes, err);
}

static int32_t set_name(parser *p, const char *value, tn_error *err) {
    if (!only(value, "_")) {
        TN_FAIL(err, TN_E_PLUGIN_MANIFEST, "name = %s: must be letters, digits and _", value);
    }
    p->out->type_name = store(p, value, strlen(value));
    return TN_OK;
}

/* ---- keys ------------------------------------------------------------------------------------------- */

#define KIND(name) (1u << TN_KIND_##name)
#define CODE_KINDS (KIND(ARCH) | KIND(BACKEND) | KIND(TOKENIZER) | KIND(FORMAT) | KIND(KERNEL))
#define ALL_KINDS (CODE_KINDS | KIND(NOTES))
enum { CLAIM = 1 };

static int32_t check_op(parser *p, const char *value, tn_error *err) {
    (void)p;
#define IS_OP(name, number, type)                                                                            \
    if (strcmp(value, #name) == 0) { return TN_OK; }
    TN_OPS(IS_OP)
#undef IS_OP
    if (strchr(value, '/')) { return TN_OK; } /* the id of a custom op */
    TN_FAIL(err, TN_E_PLUGIN_MANIFEST, "op = %s: there is no such op", value);
}

/* Which kinds may have a key, must have it, may repeat it; whether it is a claim; and what reads it. */
static const struct rule {
    const char *section, *name;
    uint32_t may, must, repeats, flags;
    int32_t (*set)(parser *p, const char *value, tn_error *err);
} rules[] = {
    {"plugin", "manifest", ALL_KINDS, ALL_KINDS, 0, 0, set_manifest},
    {"plugin", "id", ALL_KINDS, ALL_KINDS, 0, 0, set_id},
    {"plugin", "kind", ALL_KINDS, ALL_KINDS, 0, 0, set_kind},
    {"plugin", "version", ALL_KINDS, ALL_KINDS, 0, 0, set_version},
    {"plugin", "license", ALL_KINDS, ALL_KINDS, 0, 0, set_license},
    {"plugin", "abi", CODE_KINDS, CODE_KINDS, 0, 0, set_abi},
    {"plugin", "interface", CODE_KINDS, CODE_KINDS, CODE_KINDS, 0, set_interface},
    {"plugin", "isa", CODE_KINDS, 0, 0, 0, set_isa},
    {"plugin", "library", CODE_KINDS, CODE_KINDS, 0, 0, set_library},
    {"plugin", "sha256", CODE_KINDS, CODE_KINDS, 0, 0, set_sha256},
    {"claims", "type", KIND(FORMAT) | KIND(KERNEL), KIND(FORMAT), KIND(KERNEL), CLAIM, set_type},
    {"claims", "name", KIND(FORMAT), KIND(FORMAT), 0, CLAIM, set_name},
    {"claims", "block", KIND(FORMAT), KIND(FORMAT), 0, CLAIM, set_block},
    {"claims", "bytes", KIND(FORMAT), KIND(FORMAT), 0, CLAIM, set_bytes},
    {"claims", "architecture", KIND(ARCH), KIND(ARCH), ALL_KINDS, CLAIM, NULL},
    {"claims", "op", KIND(ARCH) | KIND(BACKEND), 0, ALL_KINDS, CLAIM, check_op},
    {"claims", "model", KIND(TOKENIZER), KIND(TOKENIZER), ALL_KINDS, CLAIM, NULL},
    {"claims", "pre", KIND(TOKENIZER), 0, ALL_KINDS, CLAIM, NULL},
    {"claims", "backend", KIND(BACKEND) | KIND(KERNEL), KIND(BACKEND) | KIND(KERNEL), 0, CLAIM, NULL},
    {"claims", "custom", KIND(KERNEL), 0, ALL_KINDS, CLAIM, NULL},
};
enum { RULE_COUNT = sizeof rules / sizeof rules[0] };
_Static_assert(RULE_COUNT <= sizeof((parser *)0)->seen / sizeof(uint32_t), "parser.seen is too short");

static int32_t add_claim(parser *p, const char *key, const char *value, tn_error *err) {
    tn_manifest *m = p->out;
    TN_TRY(few(m->claim_count, "claims", err));
    if (strpbrk(value, " \t,")) {
        TN_FAIL(err, TN_E_PLUGIN_MANIFEST, "%s = %s: one name a line, the key is repeated for more", key,
                value);
    }
    for (uint32_t i = 0; i < m->claim_count; i++) {
        if (strcmp(m->claims[i].key, key) == 0 && strcmp(m->claims[i].value, value) == 0) {
            TN_FAIL(err, TN_E_PLUGIN_MANIFEST, "%s = %s: said twice", key, value);
        }
    }
    tn_plugin_claim claim = {key, store(p, value, strlen(value))};
    APPEND(m->claims, m->claim_count, claim);
    return TN_OK;
}

static int32_t add_note(parser *p, const char *key, const char *name, const char *value, tn_error *err) {
    tn_manifest *m = p->out;
    TN_TRY(few(m->note_count, "notes", err));
    for (uint32_t i = 0; i < m->note_count; i++) {
        if (strcmp(m->notes[i].key, key) == 0 && strcmp(m->notes[i].value, name) == 0) {
            TN_FAIL(err, TN_E_PLUGIN_MANIFEST, "%s: said twice", name);
        }
    }
    if (strcmp(key, "type") == 0) {
        const char *end;
        uint32_t type;
        if (!number(name, INT32_MAX, &type, &end) || *end || value[0] == ':' || !strchr(value, ':')) {
            TN_FAIL(err, TN_E_PLUGIN_MANIFEST, "%s = ...: must be the type's number = NAME: reason", name);
        }
    }
    tn_note note = {key, store(p, name, strlen(name)), store(p, value, strcspn(value, ":")),
                    store(p, value, strlen(value))};
    APPEND(m->notes, m->note_count, note);
    return TN_OK;
}

static int32_t plugin_or_claim(parser *p, const char *section, const char *name, const char *value,
                               tn_error *err) {
    for (size_t i = 0; i < RULE_COUNT; i++) {
        const struct rule *rule = &rules[i];
        if (strcmp(section, rule->section) != 0 || strcmp(name, rule->name) != 0) { continue; }
        if (p->seen[i]++ && !rule->repeats) { TN_FAIL(err, TN_E_PLUGIN_MANIFEST, "%s: said twice", name); }
        if (rule->set) { TN_TRY(rule->set(p, value, err)); }
        return rule->flags & CLAIM ? add_claim(p, rule->name, value, err) : TN_OK;
    }
    TN_FAIL(err, TN_E_PLUGIN_MANIFEST, "[%s] has no key %s", section, name);
}

static int32_t entry(void *context, const char *section, const char *name, const char *value, tn_error *err) {
    static const struct {
        const char *section, *key;
    } notes[] = {{"notes.architecture", "architecture"}, {"notes.type", "type"}, {"notes.model", "model"}};
    if (strcmp(section, "plugin") == 0 || strcmp(section, "claims") == 0) {
        return plugin_or_claim(context, section, name, value, err);
    }
    for (size_t i = 0; i < sizeof notes / sizeof notes[0]; i++) {
        if (strcmp(section, notes[i].section) == 0) {
            return add_note(context, notes[i].key, name, value, err);
        }
    }
    TN_FAIL(err, TN_E_PLUGIN_MANIFEST, "%s = ... in section [%s], which is not one of a manifest", name,
            section);
}

/* ---- the whole -------------------------------------------------------------------------------------- */

static int32_t check_keys(const parser *p, const char *path, tn_error *err) {
    const tn_manifest *m = p->out;
    uint32_t kind = 1u << m->kind_number;
    for (size_t i = 0; i < RULE_COUNT; i++) {
        if (rules[i].must & kind && !p->seen[i]) {
            TN_FAIL(err, TN_E_PLUGIN_MANIFEST, "%s: [%s] lacks the key %s", path, rules[i].section,
                    rules[i].name);
        }
        if (!(rules[i].may & kind) && p->seen[i]) {
            TN_FAIL(err, TN_E_PLUGIN_MANIFEST, "%s: [%s] has the key %s, which a plugin of kind %s does not",
                    path, rules[i].section, rules[i].name, m->kind);
        }
        if (!(rules[i].repeats & kind) && p->seen[i] > 1) {
            TN_FAIL(err, TN_E_PLUGIN_MANIFEST, "%s: [%s] has the key %s %u times", path, rules[i].section,
                    rules[i].name, p->seen[i]);
        }
    }
    return TN_OK;
}

static int32_t check_whole(const parser *p, const char *path, tn_error *err) {
    const tn_manifest *m = p->out;
    if (m->kind_number == TN_KIND_COUNT) {
        TN_FAIL(err, TN_E_PLUGIN_MANIFEST, "%s: [plugin] lacks the key kind", path);
    }
    TN_TRY(check_keys(p, path, err));
    size_t size = strlen(m->kind);
    if (strncmp(m->id, m->kind, size) != 0 || m->id[size] != '.') {
        TN_FAIL(err, TN_E_PLUGIN_MANIFEST, "%s: id = %s does not begin with its kind, %s.", path, m->id,
                m->kind);
    }
    if (m->kind_number == TN_KIND_KERNEL && m->claim_count < 2) {
        TN_FAIL(err, TN_E_PLUGIN_MANIFEST, "%s: [claims] lacks a key type or custom", path);
    }
    const char *needed = kinds[m->kind_number].interface;
    for (uint32_t i = 0; needed && i < m->interface_count; i++) {
        if (strcmp(m->interfaces[i], needed) == 0) { needed = NULL; }
    }
    if (needed) {
        TN_FAIL(err, TN_E_PLUGIN_ABI, "%s: a plugin of kind %s needs interface %s, this one has %s", path,
                m->kind, needed, m->interfaces[0]);
    }
    return TN_OK;
}

int32_t tn_manifest_parse(const char *path, const char *text, size_t size, tn_manifest *out, tn_error *err) {
    *out = tn_manifest_empty;
    if (size > TN_MANIFEST_MOST) {
        TN_FAIL(err, TN_E_PLUGIN_MANIFEST, "%s: %zu bytes, a manifest has at most %u", path, size,
                TN_MANIFEST_MOST);
    }
    out->strings = malloc(2 * size + 2);
    if (!out->strings) { TN_FAIL(err, TN_E_MEMORY, "no memory for a manifest of %zu bytes", size); }
    parser p = {.out = out};
    tn_ini ini = {path, text, size, entry, &p, TN_E_PLUGIN_MANIFEST};
    TN_TRY(tn_ini_read(&ini, err));
    return check_whole(&p, path, err);
}

void tn_manifest_free(tn_manifest *manifest) {
    free(manifest->interfaces);
    free(manifest->claims);
    free(manifest->notes);
    free(manifest->strings);
    *manifest = (tn_manifest){0};
}
