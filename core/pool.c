/*
 * pool.c - threads, gangs and barriers.
 *
 * Whoever waits spins for a while, for the next phase is usually microseconds away, and then sleeps on a
 * futex. Counters that one side writes and another polls lie on cache lines of their own. A pool of one
 * worker touches no atomic in a barrier.
 */
#include "pool.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

enum {
    LINE = 128,         /* two lines: the prefetcher of Intel's L2 fetches pairs */
    SPIN = 6000,        /* pauses before going to sleep: 0.1 to 0.3 ms */
    SPIN_CROWDED = 16,  /* likewise with more workers than CPUs: whom we wait for may need ours */
    FOR_PIECES = 16,    /* pieces a worker of tn_pool_for(): the last one is all that others wait for */
    WORKERS_MOST = 1024 /* more is a mistake */
};

/* A number that only grows, and those who sleep until it changes. */
typedef struct word {
    _Alignas(LINE) atomic_uint value;
    _Alignas(LINE) atomic_uint sleepers;
} word;

struct tn_gang {
    tn_pool *pool;
};

typedef struct thread {
    tn_pool *pool;
    uint32_t number;
    pthread_t handle;
} thread;

struct tn_pool {
    uint32_t count;
    uint32_t spin;
    thread *threads; /* count - 1 of them: workers 1 and up */
    uint32_t running;
    tn_gang gang;
    pthread_mutex_t turn;
    void (*fn)(void *arg, uint32_t worker, tn_gang *gang); /* NULL: the threads end */
    void *arg;
    word start;                         /* one step a gang */
    word phase;                         /* one step a barrier */
    word done;                          /* one step a gang that has ended */
    _Alignas(LINE) atomic_uint arrived; /* at the barrier */
    _Alignas(LINE) atomic_uint left;    /* threads that have returned from the gang */
};

/* Set on a thread while it works in a gang: a gang inside a gang would wait for itself. */
static _Thread_local int at_work;

/* ---- waiting ---------------------------------------------------------------------------------------- */

static void pause_briefly(void) {
#if defined(__x86_64__)
    _mm_pause();
#elif defined(__aarch64__)
    __asm__ volatile("isb");
#endif
}

static void futex(atomic_uint *at, int op, unsigned value) {
    syscall(SYS_futex, at, op | FUTEX_PRIVATE_FLAG, value, NULL, NULL, 0);
}

/* Returns once the word is no longer `seen`. The sleeper shows itself before it looks a last time (in the
 * futex call), the other side advances before it looks for sleepers: one of the two sees the other. */
static void word_wait(word *w, unsigned seen, uint32_t spin) {
    for (uint32_t i = 0; i < spin; i++) {
        if (atomic_load_explicit(&w->value, memory_order_acquire) != seen) { return; }
        pause_briefly();
    }
    atomic_fetch_add(&w->sleepers, 1);
    while (atomic_load(&w->value) == seen) { futex(&w->value, FUTEX_WAIT, seen); }
    atomic_fetch_sub(&w->sleepers, 1);
}

static void word_advance(word *w) {
    atomic_fetch_add(&w->value, 1);
    if (atomic_load(&w->sleepers)) { futex(&w->value, FUTEX_WAKE, INT_MAX); }
}

/* ---- floating-point mode ---------------------------------------------------------------------------- */

/* Swaps in the mode of IEEE 754: round to nearest, subnormals kept, exceptions masked. A library that was
 * linked with -ffast-math changes it for the thread that loads it and for all that this thread makes. */
static uint64_t float_mode_swap(void) {
    uint64_t old = 0;
#if defined(__x86_64__)
    old = _mm_getcsr();
    if (old != 0x1f80) { _mm_setcsr(0x1f80); }
#elif defined(__aarch64__)
    __asm__ volatile("mrs %0, fpcr" : "=r"(old));
    if (old != 0) { __asm__ volatile("msr fpcr, %0" : : "r"((uint64_t)0)); }
#endif
    return old;
}

static void float_mode_restore(uint64_t old) {
#if defined(__x86_64__)
    _mm_setcsr((unsigned)old);
#elif defined(__aarch64__)
    __asm__ volatile("msr fpcr, %0" : : "r"(old));
#else
    (void)old;
#endif
}

/* ---- gangs ------------------------------------------------------------------------------------------ */

static void work(tn_pool *pool, uint32_t number) {
    uint64_t mode = float_mode_swap();
    at_work = 1;
    pool->fn(pool->arg, number, &pool->gang);
    at_work = 0;
    float_mode_restore(mode);
}

static void *thread_main(void *arg) {
    const thread *self = arg;
    tn_pool *pool = self->pool;
    for (unsigned seen = 0;; seen++) {
        word_wait(&pool->start, seen, pool->spin);
        if (!pool->fn) { return NULL; }
        work(pool, self->number);
        if (atomic_fetch_add(&pool->left, 1) + 1 == pool->count - 1) { word_advance(&pool->done); }
    }
}

