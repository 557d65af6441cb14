/*
 * peer_dot.c - products of a matrix and one activation row: our gemv kernels, of each instruction set that this machine
 * has, and the peer's dot product called for each row, on the same blocks in memory, by one thread and by all.
 */
#include "bench_peer.h"

#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { GROUP = 64, MAX_THREADS = 256 };

/* The activation row as each side wants it: ours in codes with scales and sums, the peer's in its blocks. */
typedef struct pairing {
    tn_act act;
    const tn_format_kernel *kernel;
    const peer_traits *traits;
    void *peer_row;
} pairing;

/* A thread's rows. */
typedef struct part {
    const pairing *product;
    pthread_barrier_t *gate;
    tn_gemv call;
    float *peer_out;
    pair_times times;
} part;

static void *run_part(void *arg) {
    part *p = arg;
    const pairing *s = p->product;
    for (uint32_t round = 0; round < p->times.rounds; round++) {
        pthread_barrier_wait(p->gate);
        double start = thread_seconds();
        s->kernel->gemv(&p->call);
        p->times.ours[round] = thread_seconds() - start;
        pthread_barrier_wait(p->gate);
        start = thread_seconds();
        for (uint64_t r = 0; r < p->call.rows; r++) {
            const uint8_t *row = (const uint8_t *)p->call.blocks + r * p->call.row_stride;
            s->traits->vec_dot((int)p->call.cols, p->peer_out + r, 0, row, 0, s->peer_row, 0, 1);
        }
        p->times.peers[round] = thread_seconds() - start;
    }
    return NULL;
}

static uint32_t thread_count(void) {
    cpu_set_t set;
    int count = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
    return (uint32_t)(count < MAX_THREADS ? count : MAX_THREADS);
}

/* Runs both sides with `count` threads and prints a pair of rates. A round's time is its slowest thread's. */
static void run_pair(const pairing *product, const tn_gemv *call, float *peer_out, uint32_t count,
                     uint32_t rounds) {
    uint64_t rows = call->rows / count / GROUP * GROUP;
    pthread_barrier_t gate;
    pthread_t threads[MAX_THREADS];
    part *parts = calloc(count, sizeof *parts);
    if (!parts || rows == 0 || pthread_barrier_init(&gate, NULL, count) != 0) { abort(); }
    for (uint32_t i = 0; i < count; i++) {
        parts[i] = (part){.product = product, .gate = &gate, .call = *call, .peer_out = peer_out + i * rows};
        parts[i].times.rounds = rounds;
        parts[i].call.blocks = (const uint8_t *)call->blocks + i * rows * call->row_stride;
        parts[i].call.rows = rows;
        parts[i].call.out = call->out + i * rows;
        if (i && pthread_create(&threads[i], NULL, run_part, &parts[i]) != 0) { abort(); }
    }
    run_part(&parts[0]);
    for (uint32_t i = 1; i < count; i++) {
        pthread_join(threads[i], NULL);
        for (uint32_t round = 0; round < rounds; round++) {
            parts[0].times.ours[round] = fmax(parts[0].times.ours[round], parts[i].times.ours[round]);
            parts[0].times.peers[round] = fmax(parts[0].times.peers[round], parts[i].times.peers[round]);
        }
    }
    double ours = best_of(parts[0].times.ours, rounds), peers = best_of(parts[0].times.peers, rounds);
    double gigabytes = (double)(count * rows * call->row_stride) * 1e-9;
    printf("  %2u thread%s %6.2f, peer %6.2f, ratio %.2f (median %.2f)", count, count > 1 ? "s" : " ",
           gigabytes / ours, gigabytes / peers, peers / ours, median_ratio(&parts[0].times));
    fflush(stdout);
    pthread_barrier_destroy(&gate);
    free(parts);
}

/* One activation row: numbers to codes with a scale for each 32, and sums of each 16. */
static tn_act make_act(const float *x, uint64_t cols) {
    int8_t *codes = aligned_alloc(64, (cols + 63) / 64 * 64);
    float *scales = malloc((cols / 32 + 1) * sizeof *scales);
    int16_t *sums = calloc(cols / 16 + 1, sizeof *sums);
    if (!codes || !scales || !sums) { abort(); }
    for (uint64_t i = 0; i < cols; i++) {
        if (i % 32 == 0) {
            float largest = 0;
            for (uint64_t k = i; k < i + 32 && k < cols; k++) { largest = fmaxf(largest, fabsf(x[k])); }
            scales[i / 32] = largest / 127;
        }
        codes[i] = (int8_t)lrintf(x[i] / scales[i / 32]);
        sums[i / 16] = (int16_t)(sums[i / 16] + codes[i]);
    }
    return (tn_act){.struct_size = sizeof(tn_act),
                    .form = TN_FORM_I8X32,
                    .rows = 1,
                    .cols = cols,
                    .data = codes,
                    .stride = cols,
                    .scales = scales,
                    .scale_stride = cols / 32 + 1,
                    .sums = sums,
                    .sum_stride = cols / 16 + 1};
}

