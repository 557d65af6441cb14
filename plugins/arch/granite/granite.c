/*
 * granite.c - Granite: llama with factors on embeddings, branches, scores and logits (the last divides), and perhaps experts
 * with a shared one beside them. MiniCPM: the same without the factor on scores; older files lack the keys, their
 * factors follow from the sizes.
 */
#include "decoder.h"

/* The peer takes a "finetuned" of false as "no rotation"; what the file means is not known. */
static void check_granite(tn_params *params, decoder *d) {
    (void)d;
    if (tn_param_bool_or(params, "rope.scaling.finetuned", 1)) { return; }
    tn_param_fault(params, TN_E_PARAM_UNSUPPORTED, "rope.scaling.finetuned", "false", "absent or true");
}

/* scale_emb, scale_depth / sqrt(layers), hidden_size / dim_model_base of the published models. */
static void minicpm_scales(decoder *d) {
    d->embedding_scale = 12;
    d->residual_scale = 1.4 / sqrt(d->layer_count);
    d->logit_scale = d->width / 256.0;
}

static const decoder_traits names[] = {
    {.name = "granite",
     .scales = SCALE_EMBEDDING | SCALE_RESIDUAL | SCALE_ATTENTION | SCALE_LOGITS_DOWN,
     .needs_logit_scale = true,
     .factors = FACTORS_FREQS | FACTORS_LONG_SHORT,
     .experts = EXPERTS_BY_KEY,
     .shared = SHARED_BY_KEY,
     .optional_biases = BIAS_LINEAR,
     .check = check_granite},
    {.name = "granitemoe",
     .scales = SCALE_EMBEDDING | SCALE_RESIDUAL | SCALE_ATTENTION | SCALE_LOGITS_DOWN,
     .needs_logit_scale = true,
     .factors = FACTORS_FREQS | FACTORS_LONG_SHORT,
     .experts = EXPERTS_BY_KEY,
     .shared = SHARED_BY_KEY,
     .optional_biases = BIAS_LINEAR,
     .check = check_granite},
    {.name = "minicpm",
     .scales = SCALE_EMBEDDING | SCALE_RESIDUAL | SCALE_LOGITS_DOWN,
     .default_scales = minicpm_scales,
     .factors = FACTORS_FREQS | FACTORS_LONG_SHORT,
     .optional_biases = BIAS_LINEAR},
};

DECODER_PLUGIN("arch.granite", names);
