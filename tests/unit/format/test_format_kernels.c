/*
 * test_format_kernels.c - every kernel of every format against the rule of summing as tenon/format.h states
 * it, bit for bit: each instruction set, each number of activation rows, odd numbers of rows, rows at odd
 * addresses that end before a page nobody may touch. And the results against exact products of another
 * implementation.
 */
#include "format_cases.h"
#include "half.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MAX_COLS 4096

static void *aligned(size_t bytes) {
    void *memory = aligned_alloc(64, (bytes + 127) / 64 * 64);
    memset(memory, 0xee, (bytes + 127) / 64 * 64);
    return memory;
}

/* ---- activation rows */

typedef struct acts {
    tn_act act;
    float *x;
    int8_t *codes;
    float *scales;
    int16_t *sums;
} acts;

static void quantise(const float *x, uint64_t cols, int8_t *codes, float *scales, int16_t *sums) {
    for (uint64_t b = 0; b < cols / 32; b++) {
        float m = 0;
        int finite = 1;
        for (int i = 0; i < 32; i++) {
            finite &= isfinite(x[32 * b + i]) != 0;
            m = fmaxf(m, fabsf(x[32 * b + i]));
        }
        scales[b] = !finite ? NAN : m < 0x1p-100f ? 0 : m / 127;
        for (int i = 0; i < 32; i++) {
            codes[32 * b + i] = (int8_t)(finite && scales[b] > 0 ? rintf(x[32 * b + i] * (127 / m)) : 0);
        }
        for (int h = 0; h < 2; h++) {
            sums[2 * b + h] = 0;
            for (int i = 0; i < 16; i++) {
                sums[2 * b + h] = (int16_t)(sums[2 * b + h] + codes[32 * b + 16 * h + i]);
            }
        }
    }
}

/* Rows of floats (kept) in the form that is asked for, at strides larger than the rows. */
static acts acts_new(const float *x, uint64_t rows, uint64_t cols, uint32_t form) {
    acts a = {.act = {.struct_size = sizeof a.act, .form = form, .rows = rows, .cols = cols}};
    uint64_t stride = (cols + 63) / 64 * 64 + 64;
    a.x = aligned(rows * stride * sizeof(float));
    for (uint64_t r = 0; r < rows; r++) { memcpy(a.x + r * stride, x + r * cols, cols * sizeof(float)); }
    if (form == TN_FORM_F32) {
        a.act.data = a.x;
        a.act.stride = stride * sizeof(float);
        return a;
    }
    a.act.data = a.codes = aligned(rows * stride);
    a.act.stride = stride;
    a.act.scale_stride = cols / 32 + 3;
    a.act.scales = a.scales = aligned(rows * a.act.scale_stride * sizeof(float));
    a.act.sum_stride = cols / 16 + 5;
    a.act.sums = a.sums = aligned(rows * a.act.sum_stride * sizeof(int16_t));
    for (uint64_t r = 0; r < rows; r++) {
        quantise(x + r * cols, cols, a.codes + r * stride, a.scales + r * a.act.scale_stride,
                 a.sums + r * a.act.sum_stride);
    }
    return a;
}

static void acts_free(acts *a) {
    free(a->x);
    free(a->codes);
    free(a->scales);
    free(a->sums);
}

/* ---- kernels */

static const tn_format_kernel *find_kernel(const tn_format *format, uint32_t kind, uint64_t isa) {
    for (uint32_t k = 0; k < format->kernel_count; k++) {
        if (format->kernels[k]->kind == kind && format->kernels[k]->isa == isa) { return format->kernels[k]; }
    }
    return NULL;
}

/* A panel as the portable kernel writes it. */
typedef struct panel {
    void *codes;
    float *scales, *minimums;
    int8_t *subs; /* p16 */
    uint8_t *sub_minimums;
    uint64_t code_stride, scale_stride, sub_stride;
} panel;

/* Columns of a scale. */
static uint32_t scale_group(const tn_format_kernel *unpack) {
    return unpack->form == TN_PANEL_P16 ? 256 : unpack->group;
}

