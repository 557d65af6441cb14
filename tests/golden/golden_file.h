/*
 * golden_file.h - reads tests/data/golden/NAME.txt: one fact a line, words separated by blanks, lists with
 * their length in front.
 */
#ifndef TENON_TESTS_GOLDEN_FILE_H
#define TENON_TESTS_GOLDEN_FILE_H

#include "tenon/model.h"

#define GOLDEN_IDS 128
#define GOLDEN_ADAPTERS 4

typedef struct golden {
    char model[512]; /* path */
    uint32_t context, prompt_count, greedy_count, rows, width;
    int32_t prompt[GOLDEN_IDS], greedy[GOLDEN_IDS];
    double tolerance_f32, tolerance_f16;
    double tolerance_q8_rms; /* 0: weights are floats */
    tn_adapter adapters[GOLDEN_ADAPTERS];
    uint32_t adapter_count;
    char adapter_paths[GOLDEN_ADAPTERS][512];
    float *logits; /* rows by width; of an encoder its hidden states */
    float *pooled; /* of an encoder: pooled_width numbers of the prompt as a whole; else NULL */
    uint32_t pooled_width;
} golden;

/** Reads it or fails the test. */
void golden_open(golden *g, const char *name);
void golden_close(golden *g);

#endif
