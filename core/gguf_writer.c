/*
 * Writes GGUF files, version 3: metadata and records of tensors are collected in memory and go out with the
 * first byte of data (or at the end), because the offsets need all sizes. The file grows beside its target
 * under a name of its own and takes the target's place in one step, once it is whole and on disk.
 */
#include "checked.h"
#include "gguf_file.h"
#include "part_file.h"

#include <inttypes.h>
#include <stdlib.h>

typedef struct {
    unsigned char *data;
    size_t size, capacity;
} bytes;

/* What was declared of a tensor; its name is in `tensor_names`. */
typedef struct {
    uint32_t type, dim_count;
    uint64_t dims[4], size;
} declared;

struct tn_gguf_writer {
    tn_part *part; /* NULL: only measured */
    uint32_t alignment;
    tn_names keys, tensor_names;
    bytes key_bytes; /* the keys as they will lie in the file */
    declared *tensors;
    uint64_t tensor_capacity;
    uint64_t data_bound;      /* at least the bytes of all data, whatever the alignment will be */
    int started;              /* header written: nothing can be added any more */
    uint64_t current, within; /* tensor whose bytes come next, and how many of them are there */
    int failed;               /* something could not be written: nothing else will be */
};

/* How messages call the file. */
static const char *name_of(const tn_gguf_writer *writer) {
    return writer->part ? tn_path_tail(writer->part->path) : "the new file";
}

static int32_t no_memory(const tn_gguf_writer *writer, tn_error *err) {
    return tn_fail(err, TN_E_MEMORY, "%s: no memory left to write it", name_of(writer));
}

static int append(bytes *to, const void *data, size_t size) {
    uint64_t wanted, doubled;
    if (!tn_add_u64(to->size, size, &wanted)) { return 0; }
    if (wanted > to->capacity) {
        if (!tn_mul_u64(to->capacity, 2, &doubled)) { return 0; }
        size_t capacity = doubled > wanted ? doubled : wanted + 4096;
        unsigned char *grown = realloc(to->data, capacity);
        if (!grown) { return 0; }
        to->data = grown;
        to->capacity = capacity;
    }
    if (size) { memcpy(to->data + to->size, data, size); }
    to->size = wanted;
    return 1;
}

static int append_u32(bytes *to, uint32_t value) {
    return append(to, &value, sizeof value);
}

static int append_u64(bytes *to, uint64_t value) {
    return append(to, &value, sizeof value);
}

static int append_name(bytes *to, const char *name) {
    size_t size = strlen(name);
    return append_u64(to, size) && append(to, name, size);
}

/* ---- begin and end ---------------------------------------------------------------------------------- */

static void free_writer(tn_gguf_writer *writer) {
    tn_names_free(&writer->keys);
    tn_names_free(&writer->tensor_names);
    free(writer->key_bytes.data);
    free(writer->tensors);
    free(writer);
}

int32_t tn_gguf_writer_create(const char *path, tn_gguf_writer **out, tn_error *err) {
    *out = NULL;
    tn_gguf_writer *writer = calloc(1, sizeof *writer);
    if (!writer) {
        TN_FAIL(err, TN_E_MEMORY, "no memory left to write %s", path ? tn_path_tail(path) : "a file");
    }
    writer->alignment = TN_ALIGNMENT_DEFAULT;
    int32_t code = path ? tn_part_create(path, &writer->part, err) : TN_OK;
    if (code != TN_OK) {
        free_writer(writer);
        return code;
    }
    *out = writer;
    return TN_OK;
}

void tn_gguf_writer_abandon(tn_gguf_writer *writer) {
    if (!writer) { return; }
    tn_part_abandon(writer->part);
    free_writer(writer);
}

/* ---- metadata and records --------------------------------------------------------------------------- */

static int32_t check_open(const tn_gguf_writer *writer, const char *name, tn_error *err) {
    if (!writer->started) { return TN_OK; }
    TN_FAIL(err, TN_E_INPUT, "%s: %.80s comes too late, after the first data", name_of(writer), name);
}

