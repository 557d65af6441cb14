/*
 * llama.c - the llama family: Llama 1 to 3, Mistral 7B and its relatives, under the names llama, mistral,
 * azmx.
 *
 *     x  = token_embd[id]
 *     per layer:  x += Wo attend(rope(q), rope(k), v)            h = rms(x); q, k, v = linears of h
 *                 x += Wd (silu(Wg h) * (Wu h))                  h = rms(x)
 *     logits = output rms(x)                                     tied: token_embd where output is absent
 *
 * Grouped-query attention, rotation in adjacent pairs. A bias is added wherever its tensor is present, and
 * attn_qkv is read in place of its three parts. A key attention.sliding_window changes nothing here.
 * It is also the example to copy for another family: configure, tensors, build, in this order below.
 */
#include "tenon/build.h"
#include "tenon/plugin.h"

/* Weights of one layer, as the claims numbered them. */
typedef struct layer {
    uint32_t attn_norm, ffn_norm;
    tn_matrix attn_qkv, attn_q, attn_k, attn_v, attn_output;
    tn_matrix ffn_gate, ffn_up, ffn_down;
} layer;

typedef struct llama {
    const tn_host *host;
    uint32_t layer_count, width, vocab, context;
    uint32_t key_dim, value_dim;
    tn_layered heads, kv_heads, feed_forward;
    double eps;
    tn_rotation rotation;
    uint32_t token_embd, output_norm, rope_freqs;
    tn_matrix output;
    layer layers[];
} llama;

/* ---- configure: hyperparameters ---------------------------------------------------------------------- */

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
static int check_heads(tn_params *params, const llama *c, uint32_t i) {
    uint32_t heads = tn_layer_number(&c->heads, i), kv_heads = tn_layer_number(&c->kv_heads, i);
    char found[96];
    if (heads && kv_heads && heads % kv_heads != 0) {
        snprintf(found, sizeof found, "%u for a head_count of %u in layer %u", kv_heads, heads, i);
        tn_param_fault(params, TN_E_PARAM_INVALID, "attention.head_count_kv", found,
                       "a divisor of head_count");
        return 0;
    }
    uint32_t size = c->key_dim > c->value_dim ? c->key_dim : c->value_dim;
    if ((uint64_t)heads * size > TN_WIDTH_MAX) {
        snprintf(found, sizeof found, "%u heads of %u", heads, size);
        tn_param_fault(params, TN_E_PARAM_INVALID, "attention.head_count", found,
                       "at most 16777216 columns in all");
        return 0;
    }
    return 1;
}

/* Heads and feed forward may differ from layer to layer. */
static void read_layers(tn_params *params, llama *c) {
    c->heads = tn_param_layers(params, "attention.head_count", 1, TN_HEADS_MAX, c->layer_count);
    c->kv_heads =
        tn_param_layers_or(params, "attention.head_count_kv", 1, TN_HEADS_MAX, c->layer_count, &c->heads);
    c->feed_forward = tn_param_layers(params, "feed_forward_length", 1, TN_WIDTH_MAX, c->layer_count);
    uint32_t heads = tn_layer_number(&c->heads, 0);
    c->key_dim = head_size(params, "attention.key_length", c->width, heads);
    c->value_dim = c->key_dim ? head_size(params, "attention.value_length", c->width, heads) : 0;
    for (uint32_t i = 0; i < c->layer_count && check_heads(params, c, i); i++) {}
}

/* All of a head is rotated, so its size must be even and rope.dimension_count, if there, the same. */
static void read_rotation(tn_params *params, llama *c) {
    uint32_t rotated = tn_param_u32_or(params, "rope.dimension_count", 1, TN_WIDTH_MAX, c->key_dim);
    char found[64], wanted[64];
    if (rotated && c->key_dim && (rotated != c->key_dim || rotated % 2 != 0)) {
        snprintf(found, sizeof found, "%u", rotated);
        snprintf(wanted, sizeof wanted, "the head size %u (key_length), an even number", c->key_dim);
        tn_param_fault(params, TN_E_PARAM_INVALID, "rope.dimension_count", found, wanted);
    }
    c->rotation = tn_param_rotation(params, rotated, c->context);
}

