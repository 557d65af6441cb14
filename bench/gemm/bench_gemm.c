/*
 * bench_gemm.c - speed of the cpu backend's kernels: the matrix product, and with "rows" the functions on
 * rows.
 *
 *     bench_gemm [gemm | rows] [kernel table, or all]
 *
 * gemm: weights of a made-up format (codes with a scale and a minimum for 32 columns; floats) times T
 * activation rows, TFLOP/s of one thread and of two, each with half of the rows. Unpacking is in the time.
 * The weights are read round robin from several copies, so they come from memory as they do in a model.
 */
#include "fake_panel.h"
#include "kernels.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef struct job {
    const cpu_kernels *kernels;
    const fake_format *format;
    const tn_act *act;
    const char *weights;
    uint64_t rows, cols, row_bytes, tokens, copies;
    uint32_t threads, worker, repeats;
    float *out;
    void *scratch;
} job;

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void *memory(uint64_t bytes) {
    void *p = aligned_alloc(64, (bytes + 63) / 64 * 64);
    if (!p) {
        fputs("bench_gemm: no memory\n", stderr);
        exit(1);
    }
    memset(p, 1, bytes);
    return p;
}

static float random_float(uint32_t *state) {
    *state = *state * 1664525u + 1013904223u;
    return (float)(*state >> 8) * 0x1p-24f - 0.5f;
}

static void *work(void *argument) {
    const job *j = argument;
    uint64_t unit = j->kernels->gemm_rows, bands = (j->rows + unit - 1) / unit;
    uint64_t from = bands * j->worker / j->threads * unit, to = bands * (j->worker + 1) / j->threads * unit;
    cpu_gemm call = {
        .unpack = &j->format->unpack,
        .row_stride = j->row_bytes,
        .row_from = from,
        .row_to = to < j->rows ? to : j->rows,
        .cols = j->cols,
        .has_minimum = j->format->has_minimum,
        .block = j->format->group ? j->format->group : 1,
        .act = j->act,
        .act_rows = j->tokens,
        .out = j->out + from,
        .out_stride = j->rows,
        .scratch = j->scratch,
    };
    for (uint32_t i = 0; i < j->repeats; i++) {
        call.blocks = j->weights + i % j->copies * j->rows * j->row_bytes;
        j->kernels->gemm(&call);
    }
    return NULL;
}

/* Seconds of one product. */
static double run(job *j, uint32_t threads) {
    job jobs[2] = {*j, *j};
    pthread_t second;
    for (uint32_t i = 0; i < threads; i++) {
        jobs[i].threads = threads;
        jobs[i].worker = i;
        jobs[i].scratch = memory(j->kernels->gemm_scratch(j->cols, j->tokens));
    }
    double best = INFINITY, begin = now();
    while (now() - begin < 0.3) {
        double start = now();
        if (threads == 2 && pthread_create(&second, NULL, work, &jobs[1])) exit(1);
        work(&jobs[0]);
        if (threads == 2) pthread_join(second, NULL);
        double seconds = (now() - start) / j->repeats;
        best = seconds < best ? seconds : best;
    }
    for (uint32_t i = 0; i < threads; i++) free(jobs[i].scratch);
    return best;
}

static void fill_weights(job *j, char *weights, int8_t largest) {
    uint32_t state = 7;
    for (uint64_t r = 0; r < j->rows * j->copies; r++) {
        char *row = weights + r * j->row_bytes;
        if (!j->format->group) {
            for (uint64_t c = 0; c < j->cols; c++) ((float *)(void *)row)[c] = random_float(&state);
            continue;
        }
        for (uint64_t g = 0; g < j->cols / j->format->group; g++) {
            int8_t codes[256];
            for (uint32_t i = 0; i < j->format->group; i++)
                codes[i] = (int8_t)(random_float(&state) * 2.0f * (float)largest);
            fake_put(j->format, row, g, random_float(&state), random_float(&state), codes);
        }
    }
}

