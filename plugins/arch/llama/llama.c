/*
 * llama.c - the llama family: llama, the same model under the names mistral and azmx, and relatives that differ little.
 *
 *     x = token_embd[id]
 *     per layer:  x += Wo Attn(rope(Wq h), rope(Wk h), Wv h)     h = rms(x)
 *                 x += Wd (silu(Wg h) * (Wu h))                  h = rms(x); with experts (Mixtral): their sum
 *     logits = output rms(x)                                     tied: token_embd where output is absent
 *
 * Grouped-query attention, rotation in adjacent pairs. A key attention.sliding_window changes nothing in the first three.
 *
 *     arcee          feed forward down(relu(up)^2), without a gate
 *     baichuan       the 7B form: llama. The 13B form has no rotation, and only its number of layers tells them apart
 *     ernie4_5       llama
 *     hunyuan-dense  halves; q and k are rotated first, then each head has its norm
 *     internlm2      llama
 *     orion          halves; layer norms
 *     seed_oss       halves; the norm before the feed forward is called post_attention_norm
 *     smollm3        each fourth layer does not rotate
 *     xverse         llama
 */
#include "decoder.h"

static void check_baichuan(tn_params *params, decoder *d) {
    char found[32];
    if (d->layer_count == 32 || d->layer_count == 0) { return; }
    snprintf(found, sizeof found, "%u", d->layer_count);
    tn_param_fault(
        params, TN_E_PARAM_UNSUPPORTED, "block_count", found,
        "32: the other published size has linear position biases (ALiBi), which no op here computes");
}

/* A dense model may say that it has one expert. rope.scaling.alpha stretches the base (NTK-aware scaling). */
static void check_hunyuan(tn_params *params, decoder *d) {
    uint32_t experts = tn_param_u32_or(params, "expert_count", 0, TN_WIDTH_MAX, 0);
    double alpha = tn_param_float_or(params, "rope.scaling.alpha", 0, 1e6, 0), rotated = d->rotation.rotated;
    char found[32];
    if (experts > 1) {
        snprintf(found, sizeof found, "%u", experts);
        tn_param_fault(params, TN_E_PARAM_UNSUPPORTED, "expert_count", found, "0 or 1: a dense model");
    }
    if (alpha > 0 && rotated > 2) { d->rotation.base *= pow(alpha, rotated / (rotated - 2)); }
}

static const decoder_traits names[] = {
    {.name = "llama",
     .factors = FACTORS_FREQS,
     .window = WINDOW_IGNORED,
     .experts = EXPERTS_BY_KEY,
     .optional_biases = BIAS_LINEAR},
    {.name = "mistral",
     .factors = FACTORS_FREQS,
     .window = WINDOW_IGNORED,
     .experts = EXPERTS_BY_KEY,
     .optional_biases = BIAS_LINEAR},
    {.name = "azmx",
     .factors = FACTORS_FREQS,
     .window = WINDOW_IGNORED,
     .experts = EXPERTS_BY_KEY,
     .optional_biases = BIAS_LINEAR},
    {.name = "arcee", .factors = FACTORS_FREQS, .ffn = FFN_PLAIN, .act = TN_ACT_RELU2},
    {.name = "baichuan", .output = OUTPUT_OWN, .check = check_baichuan},
    {.name = "ernie4_5", .optional_biases = BIAS_QKV},
    {.name = "hunyuan-dense",
     .rope = ROPE_HALVES,
     .qk_norm = QK_NORM_HEAD,
     .qk_norm_after_rope = true,
     .check = check_hunyuan},
    {.name = "internlm2", .output = OUTPUT_OWN, .optional_biases = BIAS_QKV},
    {.name = "orion", .norm = NORM_LAYER, .rope = ROPE_HALVES, .output = OUTPUT_OWN},
    {.name = "seed_oss", .ffn_norm = "post_attention_norm", .rope = ROPE_HALVES, .optional_biases = BIAS_QKV},
    {.name = "smollm3", .rope_layers = ROPE_NOT_EACH_FOURTH},
    {.name = "xverse", .output = OUTPUT_OWN},
};

DECODER_PLUGIN("arch.llama", names);
