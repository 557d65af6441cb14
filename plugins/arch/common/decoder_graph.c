/*
 * decoder_graph.c - the graph of a decoder. Attributes that the traits decide are filled here and nowhere else.
 */
#include "decoder.h"

/* What all layers of one graph share. */
typedef struct graph {
    tn_writer writer;
    const decoder *d;
    double *frequencies, *local_frequencies;
    uint32_t factors;
} graph;

static uint32_t norm(const graph *g, const char *name, uint32_t x, tn_matrix w) {
    uint32_t kind = g->d->traits->norm == NORM_RMS ? TN_NORM_RMS : TN_NORM_LAYER;
    return tn_add_norm(&g->writer, name, x, kind, 1, w, g->d->eps);
}

static uint32_t activation(const decoder *d) {
    return d->traits->act ? d->traits->act : TN_ACT_SILU;
}

/* ---- attention --------------------------------------------------------------------------------------- */

typedef struct heads {
    uint32_t q, k, v;
} heads;

static heads project(const graph *g, const decoder_layer *l, uint32_t h) {
    const tn_writer *w = &g->writer;
    const decoder *d = g->d;
    heads x;
    if (l->attn_qkv.weight) {
        uint32_t i = (uint32_t)w->layer, kv = tn_layer_number(&d->kv_heads, i);
        uint32_t widths[3] = {tn_layer_number(&d->heads, i) * d->key_dim, kv * d->key_dim, kv * d->value_dim};
        x.q = tn_add_split(w, "attn_qkv_parts", tn_add_linear(w, "attn_qkv", h, l->attn_qkv), 3, widths);
        x.k = x.q + 1;
        x.v = x.q + 2;
    } else {
        x.q = tn_add_linear(w, "attn_q", h, l->attn_q);
        x.k = tn_add_linear(w, "attn_k", h, l->attn_k);
        x.v = tn_add_linear(w, "attn_v", h, l->attn_v);
    }
    if (d->qkv_limit > 0) {
        x.q = tn_add_clamp(w, "attn_q_clamped", x.q, d->qkv_limit);
        x.k = tn_add_clamp(w, "attn_k_clamped", x.k, d->qkv_limit);
        x.v = tn_add_clamp(w, "attn_v_clamped", x.v, d->qkv_limit);
    }
    return x;
}

static uint32_t norm_heads(const graph *g, const char *name, uint32_t x, uint32_t weight, uint32_t count) {
    const decoder_traits *t = g->d->traits;
    tn_matrix w = {weight, 0};
    if (!weight) { return x; }
    return tn_add_norm(&g->writer, name, x, t->qk_norm == QK_NORM_OWN ? TN_NORM_LAYER : TN_NORM_RMS,
                       t->qk_norm == QK_NORM_ROW ? 1 : count, w, g->d->eps);
}

static bool rotates(const decoder *d, uint32_t i) {
    if (d->traits->rope == ROPE_NONE) { return false; }
    switch (d->traits->rope_layers) {
    case ROPE_WHERE_LOCAL: return !d->window || decoder_is_local(d, i);
    case ROPE_NOT_EACH_FOURTH: return (i + 1) % 4 != 0;
    default: return true;
    }
}

static uint32_t rotate(const graph *g, const char *name, uint32_t x, uint32_t count) {
    const decoder *d = g->d;
    uint32_t i = (uint32_t)g->writer.layer;
    bool local = decoder_is_local(d, i);
    if (!rotates(d, i)) { return x; }
    TN_ATTRIBUTES(&g->writer, tn_rope, rope);
    rope.heads = count;
    rope.head_dim = d->key_dim;
    rope.rotated = d->rotation.rotated;
    rope.pairing = d->traits->rope == ROPE_ADJACENT ? TN_PAIR_ADJACENT : TN_PAIR_HALVES;
    rope.frequencies = local ? g->local_frequencies : g->frequencies;
    rope.magnitude = tn_rope_magnitude(local ? &d->local_rotation : &d->rotation);
    return tn_add_rope(&g->writer, name, x, g->factors, &rope);
}

/* Norm and rotation of the heads of q or k. `names`: of the norm, of the rotation. */
static uint32_t prepare(const graph *g, const char *const names[2], uint32_t x, uint32_t weight,
                        uint32_t count) {
    if (g->d->traits->qk_norm_after_rope) {
        return norm_heads(g, names[0], rotate(g, names[1], x, count), weight, count);
    }
    return rotate(g, names[1], norm_heads(g, names[0], x, weight, count), count);
}

