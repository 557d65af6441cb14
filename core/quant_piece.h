/*
 * quant_piece.h - a source cut into pieces that are converted each by itself: some rows of one matrix, or, of a
 * row that is longer than a piece, some of its blocks.
 */
#ifndef TENON_QUANT_PIECE_H
#define TENON_QUANT_PIECE_H

#include "quant_plan.h"

typedef struct tn_piece {
    uint64_t tensor;           /**< number in the plan */
    uint64_t row, rows;        /**< converted: rows, counted through all matrices */
    uint64_t column, columns;  /**< and columns of them */
    const unsigned char *from; /**< bytes of the source */
    uint64_t from_size, size;  /**< of the source, and as they will be written */
} tn_piece;

/** Where the next piece begins; all zero is the beginning. */
typedef struct tn_piece_cursor {
    uint64_t tensor, at; /**< `at`: rows (of a converted tensor) or bytes */
    uint64_t column;
} tn_piece_cursor;

/** The next piece in the order of writing; 0: there is none. */
int tn_piece_next(const tn_quantize_plan *plan, tn_piece_cursor *at, tn_piece *out);

/** What a worker needs: room for the floats of a piece and for the importance of its columns. */
typedef struct tn_piece_room {
    float *numbers, *importance;
} tn_piece_room;

/** The most of each that any piece of the plan needs: floats, importance, bytes written. */
typedef struct tn_piece_needs {
    uint64_t numbers, importance, bytes;
} tn_piece_needs;
void tn_piece_measure(const tn_quantize_plan *plan, tn_piece_needs *out);

/** Converts a piece of a converted tensor into `out`. */
int32_t tn_piece_convert(const tn_quantize_plan *plan, const tn_piece *piece, const tn_piece_room *room,
                         void *out, tn_error *err);

/** Makes the pages of a piece's source resident, or fails where they cannot be read (TN_E_IO). */
int32_t tn_piece_fetch(const tn_quantize_plan *plan, const tn_piece *piece, tn_error *err);
/** Lets them go. */
void tn_piece_release(const tn_piece *piece);

#endif