/* How far apart the results are, beside their size: the activations are rounded otherwise, so not 0. */
static double difference(const float *ours, const float *peers, uint64_t rows) {
    double apart = 0, size = 0;
    for (uint64_t r = 0; r < rows; r++) {
        apart += ((double)ours[r] - (double)peers[r]) * ((double)ours[r] - (double)peers[r]);
        size += (double)peers[r] * (double)peers[r];
    }
    return sqrt(apart / size);
}

/* `bytes` of memory, in huge pages as a mapped file's, filled with random blocks, the same 64 Ki elements over and over. */
static uint8_t *make_blocks(const tn_format *format, size_t bytes) {
    uint64_t state = 1, unit = 1 << 16, first = unit / format->block * format->block_bytes;
    enum { HUGE_PAGE = 2 << 20 };
    size_t room = (bytes + first + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE;
    uint8_t *memory = aligned_alloc(HUGE_PAGE, room);
    if (!memory) { abort(); }
    madvise(memory, room, MADV_HUGEPAGE);
    random_blocks(format, unit / format->block, &state, memory);
    for (uint64_t i = 0; format->type == 39 && i < unit / 32; i++) {
        memory[17 * i] |= 64; /* MXFP4: no subnormal scales, which tests want and no model has */
    }
    for (uint64_t at = first; at < bytes; at += first) {
        memcpy(memory + at, memory, at + first < bytes ? first : bytes - at);
    }
    return memory;
}

void compare_dot(const peer_library *peer, const tn_format *format, uint32_t rounds, size_t bytes,
                 uint64_t cols) {
    uint64_t stride = cols / format->block * format->block_bytes, state = 1;
    uint64_t rows = bytes / stride / GROUP * GROUP;
    pairing product = {.traits = peer->traits((int)format->type)};
    float *x = malloc(cols * sizeof *x), *out = malloc(2 * rows * sizeof *out);
    if (!product.traits->vec_dot) {
        printf("%s: the peer has no dot product\n", format->name);
    } else if (x && out && rows / thread_count() >= GROUP) {
        uint8_t *memory = make_blocks(format, rows * stride);
        for (uint64_t i = 0; i < cols; i++) { x[i] = random_float(&state); }
        product.act = make_act(x, cols);
        product.peer_row =
            malloc(cols * sizeof *x + 4096); /* no form is larger than the floats, but for a small row */
        peer->traits(product.traits->vec_dot_type)->from_float(x, product.peer_row, (int64_t)cols);
        for (uint32_t k = 0; k < format->kernel_count; k++) {
            product.kernel = format->kernels[k];
            uint64_t isa = product.kernel->isa;
            if (product.kernel->kind != TN_KERNEL_GEMV || !isa || (machine_isa() & isa) != isa) { continue; }
            tn_gemv call = {.struct_size = sizeof call,
                            .act_rows = 1,
                            .blocks = memory,
                            .row_stride = stride,
                            .rows = rows,
                            .cols = cols,
                            .act = &product.act,
                            .out = out,
                            .out_stride = rows};
            printf("%-30s", product.kernel->name);
            run_pair(&product, &call, out + rows, 1, rounds);
            if (thread_count() > 1) { run_pair(&product, &call, out + rows, thread_count(), rounds); }
            double apart = difference(out, out + rows, rows / thread_count() / GROUP * GROUP);
            printf("  results %.2f %% apart%s\n", 100 * apart, apart < 0.05 ? "" : ": NOT THE SAME PRODUCT");
        }
        free(memory);
        free((void *)product.act.data);
        free((void *)product.act.scales);
        free((void *)product.act.sums);
        free(product.peer_row);
    } else {
        printf("%s: too few rows for all threads; more MiB or fewer columns\n", format->name);
    }
    free(x);
    free(out);
}
