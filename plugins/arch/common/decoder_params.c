/*
 * decoder_params.c - the hyperparameters of a decoder, and the relations between them. Each fault names its key.
 */
#include "decoder.h"

/* Choosing takes time with the experts times those that are used; published models have up to 512. */
enum { EXPERTS_MOST = 4096 };

/* ---- sizes ------------------------------------------------------------------------------------------- */

/* key_length or value_length; absent: embedding_length / head_count, which must then be whole. */
static uint32_t head_size(tn_params *params, const char *key, uint32_t width, uint32_t heads) {
    uint32_t size = tn_param_u32_or(params, key, 1, TN_WIDTH_MAX, heads ? width / heads : 0);
    tn_kv kv;
    char found[96];
    if (!heads || !width || tn_param_find(params, key, &kv) || width % heads == 0) { return size; }
    snprintf(found, sizeof found, "%u for an embedding_length of %u", heads, width);
    tn_param_fault(params, TN_E_PARAM_INVALID, "attention.head_count", found,
                   "a divisor of embedding_length, or key_length and value_length");
    return 0;
}

/* The relations between the heads of one layer. Returns 0 if there is a fault. */
static int check_heads(tn_params *params, const decoder *d, uint32_t i) {
    uint32_t heads = tn_layer_number(&d->heads, i), kv_heads = tn_layer_number(&d->kv_heads, i);
    char found[96];
    if (heads && kv_heads && heads % kv_heads != 0) {
        snprintf(found, sizeof found, "%u for a head_count of %u in layer %u", kv_heads, heads, i);
        tn_param_fault(params, TN_E_PARAM_INVALID, "attention.head_count_kv", found,
                       "a divisor of head_count");
        return 0;
    }
    uint32_t size = d->key_dim > d->value_dim ? d->key_dim : d->value_dim;
    if ((uint64_t)heads * size > TN_WIDTH_MAX) {
        snprintf(found, sizeof found, "%u heads of %u", heads, size);
        tn_param_fault(params, TN_E_PARAM_INVALID, "attention.head_count", found,
                       "at most 16777216 columns in all");
        return 0;
    }
    return 1;
}

uint32_t decoder_ffn_width(const decoder *d, uint32_t i) {
    return tn_layer_number(&d->feed_forward, i) / (d->traits->half_ffn ? 2 : 1);
}

/* Twice the width cannot be odd. Returns 0 if there is a fault. */
static int check_half(tn_params *params, const decoder *d, uint32_t i) {
    char found[64];
    if (!d->traits->half_ffn || tn_layer_number(&d->feed_forward, i) % 2 == 0) { return 1; }
    snprintf(found, sizeof found, "%u in layer %u", tn_layer_number(&d->feed_forward, i), i);
    tn_param_fault(params, TN_E_PARAM_INVALID, "feed_forward_length", found,
                   "an even number: gate and up together");
    return 0;
}

/* Heads and feed forward may differ from layer to layer. */
static void read_layers(tn_params *params, decoder *d) {
    d->heads = tn_param_layers(params, "attention.head_count", 1, TN_HEADS_MAX, d->layer_count);
    d->kv_heads =
        tn_param_layers_or(params, "attention.head_count_kv", 1, TN_HEADS_MAX, d->layer_count, &d->heads);
    d->feed_forward = tn_param_layers(params, "feed_forward_length", 1, TN_WIDTH_MAX, d->layer_count);
    for (uint32_t i = 0; i < d->layer_count && check_half(params, d, i); i++) {}
    uint32_t heads = tn_layer_number(&d->heads, 0);
    d->key_dim = head_size(params, "attention.key_length", d->width, heads);
    d->value_dim = d->key_dim ? head_size(params, "attention.value_length", d->width, heads) : 0;
    for (uint32_t i = 0; i < d->layer_count && check_heads(params, d, i); i++) {}
}

uint32_t decoder_vocab(tn_params *params, uint64_t vocab_size) {
    if (vocab_size == 0) { return tn_param_u32(params, "vocab_size", 1, INT32_MAX); }
    if (vocab_size <= INT32_MAX) { return (uint32_t)vocab_size; }
    tn_param_fault(params, TN_E_PARAM_INVALID, "vocab_size", "more than 2147483647 tokens in the file",
                   "fewer");
    return 0;
}

