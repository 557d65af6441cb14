/*
 * run_encode.h - encoders that take up to eight blocks of 32 columns at a time, one a lane of scale_search.h or
 * line_search.h.
 */
#ifndef TENON_FORMAT_RUN_ENCODE_H
#define TENON_FORMAT_RUN_ENCODE_H

#include "blocks.h"
#include "k_lanes.h"

/** Blocks of a run, and numbers of a block. */
enum { TN_RUN = 8, TN_RUN_COLS = 32 };

/** Blocks that lie one behind the other, from x on, and the importance of each one's columns. */
typedef struct tn_run {
    const float *x, *importance[TN_RUN]; /* importance: all NULL if there is none */
    uint32_t count;
} tn_run;

/** Encodes a run; returns how many blocks come before the first that needs a scale beyond binary16. */
typedef uint32_t tn_run_encode(const tn_run *run, uint8_t *blocks);

/** Rows to blocks, as `encode` of tenon/format.h. */
TN_INLINE int32_t tn_encode_runs(const float *x, uint64_t rows, uint64_t cols, const float *importance,
                                 void *blocks, tn_error *err, uint32_t bytes, tn_run_encode *encode) {
    uint64_t in_row = cols / TN_RUN_COLS, count = rows * in_row;
    TN_TRY(tn_encode_check(x, rows, cols, importance, err));
    for (uint64_t b = 0; b < count; b += TN_RUN) {
        tn_run run = {.x = x + b * TN_RUN_COLS, .count = count - b < TN_RUN ? (uint32_t)(count - b) : TN_RUN};
        for (uint32_t i = 0; importance && i < run.count; i++) {
            run.importance[i] = importance + (b + i) % in_row * TN_RUN_COLS;
        }
        uint64_t done = encode(&run, (uint8_t *)blocks + b * bytes);
        if (done < run.count) {
            uint64_t bad = b + done;
            return tn_encode_overflow(bad / in_row, bad % in_row * TN_RUN_COLS,
                                      tn_largest(x + bad * TN_RUN_COLS, TN_RUN_COLS), err);
        }
    }
    return TN_OK;
}

/** A run turned on its side: number i of block b at [i * TN_RUN + b]; lanes without a block repeat the last.
 * Numbers are in units of the largest of their block, weights as tn_block_weights() leaves them. */
typedef struct tn_turned {
    float x[TN_RUN * TN_RUN_COLS], weights[TN_RUN * TN_RUN_COLS], largest[TN_RUN];
} tn_turned;

TN_INLINE void tn_turn_run(const tn_run *run, tn_turned *turned) {
    for (uint32_t b = 0; b < TN_RUN; b++) {
        uint32_t from = b < run->count ? b : run->count - 1;
        const float *x = run->x + from * TN_RUN_COLS, *importance = run->importance[from];
        for (uint32_t i = 0; i < TN_RUN_COLS; i++) {
            turned->x[i * TN_RUN + b] = x[i];
            turned->weights[i * TN_RUN + b] = importance ? importance[i] : 1;
        }
    }
    for (uint32_t b = 0; b < TN_RUN; b += TN_LANES) {
        tn_lanes largest = {0}, heaviest = {0};
        for (uint32_t i = b; i < TN_RUN * TN_RUN_COLS; i += TN_RUN) {
            tn_lanes x = tn_lanes_load(turned->x + i);
            largest = tn_lanes_max(tn_lanes_max(x, -x), largest);
            heaviest = tn_lanes_max(tn_lanes_load(turned->weights + i), heaviest);
        }
        tn_lanes unit = tn_lanes_ratio(tn_lanes_all(1), largest), ones = tn_lanes_all(1);
        for (uint32_t i = b; i < TN_RUN * TN_RUN_COLS; i += TN_RUN) {
            tn_lanes weight = tn_lanes_load(turned->weights + i) / heaviest;
            tn_lanes_store(turned->x + i, tn_lanes_load(turned->x + i) * unit);
            tn_lanes_store(turned->weights + i, tn_lanes_select(heaviest > 0, weight, ones));
        }
        tn_lanes_store(turned->largest + b, largest);
    }
}

#endif
