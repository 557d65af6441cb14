/*
 * decoder_tensors.c - the tensors of a decoder, claimed by the names that GGUF gives them. What a file may leave out
 * is claimed as it is found; what it has beyond that stays unclaimed, and the audit refuses it.
 */
#include "decoder.h"

/* "<stem>.weight", and "<stem>.bias" as the traits say for this kind of matrix. */
static tn_matrix claim_matrix(const tn_claimer *claimer, const decoder *d, const char *stem, uint32_t bias,
                              uint64_t in, uint64_t out, const char *why) {
    tn_matrix matrix = {tn_claim_part(claimer, stem, ".weight", 0, in, out, 0, why), 0};
    int must = (d->traits->biases & bias) != 0, may = (d->traits->optional_biases & bias) != 0;
    if (must || may) {
        matrix.bias = tn_claim_part(claimer, stem, ".bias", must ? 0 : TN_CLAIM_OPTIONAL, out, 0, 0,
                                    "the rows of its matrix");
    }
    return matrix;
}

/* A norm over rows, with what its kind has. */
static tn_matrix claim_norm(const tn_claimer *claimer, const decoder *d, const char *stem) {
    tn_matrix norm = {0, 0};
    uint32_t kind = d->traits->norm;
    if (kind != NORM_LAYER_PLAIN) {
        norm.weight = tn_claim_part(claimer, stem, ".weight", 0, d->width, 0, 0, "embedding_length");
    }
    if (kind == NORM_LAYER) {
        norm.bias = tn_claim_part(claimer, stem, ".bias", 0, d->width, 0, 0, "embedding_length");
    }
    return norm;
}

/* ---- attention --------------------------------------------------------------------------------------- */

/* The weights of q's or k's norm. */
static uint32_t claim_qk_norm(const tn_claimer *claimer, const decoder *d, const char *name, uint64_t heads) {
    if (d->traits->qk_norm_optional && !tn_claim_has(claimer, "attn_q_norm.weight") &&
        !tn_claim_has(claimer, "attn_k_norm.weight")) {
        return 0;
    }
    switch (d->traits->qk_norm) {
    case QK_NORM_HEAD: return tn_claim_tensor(claimer, name, 0, d->key_dim, 0, 0, "key_length");
    case QK_NORM_ROW:
        return tn_claim_tensor(claimer, name, 0, heads * d->key_dim, 0, 0, "heads * key_length");
    case QK_NORM_OWN: return tn_claim_tensor(claimer, name, 0, d->key_dim, heads, 0, "key_length, heads");
    default: return 0;
    }
}

static void claim_qkv(const tn_claimer *claimer, const decoder *d, decoder_layer *l, uint64_t heads,
                      uint64_t kv_heads) {
    uint64_t q = heads * d->key_dim, k = kv_heads * d->key_dim, v = kv_heads * d->value_dim;
    if (tn_claim_has(claimer, "attn_qkv.weight")) {
        l->attn_qkv = claim_matrix(claimer, d, "attn_qkv", BIAS_QKV, d->width, q + k + v,
                                   "embedding_length, (head_count + 2 head_count_kv) * head size");
        return;
    }
    l->attn_q = claim_matrix(claimer, d, "attn_q", BIAS_QKV, d->width, q,
                             "embedding_length, head_count * key_length");
    l->attn_k = claim_matrix(claimer, d, "attn_k", BIAS_QKV, d->width, k,
                             "embedding_length, head_count_kv * key_length");
    l->attn_v = claim_matrix(claimer, d, "attn_v", BIAS_QKV, d->width, v,
                             "embedding_length, head_count_kv * value_length");
}

static void claim_attention(const tn_claimer *claimer, const decoder *d, decoder_layer *l) {
    uint32_t i = (uint32_t)claimer->layer;
    uint64_t heads = tn_layer_number(&d->heads, i), kv_heads = tn_layer_number(&d->kv_heads, i);
    claim_qkv(claimer, d, l, heads, kv_heads);
    l->q_norm = claim_qk_norm(claimer, d, "attn_q_norm.weight", heads);
    l->k_norm = claim_qk_norm(claimer, d, "attn_k_norm.weight", kv_heads);
    if (d->traits->sinks) { l->sinks = tn_claim_vector(claimer, "attn_sinks.weight", heads, "head_count"); }
    l->attn_output = claim_matrix(claimer, d, "attn_output", BIAS_ATTN_OUTPUT, heads * d->value_dim, d->width,
                                  "head_count * value_length, embedding_length");
}

