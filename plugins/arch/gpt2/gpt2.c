/*
 * gpt2.c - GPT-2: learned positions, layer norms, gelu_tanh without a gate, biases everywhere but in the output. starcoder
 * (SantaCoder, StarCoder 1) is GPT-2 with few key heads.
 */
#include "decoder.h"

static const decoder_traits names[] = {
    {.name = "gpt2",
     .norm = NORM_LAYER,
     .rope = ROPE_NONE,
     .learned_positions = true,
     .ffn = FFN_PLAIN,
     .act = TN_ACT_GELU_TANH,
     .biases = BIAS_LINEAR},
    {.name = "starcoder",
     .norm = NORM_LAYER,
     .rope = ROPE_NONE,
     .learned_positions = true,
     .ffn = FFN_PLAIN,
     .act = TN_ACT_GELU_TANH,
     .biases = BIAS_LINEAR},
};

DECODER_PLUGIN("arch.gpt2", names);
