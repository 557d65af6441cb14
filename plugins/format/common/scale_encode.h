/* scale_encode.h - encoding of types with codes and one binary16 scale for 32 columns (Q4_0, Q5_0). */
#ifndef TENON_FORMAT_SCALE_ENCODE_H
#define TENON_FORMAT_SCALE_ENCODE_H

#include "run_encode.h"
#include "scale_search.h"

/** The codes of 32 numbers and their scale to a block. */
typedef void tn_scale_pack(const int8_t *codes, float scale, uint8_t *block);

/** Where binary16 is coarse the nearest is not always best: the best of it and its neighbours, and its codes. */
static inline float tn_scale_choose(const float *x, const float *importance, float low, float scale,
                                    int8_t *codes) {
    float weights[TN_RUN_COLS], near[3], best = INFINITY, unit = tn_inverse(tn_largest(x, TN_RUN_COLS));
    tn_block_weights(importance, TN_RUN_COLS, weights);
    tn_half_neighbours(scale, near);
    for (uint32_t i = 0; i < 3; i++) {
        int8_t trial[TN_RUN_COLS];
        float error = tn_codes_for_scale(x, weights, TN_RUN_COLS, low, -low - 1, near[i], unit, trial);
        if (error < best) {
            best = error;
            scale = near[i];
            memcpy(codes, trial, sizeof trial);
        }
    }
    return scale;
}

/** The codes of 32 numbers for about `scale`, and the scale as it is stored. */
TN_INLINE float tn_scale_round(const float *x, const float *importance, float low, float scale,
                               int8_t *codes) {
    float stored = tn_float_of_half(tn_half_of_float(scale)), inverse = tn_inverse(stored);
    if (fabsf(stored) < 0x1p-14f) { return tn_scale_choose(x, importance, low, scale, codes); }
    for (uint32_t i = 0; i < TN_RUN_COLS; i++) {
        codes[i] = (int8_t)tn_nearest(x[i] * inverse, low, -low - 1);
    }
    return stored;
}

/** A run as tn_run_encode, blocks of `bytes` bytes. */
TN_INLINE uint32_t tn_scale_encode(const tn_run *run, float low, tn_scale_effort effort, uint32_t bytes,
                                   tn_scale_pack *pack, uint8_t *blocks) {
    tn_scale_shape shape = {TN_RUN, TN_RUN_COLS, low};
    tn_turned turned;
    float scales[TN_RUN];
    tn_turn_run(run, &turned);
    if (!run->importance[0]) { effort.heavy = 0; } /* all have the same weight */
    for (uint32_t b = 0; b < TN_RUN; b += TN_LANES) {
        tn_lanes scale = tn_scale_search(turned.x + b, turned.weights + b, shape, effort).scale;
        tn_lanes_store(scales + b, scale * tn_lanes_load(turned.largest + b));
    }
    for (uint32_t b = 0; b < run->count; b++, blocks += bytes) {
        int8_t codes[TN_RUN_COLS];
        float scale = tn_scale_round(run->x + b * TN_RUN_COLS, run->importance[b], low, scales[b], codes);
        if (!isfinite(scale)) { return b; }
        pack(codes, scale, blocks);
    }
    return run->count;
}

#endif
