/*
 * planes_scalar.h - decode and the portable kernels of codes in planes of two bits: the rule of summing of
 * tenon/format.h with sub-scales, as it stands there.
 */
#ifndef TENON_PLANES_SCALAR_H
#define TENON_PLANES_SCALAR_H

#include "planes.h"
#include "scalar_kernels.h"

/** A block taken apart, for tn_decode_blocks. */
TN_INLINE void tn_planes_open_all(const uint8_t *block, tn_planes shape, tn_plane_open_head *open_head,
                                  int8_t *codes, float *scales, float *minimums) {
    tn_plane_head head;
    open_head(block, &head);
    for (uint32_t g = 0; g < 16; g++) {
        scales[g] = head.d * head.subs[g];
        if (shape.has_minimum) { minimums[g] = head.m * head.minimums[g]; }
    }
    tn_planes_open(block, shape, codes);
}

/** One opened block times the activation codes from column `col` of a row on; adds to acc. */
TN_INLINE float tn_planes_block(const int8_t *codes, const tn_plane_head *head, int has_minimum,
                                const tn_act *act, uint64_t row, uint64_t col, float acc) {
    const int8_t *x = (const int8_t *)act->data + row * act->stride + col;
    const float *x_scales = act->scales + row * act->scale_stride + col / 32;
    const int16_t *x_sums = act->sums + row * act->sum_stride + col / 16;
    float t = 0, u = 0;
    for (uint32_t e = 0; e < 8; e++) {
        int32_t sum = 0, minimums = 0;
        for (uint32_t g = 2 * e; g < 2 * e + 2; g++) {
            sum += head->subs[g] * tn_dot_codes(codes + 16 * g, x + 16 * g, 16);
            minimums += head->minimums[g] * x_sums[g];
        }
        t = fmaf((float)sum, x_scales[e], t);
        if (has_minimum) { u = fmaf((float)minimums, x_scales[e], u); }
    }
    acc = fmaf(t, head->d, acc);
    return has_minimum ? fmaf(u, head->m, acc) : acc;
}

TN_INLINE void tn_planes_gemv_scalar(const tn_gemv *call, tn_planes shape, tn_plane_open_head *open_head) {
    for (uint64_t r = 0; r < call->rows; r++) {
        const uint8_t *block = (const uint8_t *)call->blocks + r * call->row_stride;
        float acc[TN_MAX_ROWS] = {0};
        for (uint64_t col = 0; col < call->cols; col += 256, block += shape.bytes) {
            int8_t codes[256];
            tn_plane_head head;
            tn_planes_open(block, shape, codes);
            open_head(block, &head);
            for (uint32_t a = 0; a < call->act_rows; a++) {
                acc[a] = tn_planes_block(codes, &head, (int)shape.has_minimum, call->act, call->act_from + a,
                                         col, acc[a]);
            }
        }
        for (uint32_t a = 0; a < call->act_rows; a++) { call->out[a * call->out_stride + r] = acc[a]; }
    }
}

TN_INLINE void tn_planes_unpack_scalar(const tn_unpack *call, tn_planes shape,
                                       tn_plane_open_head *open_head) {
    for (uint64_t r = 0; r < call->rows; r++) {
        const uint8_t *block =
            (const uint8_t *)call->blocks + r * call->row_stride + call->col_from / 256 * shape.bytes;
        int8_t *codes = (int8_t *)call->codes + r * call->code_stride;
        for (uint64_t b = 0; b < (call->col_to - call->col_from) / 256; b++, block += shape.bytes) {
            tn_planes_open(block, shape, codes + 256 * b);
            tn_planes_unpack_head(call, shape, block, open_head, r, b);
        }
    }
}

#endif
