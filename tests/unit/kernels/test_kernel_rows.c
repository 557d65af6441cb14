/*
 * test_kernel_rows.c - functions on rows: each table against the portable one bit by bit, at every length,
 * with numbers of every kind, in place and not, with a wall behind each row; quantising against the words of
 * tenon/format.h; everything that is an approximation against libm's long double.
 */
#include "kernel_rig.h"

#include <math.h>
#include <string.h>

static const uint32_t acts[] = {TN_ACT_SILU,  TN_ACT_GELU_ERF, TN_ACT_GELU_TANH, TN_ACT_RELU,
                                TN_ACT_RELU2, TN_ACT_TANH,     TN_ACT_SIGMOID};
enum { ACTS = sizeof acts / sizeof acts[0] };

/* ---- every function of one result row, by number */

static void op_norm_rms(const cpu_kernels *k, const float *x, const float *y, size_t n, float *out) {
    k->norm_rms(x, y, NULL, n, 1e-5f, out);
}
static void op_norm_rms_plain(const cpu_kernels *k, const float *x, const float *y, size_t n, float *out) {
    (void)y;
    k->norm_rms(x, NULL, NULL, n, 1e-6f, out);
}
static void op_norm_layer(const cpu_kernels *k, const float *x, const float *y, size_t n, float *out) {
    k->norm_layer(x, y, y, n, 1e-5f, out);
}
static void op_norm_layer_b(const cpu_kernels *k, const float *x, const float *y, size_t n, float *out) {
    k->norm_layer(x, NULL, y, n, 1e-5f, out);
}
static void op_add(const cpu_kernels *k, const float *x, const float *y, size_t n, float *out) {
    k->add(x, y, n, out);
}
static void op_mul(const cpu_kernels *k, const float *x, const float *y, size_t n, float *out) {
    k->mul(x, y, n, out);
}
static void op_scale(const cpu_kernels *k, const float *x, const float *y, size_t n, float *out) {
    (void)y;
    k->scale(x, 1.7f, n, out);
}
static void op_softcap(const cpu_kernels *k, const float *x, const float *y, size_t n, float *out) {
    (void)y;
    k->softcap(x, 30.0f, n, out);
}
static void op_clamp(const cpu_kernels *k, const float *x, const float *y, size_t n, float *out) {
    (void)y;
    k->clamp(x, 0.5f, n, out);
}
static void op_exp_sum(const cpu_kernels *k, const float *x, const float *y, size_t n, float *out) {
    (void)y;
    float sum = k->exp_sum(x, 0.5f, n, out);
    if (n > 0) out[n / 2] = sum;
}

static const struct {
    const char *name;
    void (*call)(const cpu_kernels *k, const float *x, const float *y, size_t n, float *out);
} ops[] = {
    {"norm_rms w", op_norm_rms},
    {"norm_rms", op_norm_rms_plain},
    {"norm_layer w b", op_norm_layer},
    {"norm_layer b", op_norm_layer_b},
    {"add", op_add},
    {"mul", op_mul},
    {"scale", op_scale},
    {"softcap", op_softcap},
    {"clamp", op_clamp},
    {"exp_sum", op_exp_sum},
};
enum { OPS = sizeof ops / sizeof ops[0] };

static size_t next_size(size_t n) {
    return n < 100 ? n + 1 : n * 3 + 1;
}
enum { LAST_SIZE = 3000 };

TABLE_TEST(kernel_rows, same_bits) {
    const cpu_kernels *portable = rig_portable();
    for (size_t n = 0; n < LAST_SIZE; n = next_size(n)) {
        for (int kind = 0; kind < RIG_KINDS; kind++) {
            float *x = rig_floats(n), *y = rig_floats(n), *got = rig_floats(n), *want = rig_floats(n);
            rig_fill(x, n, kind);
            rig_fill(y, n, kind);
            for (size_t op = 0; op < OPS; op++) {
                ops[op].call(portable, x, y, n, want);
                ops[op].call(kernels, x, y, n, got);
                rig_expect_same(got, want, n, ops[op].name, n);
                memcpy(got, x, n * sizeof *got);
                ops[op].call(kernels, got, y, n, got);
                rig_expect_same(got, want, n, ops[op].name, n);
            }
        }
        rig_release();
    }
}

