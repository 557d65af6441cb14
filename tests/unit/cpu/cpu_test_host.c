/* cpu_test_host.c - a host for tests: memory that is counted, and gangs of threads made for the call. */
#include "cpu_test.h"

#include <pthread.h>
#include <stdlib.h>

enum { MOST = 1 << 30 };

struct tn_gang {
    pthread_barrier_t barrier;
    void (*fn)(void *, uint32_t, tn_gang *);
    void *arg;
};

typedef struct thread {
    tn_gang *gang;
    uint32_t worker;
    pthread_t id;
} thread;

static void *host_alloc(const tn_host *host, uint64_t size, uint64_t align) {
    test_host *t = (test_host *)host;
    void *memory = NULL;
    if (t->allocations_left == 0 || size > MOST) { return NULL; }
    if (t->allocations_left > 0) { t->allocations_left--; }
    if (posix_memalign(&memory, align < sizeof(void *) ? sizeof(void *) : align, size ? size : 1)) {
        return NULL;
    }
    t->live++;
    return memory;
}

static void host_free(const tn_host *host, void *memory) {
    if (memory) { ((test_host *)host)->live--; }
    free(memory);
}

static void host_log(const tn_host *host, int32_t level, const char *text) {
    (void)host;
    (void)level;
    (void)text;
}

static uint32_t host_workers(const tn_host *host) {
    return ((const test_host *)host)->workers;
}

static void *thread_main(void *arg) {
    thread *t = arg;
    t->gang->fn(t->gang->arg, t->worker, t->gang);
    return NULL;
}

static void host_gang(const tn_host *host, void (*fn)(void *, uint32_t, tn_gang *), void *arg) {
    uint32_t workers = host_workers(host);
    thread threads[16];
    tn_gang gang = {.fn = fn, .arg = arg};
    pthread_barrier_init(&gang.barrier, NULL, workers);
    for (uint32_t i = 1; i < workers; i++) {
        threads[i].gang = &gang;
        threads[i].worker = i;
        pthread_create(&threads[i].id, NULL, thread_main, &threads[i]);
    }
    fn(arg, 0, &gang);
    for (uint32_t i = 1; i < workers; i++) { pthread_join(threads[i].id, NULL); }
    pthread_barrier_destroy(&gang.barrier);
}

static void host_barrier(tn_gang *gang) {
    pthread_barrier_wait(&gang->barrier);
}

void test_host_init(test_host *host, uint32_t workers, uint64_t isa) {
    *host = (test_host){.host = {.struct_size = sizeof(tn_host),
                                 .abi_major = TN_ABI_MAJOR,
                                 .abi_minor = TN_ABI_MINOR,
                                 .isa = isa,
                                 .alloc = host_alloc,
                                 .free = host_free,
                                 .log = host_log,
                                 .worker_count = host_workers,
                                 .gang = host_gang,
                                 .barrier = host_barrier},
                        .workers = workers,
                        .allocations_left = -1};
}

cpu_backend test_backend(test_host *host) {
    return (cpu_backend){&host->host, cpu_kernels_pick(host->host.isa), host->workers};
}

uint64_t test_isa(void) {
    uint64_t isa = 0;
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2")) {
        isa |= TN_ISA_AVX2;
    }
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
        __builtin_cpu_supports("avx512cd")) {
        isa |= TN_ISA_AVX512;
        if (__builtin_cpu_supports("avx512vnni")) { isa |= TN_ISA_AVX512_VNNI; }
    }
#endif
    return isa;
}
