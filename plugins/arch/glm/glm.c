/*
 * glm.c - GLM-4-0414: norms before and after attention and feed forward, rotation in adjacent pairs of a part of each head,
 * gate and up in one matrix (gate first).
 */
#include "decoder.h"

static const decoder_traits names[] = {
    {.name = "glm4",
     .norms = NORMS_AROUND,
     .partial_rope = true,
     .ffn = FFN_FUSED,
     .optional_biases = BIAS_QKV},
};

DECODER_PLUGIN("arch.glm", names);
