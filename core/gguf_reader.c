/*
 * Reads one GGUF file: header, metadata, records of tensors, and where their data lies.
 *
 *     "GGUF"  u32 version  u64 tensors  u64 keys
 *     keys x    { string key, u32 type, value }
 *     tensors x { string name, u32 dimensions, u64 each, u32 type, u64 offset }
 *     padding up to general.alignment, from where the offsets count
 *
 * https://github.com/ggml-org/ggml/blob/master/docs/gguf.md
 */
#include "checked.h"
#include "gguf_file.h"

#include <inttypes.h>
#include <stdlib.h>

/* The least that a key and a tensor take in a file: a name of one byte; a value of one; one dimension. */
#define KEY_BYTES_MIN (8 + 1 + 4 + 1)
#define TENSOR_BYTES_MIN (8 + 1 + 4 + 8 + 4 + 8)

static int32_t no_memory(const tn_cursor *cursor, tn_error *err) {
    return tn_fail(err, TN_E_MEMORY, "%s: no memory left to read it", cursor->name);
}

/* A name that could not be added. */
static int32_t not_added(int32_t code, const tn_cursor *cursor, const char *what, const tn_text *name,
                         tn_error *err) {
    if (code == TN_E_INPUT) {
        TN_FAIL(err, TN_E_FILE_DAMAGED, "%s: %s %.*s occurs twice", cursor->name, what,
                (int)(name->size < 80 ? name->size : 80), name->data);
    }
    if (code == TN_E_IO) { TN_FAIL(err, TN_E_IO, "%s: the system gives no random numbers", cursor->name); }
    return no_memory(cursor, err);
}

static int32_t check_magic(tn_cursor *cursor, tn_error *err) {
    static const char older[][5] = {"GGML", "lmgg", "fmgg", "tjgg", "algg"};
    const void *magic;
    if (cursor->size == 0) { TN_FAIL(err, TN_E_FILE_DAMAGED, "%s is empty, no GGUF file", cursor->name); }
    TN_TRY(tn_cursor_take(cursor, 4, "the magic \"GGUF\"", NULL, &magic, err));
    if (memcmp(magic, "GGUF", 4) == 0) { return TN_OK; }
    for (size_t i = 0; i < sizeof older / sizeof older[0]; i++) {
        if (memcmp(magic, older[i], 4) == 0) {
            TN_FAIL(
                err, TN_E_FILE_VERSION,
                "%s is a GGML file, older than GGUF (it starts with \"%s\"); versions 2 and 3 of GGUF can be "
                "read",
                cursor->name, older[i]);
        }
    }
    const unsigned char *m = magic;
    TN_FAIL(err, TN_E_FILE_DAMAGED,
            "%s is no GGUF file: it starts with the bytes %02x %02x %02x %02x, not with \"GGUF\"",
            cursor->name, m[0], m[1], m[2], m[3]);
}

static int32_t read_version(tn_cursor *cursor, uint32_t *version, tn_error *err) {
    TN_TRY(tn_cursor_u32(cursor, "the version", NULL, version, err));
    if (*version == 2 || *version == 3) { return TN_OK; }
    uint32_t swapped = __builtin_bswap32(*version);
    if (swapped >= 1 && swapped <= 0xffff) {
        TN_FAIL(err, TN_E_FILE_VERSION,
                "%s is a big-endian GGUF file (version %" PRIu32
                " with its bytes swapped); only little-endian "
                "ones can be read",
                cursor->name, swapped);
    }
    TN_FAIL(err, TN_E_FILE_VERSION, "%s: GGUF version %" PRIu32 "; versions 2 and 3 can be read",
            cursor->name, *version);
}

typedef struct {
    uint32_t version;
    uint64_t tensors, keys;
} header;