TABLE_TEST(kernel_rows, activations_same_bits) {
    const cpu_kernels *portable = rig_portable();
    for (size_t n = 0; n < LAST_SIZE; n = next_size(n)) {
        for (int kind = 0; kind < RIG_KINDS; kind++) {
            float *x = rig_floats(n), *y = rig_floats(n), *got = rig_floats(n), *want = rig_floats(n);
            rig_fill(x, n, kind);
            rig_fill(y, n, kind);
            for (size_t a = 0; a < ACTS; a++) {
                portable->act(acts[a], 1.702f, x, n, want);
                kernels->act(acts[a], 1.702f, x, n, got);
                rig_expect_same(got, want, n, "act", n);
                portable->glu(acts[a], 1.0f, 2.5f, 1.0f, x, y, n, want);
                kernels->glu(acts[a], 1.0f, 2.5f, 1.0f, x, y, n, got);
                rig_expect_same(got, want, n, "glu limited", n);
                portable->glu(acts[a], 1.0f, 0.0f, 0.0f, x, y, n, want);
                memcpy(got, y, n * sizeof *got);
                kernels->glu(acts[a], 1.0f, 0.0f, 0.0f, x, got, n, got);
                rig_expect_same(got, want, n, "glu in place", n);
            }
        }
        rig_release();
    }
}

TABLE_TEST(kernel_rows, rope_same_bits) {
    const cpu_kernels *portable = rig_portable();
    for (uint32_t rotated = 0; rotated <= 136; rotated += 2)
        for (uint32_t pairing = TN_PAIR_ADJACENT; pairing <= TN_PAIR_HALVES; pairing++) {
            enum { HEADS = 3 };
            uint32_t head_dim = rotated + rotated % 3;
            float *got = rig_floats(HEADS * head_dim), *want = rig_floats(HEADS * head_dim);
            float *cosine = rig_floats(rotated / 2), *sine = rig_floats(rotated / 2);
            rig_fill(got, HEADS * head_dim, RIG_ORDINARY);
            rig_fill(cosine, rotated / 2, RIG_ORDINARY);
            rig_fill(sine, rotated / 2, RIG_ORDINARY);
            memcpy(want, got, HEADS * head_dim * sizeof *want);
            portable->rope(want, HEADS, head_dim, rotated, pairing, cosine, sine);
            kernels->rope(got, HEADS, head_dim, rotated, pairing, cosine, sine);
            rig_expect_same(got, want, HEADS * head_dim, pairing == TN_PAIR_HALVES ? "halves" : "adjacent",
                            rotated);
            rig_release();
        }
}

Test(kernel_rows, rope_turns_pairs) {
    float adjacent[6] = {1, 2, 3, 4, 5, 6}, halves[6] = {1, 2, 3, 4, 5, 6};
    const float cosine[2] = {0.0f, 1.0f}, sine[2] = {1.0f, 0.0f}; /* the first pair by a right angle */
    rig_portable()->rope(adjacent, 1, 6, 4, TN_PAIR_ADJACENT, cosine, sine);
    rig_portable()->rope(halves, 1, 6, 4, TN_PAIR_HALVES, cosine, sine);
    rig_expect_same(adjacent, (const float[]){-2, 1, 3, 4, 5, 6}, 6, "adjacent", 6);
    rig_expect_same(halves, (const float[]){-3, 2, 1, 4, 5, 6}, 6, "halves", 6);
}

