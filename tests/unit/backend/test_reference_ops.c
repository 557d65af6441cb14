/*
 * test_reference_ops.c - the reference backend against numbers worked out by hand or by another program
 * (Python's math module, 9 digits): every other backend is held to the reference, so this is where the
 * definitions are pinned down.
 */
#include "backend_rig.h"

#include <criterion/criterion.h>
#include <stdlib.h>

/* Runs a graph over rows 0 .. n - 1 of one sequence and compares. */
static void expect(const char *name, bench_make make, const void *context, uint32_t n, const double *want) {
    const lengths l = {1, {n}};
    tn_error why = TN_ERROR_INIT;
    rig r;
    bench b;
    cr_assert(rig_open(&r, "reference", NULL, 1));
    cr_assert(bench_open(&b, &r, make, context, &why), "%s: %s", name, why.text);
    float *got = bench_run(&b, &l, CUT_WHOLE);
    for (uint64_t i = 0; i < bench_rows(&b, &l) * b.width; i++) {
        cr_assert(fabs(got[i] - want[i]) <= 1e-6 * (1 + fabs(want[i])),
                  "%s: number %lu is %.9g, expected %.9g", name, (unsigned long)i, got[i], want[i]);
    }
    free(got);
    bench_close(&b);
    rig_close(&r);
}

/* ---- activations */

static const float act_x[5] = {-3, -0.5f, 0, 1, 2.5f};

static void make_act(bench *b, const void *context) {
    const double *act = context; /* number, alpha */
    uint32_t x = bench_rows_of(b, 5, 1, act_x);
    bench_output(b, tn_add_act(&b->writer, "act", x, (uint32_t)act[0], act[1]), 0);
}

Test(reference, activations) {
    const double table[][7] = {
        {TN_ACT_SILU, 1, -0.142277619, -0.188770334, 0, 0.731058579, 2.310354555},
        {TN_ACT_SILU, 0, -0.142277619, -0.188770334, 0, 0.731058579, 2.310354555}, /* 0 counts as 1 */
        {TN_ACT_SILU, 1.702, -0.018071310, -0.149611563, 0, 0.845795766, 2.465013835},
        {TN_ACT_GELU_ERF, 1, -0.004049694, -0.154268770, 0, 0.841344746, 2.484475831},
        {TN_ACT_GELU_TANH, 1, -0.003637392, -0.154285990, 0, 0.841191991, 2.484915734},
        {TN_ACT_RELU, 1, 0, 0, 0, 1, 2.5},
        {TN_ACT_RELU2, 1, 0, 0, 0, 1, 6.25},
        {TN_ACT_TANH, 1, -0.995054754, -0.462117157, 0, 0.761594156, 0.986614298},
        {TN_ACT_SIGMOID, 1, 0.047425873, 0.377540669, 0.5, 0.731058579, 0.924141820}};
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        expect("act", make_act, table[i], 1, table[i] + 2);
    }
}

static void make_glu(bench *b, const void *context) {
    static const float g[3] = {5, -5, 1}, u[3] = {3, -3, 0.5f};
    (void)context;
    TN_ATTRIBUTES(&b->writer, tn_glu, glu);
    glu.act = TN_ACT_RELU;
    glu.limit = 2;
    glu.offset = 1;
    uint32_t inputs[TN_NODE_INPUTS] = {bench_rows_of(b, 3, 1, g), bench_rows_of(b, 3, 1, u)};
    bench_output(b, tn_add_node(&b->writer, TN_OP_glu, "glu", inputs, NULL, &glu), 0);
}

Test(reference, glu_clamps_the_gate_from_above_only) {
    const double want[] = {2 * (2 + 1), 0, 1 * (0.5 + 1)};
    expect("glu", make_glu, NULL, 1, want);
}

/* ---- norms */

static void make_norm(bench *b, const void *context) {
    static const float x[4] = {1, 2, 3, 6}, w[4] = {1, 1, 2, 2}, bias[4] = {0, 0, 0, 1};
    const uint32_t *c = context; /* kind, groups */
    tn_matrix m = {bench_numbers(b, 4, 1, 1, w), bench_numbers(b, 4, 1, 1, bias)};
    uint32_t rows = bench_rows_of(b, 4, 1, x);
    bench_output(b, tn_add_norm(&b->writer, "norm", rows, c[0], c[1], m, 0.5), 0);
}

