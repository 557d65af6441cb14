/*
 * tenon/meta.h - a read-only view of a GGUF file's metadata, for plugins, and the report of a refusal.
 *
 * The host has checked every length: what a tn_kv points at lies whole in the mapped file. Numbers in
 * arrays are little-endian and not aligned. Everything lives as long as the model is open.
 */
#ifndef TENON_META_H
#define TENON_META_H

#include "tenon/abi.h"

#include <string.h>

TN_BEGIN_C

/** Value types, numbered as in GGUF. */
enum {
    TN_KV_U8 = 0,
    TN_KV_I8 = 1,
    TN_KV_U16 = 2,
    TN_KV_I16 = 3,
    TN_KV_U32 = 4,
    TN_KV_I32 = 5,
    TN_KV_F32 = 6,
    TN_KV_BOOL = 7,
    TN_KV_STRING = 8,
    TN_KV_ARRAY = 9,
    TN_KV_U64 = 10,
    TN_KV_I64 = 11,
    TN_KV_F64 = 12
};

/** One metadata entry. */
typedef struct tn_kv {
    uint32_t struct_size;
    uint32_t type;         /**< TN_KV_* */
    uint32_t element_type; /**< of an array: TN_KV_*, never TN_KV_ARRAY */
    uint32_t reserved;
    uint64_t count;   /**< elements of an array, bytes of a string, else 1 */
    uint64_t size;    /**< bytes at `data` */
    const void *data; /**< as in the file, unaligned. A string: its bytes, no NUL at the end. An array of
                         strings: each a uint64 length and its bytes; walk it with tn_string_next() */
} tn_kv;

typedef struct tn_meta tn_meta;
struct tn_meta {
    uint32_t struct_size;
    uint32_t reserved;
    const void *context;
    /** [any] TN_OK and *out filled, or TN_E_NOT_FOUND. The caller stamps out->struct_size. */
    int32_t (*find)(const tn_meta *meta, const char *key, tn_kv *out);
    /** [any] The file's key number i, from 0; NULL after the last. A view that a plugin makes may have none. */
    const char *(*key)(const tn_meta *meta, uint64_t i);
};

/** One reason for a refusal. Texts are copied by the receiver; any but `subject` may be NULL. */
typedef struct tn_reason {
    uint32_t struct_size;
    int32_t code;        /**< TN_E_* */
    const char *subject; /**< the key, tensor, type or name it is about */
    const char *found;   /**< what the file has: "a string", "[256, 16]", "2147483648" */
    const char
        *wanted; /**< what would work: "an integer", "[16, 256] (embedding_length, feed_forward_length)" */
    const char *remedy; /**< how to get there: "install the plugin format.iq1_s" */
} tn_reason;

/** Collects reasons: a fit reports all that is wrong at once. [load] */
typedef struct tn_report tn_report;
struct tn_report {
    uint32_t struct_size;
    uint32_t reserved;
    void *context;
    void (*add)(const tn_report *report, const tn_reason *reason);
};

/* ---- inline helpers ------------------------------------------------------------------------------- */

/** A string in the mapped file: not NUL-terminated. Does not cross the ABI by value. */
typedef struct tn_text {
    const char *data;
    uint64_t size;
} tn_text;

/** Steps through an array of strings: `*at` starts as kv->data, is called kv->count times. */
static inline tn_text tn_string_next(const unsigned char **at) {
    tn_text text;
    memcpy(&text.size, *at, 8);
    text.data = (const char *)*at + 8;
    *at += 8 + text.size;
    return text;
}

/** Bytes of one element of a fixed-size type, 0 for strings, arrays and unknown types. */
static inline uint32_t tn_kv_width(uint32_t type) {
    switch (type) {
    case TN_KV_U8:
    case TN_KV_I8:
    case TN_KV_BOOL: return 1;
    case TN_KV_U16:
    case TN_KV_I16: return 2;
    case TN_KV_U32:
    case TN_KV_I32:
    case TN_KV_F32: return 4;
    case TN_KV_U64:
    case TN_KV_I64:
    case TN_KV_F64: return 8;
    default: return 0;
    }
}

/** True and *out = the integer at element `i` (i = 0 for a scalar); false if it is no integer or is out of
 * int64's range. Bools do not count as integers. */
static inline int tn_kv_int(const tn_kv *kv, uint64_t i, int64_t *out) {
    uint32_t type = kv->type == TN_KV_ARRAY ? kv->element_type : kv->type;
    const unsigned char *p = (const unsigned char *)kv->data + i * tn_kv_width(type);
    uint64_t u = 0;
    if (i >= kv->count) { return 0; }
    switch (type) {
    case TN_KV_U8: *out = p[0]; return 1;
    case TN_KV_I8: *out = (int8_t)p[0]; return 1;
    case TN_KV_U16:
        memcpy(&u, p, 2);
        *out = (int64_t)u;
        return 1;
    case TN_KV_I16:
        memcpy(&u, p, 2);
        *out = (int16_t)u;
        return 1;
    case TN_KV_U32:
        memcpy(&u, p, 4);
        *out = (int64_t)u;
        return 1;
    case TN_KV_I32:
        memcpy(&u, p, 4);
        *out = (int32_t)u;
        return 1;
    case TN_KV_U64:
        memcpy(&u, p, 8);
        *out = (int64_t)u;
        return u <= INT64_MAX;
    case TN_KV_I64:
        memcpy(&u, p, 8);
        *out = (int64_t)u;
        return 1;
    default: return 0;
    }
}

/** True and *out = the float at element `i` (i = 0 for a scalar); false if it is not of a float type. */
static inline int tn_kv_float(const tn_kv *kv, uint64_t i, double *out) {
    uint32_t type = kv->type == TN_KV_ARRAY ? kv->element_type : kv->type;
    const unsigned char *p = (const unsigned char *)kv->data + i * tn_kv_width(type);
    float f;
    if (i >= kv->count) { return 0; }
    switch (type) {
    case TN_KV_F32:
        memcpy(&f, p, 4);
        *out = f;
        return 1;
    case TN_KV_F64: memcpy(out, p, 8); return 1;
    default: return 0;
    }
}

TN_END_C
#endif
