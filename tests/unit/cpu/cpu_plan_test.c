/*
 * cpu_plan_test.c - the planner: which ops share a phase, what is moved, and that values which are needed at
 * the same time do not lie over each other.
 */
#include "cpu_test.h"

#include <math.h>
#include <string.h>

static test_host host;
static cpu_backend backend;
static tn_limits limits = {sizeof limits, 64, 64, 4, 8};
static uint32_t slots[] = {0, 1, 2, 3};
static tn_cache_group group = {.struct_size = sizeof group,
                               .slot_count = 4,
                               .page_tokens = 16,
                               .slots = slots,
                               .kv_heads = 2,
                               .key_dim = 32,
                               .value_dim = 32,
                               .key_format = &test_f32,
                               .value_format = &test_f32};

static int32_t make_plan(const test_graph *g, const uint32_t *captures, uint32_t count, cpu_plan **plan,
                         tn_error *err) {
    static const tn_cache_group *groups[] = {&group};
    tn_compile compile = {.struct_size = sizeof compile,
                          .group_count = 1,
                          .graph = &g->graph,
                          .limits = &limits,
                          .groups = groups,
                          .captures = captures,
                          .capture_count = count};
    test_host_init(&host, 2, test_isa());
    backend = test_backend(&host);
    return cpu_plan_create(&backend, &compile, plan, err);
}

/* Shared values whose phases overlap have bytes of their own. */
static void check_places(const cpu_plan *plan) {
    for (uint32_t i = 0; i < plan->value_count; i++) {
        for (uint32_t j = 0; j < i; j++) {
            const cpu_value *a = &plan->values[i], *b = &plan->values[j];
            if (a->place != CPU_SHARED || b->place != CPU_SHARED || a->first > b->last ||
                b->first > a->last) {
                continue;
            }
            uint64_t a_end = a->offset + a->stride * sizeof(float) * limits.rows;
            uint64_t b_end = b->offset + b->stride * sizeof(float) * limits.rows;
            cr_assert(a_end <= b->offset || b_end <= a->offset, "values %u and %u lie over each other", i + 1,
                      j + 1);
        }
    }
}

static void expect_plan(const test_graph *g, const uint32_t *captures, uint32_t count, const char *wanted) {
    char text[4096];
    cpu_plan *plan = NULL;
    tn_error err = TN_ERROR_INIT;
    cr_assert_eq(make_plan(g, captures, count, &plan, &err), TN_OK, "%s", err.text);
    cr_assert_lt(cpu_plan_print(plan, text, sizeof text), sizeof text);
    cr_expect_str_eq(text, wanted, "got:\n%swanted:\n%s", text, wanted);
    check_places(plan);
    cpu_plan_free(plan);
    cr_expect_eq(host.live, 0, "%lld allocations are left", (long long)host.live);
}

/* Five phases a layer; the embedding is part of the first, the last norm of the logits, which are computed
 * for the rows asked for only, from the end of the last attention on. */
Test(plan, llama_layer_is_five_phases) {
    static test_graph g;
    test_decoder(&g, &test_small, 1);
    expect_plan(&g, NULL, 0,
                "tables T:\n"
                "linear T: embed attn_norm [q] [k] [v]\n"
                "attend T: attend\n"
                "linear T: [o > attn_out]\n"
                "linear T: ffn_norm [gate up > glu]\n"
                "linear T: [down > ffn_out]\n"
                "linear T: attn_norm [q] [k] [v]\n"
                "attend T: attend\n"
                "linear O: [o > attn_out]\n"
                "linear O: ffn_norm [gate up > glu]\n"
                "linear O: [down > ffn_out]\n"
                "linear O: output_norm [embedding]\n");
    test_graph_free(&g);
}

/* A captured value exists, for all rows; ops behind it do not swallow it. */
Test(plan, captures_are_made) {
    static test_graph g;
    uint32_t captures[3] = {0};
    test_shape shape = test_small;
    shape.layers = 1;
    test_decoder(&g, &shape, 1);
    for (uint32_t i = 0; i < g.graph.node_count; i++) {
        if (!strcmp(g.nodes[i].name, "o")) { captures[0] = g.nodes[i].result; }
        if (!strcmp(g.nodes[i].name, "q_rope")) { captures[1] = g.nodes[i].result; }
        if (!strcmp(g.nodes[i].name, "mark")) { captures[2] = g.nodes[i].result; }
    }
    expect_plan(&g, captures, 3,
                "tables T:\n"
                "linear T: embed attn_norm [q] [k] [v]\n"
                "rows T: q_rope\n"
                "attend T: attend\n"
                "linear T: [o]\n"
                "linear T: attn_out ffn_norm [gate up > glu]\n"
                "linear T: [down > ffn_out]\n"
                "linear O: output_norm [embedding]\n");
    test_graph_free(&g);
}

