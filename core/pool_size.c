/*
 * pool_size.c - how many CPUs this process may really use: those of its affinity mask, capped by the CPU
 * quotas of its control groups, of version 2 (cpu.max) and version 1 (cpu.cfs_quota_us), from its own group
 * up to the root: the tightest one counts. Quotas are rounded up: 1.5 CPUs are used by two threads.
 */
#include "pool.h"

#include <inttypes.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint32_t affinity_count(void) {
    for (size_t cpus = 1024; cpus <= 1u << 20; cpus *= 2) {
        cpu_set_t *set = CPU_ALLOC(cpus);
        if (!set) { return 1; }
        size_t size = CPU_ALLOC_SIZE(cpus);
        int failed = sched_getaffinity(0, size, set);
        uint32_t count = failed ? 0 : (uint32_t)CPU_COUNT_S(size, set);
        CPU_FREE(set);
        if (!failed) { return count > 0 ? count : 1; }
    }
    return 1;
}

/* The first line of a small file; 0 if it cannot be read. */
static int read_line(const char *path, char *out, int size) {
    FILE *file = fopen(path, "re");
    int found = file && fgets(out, size, file) != NULL;
    if (file) { fclose(file); }
    return found;
}

static uint32_t whole_cpus(int64_t quota, int64_t period) {
    if (quota <= 0 || period <= 0) { return UINT32_MAX; }
    int64_t cpus = quota / period + (quota % period != 0);
    return cpus < UINT32_MAX ? (uint32_t)cpus : UINT32_MAX;
}

/* Quota of one group, UINT32_MAX if it has none. */
static uint32_t group_quota(const char *folder, int version) {
    char path[PATH_MAX], line[64];
    int64_t quota = -1, period = -1;
    if (version == 2) {
        if (snprintf(path, sizeof path, "%s/cpu.max", folder) >= (int)sizeof path) { return UINT32_MAX; }
        if (!read_line(path, line, sizeof line)) { return UINT32_MAX; }
        return sscanf(line, "%" SCNd64 " %" SCNd64, &quota, &period) == 2 ? whole_cpus(quota, period)
                                                                          : UINT32_MAX;
    }
    if (snprintf(path, sizeof path, "%s/cpu.cfs_quota_us", folder) >= (int)sizeof path) { return UINT32_MAX; }
    if (!read_line(path, line, sizeof line) || sscanf(line, "%" SCNd64, &quota) != 1) { return UINT32_MAX; }
    if (snprintf(path, sizeof path, "%s/cpu.cfs_period_us", folder) >= (int)sizeof path) {
        return UINT32_MAX;
    }
    if (!read_line(path, line, sizeof line) || sscanf(line, "%" SCNd64, &period) != 1) { return UINT32_MAX; }
    return whole_cpus(quota, period);
}

/* The tightest quota from `group` up to the mount. In a container whose group is not mounted under its full
 * path the lower steps are simply not there, and the mount itself is the container's group. */
static uint32_t quota_upwards(const char *mount, const char *group, int version) {
    char folder[PATH_MAX];
    uint32_t least = UINT32_MAX;
    if (snprintf(folder, sizeof folder, "%s%s", mount, group) >= (int)sizeof folder) { return least; }
    for (size_t shortest = strlen(mount);;) {
        uint32_t here = group_quota(folder, version);
        if (here < least) { least = here; }
        char *slash = strrchr(folder, '/');
        if (!slash || (size_t)(slash - folder) < shortest) { return least; }
        *slash = 0;
    }
}

static int lists_cpu(const char *controllers) {
    for (const char *at = controllers; *at;) {
        size_t size = strcspn(at, ",");
        if (size == 3 && memcmp(at, "cpu", 3) == 0) { return 1; }
        at += size + (at[size] == ',');
    }
    return 0;
}

/* A line of /proc/self/cgroup: "number:controllers:/path", without controllers for version 2. */
static uint32_t line_quota(const char *root, char *line) {
    char mount[PATH_MAX];
    line[strcspn(line, "\n")] = 0;
    char *controllers = strchr(line, ':');
    char *group = controllers ? strchr(controllers + 1, ':') : NULL;
    if (!group) { return UINT32_MAX; }
    controllers++;
    *group++ = 0;
    if (controllers[0] == 0) {
        snprintf(mount, sizeof mount, "%s/sys/fs/cgroup", root);
        uint32_t unified = quota_upwards(mount, group, 2);
        snprintf(mount, sizeof mount, "%s/sys/fs/cgroup/unified", root);
        uint32_t hybrid = quota_upwards(mount, group, 2);
        return unified < hybrid ? unified : hybrid;
    }
    if (!lists_cpu(controllers)) { return UINT32_MAX; }
    snprintf(mount, sizeof mount, "%s/sys/fs/cgroup/%s", root, controllers);
    uint32_t joint = quota_upwards(mount, group, 1);
    snprintf(mount, sizeof mount, "%s/sys/fs/cgroup/cpu", root);
    uint32_t single = quota_upwards(mount, group, 1);
    return joint < single ? joint : single;
}

uint32_t tn_cpus_usable(const char *root) {
    char path[PATH_MAX], line[PATH_MAX];
    uint32_t count = affinity_count();
    snprintf(path, sizeof path, "%s/proc/self/cgroup", root);
    FILE *file = fopen(path, "re");
    while (file && fgets(line, sizeof line, file)) {
        uint32_t quota = line_quota(root, line);
        if (quota < count) { count = quota; }
    }
    if (file) { fclose(file); }
    return count;
}
