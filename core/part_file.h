/*
 * part_file.h - a file that grows in its target's folder and takes the target's place in one step, once it is
 * whole and on disk.
 *
 * Where the file system can do it (O_TMPFILE) the file has no name before that, so that whatever ends the
 * process leaves nothing behind; else it has one of its own, PATH.part-XXXXXX.
 */
#ifndef TENON_PART_FILE_H
#define TENON_PART_FILE_H

#include "tenon/errors.h"

/** All zero is none. */
typedef struct tn_part {
    char *path, *name; /**< the target; PATH.part-XXXXXX, or NULL while the file has no name */
    FILE *out;
    unsigned mode; /**< of the file that it will replace, kept; 0: there is none */
    int sealed;    /**< on disk, not yet in its place */
    int lost;      /**< errno of what could not be written: it stays so */
} tn_part;

/** TN_E_INPUT: what is at `path` is no regular file; TN_E_IO, TN_E_MEMORY. Nothing is left behind. */
int32_t tn_part_create(tn_part *part, const char *path, tn_error *err);
int32_t tn_part_write(tn_part *part, const void *data, uint64_t size, tn_error *err);
/** Syncs, so that only the last step is left to finish: for several files that are to appear together. */
int32_t tn_part_seal(tn_part *part, tn_error *err);
/** Seals, puts the file in its place, syncs the folder. Whatever happens, *part is none afterwards. */
int32_t tn_part_finish(tn_part *part, tn_error *err);
/** Removes it; *part is none afterwards, as it may have been before. */
void tn_part_abandon(tn_part *part);

#endif
