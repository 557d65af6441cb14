/*
 * gguf_mapping.h - a file mapped for reading, entered into the list that tn_gguf_mapped_at() looks through.
 */
#ifndef TENON_GGUF_MAPPING_H
#define TENON_GGUF_MAPPING_H

#include "tenon/errors.h"

typedef struct tn_mapping {
    const unsigned char *data; /**< NULL if the file is empty */
    uint64_t size;
    char *path;
    struct tn_live_mapping *live;
} tn_mapping;

/** Maps a regular file; anything else, a FIFO too, is refused at once. TN_E_IO, TN_E_MEMORY. */
int32_t tn_mapping_open(const char *path, tn_mapping *out, tn_error *err);
/** All zero is fine. */
void tn_mapping_close(tn_mapping *mapping);

/** The end of a path, short enough to leave room for the rest of a message. */
const char *tn_path_tail(const char *path);

#endif
