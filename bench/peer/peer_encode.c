/*
 * peer_encode.c - encoders, one thread, by the rows of numbers that bench_encode has too: MB/s of source, and the
 * squared error of what was written (weighted by importance where there is one) beside that of the peer's blocks.
 */
#include "bench_peer.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { ROWS = 16, COLS = 4096, COUNT = ROWS * COLS };

static float random_normal(uint64_t *state) {
    double u = ((double)random_float(state) + 1) / 2 + 1e-12, v = (double)random_float(state);
    return (float)(sqrt(-2 * log(u)) * cos(M_PI * v));
}

static float random_laplace(uint64_t *state) {
    double u = (double)random_float(state);
    return (float)(-copysign(log(1 - fabs(u) + 1e-12), u));
}

static double squared_error(const tn_format *format, const uint8_t *blocks, const float *x,
                            const float *importance, float *y) {
    double sum = 0;
    format->decode(NULL, blocks, COUNT, y);
    for (int i = 0; i < COUNT; i++) {
        double miss = (double)x[i] - (double)y[i];
        sum += miss * miss * (importance ? (double)importance[i % COLS] : 1);
    }
    return sum;
}

/* One kind of rows by both encoders. */
static void compare_case(const peer_library *peer, const tn_format *format, void *self, const char *what,
                         const float *x, const float *importance, uint32_t rounds) {
    size_t size = COUNT / format->block * format->block_bytes;
    uint8_t *ours = calloc(2, size), *peers = ours + size;
    float *y = malloc(COUNT * sizeof *y);
    pair_times times = {.rounds = rounds};
    tn_error err = {.struct_size = sizeof err};
    printf("%-9s %-20s", format->name, what);
    if (!ours || !y) { abort(); }
    if (!importance && peer->needs_importance((int)format->type)) {
        printf("  the peer needs importance\n");
    } else if (peer->quantize((int)format->type, x, peers, 0, ROWS, COLS, importance) != size) {
        printf("  the peer does not write it\n");
    } else if (format->encode(self, x, ROWS, COLS, importance, ours, &err) != TN_OK) {
        printf("  refused by us: %s\n", err.text);
    } else {
        for (uint32_t round = 0; round < rounds; round++) {
            double start = thread_seconds();
            format->encode(self, x, ROWS, COLS, importance, ours, &err);
            double between = thread_seconds();
            peer->quantize((int)format->type, x, peers, 0, ROWS, COLS, importance);
            times.ours[round] = between - start;
            times.peers[round] = thread_seconds() - between;
        }
        double best = best_of(times.ours, rounds), peers_best = best_of(times.peers, rounds);
        double error =
            squared_error(format, ours, x, importance, y) / squared_error(format, peers, x, importance, y);
        printf("  MB/s %7.1f, peer %7.1f, ratio %5.2f (median %5.2f); error beside the peer's %.4f\n",
               4e-6 * COUNT / best, 4e-6 * COUNT / peers_best, peers_best / best, median_ratio(&times),
               error);
    }
    fflush(stdout);
    free(ours);
    free(y);
}

void compare_encode(const peer_library *peer, const tn_format *format, const char *name, uint32_t rounds) {
    void *self = format_self(name, machine_isa());
    float *x[2] = {malloc(COUNT * sizeof(float)), malloc(COUNT * sizeof(float))}, importance[COLS];
    uint64_t state = 1;
    if (!x[0] || !x[1]) { abort(); }
    for (int i = 0; i < COUNT; i++) {
        x[0][i] = random_normal(&state);
        x[1][i] = random_laplace(&state);
    }
    for (int i = 0; i < COLS; i++) { importance[i] = expf(1.5f * random_normal(&state)); }
    peer->quantize_init((int)format->type);
    compare_case(peer, format, self, "normal", x[0], NULL, rounds);
    compare_case(peer, format, self, "normal, importance", x[0], importance, rounds);
    compare_case(peer, format, self, "Laplace", x[1], NULL, rounds);
    compare_case(peer, format, self, "Laplace, importance", x[1], importance, rounds);
    free(x[0]);
    free(x[1]);
}