/* ---- rotation and windows ---------------------------------------------------------------------------- */

static void read_local_rotation(tn_params *params, decoder *d) {
    tn_rotation *local = &d->local_rotation;
    uint32_t law = d->traits->local_rope;
    char found[32], wanted[64];
    *local = d->rotation;
    if (d->traits->window != WINDOW_LOCAL) { return; }
    if (law == LOCAL_ROPE_OWN || law == LOCAL_ROPE_PLAIN) {
        local->scaling = TN_SCALING_NONE;
        if (law == LOCAL_ROPE_PLAIN) { local->attention_factor = 1; }
    }
    local->base = tn_param_float_or(params, "rope.freq_base_swa", TN_POSITIVE, 1e30,
                                    law == LOCAL_ROPE_OWN ? 10000 : d->rotation.base);
    int fixed = law == LOCAL_ROPE_SAME || law == LOCAL_ROPE_PLAIN;
    if (!fixed || local->base == d->rotation.base) { return; }
    snprintf(found, sizeof found, "%g", local->base);
    snprintf(wanted, sizeof wanted, "the same as rope.freq_base, %g", d->rotation.base);
    tn_param_fault(params, TN_E_PARAM_UNSUPPORTED, "rope.freq_base_swa", found, wanted);
}

/* Converters copy the magnitude that a configuration states; what is computed anyway is no wish. */
static void check_yarn_magnitude(tn_params *params, const tn_rotation *r) {
    const char *key = "rope.scaling.yarn_attn_factor";
    double computed = r->scaling == TN_SCALING_YARN ? 1 + 0.1 * log(r->factor) : 1;
    double stated = tn_param_float_or(params, key, -1e30, 1e30, 1);
    char found[32], wanted[64];
    if (stated == 0 || stated == 1 || fabs(stated - computed) < 1e-4) { return; }
    snprintf(found, sizeof found, "%g", stated);
    snprintf(wanted, sizeof wanted, "absent, 1 or what yarn gives here, %g", computed);
    tn_param_fault(params, TN_E_PARAM_UNSUPPORTED, key, found, wanted);
}

static void read_rotation(tn_params *params, decoder *d) {
    uint32_t rotated = tn_param_u32_or(params, "rope.dimension_count", 1, TN_WIDTH_MAX, d->key_dim);
    char found[64], wanted[80];
    int fits = d->traits->partial_rope ? rotated <= d->key_dim : rotated == d->key_dim;
    if (rotated && d->key_dim && (!fits || rotated % 2 != 0)) {
        snprintf(found, sizeof found, "%u", rotated);
        snprintf(wanted, sizeof wanted, "%s the head size %u (key_length), an even number",
                 d->traits->partial_rope ? "at most" : "just", d->key_dim);
        tn_param_fault(params, TN_E_PARAM_INVALID, "rope.dimension_count", found, wanted);
    }
    d->rotation = tn_param_rotation(params, rotated, d->context);
    check_yarn_magnitude(params, &d->rotation);
    read_local_rotation(params, d);
}

/* attention.sliding_window_pattern: P, or a bool for each layer. */
static void read_pattern(tn_params *params, decoder *d) {
    const char *key = "attention.sliding_window_pattern";
    char found[64], wanted[64];
    tn_kv kv;
    if (!tn_param_find(params, key, &kv) || kv.type != TN_KV_ARRAY) {
        d->pattern = tn_param_u32_or(params, key, 1, TN_LAYERS_MAX, d->traits->pattern_default);
        return;
    }
    if (kv.element_type != TN_KV_BOOL || (d->layer_count && kv.count != d->layer_count)) {
        snprintf(found, sizeof found, "an array of %" PRIu64 "%s", kv.count,
                 kv.element_type == TN_KV_BOOL ? "" : ", not of bools");
        snprintf(wanted, sizeof wanted, "an integer, or %" PRIu32 " bools (block_count)", d->layer_count);
        tn_param_fault(params, TN_E_PARAM_INVALID, key, found, wanted);
        return;
    }
    d->local = kv;
}