/* A file claiming more than it has room for is refused before anything is read. */
static int32_t read_header(tn_cursor *cursor, header *out, tn_error *err) {
    uint64_t key_bytes, tensor_bytes, bytes;
    TN_TRY(check_magic(cursor, err));
    TN_TRY(read_version(cursor, &out->version, err));
    TN_TRY(tn_cursor_u64(cursor, "the number of tensors", NULL, &out->tensors, err));
    TN_TRY(tn_cursor_u64(cursor, "the number of keys", NULL, &out->keys, err));
    if (!tn_mul_u64(out->keys, KEY_BYTES_MIN, &key_bytes) ||
        !tn_mul_u64(out->tensors, TENSOR_BYTES_MIN, &tensor_bytes) ||
        !tn_add_u64(key_bytes, tensor_bytes, &bytes) || bytes > cursor->size - cursor->at) {
        TN_FAIL(err, TN_E_FILE_DAMAGED,
                "%s: the header declares %" PRIu64 " keys and %" PRIu64 " tensors, more than its %" PRIu64
                " bytes can hold",
                cursor->name, out->keys, out->tensors, cursor->size);
    }
    return TN_OK;
}

/* ---- metadata --------------------------------------------------------------------------------------- */

static int32_t read_key(tn_cursor *cursor, tn_kv_table *table, tn_error *err) {
    tn_text key;
    uint64_t at = cursor->at;
    TN_TRY(tn_cursor_string(cursor, "a key", NULL, &key, err));
    const char *fault = tn_key_fault(key.data, key.size);
    if (fault) {
        TN_FAIL(err, TN_E_FILE_DAMAGED, "%s: key number %" PRIu64 ", at byte %" PRIu64 ", %s", cursor->name,
                table->keys.count, at, fault);
    }
    if (tn_kv_table_reserve(table) != TN_OK) { return no_memory(cursor, err); }
    int32_t code = tn_names_add(&table->keys, key.data, key.size);
    return code == TN_OK ? TN_OK : not_added(code, cursor, "key", &key, err);
}

static int32_t read_keys(tn_cursor *cursor, uint64_t count, tn_kv_table *table, tn_error *err) {
    for (uint64_t i = 0; i < count; i++) {
        TN_TRY(read_key(cursor, table, err));
        int32_t code = tn_cursor_value(cursor, table->keys.at[i], &table->values[i], err);
        if (code != TN_OK) {
            tn_names_drop_last(&table->keys);
            return code;
        }
    }
    return TN_OK;
}

static int32_t read_alignment(const tn_cursor *cursor, const tn_kv_table *table, uint32_t *out,
                              tn_error *err) {
    const tn_kv *kv = tn_kv_table_find(table, TN_ALIGNMENT_KEY);
    *out = TN_ALIGNMENT_DEFAULT;
    if (!kv) { return TN_OK; }
    if (kv->type != TN_KV_U32) {
        TN_FAIL(err, TN_E_FILE_DAMAGED,
                "%s: key " TN_ALIGNMENT_KEY " is of value type %" PRIu32 ", a uint32 (type 4) was expected",
                cursor->name, kv->type);
    }
    uint32_t value;
    memcpy(&value, kv->data, sizeof value);
    if (!tn_alignment_valid(value)) {
        TN_FAIL(err, TN_E_FILE_DAMAGED,
                "%s: key " TN_ALIGNMENT_KEY " is %" PRIu32 ", a power of two, at least 8, was expected",
                cursor->name, value);
    }
    *out = value;
    return TN_OK;
}

/* ---- tensors ---------------------------------------------------------------------------------------- */

static int32_t read_dims(tn_cursor *cursor, const char *name, tn_gguf_tensor *out, tn_error *err) {
    TN_TRY(tn_cursor_u32(cursor, "the number of dimensions", name, &out->dim_count, err));
    if (out->dim_count < 1 || out->dim_count > 4) {
        TN_FAIL(err, TN_E_FILE_DAMAGED, "%s: tensor %s has %" PRIu32 " dimensions, 1 to 4 were expected",
                cursor->name, name, out->dim_count);
    }
    out->elements = 1;
    for (uint32_t i = 0; i < 4; i++) {
        out->dims[i] = 1;
        if (i >= out->dim_count) { continue; }
        TN_TRY(tn_cursor_u64(cursor, "the dimensions", name, &out->dims[i], err));
        if (out->dims[i] == 0) {
            TN_FAIL(err, TN_E_FILE_DAMAGED, "%s: tensor %s: dimension %" PRIu32 " is 0", cursor->name, name,
                    i);
        }
        if (!tn_mul_u64(out->elements, out->dims[i], &out->elements) || out->elements > INT64_MAX) {
            TN_FAIL(err, TN_E_FILE_DAMAGED,
                    "%s: tensor %s: its dimensions multiply to more than 2^63 elements", cursor->name, name);
        }
    }
    return TN_OK;
}