/* Mixtral's experts would need another graph: named, not ignored. */
static void refuse_experts(tn_params *params) {
    uint32_t experts = tn_param_u32_or(params, "expert_count", 0, TN_WIDTH_MAX, 0);
    char found[64];
    if (experts == 0) { return; }
    snprintf(found, sizeof found, "%u", experts);
    tn_param_fault(params, TN_E_PARAM_UNSUPPORTED, "expert_count", found,
                   "0: this plugin runs dense models, no mixtures of experts");
}

/* The token list decides; a file without one says its size in vocab_size. */
static uint32_t read_vocab(tn_params *params, uint64_t vocab_size) {
    if (vocab_size == 0) { return tn_param_u32(params, "vocab_size", 1, INT32_MAX); }
    if (vocab_size <= INT32_MAX) { return (uint32_t)vocab_size; }
    tn_param_fault(params, TN_E_PARAM_INVALID, "vocab_size", "more than 2147483647 tokens in the file",
                   "fewer");
    return 0;
}

static void read_params(tn_params *params, uint64_t vocab_size, llama *c) {
    c->vocab = read_vocab(params, vocab_size);
    c->context = tn_param_u32(params, "context_length", 1, TN_CONTEXT_MAX);
    c->width = tn_param_u32(params, "embedding_length", 1, TN_WIDTH_MAX);
    c->eps = tn_param_float(params, "attention.layer_norm_rms_epsilon", TN_POSITIVE, 1);
    read_layers(params, c);
    read_rotation(params, c);
    refuse_experts(params);
}

static void fill_facts(const llama *c, tn_facts *facts) {
    facts->kind = TN_ARCH_DECODER;
    facts->layers = c->layer_count;
    facts->width = c->width;
    facts->heads = tn_layer_number(&c->heads, 0);
    facts->kv_heads = tn_layer_number(&c->kv_heads, 0);
    facts->key_dim = c->key_dim;
    facts->value_dim = c->value_dim;
    facts->feed_forward = tn_layer_number(&c->feed_forward, 0);
    facts->context = c->context;
    facts->rotated = c->rotation.rotated;
    facts->rope_base = c->rotation.base;
    facts->needs_tokenizer = 1;
}

static int32_t configure(void *self, const char *name, const tn_meta *meta, uint64_t vocab_size,
                         const tn_report *report, tn_facts *facts, void **config, tn_error *err) {
    const tn_host *host = self;
    tn_params params = tn_params_begin(host, meta, report, name);
    uint32_t layer_count = tn_param_u32(&params, "block_count", 1, TN_LAYERS_MAX);
    uint64_t size = sizeof(llama) + layer_count * sizeof(layer);
    llama *c = host->alloc(host, size, _Alignof(llama));
    if (!c) { TN_FAIL(err, TN_E_MEMORY, "no memory for the hyperparameters of %u layers", layer_count); }
    memset(c, 0, size);
    c->host = host;
    c->layer_count = layer_count;
    read_params(&params, vocab_size, c);
    int32_t code = tn_params_end(&params, err);
    if (code != TN_OK) {
        host->free(host, c);
        return code;
    }
    fill_facts(c, facts);
    *config = c;
    return TN_OK;
}

static void release(void *self, void *config) {
    const tn_host *host = self;
    host->free(host, config);
}

/* ---- tensors ----------------------------------------------------------------------------------------- */

static void claim_attention(const tn_claimer *claimer, const llama *c, layer *l) {
    uint32_t i = (uint32_t)claimer->layer;
    uint64_t heads = tn_layer_number(&c->heads, i), kv_heads = tn_layer_number(&c->kv_heads, i);
    uint64_t q = heads * c->key_dim, k = kv_heads * c->key_dim, v = kv_heads * c->value_dim;
    l->attn_norm = tn_claim_vector(claimer, "attn_norm.weight", c->width, "embedding_length");
    if (tn_claim_has(claimer, "attn_qkv.weight")) {
        l->attn_qkv = tn_claim_linear(claimer, "attn_qkv", c->width, q + k + v,
                                      "embedding_length, (head_count + 2 head_count_kv) * head size");
    } else {
        l->attn_q =
            tn_claim_linear(claimer, "attn_q", c->width, q, "embedding_length, head_count * key_length");
        l->attn_k =
            tn_claim_linear(claimer, "attn_k", c->width, k, "embedding_length, head_count_kv * key_length");
        l->attn_v =
            tn_claim_linear(claimer, "attn_v", c->width, v, "embedding_length, head_count_kv * value_length");
    }
    l->attn_output = tn_claim_linear(claimer, "attn_output", heads * c->value_dim, c->width,
                                     "head_count * value_length, embedding_length");
}

