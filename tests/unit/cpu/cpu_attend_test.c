/*
 * cpu_attend_test.c - attention against a loop in float64, and the same bits for every way to cut the work.
 */
#include "cpu_test.h"

#include <math.h>
#include <string.h>

enum { TOKENS = 100, DIM_MOST = 48, HEADS_MOST = 12, PAGE_TOKENS = 8, PAGES = TOKENS / PAGE_TOKENS + 1 };

typedef struct setting {
    tn_attend attend;
    bool sinks;
} setting;

typedef struct bench {
    const setting *s;
    test_graph graph;
    float *q, *k, *v; /* rows of all tokens */
    float sinks[HEADS_MOST];
    uint32_t width; /* of the result */
} bench;

static float q_rows[TOKENS * HEADS_MOST * DIM_MOST], k_rows[TOKENS * HEADS_MOST * DIM_MOST];
static float v_rows[TOKENS * HEADS_MOST * DIM_MOST];

static void bench_open(bench *b, const setting *s) {
    const tn_attend *a = &s->attend;
    test_graph *g = &b->graph;
    uint32_t widths[3] = {a->heads * a->key_dim, a->kv_heads * a->key_dim, a->kv_heads * a->value_dim}, in[3];
    test_graph_init(g, 17);
    g->graph.slot_count = 1;
    b->s = s;
    for (uint32_t i = 0; i < 3; i++) {
        tn_input input = {sizeof input, i, widths[i], 0};
        in[i] = test_node(g, &(tn_node){.op = TN_OP_input, .name = "input"}, &input, sizeof input);
    }
    uint32_t sinks = s->sinks ? test_weight(g, &test_f32, "sinks", 1, a->heads) : 0;
    if (sinks) { memcpy(b->sinks, g->weights[sinks - 1].data, a->heads * sizeof(float)); }
    uint32_t y = test_node(
        g,
        &(tn_node){.op = TN_OP_attend, .name = "attend", .inputs = {in[0], in[1], in[2]}, .weights = {sinks}},
        a, sizeof *a);
    test_output(g, test_plain(g, TN_OP_rows, "rows", y, 0, 0));
    b->q = q_rows;
    b->k = k_rows;
    b->v = v_rows;
    b->width = a->heads * a->value_dim;
    for (uint32_t i = 0; i < TOKENS * HEADS_MOST * DIM_MOST; i++) {
        b->q[i] = 3 * test_uniform(&g->random);
        b->k[i] = 3 * test_uniform(&g->random);
        b->v[i] = test_uniform(&g->random);
    }
}

static double dot(const float *a, const float *b, uint32_t n) {
    double sum = 0;
    for (uint32_t i = 0; i < n; i++) { sum += (double)a[i] * b[i]; }
    return sum;
}

/* One head of one row, as tenon/graph.h says it. */
static void attend_row(const bench *b, uint32_t i, uint32_t head, uint32_t total, double *y) {
    const tn_attend *a = &b->s->attend;
    uint32_t g = head / (a->heads / a->kv_heads);
    double sum = b->s->sinks ? exp(b->sinks[head]) : 0;
    memset(y, 0, a->value_dim * sizeof *y);
    for (uint32_t j = 0; j < total; j++) {
        if ((a->causal && j > i) || (a->window && (int64_t)i - j >= a->window)) { continue; }
        double s = a->scale * dot(b->q + ((uint64_t)i * a->heads + head) * a->key_dim,
                                  b->k + ((uint64_t)j * a->kv_heads + g) * a->key_dim, a->key_dim);
        if (a->softcap != 0) { s = a->softcap * tanh(s / a->softcap); }
        double e = exp(s);
        sum += e;
        for (uint32_t c = 0; c < a->value_dim; c++) {
            y[c] += e * b->v[((uint64_t)j * a->kv_heads + g) * a->value_dim + c];
        }
    }
    for (uint32_t c = 0; c < a->value_dim; c++) { y[c] /= sum; }
}