static uint32_t attention(const graph *g, const decoder_layer *l, uint32_t h) {
    static const char *const q_names[2] = {"attn_q_norm", "attn_q_rope"};
    static const char *const k_names[2] = {"attn_k_norm", "attn_k_rope"};
    const tn_writer *w = &g->writer;
    const decoder *d = g->d;
    uint32_t i = (uint32_t)w->layer;
    heads x = project(g, l, h);
    TN_ATTRIBUTES(w, tn_attend, attend);
    attend.slot = i;
    attend.heads = tn_layer_number(&d->heads, i);
    attend.kv_heads = tn_layer_number(&d->kv_heads, i);
    attend.key_dim = d->key_dim;
    attend.value_dim = d->value_dim;
    attend.causal = attend.cached = 1;
    attend.window = decoder_is_local(d, i) ? d->window : 0;
    attend.scale = d->attention_scale != 0 ? d->attention_scale : 1 / sqrt(d->key_dim);
    attend.softcap = d->score_cap;
    x.q = prepare(g, q_names, x.q, l->q_norm, attend.heads);
    x.k = prepare(g, k_names, x.k, l->k_norm, attend.kv_heads);
    return tn_add_linear(w, "attn_output", tn_add_attend(w, "attn", x.q, x.k, x.v, l->sinks, &attend),
                         l->attn_output);
}

/* ---- feed forward and experts ------------------------------------------------------------------------ */

static uint32_t feed_forward(const graph *g, const decoder_layer *l, uint32_t h) {
    const tn_writer *w = &g->writer;
    uint32_t act = activation(g->d), y;
    if (g->d->traits->ffn == FFN_GATED) {
        uint32_t gate = tn_add_linear(w, "ffn_gate", h, l->gate), up = tn_add_linear(w, "ffn_up", h, l->up);
        y = tn_add_glu(w, "ffn_glu", gate, up, act);
    } else if (g->d->traits->ffn == FFN_FUSED) {
        uint32_t size = decoder_ffn_width(g->d, (uint32_t)w->layer), widths[2] = {size, size};
        uint32_t gate = tn_add_split(w, "ffn_up_parts", tn_add_linear(w, "ffn_up", h, l->up), 2, widths);
        y = tn_add_glu(w, "ffn_glu", gate, gate + 1, act);
    } else {
        y = tn_add_act(w, "ffn_act", tn_add_linear(w, "ffn_up", h, l->up), act, 1);
    }
    return tn_add_linear(w, "ffn_down", y, l->down);
}

static uint32_t shared_expert(const graph *g, const decoder_layer *l, uint32_t h) {
    const tn_writer *w = &g->writer;
    uint32_t gate = tn_add_linear(w, "ffn_gate_shexp", h, l->gate);
    uint32_t up = tn_add_linear(w, "ffn_up_shexp", h, l->up);
    uint32_t y = tn_add_linear(w, "ffn_down_shexp",
                               tn_add_glu(w, "ffn_glu_shexp", gate, up, activation(g->d)), l->down);
    if (!l->shared_router.weight) { return y; }
    uint32_t open = tn_add_linear(w, "ffn_gate_inp_shexp", h, l->shared_router);
    open = tn_add_act(w, "ffn_gate_inp_shexp_act", open, TN_ACT_SIGMOID, 1);
    return tn_add_product(w, "ffn_shexp", y, open);
}

static uint32_t experts(const graph *g, const decoder_layer *l, uint32_t h) {
    const tn_writer *w = &g->writer;
    const decoder *d = g->d;
    TN_ATTRIBUTES(w, tn_route, route);
    route.used = d->experts_used;
    route.score = d->expert_score;
    route.normalise = d->expert_normalise;
    route.scale = d->expert_scale;
    TN_ATTRIBUTES(w, tn_experts, expert);
    expert.act = activation(d);
    expert.alpha = d->traits->expert_alpha != 0 ? d->traits->expert_alpha : 1;
    expert.limit = d->traits->expert_limit;
    expert.offset = d->traits->expert_offset;
    uint32_t chosen = tn_add_route(w, "ffn_route", tn_add_linear(w, "ffn_gate_inp", h, l->router), 0, &route);
    uint32_t y =
        tn_add_experts(w, "ffn_experts", h, chosen, l->expert_gate, l->expert_up, l->expert_down, &expert);
    return l->up.weight ? tn_add_sum(w, "ffn_experts_sum", y, shared_expert(g, l, h)) : y;
}

/* ---- layers ------------------------------------------------------------------------------------------ */

/* A branch on its way into the residual sum. */
static uint32_t branch(const graph *g, const char *const names[2], uint32_t y, tn_matrix post_norm) {
    if (g->d->traits->norms != NORMS_BEFORE) { y = norm(g, names[0], y, post_norm); }
    return g->d->residual_scale == 1 ? y : tn_add_scale(&g->writer, names[1], y, g->d->residual_scale);
}