static int32_t add_name(const tn_gguf_writer *writer, tn_names *names, const char *what, const char *name,
                        tn_error *err) {
    int32_t code = tn_names_add(names, name, strlen(name));
    if (code == TN_E_INPUT) {
        TN_FAIL(err, code, "%s: %s %.80s is there already", name_of(writer), what, name);
    }
    if (code == TN_E_IO) { TN_FAIL(err, code, "%s: the system gives no random numbers", name_of(writer)); }
    return code == TN_OK ? TN_OK : no_memory(writer, err);
}

static int append_value(bytes *to, const tn_kv *value) {
    if (!append_u32(to, value->type)) { return 0; }
    if (value->type == TN_KV_STRING) {
        return append_u64(to, value->size) && append(to, value->data, value->size);
    }
    if (value->type == TN_KV_ARRAY &&
        (!append_u32(to, value->element_type) || !append_u64(to, value->count))) {
        return 0;
    }
    return append(to, value->data, value->size);
}

/* Reads the value at `from` back as any reader would: what it would refuse is not written. */
static int32_t check_value(tn_gguf_writer *writer, const char *key, size_t from, tn_error *err) {
    tn_error why = TN_ERROR_INIT;
    tn_kv kv;
    tn_cursor cursor = {
        .name = name_of(writer), .data = writer->key_bytes.data, .size = writer->key_bytes.size, .at = from};
    if (tn_cursor_value(&cursor, key, &kv, &why) != TN_OK) { TN_FAIL(err, TN_E_INPUT, "%s", why.text); }
    if (cursor.at != cursor.size) {
        TN_FAIL(err, TN_E_INPUT, "%s: key %.80s: %" PRIu64 " bytes more than its type and count say",
                cursor.name, key, cursor.size - cursor.at);
    }
    if (strcmp(key, TN_ALIGNMENT_KEY) != 0) { return TN_OK; }
    uint32_t alignment = 0;
    if (kv.type == TN_KV_U32) { memcpy(&alignment, kv.data, sizeof alignment); }
    if (!tn_alignment_valid(alignment)) {
        TN_FAIL(err, TN_E_INPUT,
                "%s: key " TN_ALIGNMENT_KEY ": a uint32, a power of two, at least 8, was expected",
                cursor.name);
    }
    writer->alignment = alignment;
    return TN_OK;
}

int32_t tn_gguf_writer_put(tn_gguf_writer *writer, const char *key, const tn_kv *value, tn_error *err) {
    const char *fault = tn_key_fault(key, strlen(key));
    if (fault) { TN_FAIL(err, TN_E_INPUT, "%s: a key %s", name_of(writer), fault); }
    TN_TRY(check_open(writer, key, err));
    TN_TRY(add_name(writer, &writer->keys, "key", key, err));
    size_t before = writer->key_bytes.size, from;
    int32_t code = TN_E_MEMORY;
    if (append_name(&writer->key_bytes, key)) {
        from = writer->key_bytes.size;
        code = append_value(&writer->key_bytes, value) ? check_value(writer, key, from, err) : TN_E_MEMORY;
    }
    if (code == TN_E_MEMORY) { no_memory(writer, err); }
    if (code != TN_OK) {
        writer->key_bytes.size = before;
        tn_names_drop_last(&writer->keys);
    }
    return code;
}

