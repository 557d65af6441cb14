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

/* ---- two whole layers -------------------------------------------------------------------------------- */

struct layers_case {
    uint32_t type, cache_type, fused;
};

static tn_matrix matrix(bench *b, uint32_t type, uint64_t in, uint64_t out) {
    return (tn_matrix){bench_weight(b, type, in, out, 1, 1 / sqrt((double)in)), 0};
}

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