/* ---- feed forward and experts ------------------------------------------------------------------------ */

static void claim_feed_forward(const tn_claimer *claimer, const decoder *d, decoder_layer *l) {
    uint64_t size = decoder_ffn_width(d, (uint32_t)claimer->layer);
    const char *in = "embedding_length, feed_forward_length";
    uint64_t up = size;
    if (d->traits->ffn == FFN_GATED) {
        l->gate = claim_matrix(claimer, d, "ffn_gate", BIAS_FFN, d->width, size, in);
    } else if (d->traits->ffn == FFN_FUSED) {
        up = 2 * size;
        in = "embedding_length, 2 feed_forward_length";
    }
    l->up = claim_matrix(claimer, d, "ffn_up", BIAS_FFN, d->width, up, in);
    l->down = claim_matrix(claimer, d, "ffn_down", BIAS_FFN, size, d->width,
                           "feed_forward_length, embedding_length");
}

static tn_matrix claim_expert(const tn_claimer *claimer, const decoder *d, const char *stem, uint64_t in,
                              uint64_t out, const char *why) {
    tn_matrix matrix = {tn_claim_part(claimer, stem, ".weight", 0, in, out, d->experts, why), 0};
    if (d->traits->biases & BIAS_EXPERTS) {
        matrix.bias = tn_claim_part(claimer, stem, ".bias", 0, out, d->experts, 0, "its rows, expert_count");
    }
    return matrix;
}

static void claim_experts(const tn_claimer *claimer, const decoder *d, decoder_layer *l) {
    const char *in = "embedding_length, expert_feed_forward_length, expert_count";
    l->router = claim_matrix(claimer, d, "ffn_gate_inp", BIAS_ROUTER, d->width, d->experts,
                             "embedding_length, expert_count");
    l->expert_gate = claim_expert(claimer, d, "ffn_gate_exps", d->width, d->expert_width, in);
    l->expert_up = claim_expert(claimer, d, "ffn_up_exps", d->width, d->expert_width, in);
    l->expert_down = claim_expert(claimer, d, "ffn_down_exps", d->expert_width, d->width,
                                  "expert_feed_forward_length, embedding_length, expert_count");
    if (d->traits->shared == SHARED_NONE || !d->shared_width) { return; }
    in = "embedding_length, expert_shared_feed_forward_length";
    if (d->traits->shared == SHARED_GATED) {
        l->shared_router.weight =
            tn_claim_vector(claimer, "ffn_gate_inp_shexp.weight", d->width, "embedding_length");
    }
    l->gate = claim_matrix(claimer, d, "ffn_gate_shexp", 0, d->width, d->shared_width, in);
    l->up = claim_matrix(claimer, d, "ffn_up_shexp", 0, d->width, d->shared_width, in);
    l->down = claim_matrix(claimer, d, "ffn_down_shexp", 0, d->shared_width, d->width,
                           "expert_shared_feed_forward_length, embedding_length");
}

/* ---- the whole --------------------------------------------------------------------------------------- */

static void claim_norms(const tn_claimer *claimer, const decoder *d, decoder_layer *l) {
    const decoder_traits *t = d->traits;
    const char *ffn_norm = t->ffn_norm ? t->ffn_norm : "ffn_norm";
    char weight[64];
    l->parallel = d->parallel;
    if (t->norms != NORMS_AFTER) {
        l->attn_norm = claim_norm(claimer, d, "attn_norm");
        if (t->second_attn_norm && tn_claim_has(claimer, "attn_norm_2.weight")) {
            l->attn_norm_2 = claim_norm(claimer, d, "attn_norm_2");
        }
        snprintf(weight, sizeof weight, "%s.weight", ffn_norm);
        if (t->residual == RESIDUAL_BY_TENSOR) { l->parallel = !tn_claim_has(claimer, weight); }
        int shared = t->residual == RESIDUAL_PARALLEL || (t->residual == RESIDUAL_BY_TENSOR && l->parallel);
        if (!shared) { l->ffn_norm = claim_norm(claimer, d, ffn_norm); }
    }
    if (t->norms != NORMS_BEFORE) {
        l->attn_post_norm = claim_norm(claimer, d, "post_attention_norm");
        l->ffn_post_norm = claim_norm(claimer, d, "post_ffw_norm");
    }
}

