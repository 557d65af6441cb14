/*
 * bert_graph.c - the graph of an encoder: hidden states of every row, or the score of each sequence.
 */
#include "bert.h"

typedef struct graph {
    tn_writer writer;
    const bert *b;
    double *frequencies;
} graph;

static uint32_t norm(const graph *g, const char *name, uint32_t x, tn_matrix w) {
    return tn_add_norm(&g->writer, name, x, TN_NORM_LAYER, 1, w, g->b->eps);
}

static uint32_t rotate(const graph *g, const char *name, uint32_t x) {
    if (g->b->traits->positions) { return x; }
    TN_ATTRIBUTES(&g->writer, tn_rope, rope);
    rope.heads = g->b->heads;
    rope.head_dim = rope.rotated = g->b->head_dim;
    rope.pairing = TN_PAIR_HALVES;
    rope.frequencies = g->frequencies;
    rope.magnitude = tn_rope_magnitude(&g->b->rotation);
    return tn_add_rope(&g->writer, name, x, 0, &rope);
}

static uint32_t attention(const graph *g, const bert_layer *l, uint32_t x) {
    const tn_writer *w = &g->writer;
    const uint32_t width = g->b->width, widths[3] = {width, width, width};
    uint32_t q, k, v;
    if (l->qkv.weight) {
        q = tn_add_split(w, "attn_qkv_parts", tn_add_linear(w, "attn_qkv", x, l->qkv), 3, widths);
        k = q + 1;
        v = q + 2;
    } else {
        q = tn_add_linear(w, "attn_q", x, l->q);
        k = tn_add_linear(w, "attn_k", x, l->k);
        v = tn_add_linear(w, "attn_v", x, l->v);
    }
    TN_ATTRIBUTES(w, tn_attend, attend);
    attend.heads = attend.kv_heads = g->b->heads;
    attend.key_dim = attend.value_dim = g->b->head_dim;
    attend.scale = 1 / sqrt(g->b->head_dim);
    q = rotate(g, "attn_q_rope", q);
    k = rotate(g, "attn_k_rope", k);
    return tn_add_linear(w, "attn_output", tn_add_attend(w, "attn", q, k, v, 0, &attend), l->attn_output);
}

static uint32_t feed_forward(const graph *g, const bert_layer *l, uint32_t x) {
    const tn_writer *w = &g->writer;
    if (!g->b->traits->gated) {
        uint32_t up = tn_add_linear(w, "ffn_up", x, l->up);
        return tn_add_linear(w, "ffn_down", tn_add_act(w, "ffn_act", up, TN_ACT_GELU_ERF, 1), l->down);
    }
    uint32_t gate = tn_add_linear(w, "ffn_gate", x, l->gate), up = tn_add_linear(w, "ffn_up", x, l->up);
    return tn_add_linear(w, "ffn_down", tn_add_glu(w, "ffn_glu", gate, up, TN_ACT_SILU), l->down);
}

static uint32_t layer(const graph *g, const bert_layer *l, uint32_t x) {
    const tn_writer *w = &g->writer;
    x = norm(g, "attn_output_norm", tn_add_sum(w, "attn_sum", x, attention(g, l, x)), l->attn_output_norm);
    x = norm(g, "layer_output_norm", tn_add_sum(w, "ffn_sum", x, feed_forward(g, l, x)),
             l->layer_output_norm);
    return tn_add_mark(w, "output", x, TN_MARK_LAYER_OUTPUT);
}

static uint32_t embed(const graph *g) {
    const tn_writer *w = &g->writer;
    const bert *b = g->b;
    uint32_t x = tn_add_embed(w, "token_embd", TN_EMBED_TOKEN, b->token_embd, 1);
    if (b->token_types) {
        x = tn_add_sum(w, "type_sum", x, tn_add_embed(w, "token_types", TN_EMBED_TYPE, b->token_types, 1));
    }
    if (b->position_embd) {
        x = tn_add_sum(w, "position_sum", x,
                       tn_add_embed(w, "position_embd", TN_EMBED_POSITION, b->position_embd, 1));
    }
    return norm(g, "token_embd_norm", x, b->token_embd_norm);
}

static void score(const graph *g, uint32_t x) {
    const tn_writer *w = &g->writer;
    x = tn_add_pool(w, "pooled", x, g->b->head_pool);
    if (g->b->cls.weight) {
        x = tn_add_act(w, "cls_act", tn_add_linear(w, "cls", x, g->b->cls), TN_ACT_TANH, 1);
    }
    tn_add_output(w, "score", tn_add_linear(w, "cls_output", x, g->b->cls_output), 0, TN_OUTPUT_SCORE);
}

static int32_t check_purpose(const bert *b, uint32_t purpose, tn_error *err) {
    if (purpose == TN_PURPOSE_RANK && !b->cls_output.weight) {
        TN_FAIL(err, TN_E_TENSOR_MISSING,
                "cls.output.weight: absent, wanted a classification head, which ranks");
    }
    if (purpose != TN_PURPOSE_RANK && purpose != TN_PURPOSE_EMBED) {
        TN_FAIL(err, TN_E_PARAM_UNSUPPORTED, "%s: an encoder, which continues no texts", b->traits->name);
    }
    return TN_OK;
}

int32_t bert_write(const bert *b, const tn_build *options, const tn_builder *builder, tn_error *err) {
    graph g = {.writer = tn_writer_begin(b->host, builder), .b = b};
    TN_TRY(check_purpose(b, options->purpose, err));
    if (!b->traits->positions) {
        uint64_t size = b->head_dim / 2 * sizeof(double);
        g.frequencies = b->host->alloc(b->host, size, _Alignof(double));
        if (!g.frequencies) { TN_FAIL(err, TN_E_MEMORY, "no memory for the frequencies of a head"); }
        tn_rope_frequencies(&b->rotation, g.frequencies);
    }
    uint32_t x = embed(&g);
    for (uint32_t i = 0; i < b->layer_count; i++) {
        g.writer.layer = (int32_t)i;
        x = layer(&g, &b->layers[i], x);
    }
    g.writer.layer = TN_NO_LAYER;
    if (options->purpose == TN_PURPOSE_RANK) {
        score(&g, x);
    } else {
        tn_add_output(&g.writer, "hidden", tn_add_rows(&g.writer, "output_rows", x), 0, TN_OUTPUT_HIDDEN);
    }
    b->host->free(b->host, g.frequencies);
    return TN_OK;
}
