/*
 * cohere.c - Command R: attention and feed forward side by side behind one layer norm without bias, tied output, a factor on
 * the logits; the larger ones have a layer norm of each head of q and k with weights of its own. Cohere 2: three of
 * four layers have a window, and the others do not rotate.
 */
#include "decoder.h"

static const decoder_traits names[] = {
    {.name = "command-r",
     .norm = NORM_LAYER_UNBIASED,
     .residual = RESIDUAL_PARALLEL,
     .qk_norm = QK_NORM_OWN,
     .qk_norm_optional = true,
     .scales = SCALE_LOGITS,
     .output = OUTPUT_TIED},
    {.name = "cohere2",
     .norm = NORM_LAYER_UNBIASED,
     .residual = RESIDUAL_PARALLEL,
     .rope_layers = ROPE_WHERE_LOCAL,
     .window = WINDOW_LOCAL,
     .pattern_default = 4,
     .local_rope = LOCAL_ROPE_SAME,
     .scales = SCALE_LOGITS,
     .needs_logit_scale = true,
     .output = OUTPUT_TIED},
};

DECODER_PLUGIN("arch.cohere", names);
