/*
 * bench_peer.c - our gemv kernels and encoders beside llama.cpp's, one after the other in each round, so that what else
 * the machine does meets both. A ratio above 1: we are faster. FOLDER has the peer's libggml-base.so and
 * libggml-cpu.so (bench/build_peer.sh DIR: DIR/bin).
 *
 *     TENON_TEST_BUILD=BUILD BUILD/bench/bench_peer FOLDER dot|encode [NAME [ROUNDS [MiB [COLUMNS]]]]
 */
#include "bench_peer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

double thread_seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

double best_of(const double *times, uint32_t rounds) {
    double best = times[0];
    for (uint32_t i = 1; i < rounds; i++) { best = times[i] < best ? times[i] : best; }
    return best;
}

static int compare_doubles(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double median_ratio(const pair_times *times) {
    double ratios[PEER_MAX_ROUNDS];
    for (uint32_t i = 0; i < times->rounds; i++) { ratios[i] = times->peers[i] / times->ours[i]; }
    qsort(ratios, times->rounds, sizeof *ratios, compare_doubles);
    return ratios[times->rounds / 2];
}

static uint64_t number(int argc, char **argv, int at, uint64_t otherwise, uint64_t most) {
    uint64_t value = argc > at ? strtoull(argv[at], NULL, 10) : otherwise;
    if (value < 1 || value > most) {
        fprintf(stderr, "'%s': expected a number of 1 to %llu\n", argv[at], (unsigned long long)most);
        exit(2);
    }
    return value;
}

int main(int argc, char **argv) {
    if (argc < 3 || (strcmp(argv[2], "dot") != 0 && strcmp(argv[2], "encode") != 0)) {
        fprintf(stderr, "usage: bench_peer FOLDER dot|encode [NAME [ROUNDS [MiB [COLUMNS]]]]\n");
        return 2;
    }
    int dot = strcmp(argv[2], "dot") == 0;
    uint32_t rounds = (uint32_t)number(argc, argv, 4, dot ? 9 : 5, PEER_MAX_ROUNDS);
    size_t bytes = number(argc, argv, 5, 64, 1 << 20) << 20;
    uint64_t cols = number(argc, argv, 6, 2048, 1 << 20);
    peer_library peer = peer_open(argv[1]);
    for (const char *const *name = format_names; *name; name++) {
        const tn_format *format = format_open(*name);
        if (argc > 3 && *argv[3] && strcmp(argv[3], *name) != 0) { continue; }
        if ((format->flags & TN_FORMAT_FLOAT) || cols % format->block != 0) { continue; }
        if (!peer_has_format(&peer, format)) { continue; }
        if (dot) {
            compare_dot(&peer, format, rounds, bytes, cols);
        } else if (format->encode) {
            compare_encode(&peer, format, *name, rounds);
        }
    }
    return 0;
}
