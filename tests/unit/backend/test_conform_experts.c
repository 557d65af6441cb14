/* test_conform_experts.c - mixtures of experts held to the reference: which are chosen, what each gives in every
 * format, few rows and many, and the sum. */
#include "conformance.h"

#include <criterion/criterion.h>
#include <stdlib.h>

#define EACH(i, array) for (uint32_t i = 0; i < sizeof(array) / sizeof(array)[0]; i++)

/* One row, a few rows that share experts, and prompts that fill panels. */
static const lengths few = {3, {9, 17, 1}}, one = {1, {4}}, many = {2, {40, 33}};

/* As a feed forward; but rows are as large as their experts make them, and the error of each is held against
 * the size of all. */
#define TOLERANCE_EXPERTS_I8 3e-2

struct experts_case {
    uint32_t in, out; /* types of gate and up, and of down */
    uint32_t width, hidden;
    uint32_t experts, used, score, normalise, bias, gated, expert_biases;
    uint32_t scales; /* companion scales of each matrix: none, one, or one an expert */
    double limit, offset, alpha;
    uint32_t act;
    uint32_t apart; /* written as products of one matrix each, and a sum */
};

/* What most cases have in common: 8 experts, of which each row takes 2. */
static struct experts_case usual(uint32_t in, uint32_t out, uint32_t width, uint32_t hidden) {
    return (struct experts_case){.in = in,
                                 .out = out,
                                 .width = width,
                                 .hidden = hidden,
                                 .experts = 8,
                                 .used = 2,
                                 .score = TN_SCORE_SOFTMAX,
                                 .normalise = 1,
                                 .gated = 1,
                                 .act = TN_ACT_SILU};
}

static uint32_t add_route(bench *b, const struct experts_case *c, uint32_t x) {
    tn_matrix router = {bench_weight(b, TYPE_F32, c->width, c->experts, 1, 0.3), 0};
    TN_ATTRIBUTES(&b->writer, tn_route, route);
    route.used = c->used;
    route.score = c->score;
    route.normalise = c->normalise;
    route.scale = 1.5;
    uint32_t logits = tn_add_linear(&b->writer, "router", x, router);
    uint32_t bias = c->bias ? bench_weight(b, TYPE_F32, c->experts, 1, 1, 0.2) : 0;
    return tn_add_route(&b->writer, "route", logits, bias, &route);
}

static uint32_t add_matrix(bench *b, const struct experts_case *c, uint32_t type, uint32_t cols,
                           uint32_t rows) {
    static const float scales[8] = {0.5f, 2, 1.25f, 0.75f, -1, 3, 0.1f, 1};
    uint32_t number = bench_weight(b, type, cols, rows, c->experts, 2 / sqrt(cols));
    if (c->scales) {
        b->weights[number - 1].scales = scales;
        b->weights[number - 1].scale_count = c->scales;
    }
    return number;
}

static uint32_t add_apart(bench *b, const struct experts_case *c, uint32_t x, uint32_t route, tn_matrix gate,
                          tn_matrix up, tn_matrix down) {
    const tn_writer *w = &b->writer;
    uint32_t h, u = tn_add_expert_linear(w, "up", x, route, up);
    if (c->gated) {
        uint32_t inputs[TN_NODE_INPUTS] = {tn_add_expert_linear(w, "gate", x, route, gate), u};
        TN_ATTRIBUTES(w, tn_glu, glu);
        glu.act = c->act;
        glu.alpha = c->alpha;
        glu.limit = c->limit;
        glu.offset = c->offset;
        h = tn_add_node(w, TN_OP_glu, "hidden", inputs, NULL, &glu);
    } else {
        h = tn_add_act(w, "hidden", u, c->act, c->alpha);
    }
    return tn_add_expert_sum(w, "sum", tn_add_expert_linear(w, "down", h, route, down), route);
}

