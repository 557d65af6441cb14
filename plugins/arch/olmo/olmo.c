/*
 * olmo.c - OLMo: layer norms without weights, q, k and v within a range. OLMo 2 and 3: norms on the results of attention and feed forward only, norms
 * of the whole rows of q and k; in OLMo 3 three of four layers have a window, and rotate without scaling. OLMoE: norms
 * before, norms of q and k, experts whose weights are taken as they come.
 */
#include "decoder.h"

static const decoder_traits names[] = {
    {.name = "olmo", .norm = NORM_LAYER_PLAIN, .clamp = true},
    {.name = "olmo2",
     .norms = NORMS_AFTER,
     .qk_norm = QK_NORM_ROW,
     .rope = ROPE_HALVES,
     .window = WINDOW_LOCAL,
     .window_optional = true,
     .pattern_default = 4,
     .local_rope = LOCAL_ROPE_PLAIN,
     .output = OUTPUT_OWN},
    {.name = "olmoe",
     .qk_norm = QK_NORM_ROW,
     .rope = ROPE_HALVES,
     .experts = EXPERTS_ALWAYS,
     .expert_unnormalised = true,
     .output = OUTPUT_OWN},
};

DECODER_PLUGIN("arch.olmo", names);
