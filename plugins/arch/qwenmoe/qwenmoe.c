/*
 * qwenmoe.c - the qwen family with experts. qwen2moe: weights of the experts as they come, and a shared expert behind a
 * gate of one number. qwen3moe: weights over their sum, no shared expert.
 */
#include "decoder.h"

static const decoder_traits names[] = {
    {.name = "qwen2moe",
     .rope = ROPE_HALVES,
     .biases = BIAS_QKV,
     .experts = EXPERTS_ALWAYS,
     .expert_width_key = true,
     .expert_unnormalised = true,
     .shared = SHARED_GATED,
     .output = OUTPUT_OWN,
     .window = WINDOW_IGNORED},
    {.name = "qwen3moe",
     .rope = ROPE_HALVES,
     .qk_norm = QK_NORM_HEAD,
     .experts = EXPERTS_ALWAYS,
     .expert_width_key = true,
     .window = WINDOW_IGNORED},
};

DECODER_PLUGIN("arch.qwenmoe", names);
