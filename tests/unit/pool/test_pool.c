/*
 * test_pool.c - gangs run whole and in turns, barriers order what is written, loops visit each index once,
 * the floating-point mode is IEEE's, and quotas of control groups are found. Run under ThreadSanitizer too,
 * which sees every missing order.
 */
#include "pool.h"
#include "support.h"

#include <float.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

enum { WORKERS_MOST = 8, ROUNDS = 200, GANGS = 500, LOOP = 5000 };

static int faults;

TN_PRINTF(2, 3)
static void expect(int holds, const char *format, ...) {
    va_list args;
    if (holds) { return; }
    va_start(args, format);
    fputs("FAILED: ", stderr);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
    va_end(args);
    faults++;
}

static tn_pool *make_pool(uint32_t count) {
    tn_error err = TN_ERROR_INIT;
    tn_pool *pool = NULL;
    if (tn_pool_create(count, &pool, &err) != TN_OK) {
        fprintf(stderr, "FAILED: tn_pool_create(%u): %s\n", count, err.text);
        exit(1);
    }
    return pool;
}

/* ---- barriers: plain memory, written before one and read behind it ----------------------------------- */

typedef struct ring {
    uint32_t count;
    uint32_t values[WORKERS_MOST]; /* not atomic: the barrier alone orders them */
    uint32_t wrong[WORKERS_MOST];
} ring;

static void pass_round(void *arg, uint32_t worker, tn_gang *gang) {
    ring *r = arg;
    for (uint32_t round = 1; round <= ROUNDS; round++) {
        r->values[worker] = round * 100 + worker;
        tn_gang_barrier(gang);
        uint32_t next = (worker + 1) % r->count;
        r->wrong[worker] += r->values[next] != round * 100 + next;
        tn_gang_barrier(gang);
    }
}

static void test_barrier(uint32_t count) {
    tn_pool *pool = make_pool(count);
    ring r = {.count = count};
    expect(tn_pool_count(pool) == count, "a pool of %u says that it has %u workers", count,
           tn_pool_count(pool));
    for (int again = 0; again < 3; again++) { tn_pool_gang(pool, pass_round, &r); }
    for (uint32_t w = 0; w < count; w++) {
        expect(r.wrong[w] == 0, "%u workers: worker %u saw %u old values behind a barrier", count, w,
               r.wrong[w]);
    }
    tn_pool_destroy(pool);
}

/* ---- many small gangs, from two threads at once ------------------------------------------------------ */

typedef struct turns {
    tn_pool *pool;
    atomic_uint *inside; /* gangs at work on the pool */
    atomic_uint *overlaps;
    uint32_t calls[WORKERS_MOST]; /* not atomic: of one worker each */
} turns;

static void one_turn(void *arg, uint32_t worker, tn_gang *gang) {
    turns *t = arg;
    if (worker == 0 && atomic_fetch_add(t->inside, 1) != 0) { atomic_fetch_add(t->overlaps, 1); }
    t->calls[worker]++;
    tn_gang_barrier(gang);
    if (worker == 0) { atomic_fetch_sub(t->inside, 1); }
}

static void *take_turns(void *arg) {
    turns *t = arg;
    for (int i = 0; i < GANGS; i++) { tn_pool_gang(t->pool, one_turn, t); }
    return NULL;
}

static void test_turns(uint32_t count) {
    tn_pool *pool = make_pool(count);
    atomic_uint inside = 0, overlaps = 0;
    turns mine = {.pool = pool, .inside = &inside, .overlaps = &overlaps}, other = mine;
    pthread_t thread;
    if (pthread_create(&thread, NULL, take_turns, &other) != 0) { exit(1); }
    take_turns(&mine);
    pthread_join(thread, NULL);
    expect(overlaps == 0, "%u workers: %u gangs overlapped", count, overlaps);
    for (uint32_t w = 0; w < count; w++) {
        expect(mine.calls[w] == GANGS && other.calls[w] == GANGS, "worker %u of %u: %u and %u calls of %d", w,
               count, mine.calls[w], other.calls[w], GANGS);
    }
    tn_pool_destroy(pool);
}

/* ---- loops ------------------------------------------------------------------------------------------ */

static void visit(void *arg, uint64_t index, uint32_t worker) {
    uint32_t *visits = arg;
    (void)worker;
    visits[index]++; /* not atomic: an index is visited by one worker */
}

static void test_loop(uint32_t count) {
    static const uint64_t sizes[] = {0, 1, 2, 7, 100, LOOP};
    tn_pool *pool = make_pool(count);
    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
        static uint32_t visits[LOOP + 1];
        memset(visits, 0, sizeof visits);
        tn_pool_for(pool, sizes[s], visit, visits);
        for (uint64_t i = 0; i <= LOOP; i++) {
            expect(visits[i] == (i < sizes[s]), "%u workers, %lu indexes: index %lu was visited %u times",
                   count, (unsigned long)sizes[s], (unsigned long)i, visits[i]);
        }
    }
    tn_pool_destroy(pool);
}

/* ---- floating-point mode ---------------------------------------------------------------------------- */

typedef struct modes {
    volatile float tiny;
    int kept[WORKERS_MOST];
} modes;

static void halve(void *arg, uint32_t worker, tn_gang *gang) {
    modes *m = arg;
    (void)gang;
    m->kept[worker] = m->tiny / 2 > 0;
}

