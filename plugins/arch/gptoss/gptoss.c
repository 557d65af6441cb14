/*
 * gptoss.c - gpt-oss: attention with sinks, a window on even layers, YaRN; experts whose gate is silu(1.702 x) of at most 7
 * times a linear half in -7 .. 7, offset by one; biases everywhere. Despite its name post_attention_norm comes before
 * the experts.
 */
#include "decoder.h"

static const decoder_traits names[] = {
    {.name = "gpt-oss",
     .ffn_norm = "post_attention_norm",
     .sinks = true,
     .rope = ROPE_HALVES,
     .window = WINDOW_LOCAL,
     .pattern_default = 2,
     .experts = EXPERTS_ALWAYS,
     .expert_width_key = true,
     .expert_alpha = 1.702,
     .expert_limit = 7,
     .expert_offset = 1,
     .output = OUTPUT_OWN,
     .biases = BIAS_QKV | BIAS_ATTN_OUTPUT | BIAS_ROUTER | BIAS_EXPERTS},
};

DECODER_PLUGIN("arch.gptoss", names);