TABLE_TEST(kernel_rows, merge_same_bits) {
    const cpu_kernels *portable = rig_portable();
    for (size_t n = 0; n < LAST_SIZE; n = next_size(n)) {
        for (int kind = 0; kind < RIG_KINDS; kind++) {
            float *x = rig_floats(n), *got = rig_floats(n), *want = rig_floats(n);
            rig_fill(x, n, kind);
            rig_fill(got, n, kind);
            memcpy(want, got, n * sizeof *want);
            portable->merge(want, 0.7f, x, 1.3f, n);
            kernels->merge(got, 0.7f, x, 1.3f, n);
            rig_expect_same(got, want, n, "merge", n);
        }
        rig_release();
    }
}

/* merge is one fma a number where the factor of acc is 1: against libm's, near halves of the last place and
 * at the ends of the range, where rounding twice would show. */
TABLE_TEST(kernel_rows, fma_rounds_once) {
    enum { N = 64, ROUNDS = 2000 };
    for (int round = 0; round < ROUNDS; round++) {
        float x[N], acc[N], want[N], factor = 1.0f + ldexpf((float)(rig_random() % 4096), -12);
        for (int i = 0; i < N; i++) {
            int scale = (int)(rig_random() % 280) - 150;
            x[i] = ldexpf(1.0f + ldexpf((float)(rig_random() % 4096), -12), scale);
            acc[i] = ldexpf(rig_uniform(), scale + (int)(rig_random() % 120) - 60);
            acc[i] = rig_random() % 8 == 0 ? -x[i] * factor : acc[i];
            want[i] = fmaf(x[i], factor, acc[i]);
        }
        kernels->merge(acc, 1.0f, x, factor, N);
        rig_expect_same(acc, want, N, "fma", N);
    }
}

TABLE_TEST(kernel_rows, max_finds_the_largest_and_any_nan) {
    for (size_t n = 1; n < LAST_SIZE; n = next_size(n)) {
        float *x = rig_floats(n), want = -INFINITY;
        rig_fill(x, n, RIG_WIDE);
        for (size_t i = 0; i < n; i++) want = x[i] > want ? x[i] : want;
        float got = kernels->max(x, n);
        cr_assert(got == want, "max of %zu: got %a, expected %a", n, got, want);
        for (size_t i = 0; i < n; i += 1 + n / 50) {
            float kept = x[i];
            x[i] = NAN;
            got = kernels->max(x, n);
            cr_assert(got != got, "max of %zu with NaN at %zu: got %a", n, i, got);
            x[i] = kept;
        }
        rig_release();
    }
    cr_assert_eq(kernels->max((const float[]){-INFINITY}, 1), -INFINITY);
}

/* ---- codes */

/* One group, from the words of tenon/format.h. */
static float quantise_by_the_words(const float *x, size_t count, int8_t *codes) {
    float m = 0.0f;
    memset(codes, 0, count);
    for (size_t i = 0; i < count; i++) {
        if (!isfinite(x[i])) return NAN;
        m = fmaxf(m, fabsf(x[i]));
    }
    if (m < 0x1p-100f) return 0.0f;
    for (size_t i = 0; i < count; i++) codes[i] = (int8_t)rintf(x[i] * (127.0f / m));
    return m / 127.0f;
}

typedef void (*quantise_fn)(const float *x, uint64_t cols, int8_t *codes, float *scales, int16_t *sums);

static void expect_quantised(quantise_fn quantise, size_t group, size_t cols, const float *x) {
    float *scales = rig_floats(cols / group);
    int8_t *codes = rig_memory(cols), want[256];
    int16_t *sums = rig_memory(cols / 16 * sizeof *sums);
    quantise(x, cols, codes, scales, sums);
    for (size_t c = 0; c < cols; c += group) {
        float scale = quantise_by_the_words(x + c, group, want);
        cr_assert(rig_same(scales[c / group], scale), "scale %zu of %zu columns: got %a, expected %a",
                  c / group, cols, scales[c / group], scale);
        for (size_t i = 0; i < group; i++)
            cr_assert_eq(codes[c + i], want[i], "code %zu of %zu: got %d, expected %d (%a)", c + i, cols,
                         codes[c + i], want[i], x[c + i]);
    }
    for (size_t c = 0; c < cols; c += 16) {
        int sum = 0;
        for (size_t i = 0; i < 16; i++) sum += codes[c + i];
        cr_assert_eq(sums[c / 16], sum, "sum %zu of %zu columns: got %d, expected %d", c / 16, cols,
                     sums[c / 16], sum);
    }
}