static void test_float_mode(uint32_t count) {
#if defined(__x86_64__)
    /* A caller in flush-to-zero mode, who makes the threads too. */
    unsigned before = _mm_getcsr(), flushing = before | 0x8040;
    modes m = {.tiny = FLT_MIN};
    _mm_setcsr(flushing);
    tn_pool *pool = make_pool(count);
    expect(!(m.tiny / 2 > 0), "this thread does not flush to zero: the test tests nothing");
    tn_pool_gang(pool, halve, &m);
    expect((_mm_getcsr() & 0xffc0) == (flushing & 0xffc0), "the caller's mode is %#x after a gang, was %#x",
           _mm_getcsr(), flushing);
    _mm_setcsr(before);
    for (uint32_t w = 0; w < count; w++) { expect(m.kept[w], "worker %u of %u flushes to zero", w, count); }
    tn_pool_destroy(pool);
#else
    (void)count, (void)halve;
#endif
}

/* ---- how many ---------------------------------------------------------------------------------------- */

static void put(const char *root, const char *path, const char *text) {
    char *whole = tn_test_path(root, path);
    for (char *at = whole + strlen(root) + 1; (at = strchr(at, '/')); at++) {
        *at = 0;
        mkdir(whole, 0755);
        *at = '/';
    }
    tn_test_write(whole, text, strlen(text));
    free(whole);
}

static uint32_t affinity(void) {
    cpu_set_t set;
    return sched_getaffinity(0, sizeof set, &set) == 0 ? (uint32_t)CPU_COUNT(&set) : 1;
}

/* Quotas are given in CPUs of `most`, the affinity; what is expected is capped by it. */
static void test_quota(const char *what, const char *groups, const char *file, const char *text,
                       const char *second, uint32_t expected) {
    char *root = tn_test_folder();
    uint32_t most = affinity(), found;
    put(root, "proc/self/cgroup", groups);
    put(root, file, text);
    if (second) { put(root, "sys/fs/cgroup/cpu/a/b/cpu.cfs_period_us", second); }
    found = tn_cpus_usable(root);
    if (expected > most) { expected = most; }
    expect(found == expected, "%s: %u CPUs, expected %u", what, found, expected);
    tn_test_folder_remove(root);
}

static void test_quotas(void) {
    const char *v2 = "0::/a/b\n", *v1 = "9:cpuset:/a\n4:cpu,cpuacct:/a/b\n", *single = "4:cpu:/a/b\n";
    test_quota("no quota", v2, "sys/fs/cgroup/a/b/cpu.max", "max 100000\n", NULL, UINT32_MAX);
    test_quota("version 2, own group", v2, "sys/fs/cgroup/a/b/cpu.max", "100000 100000\n", NULL, 1);
    test_quota("version 2, rounded up", v2, "sys/fs/cgroup/a/b/cpu.max", "150000 100000\n", NULL, 2);
    test_quota("version 2, less than one", v2, "sys/fs/cgroup/a/b/cpu.max", "1000 100000\n", NULL, 1);
    test_quota("version 2, group above", v2, "sys/fs/cgroup/a/cpu.max", "100000 100000\n", NULL, 1);
    test_quota("version 2, root", "0::/\n", "sys/fs/cgroup/cpu.max", "100000 100000\n", NULL, 1);
    test_quota("version 2, not mounted under its path", v2, "sys/fs/cgroup/cpu.max", "90000 100000\n", NULL,
               1);
    test_quota("version 2, hybrid", v2, "sys/fs/cgroup/unified/a/b/cpu.max", "90000 100000\n", NULL, 1);
    test_quota("version 2, nonsense", v2, "sys/fs/cgroup/a/b/cpu.max", "-5 0\n", NULL, UINT32_MAX);
    test_quota("version 1, no quota", single, "sys/fs/cgroup/cpu/a/b/cpu.cfs_quota_us", "-1\n", "100000\n",
               UINT32_MAX);
    test_quota("version 1", single, "sys/fs/cgroup/cpu/a/b/cpu.cfs_quota_us", "50000\n", "100000\n", 1);
    test_quota("version 1, joint controllers", v1, "sys/fs/cgroup/cpu/a/b/cpu.cfs_quota_us", "50000\n",
               "100000\n", 1);
    test_quota("version 1, no period", single, "sys/fs/cgroup/cpu/a/b/cpu.cfs_quota_us", "50000\n", NULL,
               UINT32_MAX);
    test_quota("no line that can be read", "nonsense\n4:cpu\n", "sys/fs/cgroup/cpu.max", "100000 100000\n",
               NULL, UINT32_MAX);
}

static void test_bounds(void) {
    tn_error err = TN_ERROR_INIT;
    tn_pool *pool = NULL;
    expect(tn_pool_create(0, &pool, &err) == TN_E_RANGE && !pool, "a pool of no workers: %s", err.text);
    expect(tn_pool_create(1u << 30, &pool, &err) == TN_E_RANGE && !pool, "a pool of 2^30: %s", err.text);
    tn_pool_destroy(NULL);
    expect(tn_cpus_usable("") >= 1, "no CPU is usable");
}

int main(void) {
    for (uint32_t count = 1; count <= WORKERS_MOST; count++) {
        test_barrier(count);
        test_turns(count);
        test_loop(count);
        test_float_mode(count);
    }
    test_quotas();
    test_bounds();
    printf("pool: %d faults\n", faults);
    return faults != 0;
}