static int32_t check_declared(const tn_gguf_writer *writer, const char *name, uint32_t dim_count,
                              const uint64_t *dims, uint64_t size, uint64_t *bound, tn_error *err) {
    const char *path = name_of(writer), *fault = tn_tensor_name_fault(name, strlen(name));
    uint64_t elements = 1;
    if (fault) { TN_FAIL(err, TN_E_INPUT, "%s: the name of a tensor %s", path, fault); }
    if (dim_count < 1 || dim_count > 4) {
        TN_FAIL(err, TN_E_INPUT, "%s: tensor %s has %" PRIu32 " dimensions, 1 to 4 were expected", path, name,
                dim_count);
    }
    for (uint32_t i = 0; i < dim_count; i++) {
        if (dims[i] == 0 || !tn_mul_u64(elements, dims[i], &elements) || elements > INT64_MAX) {
            TN_FAIL(err, TN_E_INPUT, "%s: tensor %s: a dimension is 0, or they multiply to more than 2^63",
                    path, name);
        }
    }
    if (size == 0) { TN_FAIL(err, TN_E_INPUT, "%s: tensor %s has no bytes", path, name); }
    if (!tn_add_u64(writer->data_bound, UINT32_MAX, bound) || !tn_add_u64(*bound, size, bound)) {
        TN_FAIL(err, TN_E_INPUT, "%s: with tensor %s the file would be larger than 2^64 bytes", path, name);
    }
    return TN_OK;
}

int32_t tn_gguf_writer_declare(tn_gguf_writer *writer, const char *name, uint32_t type, uint32_t dim_count,
                               const uint64_t *dims, uint64_t size, tn_error *err) {
    uint64_t bound = 0;
    TN_TRY(check_declared(writer, name, dim_count, dims, size, &bound, err));
    TN_TRY(check_open(writer, name, err));
    if (writer->tensor_names.count == writer->tensor_capacity) {
        uint64_t capacity = writer->tensor_capacity ? writer->tensor_capacity * 2 : 64;
        declared *tensors = reallocarray(writer->tensors, capacity, sizeof *tensors);
        if (!tensors) { return no_memory(writer, err); }
        writer->tensors = tensors;
        writer->tensor_capacity = capacity;
    }
    TN_TRY(add_name(writer, &writer->tensor_names, "tensor", name, err));
    declared *tensor = &writer->tensors[writer->tensor_names.count - 1];
    *tensor = (declared){.type = type, .dim_count = dim_count, .size = size};
    memcpy(tensor->dims, dims, dim_count * sizeof *dims);
    writer->data_bound = bound;
    return TN_OK;
}

/* ---- output ----------------------------------------------------------------------------------------- */

static int32_t put_out(tn_gguf_writer *writer, const void *data, size_t size, tn_error *err) {
    int32_t code = tn_part_write(writer->part, data, size, err);
    if (code != TN_OK) { writer->failed = 1; }
    return code;
}

/* Bytes that follow `size` ones up to the next aligned place. */
static uint64_t padding_of(const tn_gguf_writer *writer, uint64_t size) {
    return -size & (writer->alignment - 1);
}

static int32_t put_padding(tn_gguf_writer *writer, uint64_t size, tn_error *err) {
    static const unsigned char zeros[4096];
    uint64_t left = padding_of(writer, size);
    for (; left > sizeof zeros; left -= sizeof zeros) { TN_TRY(put_out(writer, zeros, sizeof zeros, err)); }
    return put_out(writer, zeros, left, err);
}

/* The bytes before the data, without the padding behind them. */
static uint64_t head_size(const tn_gguf_writer *writer) {
    uint64_t size = 4 + sizeof(uint32_t) + 2 * sizeof(uint64_t) + writer->key_bytes.size;
    for (uint64_t i = 0; i < writer->tensor_names.count; i++) {
        size += sizeof(uint64_t) + strlen(writer->tensor_names.at[i]) + 2 * sizeof(uint32_t) +
                (writer->tensors[i].dim_count + 1) * sizeof(uint64_t);
    }
    return size;
}

uint64_t tn_gguf_writer_size(const tn_gguf_writer *writer) {
    uint64_t size = head_size(writer);
    size += padding_of(writer, size);
    for (uint64_t i = 0; i < writer->tensor_names.count; i++) {
        size += writer->tensors[i].size + padding_of(writer, writer->tensors[i].size);
    }
    return size;
}