static uint32_t add_experts(bench *b, const struct experts_case *c, uint32_t x, uint32_t route) {
    tn_matrix gate = {0, 0}, up = {add_matrix(b, c, c->in, c->width, c->hidden), 0},
              down = {add_matrix(b, c, c->out, c->hidden, c->width), 0};
    if (c->gated) { gate.weight = add_matrix(b, c, c->in, c->width, c->hidden); }
    if (c->expert_biases) {
        if (c->gated) { gate.bias = bench_weight(b, TYPE_F32, c->hidden, c->experts, 1, 0.5); }
        up.bias = bench_weight(b, TYPE_F32, c->hidden, c->experts, 1, 0.5);
        down.bias = bench_weight(b, TYPE_F32, c->width, 1, c->experts, 0.5); /* in three dimensions as well */
    }
    if (c->apart) { return add_apart(b, c, x, route, gate, up, down); }
    TN_ATTRIBUTES(&b->writer, tn_experts, experts);
    experts.act = c->act;
    experts.alpha = c->alpha;
    experts.limit = c->limit;
    experts.offset = c->offset;
    return tn_add_experts(&b->writer, "experts", x, route, gate, up, down, &experts);
}

static void make_experts(bench *b, const void *context) {
    const struct experts_case *c = context;
    uint32_t x = bench_input(b, c->width);
    bench_output(b, add_experts(b, c, x, add_route(b, c, x)), 0);
}

static void conform_all(const struct experts_case *c, double tolerance) {
    struct experts_case apart = *c;
    apart.apart = 1;
    conform("experts", make_experts, c, &few, tolerance);
    conform("experts", make_experts, c, &one, tolerance);
    conform("experts", make_experts, c, &many, tolerance);
    conform("experts apart", make_experts, &apart, &few, tolerance);
    conform("experts apart", make_experts, &apart, &many, tolerance);
}

/* ---- choices */

Test(conform, experts_choices) {
    const uint32_t counts[][2] = {{8, 1}, {8, 8}, {5, 3}, {1, 1}, {33, 6}};
    EACH (i, counts) {
        struct experts_case c = usual(TYPE_F32, TYPE_F16, 32, 48);
        c.experts = counts[i][0];
        c.used = counts[i][1];
        for (uint32_t k = i % 3; k < 8; k += 3) {
            c.score = k & 1 ? TN_SCORE_SIGMOID : TN_SCORE_SOFTMAX;
            c.normalise = k >> 1 & 1;
            c.bias = k >> 2;
            conform("choices", make_experts, &c, k % 3 ? &few : &many, TOLERANCE_FLOAT);
        }
    }
    conform_end();
}

/* Scores that are no floats any more, though their shares are: 1e-87 and the like. */
static void make_tiny_scores(bench *b, const void *context) {
    static const float logits[4] = {-200, -201.5f, -203, -200.25f};
    static const float up[4] = {1, 2, 3, 4}, down[4] = {1, 1, 1, 1};
    (void)context;
    TN_ATTRIBUTES(&b->writer, tn_route, route);
    route.used = 3;
    route.score = TN_SCORE_SIGMOID;
    route.normalise = 1;
    route.scale = 1;
    TN_ATTRIBUTES(&b->writer, tn_experts, experts);
    experts.act = TN_ACT_RELU;
    uint32_t chosen = tn_add_route(&b->writer, "route", bench_rows_of(b, 4, 1, logits), 0, &route);
    tn_matrix none = {0, 0}, u = {bench_numbers(b, 1, 1, 4, up), 0}, d = {bench_numbers(b, 1, 1, 4, down), 0};
    uint32_t x = tn_add_act(&b->writer, "positive", bench_input(b, 1), TN_ACT_SIGMOID, 0);
    bench_output(b, tn_add_experts(&b->writer, "experts", x, chosen, none, u, d, &experts), 0);
}

Test(conform, experts_tiny_scores) {
    const lengths single = {1, {1}};
    conform("tiny scores", make_tiny_scores, NULL, &single, TOLERANCE_FLOAT);
    conform_end();
}

enum { TIED = 4, TIED_EXPERTS = 5 };