/* The bytes of its data, if the type is known. */
static int32_t measure(const tn_cursor *cursor, const char *name, const tn_gguf_types *types,
                       tn_gguf_tensor *tensor, tn_error *err) {
    uint32_t block, block_bytes;
    if (!types || !types->find(types->context, tensor->type, &block, &block_bytes)) { return TN_OK; }
    if (tensor->dims[0] % block != 0) {
        TN_FAIL(err, TN_E_FILE_DAMAGED,
                "%s: tensor %s: a row of %" PRIu64 " elements is no whole number of blocks of %" PRIu32
                " (type %" PRIu32 ")",
                cursor->name, name, tensor->dims[0], block, tensor->type);
    }
    if (!tn_mul_u64(tensor->elements / block, block_bytes, &tensor->size)) {
        TN_FAIL(err, TN_E_FILE_DAMAGED, "%s: tensor %s: its %" PRIu64 " elements take more than 2^64 bytes",
                cursor->name, name, tensor->elements);
    }
    return TN_OK;
}

static int32_t read_tensor(tn_cursor *cursor, const char *name, const tn_gguf_types *types,
                           tn_gguf_tensor *out, tn_error *err) {
    out->name = name;
    TN_TRY(read_dims(cursor, name, out, err));
    TN_TRY(tn_cursor_u32(cursor, "the type", name, &out->type, err));
    TN_TRY(tn_cursor_u64(cursor, "the offset", name, &out->offset, err));
    return measure(cursor, name, types, out, err);
}

static int32_t reserve_tensor(tn_gguf *file) {
    if (file->tensor_names.count < file->tensor_capacity) { return TN_OK; }
    uint64_t capacity = file->tensor_capacity ? file->tensor_capacity * 2 : 64;
    tn_gguf_tensor *tensors = reallocarray(file->tensors, capacity, sizeof *tensors);
    if (!tensors) { return TN_E_MEMORY; }
    file->tensors = tensors;
    file->tensor_capacity = capacity;
    return TN_OK;
}

static int32_t read_tensor_name(tn_cursor *cursor, uint64_t number, tn_gguf *file, tn_error *err) {
    tn_text name;
    uint64_t at = cursor->at;
    TN_TRY(tn_cursor_string(cursor, "the name of a tensor", NULL, &name, err));
    const char *fault = tn_tensor_name_fault(name.data, name.size);
    if (fault) {
        TN_FAIL(err, TN_E_FILE_DAMAGED, "%s: the name of tensor number %" PRIu64 ", at byte %" PRIu64 ", %s",
                cursor->name, number, at, fault);
    }
    if (reserve_tensor(file) != TN_OK) { return no_memory(cursor, err); }
    int32_t code = tn_names_add(&file->tensor_names, name.data, name.size);
    return code == TN_OK ? TN_OK : not_added(code, cursor, "tensor", &name, err);
}

static int32_t read_tensors(tn_cursor *cursor, uint64_t count, tn_gguf *file, uint32_t shard,
                            const tn_gguf_types *types, tn_error *err) {
    for (uint64_t i = 0; i < count; i++) {
        TN_TRY(read_tensor_name(cursor, i, file, err));
        uint64_t number = file->tensor_names.count - 1;
        tn_gguf_tensor *tensor = &file->tensors[number];
        *tensor = (tn_gguf_tensor){.file = shard};
        int32_t code = read_tensor(cursor, file->tensor_names.at[number], types, tensor, err);
        if (code != TN_OK) {
            tn_names_drop_last(&file->tensor_names);
            return code;
        }
    }
    return TN_OK;
}

/* ---- where the data lies ---------------------------------------------------------------------------- */

