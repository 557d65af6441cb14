/* test_conform_attend.c - attention held to the reference: head sizes, groups, windows, caps, sinks, page
 * borders. */
#include "conformance.h"

#include <criterion/criterion.h>

#define EACH(i, array) for (uint32_t i = 0; i < sizeof(array) / sizeof(array)[0]; i++)

struct attend_case {
    uint32_t heads, kv_heads, key_dim, value_dim, window, sinks;
    double softcap;
    uint32_t cached, both_ways, cache_type;
};

static uint32_t add_attend(bench *b, const struct attend_case *c, uint32_t slot, uint32_t q, uint32_t k,
                           uint32_t v) {
    TN_ATTRIBUTES(&b->writer, tn_attend, attend);
    attend.slot = slot;
    attend.heads = c->heads;
    attend.kv_heads = c->kv_heads;
    attend.key_dim = c->key_dim;
    attend.value_dim = c->value_dim;
    attend.causal = !c->both_ways;
    attend.cached = c->cached;
    attend.window = c->window;
    attend.scale = 1.5 / sqrt(c->key_dim);
    attend.softcap = c->softcap;
    return tn_add_attend(&b->writer, "attend", q, k, v,
                         c->sinks ? bench_weight(b, TYPE_F32, c->heads, 1, 1, 2) : 0, &attend);
}

static void make_attend(bench *b, const void *context) {
    const struct attend_case *c = context;
    b->cache_type = c->cache_type;
    uint32_t q = bench_input(b, c->heads * c->key_dim), k = bench_input(b, c->kv_heads * c->key_dim);
    bench_output(b, add_attend(b, c, 0, q, k, bench_input(b, c->kv_heads * c->value_dim)), 0);
}

static const lengths border = {3, {100, 64, 9}}, tiny = {2, {1, 12}};

static void conform_attend(const struct attend_case *c) {
    conform("attend", make_attend, c, &tiny, TOLERANCE_FLOAT);
    conform("attend", make_attend, c, &border, TOLERANCE_FLOAT);
}

Test(conform, attend_head_sizes) {
    const uint32_t dims[] = {1, 3, 17, 32, 40, 64, 64, 80, 96, 128, 256};
    EACH (i, dims) {
        struct attend_case c = {4, 2, dims[i], dims[i], 0, 0, 0, 1, 0, i % 2 ? TYPE_F16 : TYPE_F32};
        conform_attend(&c);
    }
    conform_end();
}

Test(conform, attend_groups) {
    const uint32_t heads[][2] = {{1, 1}, {4, 4}, {9, 3}, {8, 1}, {6, 2}, {16, 2}};
    EACH (i, heads) {
        struct attend_case c = {heads[i][0], heads[i][1], 64, 64, 0, 0, 0, 1, 0, i % 2 ? TYPE_F16 : TYPE_F32};
        conform_attend(&c);
    }
    conform_end();
}

Test(conform, attend_windows) {
    const uint32_t windows[] = {1, 5, 8, 63, 64, 65};
    EACH (i, windows) {
        struct attend_case c = {4, 2, 32, 32, windows[i], 0, 0, 1, 0, i % 2 ? TYPE_F16 : TYPE_F32};
        conform_attend(&c);
    }
    conform_end();
}

Test(conform, attend_caps_and_sinks) {
    const struct attend_case table[] = {{4, 2, 64, 64, 0, 0, 5, 1, 0, TYPE_F32},
                                        {4, 2, 64, 64, 0, 1, 0, 1, 0, TYPE_F32},
                                        {4, 4, 32, 32, 16, 1, 2, 1, 0, TYPE_F16},
                                        {2, 1, 80, 48, 0, 1, 0, 1, 0, TYPE_F32},
                                        {2, 1, 48, 80, 0, 0, 0, 1, 0, TYPE_F16}};
    EACH (i, table) { conform_attend(&table[i]); }
    conform_end();
}

