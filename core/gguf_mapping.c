/*
 * Files mapped for reading, and the list of the live ones for signal handlers.
 *
 * The list only grows: an entry whose file was closed waits for the next file. So a reader may walk it at any
 * moment, in a signal handler too. Each entry is a seqlock: its count is odd while it changes and another one
 * afterwards. A reader that meets either skips the entry and never waits: an entry that changes cannot be the
 * one of a file that the reader is using.
 */
#include "gguf_mapping.h"

#include "tenon/gguf.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct tn_live_mapping {
    _Atomic(uint64_t) changes;
    _Atomic(uintptr_t) start;
    _Atomic(uint64_t) size; /* 0: nobody's */
    _Atomic(const char *) path;
    struct tn_live_mapping *next; /* set once, before the entry is to be seen */
} live_mapping;

static _Atomic(live_mapping *) live_first;
static pthread_mutex_t live_lock = PTHREAD_MUTEX_INITIALIZER; /* for writers */

/* Release on each member keeps it behind the odd count; the reader's acquire keeps its second look at the
 * count behind the members. */
static void live_set(live_mapping *live, const void *start, uint64_t size, const char *path) {
    uint64_t changes = atomic_load_explicit(&live->changes, memory_order_relaxed);
    atomic_store_explicit(&live->changes, changes + 1, memory_order_relaxed);
    atomic_store_explicit(&live->start, (uintptr_t)start, memory_order_release);
    atomic_store_explicit(&live->size, size, memory_order_release);
    atomic_store_explicit(&live->path, path, memory_order_release);
    atomic_store_explicit(&live->changes, changes + 2, memory_order_release);
}

static live_mapping *live_add(const void *start, uint64_t size, const char *path) {
    pthread_mutex_lock(&live_lock);
    live_mapping *first = atomic_load_explicit(&live_first, memory_order_relaxed);
    live_mapping *live = first;
    while (live && atomic_load_explicit(&live->size, memory_order_relaxed)) { live = live->next; }
    if (live) {
        live_set(live, start, size, path);
    } else if ((live = calloc(1, sizeof *live))) {
        live->next = first;
        live_set(live, start, size, path);
        atomic_store_explicit(&live_first, live, memory_order_release);
    }
    pthread_mutex_unlock(&live_lock);
    return live;
}

static void live_remove(live_mapping *live) {
    pthread_mutex_lock(&live_lock);
    live_set(live, NULL, 0, NULL);
    pthread_mutex_unlock(&live_lock);
}

const char *tn_gguf_mapped_at(const void *address) {
    live_mapping *live = atomic_load_explicit(&live_first, memory_order_acquire);
    for (; live; live = live->next) {
        uint64_t before = atomic_load_explicit(&live->changes, memory_order_acquire);
        uintptr_t start = atomic_load_explicit(&live->start, memory_order_acquire);
        uint64_t size = atomic_load_explicit(&live->size, memory_order_acquire);
        const char *path = atomic_load_explicit(&live->path, memory_order_acquire);
        uint64_t after = atomic_load_explicit(&live->changes, memory_order_relaxed);
        if (before == after && before % 2 == 0 && (uintptr_t)address - start < size) { return path; }
    }
    return NULL;
}

const char *tn_path_tail(const char *path) {
    size_t size = strlen(path), most = 400;
    if (size <= most) { return path; }
    path += size - most;
    while (((unsigned char)*path & 0xc0) == 0x80) { path++; }
    return path;
}

/* What a path is that is no regular file. */
static const char *kind_of(mode_t mode) {
    if (S_ISDIR(mode)) { return "a folder"; }
    if (S_ISFIFO(mode)) { return "a FIFO"; }
    return "a device or socket";
}

/* Maps the file at a multiple of the size of huge pages and asks for them: file systems that keep large pieces of
 * files (ext4 since Linux 6.16, xfs, btrfs) then give them without a copy, others ignore it. Reading weights
 * through pages of 4 KiB costs a fifth of the bandwidth of memory. */
static void *map_pages(int fd, size_t size) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE), whole = (size + page - 1) / page * page;
    unsigned char *room =
        mmap(NULL, whole + TN_HUGE_PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (room == MAP_FAILED) { return MAP_FAILED; }
    size_t before = -(uintptr_t)room % TN_HUGE_PAGE;
    void *data = mmap(room + before, size, PROT_READ, MAP_SHARED | MAP_FIXED, fd, 0);
    if (data == MAP_FAILED) {
        int cause = errno;
        munmap(room, whole + TN_HUGE_PAGE);
        errno = cause;
        return MAP_FAILED;
    }
    if (before) { munmap(room, before); }
    munmap(room + before + whole, TN_HUGE_PAGE - before);
    madvise(data, size, MADV_HUGEPAGE);
    return data;
}

/* O_NONBLOCK: a FIFO must not hold us up before we can see that it is one. */
static int32_t map_open_file(int fd, tn_mapping *out, tn_error *err) {
    struct stat st;
    const char *name = tn_path_tail(out->path);
    if (fstat(fd, &st) != 0) { TN_FAIL(err, TN_E_IO, "cannot look at %s: %s", name, strerror(errno)); }
    if (!S_ISREG(st.st_mode)) {
        TN_FAIL(err, TN_E_IO, "cannot read %s: it is %s, a file was expected", name, kind_of(st.st_mode));
    }
    if (st.st_size == 0) { return TN_OK; }
    void *data = map_pages(fd, (size_t)st.st_size);
    if (data == MAP_FAILED) { TN_FAIL(err, TN_E_IO, "cannot map %s: %s", name, strerror(errno)); }
    out->live = live_add(data, (uint64_t)st.st_size, out->path);
    if (!out->live) {
        munmap(data, (size_t)st.st_size);
        TN_FAIL(err, TN_E_MEMORY, "no memory left to open %s", name);
    }
    out->data = data;
    out->size = (uint64_t)st.st_size;
    return TN_OK;
}

int32_t tn_mapping_open(const char *path, tn_mapping *out, tn_error *err) {
    *out = (tn_mapping){.path = strdup(path)};
    if (!out->path) { TN_FAIL(err, TN_E_MEMORY, "no memory left to open %s", tn_path_tail(path)); }
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    int32_t code = fd < 0 ? tn_fail(err, TN_E_IO, "cannot open %s: %s", tn_path_tail(path), strerror(errno))
                          : map_open_file(fd, out, err);
    if (fd >= 0) { close(fd); }
    if (code != TN_OK) { tn_mapping_close(out); }
    return code;
}

int tn_pages_fetch(const void *data, uint64_t size) {
#if defined(MADV_POPULATE_READ)
    enum { POPULATE = MADV_POPULATE_READ };
#else
    enum { POPULATE = 22 };
#endif
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), from = (uintptr_t)data & ~(page - 1);
    int code = madvise((void *)from, (uintptr_t)data + size - from, POPULATE);
    return code != 0 && (errno == EFAULT || errno == EHWPOISON) ? -1 : 0;
}

void tn_mapping_close(tn_mapping *mapping) {
    if (mapping->live) { live_remove(mapping->live); }
    if (mapping->data) { munmap((void *)mapping->data, (size_t)mapping->size); }
    free(mapping->path);
    *mapping = (tn_mapping){0};
}