static panel panel_of(const tn_format_kernel *kernel, const void *blocks, uint64_t row_stride, uint64_t rows,
                      uint64_t from, uint64_t to) {
    uint64_t cols = to - from, unit = kernel->form == TN_PANEL_F32 ? 4 : 1;
    panel p = {.code_stride = (cols * unit + 63) / 64 * 64 + 64,
               .scale_stride = cols / scale_group(kernel) + 1,
               .sub_stride = cols / kernel->group + 1};
    p.subs = aligned(rows * p.sub_stride);
    p.sub_minimums = aligned(rows * p.sub_stride);
    p.codes = aligned(rows * p.code_stride);
    p.scales = aligned(rows * p.scale_stride * 4);
    p.minimums = aligned(rows * p.scale_stride * 4);
    tn_unpack call = {.struct_size = sizeof call,
                      .blocks = blocks,
                      .row_stride = row_stride,
                      .rows = rows,
                      .col_from = from,
                      .col_to = to,
                      .codes = p.codes,
                      .code_stride = p.code_stride,
                      .scales = p.scales,
                      .minimums = kernel->minimums ? p.minimums : NULL,
                      .scale_stride = p.scale_stride};
    if (kernel->form == TN_PANEL_P16) {
        call.sub_scales = p.subs;
        call.sub_minimums = kernel->minimums ? p.sub_minimums : NULL;
        call.sub_stride = p.sub_stride;
    }
    kernel->unpack(&call);
    return p;
}

static void panel_free(panel *p) {
    free(p->codes);
    free(p->scales);
    free(p->minimums);
    free(p->subs);
    free(p->sub_minimums);
}

/* ---- the rule, as the header says it */

static float rule_integer(const tn_format *format, const panel *p, uint32_t group, uint64_t r,
                          const tn_act *act, uint64_t a, uint64_t cols) {
    const int8_t *w = (int8_t *)p->codes + r * p->code_stride, *x = (int8_t *)act->data + a * act->stride;
    uint32_t piece = group < 32 ? group : 32;
    float acc = 0;
    for (uint64_t c = 0; c < cols; c += piece) {
        int32_t sum = 0, codes = 0;
        for (uint32_t i = 0; i < piece; i++) {
            sum += w[c + i] * x[c + i];
            codes += x[c + i];
        }
        float x_scale = act->scales[a * act->scale_stride + c / 32];
        acc = fmaf((float)sum, p->scales[r * p->scale_stride + c / group] * x_scale, acc);
        if (format_has_minimums(format)) {
            acc = fmaf((float)codes, p->minimums[r * p->scale_stride + c / group] * x_scale, acc);
        }
    }
    return acc;
}

static float rule_p16(const tn_format *format, const panel *p, uint32_t group, uint64_t r, const tn_act *act,
                      uint64_t a, uint64_t cols) {
    const int8_t *w = (int8_t *)p->codes + r * p->code_stride, *x = (int8_t *)act->data + a * act->stride;
    const int8_t *subs = p->subs + r * p->sub_stride;
    const uint8_t *sub_minimums = p->sub_minimums + r * p->sub_stride;
    float acc = 0;
    for (uint64_t b = 0; b < cols / 256; b++) {
        float t = 0, u = 0;
        for (uint64_t c = 256 * b; c < 256 * (b + 1); c += 32) {
            int32_t sum = 0, minimums = 0;
            for (uint64_t i = c; i < c + 32; i++) {
                sum += subs[i / group] * w[i] * x[i];
                minimums += sub_minimums[i / group] * x[i];
            }
            float x_scale = act->scales[a * act->scale_stride + c / 32];
            t = fmaf((float)sum, x_scale, t);
            u = fmaf((float)minimums, x_scale, u);
        }
        acc = fmaf(t, p->scales[r * p->scale_stride + b], acc);
        if (format_has_minimums(format)) { acc = fmaf(u, p->minimums[r * p->scale_stride + b], acc); }
    }
    return acc;
}

static float rule_float(const float *w, const float *x, uint64_t cols) {
    float a[16] = {0};
    for (uint64_t c = 0; c < cols; c++) { a[c % 16] = fmaf(w[c], x[c], a[c % 16]); }
    for (int i = 0; i < 8; i++) { a[i] += a[i + 8]; }
    for (int i = 0; i < 4; i++) { a[i] += a[i + 4]; }
    for (int i = 0; i < 2; i++) { a[i] += a[i + 2]; }
    return a[0] + a[1];
}

