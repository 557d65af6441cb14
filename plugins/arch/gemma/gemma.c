/*
 * gemma.c - the gemma family: embeddings times sqrt(width), gelu_tanh, tied output.
 *
 * gemma2: norms before and after each branch, caps on scores and logits, a window on even layers. gemma3: a norm of
 * each head of q and k, a window on five of six layers, whose rotation has a base of its own and no scaling; no caps.
 * The converter has added the 1 of (1 + w) to all norms. The largest model of each scales scores by
 * 1 / sqrt(width / heads), which is known by its number of layers (46, 62).
 */
#include "decoder.h"

static const decoder_traits names[] = {
    {.name = "gemma",
     .rope = ROPE_HALVES,
     .embed_by_width = true,
     .act = TN_ACT_GELU_TANH,
     .output = OUTPUT_TIED},
    {.name = "gemma2",
     .rope = ROPE_HALVES,
     .norms = NORMS_AROUND,
     .embed_by_width = true,
     .act = TN_ACT_GELU_TANH,
     .window = WINDOW_LOCAL,
     .window_default = 4096,
     .pattern_default = 2,
     .softcaps = true,
     .wide_scale_layers = 46,
     .output = OUTPUT_TIED},
    {.name = "gemma3",
     .rope = ROPE_HALVES,
     .norms = NORMS_AROUND,
     .qk_norm = QK_NORM_HEAD,
     .embed_by_width = true,
     .act = TN_ACT_GELU_TANH,
     .window = WINDOW_LOCAL,
     .window_optional = true,
     .pattern_default = 6,
     .local_rope = LOCAL_ROPE_OWN,
     .final_softcap = true,
     .wide_scale_layers = 62},
};

DECODER_PLUGIN("arch.gemma", names);