/* x + A(h) + M(h): products that read different values share phases; both sums are links. */
Test(plan, parallel_layer) {
    static test_graph g;
    tn_attend attend = {sizeof attend, 0, 4, 2, 32, 32, 1, 1, 0, 0, 0.2, 0};
    tn_act_op act = {sizeof act, TN_ACT_GELU_TANH, 0};
    test_graph_init(&g, 3);
    uint32_t x = test_embed(&g, "embed", test_weight(&g, &test_f32, "embedding", 9, 64));
    uint32_t h = test_norm(&g, "norm", x, 0, 1);
    uint32_t q = test_linear(&g, "q", h, test_weight(&g, &test_q8, "q", 128, 64), 0);
    uint32_t k = test_linear(&g, "k", h, test_weight(&g, &test_q8, "k", 64, 64), 0);
    uint32_t v = test_linear(&g, "v", h, test_weight(&g, &test_q8, "v", 64, 64), 0);
    uint32_t a = test_attend(&g, "attend", q, k, v, &attend);
    uint32_t o = test_linear(&g, "o", a, test_weight(&g, &test_q8, "o", 64, 128), 0);
    uint32_t m = test_linear(&g, "up", h, test_weight(&g, &test_q8, "up", 96, 64), 0);
    m = test_node(&g, &(tn_node){.op = TN_OP_act, .name = "act", .inputs = {m}}, &act, sizeof act);
    m = test_linear(&g, "down", m, test_weight(&g, &test_q8, "down", 64, 96), 0);
    x = test_plain(&g, TN_OP_add, "first", x, o, 0);
    x = test_plain(&g, TN_OP_add, "second", x, m, 0);
    test_output(&g, test_plain(&g, TN_OP_rows, "rows", x, 0, 0));
    expect_plan(&g, NULL, 0,
                "tables T:\n"
                "linear T: embed norm [q] [k] [v]\n"
                "attend T: attend\n"
                "linear O: [o > first] [up > act]\n"
                "linear O: [down > second]\n");
    test_graph_free(&g);
}

/* Norms behind products, and a value of the prologue that a later phase reads as well. */
Test(plan, norms_after_products) {
    static test_graph g;
    test_graph_init(&g, 3);
    uint32_t x = test_embed(&g, "embed", test_weight(&g, &test_f32, "embedding", 9, 64));
    uint32_t y = test_linear(&g, "a", x, test_weight(&g, &test_q8, "a", 64, 64), 0);
    y = test_norm(&g, "post", y, 0, 1);
    x = test_plain(&g, TN_OP_add, "sum", x, y, 0);
    uint32_t h = test_norm(&g, "pre", x, 0, 1);
    y = test_linear(&g, "b", h, test_weight(&g, &test_q8, "b", 64, 64), 0);
    y = test_plain(&g, TN_OP_scale, "scaled", y, 0, 0.5);
    y = test_plain(&g, TN_OP_softcap, "capped", y, 0, 30);
    x = test_plain(&g, TN_OP_mul, "product", y, x, 0);
    uint32_t gate = test_linear(&g, "gate", h, test_weight(&g, &test_q8, "gate", 1, 64), 0);
    x = test_plain(&g, TN_OP_mul, "gated", gate, x, 0);
    test_output(&g, test_plain(&g, TN_OP_rows, "rows", x, 0, 0));
    expect_plan(&g, NULL, 0,
                "tables T:\n"
                "linear O: embed [a]\n"
                "linear O: post sum pre [b > scaled > capped] [gate]\n"
                "rows O: product gated\n");
    test_graph_free(&g);
}

