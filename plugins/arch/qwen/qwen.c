/*
 * qwen.c - qwen2: llama with rotation by halves and biases on q, k and v. qwen3: without biases, but with a norm of
 * each head of q and k before the rotation. qwen: qwen2 whose feed_forward_length counts gate and up.
 */
#include "decoder.h"

static const decoder_traits names[] = {
    {.name = "qwen",
     .rope = ROPE_HALVES,
     .half_ffn = true,
     .output = OUTPUT_OWN,
     .biases = BIAS_QKV,
     .window = WINDOW_IGNORED},
    {.name = "qwen2",
     .rope = ROPE_HALVES,
     .biases = BIAS_QKV,
     .optional_biases = BIAS_OUTPUT,
     .window = WINDOW_IGNORED},
    {.name = "qwen3", .rope = ROPE_HALVES, .qk_norm = QK_NORM_HEAD, .window = WINDOW_IGNORED},
};

DECODER_PLUGIN("arch.qwen", names);
