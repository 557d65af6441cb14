/*
 * bench_encode.c - how fast and how well the encoders of all formats write: MB/s of source floats, one thread,
 * and the squared error relative to that of plain rounding; rows of normal and of Laplace numbers, without and
 * with importance (then the error is weighted by it).
 *
 * Plain rounding: 32 columns, their largest number to the last of 2^bits levels, with as many whole bits as the
 * format has for a column. It has an exact scale for free, so a ratio of 1 is no shame for types with few bits.
 *
 *     TENON_TEST_BUILD=BUILD BUILD/bench/bench_encode [NAME [SECONDS [portable]]]
 */
#include "format_cases.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { ROWS = 64, COLS = 4096, COUNT = ROWS * COLS };

/* Time of this thread alone: what other processes take does not count. */
static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static float random_normal(uint64_t *state) {
    double u = ((double)random_float(state) + 1) / 2 + 1e-12, v = (double)random_float(state);
    return (float)(sqrt(-2 * log(u)) * cos(M_PI * v));
}

static float random_laplace(uint64_t *state) {
    double u = (double)random_float(state);
    return (float)(-copysign(log(1 - fabs(u) + 1e-12), u));
}

static double squared_error(const float *x, const float *y, const float *importance) {
    double sum = 0;
    for (int i = 0; i < COUNT; i++) {
        double miss = (double)x[i] - (double)y[i];
        sum += miss * miss * (importance ? (double)importance[i % COLS] : 1);
    }
    return sum;
}

static void round_plainly(const float *x, uint32_t bits, float *y) {
    float last = ldexpf(1, (int)bits - 1);
    for (int i = 0; i < COUNT; i += 32) {
        float largest = 0;
        for (int k = 0; k < 32; k++) { largest = fabsf(x[i + k]) > fabsf(largest) ? x[i + k] : largest; }
        float scale = largest / -last;
        for (int k = 0; k < 32; k++) {
            float code = scale != 0 ? rintf(x[i + k] / scale) : 0;
            y[i + k] = scale * fminf(fmaxf(code, -last), last - 1);
        }
    }
}

static void bench_case(const tn_format *format, void *self, const float *x, const float *importance,
                       double seconds, float *y) {
    uint8_t *blocks = malloc(COUNT / format->block * format->block_bytes);
    tn_error err = {.struct_size = sizeof err};
    double best = INFINITY, start = now();
    do {
        double began = now();
        if (format->encode(self, x, ROWS, COLS, importance, blocks, &err) != TN_OK) {
            printf("  %-17s", "refused");
            free(blocks);
            return;
        }
        best = fmin(best, now() - began);
    } while (now() - start < seconds);
    format->decode(NULL, blocks, COUNT, y);
    double error = squared_error(x, y, importance);
    round_plainly(x, 8 * format->block_bytes / format->block, y);
    printf("  %8.1f %8.4f", 4e-6 * COUNT / best, error / squared_error(x, y, importance));
    fflush(stdout);
    free(blocks);
}

int main(int argc, char **argv) {
    int portable = argc > 3;
    double seconds = argc > 2 ? strtod(argv[2], NULL) : 0.3;
    float *x[2] = {malloc(COUNT * sizeof(float)), malloc(COUNT * sizeof(float))}, importance[COLS];
    float *y = malloc(COUNT * sizeof(float));
    uint64_t state = 1;
    for (int i = 0; i < COUNT; i++) {
        x[0][i] = random_normal(&state);
        x[1][i] = random_laplace(&state);
    }
    for (int i = 0; i < COLS; i++) { importance[i] = expf(1.5f * random_normal(&state)); }
    printf(
        "%-9s  MB/s of source and error over plain rounding's: normal, the same with importance, Laplace, the "
        "same with importance\n",
        "");
    for (const char *const *name = format_names; *name; name++) {
        const tn_format *format = format_open(*name);
        if ((argc > 1 && *argv[1] && strcmp(argv[1], *name) != 0) || !format->encode) { continue; }
        if (format->flags & TN_FORMAT_FLOAT) { continue; }
        void *self = format_self(*name, portable ? 0 : machine_isa());
        printf("%-9s", format->name);
        for (int i = 0; i < 4; i++) {
            bench_case(format, self, x[i / 2], i % 2 ? importance : NULL, seconds, y);
        }
        printf("\n");
    }
    free(x[0]);
    free(x[1]);
    free(y);
    return 0;
}