static void claim_feed_forward(const tn_claimer *claimer, const llama *c, layer *l) {
    uint32_t size = tn_layer_number(&c->feed_forward, (uint32_t)claimer->layer);
    const char *in = "embedding_length, feed_forward_length";
    l->ffn_norm = tn_claim_vector(claimer, "ffn_norm.weight", c->width, "embedding_length");
    l->ffn_gate = tn_claim_linear(claimer, "ffn_gate", c->width, size, in);
    l->ffn_up = tn_claim_linear(claimer, "ffn_up", c->width, size, in);
    l->ffn_down =
        tn_claim_linear(claimer, "ffn_down", size, c->width, "feed_forward_length, embedding_length");
}

static int32_t tensors(void *self, void *config, const tn_claims *claims, tn_error *err) {
    llama *c = config;
    tn_claimer claimer = tn_claimer_begin(self, claims);
    const char *table = "embedding_length, length of tokenizer.ggml.tokens";
    (void)err;
    c->token_embd = tn_claim_tensor(&claimer, "token_embd.weight", 0, c->width, c->vocab, 0, table);
    for (uint32_t i = 0; i < c->layer_count; i++) {
        claimer.layer = (int32_t)i;
        claim_attention(&claimer, c, &c->layers[i]);
        claim_feed_forward(&claimer, c, &c->layers[i]);
    }
    claimer.layer = TN_NO_LAYER;
    c->rope_freqs = tn_claim_tensor(&claimer, "rope_freqs.weight", TN_CLAIM_OPTIONAL, c->key_dim / 2, 0, 0,
                                    "half of the head size");
    c->output_norm = tn_claim_vector(&claimer, "output_norm.weight", c->width, "embedding_length");
    c->output.weight = tn_claim_tensor(&claimer, "output.weight", TN_CLAIM_OPTIONAL | TN_CLAIM_UNUSED,
                                       c->width, c->vocab, 0, table);
    if (!tn_claim_has(&claimer, "output.weight")) { c->output.weight = c->token_embd; }
    return TN_OK;
}

/* ---- build: the graph -------------------------------------------------------------------------------- */

typedef struct heads {
    uint32_t q, k, v;
} heads;

static heads project(const tn_writer *w, const llama *c, const layer *l, uint32_t h) {
    heads out;
    if (l->attn_qkv.weight) {
        uint32_t i = (uint32_t)w->layer, kv = tn_layer_number(&c->kv_heads, i);
        uint32_t widths[3] = {tn_layer_number(&c->heads, i) * c->key_dim, kv * c->key_dim, kv * c->value_dim};
        out.q = tn_add_split(w, "attn_qkv_parts", tn_add_linear(w, "attn_qkv", h, l->attn_qkv), 3, widths);
        out.k = out.q + 1;
        out.v = out.q + 2;
    } else {
        out.q = tn_add_linear(w, "attn_q", h, l->attn_q);
        out.k = tn_add_linear(w, "attn_k", h, l->attn_k);
        out.v = tn_add_linear(w, "attn_v", h, l->attn_v);
    }
    return out;
}