/* Walks over the offsets as they must be: each tensor begins where the one before it ends, padding included;
 * behind a tensor of unknown type, whose end nobody knows, at any aligned place. */
typedef struct {
    const tn_cursor *cursor;
    uint64_t base, alignment;
    uint64_t next; /* where the next tensor must begin, if `known`; else it must lie behind this place */
    int known;
} layout;

static int32_t check_offset(const layout *at, const tn_gguf_tensor *tensor, uint64_t offset, tn_error *err) {
    const char *file = at->cursor->name;
    if (offset % at->alignment != 0) {
        TN_FAIL(err, TN_E_FILE_DAMAGED,
                "%s: tensor %s: its offset %" PRIu64 " is no multiple of the alignment %" PRIu64, file,
                tensor->name, offset, at->alignment);
    }
    if (at->known && offset != at->next) {
        TN_FAIL(err, TN_E_FILE_DAMAGED,
                "%s: tensor %s: its offset is %" PRIu64 ", %" PRIu64
                " was expected, where the one before it ends",
                file, tensor->name, offset, at->next);
    }
    if (!at->known && offset <= at->next) {
        TN_FAIL(err, TN_E_FILE_DAMAGED,
                "%s: tensor %s: its offset is %" PRIu64 ", but the one before it begins at %" PRIu64, file,
                tensor->name, offset, at->next);
    }
    return TN_OK;
}

/* Checks one tensor; its offset, which counted from the data's start, now counts from the file's. */
static int32_t place_tensor(layout *at, tn_gguf_tensor *tensor, tn_error *err) {
    uint64_t relative = tensor->offset, size = tensor->size ? tensor->size : 1, start, end;
    TN_TRY(check_offset(at, tensor, relative, err));
    if (!tn_add_u64(at->base, relative, &start) || !tn_add_u64(start, size, &end) || end > at->cursor->size) {
        TN_FAIL(err, TN_E_FILE_DAMAGED,
                "%s: tensor %s: the file ends before its data does: %" PRIu64 " bytes at byte %" PRIu64
                " + %" PRIu64 " of a file of %" PRIu64,
                at->cursor->name, tensor->name, size, at->base, relative, at->cursor->size);
    }
    tensor->offset = start;
    at->known = tensor->size != 0;
    at->next = relative;
    if (!at->known) { return TN_OK; }
    tensor->data = at->cursor->data + start;
    if (!tn_align_u64(relative + size, at->alignment, &at->next)) { at->next = UINT64_MAX; }
    return TN_OK;
}

/* Places tensors from number *placed on, which then says how far it came. */
static int32_t place_tensors(const tn_cursor *cursor, uint32_t alignment, tn_gguf *file, uint64_t *placed,
                             tn_error *err) {
    layout at = {.cursor = cursor, .alignment = alignment, .known = 1};
    if (!tn_align_u64(cursor->at, alignment, &at.base)) { at.base = UINT64_MAX; }
    for (; *placed < file->tensor_names.count; ++*placed) {
        TN_TRY(place_tensor(&at, &file->tensors[*placed], err));
    }
    return TN_OK;
}

int32_t tn_gguf_read_shard(tn_gguf *file, uint32_t shard, const tn_gguf_types *types, tn_kv_table *table,
                           tn_error *err) {
    const tn_mapping *mapping = &file->shards[shard];
    tn_cursor cursor = {.name = tn_path_tail(mapping->path), .data = mapping->data, .size = mapping->size};
    uint64_t placed = file->tensor_names.count;
    uint32_t alignment;
    header head;
    TN_TRY(read_header(&cursor, &head, err));
    if (shard == 0) { file->version = head.version; }
    TN_TRY(read_keys(&cursor, head.keys, table, err));
    TN_TRY(read_alignment(&cursor, table, &alignment, err));
    if (shard == 0) { file->alignment = alignment; }
    int32_t code = read_tensors(&cursor, head.tensors, file, shard, types, err);
    if (code == TN_OK) { code = place_tensors(&cursor, alignment, file, &placed, err); }
    for (; placed < file->tensor_names.count; placed++) { file->tensors[placed].offset = 0; }
    return code;
}