static tn_act make_activations(const cpu_kernels *kernels, const fake_format *format, uint64_t rows,
                               uint64_t cols) {
    tn_act act = {.struct_size = sizeof act, .rows = rows, .cols = cols};
    float *x = memory(rows * cols * sizeof *x);
    uint32_t state = 9;
    for (uint64_t i = 0; i < rows * cols; i++) x[i] = random_float(&state);
    if (!format->group) {
        act.form = TN_FORM_F32;
        act.stride = cols * sizeof *x;
        act.data = x;
        return act;
    }
    act.form = TN_FORM_I8X32;
    act.stride = (cols + 63) / 64 * 64;
    act.scale_stride = cols / 32;
    act.sum_stride = cols / 16;
    int8_t *codes = memory(rows * act.stride);
    float *scales = memory(rows * act.scale_stride * sizeof *scales);
    int16_t *sums = memory(rows * act.sum_stride * sizeof *sums);
    for (uint64_t r = 0; r < rows; r++)
        kernels->quantise_i8x32(x + r * cols, cols, codes + r * act.stride, scales + r * act.scale_stride,
                                sums + r * act.sum_stride);
    act.data = codes;
    act.scales = scales;
    act.sums = sums;
    free(x);
    return act;
}

static void bench_products(const cpu_kernels *kernels, const char *what, const fake_format *format,
                           int8_t largest) {
    static const uint64_t shapes[][2] = {{576, 576}, {8192, 2048}, {1536, 576}, {576, 1536}};
    static const uint64_t tokens[] = {4, 6, 8, 16, 64, 128, 512};
    for (uint32_t s = 0; s < 4; s++) {
        job j = {.kernels = kernels, .format = format, .rows = shapes[s][0], .cols = shapes[s][1]};
        j.row_bytes = fake_row_bytes(format, j.cols);
        uint64_t bytes = j.rows * j.row_bytes;
        j.copies = 100000000 / bytes;
        char *weights = memory(bytes * j.copies);
        fill_weights(&j, weights, largest);
        j.weights = weights;
        tn_act act = make_activations(kernels, format, 512, j.cols);
        j.act = &act;
        j.out = memory(512 * j.rows * sizeof(float));
        for (uint32_t t = 0; t < 7; t++) {
            j.tokens = tokens[t];
            double flop = 2.0 * (double)(j.rows * j.cols * j.tokens);
            j.repeats = (uint32_t)(1 + 2e9 / flop);
            double one = run(&j, 1), two = run(&j, 2);
            printf("%-11s %-12s %4lu x %4lu T %3lu: %.3f %.3f TFLOP/s, %4.1f GB/s\n", kernels->name, what,
                   j.rows, j.cols, j.tokens, flop / one * 1e-12, flop / two * 1e-12,
                   (double)bytes / two * 1e-9);
            fflush(stdout);
        }
        free(weights);
        free(j.out);
        free((void *)(uintptr_t)act.data);
        free((void *)(uintptr_t)act.scales);
        free((void *)(uintptr_t)act.sums);
    }
}

static void bench_gemm(const cpu_kernels *kernels) {
    bench_products(kernels, "p8", &fake_formats[1], 127);
    bench_products(kernels, "p8 4 bit min", &fake_formats[6], 8);
    bench_products(kernels, "p8 16", &fake_formats[0], 31);
    bench_products(kernels, "p8 16 min", &fake_formats[5], 3);
    bench_products(kernels, "p16 16", &fake_formats[10], 3);
    bench_products(kernels, "p16 16 min", &fake_formats[12], 3);
    bench_products(kernels, "f32", &fake_formats[fake_format_count - 1], 0);
}

#define TIME(title, numbers, ...)                                                                            \
    do {                                                                                                     \
        double best_time = INFINITY;                                                                         \
        for (int round = 0; round < 5; round++) {                                                            \
            double start = now();                                                                            \
            for (int i = 0; i < 200; i++) __VA_ARGS__;                                                       \
            double seconds = (now() - start) / 200.0;                                                        \
            best_time = seconds < best_time ? seconds : best_time;                                           \
        }                                                                                                    \
        printf("%-11s %-16s %8.2f ns a row, %6.3f ns a number\n", k->name, title, best_time * 1e9,           \
               best_time * 1e9 / (double)(numbers));                                                         \
    } while (0)