/* The memory that is announced is the memory that is taken. */
Test(plan, memory_is_known_before) {
    static test_graph g;
    static const tn_cache_group *groups[] = {&group};
    test_decoder(&g, &test_small, 1);
    tn_compile compile = {.struct_size = sizeof compile,
                          .group_count = 1,
                          .graph = &g.graph,
                          .limits = &limits,
                          .groups = groups};
    tn_memory memory = {.struct_size = sizeof memory};
    tn_error err = TN_ERROR_INIT;
    void *plan;
    test_host_init(&host, 2, test_isa());
    backend = test_backend(&host);
    cr_assert_eq(cpu_memory(&backend, &compile, &memory, &err), TN_OK, "%s", err.text);
    cr_expect_eq(host.live, 0);
    cr_assert_eq(cpu_compile(&backend, NULL, &compile, &plan, &err), TN_OK, "%s", err.text);
    const cpu_plan *made = plan;
    cr_expect_eq(memory.scratch, made->arena_size + made->vector_size, "%llu announced, %llu taken",
                 (unsigned long long)memory.scratch,
                 (unsigned long long)(made->arena_size + made->vector_size));
    cpu_discard(&backend, plan);
    test_graph_free(&g);
}

/* Every allocation may fail: an error, nothing left behind. */
Test(plan, no_memory) {
    static test_graph g;
    static const tn_cache_group *groups[] = {&group};
    test_decoder(&g, &test_small, 1);
    tn_compile compile = {.struct_size = sizeof compile,
                          .group_count = 1,
                          .graph = &g.graph,
                          .limits = &limits,
                          .groups = groups};
    int32_t code = TN_E_MEMORY;
    uint32_t failures = 0;
    for (; code != TN_OK; failures++) {
        tn_error err = TN_ERROR_INIT;
        void *plan = NULL;
        test_host_init(&host, 2, test_isa());
        backend = test_backend(&host);
        host.allocations_left = failures;
        code = cpu_compile(&backend, NULL, &compile, &plan, &err);
        cr_assert(code == TN_OK || (code == TN_E_MEMORY && err.text[0]), "%d %s", code, err.text);
        if (code == TN_OK) { cpu_discard(&backend, plan); }
        cr_assert_eq(host.live, 0, "%lld allocations are left after failure %u", (long long)host.live,
                     failures);
    }
    cr_expect_gt(failures, 10);
    test_graph_free(&g);
}

/* Scratch has room for the widest head and the largest block, also where they are not of one attention. */
Test(plan, scratch_of_unlike_attentions) {
    static test_graph g;
    tn_attend cached = {sizeof cached, 0, 4, 2, 32, 32, 1, 1, 0, 0, 0.2, 0};
    tn_attend uncached = {sizeof uncached, 0, 8, 8, 8, 8, 0, 0, 0, 0, 0.2, 0};
    cpu_plan *plan = NULL;
    tn_error err = TN_ERROR_INIT;
    test_graph_init(&g, 3);
    uint32_t x = test_embed(&g, "embed", test_weight(&g, &test_f32, "embedding", 9, 64));
    uint32_t q = test_linear(&g, "q", x, test_weight(&g, &test_f32, "q", 128, 64), 0);
    uint32_t y = test_attend(&g, "cached", q, x, x, &cached);
    uint32_t z = test_attend(&g, "uncached", x, x, x, &uncached);
    y = test_linear(&g, "o", y, test_weight(&g, &test_f32, "o", 64, 128), 0);
    y = test_plain(&g, TN_OP_add, "sum", y, z, 0);
    test_output(&g, test_plain(&g, TN_OP_rows, "rows", y, 0, 0));
    cr_assert_eq(make_plan(&g, NULL, 0, &plan, &err), TN_OK, "%s", err.text);
    uint64_t queries = plan->scratch.scores - plan->scratch.queries,
             row = plan->scratch.queries - plan->scratch.row;
    uint64_t scores = plan->scratch.partial - plan->scratch.scores;
    cr_expect_geq(queries, plan->tile_acts * 32 * sizeof(float), "%llu bytes", (unsigned long long)queries);
    cr_expect_geq(row, 32 * sizeof(float), "%llu bytes", (unsigned long long)row);
    cr_expect_geq(scores, plan->tile_acts * 64 * sizeof(float), "%llu bytes", (unsigned long long)scores);
    cpu_plan_free(plan);
    test_graph_free(&g);
}