static int append_records(bytes *to, const tn_gguf_writer *writer) {
    uint64_t offset = 0;
    for (uint64_t i = 0; i < writer->tensor_names.count; i++) {
        const declared *tensor = &writer->tensors[i];
        int done = append_name(to, writer->tensor_names.at[i]) && append_u32(to, tensor->dim_count) &&
                   append(to, tensor->dims, tensor->dim_count * sizeof tensor->dims[0]) &&
                   append_u32(to, tensor->type) && append_u64(to, offset);
        if (!done) { return 0; }
        offset += tensor->size + padding_of(writer, tensor->size);
    }
    return 1;
}

static int32_t start(tn_gguf_writer *writer, tn_error *err) {
    bytes head = {0};
    int done = append(&head, "GGUF", 4) && append_u32(&head, 3) &&
               append_u64(&head, writer->tensor_names.count) && append_u64(&head, writer->keys.count) &&
               append(&head, writer->key_bytes.data, writer->key_bytes.size) && append_records(&head, writer);
    int32_t code = done ? put_out(writer, head.data, head.size, err) : no_memory(writer, err);
    if (code == TN_OK) { code = put_padding(writer, head.size, err); }
    free(head.data);
    writer->started = 1;
    writer->failed = code != TN_OK;
    return code;
}

static int32_t check_whole(const tn_gguf_writer *writer, tn_error *err) {
    if (!writer->part) { TN_FAIL(err, TN_E_INPUT, "%s is only measured, not written", name_of(writer)); }
    if (writer->failed) {
        TN_FAIL(err, TN_E_FAILED, "%s: not finished, something could not be written before", name_of(writer));
    }
    return TN_OK;
}

int32_t tn_gguf_writer_write(tn_gguf_writer *writer, const void *data, uint64_t size, tn_error *err) {
    const unsigned char *p = data;
    TN_TRY(check_whole(writer, err));
    if (!writer->started) { TN_TRY(start(writer, err)); }
    while (size) {
        if (writer->current == writer->tensor_names.count) {
            TN_FAIL(err, TN_E_INPUT, "%s: %" PRIu64 " bytes more than the tensors have that were declared",
                    name_of(writer), size);
        }
        const declared *tensor = &writer->tensors[writer->current];
        uint64_t room = tensor->size - writer->within, step = size < room ? size : room;
        TN_TRY(put_out(writer, p, step, err));
        p += step;
        size -= step;
        writer->within += step;
        if (step < room) { break; }
        TN_TRY(put_padding(writer, tensor->size, err));
        writer->current++;
        writer->within = 0;
    }
    if (writer->current < writer->tensor_names.count) { return TN_OK; }
    int32_t code =
        tn_part_flush(writer->part, err); /* of many shards that wait for each other few have a buffer */
    if (code != TN_OK) { writer->failed = 1; }
    return code;
}

int32_t tn_gguf_writer_seal(tn_gguf_writer *writer, tn_error *err) {
    TN_TRY(check_whole(writer, err));
    if (!writer->started) { TN_TRY(start(writer, err)); }
    if (writer->current < writer->tensor_names.count) {
        TN_FAIL(err, TN_E_INPUT, "%s: tensor %s has %" PRIu64 " of %" PRIu64 " bytes", name_of(writer),
                writer->tensor_names.at[writer->current], writer->within,
                writer->tensors[writer->current].size);
    }
    return tn_part_seal(writer->part, err);
}

bool tn_gguf_writer_blocked(const tn_gguf_writer *writer) {
    return tn_part_blocked(writer->part);
}

int32_t tn_gguf_writer_keep(tn_gguf_writer *writer, const char **name, tn_error *err) {
    TN_TRY(tn_part_keep(writer->part, err));
    *name = tn_part_unfinished(writer->part);
    return TN_OK;
}

int32_t tn_gguf_writer_make_way(const tn_gguf_writer *writer, tn_error *err) {
    return tn_part_make_way(writer->part, err);
}

int32_t tn_gguf_writer_finish(tn_gguf_writer *writer, tn_error *err) {
    int32_t code = tn_gguf_writer_seal(writer, err);
    if (code == TN_OK) {
        code = tn_part_finish(writer->part, err);
        writer->part = NULL;
    }
    tn_gguf_writer_abandon(writer);
    return code;
}