Test(reference, norms) {
    const uint32_t rms[] = {TN_NORM_RMS, 1}, layer[] = {TN_NORM_LAYER, 1}, halves[] = {TN_NORM_RMS, 2};
    const double rms_want[] = {0.277350098, 0.554700196, 2 * 0.832050294, 2 * 1.664100589 + 1};
    const double layer_want[] = {-1, -0.5, 0, 2 * 1.5 + 1};
    const double halves_want[] = {1 / sqrt(3), 2 / sqrt(3), 2 * 3 / sqrt(23), 2 * 6 / sqrt(23) + 1};
    expect("rms", make_norm, rms, 1, rms_want);
    expect("layer", make_norm, layer, 1, layer_want);
    expect("rms of two groups", make_norm, halves, 1, halves_want);
}

/* ---- rope */

static void make_rope(bench *b, const void *context) {
    static const float x[12] = {9, 9, 9, 9, 9, 9, 1, 2, 3, 4, 5, 6};
    static const float factors[2] = {1, 2};
    static const double frequencies[2] = {1, 0.5};
    TN_ATTRIBUTES(&b->writer, tn_rope, rope);
    rope.heads = 1;
    rope.head_dim = 6;
    rope.rotated = 4;
    rope.pairing = *(const uint32_t *)context;
    rope.frequencies = frequencies;
    rope.magnitude = 2;
    uint32_t rows = bench_rows_of(b, 6, 2, x), w = bench_numbers(b, 2, 1, 1, factors);
    bench_output(b, tn_add_rope(&b->writer, "rope", rows, w, &rope), 0);
}

Test(reference, rope_pairs) {
    const double c1 = 2 * 0.540302306, s1 = 2 * 0.841470985, c2 = 2 * 0.968912422, s2 = 2 * 0.247403959;
    const uint32_t adjacent = TN_PAIR_ADJACENT, halves = TN_PAIR_HALVES;
    const double adjacent_want[] = {
        18, 18, 18, 18, 9, 9, c1 - 2 * s1, s1 + 2 * c1, 3 * c2 - 4 * s2, 3 * s2 + 4 * c2, 5, 6};
    const double halves_want[] = {
        18, 18, 18, 18, 9, 9, c1 - 3 * s1, 2 * c2 - 4 * s2, s1 + 3 * c1, 2 * s2 + 4 * c2, 5, 6};
    expect("adjacent", make_rope, &adjacent, 2, adjacent_want);
    expect("halves", make_rope, &halves, 2, halves_want);
}

/* ---- attention */

struct attend_case {
    uint32_t window, causal, sinks;
    double softcap;
};

/* Row i: q = 1, k = ln(i + 1), v = i + 1 for key head 0; k = 0, v = -(i + 1) for key head 1; two heads each.
 */
static void make_attend(bench *b, const void *context) {
    const struct attend_case *c = context;
    static const float q[16] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
    static const float k[8] = {0, 0, 0.693147181f, 0, 1.098612289f, 0, 1.386294361f, 0};
    static const float v[8] = {1, -1, 2, -2, 3, -3, 4, -4}, sinks[4] = {0, 0, 0, 0};
    TN_ATTRIBUTES(&b->writer, tn_attend, attend);
    attend.heads = 4;
    attend.kv_heads = 2;
    attend.key_dim = attend.value_dim = 1;
    attend.causal = c->causal;
    attend.cached = c->causal;
    attend.window = c->window;
    attend.softcap = c->softcap;
    attend.scale = 1;
    uint32_t sink = c->sinks ? bench_numbers(b, 4, 1, 1, sinks) : 0;
    uint32_t rows_q = bench_rows_of(b, 4, 4, q), rows_k = bench_rows_of(b, 2, 4, k),
             rows_v = bench_rows_of(b, 2, 4, v);
    bench_output(b, tn_add_attend(&b->writer, "attend", rows_q, rows_k, rows_v, sink, &attend), 0);
}

/* The weight of key j is j + 1 for key head 0 and 1 for key head 1: sums of squares over sums, and plain
 * means. */
Test(reference, attention) {
    const struct attend_case causal = {0, 1, 0, 0}, window = {2, 1, 0, 0}, both = {0, 0, 0, 0},
                             sinks = {0, 1, 1, 0};
    const double causal_want[] = {1,        1,        -1, -1, 5 / 3.0,  5 / 3.0,  -1.5, -1.5,
                                  14 / 6.0, 14 / 6.0, -2, -2, 30 / 10., 30 / 10., -2.5, -2.5};
    const double window_want[] = {1,        1,        -1,   -1,   5 / 3.0,  5 / 3.0,  -1.5, -1.5,
                                  13 / 5.0, 13 / 5.0, -2.5, -2.5, 25 / 7.0, 25 / 7.0, -3.5, -3.5};
    const double both_want[] = {3, 3, -2.5, -2.5, 3, 3, -2.5, -2.5, 3, 3, -2.5, -2.5, 3, 3, -2.5, -2.5};
    const double sinks_want[] = {1 / 2.0,  1 / 2.0,  -1 / 2.0, -1 / 2.0, 5 / 4.0,  5 / 4.0,
                                 -3 / 3.0, -3 / 3.0, 14 / 7.0, 14 / 7.0, -6 / 4.0, -6 / 4.0,
                                 30 / 11., 30 / 11., -10 / 5., -10 / 5.};
    expect("causal", make_attend, &causal, 4, causal_want);
    expect("window", make_attend, &window, 4, window_want);
    expect("both ways", make_attend, &both, 4, both_want);
    expect("sinks", make_attend, &sinks, 4, sinks_want);
}

