/*
 * tenon/gguf.h - reading and writing GGUF files (versions 2 and 3, single or split), and nothing of models.
 *
 * Part of libtenon's public interface. Files are mapped, never copied; all that is returned lives until
 * tn_gguf_close(). A tn_gguf is immutable once open: any number of threads may read it.
 */
#ifndef TENON_GGUF_H
#define TENON_GGUF_H

#include "tenon/meta.h"

TN_BEGIN_C

typedef struct tn_gguf tn_gguf;

/** What is known of tensor types: libtenon knows none, the registry answers from the formats' manifests. */
typedef struct tn_gguf_types {
    const void *context;
    /** 1 and the block's elements and bytes if the type is known, else 0. */
    int (*find)(const void *context, uint32_t type, uint32_t *block, uint32_t *block_bytes);
} tn_gguf_types;

/** One tensor. */
typedef struct tn_gguf_tensor {
    const char *name;
    uint32_t type;      /**< number in the file, known here or not */
    uint32_t dim_count; /**< 1 to 4 */
    uint64_t dims[4];   /**< fastest first; 1 beyond dim_count */
    uint64_t elements;
    uint64_t size;    /**< bytes; 0 if the type is unknown */
    uint64_t offset;  /**< of its data in its file, from the file's start */
    uint32_t file;    /**< shard it lies in */
    const void *data; /**< mapped; NULL if the type is unknown or the data is not there */
} tn_gguf_tensor;

/**
 * Opens a file, or a whole split model by any of its shards. Every count, length, product and offset is
 * checked against what is left of the file. On failure the code is TN_E_IO (cannot be read), TN_E_MEMORY or
 * one of TN_E_FILE_*, the message names the file, the place and what was expected; *out may still be set, to
 * what could be read before the fault (for display; its tensors' data may be NULL) and must then be closed.
 */
int32_t tn_gguf_open(const char *path, const tn_gguf_types *types, tn_gguf **out, tn_error *err);
void tn_gguf_close(tn_gguf *file);

uint32_t tn_gguf_version(const tn_gguf *file);
uint32_t tn_gguf_alignment(const tn_gguf *file);
/** Shards, at least 1; their paths and sizes. */
uint32_t tn_gguf_file_count(const tn_gguf *file);
const char *tn_gguf_path(const tn_gguf *file, uint32_t shard);
uint64_t tn_gguf_size(const tn_gguf *file); /**< of all shards together */

/** The metadata (of the first shard), for lookups by key and, in the file's order, by number. */
const tn_meta *tn_gguf_meta(const tn_gguf *file);
uint64_t tn_gguf_kv_count(const tn_gguf *file);
const char *tn_gguf_kv_at(const tn_gguf *file, uint64_t i, tn_kv *out); /**< the key; fills *out */

/** Tensors of all shards, in the files' order, and by name (NULL: none). */
uint64_t tn_gguf_tensor_count(const tn_gguf *file);
const tn_gguf_tensor *tn_gguf_tensor_at(const tn_gguf *file, uint64_t i);
const tn_gguf_tensor *tn_gguf_tensor_find(const tn_gguf *file, const char *name);

/**
 * Async-signal-safe: the path of the open file whose mapping covers `address`, or NULL. A program that wants
 * to survive files being cut short under it asks this in its SIGBUS handler; libtenon installs none.
 */
const char *tn_gguf_mapped_at(const void *address);

/* ---- writing ---------------------------------------------------------------------------------------- */

/**
 * Writes a version 3 file beside `path` and renames it over when it is whole and synced. Order: create, any
 * number of put and declare, then the declared tensors' bytes in their order by write (in pieces of any size,
 * padding is the writer's), then finish. Until finish has succeeded nothing is to be seen at `path`. With NULL
 * as the path nothing is written: such a writer is asked for the size after put and declare, and abandoned.
 */
typedef struct tn_gguf_writer tn_gguf_writer;
int32_t tn_gguf_writer_create(const char *path, tn_gguf_writer **out, tn_error *err);
/** Adds one metadata entry; value->data is in file form, as readers hand it out. A key may be put once. */
int32_t tn_gguf_writer_put(tn_gguf_writer *writer, const char *key, const tn_kv *value, tn_error *err);
/** Declares a tensor of `size` bytes. */
int32_t tn_gguf_writer_declare(tn_gguf_writer *writer, const char *name, uint32_t type, uint32_t dim_count,
                               const uint64_t *dims, uint64_t size, tn_error *err);
int32_t tn_gguf_writer_write(tn_gguf_writer *writer, const void *data, uint64_t size, tn_error *err);
/** Bytes of the whole file, as far as it is described now. */
uint64_t tn_gguf_writer_size(const tn_gguf_writer *writer);
/** Syncs, so that finish has only to rename: for several files that are to appear together. */
int32_t tn_gguf_writer_seal(tn_gguf_writer *writer, tn_error *err);
/** Syncs and renames; frees the writer, whatever happens. */
int32_t tn_gguf_writer_finish(tn_gguf_writer *writer, tn_error *err);
/** Removes the unfinished file; frees the writer. NULL is fine. */
void tn_gguf_writer_abandon(tn_gguf_writer *writer);

TN_END_C
#endif
