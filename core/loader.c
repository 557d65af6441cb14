/*
 * loader.c - reads, hashes and loads library files.
 *
 * The file is opened once. What is hashed and judged is read through the descriptor, and the dynamic linker
 * is given /proc/self/fd/N, which is that very file whatever its name has come to mean. glibc remembers
 * libraries by such names too: were N closed and used again, it would hand out the old library; so
 * descriptors of loaded libraries stay open, and the mapping's file is compared with the descriptor's
 * afterwards. Somebody who writes into the file itself between hash and load is not kept out by this but by
 * the checks of trust.c: only root and the user can, and they can do anything to this process anyway.
 */
#include "loader.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <link.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Libraries that this process has loaded. They are never unloaded: code of theirs may be on any stack. */
typedef struct loaded {
    struct loaded *next;
    const tn_plugin *plugin;
    struct stat st;
    char sha256[TN_SHA256_TEXT];
} loaded;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static loaded *all;

int32_t tn_library_read(const char *path, int fd, tn_library *out, tn_error *err) {
    *out = (tn_library){.path = path, .fd = fd};
    if (fstat(fd, &out->st) != 0) { TN_FAIL(err, TN_E_IO, "%s: %s", path, strerror(errno)); }
    if (out->st.st_size > (off_t)TN_LIBRARY_MOST) {
        TN_FAIL(err, TN_E_PLUGIN_BROKEN, "%s: %lld bytes, a plugin has at most %u", path,
                (long long)out->st.st_size, TN_LIBRARY_MOST);
    }
    TN_TRY(tn_fd_read(fd, path, (size_t)out->st.st_size, &out->bytes, err));
    tn_sha256(out->bytes, (size_t)out->st.st_size, out->sha256);
    return TN_OK;
}

void tn_library_close(tn_library *library) {
    free(library->bytes);
    library->bytes = NULL;
    if (library->fd >= 0) { close(library->fd); }
    library->fd = -1;
}

/* ---- the file behind a mapping ---------------------------------------------------------------------- */

typedef struct mapped_file {
    unsigned major, minor;
    unsigned long long inode;
} mapped_file;

static int find_mapping(const char *proc, const void *address, mapped_file *out) {
    char line[PATH_MAX + 128];
    int found = 0;
    snprintf(line, sizeof line, "%s/self/maps", proc);
    FILE *maps = fopen(line, "re");
    while (maps && !found && fgets(line, sizeof line, maps)) {
        unsigned long long from, to;
        if (sscanf(line, "%llx-%llx %*s %*s %x:%x %llu", &from, &to, &out->major, &out->minor, &out->inode) ==
            5) {
            found = from <= (uintptr_t)address && (uintptr_t)address < to;
        }
    }
    if (maps) { fclose(maps); }
    return found;
}

/* Whether the file mapped at `address` is the one of `fd`. A page of the latter is mapped for comparison: on
 * overlay and btrfs file systems a mapping's device is not what stat() says. */
static int same_file(const char *proc, const void *address, int fd) {
    mapped_file theirs, ours;
    void *page = mmap(NULL, 1, PROT_READ, MAP_PRIVATE, fd, 0);
    if (page == MAP_FAILED) { return 0; }
    int same = find_mapping(proc, address, &theirs) && find_mapping(proc, page, &ours) &&
               theirs.major == ours.major && theirs.minor == ours.minor && theirs.inode == ours.inode;
    munmap(page, 1);
    return same;
}

/* ---- loading ---------------------------------------------------------------------------------------- */

static int same_time(const struct timespec *a, const struct timespec *b) {
    return a->tv_sec == b->tv_sec && a->tv_nsec == b->tv_nsec;
}

/* Finds the file among those loaded. TN_E_NOT_FOUND: it is not there. */
static int32_t find_loaded(const tn_library *library, const tn_plugin **out, tn_error *err) {
    for (const loaded *l = all; l; l = l->next) {
        if (l->st.st_dev != library->st.st_dev || l->st.st_ino != library->st.st_ino) { continue; }
        if (l->st.st_size != library->st.st_size || !same_time(&l->st.st_mtim, &library->st.st_mtim) ||
            strcmp(l->sha256, library->sha256) != 0) {
            TN_FAIL(err, TN_E_PLUGIN_HASH, "%s has changed since this process loaded it", library->path);
        }
        *out = l->plugin;
        return TN_OK;
    }
    return TN_E_NOT_FOUND;
}

/* The linker names the file as it was given; readers know it by its path. */
static const char *linker_words(const char *name) {
    const char *text = dlerror();
    size_t size = strlen(name);
    if (!text) { return "the dynamic linker says nothing"; }
    if (strncmp(text, name, size) == 0 && strncmp(text + size, ": ", 2) == 0) { text += size + 2; }
    return text;
}

static int same_as_hashed(const tn_library *library, const char *proc, int by_path, void *handle) {
    struct link_map *map;
    struct stat st;
    if (by_path) {
        return stat(library->path, &st) == 0 && st.st_dev == library->st.st_dev &&
               st.st_ino == library->st.st_ino;
    }
    return dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0 && same_file(proc, map->l_ld, library->fd);
}

static int32_t link_library(tn_library *library, const char *proc, const tn_plugin **out, tn_error *err) {
    char name[PATH_MAX];
    snprintf(name, sizeof name, "%s/self/fd/%d", proc, library->fd);
    int by_path = access(name, F_OK) != 0;
    if (by_path) { snprintf(name, sizeof name, "%s", library->path); }
    void *handle = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (!handle) { TN_FAIL(err, TN_E_PLUGIN_BROKEN, "%s: %s", library->path, linker_words(name)); }
    int same = same_as_hashed(library, proc, by_path, handle);
    library->fd = -1; /* stays open: the linker knows the library by it */
    if (!same) {
        TN_FAIL(err, TN_E_PLUGIN_HASH, "%s: what was loaded is not the file that was hashed", library->path);
    }
    *out = dlsym(handle, TN_PLUGIN_SYMBOL);
    if (!*out) { TN_FAIL(err, TN_E_PLUGIN_BROKEN, "%s: %s", library->path, linker_words(name)); }
    return TN_OK;
}

static int32_t load_new(tn_library *library, const char *proc, const tn_plugin **out, tn_error *err) {
    loaded *entry = malloc(sizeof *entry);
    if (!entry) { TN_FAIL(err, TN_E_MEMORY, "no memory to load %s", library->path); }
    int32_t code = link_library(library, proc, out, err);
    if (code != TN_OK) {
        free(entry);
        return code;
    }
    *entry = (loaded){.next = all, .plugin = *out, .st = library->st};
    memcpy(entry->sha256, library->sha256, sizeof entry->sha256);
    all = entry;
    return TN_OK;
}

int32_t tn_library_load(tn_library *library, const char *proc, const tn_plugin **out, tn_error *err) {
    pthread_mutex_lock(&lock);
    int32_t code = find_loaded(library, out, err);
    if (code == TN_E_NOT_FOUND) { code = load_new(library, proc, out, err); }
    pthread_mutex_unlock(&lock);
    if (code == TN_OK) { tn_library_close(library); }
    return code;
}