Test(reference, attention_softcap) {
    const struct attend_case capped = {0, 1, 0, 0.5};
    double want[16], weights = 0, sum = 0, squares = 0;
    for (int i = 0; i < 4; i++) {
        double weight = exp(0.5 * tanh(log(i + 1.0) / 0.5));
        weights += weight;
        squares += weight * (i + 1);
        sum += i + 1;
        want[4 * i] = want[4 * i + 1] = squares / weights;
        want[4 * i + 2] = want[4 * i + 3] = -sum / (i + 1);
    }
    expect("softcap", make_attend, &capped, 4, want);
}

/* ---- experts */

struct experts_case {
    uint32_t score, normalise, bias;
};

/* Four experts of one number: expert e doubles its input and adds e, and multiplies with 10^e on the way out.
 */
static void make_experts(bench *b, const void *context) {
    const struct experts_case *c = context;
    static const float logits[4] = {1, 3, 2, 3}, x[1] = {1}, bias[4] = {5, 0, 0, 0};
    static const float up[4] = {2, 2, 2, 2}, up_bias[4] = {0, 1, 2, 3}, down[4] = {1, 10, 100, 1000};
    TN_ATTRIBUTES(&b->writer, tn_route, route);
    route.used = 2;
    route.score = c->score;
    route.normalise = c->normalise;
    route.scale = 1;
    TN_ATTRIBUTES(&b->writer, tn_experts, experts);
    experts.act = TN_ACT_RELU;
    uint32_t z = bench_rows_of(b, 4, 1, logits), chosen_bias = c->bias ? bench_numbers(b, 4, 1, 1, bias) : 0;
    uint32_t y = tn_add_route(&b->writer, "route", z, chosen_bias, &route);
    tn_matrix none = {0, 0};
    tn_matrix u = {bench_numbers(b, 1, 1, 4, up), bench_numbers(b, 1, 4, 1, up_bias)};
    tn_matrix d = {bench_numbers(b, 1, 1, 4, down), 0};
    uint32_t rows = bench_rows_of(b, 1, 1, x);
    bench_output(b, tn_add_experts(&b->writer, "experts", rows, y, none, u, d, &experts), 0);
}

Test(reference, route_and_experts) {
    const struct experts_case normalised = {TN_SCORE_SOFTMAX, 1, 0}, plain = {TN_SCORE_SOFTMAX, 0, 0},
                              biased = {TN_SCORE_SIGMOID, 0, 1};
    const double e0 = 2, e1 = 30, e3 = 5000; /* what each expert gives */
    const double normalised_want[] = {0.5 * e1 + 0.5 * e3}, plain_want[] = {0.39948638 * (e1 + e3)},
                 biased_want[] = {0.731058579 * e0 +
                                  0.952574127 * e1}; /* a tie of 1 and 3: the lower number */
    expect("normalised", make_experts, &normalised, 1, normalised_want);
    expect("not normalised", make_experts, &plain, 1, plain_want);
    expect("bias chooses, score weighs", make_experts, &biased, 1, biased_want);
}

/* ---- linear, products, pools */

static void make_linear(bench *b, const void *context) {
    static const float x[6] = {1, 2, 3, -1, 0, 1}, w[6] = {1, 1, 1, 0, 1, -1}, bias[2] = {10, 20};
    static const float half = 0.5f;
    (void)context;
    tn_matrix m = {bench_numbers(b, 3, 2, 1, w), bench_numbers(b, 2, 1, 1, bias)};
    b->weights[m.weight - 1].scales = &half;
    b->weights[m.weight - 1].scale_count = 1;
    bench_output(b, tn_add_linear(&b->writer, "linear", bench_rows_of(b, 3, 2, x), m), 0);
}

Test(reference, linear_scales_the_product_and_not_the_bias) {
    const double want[] = {3 + 10, -0.5 + 20, 0 + 10, -0.5 + 20};
    expect("linear", make_linear, NULL, 2, want);
}

static void make_pool(bench *b, const void *context) {
    static const float x[6] = {1, 2, 3, 5, 8, 8};
    bench_output(b, tn_add_pool(&b->writer, "pool", bench_rows_of(b, 2, 3, x), *(const uint32_t *)context),
                 1);
}

