/*
 * manifest.h - the INI file beside a plugin: who it is, what it claims, what it needs.
 */
#ifndef TENON_MANIFEST_H
#define TENON_MANIFEST_H

#include "tenon/engine.h"

/** Longer files are no manifests. */
#define TN_MANIFEST_MOST (256u << 10)

/** A name that is known and not supported: `text` is the whole value, `name` the part before its colon. */
typedef struct tn_note {
    const char *key; /**< "architecture", "type", "model" */
    const char *value;
    const char *name, *text;
} tn_note;

/** Kinds of plugins, in the order of manifest.c's tables. */
enum {
    TN_KIND_ARCH,
    TN_KIND_BACKEND,
    TN_KIND_TOKENIZER,
    TN_KIND_FORMAT,
    TN_KIND_KERNEL,
    TN_KIND_NOTES,
    TN_KIND_COUNT
};

typedef struct tn_manifest {
    const char *id, *kind, *version, *license, *library, *sha256, *isa; /**< "" where not said */
    uint32_t kind_number; /**< TN_KIND_*, TN_KIND_COUNT if it is none of them */
    uint64_t isa_bits;
    uint32_t abi_major, abi_min_minor;
    const char **interfaces;
    uint32_t interface_count;
    tn_plugin_claim *claims;
    uint32_t claim_count;
    tn_note *notes;
    uint32_t note_count;
    uint32_t type, block, block_bytes; /**< of a format */
    const char *type_name;             /**< of a format, else "" */
    char *strings;                     /**< what the pointers point to */
} tn_manifest;

/** One that says nothing: every string is "". */
extern const tn_manifest tn_manifest_empty;

/**
 * Reads a manifest's text. TN_E_PLUGIN_MANIFEST names `path` and the line. *out is filled as far as it could
 * be read, also on failure, and is freed with tn_manifest_free().
 */
int32_t tn_manifest_parse(const char *path, const char *text, size_t size, tn_manifest *out, tn_error *err);
void tn_manifest_free(tn_manifest *manifest);

/** The interface that a kind must have ("tenon.format/1"), NULL for notes. */
const char *tn_kind_interface(uint32_t kind);

#endif
