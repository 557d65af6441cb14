/* gguf_file.h - what a tn_gguf is made of, shared by the files gguf*.c. */
#ifndef TENON_GGUF_FILE_H
#define TENON_GGUF_FILE_H

#include "gguf_mapping.h"
#include "gguf_value.h"
#include "tenon/gguf.h"

#include <stdbool.h>

#define TN_ALIGNMENT_KEY "general.alignment"
#define TN_ALIGNMENT_DEFAULT 32u

struct tn_gguf {
    tn_mapping *shards; /* shard_count of them are mapped */
    uint32_t shard_count;
    uint32_t version, alignment; /* of the first shard; version 0: nothing of it could be read */
    tn_kv_table table;           /* metadata of the first shard */
    tn_names tensor_names;
    tn_gguf_tensor *tensors; /* one for each of tensor_names */
    uint64_t tensor_capacity;
    tn_meta meta;
};

/**
 * Reads shard number `shard`, which is mapped: fills `table` with its metadata and appends its tensors to
 * `file`. After a failure both hold what could be read before it.
 */
int32_t tn_gguf_read_shard(tn_gguf *file, uint32_t shard, const tn_gguf_types *types, tn_kv_table *table,
                           tn_error *err);

/** tn_pages_fetch() of bytes of a tensor that lies in a file. TN_E_IO, with the file and the tensor. */
int32_t tn_gguf_tensor_fetch(const tn_gguf_tensor *tensor, const void *from, uint64_t size, tn_error *err);

/** What the name of a file says about a split model: PREFIX-00001-of-00003.gguf. */
typedef struct tn_split_name {
    uint32_t number, count; /* 1 and 1 if the name says nothing */
    uint32_t prefix;        /* bytes of the path before "-00001-of-" */
} tn_split_name;

void tn_split_name_read(const char *path, tn_split_name *out);
/** Checks what a shard's metadata says against its number (from 1), the count, and the first shard. */
int32_t tn_split_check(const tn_gguf *file, const tn_kv_table *table, uint32_t number, uint32_t count,
                       tn_error *err);
/** Checks the number of all tensors, once all shards are read. */
int32_t tn_split_check_total(const tn_gguf *file, tn_error *err);

/** True if a writer's file can no longer take its place. */
bool tn_gguf_writer_blocked(const tn_gguf_writer *writer);
/** Keeps a file that is sealed under a name of its own, and tells it. */
int32_t tn_gguf_writer_keep(tn_gguf_writer *writer, const char **name, tn_error *err);
/** Removes the file that a writer's is to replace, which is lost if the new one does not take its place then. */
int32_t tn_gguf_writer_make_way(const tn_gguf_writer *writer, tn_error *err);

#endif
