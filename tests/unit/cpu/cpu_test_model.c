/* cpu_test_model.c - a llama-like decoder and sequences that run through it. */
#include "cpu_test.h"

#include <math.h>
#include <string.h>

const test_shape test_small = {.vocab = 96,
                               .width = 64,
                               .heads = 6,
                               .kv_heads = 2,
                               .head_dim = 32,
                               .hidden = 160,
                               .layers = 2,
                               .format = &test_q8,
                               .embedding = &test_f32};

static void make_qkv(test_graph *g, const test_shape *s, uint32_t h, uint32_t qkv[3]) {
    uint32_t q = s->heads * s->head_dim, kv = s->kv_heads * s->head_dim;
    if (s->fused) {
        tn_split split = {sizeof split, 3, {q, kv, kv}};
        uint32_t all = test_linear(g, "qkv", h, test_weight(g, s->format, "qkv", q + 2 * kv, s->width), 0);
        qkv[0] = test_node(g, &(tn_node){.op = TN_OP_split, .name = "split", .inputs = {all}}, &split,
                           sizeof split);
        qkv[1] = qkv[0] + 1;
        qkv[2] = qkv[0] + 2;
        return;
    }
    qkv[0] = test_linear(g, "q", h, test_weight(g, s->format, "q", q, s->width), 0);
    qkv[1] = test_linear(g, "k", h, test_weight(g, s->format, "k", kv, s->width), 0);
    qkv[2] = test_linear(g, "v", h, test_weight(g, s->format, "v", kv, s->width), 0);
}

static uint32_t make_layer(test_graph *g, const test_shape *s, uint32_t x, uint32_t layer) {
    uint32_t qkv[3], pairing = layer % 2 ? TN_PAIR_HALVES : TN_PAIR_ADJACENT;
    uint32_t h = test_norm(g, "attn_norm", x, test_weight(g, &test_f32, "attn_norm", 1, s->width), 1);
    make_qkv(g, s, h, qkv);
    if (s->head_norms) {
        qkv[0] =
            test_norm(g, "q_norm", qkv[0], test_weight(g, &test_f32, "q_norm", 1, s->head_dim), s->heads);
        qkv[1] = test_norm(g, "k_norm", qkv[1], test_weight(g, &test_f32, "k_norm", s->kv_heads, s->head_dim),
                           s->kv_heads);
    }
    uint32_t q = test_rope(g, "q_rope", qkv[0], s->heads, pairing);
    uint32_t k = test_rope(g, "k_rope", qkv[1], s->kv_heads, pairing);
    tn_attend attend = {.struct_size = sizeof attend,
                        .slot = layer,
                        .heads = s->heads,
                        .kv_heads = s->kv_heads,
                        .key_dim = s->head_dim,
                        .value_dim = s->head_dim,
                        .causal = 1,
                        .cached = 1,
                        .window = s->window,
                        .scale = 1 / sqrt(s->head_dim)};
    uint32_t a = test_attend(g, "attend", q, k, qkv[2], &attend);
    uint32_t o = test_linear(g, "o", a, test_weight(g, s->format, "o", s->width, s->heads * s->head_dim), 0);
    x = test_plain(g, TN_OP_add, "attn_out", x, o, 0);
    h = test_norm(g, "ffn_norm", x, test_weight(g, &test_f32, "ffn_norm", 1, s->width), 1);
    uint32_t gate = test_linear(g, "gate", h, test_weight(g, s->format, "gate", s->hidden, s->width), 0);
    uint32_t up = test_linear(g, "up", h, test_weight(g, s->format, "up", s->hidden, s->width), 0);
    uint32_t f = test_glu(g, "glu", gate, up);
    uint32_t bias = test_weight(g, &test_f32, "down_bias", 1, s->width);
    uint32_t d = test_linear(g, "down", f, test_weight(g, s->format, "down", s->width, s->hidden), bias);
    return test_plain(g, TN_OP_add, "ffn_out", x, d, 0);
}