static void claim_factors(const tn_claimer *claimer, decoder *d) {
    uint64_t pairs = d->rotation.rotated / 2;
    const char *why = "half of the rotated dimensions of a head";
    if (d->traits->factors & FACTORS_LONG_SHORT && (tn_claim_has(claimer, "rope_factors_long.weight") ||
                                                    tn_claim_has(claimer, "rope_factors_short.weight"))) {
        /* Both are needed; which one is read depends on the context. */
        d->factors_long =
            tn_claim_tensor(claimer, "rope_factors_long.weight", TN_CLAIM_UNUSED, pairs, 0, 0, why);
        d->factors_short =
            tn_claim_tensor(claimer, "rope_factors_short.weight", TN_CLAIM_UNUSED, pairs, 0, 0, why);
    } else if (d->traits->factors & FACTORS_FREQS) {
        /* Where only local layers rotate, there may be none. */
        uint32_t flags = d->traits->rope_layers == ROPE_WHERE_LOCAL ? TN_CLAIM_UNUSED : 0;
        d->rope_freqs =
            tn_claim_tensor(claimer, "rope_freqs.weight", TN_CLAIM_OPTIONAL | flags, pairs, 0, 0, why);
    }
}

static void claim_output(const tn_claimer *claimer, decoder *d) {
    const char *table = "embedding_length, length of tokenizer.ggml.tokens";
    uint32_t flags = TN_CLAIM_UNUSED;
    d->output_norm = claim_norm(claimer, d, "output_norm");
    d->output.weight = d->token_embd;
    if (d->traits->output == OUTPUT_TIED) { return; }
    if (d->traits->output == OUTPUT_OPTIONAL && !tn_claim_has(claimer, "output.weight")) { return; }
    d->output.weight = tn_claim_tensor(claimer, "output.weight", flags, d->width, d->vocab, 0, table);
    int must = (d->traits->biases & BIAS_OUTPUT) != 0;
    if (must || d->traits->optional_biases & BIAS_OUTPUT) {
        d->output.bias = tn_claim_tensor(claimer, "output.bias", must ? flags : flags | TN_CLAIM_OPTIONAL,
                                         d->vocab, 0, 0, "length of tokenizer.ggml.tokens");
    }
}

void decoder_claim(const tn_claims *claims, decoder *d) {
    tn_claimer claimer = tn_claimer_begin(d->host, claims);
    const char *table = "embedding_length, length of tokenizer.ggml.tokens";
    int shared = d->traits->shared_embd && !tn_claim_has(&claimer, "token_embd.weight");
    d->token_embd = tn_claim_tensor(&claimer, shared ? "output.weight" : "token_embd.weight", 0, d->width,
                                    d->vocab, 0, table);
    if (d->traits->learned_positions) {
        d->position_embd = tn_claim_tensor(&claimer, "position_embd.weight", 0, d->width, d->context, 0,
                                           "embedding_length, context_length");
    }
    for (uint32_t i = 0; i < d->layer_count; i++) {
        decoder_layer *l = &d->layers[i];
        claimer.layer = (int32_t)i;
        claim_norms(&claimer, d, l);
        claim_attention(&claimer, d, l);
        if (d->experts) {
            claim_experts(&claimer, d, l);
        } else {
            claim_feed_forward(&claimer, d, l);
        }
    }
    claimer.layer = TN_NO_LAYER;
    claim_factors(&claimer, d);
    claim_output(&claimer, d);
}
