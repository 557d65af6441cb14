/*
 * kernel_rig.c - see kernel_rig.h.
 */
#include "kernel_rig.h"

#include <math.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static int usable(const cpu_kernels *kernels) {
#ifdef __x86_64__
    if (kernels->isa & TN_ISA_AVX512_VNNI)
        return __builtin_cpu_supports("avx512vnni") && __builtin_cpu_supports("avx512vl");
    if (kernels->isa & TN_ISA_AVX2) return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
#endif
    return kernels->isa == 0;
}

const cpu_kernels *rig_table(const char *name) {
    for (const cpu_kernels *const *table = cpu_kernels_all; *table; table++) {
        if (strcmp((*table)->name, name) != 0) continue;
        if (!usable(*table)) cr_skip_test("%s: this machine lacks it", name);
        return *table;
    }
    cr_skip_test("%s: not compiled for this machine", name);
}

const cpu_kernels *rig_portable(void) {
    return rig_table("portable");
}

typedef struct mapping {
    void *start;
    size_t bytes;
} mapping;

enum { MAPPINGS = 64 };
static mapping mappings[MAPPINGS];
static size_t mapping_count;

static void *walled(size_t bytes, size_t align) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE), room = (bytes + align - 1) / align * align;
    size_t usable_bytes = (room + page - 1) / page * page + page;
    char *start = mmap(NULL, usable_bytes + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    cr_assert(start != MAP_FAILED && mapping_count < MAPPINGS);
    cr_assert_eq(mprotect(start + usable_bytes, page, PROT_NONE), 0);
    mappings[mapping_count++] = (mapping){start, usable_bytes + page};
    memset(start, 0x55, usable_bytes);
    return start + usable_bytes - room;
}

void *rig_memory(size_t bytes) {
    return walled(bytes, 1);
}
float *rig_floats(size_t count) {
    return walled(count * sizeof(float), 1);
}
void *rig_aligned(size_t bytes) {
    return walled(bytes, 64);
}

void rig_release(void) {
    while (mapping_count > 0) {
        mapping_count--;
        munmap(mappings[mapping_count].start, mappings[mapping_count].bytes);
    }
}

uint32_t rig_random(void) {
    static uint64_t state = 88172645463325252u;
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (uint32_t)(state >> 32);
}

float rig_uniform(void) {
    return (float)((int32_t)rig_random()) * 0x1p-31f;
}

void rig_fill(float *x, size_t count, int kind) {
    static const float specials[] = {NAN,   -NAN,   INFINITY, -INFINITY, 0.0f,
                                     -0.0f, 1e-40f, -1e-45f,  3e38f,     -3e38f};
    for (size_t i = 0; i < count; i++) {
        uint32_t dice = rig_random() % 16;
        x[i] = rig_uniform() * 4.0f;
        if (kind == RIG_WIDE)
            x[i] = dice == 0 ? 0.0f : ldexpf(rig_uniform(), (int)(rig_random() % 270) - 145);
        if (kind == RIG_SPECIAL && dice < 2) x[i] = specials[rig_random() % 10];
    }
}

int rig_same(float a, float b) {
    return memcmp(&a, &b, sizeof a) == 0 || (a != a && b != b);
}

void rig_expect_same(const float *got, const float *want, size_t count, const char *what, size_t size) {
    for (size_t i = 0; i < count; i++)
        if (!rig_same(got[i], want[i]))
            cr_assert_fail("%s, size %zu, place %zu: got %a, expected %a", what, size, i, got[i], want[i]);
}
