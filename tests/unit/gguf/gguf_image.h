/*
 * gguf_image.h - GGUF files made in memory, byte by byte, sound or not, for tests of the reader.
 *
 * Counts, lengths, types, dimensions and offsets that are put are remembered, so that a test can spoil each
 * in turn.
 */
#ifndef TENON_GGUF_IMAGE_H
#define TENON_GGUF_IMAGE_H

#include "tenon/errors.h"
#include "tenon/gguf.h"

#include <stddef.h>

typedef struct tn_field {
    size_t at, width; /* 4 or 8 bytes */
    const char *what;
} tn_field;

typedef struct tn_image {
    unsigned char *data;
    size_t size, capacity;
    tn_field fields[256];
    size_t field_count;
    size_t header_size; /* where the data begins */
} tn_image;

void tn_image_free(tn_image *image);
void tn_image_bytes(tn_image *image, const void *data, size_t size);
void tn_image_u32(tn_image *image, uint32_t value);
void tn_image_u64(tn_image *image, uint64_t value);
/** A number that is remembered. */
void tn_image_field(tn_image *image, uint64_t value, size_t width, const char *what);
void tn_image_text(tn_image *image, const char *text);

void tn_image_head(tn_image *image, uint32_t version, uint64_t tensors, uint64_t keys);
/** A key and the type of its value. */
void tn_image_key(tn_image *image, const char *key, uint32_t type);
void tn_image_kv_u32(tn_image *image, const char *key, uint32_t value);
void tn_image_kv_text(tn_image *image, const char *key, const char *value);
/** The beginning of an array: its elements are to follow. */
void tn_image_kv_array(tn_image *image, const char *key, uint32_t type, uint64_t count);
void tn_image_tensor(tn_image *image, const char *name, uint32_t type, uint32_t dim_count,
                     const uint64_t *dims, uint64_t offset);
/** Zeros up to a multiple of `align`; then data begins. */
void tn_image_data(tn_image *image, size_t align);
void tn_image_zeros(tn_image *image, size_t size);

/** A sound file with every value type and four tensors: F32 [8], an unknown type 77, Q4_0 [64, 2], F32 [2,
 * 3]. */
void tn_image_sample(tn_image *image, uint32_t version);

/** Writes the image to `path` and opens it; types 0, 2 and 8 are known. */
int32_t tn_image_open(const tn_image *image, const char *path, tn_gguf **out, tn_error *err);
/** What these tests know of types: F32 (0), Q4_0 (2), Q8_0 (8). */
extern const tn_gguf_types tn_image_types;

#endif
