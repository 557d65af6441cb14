/*
 * exaone.c - EXAONE 3: llama with rotation by halves. EXAONE 4: norms on the results of attention and feed forward only, a
 * norm of each head of q and k; the large one has a window in three of four layers, and the others do not rotate.
 */
#include "decoder.h"

/* Files of the 32B model may lack the window's key. */
static void window_of_32b(tn_params *params, decoder *d) {
    if (d->layer_count == 64) {
        d->window = tn_param_u32_or(params, "attention.sliding_window", 0, TN_CONTEXT_MAX, 4096);
    }
}

static const decoder_traits names[] = {
    {.name = "exaone", .rope = ROPE_HALVES, .factors = FACTORS_FREQS},
    {.name = "exaone4",
     .norms = NORMS_AFTER,
     .qk_norm = QK_NORM_HEAD,
     .rope = ROPE_HALVES,
     .rope_layers = ROPE_WHERE_LOCAL,
     .factors = FACTORS_FREQS,
     .window = WINDOW_LOCAL,
     .window_optional = true,
     .pattern_default = 4,
     .local_rope = LOCAL_ROPE_SAME,
     .check = window_of_32b},
};

DECODER_PLUGIN("arch.exaone", names);