/* Logits with ties, large and small ones; each expert e gives (e + 1) * x. */
static void make_ties(bench *b, const void *context) {
    static const float logits[TIED * TIED_EXPERTS] = {1, 3,  2,  3, 3, 0,   0,    0,   0,   0,
                                                      2, -5, 90, 2, 2, -80, -200, -80, -80, -90};
    static const float up[TIED_EXPERTS] = {1, 2, 3, 4, 5}, down[TIED_EXPERTS] = {1, 1, 1, 1, 1};
    TN_ATTRIBUTES(&b->writer, tn_route, route);
    route.used = 3;
    route.score = *(const uint32_t *)context;
    route.scale = 1;
    TN_ATTRIBUTES(&b->writer, tn_experts, experts);
    experts.act = TN_ACT_RELU;
    uint32_t chosen =
        tn_add_route(&b->writer, "route", bench_rows_of(b, TIED_EXPERTS, TIED, logits), 0, &route);
    tn_matrix none = {0, 0}, u = {bench_numbers(b, 1, 1, TIED_EXPERTS, up), 0},
              d = {bench_numbers(b, 1, 1, TIED_EXPERTS, down), 0};
    uint32_t x = tn_add_act(&b->writer, "positive", bench_input(b, 1), TN_ACT_SIGMOID, 0);
    bench_output(b, tn_add_experts(&b->writer, "experts", x, chosen, none, u, d, &experts), 0);
}

Test(conform, experts_ties) {
    const lengths tied = {1, {TIED}};
    for (uint32_t score = TN_SCORE_SOFTMAX; score <= TN_SCORE_SIGMOID; score++) {
        conform("ties", make_ties, &score, &tied, TOLERANCE_FLOAT);
    }
    conform_end();
}

/* A router whose weights are quantised takes floats: the choice is that of the exact products. */
static void make_quantised_router(bench *b, const void *context) {
    const struct experts_case *c = context;
    tn_matrix router = {bench_weight(b, TYPE_Q8_0, c->width, c->experts, 1, 0.1), 0};
    TN_ATTRIBUTES(&b->writer, tn_route, route);
    route.used = c->used;
    route.score = TN_SCORE_SIGMOID;
    route.scale = 1;
    uint32_t x = bench_input(b, c->width), logits = tn_add_linear(&b->writer, "router", x, router);
    if (c->apart) { /* an adapter adds to the product */
        tn_matrix delta = {bench_weight(b, TYPE_F32, c->width, c->experts, 1, 0.1), 0};
        logits = tn_add_sum(&b->writer, "adapted", logits, tn_add_linear(&b->writer, "delta", x, delta));
    }
    logits = tn_add_mark(&b->writer, "mark", logits, 1);
    bench_output(b, add_experts(b, c, x, tn_add_route(&b->writer, "route", logits, 0, &route)), 0);
}

Test(conform, experts_quantised_router) {
    struct experts_case c = usual(TYPE_F32, TYPE_F32, 96, 40);
    c.experts = 20;
    c.used = 5;
    conform("quantised router", make_quantised_router, &c, &many, TOLERANCE_FLOAT);
    c.apart = 1;
    conform("quantised router with an adapter", make_quantised_router, &c, &many, TOLERANCE_FLOAT);
    conform_end();
}

/* ---- what an expert does */

Test(conform, experts_forms) {
    struct experts_case plain = usual(TYPE_F32, TYPE_F32, 64, 96), gpt_oss = plain, ungated = plain;
    conform_all(&plain, TOLERANCE_FLOAT);
    gpt_oss.alpha = 1.702;
    gpt_oss.limit = 0.7;
    gpt_oss.offset = gpt_oss.expert_biases = 1;
    conform_all(&gpt_oss, TOLERANCE_FLOAT);
    ungated.gated = 0;
    ungated.expert_biases = 1;
    ungated.act = TN_ACT_RELU2;
    conform_all(&ungated, TOLERANCE_FLOAT);
    for (uint32_t scales = 1; scales <= 8; scales += 7) {
        struct experts_case scaled = gpt_oss;
        scaled.scales = scales;
        scaled.limit = 0;
        conform_all(&scaled, TOLERANCE_FLOAT);
    }
    conform_end();
}

Test(conform, experts_odd_widths) {
    const uint32_t sizes[][2] = {{1, 1}, {3, 17}, {33, 47}, {100, 15}, {17, 258}};
    const uint32_t types[] = {TYPE_F32, TYPE_F16, TYPE_BF16};
    EACH (i, sizes) {
        struct experts_case c = usual(types[i % 3], types[(i + 1) % 3], sizes[i][0], sizes[i][1]);
        c.used = 1 + i;
        c.gated = i % 2;
        c.expert_biases = i % 3 == 1;
        conform("odd widths", make_experts, &c, i == 3 ? &few : &many, TOLERANCE_FLOAT);
    }
    conform_end();
}