Test(conform, attend_uncached) {
    const struct attend_case table[] = {{4, 2, 32, 32, 0, 0, 0, 0, 1, TYPE_F32},
                                        {4, 4, 33, 33, 0, 1, 0, 0, 1, TYPE_F32},
                                        {4, 2, 64, 64, 0, 0, 0, 0, 0, TYPE_F32}};
    EACH (i, table) {
        conform_whole("uncached", make_attend, &table[i], &border, TOLERANCE_FLOAT);
        conform_whole("uncached", make_attend, &table[i], &tiny, TOLERANCE_FLOAT);
    }
    conform_end();
}

/* Windows, caps and unlike head sizes in sequences that lie whole in the step, seen from both sides. */
Test(conform, attend_uncached_variants) {
    const struct attend_case table[] = {{4, 2, 32, 32, 7, 0, 0, 0, 1, TYPE_F32},
                                        {4, 2, 32, 32, 64, 0, 0, 0, 0, TYPE_F32},
                                        {6, 3, 40, 24, 0, 1, 3, 0, 1, TYPE_F32},
                                        {3, 1, 24, 40, 65, 1, 0, 0, 0, TYPE_F32}};
    EACH (i, table) { conform_whole("uncached", make_attend, &table[i], &border, TOLERANCE_FLOAT); }
    conform_end();
}

/* ---- heads that are normalised and rotated first ----------------------------------------------------- */

static uint32_t add_rope(bench *b, uint32_t x, uint32_t heads) {
    double frequencies[16];
    tn_rotation r = {
        .rotated = 32, .scaling = TN_SCALING_LINEAR, .base = 10000, .factor = 1, .attention_factor = 1};
    TN_ATTRIBUTES(&b->writer, tn_rope, rope);
    tn_rope_frequencies(&r, frequencies);
    rope.heads = heads;
    rope.head_dim = 64;
    rope.rotated = 32;
    rope.pairing = TN_PAIR_HALVES;
    rope.frequencies = frequencies;
    rope.magnitude = 1;
    return tn_add_rope(&b->writer, "rope", x, 0, &rope);
}

struct heads_case {
    uint32_t kind, own, bias; /* weights of one head, or of each its own */
    uint32_t rope;            /* 0: none, 1: behind the norm, 2: before it */
    uint32_t twice;           /* q is read by another op as well */
};

static uint32_t add_heads(bench *b, const struct heads_case *c, uint32_t x, uint32_t heads) {
    uint32_t size = c->own ? heads * 64 : 64;
    tn_matrix w = {bench_gain(b, size), c->bias ? bench_weight(b, TYPE_F32, size, 1, 1, 0.5) : 0};
    if (c->rope == 2) { x = add_rope(b, x, heads); }
    x = tn_add_norm(&b->writer, "head norm", x, c->kind, heads, w, 1e-5);
    return c->rope == 1 ? add_rope(b, x, heads) : x;
}

static void make_heads(bench *b, const void *context) {
    const struct heads_case *c = context;
    const struct attend_case heads = {4, 2, 64, 64, 0, 0, 0, 1, 0, 0};
    b->cache_type = TYPE_F32;
    uint32_t q = add_heads(b, c, bench_input(b, 256), 4), k = add_heads(b, c, bench_input(b, 128), 2);
    uint32_t y = add_attend(b, &heads, 0, q, k, bench_input(b, 128));
    bench_output(b, c->twice ? tn_add_sum(&b->writer, "twice", y, q) : y, 0);
}

Test(conform, attend_head_norms) {
    const struct heads_case table[] = {{TN_NORM_RMS, 0, 0, 1, 0},   {TN_NORM_RMS, 0, 0, 2, 0},
                                       {TN_NORM_LAYER, 1, 0, 1, 0}, {TN_NORM_LAYER, 1, 1, 0, 0},
                                       {TN_NORM_LAYER, 0, 1, 1, 1}, {TN_NORM_RMS, 1, 1, 2, 1}};
    EACH (i, table) { conform("heads", make_heads, &table[i], &tiny, TOLERANCE_FLOAT); }
    conform("heads", make_heads, &table[2], &border, TOLERANCE_FLOAT);
    conform_end();
}

/* ---- an encoder -------------------------------------------------------------------------------------- */

