/*
 * test_kernel_products.c - dot, blend and the matrix product of each table, bit by bit: against the words of
 * tenon/format.h and against the portable table, at odd sizes, with a wall behind every buffer.
 */
#include "fake_panel.h"
#include "kernel_rig.h"

#include <math.h>
#include <string.h>

enum { TOKENS = 9 };

/* A fake format of floats and a form of floats make fake_rule() the float rule. */
static float float_rule(const float *w, const float *x, size_t cols) {
    tn_act act = {.struct_size = sizeof act, .form = TN_FORM_F32, .data = x};
    return fake_rule(&fake_formats[fake_format_count - 1], w, cols, &act, 0);
}

TABLE_TEST(kernel_products, dot_by_the_rule) {
    for (size_t cols = 0; cols < 150; cols = cols < 50 ? cols + 1 : cols + 33)
        for (size_t rows = 0; rows < 12; rows++)
            for (size_t tokens = 1; tokens < TOKENS; tokens += 1 + rows % 3) {
                size_t stride = cols + rows % 2;
                float *w = rig_floats(rows * stride), *x = rig_floats(tokens * stride);
                float *out = rig_floats(tokens * (rows + 1));
                rig_fill(w, rows * stride, rows % 4 == 3 ? RIG_SPECIAL : RIG_WIDE);
                rig_fill(x, tokens * stride, RIG_ORDINARY);
                memset(out, 0, tokens * (rows + 1) * sizeof *out);
                kernels->dot(w, stride, rows, cols, x, stride, tokens, out, rows + 1);
                for (size_t t = 0; t < tokens; t++) {
                    for (size_t r = 0; r < rows; r++) {
                        float want = float_rule(w + r * stride, x + t * stride, cols),
                              got = out[t * (rows + 1) + r];
                        cr_assert(rig_same(got, want),
                                  "%zu x %zu, token %zu of %zu, row %zu: got %a, expected %a", rows, cols, t,
                                  tokens, r, got, want);
                    }
                    cr_assert_eq(out[t * (rows + 1) + rows], 0.0f, "written past row %zu", rows);
                }
                rig_release();
            }
}

/* A last column whose product underflows to -0 must not meet a +0 from beside the row. */
TABLE_TEST(kernel_products, dot_keeps_negative_zero) {
    for (size_t cols = 1; cols < 40; cols++) {
        float *w = rig_floats(cols), *x = rig_floats(cols), got;
        for (size_t c = 0; c < cols; c++) {
            w[c] = 1e-30f;
            x[c] = -1e-30f;
        }
        kernels->dot(w, cols, 1, cols, x, cols, 1, &got, 1);
        float want = float_rule(w, x, cols);
        cr_assert(rig_same(got, want), "%zu columns: got %a, expected %a", cols, got, want);
        rig_release();
    }
}

TABLE_TEST(kernel_products, blend_in_order) {
    for (size_t cols = 0; cols < 200; cols = cols < 70 ? cols + 1 : cols + 29)
        for (size_t rows = 0; rows < 7; rows++)
            for (size_t tokens = 1; tokens < TOKENS; tokens += 1 + cols % 3) {
                float *v = rig_floats(rows * cols), *weights = rig_floats(tokens * (rows + 1));
                float *got = rig_floats(tokens * (cols + 2)), *want = rig_floats(tokens * (cols + 2));
                rig_fill(v, rows * cols, rows == 3 ? RIG_SPECIAL : RIG_ORDINARY);
                rig_fill(weights, tokens * (rows + 1), RIG_ORDINARY);
                rig_fill(got, tokens * (cols + 2), RIG_ORDINARY);
                memcpy(want, got, tokens * (cols + 2) * sizeof *want);
                for (size_t t = 0; t < tokens; t++)
                    for (size_t j = 0; j < rows; j++)
                        for (size_t c = 0; c < cols; c++) {
                            float *to = &want[t * (cols + 2) + c];
                            *to = fmaf(weights[t * (rows + 1) + j], v[j * cols + c], *to);
                        }
                kernels->blend(v, cols, rows, cols, weights, rows + 1, tokens, got, cols + 2);
                rig_expect_same(got, want, tokens * (cols + 2), "blend", cols);
                rig_release();
            }
}

/* ---- the matrix product */

typedef struct product {
    const fake_format *format;
    uint32_t form;
    size_t rows, row_from, row_to, cols, tokens, act_from;
    int8_t largest; /* code */
} product;

