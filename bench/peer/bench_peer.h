/* bench_peer.h - what the two comparisons of bench_peer share. */
#ifndef BENCH_PEER_H
#define BENCH_PEER_H

#include "format_cases.h"
#include "peer_library.h"

/* Times of our side and the peer's, taken in turn. */
enum { PEER_MAX_ROUNDS = 101 };
typedef struct pair_times {
    uint32_t rounds;
    double ours[PEER_MAX_ROUNDS], peers[PEER_MAX_ROUNDS];
} pair_times;

double best_of(const double *times, uint32_t rounds);
/* The median of the rounds' ratios: how many times as fast as the peer we are. */
double median_ratio(const pair_times *times);

/* Processor time of the calling thread: what other processes take does not count. */
double thread_seconds(void);

/* All our gemv kernels of a format beside the peer's dot product, on the same blocks. */
void compare_dot(const peer_library *peer, const tn_format *format, uint32_t rounds, size_t bytes,
                 uint64_t cols);
/* Our encoder beside the peer's, on the same rows. */
void compare_encode(const peer_library *peer, const tn_format *format, const char *name, uint32_t rounds);

#endif