struct encoder_case {
    uint32_t type, pool, head; /* pool 0: a row a token; head: a classifier behind it */
};

static tn_matrix with_bias(bench *b, uint32_t type, uint64_t in, uint64_t out) {
    uint32_t w = bench_weight(b, type, in, out, 1, 1 / sqrt((double)in));
    return (tn_matrix){w, bench_weight(b, TYPE_F32, out, 1, 1, 0.3)};
}

static uint32_t add_layer_norm(bench *b, uint32_t x) {
    tn_matrix w = {bench_gain(b, 64), bench_weight(b, TYPE_F32, 64, 1, 1, 0.3)};
    return tn_add_norm(&b->writer, "norm", x, TN_NORM_LAYER, 1, w, 1e-12);
}

static void make_encoder(bench *b, const void *context) {
    const struct encoder_case *c = context;
    const struct attend_case heads = {4, 4, 16, 16, 0, 0, 0, 0, 1, 0};
    const tn_writer *w = &b->writer;
    b->vocab = 40;
    b->use_types = 1;
    uint32_t x = tn_add_embed(w, "token", TN_EMBED_TOKEN, bench_weight(b, c->type, 64, 40, 1, 1), 1);
    x = tn_add_sum(w, "typed", x, tn_add_embed(w, "type", TN_EMBED_TYPE, bench_weight(b, 0, 64, 2, 1, 1), 1));
    uint32_t table = bench_weight(b, c->type, 64, 128, 1, 1);
    x = tn_add_sum(w, "placed", x, tn_add_embed(w, "position", TN_EMBED_POSITION, table, 1));
    x = add_layer_norm(b, x);
    uint32_t q = tn_add_linear(w, "q", x, with_bias(b, c->type, 64, 64)),
             k = tn_add_linear(w, "k", x, with_bias(b, c->type, 64, 64)),
             v = tn_add_linear(w, "v", x, with_bias(b, c->type, 64, 64));
    uint32_t a = tn_add_linear(w, "o", add_attend(b, &heads, 0, q, k, v), with_bias(b, c->type, 64, 64));
    x = add_layer_norm(b, tn_add_sum(w, "sum", a, x));
    uint32_t y = tn_add_linear(w, "up", x, with_bias(b, c->type, 64, 96));
    y = tn_add_linear(w, "down", tn_add_act(w, "act", y, TN_ACT_GELU_ERF, 1), with_bias(b, c->type, 96, 64));
    x = add_layer_norm(b, tn_add_sum(w, "sum", y, x));
    if (c->pool) { x = tn_add_pool(w, "pool", x, c->pool); }
    if (c->head) {
        x = tn_add_act(w, "tanh", tn_add_linear(w, "head", x, with_bias(b, TYPE_F32, 64, 64)), TN_ACT_TANH,
                       1);
        x = tn_add_linear(w, "score", x, with_bias(b, TYPE_F32, 64, 1));
    }
    bench_output(b, x, c->pool != 0);
}

Test(conform, encoder) {
    const lengths four = {4, {70, 1, 12, 33}};
    const struct encoder_case table[] = {{TYPE_F32, 0, 0},
                                         {TYPE_F16, TN_POOL_MEAN, 0},
                                         {TYPE_F32, TN_POOL_FIRST, 1},
                                         {TYPE_F16, TN_POOL_LAST, 0},
                                         {TYPE_Q8_0, TN_POOL_MEAN, 0}};
    EACH (i, table) {
        double tolerance = table[i].type == TYPE_Q8_0 ? TOLERANCE_FEED_FORWARD_I8 : TOLERANCE_FLOAT;
        conform_whole("encoder", make_encoder, &table[i], &four, tolerance);
    }
    conform_end();
}

/* Bigrams are for the host: the rows are those without them. */
static void make_bigrams(bench *b, const void *context) {
    const tn_writer *w = &b->writer;
    (void)context;
    uint32_t x = tn_add_linear(w, "frames", bench_input(b, 40), with_bias(b, TYPE_F32, 40, 30));
    x = tn_add_rows(w, "rows", x);
    tn_add_output(w, "out", x, bench_weight(b, TYPE_F32, 30, 30, 1, 1), TN_OUTPUT_CTC);
}