/* The result by the rule for each row and activation row: want[a * rows + r]. */
static float *rule_all(const tn_format *format, const void *blocks, uint64_t row_stride, uint64_t rows,
                       uint64_t cols, const acts *a) {
    float *want = aligned(rows * a->act.rows * sizeof(float)), *decoded = aligned(cols * sizeof(float));
    const tn_format_kernel *unpack = find_kernel(format, TN_KERNEL_UNPACK, 0);
    panel p = panel_of(unpack, blocks, row_stride, rows, 0, cols);
    for (uint64_t r = 0; r < rows; r++) {
        format->decode(NULL, (const uint8_t *)blocks + r * row_stride, cols, decoded);
        for (uint64_t i = 0; i < a->act.rows; i++) {
            want[i * rows + r] =
                a->act.form == TN_FORM_F32
                    ? rule_float(decoded, (const float *)((uint8_t *)a->act.data + i * a->act.stride), cols)
                : unpack->form == TN_PANEL_P16 ? rule_p16(format, &p, unpack->group, r, &a->act, i, cols)
                                               : rule_integer(format, &p, unpack->group, r, &a->act, i, cols);
        }
    }
    panel_free(&p);
    free(decoded);
    return want;
}

/* ---- gemv */

/* Calls the kernel for act rows from .. from + count - 1 and compares; what lies around the results must
 * stay. */
static void compare_gemv(const tn_format_kernel *kernel, const uint8_t *blocks, uint64_t row_stride,
                         uint64_t rows, uint64_t cols, const acts *a, uint32_t from, uint32_t count,
                         const float *want) {
    uint64_t stride = rows + 7;
    float *out = aligned(count * stride * sizeof(float)), mark = 12345;
    for (uint64_t i = 0; i < count * stride; i++) { out[i] = mark; }
    tn_gemv call = {.struct_size = sizeof call,
                    .act_from = from,
                    .act_rows = count,
                    .blocks = blocks,
                    .row_stride = row_stride,
                    .rows = rows,
                    .cols = cols,
                    .act = &a->act,
                    .out = out,
                    .out_stride = stride};
    kernel->gemv(&call);
    for (uint64_t i = 0; i < count; i++) {
        for (uint64_t r = 0; r < stride; r++) {
            float expected = r < rows ? want[(from + i) * rows + r] : mark, got = out[i * stride + r];
            if (!same_float(got, expected)) {
                cr_assert_fail(
                    "%s: %llu x %llu, %u activation rows from %u, row %llu of %llu: %a, expected %a",
                    kernel->name, (unsigned long long)rows, (unsigned long long)cols, count, from,
                    (unsigned long long)r, (unsigned long long)i, (double)got, (double)expected);
            }
        }
    }
    free(out);
}

/* One matrix, rows `gap` bytes apart, the last one ending at the end of a page: every number of activation
 * rows. */
static void gemv_shape(const tn_format *format, uint64_t isa, uint64_t rows, uint64_t cols, uint64_t gap) {
    uint64_t row_bytes = cols / format->block * format->block_bytes, stride = row_bytes + gap,
             state = rows * 977 + cols;
    guarded w = guarded_new(rows ? (rows - 1) * stride + row_bytes : 0);
    float *x = aligned(9 * cols * sizeof(float));
    for (uint64_t r = 0; r < rows; r++) {
        random_blocks(format, cols / format->block, &state, w.at + r * stride);
    }
    for (uint64_t i = 0; i < 9 * cols; i++) {
        x[i] = random_float(&state) * (random_bits(&state) >> 61 ? 1 : 30);
    }
    acts a = acts_new(x, 9, cols, format->flags & TN_FORMAT_FLOAT ? TN_FORM_F32 : TN_FORM_I8X32);
    float *want = rule_all(format, w.at, stride, rows, cols, &a);
    for (uint32_t k = 0; k < format->kernel_count; k++) {
        const tn_format_kernel *kernel = format->kernels[k];
        if (kernel->kind != TN_KERNEL_GEMV || kernel->isa != isa) { continue; }
        for (uint32_t count = 1; count <= kernel->max_rows; count++) {
            compare_gemv(kernel, w.at, stride, rows, cols, &a, count % 2, count, want);
        }
    }
    free(want);
    acts_free(&a);
    free(x);
    guarded_free(&w);
}

static void gemv_isa(uint64_t isa) {
    static const uint64_t rows[] = {0, 1, 2, 3, 7, 8, 9, 15, 16, 17, 33, 50};
    if ((machine_isa() & isa) != isa) { cr_skip_test("this machine lacks the instruction set"); }
    for (const char *const *name = format_names; *name; name++) {
        const tn_format *format = format_open(*name);
        static const uint64_t blocks[] = {1, 2, 3, 5, 18}, floats[] = {1, 7, 8, 15, 16, 17, 31, 33, 64, 100};
        const uint64_t *sizes = format->flags & TN_FORMAT_FLOAT ? floats : blocks;
        size_t count = format->flags & TN_FORMAT_FLOAT ? 10 : format->block == 256 ? 3 : 5;
        for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
            for (size_t c = 0; c < count; c++) {
                gemv_shape(format, isa, rows[r], sizes[c] * format->block, (r + c) % 2 ? 0 : 2 * r + 1);
            }
        }
    }
}

