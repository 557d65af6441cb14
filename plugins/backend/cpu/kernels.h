/*
 * kernels.h - what the cpu backend has for each instruction set: rows, norms, activations, panel GEMM.
 *
 * One table an instruction set (portable, avx2, avx512vnni), picked once when the plugin opens. All tables
 * give the same bits: each function's arithmetic is defined by its portable form, and the others follow it
 * lane by lane (fused multiply-add where it says fma, nothing contracted, reductions in sixteen lanes folded
 * 8, 4, 2, 1, exp and tanh by one polynomial). Nothing here allocates, and nothing here knows a thread.
 *
 * Rows are float32, any alignment, any length; outputs may be the same memory as inputs where the lengths
 * agree.
 */
#ifndef TENON_CPU_KERNELS_H
#define TENON_CPU_KERNELS_H

#include "tenon/backend.h"

/**
 * A matrix product on a slice of weight rows: out[a * out_stride + r - row_from] = W[r] . act[a], by the rule
 * of summing of tenon/format.h, for r in row_from .. row_to - 1 and activation rows act_from .. act_from +
 * act_rows - 1. Weights come through the format's unpack kernel, band by band, into `scratch`. cols is at
 * least 1; of p8 panels, block and group are powers of two up to 256, the group at least 16, and the form is
 * I8X32 or I8X256; of p16 panels, the block is 256 and the form I8X32.
 */
typedef struct cpu_gemm {
    const tn_format_kernel
        *unpack; /* TN_PANEL_P8, TN_PANEL_P16 (with integer forms) or TN_PANEL_F32 (with TN_FORM_F32) */
    const void *blocks; /* of weight row 0 */
    uint64_t row_stride, row_from, row_to, cols;
    uint32_t has_minimum; /* p8, p16: 1 if the format has minimums */
    uint32_t block;       /* elements of the format's block */
    const tn_act *act;
    uint64_t act_from, act_rows;
    float *out;
    uint64_t out_stride; /* floats */
    void *scratch;       /* of this worker, 64-byte aligned, gemm_scratch() bytes */
} cpu_gemm;

typedef struct cpu_kernels {
    const char *name; /* "avx512vnni" */
    uint64_t isa;     /* TN_ISA_* bits that must all be there */

    /* ---- rows to codes (forms of tenon/format.h); cols a multiple of 32 (256) */
    void (*quantise_i8x32)(const float *x, uint64_t cols, int8_t *codes, float *scales, int16_t *sums);
    void (*quantise_i8x256)(const float *x, uint64_t cols, int8_t *codes, float *scales, int16_t *sums);

    /* ---- norms over n numbers; w, b may be NULL */
    void (*norm_rms)(const float *x, const float *w, const float *b, uint64_t n, float eps, float *out);
    void (*norm_layer)(const float *x, const float *w, const float *b, uint64_t n, float eps, float *out);

    /* ---- elementwise */
    void (*add)(const float *a, const float *b, uint64_t n, float *out);
    void (*mul)(const float *a, const float *b, uint64_t n, float *out);
    void (*scale)(const float *x, float factor, uint64_t n, float *out);
    void (*softcap)(const float *x, float cap, uint64_t n, float *out); /* cap * tanh(x / cap) */
    void (*clamp)(const float *x, float limit, uint64_t n, float *out); /* into -limit .. limit */
    void (*act)(uint32_t act, float alpha, const float *x, uint64_t n, float *out);
    void (*glu)(uint32_t act, float alpha, float limit, float offset, const float *g, const float *u,
                uint64_t n, float *out);
    /* Rotates `heads` heads of head_dim in place; cosine and sine hold rotated / 2 numbers, magnitude inside.
     */
    void (*rope)(float *x, uint32_t heads, uint32_t head_dim, uint32_t rotated, uint32_t pairing,
                 const float *cosine, const float *sine);

    /* ---- pieces of attention */
    float (*max)(const float *x, uint64_t n);                            /* n >= 1; NaN if there is one */
    float (*exp_sum)(const float *x, float max, uint64_t n, float *out); /* out = exp(x - max); their sum */
    void (*merge)(float *acc, float acc_factor, const float *x, float x_factor,
                  uint64_t n); /* acc = fma(x, xf, acc * af) */
    /* out[a][c] = fma(weights[a][j], v[j][c], out[a][c]), j in order: the rule of tn_blend on float rows, any
     * number of a. */
    void (*blend)(const float *v, uint64_t v_stride, uint64_t rows, uint64_t cols, const float *weights,
                  uint64_t weight_stride, uint64_t act_rows, float *out, uint64_t out_stride);
    /* out[a][r] = w[r] . x[a] by the float rule on float rows, any number of a and r. Strides in floats. */
    void (*dot)(const float *w, uint64_t w_stride, uint64_t rows, uint64_t cols, const float *x,
                uint64_t x_stride, uint64_t act_rows, float *out, uint64_t out_stride);

    /* ---- matrix product through panels */
    void (*gemm)(const cpu_gemm *call);
    uint64_t (*gemm_scratch)(uint64_t cols, uint64_t act_rows); /* an upper bound in bytes */
    uint32_t gemm_from; /* from how many activation rows gemm pays against repeated gemv (same bits on both
                           sides) */
    uint32_t gemm_rows; /* slices of a multiple of this many weight rows are best */
} cpu_kernels;

/* The best table that the bits in `isa` allow; never NULL. */
const cpu_kernels *cpu_kernels_pick(uint64_t isa);
/* All tables compiled in, best first, NULL at the end: for tests. */
extern const cpu_kernels *const cpu_kernels_all[];

#endif
