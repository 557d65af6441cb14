/*
 * arch_probe.c - an architecture of tiny graphs that the real ones here do not have: pooled, uncached, with
 * learned positions, with a window, with a weight in a format that has companions, with frames beside tokens, with
 * frames of another port than the first, with a ctc output. The key probe.graph says which.
 */
#include "tenon/build.h"
#include "tenon/plugin.h"

enum { POOLED = 0, HIDDEN = 1, WINDOWED = 2, SCALED = 3, MIXED = 4, PORTED = 5, SPELLED = 6, GRAPHS };
enum { WIDTH = 16, VOCAB = 32 };

typedef struct probe {
    const tn_host *host;
    uint32_t graph, positions;
    uint32_t tokens, places, linear;
} probe;

static int32_t configure(void *self, const char *name, const tn_meta *meta, uint64_t vocab_size,
                         const tn_report *report, tn_facts *facts, void **config, tn_error *err) {
    const tn_host *host = self;
    tn_params params = tn_params_begin(host, meta, report, name);
    uint32_t graph = tn_param_u32(&params, "graph", 0, GRAPHS - 1);
    uint32_t positions = tn_param_u32(&params, "context_length", 1, TN_CONTEXT_MAX);
    (void)vocab_size;
    TN_TRY(tn_params_end(&params, err));
    probe *p = host->alloc(host, sizeof *p, _Alignof(probe));
    if (!p) { TN_FAIL(err, TN_E_MEMORY, "no memory"); }
    *p = (probe){.host = host, .graph = graph, .positions = positions};
    facts->kind = graph == POOLED || graph == HIDDEN ? TN_ARCH_ENCODER : TN_ARCH_DECODER;
    facts->layers = 1;
    facts->width = WIDTH;
    facts->context = positions;
    *config = p;
    return TN_OK;
}

static int32_t tensors(void *self, void *config, const tn_claims *claims, tn_error *err) {
    probe *p = config;
    tn_claim claim = {.name = "tokens", .dim_count = 2, .dims = {WIDTH, VOCAB}};
    (void)self, (void)err;
    TN_STAMP(p->host, &claim, tn_claim);
    claim.flags = p->graph >= PORTED ? TN_CLAIM_UNUSED : 0;
    p->tokens = claims->claim(claims, &claim);
    claim.name = "places", claim.dims[1] = 64;
    p->places = p->graph == POOLED ? claims->claim(claims, &claim) : 0;
    claim.name = "turn.weight", claim.dims[1] = WIDTH;
    p->linear = p->graph == SCALED ? claims->claim(claims, &claim) : 0;
    return TN_OK;
}

static uint32_t add_attend(const tn_writer *w, const char *name, uint32_t x, uint32_t slot, uint32_t heads,
                           uint32_t window, uint32_t cached) {
    tn_attend attend = {.slot = slot,
                        .heads = heads,
                        .kv_heads = heads,
                        .key_dim = WIDTH / heads,
                        .value_dim = WIDTH / heads,
                        .causal = cached,
                        .cached = cached,
                        .window = window,
                        .scale = 0.5};
    TN_STAMP(w->host, &attend, tn_attend);
    return tn_add_attend(w, name, x, x, x, 0, &attend);
}

static int32_t build(void *self, const void *config, const tn_build *b, const tn_builder *builder,
                     tn_error *err) {
    const probe *p = config;
    tn_writer w = tn_writer_begin(p->host, builder);
    uint32_t x = p->graph >= PORTED ? tn_add_input(&w, "frames", p->graph == PORTED, WIDTH)
                                    : tn_add_embed(&w, "tokens", TN_EMBED_TOKEN, p->tokens, 1);
    (void)self, (void)b, (void)err;
    switch (p->graph) {
    case POOLED:
        x = tn_add_sum(&w, "placed", x, tn_add_embed(&w, "places", TN_EMBED_POSITION, p->places, 1));
        x = tn_add_pool(&w, "mean", add_attend(&w, "attend", x, 0, 2, 0, 0), TN_POOL_MEAN);
        break;
    case HIDDEN: x = tn_add_rows(&w, "rows", add_attend(&w, "attend", x, 0, 2, 0, 0)); break;
    case WINDOWED:
        x = add_attend(&w, "local", x, 1, 2, 5, 1);
        x = tn_add_rows(&w, "rows", add_attend(&w, "global", x, 0, 4, 0, 1));
        break;
    case MIXED:
        x = tn_add_rows(&w, "rows", tn_add_sum(&w, "mixed", x, tn_add_input(&w, "frames", 0, WIDTH)));
        break;
    case PORTED:
    case SPELLED: x = tn_add_rows(&w, "rows", x); break;
    default: x = tn_add_rows(&w, "rows", tn_add_linear(&w, "turn", x, (tn_matrix){p->linear, 0})); break;
    }
    tn_add_output(&w, "hidden", x, 0, p->graph == SPELLED ? TN_OUTPUT_CTC : TN_OUTPUT_HIDDEN);
    return TN_OK;
}

TN_ARCH_PLUGIN("arch.probe", "0.1.0", "Apache-2.0", 0, configure, tensors, build);