/* Slices that do not divide, and more rows an expert than a panel takes at once. */
Test(conform, experts_large) {
    const lengths long_prompt = {2, {300, 9}};
    struct experts_case c = usual(TYPE_Q8_0, TYPE_Q4_0, 96, 352);
    conform("experts", make_experts, &c, &many, TOLERANCE_EXPERTS_I8);
    c.width = 32;
    c.hidden = 96;
    c.experts = c.used = 1;
    conform("one expert", make_experts, &c, &long_prompt, TOLERANCE_EXPERTS_I8);
    c.experts = 3;
    c.used = 2;
    conform("three experts", make_experts, &c, &long_prompt, TOLERANCE_EXPERTS_I8);
    conform_end();
}

/* ---- formats */

/* Gate and up of a type, then down of it; what is on the other side is narrow, for encoders take their time. */
static void conform_types(const uint32_t *types, uint32_t count, uint32_t block) {
    for (uint32_t t = 0; t < count; t++) {
        struct experts_case in = usual(types[t], TYPE_Q8_0, block < 64 ? 160 : block, 32),
                            out = usual(TYPE_F16, types[t], 24, block < 64 ? 160 : block);
        in.experts = out.experts = 3;
        in.scales = types[t] == TYPE_NVFP4 ? 3 : 0;
        conform("in", make_experts, &in, t % 2 ? &few : &many, TOLERANCE_EXPERTS_I8);
        conform("out", make_experts, &out, t % 2 ? &many : &few, TOLERANCE_EXPERTS_I8);
    }
    conform_end();
}

Test(conform, experts_of_small_blocks) {
    const uint32_t types[] = {TYPE_Q4_0, TYPE_Q4_1, TYPE_Q5_0, TYPE_Q5_1, TYPE_Q8_0, TYPE_IQ4_NL, TYPE_MXFP4};
    conform_types(types, 7, 32);
}
Test(conform, experts_of_large_blocks) {
    const uint32_t types[] = {TYPE_Q1_0, TYPE_Q2_0, TYPE_NVFP4, TYPE_TQ1_0, TYPE_TQ2_0};
    conform_types(types, 5, 256);
}
Test(conform, experts_of_k_types) {
    const uint32_t types[] = {TYPE_Q2_K, TYPE_Q3_K, TYPE_Q4_K, TYPE_Q5_K, TYPE_Q6_K};
    conform_types(types, 5, 256);
}
Test(conform, experts_of_iq4_xs_and_iq3) {
    const uint32_t types[] = {TYPE_IQ4_XS, TYPE_IQ3_S, TYPE_IQ3_XXS};
    conform_types(types, 3, 256);
}
Test(conform, experts_of_iq2) {
    const uint32_t types[] = {TYPE_IQ2_S, TYPE_IQ2_XS, TYPE_IQ2_XXS};
    conform_types(types, 3, 256);
}

/* Gate and up of unlike types: each gets the activations that its kernels want. */
static void make_unlike(bench *b, const void *context) {
    (void)context;
    struct experts_case c = usual(TYPE_F16, TYPE_Q8_0, 64, 96);
    uint32_t x = tn_add_rms(&b->writer, "norm", bench_input(b, 64), bench_gain(b, 64), 1e-5);
    TN_ATTRIBUTES(&b->writer, tn_experts, experts);
    experts.act = TN_ACT_GELU_TANH;
    tn_matrix gate = {add_matrix(b, &c, TYPE_Q8_0, 64, 96), 0}, up = {add_matrix(b, &c, TYPE_F16, 64, 96), 0},
              down = {add_matrix(b, &c, TYPE_Q4_0, 96, 64), 0};
    uint32_t route = add_route(b, &c, x);
    bench_output(b, tn_add_experts(&b->writer, "experts", x, route, gate, up, down, &experts), 0);
}