TABLE_TEST(kernel_rows, quantises_by_the_words) {
    for (size_t group = 32; group <= 256; group *= 8)
        for (size_t cols = 0; cols <= 10 * group; cols += group)
            for (int kind = 0; kind < RIG_KINDS; kind++) {
                float *x = rig_floats(cols);
                rig_fill(x, cols, kind);
                expect_quantised(group == 32 ? kernels->quantise_i8x32 : kernels->quantise_i8x256, group,
                                 cols, x);
                rig_release();
            }
}

TABLE_TEST(kernel_rows, quantises_edges) {
    static const float edges[] = {0x1p-100f, 0x1.fffffep-101f, 0x1p-149f, 0.0f,
                                  3.4e38f,   INFINITY,         NAN,       127.0f};
    for (size_t group = 32; group <= 256; group *= 8)
        for (size_t e = 0; e < sizeof edges / sizeof edges[0]; e++)
            for (size_t place = 0; place < group; place += 11) {
                float *x = rig_floats(group);
                for (size_t i = 0; i < group; i++)
                    x[i] = isfinite(edges[e]) ? edges[e] * ((float)i / 256.0f - 0.4f) : (float)i;
                x[place] = place % 2 ? -edges[e] : edges[e];
                expect_quantised(group == 32 ? kernels->quantise_i8x32 : kernels->quantise_i8x256, group,
                                 group, x);
                rig_release();
            }
    /* halves, which round to even: 127 is the largest, so x is the code before rounding */
    float x[32];
    for (int i = 0; i < 32; i++) x[i] = (float)i - 15.5f;
    x[0] = 127.0f;
    expect_quantised(kernels->quantise_i8x32, 32, 32, x);
    rig_release();
}

/* ---- accuracy */

enum { SAMPLES = 20000 };

/* The largest error against `exact` from `low` to `high`, of max(|exact|, floor). */
static double worst(const cpu_kernels *k, uint32_t act, long double (*exact)(long double), double low,
                    double high, double floor, float *where) {
    static float x[SAMPLES], y[SAMPLES];
    double most = 0.0;
    for (int i = 0; i < SAMPLES; i++)
        x[i] = (float)(low + (high - low) * ((double)i + (double)rig_uniform()) / SAMPLES);
    if (act)
        k->act(act, 1.0f, x, SAMPLES, y);
    else
        k->exp_sum(x, 0.0f, SAMPLES, y);
    for (int i = 0; i < SAMPLES; i++) {
        long double want = exact((long double)x[i]);
        double error = (double)(fabsl((long double)y[i] - want) / fmaxl(fabsl(want), (long double)floor));
        if (!(error <= most)) {
            most = error;
            *where = x[i];
        }
    }
    return most;
}

static long double exact_silu(long double x) {
    return x / (1.0L + expl(-x));
}
static long double exact_sigmoid(long double x) {
    return 1.0L / (1.0L + expl(-x));
}
static long double exact_gelu_erf(long double x) {
    return 0.5L * x * erfcl(-x * sqrtl(0.5L));
}
static long double exact_gelu_tanh(long double x) {
    return 0.5L * x * (1.0L + tanhl(0.797884560802865355879892119868763737L * (x + 0.044715L * x * x * x)));
}

