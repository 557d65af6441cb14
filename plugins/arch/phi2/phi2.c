/*
 * phi2.c - Phi-2: one layer norm whose result goes to attention and feed forward side by side, rotation by halves of a
 * part of each head, gelu_tanh, biases everywhere, the output matrix too.
 */
#include "decoder.h"

static const decoder_traits names[] = {
    {.name = "phi2",
     .norm = NORM_LAYER,
     .residual = RESIDUAL_PARALLEL,
     .rope = ROPE_HALVES,
     .partial_rope = true,
     .ffn = FFN_PLAIN,
     .act = TN_ACT_GELU_TANH,
     .output = OUTPUT_OWN,
     .biases = BIAS_LINEAR | BIAS_OUTPUT},
};

DECODER_PLUGIN("arch.phi2", names);