static uint32_t layer(const graph *g, const decoder_layer *l, uint32_t x) {
    static const char *const attn_names[2] = {"post_attention_norm", "attn_scaled"};
    static const char *const ffn_names[2] = {"post_ffw_norm", "ffn_scaled"};
    const tn_writer *w = &g->writer;
    const decoder_traits *t = g->d->traits;
    bool before = t->norms != NORMS_AFTER;
    uint32_t h = before ? norm(g, "attn_norm", x, l->attn_norm) : x;
    uint32_t a = l->attn_norm_2.weight ? norm(g, "attn_norm_2", x, l->attn_norm_2) : h;
    a = branch(g, attn_names, attention(g, l, a), l->attn_post_norm);
    uint32_t y = l->parallel ? x : tn_add_sum(w, "attn_sum", x, a);
    bool shares = !before || (l->parallel && !l->ffn_norm.weight);
    uint32_t f = !shares ? norm(g, "ffn_norm", y, l->ffn_norm) : l->parallel ? h : y;
    f = branch(g, ffn_names, g->d->experts ? experts(g, l, f) : feed_forward(g, l, f), l->ffn_post_norm);
    if (l->parallel) { f = tn_add_sum(w, "branch_sum", a, f); }
    return tn_add_mark(w, "output", tn_add_sum(w, "ffn_sum", y, f), TN_MARK_LAYER_OUTPUT);
}

/* ---- the whole --------------------------------------------------------------------------------------- */

static uint32_t embed(const graph *g) {
    const tn_writer *w = &g->writer;
    const decoder *d = g->d;
    uint32_t x = tn_add_embed(w, "token_embd", TN_EMBED_TOKEN, d->token_embd, d->embedding_scale);
    if (!d->position_embd) { return x; }
    return tn_add_sum(w, "embd_sum", x,
                      tn_add_embed(w, "position_embd", TN_EMBED_POSITION, d->position_embd, 1));
}

static void output(const graph *g, uint32_t x, uint32_t purpose) {
    const tn_writer *w = &g->writer;
    const decoder *d = g->d;
    x = norm(g, "output_norm", tn_add_rows(w, "output_rows", x), d->output_norm);
    if (purpose == TN_PURPOSE_EMBED) {
        tn_add_output(w, "hidden", x, 0, TN_OUTPUT_HIDDEN);
        return;
    }
    x = tn_add_linear(w, "output", x, d->output);
    if (d->logit_scale != 1) { x = tn_add_scale(w, "output_scaled", x, d->logit_scale); }
    if (d->final_cap != 0) { x = tn_add_softcap(w, "output_capped", x, d->final_cap); }
    tn_add_output(w, "logits", x, 0, TN_OUTPUT_LOGITS);
}

/* The long set is for contexts beyond the one that the model was first trained for. */
static uint32_t choose_factors(const decoder *d, uint32_t context) {
    if (!d->factors_long) { return d->rope_freqs; }
    return context > d->rotation.original_context ? d->factors_long : d->factors_short;
}

int32_t decoder_write(const decoder *d, const tn_build *options, const tn_builder *builder, tn_error *err) {
    uint64_t pairs = d->rotation.rotated / 2;
    graph g = {.writer = tn_writer_begin(d->host, builder), .d = d};
    if (options->purpose == TN_PURPOSE_RANK) {
        TN_FAIL(err, TN_E_TENSOR_MISSING,
                "cls.output.weight: a decoder has no classification head, which ranks");
    }
    if (d->factors_long && !d->rotation.original_context) {
        TN_FAIL(
            err, TN_E_PARAM_MISSING,
            "%s.rope.scaling.original_context_length: absent, wanted an integer: it says which rope factors are read, "
            "for context_length is none that could stand in for it",
            d->traits->name);
    }
    if (pairs) {
        g.frequencies = d->host->alloc(d->host, 2 * pairs * sizeof(double), _Alignof(double));
        if (!g.frequencies) {
            TN_FAIL(err, TN_E_MEMORY, "no memory for %" PRIu64 " rope frequencies", pairs);
        }
        g.local_frequencies = g.frequencies + pairs;
        tn_rope_frequencies(&d->rotation, g.frequencies);
        tn_rope_frequencies(&d->local_rotation, g.local_frequencies);
        g.factors = choose_factors(d, options->context);
    }
    uint32_t x = embed(&g);
    for (uint32_t i = 0; i < d->layer_count; i++) {
        g.writer.layer = (int32_t)i;
        x = layer(&g, &d->layers[i], x);
    }
    g.writer.layer = TN_NO_LAYER;
    output(&g, x, options->purpose);
    d->host->free(d->host, g.frequencies);
    return TN_OK;
}