Test(conform, output_with_bigrams) {
    conform("bigrams", make_bigrams, NULL, &tiny, TOLERANCE_FLOAT);
    conform_end();
}

/* ---- two whole layers -------------------------------------------------------------------------------- */

struct layers_case {
    uint32_t type, cache_type, fused;
};

static tn_matrix matrix(bench *b, uint32_t type, uint64_t in, uint64_t out) {
    return (tn_matrix){bench_weight(b, type, in, out, 1, 1 / sqrt((double)in)), 0};
}

static uint32_t add_layer(bench *b, const struct layers_case *c, uint32_t slot, uint32_t x) {
    const tn_writer *w = &b->writer;
    const struct attend_case heads = {4, 2, 64, 64, slot ? 40 : 0, 0, 0, 1, 0, 0};
    uint32_t h = tn_add_rms(w, "norm", x, bench_gain(b, 256), 1e-5), q, k, v;
    if (c->fused) {
        const uint32_t widths[] = {256, 128, 128};
        q = tn_add_split(w, "parts", tn_add_linear(w, "qkv", h, matrix(b, c->type, 256, 512)), 3, widths);
        k = q + 1;
        v = q + 2;
    } else {
        q = tn_add_linear(w, "q", h, matrix(b, c->type, 256, 256));
        k = tn_add_linear(w, "k", h, matrix(b, c->type, 256, 128));
        v = tn_add_linear(w, "v", h, matrix(b, c->type, 256, 128));
    }
    uint32_t a = add_attend(b, &heads, slot, add_rope(b, q, 4), add_rope(b, k, 2), v);
    x = tn_add_sum(w, "sum", x, tn_add_linear(w, "out", a, matrix(b, c->type, 256, 256)));
    h = tn_add_rms(w, "ffn norm", x, bench_gain(b, 256), 1e-5);
    uint32_t gate = tn_add_linear(w, "gate", h, matrix(b, c->type, 256, 256));
    uint32_t up = tn_add_linear(w, "up", h, matrix(b, c->type, 256, 256));
    uint32_t y = tn_add_glu(w, "glu", gate, up, TN_ACT_SILU);
    x = tn_add_sum(w, "ffn sum", x, tn_add_linear(w, "down", y, matrix(b, c->type, 256, 256)));
    return tn_add_mark(w, "layer", x, TN_MARK_LAYER_OUTPUT);
}

/* Embedding, two layers in two cache groups, rows, norm and the tied output. */
static void make_layers(bench *b, const void *context) {
    const struct layers_case *c = context;
    b->cache_type = c->cache_type;
    b->vocab = 40;
    uint32_t table = bench_weight(b, c->type, 256, 40, 1, 1);
    uint32_t x = tn_add_embed(&b->writer, "embed", TN_EMBED_TOKEN, table, 1);
    x = add_layer(b, c, 1, add_layer(b, c, 0, x));
    x = tn_add_rms(&b->writer, "norm", tn_add_rows(&b->writer, "rows", x), bench_gain(b, 256), 1e-5);
    x = tn_add_linear(&b->writer, "logits", x, (tn_matrix){table, 0});
    tn_add_output(&b->writer, "out", x, 0, TN_OUTPUT_LOGITS);
}

/* Errors add up over eight matrices in a row. */
#define TOLERANCE_LAYERS_I8 3e-2

Test(conform, layers) {
    const lengths some = {2, {66, 3}};
    const struct layers_case table[] = {
        {TYPE_F32, TYPE_F32, 0}, {TYPE_F16, TYPE_F16, 1}, {TYPE_Q4_1, TYPE_F32, 1}, {TYPE_Q6_K, TYPE_F16, 0}};
    const double tolerances[] = {TOLERANCE_FLOAT, TOLERANCE_F16, TOLERANCE_LAYERS_I8, TOLERANCE_LAYERS_I8};
    EACH (i, table) {
        conform("layers", make_layers, &table[i], &some, tolerances[i]);
        conform("layers", make_layers, &table[i], &tiny, tolerances[i]);
    }
    conform_end();
}