static size_t up(size_t n, size_t unit) {
    return (n + unit - 1) / unit * unit;
}

static int8_t random_code(int8_t largest) {
    return (int8_t)((int32_t)(rig_random() % (2u * (uint32_t)largest + 2u)) - largest - 1);
}

static void *make_weights(const product *p) {
    size_t bytes = fake_row_bytes(p->format, p->cols);
    char *blocks = rig_memory(p->rows * bytes);
    for (size_t r = 0; r < p->rows; r++) {
        if (!p->format->group) {
            rig_fill((float *)(void *)(blocks + r * bytes), p->cols, RIG_ORDINARY);
            continue;
        }
        for (size_t g = 0; g < p->cols / p->format->group; g++) {
            int8_t codes[256];
            for (size_t i = 0; i < p->format->group; i++)
                codes[i] = rig_random() % 8 == 0 ? (int8_t)(-p->largest - 1) : random_code(p->largest);
            fake_put(p->format, blocks + r * bytes, g, rig_uniform(), rig_uniform(), codes);
        }
    }
    return blocks;
}

static void fill_codes(const product *p, tn_act *act) {
    size_t group = p->form == TN_FORM_I8X32 ? 32 : 256;
    act->stride = up(p->cols, 64);
    act->scale_stride = p->cols / group + 1;
    act->sum_stride = p->cols / 16 + 3;
    int8_t *codes = rig_aligned(act->rows * act->stride);
    float *scales = rig_floats(act->rows * act->scale_stride);
    int16_t *sums = rig_memory(act->rows * act->sum_stride * sizeof *sums);
    memset(sums, 0, act->rows * act->sum_stride * sizeof *sums);
    rig_fill(scales, act->rows * act->scale_stride, RIG_ORDINARY);
    for (size_t r = 0; r < act->rows; r++)
        for (size_t c = 0; c < p->cols; c++) {
            int8_t code = rig_random() % 4 == 0 ? -127 : random_code(126);
            codes[r * act->stride + c] = code;
            sums[r * act->sum_stride + c / 16] = (int16_t)(sums[r * act->sum_stride + c / 16] + code);
        }
    act->data = codes;
    act->scales = scales;
    act->sums = sums;
}

static tn_act make_activations(const product *p) {
    tn_act act = {
        .struct_size = sizeof act, .form = p->form, .rows = p->act_from + p->tokens, .cols = p->cols};
    if (p->form != TN_FORM_F32) {
        fill_codes(p, &act);
        return act;
    }
    float *x = rig_floats(act.rows * p->cols);
    rig_fill(x, act.rows * p->cols, RIG_ORDINARY);
    act.data = x;
    act.stride = p->cols * sizeof *x;
    return act;
}

static void expect_product(const cpu_kernels *kernels, const product *p) {
    const char *weights = make_weights(p);
    tn_act act = make_activations(p);
    size_t count = p->row_to - p->row_from, out_stride = count + 3,
           bytes = fake_row_bytes(p->format, p->cols);
    float *out = rig_floats(p->tokens * out_stride);
    memset(out, 0, p->tokens * out_stride * sizeof *out);
    kernels->gemm(&(cpu_gemm){.unpack = &p->format->unpack,
                              .blocks = weights,
                              .row_stride = bytes,
                              .row_from = p->row_from,
                              .row_to = p->row_to,
                              .cols = p->cols,
                              .has_minimum = p->format->has_minimum,
                              .block = p->format->group ? p->format->group : 1,
                              .act = &act,
                              .act_from = p->act_from,
                              .act_rows = p->tokens,
                              .out = out,
                              .out_stride = out_stride,
                              .scratch = rig_aligned(kernels->gemm_scratch(p->cols, p->tokens))});
    for (size_t t = 0; t < p->tokens; t++) {
        for (size_t r = 0; r < count; r++) {
            float want =
                fake_rule(p->format, weights + (p->row_from + r) * bytes, p->cols, &act, p->act_from + t);
            float got = out[t * out_stride + r];
            cr_assert(
                rig_same(got, want),
                "%s%s, form %u, codes to %d, rows %zu..%zu, %zu columns, token %zu of %zu, row %zu: got %a, "
                "expected %a",
                p->format->unpack.name, p->format->has_minimum ? " with minimum" : "", p->form, p->largest,
                p->row_from, p->row_to, p->cols, t, p->tokens, r, got, want);
        }
        for (size_t r = count; r < out_stride; r++)
            cr_assert_eq(out[t * out_stride + r], 0.0f, "written past row %zu", count);
    }
    rig_release();
}

