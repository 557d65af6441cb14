/*
 * scalar_kernels.h - the portable kernels, written once for all formats: a format gives its block taken apart
 * (quantised types) or one element (float types), and these are the rule of summing of tenon/format.h as it
 * stands there. The other instruction sets must give the same bits.
 *
 * Functions are handed over as constants to functions that are always inlined, so that nothing is called
 * through a pointer.
 */
#ifndef TENON_SCALAR_KERNELS_H
#define TENON_SCALAR_KERNELS_H

#include "blocks.h"

static inline int32_t tn_dot_codes(const int8_t *a, const int8_t *b, uint32_t count) {
    int32_t sum = 0;
    for (uint32_t i = 0; i < count; i++) { sum += a[i] * b[i]; }
    return sum;
}

/** One opened block times one activation row: continues acc over the block's pieces. */
TN_INLINE float tn_scalar_block(tn_shape shape, const int8_t *codes, const float *scales,
                                const float *minimums, const tn_act *act, uint64_t row, uint64_t col,
                                float acc) {
    const int8_t *x = (const int8_t *)act->data + row * act->stride + col;
    const float *x_scales = act->scales + row * act->scale_stride + col / 32;
    const int16_t *x_sums = act->sums + row * act->sum_stride + col / 16;
    uint32_t piece = shape.group < 32 ? shape.group : 32;
    for (uint32_t i = 0; i < shape.block; i += piece) {
        float x_scale = x_scales[i / 32];
        acc = fmaf((float)tn_dot_codes(codes + i, x + i, piece), scales[i / shape.group] * x_scale, acc);
        if (shape.has_minimum) {
            int32_t sum = x_sums[i / 16] + (piece == 32 ? x_sums[i / 16 + 1] : 0);
            acc = fmaf((float)sum, minimums[i / shape.group] * x_scale, acc);
        }
    }
    return acc;
}

TN_INLINE void tn_scalar_gemv_i8x32(const tn_gemv *call, tn_shape shape, tn_block_open *open) {
    for (uint64_t r = 0; r < call->rows; r++) {
        const uint8_t *block = (const uint8_t *)call->blocks + r * call->row_stride;
        float acc[TN_MAX_ROWS] = {0};
        for (uint64_t col = 0; col < call->cols; col += shape.block, block += shape.bytes) {
            int8_t codes[TN_BLOCK_MAX];
            float scales[TN_BLOCK_MAX / 16], minimums[TN_BLOCK_MAX / 16];
            open(block, codes, scales, minimums);
            for (uint32_t a = 0; a < call->act_rows; a++) {
                acc[a] = tn_scalar_block(shape, codes, scales, minimums, call->act, call->act_from + a, col,
                                         acc[a]);
            }
        }
        for (uint32_t a = 0; a < call->act_rows; a++) { call->out[a * call->out_stride + r] = acc[a]; }
    }
}

TN_INLINE void tn_scalar_unpack_p8(const tn_unpack *call, tn_shape shape, tn_block_open *open) {
    for (uint64_t r = 0; r < call->rows; r++) {
        const uint8_t *block = (const uint8_t *)call->blocks + r * call->row_stride;
        int8_t *codes = (int8_t *)call->codes + r * call->code_stride;
        uint64_t scale = r * call->scale_stride;
        block += call->col_from / shape.block * shape.bytes;
        for (uint64_t col = call->col_from; col < call->col_to; col += shape.block) {
            open(block, codes, call->scales + scale, shape.has_minimum ? call->minimums + scale : NULL);
            block += shape.bytes;
            codes += shape.block;
            scale += shape.block / shape.group;
        }
    }
}

/** One element of a float type. */
typedef float tn_element_load(const uint8_t *at);

/** a[0..15] folded into one: 8, 4, 2, 1. */
static inline float tn_scalar_fold(float *a) {
    for (uint32_t half = 8; half >= 1; half /= 2) {
        for (uint32_t i = 0; i < half; i++) { a[i] += a[i + half]; }
    }
    return a[0];
}

TN_INLINE void tn_scalar_gemv_f32(const tn_gemv *call, uint32_t bytes, tn_element_load *load) {
    for (uint64_t r = 0; r < call->rows; r++) {
        const uint8_t *w = (const uint8_t *)call->blocks + r * call->row_stride;
        for (uint32_t a = 0; a < call->act_rows; a++) {
            const float *x =
                (const float *)((const uint8_t *)call->act->data + (call->act_from + a) * call->act->stride);
            float acc[16] = {0};
            for (uint64_t c = 0; c < call->cols; c++) {
                acc[c % 16] = fmaf(load(w + c * bytes), x[c], acc[c % 16]);
            }
            call->out[a * call->out_stride + r] = tn_scalar_fold(acc);
        }
    }
}

TN_INLINE void tn_scalar_unpack_f32(const tn_unpack *call, uint32_t bytes, tn_element_load *load) {
    for (uint64_t r = 0; r < call->rows; r++) {
        const uint8_t *w = (const uint8_t *)call->blocks + r * call->row_stride + call->col_from * bytes;
        float *out = (float *)((uint8_t *)call->codes + r * call->code_stride);
        for (uint64_t c = 0; c < call->col_to - call->col_from; c++) { out[c] = load(w + c * bytes); }
    }
}

TN_INLINE void tn_scalar_blend(const tn_blend *call, uint32_t bytes, tn_element_load *load) {
    for (uint64_t j = 0; j < call->rows; j++) {
        const uint8_t *w = (const uint8_t *)call->blocks + j * call->row_stride;
        for (uint32_t a = 0; a < call->act_rows; a++) {
            float weight = call->weights[a * call->weight_stride + j];
            float *out = call->out + a * call->out_stride;
            for (uint64_t c = 0; c < call->cols; c++) { out[c] = fmaf(weight, load(w + c * bytes), out[c]); }
        }
    }
}

#endif
