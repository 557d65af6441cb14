/*
 * decoder.h - what decoder families share: one description of how decoders differ, and the code that follows it.
 *
 * A decoder embeds tokens, passes them through layers of attention and feed forward (or experts), each with norms
 * and residual sums around it, and multiplies the last norm with the output matrix. Families differ in details of
 * that, and each detail is a member of decoder_traits; 0 everywhere is llama. A family plugin is a table of its names
 * with their traits, and DECODER_PLUGIN. With x the rows of the residual stream, in general:
 *
 *     x  = token_embd[id] * embedding scale (+ position_embd[t])
 *     layer, sequential:  y = x + s N(Attn(N(x))),  x = y + s N(FFN(N(y)))      N: a norm before, after, around
 *     layer, parallel:    h = N(x),  x = x + s Attn(h) + s FFN(h or N'(x))      s: residual scale
 *     logits = cap(logit scale * (output N(x)))
 *
 *     decoder_params.c    hyperparameters         decoder_tensors.c    claims
 *     decoder_variants.c  keys that nobody read   decoder_graph.c      the graph
 *     configure.c         how reading begins and ends
 */
#ifndef TENON_ARCH_DECODER_H
#define TENON_ARCH_DECODER_H

#include "tenon/build.h"
#include "tenon/plugin.h"

#include <stdbool.h>

/* Kinds of norms. The file has its epsilon as attention.layer_norm_rms_epsilon, or attention.layer_norm_epsilon. */
enum {
    NORM_RMS,
    NORM_LAYER,          /* weight and bias */
    NORM_LAYER_UNBIASED, /* weight only */
    NORM_LAYER_PLAIN     /* neither */
};

/* Where norms are: before attention and feed forward, on their results, or both. */
enum { NORMS_BEFORE, NORMS_AFTER, NORMS_AROUND };

/* How attention and feed forward are added to x. BY_KEY: use_parallel_residual. BY_TENSOR: parallel in a layer without
 * ffn_norm. A parallel layer that has ffn_norm feeds it with x, one without shares the attention's norm. */
enum { RESIDUAL_SEQUENTIAL, RESIDUAL_PARALLEL, RESIDUAL_BY_KEY, RESIDUAL_BY_TENSOR };

/* Norms of queries and keys: rms of each head with one weight for all, rms of the whole row, or the layer norm of each
 * head with weights of its own. Before the rotation, unless `qk_norm_after_rope`. */
enum { QK_NORM_NONE, QK_NORM_HEAD, QK_NORM_ROW, QK_NORM_OWN };

/* Which elements of a head are a pair. */
enum { ROPE_ADJACENT, ROPE_HALVES, ROPE_NONE };
/* Which layers rotate: all, those with a window (all, if the model has none), or all but each fourth. */
enum { ROPE_EVERYWHERE, ROPE_WHERE_LOCAL, ROPE_NOT_EACH_FOURTH };
/* Tensors that divide frequencies, as bits: rope_freqs.weight; rope_factors_long and _short, by context size. */
enum { FACTORS_FREQS = 1, FACTORS_LONG_SHORT = 2 };

/* attention.sliding_window: unknown to the family (a file that has it is refused), known to change nothing, or the
 * window of local layers. Layer i is local if i mod P < P - 1; attention.sliding_window_pattern says P, or lists all. */
enum { WINDOW_NONE, WINDOW_IGNORED, WINDOW_LOCAL };
/* Rotation of local layers: as elsewhere, but for a base of their own (rope.freq_base_swa); a base of their own, 10000
 * by default, and no scaling; just as elsewhere; the base of elsewhere without scaling. */
enum { LOCAL_ROPE_BASE, LOCAL_ROPE_OWN, LOCAL_ROPE_SAME, LOCAL_ROPE_PLAIN };

/* Feed forward: down(act(gate) * up), the same with gate and up in ffn_up (gate first), or down(act(up)). */
enum { FFN_GATED, FFN_FUSED, FFN_PLAIN };

/* Experts in place of the feed forward: never, where expert_count is above 0, or always. */
enum { EXPERTS_NONE, EXPERTS_BY_KEY, EXPERTS_ALWAYS };
/* An expert that every row visits: none, through a gate of its own, or, where its width is given, without. */
enum { SHARED_NONE, SHARED_GATED, SHARED_BY_KEY };

