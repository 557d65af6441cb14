/*
 * phi3.c - Phi-3, Phi-3.5-mini, Phi-4, Phi-4-mini: llama with rotation by halves of a part of each head, q, k and v in
 * one matrix, gate and up in one matrix (gate first), and rope factors for short and long contexts. A key
 * attention.sliding_window changes nothing here.
 */
#include "decoder.h"

static const decoder_traits names[] = {
    {.name = "phi3",
     .rope = ROPE_HALVES,
     .partial_rope = true,
     .factors = FACTORS_LONG_SHORT,
     .ffn = FFN_FUSED,
     .window = WINDOW_IGNORED},
};

DECODER_PLUGIN("arch.phi3", names);
