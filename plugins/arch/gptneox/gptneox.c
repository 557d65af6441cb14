/*
 * gptneox.c - GPT-NeoX and Pythia: two layer norms of the same x for attention and feed forward side by side, or one after
 * the other (use_parallel_residual), rotation by halves of a part of each head, gelu, biases.
 */
#include "decoder.h"

static const decoder_traits names[] = {
    {.name = "gptneox",
     .norm = NORM_LAYER,
     .residual = RESIDUAL_BY_KEY,
     .rope = ROPE_HALVES,
     .partial_rope = true,
     .ffn = FFN_PLAIN,
     .act = TN_ACT_GELU_ERF,
     .output = OUTPUT_OWN,
     .biases = BIAS_LINEAR},
};

DECODER_PLUGIN("arch.gptneox", names);
