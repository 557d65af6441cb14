/*
 * bench_gemv.c - how fast the gemv kernels of all formats stream: GB/s of blocks against a plain read of the same
 * memory (default 256 MiB), by one thread and by all (there in turn); from cache; and what more activation rows cost.
 *
 *     TENON_TEST_BUILD=BUILD BUILD/bench/bench_gemv [MiB [COLUMNS [NAME]]]
 */
#include "format_cases.h"

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

enum { ACTS = 8, GROUP = 64, ROUNDS = 9, MAX_THREADS = 256 };

/* Time of this thread alone: what other processes take does not count. */
static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void read_plainly(const uint8_t *memory, size_t bytes) {
    uint64_t sums[8] = {0};
    for (size_t i = 0; i + 64 <= bytes; i += 64) {
        for (int k = 0; k < 8; k++) {
            uint64_t word;
            memcpy(&word, memory + i + 8 * k, 8);
            sums[k] += word;
        }
    }
    __asm__ volatile("" ::"r"(sums) : "memory");
}

/* ---- all threads at once: a slice each, by the clock on the wall, a plain read of it and the kernel in turn */

typedef struct slice {
    pthread_barrier_t *gate;
    const tn_format_kernel *kernel;
    tn_gemv call;
    size_t bytes;
    double read[ROUNDS], gemv[ROUNDS]; /* seconds of each round, from when all begin until all are done */
} slice;

