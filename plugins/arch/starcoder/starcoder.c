/*
 * starcoder.c - StarCoder 2: layer norms, rotation by halves, grouped queries, gelu_tanh without a gate, biases. CodeShell is
 * the same; its files may keep the embedding in output.weight alone. (starcoder itself is a GPT-2.)
 */
#include "decoder.h"

static const decoder_traits names[] = {
    {.name = "starcoder2",
     .norm = NORM_LAYER,
     .rope = ROPE_HALVES,
     .ffn = FFN_PLAIN,
     .act = TN_ACT_GELU_TANH,
     .biases = BIAS_ATTN_OUTPUT | BIAS_FFN,
     .optional_biases = BIAS_QKV},
    {.name = "codeshell",
     .norm = NORM_LAYER,
     .rope = ROPE_HALVES,
     .ffn = FFN_PLAIN,
     .act = TN_ACT_GELU_TANH,
     .output = OUTPUT_OWN,
     .shared_embd = true,
     .biases = BIAS_ATTN_OUTPUT | BIAS_FFN,
     .optional_biases = BIAS_QKV},
};

DECODER_PLUGIN("arch.starcoder", names);