static uint32_t attention(const tn_writer *w, const llama *c, const layer *l, const double *frequencies,
                          uint32_t h) {
    uint32_t i = (uint32_t)w->layer;
    heads x = project(w, c, l, h);
    TN_ATTRIBUTES(w, tn_rope, rope);
    rope.head_dim = rope.rotated = c->key_dim;
    rope.pairing = TN_PAIR_ADJACENT;
    rope.frequencies = frequencies;
    rope.magnitude = tn_rope_magnitude(&c->rotation);
    rope.heads = tn_layer_number(&c->heads, i);
    x.q = tn_add_rope(w, "attn_q_rope", x.q, c->rope_freqs, &rope);
    rope.heads = tn_layer_number(&c->kv_heads, i);
    x.k = tn_add_rope(w, "attn_k_rope", x.k, c->rope_freqs, &rope);
    TN_ATTRIBUTES(w, tn_attend, attend);
    attend.slot = i;
    attend.heads = tn_layer_number(&c->heads, i);
    attend.kv_heads = tn_layer_number(&c->kv_heads, i);
    attend.key_dim = c->key_dim;
    attend.value_dim = c->value_dim;
    attend.causal = attend.cached = 1;
    attend.scale = 1 / sqrt(c->key_dim);
    return tn_add_linear(w, "attn_output", tn_add_attend(w, "attn", x.q, x.k, x.v, 0, &attend),
                         l->attn_output);
}

static uint32_t feed_forward(const tn_writer *w, const layer *l, uint32_t h) {
    uint32_t gate = tn_add_linear(w, "ffn_gate", h, l->ffn_gate);
    uint32_t up = tn_add_linear(w, "ffn_up", h, l->ffn_up);
    return tn_add_linear(w, "ffn_down", tn_add_glu(w, "ffn_glu", gate, up, TN_ACT_SILU), l->ffn_down);
}

static void write_graph(tn_writer *w, const llama *c, const double *frequencies, uint32_t purpose) {
    uint32_t x = tn_add_embed(w, "token_embd", TN_EMBED_TOKEN, c->token_embd, 1);
    for (uint32_t i = 0; i < c->layer_count; i++) {
        const layer *l = &c->layers[i];
        w->layer = (int32_t)i;
        uint32_t h = tn_add_rms(w, "attn_norm", x, l->attn_norm, c->eps);
        x = tn_add_sum(w, "attn_sum", x, attention(w, c, l, frequencies, h));
        h = tn_add_rms(w, "ffn_norm", x, l->ffn_norm, c->eps);
        x = tn_add_sum(w, "ffn_sum", x, feed_forward(w, l, h));
        x = tn_add_mark(w, "output", x, TN_MARK_LAYER_OUTPUT);
    }
    w->layer = TN_NO_LAYER;
    x = tn_add_rms(w, "output_norm", tn_add_rows(w, "output_rows", x), c->output_norm, c->eps);
    if (purpose == TN_PURPOSE_EMBED) {
        tn_add_output(w, "hidden", x, 0, TN_OUTPUT_HIDDEN);
    } else {
        tn_add_output(w, "logits", tn_add_linear(w, "output", x, c->output), 0, TN_OUTPUT_LOGITS);
    }
}

static int32_t build(void *self, const void *config, const tn_build *options, const tn_builder *builder,
                     tn_error *err) {
    const tn_host *host = self;
    const llama *c = config;
    tn_writer writer = tn_writer_begin(host, builder);
    uint32_t pairs = c->rotation.rotated / 2;
    double *frequencies = host->alloc(host, pairs * sizeof(double), _Alignof(double));
    if (!frequencies) { TN_FAIL(err, TN_E_MEMORY, "no memory for %u rope frequencies", pairs); }
    tn_rope_frequencies(&c->rotation, frequencies);
    write_graph(&writer, c, frequencies, options->purpose);
    host->free(host, frequencies);
    return TN_OK;
}

/* ---- the plugin -------------------------------------------------------------------------------------- */

static const tn_arch arch = {
    .struct_size = sizeof(tn_arch),
    .configure = configure,
    .release = release,
    .tensors = tensors,
    .build = build,
};

/* The host is all that this plugin has to find again. */
static int32_t open_plugin(const tn_host *host, void **self, tn_error *err) {
    (void)err;
    *self = (void *)host;
    return TN_OK;
}

static const void *interface(const char *name) {
    return strcmp(name, TN_ARCH_1) == 0 ? &arch : NULL;
}

TN_PLUGIN("arch.llama", "0.1.0", "Apache-2.0", 0, open_plugin, NULL, interface);
