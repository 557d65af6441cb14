/*
 * nemotron.c - Nemotron: layer norms (the converter has added the 1 of (1 + w)), rotation by halves of a part of each head,
 * feed forward down(relu(up)^2).
 */
#include "decoder.h"

static const decoder_traits names[] = {
    {.name = "nemotron",
     .norm = NORM_LAYER,
     .rope = ROPE_HALVES,
     .partial_rope = true,
     .ffn = FFN_PLAIN,
     .act = TN_ACT_RELU2,
     .output = OUTPUT_OWN,
     .optional_biases = BIAS_LINEAR},
};

DECODER_PLUGIN("arch.nemotron", names);