void test_decoder(test_graph *g, const test_shape *s, uint64_t seed) {
    test_graph_init(g, seed);
    g->graph.slot_count = s->layers;
    uint32_t table = test_weight(g, s->embedding, "embedding", s->vocab, s->width);
    uint32_t x = test_embed(g, "embed", table);
    for (uint32_t i = 0; i < s->layers; i++) {
        tn_mark mark = {sizeof mark, TN_MARK_LAYER_OUTPUT};
        x = make_layer(g, s, x, i);
        x = test_node(g, &(tn_node){.op = TN_OP_mark, .name = "mark", .inputs = {x}}, &mark, sizeof mark);
    }
    x = test_plain(g, TN_OP_rows, "rows", x, 0, 0);
    x = test_norm(g, "output_norm", x, test_weight(g, &test_f32, "output_norm", 1, s->width), 1);
    test_output(g, test_linear(g, "logits", x, table, 0));
}

/* ---- sessions --------------------------------------------------------------------------------------- */

void test_session_open(test_session *s, const test_graph *g, const test_shape *shape, const tn_format *cache,
                       uint32_t workers, uint64_t isa) {
    tn_error err = TN_ERROR_INIT;
    memset(s, 0, sizeof *s);
    test_host_init(&s->host, workers, isa);
    s->backend = test_backend(&s->host);
    s->shape = *shape;
    for (uint32_t i = 0; i < shape->layers; i++) { s->slots[i] = i; }
    s->group = (tn_cache_group){.struct_size = sizeof s->group,
                                .slot_count = shape->layers,
                                .page_tokens = TEST_PAGE,
                                .slots = s->slots,
                                .kv_heads = shape->kv_heads,
                                .key_dim = shape->head_dim,
                                .value_dim = shape->head_dim,
                                .window = shape->window,
                                .key_format = cache,
                                .value_format = cache};
    s->limits = (tn_limits){sizeof s->limits, 256, 256, 8, TEST_PAGES};
    const tn_cache_group *groups[] = {&s->group};
    tn_compile compile = {.struct_size = sizeof compile,
                          .group_count = 1,
                          .graph = &g->graph,
                          .limits = &s->limits,
                          .groups = groups};
    for (uint32_t q = 0; q < 8; q++) {
        for (uint32_t p = 0; p < TEST_PAGES; p++) { s->pages[q][p] = (TEST_PAGES - 1 - p) * 8 + q; }
    }
    cr_assert_eq(cpu_compile(&s->backend, NULL, &compile, &s->plan, &err), TN_OK, "%s", err.text);
    cr_assert_eq(cpu_cache_create(&s->backend, groups, 1, &s->cache, &err), TN_OK, "%s", err.text);
    cr_assert_eq(cpu_cache_reserve(&s->backend, s->cache, 0, 8 * TEST_PAGES, &err), TN_OK, "%s", err.text);
}

void test_session_close(test_session *s) {
    cpu_cache_destroy(&s->backend, s->cache);
    cpu_discard(&s->backend, s->plan);
    cr_assert_eq(s->host.live, 0, "%lld allocations are left", (long long)s->host.live);
}

int32_t test_session_step(test_session *s, const int32_t *const *ids, const uint32_t *counts,
                          uint32_t sequences, float *out, tn_error *err) {
    int32_t tokens[256], position[256];
    uint32_t sequence[256], index[256], output_rows[256], rows = 0;
    tn_sequence states[8];
    const tn_sequence *list[8];
    const uint32_t *pages[8];
    for (uint32_t q = 0; q < sequences; q++) {
        pages[q] = s->pages[q];
        states[q] = (tn_sequence){sizeof states[q], s->held[q], counts[q], 1, &pages[q]};
        list[q] = &states[q];
        for (uint32_t i = 0; i < counts[q]; i++, rows++) {
            tokens[rows] = ids[q][i];
            sequence[rows] = q;
            index[rows] = s->held[q] + i;
            position[rows] = (int32_t)index[rows];
            output_rows[rows] = rows;
        }
    }
    tn_step step = {.struct_size = sizeof step,
                    .rows = rows,
                    .tokens = tokens,
                    .sequence = sequence,
                    .index = index,
                    .position = position,
                    .output_count = rows,
                    .sequence_count = sequences,
                    .output_rows = output_rows,
                    .sequences = list,
                    .outputs = &out};
    int32_t code = cpu_run_step(&s->backend, s->plan, s->cache, &step, err);
    for (uint32_t q = 0; code == TN_OK && q < sequences; q++) { s->held[q] += counts[q]; }
    return code;
}
