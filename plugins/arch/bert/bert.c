/*
 * bert.c - BERT and nomic-bert: hyperparameters, tensors, and the plugin around them.
 */
#include "bert.h"

static const bert_traits names[] = {
    {.name = "bert", .positions = true, .linear_bias = true, .classifies = true},
    {.name = "nomic-bert", .gated = true},
};

/* ---- hyperparameters ----------------------------------------------------------------------------------- */

static void read_heads(tn_params *params, bert *b) {
    char found[96];
    b->heads = tn_param_u32(params, "attention.head_count", 1, TN_HEADS_MAX);
    if (!b->heads || !b->width) { return; }
    b->head_dim = b->width / b->heads;
    if (b->width % b->heads != 0 || (!b->traits->positions && b->head_dim % 2 != 0)) {
        snprintf(found, sizeof found, "%u for an embedding_length of %u", b->heads, b->width);
        tn_param_fault(params, TN_E_PARAM_INVALID, "attention.head_count", found,
                       b->traits->positions ? "a divisor of embedding_length"
                                            : "heads of an even size that make up embedding_length");
        return;
    }
    tn_param_u32_or(params, "attention.head_count_kv", b->heads, b->heads, b->heads);
    tn_param_u32_or(params, "attention.key_length", b->head_dim, b->head_dim, b->head_dim);
    tn_param_u32_or(params, "attention.value_length", b->head_dim, b->head_dim, b->head_dim);
    if (b->traits->positions) { return; }
    tn_param_u32_or(params, "rope.dimension_count", b->head_dim, b->head_dim, b->head_dim);
    b->rotation = tn_param_rotation(params, b->head_dim, b->context);
}

/* A list of names, of which only the number counts. */
static void read_labels(tn_params *params, bert *b) {
    const char *key = "classifier.output_labels";
    tn_kv kv;
    b->labels = 1;
    if (!b->traits->classifies || !tn_param_find(params, key, &kv)) { return; }
    if (kv.type != TN_KV_ARRAY || kv.element_type != TN_KV_STRING) {
        tn_param_wrong_type(params, key, &kv, "an array of strings");
    } else if (kv.count < 1 || kv.count > TN_WIDTH_MAX) {
        char found[64];
        snprintf(found, sizeof found, "an array of %" PRIu64, kv.count);
        tn_param_fault(params, TN_E_PARAM_INVALID, key, found, "1 to 16777216 names");
    } else {
        b->labels = (uint32_t)kv.count;
    }
}

/* classifier.pooling_type: the head sees the mean of the rows, or the first one. */
static void read_head_pool(tn_params *params, bert *b) {
    const char *key = "classifier.pooling_type";
    enum { MEAN = 1, CLS = 2 };
    uint32_t type = tn_param_u32_or(params, key, 0, UINT16_MAX, CLS);
    char found[32];
    b->head_pool = type == MEAN ? TN_POOL_MEAN : TN_POOL_FIRST;
    if (type == MEAN || type == CLS) { return; }
    snprintf(found, sizeof found, "%u", type);
    tn_param_fault(params, TN_E_PARAM_UNSUPPORTED, key, found, "1 (mean) or 2 (cls)");
}

static void read_token_types(const tn_host *host, const tn_meta *meta, const tn_report *report,
                             tn_params *params, bert *b) {
    tn_params tokenizer = tn_params_begin(host, meta, report, "tokenizer.ggml");
    b->types = tn_param_u32(&tokenizer, "token_type_count", 1, TN_WIDTH_MAX);
    if (params->first.code == TN_OK) { params->first = tokenizer.first; }
}

static void read_params(tn_params *params, uint64_t vocab_size, bert *b) {
    b->vocab = decoder_vocab(params, vocab_size);
    b->context = b->traits->positions ? tn_param_u32(params, "context_length", 1, TN_CONTEXT_MAX)
                                      : tn_param_context(params);
    b->width = tn_param_u32(params, "embedding_length", 1, TN_WIDTH_MAX);
    b->feed_forward = tn_param_u32(params, "feed_forward_length", 1, TN_WIDTH_MAX);
    b->eps = tn_param_float(params, "attention.layer_norm_epsilon", TN_POSITIVE, 1);
    tn_param_u32_or(params, "pooling_type", 0, b->traits->classifies ? 4 : 3, 0); /* core pools; 4: by rank */
    read_heads(params, b);
    read_labels(params, b);
    if (b->traits->classifies) { read_head_pool(params, b); }
    if (tn_param_bool_or(params, "attention.causal", 0)) {
        tn_param_fault(params, TN_E_PARAM_UNSUPPORTED, "attention.causal", "true",
                       "false: in an encoder every token sees every other");
    }
}

static void fill_facts(const bert *b, tn_facts *facts) {
    facts->kind = TN_ARCH_ENCODER;
    facts->layers = b->layer_count;
    facts->width = b->width;
    facts->heads = facts->kv_heads = b->heads;
    facts->key_dim = facts->value_dim = b->head_dim;
    facts->feed_forward = b->feed_forward;
    facts->context = b->context;
    facts->context_limit = b->traits->positions ? b->context : 0;
    facts->rotated = b->traits->positions ? 0 : b->head_dim;
    facts->rope_base = b->rotation.base;
    facts->needs_tokenizer = 1;
}

static const bert_traits *traits_of(const char *name) {
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (strcmp(names[i].name, name) == 0) { return &names[i]; }
    }
    return NULL;
}