/* output.weight: absent means tied to token_embd; must be absent; must be there. */
enum { OUTPUT_OPTIONAL, OUTPUT_TIED, OUTPUT_OWN };

/* Matrices with biases, as bits: those that must be there, and those that may. */
enum {
    BIAS_QKV = 1,
    BIAS_ATTN_OUTPUT = 2,
    BIAS_FFN = 4,
    BIAS_OUTPUT = 8,
    BIAS_ROUTER = 16,
    BIAS_EXPERTS = 32,
    BIAS_LINEAR = BIAS_QKV | BIAS_ATTN_OUTPUT | BIAS_FFN
};

/* Keys that hold a factor, as bits; absent: 1 (attention.scale: 1 / sqrt(key_length)). */
enum {
    SCALE_EMBEDDING = 1,   /* embedding_scale */
    SCALE_RESIDUAL = 2,    /* residual_scale */
    SCALE_ATTENTION = 4,   /* attention.scale */
    SCALE_LOGITS = 8,      /* logit_scale, multiplied */
    SCALE_LOGITS_DOWN = 16 /* logit_scale, divided by */
};

typedef struct decoder decoder;

typedef struct decoder_traits {
    const char *name; /* general.architecture */

    /* Norms and sums. `ffn_norm`: the stem, if it is not "ffn_norm". `second_attn_norm`: attn_norm_2 may be there;
     * then attention reads that, and the feed forward attn_norm. */
    uint8_t norm, norms, residual;
    const char *ffn_norm;
    bool second_attn_norm;

    /* Attention. Optional norms of q and k: both are there or neither. */
    uint8_t qk_norm;
    bool qk_norm_optional, qk_norm_after_rope;
    bool sinks; /* attn_sinks.weight */
    bool clamp; /* attention.clamp_kqv: q, k and v into that range */
    /* With so many layers the scale is 1 / sqrt(embedding_length / head_count). */
    uint32_t wide_scale_layers;

    /* Positions. `partial_rope`: rope.dimension_count may be less than a head. */
    uint8_t rope, rope_layers, factors;
    bool partial_rope;
    bool learned_positions; /* position_embd.weight */

    /* Windows. Without a default the key must be there, unless it is optional: absent or 0 then means no window. */
    uint8_t window, local_rope;
    bool window_optional;
    uint32_t window_default, pattern_default;

    /* Factors and caps. `softcaps`: attn_logit_softcapping (default 50) and final_logit_softcapping (30);
     * `final_softcap`: the latter, and none where it is absent. */
    uint8_t scales;
    bool needs_logit_scale; /* the key must be there */
    bool embed_by_width;    /* embeddings times sqrt(embedding_length) */
    bool softcaps, final_softcap;

    /* Feed forward. `half_ffn`: feed_forward_length counts gate and up, and is twice the width of each. */
    uint8_t ffn;
    uint32_t act; /* TN_ACT_*; 0: silu */
    bool half_ffn;

    /* Experts. `expert_width_key`: expert_feed_forward_length, by default feed_forward_length / expert_used_count;
     * else feed_forward_length. `expert_unnormalised`: weights are not divided by their sum. The last three are those of
     * tn_experts; alpha 0: 1. */
    uint8_t experts, shared;
    bool expert_width_key, expert_unnormalised;
    double expert_alpha, expert_limit, expert_offset;

    /* The output. `shared_embd`: where token_embd is absent, output.weight is both. */
    uint8_t output;
    bool shared_embd;

    uint8_t biases, optional_biases;

    /* May be NULL: factors that follow from sizes, where their keys are absent; what else the family checks or derives,
     * after all is read. */
    void (*default_scales)(decoder *d);
    void (*check)(tn_params *params, decoder *d);
} decoder_traits;

/* ---- one model --------------------------------------------------------------------------------------- */

/* Numbers of the weights of a layer; 0: absent. */
typedef struct decoder_layer {
    tn_matrix attn_norm, attn_norm_2, ffn_norm, attn_post_norm, ffn_post_norm;
    tn_matrix attn_qkv, attn_q, attn_k, attn_v, attn_output;
    uint32_t q_norm, k_norm, sinks;
    tn_matrix gate, up, down; /* of the feed forward, or of the shared expert */
    tn_matrix router, shared_router, expert_gate, expert_up, expert_down;
    bool parallel;
} decoder_layer;