Test(gemv, portable_gives_the_bits_of_the_rule) {
    gemv_isa(0);
}
Test(gemv, avx2_gives_the_bits_of_the_rule) {
    gemv_isa(TN_ISA_AVX2);
}
Test(gemv, avx512_gives_the_bits_of_the_rule) {
    gemv_isa(TN_ISA_AVX512);
}
Test(gemv, avx512vnni_gives_the_bits_of_the_rule) {
    gemv_isa(TN_ISA_AVX512 | TN_ISA_AVX512_VNNI);
}
Test(gemv, avx512vbmi_gives_the_bits_of_the_rule) {
    gemv_isa(TN_ISA_AVX512 | TN_ISA_AVX512_VNNI | TN_ISA_AVX512_VBMI);
}

/* Activation rows with a NaN, all zero, tiny; weights with negative zero, subnormal and largest scales. */
static void gemv_hard(const tn_format *format, const tn_format_kernel *kernel) {
    enum { ROWS = 6, COLS = 512 };
    static const uint16_t scales[ROWS] = {0x0000, 0x8000, 0x0001, 0x83ff, 0x7bff, 0xfbff};
    uint64_t row_bytes = COLS / format->block * format->block_bytes, state = 99;
    guarded w = guarded_new(ROWS * row_bytes);
    float x[4 * COLS];
    random_blocks(format, ROWS * COLS / format->block, &state, w.at);
    for (uint64_t i = 0; i < ROWS * COLS / format->block; i++) {
        uint8_t *block = w.at + i * format->block_bytes;
        uint64_t row = i * format->block / COLS;
        if (format->type == 0) {
            float value = tn_float_of_half(scales[row]);
            memcpy(block, &value, sizeof value);
        } else if (format->type == 30) {
            uint16_t value = tn_bfloat_of_float(tn_float_of_half(scales[row]));
            memcpy(block, &value, sizeof value);
        } else {
            uint32_t count;
            const uint32_t *at = format_scales(format, &count);
            for (uint32_t k = 0; k < count; k++) {
                memcpy(block + at[k], &scales[k ? ROWS - 1 - row : row], 2);
            }
        }
    }
    for (int i = 0; i < COLS; i++) {
        x[i] = i == 100 ? NAN : random_float(&state);
        x[COLS + i] = 0;
        x[2 * COLS + i] = random_float(&state) * 0x1p-126f;
        x[3 * COLS + i] = -0.0f;
    }
    acts a = acts_new(x, 4, COLS, kernel->form);
    float *want = rule_all(format, w.at, row_bytes, ROWS, COLS, &a);
    for (int r = 0; r < ROWS; r++) {
        cr_assert(isnan(want[r]), "%s row %d: %a", kernel->name, r, (double)want[r]);
    }
    for (uint32_t count = 1; count <= 4; count++) {
        compare_gemv(kernel, w.at, row_bytes, ROWS, COLS, &a, 0, count, want);
        compare_gemv(kernel, w.at, row_bytes, ROWS, COLS, &a, 4 - count, count, want);
    }
    free(want);
    acts_free(&a);
    guarded_free(&w);
}

Test(gemv, nan_zero_and_subnormal) {
    for (const char *const *name = format_names; *name; name++) {
        const tn_format *format = format_open(*name);
        for (uint32_t k = 0; k < format->kernel_count; k++) {
            const tn_format_kernel *kernel = format->kernels[k];
            if (kernel->kind == TN_KERNEL_GEMV && (machine_isa() & kernel->isa) == kernel->isa) {
                gemv_hard(format, kernel);
            }
        }
    }
}

/* The largest sums: every byte of a block alike, so that codes are all at one end or in its middle, and
 * activation codes of 127 and -127: narrow sums within a kernel must not be cut. */
