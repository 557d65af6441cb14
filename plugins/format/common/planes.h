/*
 * planes.h - blocks of 256 columns whose codes lie in planes of two bits (Q2_K, Q3_K): byte l of 32 holds
 * columns l, l + 32, l + 64, l + 96 of 128, the first in its lowest bits. Where codes have a third bit it
 * lies in 32 bytes of its own: bit e of byte l is that of column 32 e + l.
 */
#ifndef TENON_PLANES_H
#define TENON_PLANES_H

#include "format_plugin.h"

/** Bytes of a block; where the planes and the third bits begin in it; codes lie in 0 .. 3 or -4 .. 3. */
typedef struct tn_planes {
    uint32_t bytes, low, high, has_high, has_minimum;
} tn_planes;

TN_INLINE void tn_planes_open(const uint8_t *block, tn_planes shape, int8_t *codes) {
    for (uint32_t e = 0; e < 8; e++) {
        for (uint32_t l = 0; l < 32; l++) {
            int32_t code = block[shape.low + 32 * (e / 4) + l] >> 2 * (e % 4) & 3;
            if (shape.has_high) { code += (block[shape.high + l] >> e & 1) * 4 - 4; }
            codes[32 * e + l] = (int8_t)code;
        }
    }
}

/** The same the other way. */
static inline void tn_planes_pack(const int8_t *codes, tn_planes shape, uint8_t *block) {
    for (uint32_t l = 0; l < 32; l++) {
        uint8_t low[2] = {0}, high = 0;
        for (uint32_t e = 0; e < 8; e++) {
            uint32_t code = (uint32_t)(codes[32 * e + l] + (shape.has_high ? 4 : 0));
            low[e / 4] |= (uint8_t)((code & 3) << 2 * (e % 4));
            high |= (uint8_t)(code >> 2 << e);
        }
        block[shape.low + l] = low[0];
        block[shape.low + 32 + l] = low[1];
        if (shape.has_high) { block[shape.high + l] = high; }
    }
}

/** What the codes of a block are multiplied by: w = d * sub * code + m * minimum, a sub-scale (and a minimum)
 * for 16 columns. */
typedef struct tn_plane_head {
    int8_t subs[16];
    uint8_t minimums[16];
    float d, m;
} tn_plane_head;
typedef void tn_plane_open_head(const uint8_t *block, tn_plane_head *head);

/** The head of block b of row r of a p16 panel. */
TN_INLINE void tn_planes_unpack_head(const tn_unpack *call, tn_planes shape, const uint8_t *block,
                                     tn_plane_open_head *open, uint64_t r, uint64_t b) {
    tn_plane_head head;
    open(block, &head);
    memcpy(call->sub_scales + r * call->sub_stride + 16 * b, head.subs, 16);
    call->scales[r * call->scale_stride + b] = head.d;
    if (shape.has_minimum) {
        memcpy(call->sub_minimums + r * call->sub_stride + 16 * b, head.minimums, 16);
        call->minimums[r * call->scale_stride + b] = head.m;
    }
}

/** An activation row at one block column, as kernels want it. */
typedef struct tn_plane_act {
    const int8_t *codes;
    const float *scales;
    const int16_t *sums;
    int32_t
        start[16];  /* where the sums of products of 16 columns begin: with a third bit codes begin at -4 */
    float steps[8]; /* the scales, less what the sums that are multiplied by them are too large by */
} tn_plane_act;

/** The activation rows of a call at column 0. */
TN_INLINE void tn_plane_acts(const tn_gemv *call, tn_plane_act *x) {
    const tn_act *act = call->act;
    for (uint64_t a = 0; a < call->act_rows; a++) {
        uint64_t row = call->act_from + a;
        x[a].codes = (const int8_t *)act->data + row * act->stride;
        x[a].scales = act->scales + row * act->scale_stride;
        x[a].sums = act->sums + row * act->sum_stride;
    }
}

#endif
