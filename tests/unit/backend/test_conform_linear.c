/* test_conform_linear.c - ops with matrices, held to the reference: linear in each format, feed forwards. */
#include "conformance.h"

#include <criterion/criterion.h>

#define EACH(i, array) for (uint32_t i = 0; i < sizeof(array) / sizeof(array)[0]; i++)

struct linear_case {
    uint32_t type, cols, rows, bias, scale;
};

/* A companion scale, as a format may bring along. */
static const float companion = 0.375f;

static void make_linear(bench *b, const void *context) {
    const struct linear_case *c = context;
    tn_matrix w = {bench_weight(b, c->type, c->cols, c->rows, 1, 1), 0};
    if (c->bias) { w.bias = bench_weight(b, TYPE_F32, c->rows, 1, 1, 1); }
    if (c->scale) {
        b->weights[w.weight - 1].scales = &companion;
        b->weights[w.weight - 1].scale_count = 1;
    }
    bench_output(b, tn_add_linear(&b->writer, "linear", bench_input(b, c->cols), w), 0);
}

static const lengths steps[] = {{1, {1}}, {2, {2, 6}}, {3, {9, 17, 1}}, {2, {40, 33}}};

/* Rows of weights around the sizes that kernels work in, with and without bias and companion scale. */
static void conform_type(uint32_t type, uint32_t block, double tolerance) {
    const uint32_t cols[] = {block, 3 * block, 256 / block * block, 768 / block * block};
    const uint32_t rows[] = {1, 7, 16, 17, 65, 130};
    EACH (i, cols) {
        EACH (k, rows) {
            struct linear_case c = {type, cols[i], rows[k], k % 2, k == 1};
            if (cols[i] == 0) { continue; }
            conform("linear", make_linear, &c, &steps[rows[k] == 1 ? 3 : (i + k) % 4], tolerance);
        }
    }
    conform_end();
}

Test(conform, linear_f32) {
    conform_type(TYPE_F32, 1, TOLERANCE_FLOAT);
}
Test(conform, linear_f16) {
    conform_type(TYPE_F16, 1, TOLERANCE_FLOAT);
}
Test(conform, linear_bf16) {
    conform_type(TYPE_BF16, 1, TOLERANCE_FLOAT);
}
Test(conform, linear_odd_columns) {
    const uint32_t cols[] = {2, 15, 17, 31, 33, 100, 257};
    EACH (i, cols) {
        struct linear_case c = {i % 2 ? TYPE_F32 : TYPE_F16, cols[i], 19, 0, 0};
        conform("linear", make_linear, &c, &steps[i % 4], TOLERANCE_FLOAT);
    }
    conform_end();
}
/* A product of the rows asked for, as the last one of a model is: there backends may not round to 8 bits, so
 * the bound is 15 bits'. */
static void make_head(bench *b, const void *context) {
    const struct linear_case *c = context;
    tn_matrix w = {bench_weight(b, c->type, c->cols, c->rows, 1, 1), 0};
    uint32_t x = tn_add_rows(&b->writer, "rows", bench_input(b, c->cols));
    tn_add_output(&b->writer, "out", tn_add_linear(&b->writer, "head", x, w), 0, TN_OUTPUT_HIDDEN);
}

Test(conform, linear_head) {
    const uint32_t types[] = {TYPE_Q8_0, TYPE_Q4_0, TYPE_Q4_1, TYPE_Q6_K};
    const uint32_t rows[] = {1, 17, 200};
    EACH (t, types) {
        EACH (k, rows) {
            struct linear_case c = {types[t], types[t] == TYPE_Q6_K ? 512 : 96 + 480 * k, rows[k], 0, 0};
            conform("head", make_head, &c, &steps[rows[k] == 1 ? 3 : k], TOLERANCE_I15);
        }
    }
    conform_end();
}

Test(conform, linear_q8_0) {
    conform_type(TYPE_Q8_0, 32, TOLERANCE_I8);
}
Test(conform, linear_q4_0) {
    conform_type(TYPE_Q4_0, 32, TOLERANCE_I8);
}
Test(conform, linear_q4_1) {
    conform_type(TYPE_Q4_1, 32, TOLERANCE_I8);
}
/* Scales for 64, for 128 and for 256 columns; codes of five bits, without and with minimums. */
Test(conform, linear_other_groups) {
    const uint32_t types[][2] = {{TYPE_Q2_0, 64},   {TYPE_Q1_0, 128}, {TYPE_TQ1_0, 256},
                                 {TYPE_TQ2_0, 256}, {TYPE_Q5_0, 32},  {TYPE_Q5_1, 32}};
    EACH (t, types) {
        for (uint32_t i = 0; i < 4; i++) {
            struct linear_case c = {types[t][0], i % 2 ? 768 : types[t][1], i < 2 ? 17 : 65, i % 2, i == 1};
            conform("linear", make_linear, &c, &steps[(t + i) % 4], TOLERANCE_I8);
        }
    }
    conform_end();
}
Test(conform, linear_q6_k) {
    conform_type(TYPE_Q6_K, 256, TOLERANCE_I8);
}

/* ---- what a backend may fuse ------------------------------------------------------------------------- */

/* A feed forward with its norm and sum. */
static void make_feed_forward(bench *b, const void *context) {
    uint32_t type = *(const uint32_t *)context;
    const tn_writer *w = &b->writer;
    tn_matrix gate = {bench_weight(b, type, 256, 256, 1, 0.1), 0},
              up = {bench_weight(b, type, 256, 256, 1, 0.1), 0},
              down = {bench_weight(b, type, 256, 256, 1, 0.1), 0};
    uint32_t x = bench_input(b, 256), h = tn_add_rms(w, "norm", x, bench_gain(b, 256), 1e-5);
    uint32_t y =
        tn_add_glu(w, "glu", tn_add_linear(w, "gate", h, gate), tn_add_linear(w, "up", h, up), TN_ACT_SILU);
    bench_output(b, tn_add_sum(w, "sum", x, tn_add_linear(w, "down", y, down)), 0);
}

Test(conform, feed_forward) {
    const uint32_t types[] = {TYPE_F32, TYPE_F16, TYPE_Q4_0, TYPE_Q4_1, TYPE_Q8_0, TYPE_Q6_K};
    EACH (i, types) {
        double tolerance = i < 2 ? TOLERANCE_FLOAT : TOLERANCE_FEED_FORWARD_I8;
        conform("feed forward", make_feed_forward, &types[i], &steps[2], tolerance);
        conform("feed forward", make_feed_forward, &types[i], &steps[0], tolerance);
    }
    conform_end();
}