static void gemv_extreme(const tn_format *format, const tn_format_kernel *kernel, uint8_t fill) {
    enum { ROWS = 17, COLS = 512, ACTS = 3 };
    static const uint8_t one[2] = {0x00, 0x3c}; /* as binary16 */
    uint64_t row_bytes = COLS / format->block * format->block_bytes;
    uint8_t *w = malloc(ROWS * row_bytes);
    float x[ACTS * COLS];
    uint32_t count;
    const uint32_t *at = format_scales(format, &count);
    memset(w, fill, ROWS * row_bytes);
    for (uint64_t i = 0; i < ROWS * COLS / format->block; i++) {
        for (uint32_t k = 0; k < count; k++) { memcpy(w + i * format->block_bytes + at[k], one, 2); }
    }
    for (int i = 0; i < COLS; i++) {
        x[i] = 1;
        x[COLS + i] = -1;
        x[2 * COLS + i] = i % 2 ? 1 : -1;
    }
    acts a = acts_new(x, ACTS, COLS, kernel->form);
    float *want = rule_all(format, w, row_bytes, ROWS, COLS, &a);
    for (uint32_t from = 0; from < ACTS; from++) {
        compare_gemv(kernel, w, row_bytes, ROWS, COLS, &a, from, 1, want);
    }
    if (kernel->max_rows >= ACTS) { compare_gemv(kernel, w, row_bytes, ROWS, COLS, &a, 0, ACTS, want); }
    free(want);
    acts_free(&a);
    free(w);
}

Test(gemv, extreme_codes) {
    static const uint8_t fills[] = {0x00, 0xff, 0x7f, 0x80, 0x55, 0xaa};
    for (const char *const *name = format_names; *name; name++) {
        const tn_format *format = format_open(*name);
        if (format->flags & TN_FORMAT_FLOAT) { continue; }
        for (uint32_t k = 0; k < format->kernel_count; k++) {
            const tn_format_kernel *kernel = format->kernels[k];
            if (kernel->kind != TN_KERNEL_GEMV || (machine_isa() & kernel->isa) != kernel->isa) { continue; }
            for (size_t i = 0; i < sizeof fills; i++) { gemv_extreme(format, kernel, fills[i]); }
        }
    }
}

/* ---- every kernel against exact products of another implementation */

static void dot_case(const tn_format *format, const format_golden *golden, json_t *entry) {
    enum { ROWS = 8, ACTS = 4, COLS = 4096 };
    const uint8_t *enc = golden_bytes(golden, entry, "enc");
    const double *exact = golden_bytes(golden, entry, "exact_f64"),
                 *norm = golden_bytes(golden, entry, "norm_f64");
    const float *x = golden_shared(golden, "dot_act", NULL);
    double tolerance = json_real_value(json_object_get(entry, "tolerance"));
    for (uint32_t k = 0; k < format->kernel_count; k++) {
        const tn_format_kernel *kernel = format->kernels[k];
        if (kernel->kind != TN_KERNEL_GEMV || (machine_isa() & kernel->isa) != kernel->isa) { continue; }
        acts a = acts_new(x, ACTS, COLS, kernel->form);
        float out[ROWS * ACTS];
        tn_gemv call = {.struct_size = sizeof call,
                        .act_rows = ACTS,
                        .blocks = enc,
                        .row_stride = (uint64_t)json_integer_value(json_object_get(entry, "row_bytes")),
                        .rows = ROWS,
                        .cols = COLS,
                        .act = &a.act,
                        .out = out,
                        .out_stride = ROWS};
        kernel->gemv(&call);
        for (int r = 0; r < ROWS; r++) {
            for (int i = 0; i < ACTS; i++) {
                double miss = fabs((double)out[i * ROWS + r] - exact[r * ACTS + i]) / norm[r * ACTS + i];
                cr_assert_leq(miss, tolerance, "%s row %d act %d: %g, exact %g, error %g, tolerated %g",
                              kernel->name, r, i, (double)out[i * ROWS + r], exact[r * ACTS + i], miss,
                              tolerance);
            }
        }
        acts_free(&a);
    }
}

/* With the activation that the reference quantised itself only the sums can differ. Q8_0 and Q8_1 blocks hold
 * binary16 scales, which our form takes as they are. */
