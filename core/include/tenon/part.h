/*
 * tenon/part.h - a file that grows in its target's folder and takes the target's place in one step, once it is whole
 * and on disk.
 *
 * Part of libtenon's public interface. Where the file system can do it (O_TMPFILE) the file has no name before that,
 * so that whatever ends the process leaves nothing behind; else it has one of its own, PATH.part-XXXXXX. A file that
 * is there already is reached through its links, which stay, and leaves its mode to the new one. One that appears while
 * this one grows is not replaced: both are kept. So that there is always room for the longer name, that of the target has
 * at most 243 bytes.
 */
#ifndef TENON_PART_H
#define TENON_PART_H

#include "tenon/errors.h"

TN_BEGIN_C

typedef struct tn_part tn_part;

/**
 * What tn_part_create() would refuse at once, without creating anything, for what takes long to make: TN_E_INPUT: what
 * is at `path` is no regular file; TN_E_IO: the folder is not there or cannot be written, or the name is none.
 */
int32_t tn_part_check(const char *path, tn_error *err);
/** TN_E_INPUT: what is at `path` is no regular file; TN_E_IO, TN_E_MEMORY. Nothing is left behind. */
int32_t tn_part_create(const char *path, tn_part **out, tn_error *err);
int32_t tn_part_write(tn_part *part, const void *data, uint64_t size, tn_error *err);
/** Writes over the first `size` bytes, which were written before. */
int32_t tn_part_rewrite(tn_part *part, const void *data, uint64_t size, tn_error *err);
/**
 * Writes what is left to disk and puts the file in its place. Whatever happens, the part is freed. TN_E_IO also if
 * another file has appeared there since tn_part_create(): the message says under which name this one is kept.
 */
int32_t tn_part_finish(tn_part *part, tn_error *err);
/** Removes it; frees the part. NULL is fine. */
void tn_part_abandon(tn_part *part);
/** The name of the unfinished file, which a program that ends at once has to remove; NULL: it has none. */
const char *tn_part_unfinished(const tn_part *part);

TN_END_C
#endif