static int32_t configure(void *self, const char *name, const tn_meta *meta, uint64_t vocab_size,
                         const tn_report *report, tn_facts *facts, void **config, tn_error *err) {
    const tn_host *host = self;
    const bert_traits *traits = traits_of(name);
    reading r;
    if (!traits) {
        TN_FAIL(err, TN_E_PLUGIN_MANIFEST, "%s: claimed by the manifest, unknown to the plugin", name);
    }
    TN_TRY(reading_begin(&r, host, name, meta, report, sizeof(bert), sizeof(bert_layer), err));
    bert *b = r.config;
    b->host = host;
    b->traits = traits;
    b->layer_count = r.layer_count;
    read_params(&r.params, vocab_size, b);
    read_token_types(host, meta, report, &r.params, b);
    TN_TRY(reading_end(&r, config, err));
    fill_facts(b, facts);
    return TN_OK;
}

/* ---- tensors ------------------------------------------------------------------------------------------- */

/* "<stem>.weight" and "<stem>.bias", both with the flags. */
static tn_matrix claim_pair(const tn_claimer *claimer, const char *stem, uint32_t flags, uint64_t in,
                            uint64_t out, const char *why) {
    tn_matrix matrix;
    matrix.weight = tn_claim_part(claimer, stem, ".weight", flags, in, out, 0, why);
    matrix.bias =
        tn_claim_part(claimer, stem, ".bias", flags, out ? out : in, 0, 0, "the rows of its matrix");
    return matrix;
}

static tn_matrix claim_norm(const tn_claimer *claimer, const bert *b, const char *stem) {
    return claim_pair(claimer, stem, 0, b->width, 0, "embedding_length");
}

/* A matrix of the attention. */
static tn_matrix claim_linear(const tn_claimer *claimer, const bert *b, const char *stem, uint64_t out,
                              const char *why) {
    return b->traits->linear_bias ? claim_pair(claimer, stem, 0, b->width, out, why)
                                  : tn_claim_linear(claimer, stem, b->width, out, why);
}

static void claim_attention(const tn_claimer *claimer, const bert *b, bert_layer *l) {
    const char *square = "embedding_length, embedding_length";
    if (tn_claim_has(claimer, "attn_qkv.weight")) {
        l->qkv = claim_linear(claimer, b, "attn_qkv", 3 * (uint64_t)b->width,
                              "embedding_length, 3 embedding_length");
    } else {
        l->q = claim_linear(claimer, b, "attn_q", b->width, square);
        l->k = claim_linear(claimer, b, "attn_k", b->width, square);
        l->v = claim_linear(claimer, b, "attn_v", b->width, square);
    }
    l->attn_output = claim_linear(claimer, b, "attn_output", b->width, square);
    l->attn_output_norm = claim_norm(claimer, b, "attn_output_norm");
}

static void claim_feed_forward(const tn_claimer *claimer, const bert *b, bert_layer *l) {
    const char *in = "embedding_length, feed_forward_length", *out = "feed_forward_length, embedding_length";
    if (b->traits->gated) {
        l->gate.weight = tn_claim_tensor(claimer, "ffn_gate.weight", 0, b->width, b->feed_forward, 0, in);
        l->up.weight = tn_claim_tensor(claimer, "ffn_up.weight", 0, b->width, b->feed_forward, 0, in);
        l->down.weight = tn_claim_tensor(claimer, "ffn_down.weight", 0, b->feed_forward, b->width, 0, out);
    } else {
        l->up = claim_pair(claimer, "ffn_up", 0, b->width, b->feed_forward, in);
        l->down = claim_pair(claimer, "ffn_down", 0, b->feed_forward, b->width, out);
    }
    l->layer_output_norm = claim_norm(claimer, b, "layer_output_norm");
}

/* Which of the two outputs is computed depends on the purpose. */
static void claim_head(const tn_claimer *claimer, bert *b) {
    if (!b->traits->classifies) { return; }
    if (tn_claim_has(claimer, "cls.weight")) {
        b->cls = claim_pair(claimer, "cls", TN_CLAIM_UNUSED, b->width, b->width,
                            "embedding_length, embedding_length");
    }
    if (tn_claim_has(claimer, "cls.output.weight")) {
        b->cls_output = claim_pair(claimer, "cls.output", TN_CLAIM_UNUSED, b->width, b->labels,
                                   "embedding_length, length of classifier.output_labels (absent: 1)");
    }
}

static int32_t tensors(void *self, void *config, const tn_claims *claims, tn_error *err) {
    bert *b = config;
    tn_claimer claimer = tn_claimer_begin(self, claims);
    (void)err;
    b->token_embd = tn_claim_tensor(&claimer, "token_embd.weight", 0, b->width, b->vocab, 0,
                                    "embedding_length, length of tokenizer.ggml.tokens");
    b->token_types = tn_claim_tensor(&claimer, "token_types.weight", TN_CLAIM_OPTIONAL, b->width, b->types, 0,
                                     "embedding_length, tokenizer.ggml.token_type_count");
    if (b->traits->positions) {
        b->position_embd = tn_claim_tensor(&claimer, "position_embd.weight", 0, b->width, b->context, 0,
                                           "embedding_length, context_length");
    }
    b->token_embd_norm = claim_norm(&claimer, b, "token_embd_norm");
    for (uint32_t i = 0; i < b->layer_count; i++) {
        claimer.layer = (int32_t)i;
        claim_attention(&claimer, b, &b->layers[i]);
        claim_feed_forward(&claimer, b, &b->layers[i]);
    }
    claimer.layer = TN_NO_LAYER;
    claim_head(&claimer, b);
    return TN_OK;
}

static int32_t build(void *self, const void *config, const tn_build *options, const tn_builder *builder,
                     tn_error *err) {
    (void)self;
    return bert_write(config, options, builder, err);
}

TN_ARCH_PLUGIN("arch.bert", "0.1.0", "Apache-2.0", 0, configure, tensors, build);