/* All fakes with the forms that go with them. */
static void expect_products(const cpu_kernels *kernels, product p, size_t units) {
    static const int8_t largest[] = {7, 15, 31, 127};
    for (uint32_t f = 0; f < fake_format_count; f++) {
        p.format = &fake_formats[f];
        for (p.form = p.format->group ? TN_FORM_I8X32 : TN_FORM_F32;
             p.form <= (p.format->sub_group ? TN_FORM_I8X32
                        : p.format->group   ? TN_FORM_I8X256
                                            : TN_FORM_F32);
             p.form++) {
            size_t unit = p.form == TN_FORM_F32                                ? 5
                          : p.form == TN_FORM_I8X256 || p.format->group == 256 ? 256
                          : p.format->group < 32                               ? 32
                                                                               : p.format->group;
            p.cols = units * unit;
            p.largest = largest[rig_random() % (p.format->sub_group ? 2 : 4)];
            expect_product(kernels, &p);
        }
    }
}

TABLE_TEST(kernel_products, gemm_any_tokens) {
    for (size_t tokens = 0; tokens < 15; tokens++)
        expect_products(kernels, (product){.rows = 34, .row_to = 34, .tokens = tokens}, 3);
}

TABLE_TEST(kernel_products, gemm_any_rows) {
    for (size_t rows = 0; rows < 70; rows = rows < 40 ? rows + 3 : rows + 8)
        expect_products(
            kernels, (product){.rows = 73, .row_from = 2, .row_to = 2 + rows, .tokens = 3, .act_from = 2}, 2);
}

TABLE_TEST(kernel_products, gemm_any_columns) {
    for (size_t units = 1; units < 40; units = units < 20 ? units + 1 : units + 7)
        expect_products(kernels, (product){.rows = 9, .row_to = 9, .tokens = 7}, units);
}

/* Codes at their limits, all of one sign, so that sums in int16 would saturate if they could. */
TABLE_TEST(kernel_products, gemm_sums_exactly) {
    static const int8_t weights[] = {-128, 127, -16, 15, 31, 0};
    const fake_format *format = &fake_formats[1];
    for (size_t w = 0; w < sizeof weights; w++)
        for (int sign = -1; sign <= 1; sign += 2) {
            int8_t codes[32], *x = rig_aligned(64);
            int16_t sums[2] = {(int16_t)(sign * 127 * 16), (int16_t)(sign * 127 * 16)};
            float scale = 1.0f, out = 0.0f, want = (float)(weights[w] * sign * 127 * 32);
            char *row = rig_memory(fake_row_bytes(format, 32));
            memset(codes, weights[w], sizeof codes);
            memset(x, sign * 127, 32);
            fake_put(format, row, 0, 1.0f, 0.0f, codes);
            tn_act act = {.struct_size = sizeof act,
                          .form = TN_FORM_I8X32,
                          .rows = 1,
                          .cols = 32,
                          .data = x,
                          .stride = 64,
                          .scales = &scale,
                          .scale_stride = 1,
                          .sums = sums,
                          .sum_stride = 2};
            kernels->gemm(&(cpu_gemm){.unpack = &format->unpack,
                                      .blocks = row,
                                      .row_stride = fake_row_bytes(format, 32),
                                      .row_to = 1,
                                      .cols = 32,
                                      .block = 32,
                                      .act = &act,
                                      .act_rows = 1,
                                      .out = &out,
                                      .out_stride = 1,
                                      .scratch = rig_aligned(kernels->gemm_scratch(32, 1))});
            cr_assert_eq(out, want, "32 times %d times %d: got %g, expected %g", weights[w], sign * 127, out,
                         want);
            rig_release();
        }
}

/* ---- the choice of a table */

Test(kernel_tables, pick_takes_the_best_that_is_allowed) {
    cr_assert_str_eq(cpu_kernels_pick(0)->name, "portable");
    for (const cpu_kernels *const *table = cpu_kernels_all; *table; table++) {
        cr_assert_eq(cpu_kernels_pick((*table)->isa), *table, "%s", (*table)->name);
        cr_assert((*table)->gemm_from > 0 && (*table)->gemm_rows > 0);
    }
}