Test(conform, experts_of_unlike_types) {
    conform("unlike", make_unlike, NULL, &many, TOLERANCE_EXPERTS_I8);
    conform("unlike", make_unlike, NULL, &few, TOLERANCE_EXPERTS_I8);
    conform_end();
}

/* ---- layers */

struct layer_case {
    uint32_t type, layers;
    uint32_t first; /* the experts come before the shared one */
};

/* sigmoid(w h) * shared(h) */
static uint32_t add_shared(bench *b, uint32_t type, uint32_t h) {
    const tn_writer *w = &b->writer;
    tn_matrix gate = {bench_weight(b, type, 64, 96, 1, 0.2), 0},
              up = {bench_weight(b, type, 64, 96, 1, 0.2), 0},
              down = {bench_weight(b, type, 96, 64, 1, 0.2), 0},
              column = {bench_weight(b, TYPE_F32, 64, 1, 1, 0.2), 0};
    uint32_t y =
        tn_add_glu(w, "glu", tn_add_linear(w, "gate", h, gate), tn_add_linear(w, "up", h, up), TN_ACT_SILU);
    uint32_t s = tn_add_act(w, "share", tn_add_linear(w, "column", h, column), TN_ACT_SIGMOID, 1);
    return tn_add_product(w, "shared", tn_add_linear(w, "down", y, down), s);
}

/* x + experts(h) + sigmoid(w h) * shared(h). Two layers are of floats: a choice that 8 bits turn over in the
 * second is no rounding error. */
static void make_layers(bench *b, const void *context) {
    const struct layer_case *l = context;
    const struct experts_case c = usual(l->type, l->type, 64, 96);
    const tn_writer *w = &b->writer;
    uint32_t x = bench_input(b, 64);
    for (uint32_t layer = 0; layer < l->layers; layer++) {
        uint32_t h = tn_add_rms(w, "norm", x, bench_gain(b, 64), 1e-5), a = 0;
        if (l->first) { a = add_experts(b, &c, h, add_route(b, &c, h)); }
        uint32_t s = add_shared(b, l->type, h);
        if (!l->first) { a = add_experts(b, &c, h, add_route(b, &c, h)); }
        x = tn_add_sum(w, "sum", x, tn_add_sum(w, "both", a, s));
    }
    bench_output(b, x, 0);
}

/* The rows of x that feed the router differ from those that feed the experts, and are of this phase only. */
static void make_two_norms(bench *b, const void *context) {
    (void)context;
    const struct experts_case c = usual(TYPE_Q8_0, TYPE_F32, 64, 32);
    const tn_writer *w = &b->writer;
    uint32_t x = bench_input(b, 64), h = tn_add_rms(w, "norm", x, bench_gain(b, 64), 1e-5);
    uint32_t route = add_route(b, &c, h), y = tn_add_rms(w, "other norm", x, bench_gain(b, 64), 1e-5);
    y = add_experts(b, &c, y, route);
    bench_output(b, tn_add_rms(w, "post norm", tn_add_scale(w, "scaled", y, 0.5), bench_gain(b, 64), 1e-5),
                 0);
}

Test(conform, experts_layers) {
    const struct layer_case table[] = {
        {TYPE_F32, 2, 0}, {TYPE_F16, 2, 1}, {TYPE_Q8_0, 1, 0}, {TYPE_Q8_0, 1, 1}};
    EACH (i, table) {
        double tolerance = table[i].layers == 2 ? TOLERANCE_FLOAT : TOLERANCE_EXPERTS_I8;
        conform("layers", make_layers, &table[i], i % 2 ? &few : &many, tolerance);
    }
    conform("two norms", make_two_norms, NULL, &few, TOLERANCE_EXPERTS_I8);
    conform("two norms", make_two_norms, NULL, &many, TOLERANCE_EXPERTS_I8);
    conform_end();
}

/* ---- products of one matrix each */

