/*
 * gemm_band.h - the matrix product through panels: what every instruction set shares, and what it brings.
 *
 * Weights are taken in bands of a few rows. Integer forms: a band goes through in chunks of columns; a chunk
 * is unpacked by the format, brought into the order that the instruction set likes, and multiplied with all
 * activation rows ("tokens") while it lies in the first cache. Running sums, tokens by rows of the band, wait
 * in scratch from chunk to chunk, so the float steps of a result keep the order of the columns. Float form: a
 * band is unpacked whole and multiplied by the float rule.
 *
 * A piece is a run of columns over which neither the weight's nor the activation's scale changes. In p16 panels
 * it is 32 columns, which have two sub-scales and two sums of activation codes: those go as pairs of int16 in 32
 * bits, the first in the lower half.
 */
#ifndef TENON_CPU_GEMM_BAND_H
#define TENON_CPU_GEMM_BAND_H

#include "kernels.h"

enum { GEMM_SIGNED = -1 };

/* What is added to the codes of p16 panels, -16 .. 15, and the columns of one of their blocks and pieces. */
enum { P16_OFFSET = 16, P16_BLOCK = 256, P16_PIECE = 32, P16_PIECES = P16_BLOCK / P16_PIECE };

/* Blocks that the next chunk will unpack, fetched into the second cache while this one is multiplied: some
 * lines a step, in the order of memory. What unpack() itself can look ahead is too little to hide the memory.
 */
typedef struct gemm_ahead {
    const char *row;
    uint64_t stride, rows;  /* bytes from row to row, rows that are left */
    uint64_t at, row_bytes; /* offset in the row */
    uint64_t bytes_per_step;
} gemm_ahead;

static inline void gemm_fetch_ahead(gemm_ahead *ahead) {
    for (uint64_t done = 0; done < ahead->bytes_per_step && ahead->rows > 0; done += 64) {
        __builtin_prefetch(ahead->row + ahead->at, 0, 2);
        ahead->at += 64;
        if (ahead->at < ahead->row_bytes) continue;
        ahead->at = 0;
        ahead->row += ahead->stride;
        ahead->rows--;
    }
}

/* A chunk of a band times all tokens. Scales and minimums of weights are [piece][row], those of activations
 * [tile][piece][token of the tile]. Rows past row_count have codes and scales of zero. */
typedef struct gemm_chunk {
    const int8_t *panel; /* as interleave() left it */
    const float *scales;
    const float *minimums; /* NULL: none */
    uint64_t pieces;
    uint32_t piece; /* columns, a multiple of 16 */
    uint32_t row_count;
    const int8_t *act; /* token 0 at the chunk's first column */
    uint64_t act_stride;
    const float *act_scales;    /* of tile 0 at the chunk's first piece */
    const float *act_sums;      /* sums of a piece's codes */
    const int32_t *act_offsets; /* -128 times those sums; p16: -P16_OFFSET times those of 16, [tile][group] */
    const int32_t *act_pairs;   /* p16, in place of act_sums */
    const int32_t *subs; /* p16: pairs of sub-scales, [piece][row]; scales and minimums are [block][row] */
    const int32_t *sub_minimums;
    uint64_t tile_stride; /* entries of the last three from tile to tile */
    uint64_t tokens;
    gemm_ahead *ahead;   /* a step a tile and piece */
    float *sums;         /* [token][row], 64-byte aligned */
    int32_t offset;      /* what interleave() returned */
    int first, last;     /* first: sums start at zero; last: they go to out */
    float *out;          /* token 0, row 0 */
    uint64_t out_stride; /* floats */
} gemm_chunk;

/* What an instruction set brings. */
typedef struct gemm_kind {
    uint32_t rows;       /* of a band, a multiple of 8 */
    uint32_t tile;       /* tokens that share a tile of act_scales */
    uint32_t chunk;      /* columns of a chunk at most, a multiple of 256 */
    uint32_t float_rows; /* of a band in the float form */
    /* Row-major codes to the order of multiply(); cols a multiple of 32, and up to the next multiple of 64
     * may be read and written. Returns what it added to all codes, or GEMM_SIGNED; with p16 that is given. */
    int32_t (*interleave)(const int8_t *codes, uint64_t code_stride, uint64_t cols, int p16, int8_t *panel);
    /* One number a row and group, [row][group] at a stride that is a multiple of 16, to [piece][row], each
     * group `repeat` times; groups may be read and written up to a multiple of 16 (repeat 1). */
    void (*spread)(const float *in, uint64_t stride, uint64_t groups, uint64_t repeat, float *out);
    void (*multiply)(const gemm_chunk *chunk);
    void (*multiply_p16)(const gemm_chunk *chunk);
    void (*dot)(const float *w, uint64_t w_stride, uint64_t rows, uint64_t cols, const float *x,
                uint64_t x_stride, uint64_t act_rows, float *out, uint64_t out_stride);
} gemm_kind;

void gemm_run(const gemm_kind *kind, const cpu_gemm *call);
uint64_t gemm_scratch_bytes(const gemm_kind *kind, uint64_t cols, uint64_t act_rows);

#endif
