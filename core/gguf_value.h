/*
 * gguf_value.h - the smallest parts of a GGUF file: a cursor that cannot leave the file, the rules for names,
 * and metadata values. The reader and the writer share them, so that what one lets out the other lets in.
 */
#ifndef TENON_GGUF_VALUE_H
#define TENON_GGUF_VALUE_H

#include "gguf_names.h"
#include "tenon/errors.h"
#include "tenon/meta.h"

/** Where a reader is; `at` never exceeds `size`. */
typedef struct tn_cursor {
    const char *name; /**< of the file, for messages */
    const unsigned char *data;
    uint64_t size, at;
} tn_cursor;

/** Takes `size` bytes; `what` (and, if there is one, `of`) says of what, should the file end before that. */
int32_t tn_cursor_take(tn_cursor *cursor, uint64_t size, const char *what, const char *of, const void **out,
                       tn_error *err);
int32_t tn_cursor_u32(tn_cursor *cursor, const char *what, const char *of, uint32_t *out, tn_error *err);
int32_t tn_cursor_u64(tn_cursor *cursor, const char *what, const char *of, uint64_t *out, tn_error *err);
/** A length and as many bytes. */
int32_t tn_cursor_string(tn_cursor *cursor, const char *what, const char *of, tn_text *out, tn_error *err);

/** Most bytes of a name in a file. */
#define TN_KEY_MAX 65535u
#define TN_TENSOR_NAME_MAX 64u

/** What is wrong with a name, in words, or NULL. */
const char *tn_key_fault(const char *text, uint64_t size);
const char *tn_tensor_name_fault(const char *text, uint64_t size);
/** 1 if a value of general.alignment will do. */
int tn_alignment_valid(uint32_t alignment);

/** Takes the value that belongs to `key`, its type included. */
int32_t tn_cursor_value(tn_cursor *cursor, const char *key, tn_kv *out, tn_error *err);

/** Metadata: keys in the file's order, a value each. All zero is an empty table. */
typedef struct tn_kv_table {
    tn_names keys;
    tn_kv *values;
    uint64_t capacity;
} tn_kv_table;

/** Makes room for one more; adds nothing. */
int32_t tn_kv_table_reserve(tn_kv_table *table);
/** NULL if the key is not there. */
const tn_kv *tn_kv_table_find(const tn_kv_table *table, const char *key);
void tn_kv_table_free(tn_kv_table *table);

#endif
