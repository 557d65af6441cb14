/*
 * imatrix.h - importance matrices: for each weight matrix of a model the sum, over all tokens seen, of the
 * square of each of its inputs, and how many tokens that were. Both forms of files are read (imatrix_read.c).
 */
#ifndef TENON_IMATRIX_H
#define TENON_IMATRIX_H

#include "gguf_names.h"
#include "tenon/errors.h"

/** One weight matrix, or all experts of one. */
typedef struct tn_imatrix_entry {
    /** The older form knows no experts: there all numbers are one row, `experts` is 1 and counts[0] holds for
     * all of them. tn_imatrix_importance() cuts such a row as its caller's tensor wants it. */
    uint64_t columns, experts;
    double *sums;   /**< experts x columns: of the squares of each input; finite, not negative */
    double *counts; /**< experts: rows summed; finite, not negative. 0: nothing is known of that expert */
} tn_imatrix_entry;

/** All zero is an empty matrix. */
typedef struct tn_imatrix {
    tn_names names;            /**< of the weight tensors ("blk.0.attn_q.weight"), in the file's order */
    tn_imatrix_entry *entries; /**< one for each name: entries[i] belongs to names.at[i] */
    uint64_t entry_capacity;
    char **datasets; /**< what the data were gathered from; names of files as a rule */
    uint64_t dataset_count;
    uint32_t chunk_count; /**< chunks of text in all; 0: the file does not say */
    uint32_t chunk_size;  /**< tokens of a chunk; 0: the file does not say */
    /** 1: read from the older form. There counts are in chunks instead of rows and sums to match (mean square
     * times chunks), so that only sums / counts have a meaning of their own. */
    int older;
} tn_imatrix;

/**
 * Reads a file of either form; the older one is what does not start like a GGUF file. TN_E_IO, TN_E_MEMORY, or
 * TN_E_FILE_*: the message names the file, the entry, what was found and what was expected. *out is freed by the
 * caller with tn_imatrix_free(), on success only.
 */
int32_t tn_imatrix_read(const char *path, tn_imatrix *out, tn_error *err);
void tn_imatrix_free(tn_imatrix *matrix);
/** Writes the newer form beside `path` and renames it over: entries sorted by name (imatrix_write.c). */
int32_t tn_imatrix_write(const tn_imatrix *matrix, const char *path, tn_error *err);

/** Adds an entry with all sums and counts 0. TN_E_INPUT: there is one of that name; TN_E_MEMORY. Entries move
 * when one is added: *out is good until the next call. */
int32_t tn_imatrix_add(tn_imatrix *matrix, const char *name, uint64_t name_size, uint64_t columns,
                       uint64_t experts, tn_imatrix_entry **out, tn_error *err);
/** Adds a dataset's name, unless it is there. */
int32_t tn_imatrix_add_dataset(tn_imatrix *matrix, const char *name, uint64_t size, tn_error *err);

/** The entry of a tensor, NULL if there is none. */
tn_imatrix_entry *tn_imatrix_find(const tn_imatrix *matrix, const char *name);

/** 1 if an entry has as many numbers as a tensor of `columns` and `experts` needs. */
int tn_imatrix_fits(const tn_imatrix *matrix, const tn_imatrix_entry *entry, uint64_t columns,
                    uint64_t experts);
/** The importance of `size` of an expert's `columns` from `first` on (a matrix without experts is expert 0):
 * sums / counts, 1 for all columns of an expert with a count of 0. The entry fits `columns`. */
void tn_imatrix_importance(const tn_imatrix *matrix, const tn_imatrix_entry *entry, uint64_t expert,
                           uint64_t columns, uint64_t first, uint64_t size, float *out);

#endif