struct decoder {
    const tn_host *host;
    const decoder_traits *traits;
    uint32_t layer_count, width, vocab, context;
    uint32_t key_dim, value_dim;
    tn_layered heads, kv_heads, feed_forward;
    double eps;
    tn_rotation rotation, local_rotation;
    uint32_t window, pattern; /* window 0: none; pattern 0: `local` lists the layers */
    tn_kv local;
    uint32_t experts, experts_used, expert_width, shared_width;
    uint32_t expert_score, expert_normalise;
    double expert_scale;
    double embedding_scale, residual_scale, attention_scale, logit_scale; /* attention_scale 0: by key_dim */
    double qkv_limit, score_cap, final_cap;                               /* 0: none */
    bool parallel;
    uint32_t token_embd, position_embd, rope_freqs, factors_long, factors_short;
    tn_matrix output_norm, output;
    decoder_layer layers[];
};

/* decoder_params.c: rows of the token embedding. The token list decides; a file without one says it in vocab_size. */
uint32_t decoder_vocab(tn_params *params, uint64_t vocab_size);
/* All hyperparameters but the number of layers, which is known. Faults go to `params`. */
void decoder_read(tn_params *params, uint64_t vocab_size, decoder *d);
/* 1 if layer i has the window. */
bool decoder_is_local(const decoder *d, uint32_t i);
/* Numbers between the matrices of the feed forward of layer i. */
uint32_t decoder_ffn_width(const decoder *d, uint32_t i);

/* decoder_tensors.c, decoder_graph.c */
void decoder_claim(const tn_claims *claims, decoder *d);
int32_t decoder_write(const decoder *d, const tn_build *options, const tn_builder *builder, tn_error *err);

/* decoder_variants.c: a view of the metadata that notes which of the keys that can change a result were asked for. */
typedef struct variant_watch {
    tn_meta meta; /* hand this to whoever reads */
    const tn_meta *inner;
    const char *prefix;
    uint64_t read[2]; /* bits */
} variant_watch;
void variant_watch_begin(variant_watch *watch, const tn_host *host, const tn_meta *inner, const char *prefix);
/* Each such key that the file has, that asks for something, and that nobody read, is a fault. */
void variant_watch_check(const variant_watch *watch, tn_params *params);

/* configure.c: what configure() begins and ends with. */
typedef struct reading {
    variant_watch watch;
    tn_params params;
    void *config; /* zeros, with room for `layer_count` layers behind */
    uint32_t layer_count;
} reading;
/* Reads block_count and takes memory: `size` bytes and `layer_size` for each layer. */
int32_t reading_begin(reading *r, const tn_host *host, const char *name, const tn_meta *meta,
                      const tn_report *report, uint64_t size, uint64_t layer_size, tn_error *err);
/* The config; or the code of the first fault, and nothing is left behind. */
int32_t reading_end(reading *r, void **config, tn_error *err);

/* decoder.c: the plugin around it. */
int32_t decoder_configure(const decoder_traits *names, uint32_t count, const tn_host *host, const char *name,
                          const tn_meta *meta, uint64_t vocab_size, const tn_report *report, tn_facts *facts,
                          void **config, tn_error *err);
int32_t decoder_tensors(void *self, void *config, const tn_claims *claims, tn_error *err);
int32_t decoder_build(void *self, const void *config, const tn_build *options, const tn_builder *builder,
                      tn_error *err);

/* The plugin `id` for the array `names` of traits. */
#define DECODER_PLUGIN(id, names)                                                                            \
    static int32_t configure(void *self, const char *name, const tn_meta *meta, uint64_t vocab_size,         \
                             const tn_report *report, tn_facts *facts, void **config, tn_error *err) {       \
        return decoder_configure(names, sizeof names / sizeof *names, self, name, meta, vocab_size, report,  \
                                 facts, config, err);                                                        \
    }                                                                                                        \
    TN_ARCH_PLUGIN(id, "0.1.0", "Apache-2.0", 0, configure, decoder_tensors, decoder_build)

#endif