/* A step of any size up to the limit finds room for its panels: those of fewer rows may be larger. */
Test(plan, scratch_of_all_steps) {
    static test_graph g;
    cpu_plan *plan = NULL;
    tn_error err = TN_ERROR_INIT;
    test_graph_init(&g, 3);
    uint32_t x = test_embed(&g, "embed", test_weight(&g, &test_f32, "embedding", 9, 2048));
    x = test_linear(&g, "a", x, test_weight(&g, &test_q8, "a", 8, 2048), 0);
    test_output(&g, test_plain(&g, TN_OP_rows, "rows", x, 0, 0));
    limits.rows = limits.output_rows = 512;
    cr_assert_eq(make_plan(&g, NULL, 0, &plan, &err), TN_OK, "%s", err.text);
    uint64_t room = plan->scratch.size - plan->scratch.gemm;
    for (uint64_t rows = 1; rows <= limits.rows; rows++) {
        uint64_t bytes = backend.kernels->gemm_scratch(2048, cpu_token_block(2048, rows));
        cr_assert_leq(bytes, room, "a step of %llu rows takes %llu bytes of %llu", (unsigned long long)rows,
                      (unsigned long long)bytes, (unsigned long long)room);
    }
    limits.rows = limits.output_rows = 64;
    cpu_plan_free(plan);
    test_graph_free(&g);
}

/* ---- experts */

/* Experts of x by these logits; 4 of them, 2 used, without a gate if `gated` is 0. */
static uint32_t add_experts(test_graph *g, uint32_t x, uint32_t logits, uint32_t gated) {
    tn_route route = {sizeof route, 2, TN_SCORE_SOFTMAX, 1, 1};
    tn_experts experts = {.struct_size = sizeof experts, .act = TN_ACT_SILU};
    uint32_t gate = gated ? test_weight(g, &test_q8, "gates", 4 * 96, 64) : 0;
    uint32_t up = test_weight(g, &test_q8, "ups", 4 * 96, 64),
             down = test_weight(g, &test_q8, "downs", 4 * 64, 96);
    for (uint32_t w = gated ? gate : up; w <= down; w++) { /* four matrices each */
        g->weights[w - 1].count = 4;
        g->weights[w - 1].rows /= 4;
    }
    uint32_t y = test_node(g, &(tn_node){.op = TN_OP_route, .name = "route", .inputs = {logits}}, &route,
                           sizeof route);
    g->values[y - 1].width = 2;
    g->values[y - 1].kind = TN_VALUE_ROUTE;
    return test_node(
        g, &(tn_node){.op = TN_OP_experts, .name = "experts", .inputs = {x, y}, .weights = {gate, up, down}},
        &experts, sizeof experts);
}

/* Router, gate and up, down; the sum waits for the norm of the next layer. */
Test(plan, experts_are_three_phases) {
    static test_graph g;
    test_graph_init(&g, 3);
    uint32_t x = test_embed(&g, "embed", test_weight(&g, &test_f32, "embedding", 9, 64));
    for (uint32_t gated = 0; gated < 2; gated++) {
        uint32_t h = test_norm(&g, "norm", x, 0, 1);
        uint32_t logits = test_linear(&g, "router", h, test_weight(&g, &test_f32, "router", 4, 64), 0);
        x = test_plain(&g, TN_OP_add, "sum", x, add_experts(&g, h, logits, gated), 0);
    }
    test_output(&g, test_plain(&g, TN_OP_rows, "rows", x, 0, 0));
    expect_plan(&g, NULL, 0,
                "tables T:\n"
                "linear O: embed norm [router]\n"
                "linear O: route [ups > experts]\n"
                "linear O: [downs]\n"
                "linear O: experts sum norm [router]\n"
                "linear O: route [gates ups > experts]\n"
                "linear O: [downs]\n"
                "rows O: experts sum\n");
    test_graph_free(&g);
}

