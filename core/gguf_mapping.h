/*
 * gguf_mapping.h - a file mapped for reading, entered into the list that tn_gguf_mapped_at() looks through.
 */
#ifndef TENON_GGUF_MAPPING_H
#define TENON_GGUF_MAPPING_H

#include "tenon/errors.h"

/** A huge page of x86-64 and, with pages of 4 KiB, of aarch64. */
enum { TN_HUGE_PAGE = 2 << 20 };

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

/** Brings `size` bytes at `data`, of a mapped file, into memory and into this process's table of pages. 0, or -1 if the
 * file was cut short or cannot be read. Where the system does not know the call (before Linux 5.14) the first
 * look at a page brings it, or is a signal. */
int tn_pages_fetch(const void *data, uint64_t size);

/** The end of a path, short enough to leave room for the rest of a message. */
const char *tn_path_tail(const char *path);

#endif