static void dot_quantised_case(const tn_format *format, const format_golden *golden, json_t *entry) {
    enum { ROWS = 8, ACTS = 4, COLS = 4096 };
    const char *type = json_string_value(json_object_get(entry, "act_type"));
    uint64_t bytes = strcmp(type, "Q8_0") == 0 ? 34 : strcmp(type, "Q8_1") == 0 ? 36 : 0;
    if (!bytes) { return; }
    const uint8_t *enc = golden_bytes(golden, entry, "enc"),
                  *given = golden_shared(golden, "dot_act_quantised", type);
    const double *exact = golden_bytes(golden, entry, "exact_with_quantised_act_f64"),
                 *norm = golden_bytes(golden, entry, "norm_f64");
    float *x = calloc(ACTS * COLS, sizeof *x);
    acts a = acts_new(x, ACTS, COLS, TN_FORM_I8X32);
    for (int i = 0; i < ACTS; i++) {
        for (int b = 0; b < COLS / 32; b++, given += bytes) {
            int8_t *codes = a.codes + (uint64_t)i * a.act.stride + 32 * b;
            int16_t *sums = a.sums + (uint64_t)i * a.act.sum_stride + 2 * b;
            a.scales[(uint64_t)i * a.act.scale_stride + (uint64_t)b] = tn_load_half(given);
            memcpy(codes, given + bytes - 32, 32);
            sums[0] = sums[1] = 0;
            for (int c = 0; c < 32; c++) { sums[c / 16] = (int16_t)(sums[c / 16] + codes[c]); }
        }
    }
    float *want = rule_all(format, enc, (uint64_t)json_integer_value(json_object_get(entry, "row_bytes")),
                           ROWS, COLS, &a);
    for (int r = 0; r < ROWS; r++) {
        for (int i = 0; i < ACTS; i++) {
            double miss = fabs((double)want[i * ROWS + r] - exact[r * ACTS + i]) / norm[r * ACTS + i];
            cr_assert_leq(miss, strcmp(type, "Q8_1") == 0 ? 4e-5 : 1e-6, "%s row %d act %d: error %g",
                          format->name, r, i, miss);
        }
    }
    free(want);
    acts_free(&a);
    free(x);
}

Test(gemv, products_lie_within_the_tolerance_of_the_goldens) {
    for (const char *const *name = format_names; *name; name++) {
        const tn_format *format = format_open(*name);
        format_golden golden = format_golden_open(format);
        int cases = golden_each(&golden, "dot", dot_case, format);
        cr_assert(cases > 0 || !format->encode, "%s: no case",
                  *name); /* of types that are only read there are none */
        golden_each(&golden, "dot", dot_quantised_case, format);
        format_golden_close(&golden);
    }
}

/* ---- unpack */

static void compare_panel(const tn_format *format, const tn_format_kernel *kernel, const uint8_t *blocks,
                          uint64_t stride, uint64_t rows, uint64_t from, uint64_t to) {
    panel p = panel_of(kernel, blocks, stride, rows, from, to);
    float *want = aligned(to * sizeof(float));
    for (uint64_t r = 0; r < rows; r++) {
        format->decode(NULL, blocks + r * stride, to, want);
        for (uint64_t c = 0; c < to - from; c++) {
            float got;
            if (kernel->form == TN_PANEL_F32) {
                got = ((float *)((uint8_t *)p.codes + r * p.code_stride))[c];
            } else {
                uint64_t scale = r * p.scale_stride + c / scale_group(kernel);
                uint64_t sub = r * p.sub_stride + c / kernel->group;
                int p16 = kernel->form == TN_PANEL_P16;
                int32_t code = ((int8_t *)p.codes)[r * p.code_stride + c];
                cr_assert(!p16 || (code >= -16 && code <= 15), "%s: code %d", kernel->name, code);
                got = p.scales[scale] * (float)(p16 ? p.subs[sub] : 1) * (float)code;
                if (kernel->minimums) { got += p.minimums[scale] * (float)(p16 ? p.sub_minimums[sub] : 1); }
            }
            if (!same_float(got, want[from + c])) {
                cr_assert_fail("%s: row %llu, column %llu: %a, decoded %a", kernel->name,
                               (unsigned long long)r, (unsigned long long)(from + c), (double)got,
                               (double)want[from + c]);
            }
        }
        /* nothing beyond the row's codes and scales */
        uint64_t bytes = (to - from) * (kernel->form == TN_PANEL_F32 ? 4 : 1);
        cr_assert_eq(((uint8_t *)p.codes)[r * p.code_stride + bytes], 0xee, "%s writes too far",
                     kernel->name);
        if (kernel->form != TN_PANEL_F32) {
            uint32_t mark;
            memcpy(&mark, &p.scales[r * p.scale_stride + (to - from) / scale_group(kernel)], 4);
            cr_assert_eq(mark, 0xeeeeeeee, "%s writes too many scales", kernel->name);
            uint64_t sub = r * p.sub_stride + (to - from) / kernel->group;
            cr_assert(p.sub_minimums[sub] == 0xee && (uint8_t)p.subs[sub] == 0xee, "%s writes too many subs",
                      kernel->name);
        }
    }
    panel_free(&p);
    free(want);
}

