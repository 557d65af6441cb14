/* See gguf_image.h. */
#include "gguf_image.h"

#include "support.h"

#include <stdlib.h>
#include <string.h>

#define UNKNOWN_TYPE 77

void tn_image_free(tn_image *image) {
    free(image->data);
    *image = (tn_image){0};
}

void tn_image_bytes(tn_image *image, const void *data, size_t size) {
    if (size == 0) { return; }
    if (image->size + size > image->capacity) {
        image->capacity = (image->size + size) * 2 + 4096;
        image->data = realloc(image->data, image->capacity);
        if (!image->data) { abort(); }
    }
    memcpy(image->data + image->size, data, size);
    image->size += size;
}

void tn_image_u32(tn_image *image, uint32_t value) {
    tn_image_bytes(image, &value, sizeof value);
}

void tn_image_u64(tn_image *image, uint64_t value) {
    tn_image_bytes(image, &value, sizeof value);
}

void tn_image_field(tn_image *image, uint64_t value, size_t width, const char *what) {
    size_t most = sizeof image->fields / sizeof image->fields[0];
    if (image->field_count < most) {
        image->fields[image->field_count++] = (tn_field){image->size, width, what};
    }
    tn_image_bytes(image, &value, width);
}

void tn_image_text(tn_image *image, const char *text) {
    tn_image_field(image, strlen(text), 8, "length of a string");
    tn_image_bytes(image, text, strlen(text));
}

void tn_image_head(tn_image *image, uint32_t version, uint64_t tensors, uint64_t keys) {
    tn_image_bytes(image, "GGUF", 4);
    tn_image_u32(image, version);
    tn_image_field(image, tensors, 8, "number of tensors");
    tn_image_field(image, keys, 8, "number of keys");
}

void tn_image_key(tn_image *image, const char *key, uint32_t type) {
    tn_image_text(image, key);
    tn_image_field(image, type, 4, "type of a value");
}

void tn_image_kv_u32(tn_image *image, const char *key, uint32_t value) {
    tn_image_key(image, key, TN_KV_U32);
    tn_image_u32(image, value);
}

void tn_image_kv_text(tn_image *image, const char *key, const char *value) {
    tn_image_key(image, key, TN_KV_STRING);
    tn_image_text(image, value);
}

void tn_image_kv_array(tn_image *image, const char *key, uint32_t type, uint64_t count) {
    tn_image_key(image, key, TN_KV_ARRAY);
    tn_image_field(image, type, 4, "type of an array");
    tn_image_field(image, count, 8, "length of an array");
}

void tn_image_tensor(tn_image *image, const char *name, uint32_t type, uint32_t dim_count,
                     const uint64_t *dims, uint64_t offset) {
    tn_image_text(image, name);
    tn_image_field(image, dim_count, 4, "number of dimensions");
    for (uint32_t i = 0; i < dim_count; i++) {
        /* the size of a tensor of unknown type can be anything */
        if (type == UNKNOWN_TYPE) {
            tn_image_u64(image, dims[i]);
        } else {
            tn_image_field(image, dims[i], 8, "dimension");
        }
    }
    tn_image_u32(image, type);
    tn_image_field(image, offset, 8, "offset");
}

void tn_image_zeros(tn_image *image, size_t size) {
    static const unsigned char zero[1];
    while (size--) { tn_image_bytes(image, zero, 1); }
}

void tn_image_data(tn_image *image, size_t align) {
    tn_image_zeros(image, (align - image->size % align) % align);
    image->header_size = image->size;
}

static void put_scalars(tn_image *image) {
    static const unsigned char value[8] = {1};
    static const struct {
        const char *key;
        uint32_t type;
    } scalars[] = {{"a.u8", TN_KV_U8},   {"a.i8", TN_KV_I8},   {"a.u16", TN_KV_U16}, {"a.i16", TN_KV_I16},
                   {"a.u32", TN_KV_U32}, {"a.i32", TN_KV_I32}, {"a.f32", TN_KV_F32}, {"a.bool", TN_KV_BOOL},
                   {"a.u64", TN_KV_U64}, {"a.i64", TN_KV_I64}, {"a.f64", TN_KV_F64}};
    for (size_t i = 0; i < sizeof scalars / sizeof scalars[0]; i++) {
        tn_image_key(image, scalars[i].key, scalars[i].type);
        tn_image_bytes(image, value, tn_kv_width(scalars[i].type));
    }
}

void tn_image_sample(tn_image *image, uint32_t version) {
    tn_image_head(image, version, 4, 16);
    tn_image_kv_text(image, "general.architecture", "llama");
    put_scalars(image);
    tn_image_kv_array(image, "tokenizer.ggml.tokens", TN_KV_STRING, 3);
    tn_image_text(image, "<s>");
    tn_image_text(image, "");
    tn_image_text(image, "\xff\xfe");
    tn_image_kv_array(image, "tokenizer.ggml.scores", TN_KV_F32, 3);
    tn_image_zeros(image, 12);
    tn_image_kv_array(image, "a.flags", TN_KV_BOOL, 3);
    tn_image_bytes(image, "\0\1\1", 3);
    tn_image_kv_u32(image, "general.alignment", 64);
    tn_image_tensor(image, "token_embd.weight", 0, 1, (uint64_t[]){8}, 0);
    tn_image_tensor(image, "odd.weight", UNKNOWN_TYPE, 2, (uint64_t[]){3, 5}, 64);
    tn_image_tensor(image, "blk.0.q.weight", 2, 2, (uint64_t[]){64, 2}, 192);
    tn_image_tensor(image, "blk.0.k.weight", 0, 2, (uint64_t[]){2, 3}, 320);
    tn_image_data(image, 64);
    tn_image_zeros(image, 320 + 24);
}

/* F32, Q4_0, Q8_0, MXFP4 */
static int find_type(const void *context, uint32_t type, uint32_t *block, uint32_t *block_bytes) {
    static const uint32_t known[][3] = {{0, 1, 4}, {2, 32, 18}, {8, 32, 34}, {39, 32, 17}};
    (void)context;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (known[i][0] != type) { continue; }
        *block = known[i][1];
        *block_bytes = known[i][2];
        return 1;
    }
    return 0;
}

const tn_gguf_types tn_image_types = {.find = find_type};

int32_t tn_image_open(const tn_image *image, const char *path, tn_gguf **out, tn_error *err) {
    tn_test_write(path, image->data, image->size);
    return tn_gguf_open(path, &tn_image_types, out, err);
}
