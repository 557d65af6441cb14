/*
 * stablelm.c - StableLM: layer norms, rotation by halves of a quarter of each head. Some have a layer norm of each head of
 * q and k with weights of its own, some run attention and feed forward side by side: the tensors say so.
 */
#include "decoder.h"

static const decoder_traits names[] = {
    {.name = "stablelm",
     .norm = NORM_LAYER,
     .residual = RESIDUAL_BY_TENSOR,
     .qk_norm = QK_NORM_OWN,
     .qk_norm_optional = true,
     .rope = ROPE_HALVES,
     .partial_rope = true,
     .output = OUTPUT_OWN,
     .optional_biases = BIAS_QKV},
};

DECODER_PLUGIN("arch.stablelm", names);