Test(unpack, panels_are_what_decode_says) {
    for (const char *const *name = format_names; *name; name++) {
        const tn_format *format = format_open(*name);
        uint64_t state = 5, unit = format->block == 1 ? 21 : format->block,
                 stride = 7 * unit / format->block * format->block_bytes + 3;
        guarded w = guarded_new(4 * stride + stride - 3);
        for (int r = 0; r < 5; r++) {
            random_blocks(format, 7 * unit / format->block, &state, w.at + (uint64_t)r * stride);
        }
        for (uint32_t k = 0; k < format->kernel_count; k++) {
            const tn_format_kernel *kernel = format->kernels[k];
            if (kernel->kind != TN_KERNEL_UNPACK || (machine_isa() & kernel->isa) != kernel->isa) {
                continue;
            }
            compare_panel(format, kernel, w.at, stride, 5, 0, 7 * unit);
            compare_panel(format, kernel, w.at, stride, 5, unit, 4 * unit);
            compare_panel(format, kernel, w.at, stride, 5, 3 * unit, 7 * unit);
            compare_panel(format, kernel, w.at, stride, 5, 6 * unit, 7 * unit);
        }
        guarded_free(&w);
    }
}

/* Every golden block, which hold every code, extreme scales and Inf and NaN numbers, through every kernel. */
static void unpack_case(const tn_format *format, const format_golden *golden, json_t *entry) {
    uint64_t blocks = (uint64_t)json_integer_value(json_object_get(entry, "blocks"));
    for (uint32_t k = 0; k < format->kernel_count; k++) {
        const tn_format_kernel *kernel = format->kernels[k];
        if (kernel->kind == TN_KERNEL_UNPACK && (machine_isa() & kernel->isa) == kernel->isa) {
            compare_panel(format, kernel, golden_bytes(golden, entry, "enc"), blocks * format->block_bytes, 1,
                          0, blocks * format->block);
        }
    }
}

Test(unpack, golden_blocks) {
    for (const char *const *name = format_names; *name; name++) {
        const tn_format *format = format_open(*name);
        format_golden golden = format_golden_open(format);
        golden_each(&golden, "decode", unpack_case, format);
        format_golden_close(&golden);
    }
}

/* ---- cache formats */

static void compare_store(const tn_format *format, const tn_format_kernel *kernel, uint64_t cols) {
    guarded x = guarded_new(cols * 4), out = guarded_new(cols * format->block_bytes);
    uint64_t state = cols + 1;
    for (uint64_t i = 0; i < cols; i++) { /* any bits at all: subnormal, too large, Inf, NaN */
        uint32_t bits = (uint32_t)(random_bits(&state) >> 20);
        if (i % 3) { bits = (bits & 0x807fffff) | (uint32_t)(100 + random_bits(&state) % 48) << 23; }
        memcpy(x.at + 4 * i, &bits, 4);
    }
    kernel->store((float *)x.at, cols, out.at);
    for (uint64_t i = 0; i < cols; i++) {
        float value = tn_load_float(x.at + 4 * i);
        uint32_t want = format->type == 0 ? tn_bits_of_float(value) : tn_half_of_float(value), got = 0;
        memcpy(&got, out.at + i * format->block_bytes, format->block_bytes);
        cr_assert_eq(got, want, "%s: %a: %x, expected %x", kernel->name, (double)value, got, want);
    }
    guarded_free(&x);
    guarded_free(&out);
}

static void compare_blend(const tn_format *format, const tn_format_kernel *kernel, uint64_t rows,
                          uint64_t cols, uint32_t count) {
    uint64_t stride = cols * format->block_bytes + rows % 3, state = rows * 31 + cols;
    guarded w = guarded_new(rows ? (rows - 1) * stride + cols * format->block_bytes : 0);
    float *weights = aligned(8 * (rows + 3) * 4), *out = aligned(8 * (cols + 5) * 4),
          *want = aligned(8 * (cols + 5) * 4);
    float *v = aligned(cols * 4);
    for (uint64_t i = 0; i < 8 * (rows + 3); i++) { weights[i] = random_float(&state); }
    for (uint64_t i = 0; i < 8 * (cols + 5); i++) { out[i] = want[i] = random_float(&state); }
    for (uint64_t j = 0; j < rows; j++) {
        random_blocks(format, cols, &state, w.at + j * stride);
        format->decode(NULL, w.at + j * stride, cols, v);
        for (uint32_t a = 0; a < count; a++) {
            for (uint64_t c = 0; c < cols; c++) {
                float *sum = &want[a * (cols + 5) + c];
                *sum = fmaf(weights[a * (rows + 3) + j], v[c], *sum);
            }
        }
    }
    tn_blend call = {.struct_size = sizeof call,
                     .act_rows = count,
                     .blocks = w.at,
                     .row_stride = stride,
                     .rows = rows,
                     .cols = cols,
                     .weights = weights,
                     .weight_stride = rows + 3,
                     .out = out,
                     .out_stride = cols + 5};
    kernel->blend(&call);
    for (uint64_t i = 0; i < 8 * (cols + 5); i++) {
        if (!same_float(out[i], want[i])) {
            cr_assert_fail("%s: %llu x %llu, %u rows, output %llu: %a, expected %a", kernel->name,
                           (unsigned long long)rows, (unsigned long long)cols, count, (unsigned long long)i,
                           (double)out[i], (double)want[i]);
        }
    }
    free(v);
    free(weights);
    free(out);
    free(want);
    guarded_free(&w);
}