Test(reference, pools) {
    const uint32_t kinds[] = {TN_POOL_MEAN, TN_POOL_FIRST, TN_POOL_LAST};
    const double want[][2] = {{4, 5}, {1, 2}, {8, 8}};
    for (int i = 0; i < 3; i++) { expect("pool", make_pool, &kinds[i], 3, want[i]); }
}

static void make_chain(bench *b, const void *context) {
    static const float x[3] = {1, -2, 3}, gate[1] = {2};
    (void)context;
    uint32_t y = tn_add_product(&b->writer, "mul", bench_rows_of(b, 3, 1, x), bench_rows_of(b, 1, 1, gate));
    y = tn_add_softcap(&b->writer, "cap", tn_add_scale(&b->writer, "scale", y, 0.5), 2);
    bench_output(b, tn_add_sum(&b->writer, "add", y, y), 0);
}

Test(reference, arithmetic) {
    const double want[] = {4 * tanh(0.5), 4 * tanh(-1), 4 * tanh(1.5)};
    expect("arithmetic", make_chain, NULL, 1, want);
}

/* ---- what it refuses */

static void make_custom(bench *b, const void *context) {
    uint32_t inputs[TN_NODE_INPUTS] = {bench_input(b, 4)};
    (void)context;
    TN_ATTRIBUTES(&b->writer, tn_custom, custom);
    custom.width = 4;
    custom.id = "nobody.has.it/1";
    bench_output(b, tn_add_node(&b->writer, TN_OP_custom, "custom", inputs, NULL, &custom), 0);
}

Test(reference, custom_ops_are_refused_by_name) {
    tn_error why = TN_ERROR_INIT;
    rig r;
    bench b;
    cr_assert(rig_open(&r, "reference", NULL, 1));
    cr_assert(!bench_open(&b, &r, make_custom, NULL, &why));
    cr_assert(strstr(why.text, "nobody.has.it/1"), "%s", why.text);
    rig_close(&r);
}

/* ---- choices */

enum { CROWD = 300, PICKED = 70 };

struct crowd {
    float logits[CROWD], bias[CROWD], numbers[CROWD];
    uint32_t score, biased;
};

/* Expert e gives the number e: what comes out are the choices themselves, in order. */
static void make_crowd(bench *b, const void *context) {
    const struct crowd *c = context;
    static const float one[1] = {1};
    TN_ATTRIBUTES(&b->writer, tn_route, route);
    route.used = PICKED;
    route.score = c->score;
    route.scale = 1;
    uint32_t bias = c->biased ? bench_numbers(b, CROWD, 1, 1, c->bias) : 0;
    uint32_t choice = tn_add_route(&b->writer, "route", bench_rows_of(b, CROWD, 1, c->logits), bias, &route);
    tn_matrix w = {bench_numbers(b, 1, 1, CROWD, c->numbers), 0};
    bench_output(b, tn_add_expert_linear(&b->writer, "choices", bench_rows_of(b, 1, 1, one), choice, w), 0);
}

static double rank_of(const struct crowd *c, uint32_t e) {
    double sum = 0;
    if (!c->biased) { return c->logits[e]; }
    if (c->score == TN_SCORE_SIGMOID) { return 1 / (1 + exp(-(double)c->logits[e])) + c->bias[e]; }
    for (uint32_t i = 0; i < CROWD; i++) { sum += exp((double)c->logits[i]); }
    return exp((double)c->logits[e]) / sum + c->bias[e];
}

/* The largest that is left, of equals the first, again and again. */
static void pick(const struct crowd *c, double picked[PICKED]) {
    uint32_t taken[CROWD] = {0};
    for (uint32_t u = 0; u < PICKED; u++) {
        uint32_t best = CROWD;
        for (uint32_t e = 0; e < CROWD; e++) {
            if (!taken[e] && (best == CROWD || rank_of(c, e) > rank_of(c, best))) { best = e; }
        }
        taken[best] = 1;
        picked[u] = best;
    }
}

/* Many experts, of whose logits most are there several times. */
Test(reference, choices_among_many) {
    for (uint32_t way = 0; way < 4; way++) {
        struct crowd c = {.score = way % 2 ? TN_SCORE_SIGMOID : TN_SCORE_SOFTMAX, .biased = way / 2};
        double want[PICKED];
        for (uint32_t e = 0; e < CROWD; e++) {
            c.logits[e] = (float)(e * 7919 % 41) / 8 - 2;
            c.bias[e] = (float)(e * 104729 % 5) / 4;
            c.numbers[e] = (float)e;
        }
        pick(&c, want);
        expect("choices", make_crowd, &c, 1, want);
    }
}