/* One rig: the op and its parts give the same bits. */
static void expect_same(const char *backend, const struct experts_case *c) {
    rig r;
    float *out[2];
    uint64_t rows = 0;
    uint32_t width = 0;
    if (!rig_open(&r, backend, NULL, 2)) { cr_skip_test("backend.%s is not in the build", backend); }
    for (uint32_t apart = 0; apart < 2; apart++) {
        struct experts_case this = *c;
        bench b;
        tn_error why = TN_ERROR_INIT;
        this.apart = apart;
        cr_assert(bench_open(&b, &r, make_experts, &this, &why), "%s: %s", backend, why.text);
        out[apart] = bench_run(&b, &few, CUT_PIECES);
        rows = bench_rows(&b, &few);
        width = b.width;
        bench_close(&b);
    }
    for (uint64_t i = 0; i < rows * width; i++) {
        cr_assert(out[0][i] == out[1][i], "%s: row %lu column %lu is %a in one op, %a in parts", backend,
                  (unsigned long)(i / width), (unsigned long)(i % width), out[0][i], out[1][i]);
    }
    free(out[0]);
    free(out[1]);
    rig_close(&r);
}

Test(conform, experts_apart_are_the_same) {
    struct experts_case table[] = {usual(TYPE_F32, TYPE_F16, 64, 96), usual(TYPE_Q8_0, TYPE_Q4_0, 96, 64),
                                   usual(TYPE_F16, TYPE_Q8_0, 33, 64)};
    table[1].alpha = 1.702;
    table[1].limit = 0.7;
    table[1].offset = table[1].expert_biases = 1;
    table[2].gated = 0;
    table[2].used = 8;
    EACH (i, table) {
        expect_same("reference", &table[i]);
        expect_same("cpu", &table[i]);
    }
}

/* What adapters of experts make: additions behind each product, of one that is made later; a product of the same width that
 * follows no route beside them; and one whose rows are as wide as all parts together. */
static void make_adapted(bench *b, const void *context) {
    const struct experts_case *c = context;
    const tn_writer *w = &b->writer;
    uint32_t x = bench_input(b, c->width), route = add_route(b, c, x);
    tn_matrix up = {add_matrix(b, c, c->in, c->width, c->hidden), 0},
              down = {add_matrix(b, c, c->out, c->hidden, c->width), 0},
              a = {bench_weight(b, TYPE_F32, c->width, 3, c->experts, 0.2), 0},
              lift = {bench_weight(b, TYPE_F16, 3, c->hidden, c->experts, 0.5), 0},
              plain = {bench_weight(b, c->in, c->width, (uint64_t)c->hidden * c->used, 1, 0.2), 0},
              whole = {bench_weight(b, TYPE_F32, (uint64_t)c->hidden * c->used, 5, c->experts, 0.2), 0};
    uint32_t y = tn_add_expert_linear(w, "up", x, route, up);
    uint32_t p = tn_add_linear(w, "plain", x, plain);
    uint32_t d = tn_add_expert_linear(w, "a", x, route, a);
    d = tn_add_scale(w, "scaled", tn_add_expert_linear(w, "b", d, route, lift), 0.75);
    y = tn_add_sum(w, "adapted", y, d);
    y = tn_add_glu(w, "glu", y, p, TN_ACT_SILU);
    uint32_t five = tn_add_expert_sum(w, "five", tn_add_expert_linear(w, "whole", y, route, whole), route);
    y = tn_add_expert_sum(w, "sum", tn_add_expert_linear(w, "down", y, route, down), route);
    tn_matrix back = {bench_weight(b, TYPE_F32, 5, c->width, 1, 0.3), 0};
    bench_output(b, tn_add_sum(w, "both", y, tn_add_linear(w, "back", five, back)), 0);
}

Test(conform, experts_adapted) {
    struct experts_case floats = usual(TYPE_F32, TYPE_F16, 64, 96),
                        codes = usual(TYPE_Q8_0, TYPE_Q4_0, 96, 64);
    floats.used = 3;
    conform("adapted", make_adapted, &floats, &few, TOLERANCE_FLOAT);
    conform("adapted", make_adapted, &floats, &many, TOLERANCE_FLOAT);
    conform("adapted", make_adapted, &floats, &one, TOLERANCE_FLOAT);
    conform("adapted", make_adapted, &codes, &few, TOLERANCE_EXPERTS_I8);
    conform("adapted", make_adapted, &codes, &many, TOLERANCE_EXPERTS_I8);
    conform_end();
}