void tn_pool_gang(tn_pool *pool, void (*fn)(void *arg, uint32_t worker, tn_gang *gang), void *arg) {
    assert(!at_work && "gang() from inside a gang");
    pthread_mutex_lock(&pool->turn);
    pool->fn = fn;
    pool->arg = arg;
    if (pool->count == 1) {
        work(pool, 0);
    } else {
        unsigned seen = atomic_load_explicit(&pool->done.value, memory_order_relaxed);
        atomic_store_explicit(&pool->left, 0, memory_order_relaxed);
        word_advance(&pool->start);
        work(pool, 0);
        word_wait(&pool->done, seen, pool->spin);
    }
    pthread_mutex_unlock(&pool->turn);
}

void tn_gang_barrier(tn_gang *gang) {
    tn_pool *pool = gang->pool;
    if (pool->count == 1) { return; }
    /* The phase cannot end before we arrive, so this is the one that we wait for. */
    unsigned seen = atomic_load_explicit(&pool->phase.value, memory_order_relaxed);
    if (atomic_fetch_add_explicit(&pool->arrived, 1, memory_order_acq_rel) + 1 == pool->count) {
        atomic_store_explicit(&pool->arrived, 0, memory_order_relaxed);
        word_advance(&pool->phase);
    } else {
        word_wait(&pool->phase, seen, pool->spin);
    }
}

typedef struct for_work {
    void (*fn)(void *arg, uint64_t index, uint32_t worker);
    void *arg;
    uint64_t count, piece;
    _Alignas(LINE) _Atomic uint64_t next;
} for_work;

static void for_gang(void *arg, uint32_t worker, tn_gang *gang) {
    for_work *all = arg;
    (void)gang;
    for (;;) {
        uint64_t from = atomic_fetch_add_explicit(&all->next, all->piece, memory_order_relaxed);
        if (from >= all->count) { return; }
        uint64_t to = all->count - from < all->piece ? all->count : from + all->piece;
        for (uint64_t i = from; i < to; i++) { all->fn(all->arg, i, worker); }
    }
}

void tn_pool_for(tn_pool *pool, uint64_t count, void (*fn)(void *arg, uint64_t index, uint32_t worker),
                 void *arg) {
    for_work all = {.fn = fn, .arg = arg, .count = count};
    all.piece = count / ((uint64_t)pool->count * FOR_PIECES);
    if (all.piece == 0) { all.piece = 1; }
    if (count) { tn_pool_gang(pool, for_gang, &all); }
}

/* ---- life ------------------------------------------------------------------------------------------- */

static int32_t start_threads(tn_pool *pool, tn_error *err) {
    for (uint32_t i = 1; i < pool->count; i++) {
        thread *at = &pool->threads[i - 1];
        *at = (thread){.pool = pool, .number = i};
        int failed = pthread_create(&at->handle, NULL, thread_main, at);
        if (failed) {
            TN_FAIL(err, TN_E_FAILED, "cannot start thread %u of %u: %s", i + 1, pool->count,
                    strerror(failed));
        }
        pool->running++;
    }
    return TN_OK;
}

int32_t tn_pool_create(uint32_t count, tn_pool **out, tn_error *err) {
    *out = NULL;
    if (count < 1 || count > WORKERS_MOST) {
        TN_FAIL(err, TN_E_RANGE, "%u threads: must be 1 to %d", count, WORKERS_MOST);
    }
    tn_pool *pool = aligned_alloc(LINE, sizeof *pool);
    if (!pool) { TN_FAIL(err, TN_E_MEMORY, "no memory for a pool of %u threads", count); }
    memset(pool, 0, sizeof *pool);
    pool->count = count;
    pool->spin = count <= tn_cpus_usable("") ? SPIN : SPIN_CROWDED;
    pool->gang.pool = pool;
    pthread_mutex_init(&pool->turn, NULL);
    pool->threads = calloc(count, sizeof *pool->threads);
    int32_t code = pool->threads ? start_threads(pool, err)
                                 : tn_fail(err, TN_E_MEMORY, "no memory for a pool of %u threads", count);
    if (code != TN_OK) {
        tn_pool_destroy(pool);
        return code;
    }
    *out = pool;
    return TN_OK;
}

void tn_pool_destroy(tn_pool *pool) {
    if (!pool) { return; }
    pool->fn = NULL;
    word_advance(&pool->start);
    for (uint32_t i = 0; i < pool->running; i++) { pthread_join(pool->threads[i].handle, NULL); }
    pthread_mutex_destroy(&pool->turn);
    free(pool->threads);
    free(pool);
}

uint32_t tn_pool_count(const tn_pool *pool) {
    return pool->count;
}