static void bench_rows(const cpu_kernels *k) {
    enum { N = 2048, HEAD = 64, PAGE = 64 };
    float *x = memory(N * 64 * sizeof *x), *y = memory(N * 64 * sizeof *y),
          *out = memory(N * 64 * sizeof *out);
    float *scales = memory(N * sizeof *scales);
    int8_t *codes = memory(N);
    int16_t *sums = memory(N * sizeof *sums);
    uint32_t state = 3;
    for (int i = 0; i < N * 64; i++) {
        x[i] = random_float(&state);
        y[i] = random_float(&state);
    }
    TIME("quantise_i8x32", N, k->quantise_i8x32(x, N, codes, scales, sums));
    TIME("quantise_i8x256", N, k->quantise_i8x256(x, N, codes, scales, sums));
    TIME("norm_rms", N, k->norm_rms(x, y, NULL, N, 1e-5f, out));
    TIME("norm_layer", N, k->norm_layer(x, y, y, N, 1e-5f, out));
    TIME("add", N, k->add(x, y, N, out));
    TIME("softcap", N, k->softcap(x, 30.0f, N, out));
    TIME("act gelu_erf", N, k->act(TN_ACT_GELU_ERF, 1.0f, x, N, out));
    TIME("act gelu_tanh", N, k->act(TN_ACT_GELU_TANH, 1.0f, x, N, out));
    TIME("glu silu", N, k->glu(TN_ACT_SILU, 1.0f, 0.0f, 0.0f, x, y, N, out));
    TIME("glu silu here", N, k->glu(TN_ACT_SILU, 1.0f, 0.0f, 0.0f, x, y, N, x));
    TIME("rope adjacent", N, k->rope(x, N / HEAD, HEAD, HEAD, TN_PAIR_ADJACENT, y, y));
    TIME("rope halves", N, k->rope(x, N / HEAD, HEAD, HEAD, TN_PAIR_HALVES, y, y));
    TIME("max", N, out[0] += k->max(x, N));
    TIME("exp_sum", N, out[0] += k->exp_sum(x, 1.0f, N, out));
    TIME("exp_sum 64", PAGE, out[0] += k->exp_sum(x, 1.0f, PAGE, out));
    TIME("merge 64", HEAD, k->merge(out, 0.5f, x, 1.5f, HEAD));
    for (uint64_t tokens = 1; tokens <= 192; tokens = tokens == 1 ? 3 : tokens * 4) {
        printf("%lu tokens: ", tokens);
        TIME("dot 64 x 64", PAGE * HEAD * tokens, k->dot(x, HEAD, PAGE, HEAD, y, HEAD, tokens, out, PAGE));
        printf("%lu tokens: ", tokens);
        TIME("blend 64 x 64", PAGE * HEAD * tokens,
             k->blend(x, HEAD, PAGE, HEAD, y, PAGE, tokens, out, HEAD));
    }
    free(x), free(y), free(out), free(scales), free(codes), free(sums);
}

static int usable(const cpu_kernels *kernels) {
#ifdef __x86_64__
    if (kernels->isa & TN_ISA_AVX512_VNNI) return __builtin_cpu_supports("avx512vnni");
    if (kernels->isa & TN_ISA_AVX2) return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
#endif
    return kernels->isa == 0;
}

int main(int argc, char **argv) {
    int rows = argc > 1 && !strcmp(argv[1], "rows");
    for (const cpu_kernels *const *k = cpu_kernels_all; *k; k++) {
        if (!usable(*k) || (argc > 2 && strcmp(argv[2], "all") != 0 && strcmp(argv[2], (*k)->name) != 0))
            continue;
        if (rows)
            bench_rows(*k);
        else
            bench_gemm(*k);
    }
    return 0;
}