/* A shared expert goes along: its first matrices with the router, its last one with what comes next. */
Test(plan, shared_expert) {
    static test_graph g;
    for (uint32_t first = 0; first < 2; first++) {
        test_graph_init(&g, 3);
        uint32_t x = test_embed(&g, "embed", test_weight(&g, &test_f32, "embedding", 9, 64)), y = 0;
        uint32_t h = test_norm(&g, "norm", x, 0, 1);
        uint32_t logits = test_linear(&g, "router", h, test_weight(&g, &test_f32, "router", 4, 64), 0);
        if (first) { y = add_experts(&g, h, logits, 1); }
        uint32_t gate = test_linear(&g, "g", h, test_weight(&g, &test_q8, "g", 96, 64), 0);
        uint32_t up = test_linear(&g, "u", h, test_weight(&g, &test_q8, "u", 96, 64), 0);
        uint32_t shared = test_glu(&g, "glu", gate, up);
        shared = test_linear(&g, "shared", shared, test_weight(&g, &test_q8, "d", 64, 96), 0);
        if (!first) { y = add_experts(&g, h, logits, 1); }
        x = test_plain(&g, TN_OP_add, "both", shared, y, 0);
        test_output(&g, test_plain(&g, TN_OP_rows, "rows", x, 0, 0));
        expect_plan(&g, NULL, 0,
                    first ? "tables T:\n"
                            "linear O: embed norm [router]\n"
                            "linear O: route [gates ups > experts]\n"
                            "linear O: [downs] [g u > glu]\n"
                            "linear O: experts [d]\n"
                            "rows O: both\n"
                          : "tables T:\n"
                            "linear O: embed norm [router] [g u > glu]\n"
                            "linear O: [d]\n"
                            "linear O: route [gates ups > experts]\n"
                            "linear O: [downs]\n"
                            "rows O: experts both\n");
        test_graph_free(&g);
    }
}

/* What is not there is refused by name. */
Test(plan, refusals) {
    static test_graph g;
    tn_error err = TN_ERROR_INIT;
    tn_choice choice = {.struct_size = sizeof choice};
    tn_route route = {sizeof route, 2, TN_SCORE_SOFTMAX, 1, 1};
    cpu_plan *plan = NULL;
    test_host_init(&host, 2, test_isa());
    backend = test_backend(&host);
    test_graph_init(&g, 3);
    uint32_t x = test_embed(&g, "embed", test_weight(&g, &test_f32, "embedding", 9, 64));
    uint32_t logits = test_linear(&g, "router", x, test_weight(&g, &test_q8, "router", 8, 64), 0);
    test_node(&g, &(tn_node){.op = TN_OP_route, .name = "blk.0.route", .inputs = {logits}}, &route,
              sizeof route);
    cr_expect_eq(cpu_supports(&backend, &g.graph, 2, &choice, &err), TN_OK);
    g.values[logits - 1].width = (1 << 24) + 1;
    cr_expect_eq(cpu_supports(&backend, &g.graph, 2, &choice, &err), TN_E_OP_UNSUPPORTED);
    cr_expect(strstr(err.text, "blk.0.route") && strstr(err.text, "16777217"), "%s", err.text);
    cr_expect_eq(cpu_supports(&backend, &g.graph, 1, &choice, &err), TN_OK);
    cr_expect(strstr(choice.kernel, "PLAIN") == NULL && strstr(choice.kernel, "decoded to f32"), "%s",
              choice.kernel);
    cr_expect(strstr(choice.others, "q8 gemv"), "a router takes float activations: %s", choice.others);
    test_graph_free(&g);
    test_decoder(&g, &test_small, 1);
    group.value_format = &test_q8;
    cr_expect_eq(make_plan(&g, NULL, 0, &plan, &err), TN_E_OP_UNSUPPORTED);
    cr_expect(strstr(err.text, "attend") && strstr(err.text, "Q8"), "%s", err.text);
    group.value_format = &test_f32;
    group.kv_heads = 3;
    cr_expect_eq(make_plan(&g, NULL, 0, &plan, &err), TN_E_GRAPH, "%s", err.text);
    group.kv_heads = 2;
    test_graph_free(&g);
}

/* The choice names the kernels, and why not the others. */
Test(plan, choices_are_explained) {
    static test_graph g;
    tn_error err = TN_ERROR_INIT;
    tn_choice choice = {.struct_size = sizeof choice};
    test_host_init(&host, 2, test_isa());
    backend = test_backend(&host);
    test_graph_init(&g, 3);
    uint32_t x = test_embed(&g, "embed", test_weight(&g, &test_f32, "embedding", 9, 64));
    test_linear(&g, "a", x, test_weight(&g, &test_q8, "a", 8, 64), 0);
    cr_assert_eq(cpu_supports(&backend, &g.graph, 1, &choice, &err), TN_OK);
    cr_expect(strstr(choice.kernel, "q8 gemv; q8 unpack, gemm "), "%s", choice.kernel);
    cr_expect_eq(choice.stable, 1);
    test_graph_free(&g);
}
