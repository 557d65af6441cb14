/* part_file.h - what a tn_part is made of, and what only libtenon does with one. */
#ifndef TENON_PART_FILE_H
#define TENON_PART_FILE_H

#include "tenon/part.h"

#include <stdbool.h>

struct tn_part {
    char *path, *name; /**< the target; PATH.part-XXXXXX, or NULL while the file has no name */
    int fd;
    unsigned char *buffer; /**< what is not written yet; NULL: nothing */
    size_t buffered;
    bool replaces; /**< there was a file when this one began */
    unsigned mode; /**< of that one, kept */
    int sealed;    /**< on disk, not yet in its place */
    int lost;      /**< errno of what could not be written: it stays so */
    bool kept;     /**< its name outlives it */
};

/** Writes what is buffered and gives the buffer back: nothing more is expected for now. */
int32_t tn_part_flush(tn_part *part, tn_error *err);
/** Syncs, so that only the last step is left to finish: for several files that are to appear together. */
int32_t tn_part_seal(tn_part *part, tn_error *err);
/** True if it can no longer take its place: what is there now was not when it began. */
bool tn_part_blocked(const tn_part *part);
/** The whole file stays under a name of its own, which tn_part_unfinished() then tells. */
int32_t tn_part_keep(tn_part *part, tn_error *err);
/** Removes the file that it is to replace, if there is one, and syncs the folder. */
int32_t tn_part_make_way(const tn_part *part, tn_error *err);

#endif