static double wall(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void *run_slice(void *arg) {
    slice *s = arg;
    for (int round = 0; round < ROUNDS; round++) {
        pthread_barrier_wait(s->gate);
        double start = wall();
        read_plainly(s->call.blocks, s->bytes);
        pthread_barrier_wait(s->gate);
        double middle = wall();
        s->kernel->gemv(&s->call);
        pthread_barrier_wait(s->gate);
        s->read[round] = middle - start;
        s->gemv[round] = wall() - middle;
    }
    return NULL;
}

static uint32_t thread_count(void) {
    cpu_set_t set;
    int count = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
    return (uint32_t)(count < MAX_THREADS ? count : MAX_THREADS);
}

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Prints GB/s of the quickest round and the share of the plain read: best by best, and the median of the rounds. */
static void print_all(const tn_format_kernel *kernel, const tn_gemv *call) {
    uint32_t count = thread_count();
    uint64_t rows = call->rows / count / GROUP * GROUP;
    pthread_barrier_t gate;
    pthread_t threads[MAX_THREADS];
    slice slices[MAX_THREADS];
    pthread_barrier_init(&gate, NULL, count);
    for (uint32_t i = 0; i < count; i++) {
        slices[i] = (slice){.gate = &gate, .kernel = kernel, .call = *call, .bytes = rows * call->row_stride};
        slices[i].call.blocks = (const uint8_t *)call->blocks + i * slices[i].bytes;
        slices[i].call.rows = rows;
        slices[i].call.out = call->out + i * rows;
        if (i && pthread_create(&threads[i], NULL, run_slice, &slices[i]) != 0) { abort(); }
    }
    run_slice(&slices[0]);
    for (uint32_t i = 1; i < count; i++) { pthread_join(threads[i], NULL); }
    pthread_barrier_destroy(&gate);
    double read = 1e9, gemv = 1e9, shares[ROUNDS];
    for (int round = 0; round < ROUNDS; round++) {
        slice *s = &slices[0];
        read = s->read[round] < read ? s->read[round] : read;
        gemv = s->gemv[round] < gemv ? s->gemv[round] : gemv;
        shares[round] = s->read[round] / s->gemv[round];
    }
    qsort(shares, ROUNDS, sizeof *shares, ascending);
    printf(", all threads %6.2f of %6.2f: %3.0f %%, median %3.0f %%",
           (double)(count * slices[0].bytes) / gemv / 1e9, (double)(count * slices[0].bytes) / read / 1e9,
           100 * read / gemv, 100 * shares[ROUNDS / 2]);
}

/* ---- one thread */

static double read_rate(const uint8_t *memory, size_t bytes) {
    double best = 1e9;
    for (int round = 0; round < ROUNDS; round++) {
        double start = now();
        read_plainly(memory, bytes);
        double took = now() - start;
        if (took < best) { best = took; }
    }
    return (double)bytes / best / 1e9;
}

/* Activation rows of every form at once: the codes and scales are the same numbers whatever the form. */
static tn_act make_act(uint64_t cols, uint32_t form) {
    uint64_t stride = (cols + 63) / 64 * 64 * (form == TN_FORM_F32 ? 4 : 1), state = 1;
    uint8_t *data = aligned_alloc(64, ACTS * stride);
    float *scales = malloc(ACTS * (cols / 32 + 1) * sizeof *scales);
    int16_t *sums = malloc(ACTS * (cols / 16 + 1) * sizeof *sums);
    for (uint64_t i = 0; i < ACTS * stride; i++) { data[i] = (uint8_t)(random_bits(&state) % 100); }
    for (uint64_t i = 0; form == TN_FORM_F32 && i < ACTS * stride / 4; i++) {
        ((float *)data)[i] = random_float(&state);
    }
    for (uint64_t i = 0; i < ACTS * (cols / 32 + 1); i++) { scales[i] = 0.01f; }
    memset(sums, 0, ACTS * (cols / 16 + 1) * sizeof *sums);
    return (tn_act){.struct_size = sizeof(tn_act),
                    .form = form,
                    .rows = ACTS,
                    .cols = cols,
                    .data = data,
                    .stride = stride,
                    .scales = scales,
                    .scale_stride = cols / 32 + 1,
                    .sums = sums,
                    .sum_stride = cols / 16 + 1};
}

static double gemv_rate(const tn_format_kernel *kernel, const tn_gemv *shape, uint64_t repeat) {
    double best = 1e9;
    for (int round = 0; round < ROUNDS; round++) {
        double start = now();
        for (uint64_t i = 0; i < repeat; i++) { kernel->gemv(shape); }
        double took = now() - start;
        if (took < best) { best = took; }
    }
    return (double)(repeat * shape->rows * shape->row_stride) / best / 1e9;
}

static void bench_kernel(const tn_format *format, const tn_format_kernel *kernel, const uint8_t *memory,
                         size_t bytes, uint64_t cols, float *out) {
    uint64_t stride = cols / format->block * format->block_bytes, rows = bytes / stride / 64 * 64;
    tn_act act = make_act(cols, kernel->form);
    tn_gemv call = {.struct_size = sizeof call,
                    .act_rows = 1,
                    .blocks = memory,
                    .row_stride = stride,
                    .rows = kernel->isa ? rows : rows / 16,
                    .cols = cols,
                    .act = &act,
                    .out = out,
                    .out_stride = rows};
    printf("%-28s memory %6.2f", kernel->name, gemv_rate(kernel, &call, 1));
    print_all(kernel, &call);
    call.rows = GROUP;
    double one = gemv_rate(kernel, &call, kernel->isa ? 200 : 10);
    printf("  cache %6.2f  time of 2, 4, 8 rows:", one);
    for (uint32_t acts = 2; acts <= ACTS; acts *= 2) {
        call.act_rows = acts;
        printf(" %.2f", one / gemv_rate(kernel, &call, kernel->isa ? 200 : 10));
    }
    printf("\n");
    fflush(stdout);
    free((void *)act.data);
    free((void *)act.scales);
    free((void *)act.sums);
}

int main(int argc, char **argv) {
    size_t bytes = (argc > 1 ? strtoul(argv[1], NULL, 10) : 256) << 20;
    uint64_t cols = argc > 2 ? strtoul(argv[2], NULL, 10) : 2048;
    uint8_t *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
        perror("mmap");
        return 1;
    }
    if (argc <= 4 || strcmp(argv[4], "small") != 0) { madvise(memory, bytes, MADV_HUGEPAGE); }
    float *out = malloc(ACTS * (bytes / 16 + 64));
    for (const char *const *name = format_names; *name; name++) {
        const tn_format *format = format_open(*name);
        uint64_t state = 1, unit = 1 << 16;
        if ((argc > 3 && strcmp(argv[3], *name) != 0) || cols % format->block != 0) { continue; }
        random_blocks(format, unit / format->block, &state, memory);
        for (uint64_t i = 0; format->type == 39 && i < unit / 32; i++) {
            memory[17 * i] |= 64; /* MXFP4: no subnormal scales, which tests want and no model has */
        }
        uint64_t first = unit / format->block * format->block_bytes;
        for (uint64_t at = first; at < bytes; at += first) {
            memcpy(memory + at, memory, at + first < bytes ? first : bytes - at);
        }
        printf("%s, %llu columns, GB/s of blocks; plain read, one thread: memory %.2f, cache %.2f\n",
               format->name, (unsigned long long)cols, read_rate(memory, bytes), read_rate(memory, 64 << 10));
        for (uint32_t k = 0; k < format->kernel_count; k++) {
            const tn_format_kernel *kernel = format->kernels[k];
            if (kernel->kind == TN_KERNEL_GEMV && (machine_isa() & kernel->isa) == kernel->isa) {
                bench_kernel(format, kernel, memory, bytes, cols, out);
            }
        }
    }
    free(out);
    munmap(memory, bytes);
    return 0;
}