static void read_window(tn_params *params, decoder *d) {
    const decoder_traits *t = d->traits;
    const char *key = "attention.sliding_window";
    tn_kv kv;
    if (t->window == WINDOW_IGNORED) {
        (void)tn_param_find(params, key, &kv); /* counts as read */
        return;
    }
    if (t->window != WINDOW_LOCAL) { return; }
    if (t->window_optional) {
        d->window = tn_param_u32_or(params, key, 0, TN_CONTEXT_MAX, t->window_default);
    } else if (t->window_default) {
        d->window = tn_param_u32_or(params, key, 1, TN_CONTEXT_MAX, t->window_default);
    } else {
        d->window = tn_param_u32(params, key, 1, TN_CONTEXT_MAX);
    }
    read_pattern(params, d);
}

bool decoder_is_local(const decoder *d, uint32_t i) {
    if (!d->window) { return false; }
    if (d->local.data) { return ((const unsigned char *)d->local.data)[i] != 0; }
    return i % d->pattern < d->pattern - 1;
}

/* ---- factors ----------------------------------------------------------------------------------------- */

/* `none`: what 0 stands for, which is how files say that nothing is asked. */
static void read_scale(tn_params *params, const decoder *d, uint32_t bits, const char *key, double none,
                       double *scale) {
    tn_kv kv;
    if (!(d->traits->scales & bits) || !tn_param_find(params, key, &kv)) { return; }
    *scale = tn_param_float_or(params, key, -1e30, 1e30, none);
    if (*scale == 0) { *scale = none; }
}

static void read_scales(tn_params *params, decoder *d) {
    const decoder_traits *t = d->traits;
    d->embedding_scale = t->embed_by_width ? sqrt(d->width) : 1;
    d->residual_scale = d->logit_scale = 1;
    if (t->default_scales) { t->default_scales(d); }
    read_scale(params, d, SCALE_EMBEDDING, "embedding_scale", 1, &d->embedding_scale);
    read_scale(params, d, SCALE_RESIDUAL, "residual_scale", 1, &d->residual_scale);
    read_scale(params, d, SCALE_ATTENTION, "attention.scale", 0, &d->attention_scale);
    if (t->needs_logit_scale) {
        d->logit_scale = tn_param_float(params, "logit_scale", TN_POSITIVE, 1e30);
    } else {
        read_scale(params, d, SCALE_LOGITS | SCALE_LOGITS_DOWN, "logit_scale", 1, &d->logit_scale);
    }
    if (t->scales & SCALE_LOGITS_DOWN) { d->logit_scale = 1 / d->logit_scale; }
    if (t->wide_scale_layers && t->wide_scale_layers == d->layer_count) {
        d->attention_scale = 1 / sqrt((double)d->width / tn_layer_number(&d->heads, 0));
    }
    if (t->clamp) { d->qkv_limit = tn_param_float_or(params, "attention.clamp_kqv", -1e30, 1e30, 0); }
    if (t->softcaps) {
        d->score_cap = tn_param_float_or(params, "attn_logit_softcapping", 0, 1e30, 50);
        d->final_cap = tn_param_float_or(params, "final_logit_softcapping", 0, 1e30, 30);
    } else if (t->final_softcap) {
        d->final_cap = tn_param_float_or(params, "final_logit_softcapping", 0, 1e30, 0);
    }
}

/* ---- experts ----------------------------------------------------------------------------------------- */

/* How an expert's weight follows from its logit. The numbers are GGUF's; 3, the softmax of the chosen logits alone,
 * is the normalised softmax. */