TABLE_TEST(kernel_rows, accuracy) {
    static const struct {
        const char *name;
        uint32_t act;
        long double (*exact)(long double);
        double low, high, floor, bound;
    } cases[] = {
        {"exp", 0, expl, -87.3, 88.7, 0x1p-126, 1.2e-7},
        {"exp near 0", 0, expl, -0.4, 0.4, 0.0, 1.0e-7},
        {"exp subnormal", 0, expl, -103.9, -87.3, 0x1p-126, 0.9e-7},
        {"tanh", TN_ACT_TANH, tanhl, -12, 12, 0x1p-126, 2.0e-7},
        {"tanh near 0", TN_ACT_TANH, tanhl, -1e-3, 1e-3, 0x1p-126, 1.0e-7},
        {"sigmoid", TN_ACT_SIGMOID, exact_sigmoid, -87, 30, 0x1p-126, 3.0e-7},
        {"silu", TN_ACT_SILU, exact_silu, -80, 30, 0x1p-126, 3.0e-7},
        {"gelu_erf", TN_ACT_GELU_ERF, exact_gelu_erf, -12, 12, 1e-3, 4.0e-7},
        {"gelu_erf, left", TN_ACT_GELU_ERF, exact_gelu_erf, -12, 0, 0x1p-126, 8.0e-6},
        {"gelu_tanh", TN_ACT_GELU_TANH, exact_gelu_tanh, -12, 12, 1e-3, 8.0e-7},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        float where = 0.0f;
        double error =
            worst(kernels, cases[i].act, cases[i].exact, cases[i].low, cases[i].high, cases[i].floor, &where);
        cr_log_info("%s %s: %.2e at %g", kernels->name, cases[i].name, error, where);
        cr_expect(error <= cases[i].bound, "%s: error %.3e at %g, allowed %.1e", cases[i].name, error, where,
                  cases[i].bound);
    }
}

TABLE_TEST(kernel_rows, exact_places) {
    enum { N = 9 };
    const float x[N] = {0.0f, -0.0f, -INFINITY, INFINITY, -104.0f, -1000.0f, 89.0f, NAN, -103.0f};
    const float exps[N] = {1.0f, 1.0f, 0.0f, INFINITY, 0.0f, 0.0f, INFINITY, NAN, 0x1p-149f};
    float out[N];
    kernels->exp_sum(x, 0.0f, N, out);
    rig_expect_same(out, exps, N, "exp", N);
    const float tanhs[N] = {0.0f, -0.0f, -1.0f, 1.0f, -1.0f, -1.0f, 1.0f, NAN, -1.0f};
    kernels->act(TN_ACT_TANH, 1.0f, x, N, out);
    rig_expect_same(out, tanhs, N, "tanh", N);
    const float relus[N] = {0.0f, -0.0f, 0.0f, INFINITY, 0.0f, 0.0f, 89.0f, NAN, 0.0f};
    kernels->act(TN_ACT_RELU, 1.0f, x, N, out);
    rig_expect_same(out, relus, N, "relu", N);
}

/* Rows whose numbers lie far from 0 next to their spread, and long ones. */
TABLE_TEST(kernel_rows, norms_are_accurate) {
    enum { N = 5000 };
    static float x[N], out[N];
    long double mean = 0.0L, squares = 0.0L, deviations = 0.0L;
    for (int i = 0; i < N; i++) {
        x[i] = 1000.0f + rig_uniform();
        mean += (long double)x[i] / N;
        squares += (long double)x[i] * x[i] / N;
    }
    for (int i = 0; i < N; i++) deviations += ((long double)x[i] - mean) * ((long double)x[i] - mean) / N;
    kernels->norm_rms(x, NULL, NULL, N, 1e-5f, out);
    for (int i = 0; i < N; i++) {
        double want = (double)((long double)x[i] / sqrtl(squares + 1e-5L));
        cr_assert_float_eq(out[i], want, 2e-7, "rms %d: got %.9g, expected %.9g", i, out[i], want);
    }
    kernels->norm_layer(x, NULL, NULL, N, 1e-5f, out);
    for (int i = 0; i < N; i++) {
        double want = (double)(((long double)x[i] - mean) / sqrtl(deviations + (long double)1e-5f));
        cr_assert_float_eq(out[i], want, 4e-7, "layer %d: got %.9g, expected %.9g", i, out[i], want);
    }
}