/* All tokens of one sequence in steps of `cut` rows, by `workers`. */
static void bench_run(bench *b, uint32_t cut, uint32_t workers, uint64_t isa, float *out) {
    const tn_attend *a = &b->s->attend;
    static const uint32_t slot = 0;
    tn_cache_group group = {.struct_size = sizeof group,
                            .slot_count = 1,
                            .page_tokens = PAGE_TOKENS,
                            .slots = &slot,
                            .kv_heads = a->kv_heads,
                            .key_dim = a->key_dim,
                            .value_dim = a->value_dim,
                            .window = a->window,
                            .key_format = &test_f32,
                            .value_format = &test_f32};
    const tn_cache_group *groups[] = {&group};
    tn_limits limits = {sizeof limits, TOKENS, TOKENS, 1, PAGES};
    tn_compile compile = {.struct_size = sizeof compile,
                          .group_count = a->cached,
                          .graph = &b->graph.graph,
                          .limits = &limits,
                          .groups = groups};
    test_host host;
    tn_error err = TN_ERROR_INIT;
    void *plan, *cache;
    test_host_init(&host, workers, isa);
    cpu_backend backend = test_backend(&host);
    cr_assert_eq(cpu_compile(&backend, NULL, &compile, &plan, &err), TN_OK, "%s", err.text);
    cr_assert_eq(cpu_cache_create(&backend, groups, a->cached, &cache, &err), TN_OK, "%s", err.text);
    if (a->cached) { cr_assert_eq(cpu_cache_reserve(&backend, cache, 0, PAGES, &err), TN_OK); }
    for (uint32_t at = 0; at < TOKENS; at += cut) {
        uint32_t n = TOKENS - at < cut ? TOKENS - at : cut, page[PAGES], zeros[TOKENS] = {0}, index[TOKENS];
        uint32_t rows[TOKENS];
        int32_t position[TOKENS], tokens[TOKENS] = {0};
        for (uint32_t i = 0; i < PAGES; i++) { page[i] = PAGES - 1 - i; }
        for (uint32_t i = 0; i < n; i++) {
            index[i] = at + i;
            position[i] = (int32_t)index[i];
            rows[i] = i;
        }
        const uint32_t *pages[] = {page};
        tn_sequence sequence = {sizeof sequence, at, n, a->cached, pages};
        const tn_sequence *sequences[] = {&sequence};
        const float *ports[] = {b->q + (size_t)at * a->heads * a->key_dim,
                                b->k + (size_t)at * a->kv_heads * a->key_dim,
                                b->v + (size_t)at * a->kv_heads * a->value_dim};
        float *outputs[] = {out + (size_t)at * b->width};
        tn_step step = {.struct_size = sizeof step,
                        .rows = n,
                        .tokens = tokens,
                        .sequence = zeros,
                        .index = index,
                        .position = position,
                        .ports = ports,
                        .output_count = n,
                        .sequence_count = 1,
                        .output_rows = rows,
                        .sequences = sequences,
                        .outputs = outputs};
        cr_assert_eq(cpu_run_step(&backend, plan, cache, &step, &err), TN_OK, "%s", err.text);
    }
    cpu_cache_destroy(&backend, cache);
    cpu_discard(&backend, plan);
    cr_assert_eq(host.live, 0);
}

static void check(const setting *s) {
    static bench b;
    static float wanted[TOKENS * HEADS_MOST * DIM_MOST], found[TOKENS * HEADS_MOST * DIM_MOST];
    static const uint32_t cuts[] = {TOKENS, 1, 3, 33};
    const tn_attend *a = &s->attend;
    bench_open(&b, s);
    bench_run(&b, TOKENS, 1, 0, wanted);
    double worst = 0, y[DIM_MOST];
    for (uint32_t i = 0; i < TOKENS; i++) {
        for (uint32_t h = 0; h < a->heads; h++) {
            attend_row(&b, i, h, TOKENS, y);
            for (uint32_t c = 0; c < a->value_dim; c++) {
                double error = fabs(y[c] - wanted[((size_t)i * a->heads + h) * a->value_dim + c]);
                worst = error > worst || isnan(error) ? error : worst;
            }
        }
    }
    double most = 1e-6 * (2 + 4 * a->scale); /* scores are rounded: their size counts */
    cr_expect_lt(worst, most, "largest error %g, expected at most %g", worst, most);
    for (uint32_t i = 0; i < (a->cached && a->causal ? 4 : 1); i++) {
        for (uint32_t workers = 1; workers <= 7; workers += 3) {
            memset(found, 0, sizeof found);
            bench_run(&b, cuts[i], workers, test_isa(), found);
            for (uint32_t n = 0; n < TOKENS * b.width; n++) {
                cr_assert_eq(memcmp(&found[n], &wanted[n], sizeof(float)), 0,
                             "steps of %u, %u workers: %u is %a not %a", cuts[i], workers, n,
                             (double)found[n], (double)wanted[n]);
            }
        }
    }
    test_graph_free(&b.graph);
}

#define SETTING(...)                                                                                         \
    { {sizeof(tn_attend), 0, __VA_ARGS__}, false }
/*                                                      heads kv  key value causal cached window 0 scale
 * softcap */
Test(attend, grouped) {
    check(&(setting)SETTING(6, 2, 16, 16, 1, 1, 0, 0, 0.25, 0));
}
Test(attend, odd_sizes) {
    check(&(setting)SETTING(5, 5, 37, 23, 1, 1, 0, 0, 0.2, 0));
}
Test(attend, one_key_head) {
    check(&(setting)SETTING(12, 1, 32, 48, 1, 1, 0, 0, 0.2, 0));
}
Test(attend, window) {
    check(&(setting)SETTING(4, 2, 16, 16, 1, 1, 11, 0, 0.25, 0));
}
Test(attend, window_of_one) {
    check(&(setting)SETTING(4, 2, 16, 16, 1, 1, 1, 0, 0.25, 0));
}
Test(attend, softcap) {
    check(&(setting)SETTING(4, 2, 16, 16, 1, 1, 0, 0, 1, 2));
}
Test(attend, both_ways_uncached) {
    check(&(setting)SETTING(4, 4, 16, 24, 0, 0, 0, 0, 0.25, 0));
}
Test(attend, causal_uncached) {
    check(&(setting)SETTING(4, 2, 16, 24, 1, 0, 0, 0, 0.25, 0));
}
Test(attend, both_ways_cached) {
    check(&(setting)SETTING(4, 2, 16, 16, 0, 1, 0, 0, 0.25, 0));
}
Test(attend, sinks) {
    setting s = SETTING(4, 2, 16, 16, 1, 1, 9, 0, 0.25, 0);
    s.sinks = true;
    check(&s);
}
Test(attend, large_scores) {
    check(&(setting)SETTING(4, 2, 16, 16, 1, 1, 0, 0, 8, 0));
}