static void read_gating(tn_params *params, decoder *d) {
    uint32_t gating = tn_param_u32_or(params, "expert_gating_func", 0, 255, 1);
    char found[16];
    d->expert_score = gating == 2 ? TN_SCORE_SIGMOID : TN_SCORE_SOFTMAX;
    d->expert_normalise = tn_param_bool_or(params, "expert_weights_norm", !d->traits->expert_unnormalised);
    if (gating == 3) { d->expert_normalise = 1; }
    d->expert_scale = tn_param_float_or(params, "expert_weights_scale", 0, 1e6, 1);
    if (d->expert_scale == 0) { d->expert_scale = 1; }
    if (gating <= 3) { return; }
    snprintf(found, sizeof found, "%u", gating);
    tn_param_fault(params, TN_E_PARAM_UNSUPPORTED, "expert_gating_func", found,
                   "1 (softmax), 2 (sigmoid) or 3 (softmax of the chosen)");
}

static void read_expert_widths(tn_params *params, decoder *d) {
    uint32_t ffn = decoder_ffn_width(d, 0);
    d->expert_width = ffn;
    if (d->traits->expert_width_key) {
        d->expert_width = tn_param_u32_or(params, "expert_feed_forward_length", 1, TN_WIDTH_MAX,
                                          d->experts_used ? ffn / d->experts_used : 0);
    }
    if (d->traits->shared == SHARED_GATED) {
        d->shared_width = tn_param_u32_or(params, "expert_shared_feed_forward_length", 1, TN_WIDTH_MAX, ffn);
    } else if (d->traits->shared == SHARED_BY_KEY) {
        d->shared_width = tn_param_u32_or(params, "expert_shared_feed_forward_length", 0, TN_WIDTH_MAX, 0);
    }
}

static void read_experts(tn_params *params, decoder *d) {
    char found[64];
    if (d->traits->experts == EXPERTS_NONE) { return; }
    d->experts = d->traits->experts == EXPERTS_ALWAYS
                     ? tn_param_u32(params, "expert_count", 1, EXPERTS_MOST)
                     : tn_param_u32_or(params, "expert_count", 0, EXPERTS_MOST, 0);
    d->experts_used = d->experts ? tn_param_u32(params, "expert_used_count", 1, TN_WIDTH_MAX)
                                 : tn_param_u32_or(params, "expert_used_count", 0, TN_WIDTH_MAX, 0);
    if (d->experts_used > d->experts) {
        snprintf(found, sizeof found, "%u of %u experts", d->experts_used, d->experts);
        tn_param_fault(params, TN_E_PARAM_INVALID, "expert_used_count", found, "at most expert_count");
    }
    if (!d->experts) { return; }
    read_expert_widths(params, d);
    read_gating(params, d);
}

/* ---- all of it --------------------------------------------------------------------------------------- */

static void read_residual(tn_params *params, decoder *d) {
    tn_kv kv;
    d->parallel = d->traits->residual == RESIDUAL_PARALLEL;
    if (d->traits->residual == RESIDUAL_BY_TENSOR) {
        (void)tn_param_find(params, "use_parallel_residual", &kv); /* the tensors say it */
    } else if (d->traits->residual == RESIDUAL_BY_KEY) {
        if (!tn_param_find(params, "use_parallel_residual", &kv)) {
            tn_param_fault(params, TN_E_PARAM_MISSING, "use_parallel_residual", "absent", "a bool");
        }
        d->parallel = tn_param_bool_or(params, "use_parallel_residual", 0);
    }
}

void decoder_read(tn_params *params, uint64_t vocab_size, decoder *d) {
    const decoder_traits *t = d->traits;
    d->vocab = decoder_vocab(params, vocab_size);
    d->context = t->learned_positions ? tn_param_u32(params, "context_length", 1, TN_CONTEXT_MAX)
                                      : tn_param_context(params);
    d->width = tn_param_u32(params, "embedding_length", 1, TN_WIDTH_MAX);
    d->eps = tn_param_float(
        params, t->norm == NORM_RMS ? "attention.layer_norm_rms_epsilon" : "attention.layer_norm_epsilon",
        TN_POSITIVE, 1);
    read_layers(params, d);
    read_window(params, d);
    if (t->rope != ROPE_NONE) { read_rotation(params, d); }
    read_scales(params, d);
    read_experts(params, d);
    read_residual(params, d);
    if (t->check) { t->check(params, d); }
}
