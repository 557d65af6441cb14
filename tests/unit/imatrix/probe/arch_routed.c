/*
 * arch_routed.c - an architecture of one layer of experts, which the real ones here do not have: an embedding, a
 * router, gated experts, the sum of both.
 */
#include "tenon/build.h"
#include "tenon/plugin.h"

enum { WIDTH = 8, HIDDEN = 6, EXPERTS = 4, USED = 2, VOCAB = 32 };

typedef struct routed {
    const tn_host *host;
    uint32_t tokens, router, gate, up, down;
} routed;

static int32_t configure(void *self, const char *name, const tn_meta *meta, uint64_t vocab_size,
                         const tn_report *report, tn_facts *facts, void **config, tn_error *err) {
    const tn_host *host = self;
    routed *r = host->alloc(host, sizeof *r, _Alignof(routed));
    (void)name, (void)meta, (void)vocab_size, (void)report;
    if (!r) { TN_FAIL(err, TN_E_MEMORY, "no memory"); }
    *r = (routed){.host = host};
    facts->kind = TN_ARCH_DECODER;
    facts->layers = 1;
    facts->width = WIDTH;
    facts->context = 64;
    *config = r;
    return TN_OK;
}

static uint32_t claim(const routed *r, const tn_claims *claims, const char *name, uint64_t cols,
                      uint64_t rows, uint64_t count) {
    tn_claim c = {.name = name, .dim_count = count > 1 ? 3 : 2, .dims = {cols, rows, count}};
    TN_STAMP(r->host, &c, tn_claim);
    return claims->claim(claims, &c);
}

static int32_t tensors(void *self, void *config, const tn_claims *claims, tn_error *err) {
    routed *r = config;
    (void)self, (void)err;
    r->tokens = claim(r, claims, "tokens", WIDTH, VOCAB, 1);
    r->router = claim(r, claims, "router", WIDTH, EXPERTS, 1);
    r->gate = claim(r, claims, "gate", WIDTH, HIDDEN, EXPERTS);
    r->up = claim(r, claims, "up", WIDTH, HIDDEN, EXPERTS);
    r->down = claim(r, claims, "down", HIDDEN, WIDTH, EXPERTS);
    return TN_OK;
}

static int32_t build(void *self, const void *config, const tn_build *b, const tn_builder *builder,
                     tn_error *err) {
    const routed *r = config;
    tn_writer w = tn_writer_begin(r->host, builder);
    uint32_t x = tn_add_embed(&w, "tokens", TN_EMBED_TOKEN, r->tokens, 1);
    TN_ATTRIBUTES(&w, tn_route, route);
    TN_ATTRIBUTES(&w, tn_experts, experts);
    (void)self, (void)b, (void)err;
    route.used = USED;
    route.score = TN_SCORE_SOFTMAX;
    route.normalise = 1;
    route.scale = 1;
    experts.act = TN_ACT_RELU;
    w.layer = 0;
    uint32_t logits = tn_add_linear(&w, "router", x, (tn_matrix){r->router, 0});
    uint32_t choice = tn_add_route(&w, "route", logits, 0, &route);
    uint32_t y = tn_add_experts(&w, "experts", x, choice, (tn_matrix){r->gate, 0}, (tn_matrix){r->up, 0},
                                (tn_matrix){r->down, 0}, &experts);
    y = tn_add_sum(&w, "sum", x, y);
    w.layer = TN_NO_LAYER;
    tn_add_output(&w, "hidden", tn_add_rows(&w, "rows", y), 0, TN_OUTPUT_HIDDEN);
    return TN_OK;
}

TN_ARCH_PLUGIN("arch.routed", "0.1.0", "Apache-2.0", 0, configure, tensors, build);
