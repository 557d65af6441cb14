/*
 * falcon.c - Falcon: attention and feed forward side by side, few key heads, gelu, no biases. The 40B form has two norms:
 * attn_norm_2 feeds attention, attn_norm the feed forward.
 */
#include "decoder.h"

static const decoder_traits names[] = {
    {.name = "falcon",
     .norm = NORM_LAYER,
     .residual = RESIDUAL_PARALLEL,
     .second_attn_norm = true,
     .rope = ROPE_HALVES,
     .ffn = FFN_PLAIN,
     .act = TN_ACT_GELU_ERF},
};

DECODER_PLUGIN("arch.falcon", names);