Test(cache, store_and_blend) {
    static const uint64_t cols[] = {1, 7, 8, 15, 16, 17, 31, 32, 63, 64, 65, 80, 100, 128, 200};
    static const uint64_t rows[] = {0, 1, 2, 64};
    for (const char *const *name = format_names; *name; name++) {
        const tn_format *format = format_open(*name);
        for (uint32_t k = 0; k < format->kernel_count; k++) {
            const tn_format_kernel *kernel = format->kernels[k];
            if ((machine_isa() & kernel->isa) != kernel->isa) { continue; }
            for (size_t c = 0; c < sizeof cols / sizeof *cols; c++) {
                if (kernel->kind == TN_KERNEL_STORE) { compare_store(format, kernel, cols[c]); }
                if (kernel->kind != TN_KERNEL_BLEND) { continue; }
                for (size_t r = 0; r < 4; r++) {
                    for (uint32_t count = 1; count <= kernel->max_rows; count++) {
                        compare_blend(format, kernel, rows[r], cols[c], count);
                    }
                }
            }
        }
    }
}

/* ---- the table */

Test(table, has_what_backends_look_for) {
    static const uint64_t isas[] = {0, TN_ISA_AVX2, TN_ISA_AVX512};
    for (const char *const *name = format_names; *name; name++) {
        const tn_format *format = format_open(*name);
        int is_float = (format->flags & TN_FORMAT_FLOAT) != 0;
        for (int i = 0; i < 3; i++) {
            uint64_t isa =
                isas[i] == TN_ISA_AVX512 && !is_float ? TN_ISA_AVX512 | TN_ISA_AVX512_VNNI : isas[i];
            const tn_format_kernel *gemv = find_kernel(format, TN_KERNEL_GEMV, isa);
            cr_assert(gemv && gemv->gemv && gemv->max_rows == 8, "%s isa %llx", *name,
                      (unsigned long long)isa);
            cr_assert_eq(gemv->form, is_float ? TN_FORM_F32 : TN_FORM_I8X32);
        }
        const tn_format_kernel *unpack = find_kernel(format, TN_KERNEL_UNPACK, 0);
        cr_assert(unpack && (is_float ? unpack->group == 1 : unpack->group >= 16 && unpack->group <= 256));
        int caches = find_kernel(format, TN_KERNEL_STORE, 0) && find_kernel(format, TN_KERNEL_BLEND, 0);
        cr_assert_eq(caches, format->type <= 1, "%s", *name);
        for (uint32_t a = 0; a < format->kernel_count;
             a++) { /* each is one of those that the tests above run */
            const tn_format_kernel *x = format->kernels[a];
            cr_assert(x->isa == 0 || x->isa == TN_ISA_AVX2 || x->isa == TN_ISA_AVX512 ||
                          (x->isa & ~TN_ISA_AVX512_VBMI) == (TN_ISA_AVX512 | TN_ISA_AVX512_VNNI),
                      "%s: no test runs its instruction set", x->name);
        }
        for (uint32_t a = 0; a < format->kernel_count; a++) { /* a wider instruction set has a higher rank */
            for (uint32_t b = 0; b < format->kernel_count; b++) {
                const tn_format_kernel *x = format->kernels[a], *y = format->kernels[b];
                if (x->kind == y->kind) {
                    cr_assert_eq(x->minimums, y->minimums, "%s, %s", x->name, y->name);
                    cr_assert_eq(x->group, y->group, "%s, %s", x->name, y->name);
                    cr_assert_eq(x->isa < y->isa, x->rank < y->rank, "%s, %s", x->name, y->name);
                }
            }
        }
    }
}
