/* part_file.c - see tenon/part.h. */
#include "part_file.h"

#include "gguf_mapping.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { NAMES_TRIED = 100 };

static int32_t no_memory(const char *path, tn_error *err) {
    TN_FAIL(err, TN_E_MEMORY, "%s: no memory left to write it", tn_path_tail(path));
}

static int32_t failed(const tn_part *part, const char *what, tn_error *err) {
    TN_FAIL(err, TN_E_IO, "cannot %s %s: %s", what, tn_path_tail(part->path), strerror(errno));
}

static void release(tn_part *part) {
    free(part->path);
    free(part->name);
    free(part->buffer);
    free(part);
}

/* The folder of a path; to be freed, NULL: no memory. */
static char *folder_of(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash == path ? strdup("/") : slash ? strndup(path, (size_t)(slash - path)) : strdup(".");
}

/* ---- create -------------------------------------------------------------------------------------------- */

static int32_t new_name(tn_part *part, tn_error *err) {
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz012345";
    unsigned char random[6];
    char name[sizeof random + 1] = {0};
    if (getentropy(random, sizeof random) != 0) { return failed(part, "find a name beside", err); }
    for (size_t i = 0; i < sizeof random; i++) { name[i] = letters[random[i] % 32]; }
    free(part->name);
    if (asprintf(&part->name, "%s.part-%s", part->path, name) < 0) {
        part->name = NULL;
        return no_memory(part->path, err);
    }
    return TN_OK;
}

/* Not mkstemp(): the mode shall be the one of any new file. */
static int32_t open_named(tn_part *part, int *fd, tn_error *err) {
    for (int attempt = 0; attempt < NAMES_TRIED; attempt++) {
        TN_TRY(new_name(part, err));
        *fd = open(part->name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (*fd >= 0) { return TN_OK; }
        if (errno != EEXIST) { break; }
    }
    return failed(part, "create a file beside", err);
}

enum { FD_PATH = 32 };

static void path_of_fd(int fd, char out[FD_PATH]) {
    snprintf(out, FD_PATH, "/proc/self/fd/%d", fd);
}

/* A file without a name; -1 where the file system has none, or where it could not be given one later. */
static int open_nameless(const tn_part *part) {
    char *folder = folder_of(part->path), link[FD_PATH];
    struct stat opened, linked;
    if (!folder) { return -1; }
    int fd = open(folder, O_WRONLY | O_TMPFILE | O_CLOEXEC, 0666);
    free(folder);
    if (fd < 0) { return -1; }
    path_of_fd(fd, link);
    if (fstat(fd, &opened) == 0 && stat(link, &linked) == 0 && opened.st_ino == linked.st_ino &&
        opened.st_dev == linked.st_dev) {
        return fd;
    }
    close(fd);
    return -1;
}

static int32_t open_part(tn_part *part, tn_error *err) {
    int fd = open_nameless(part);
    if (fd < 0) { TN_TRY(open_named(part, &fd, err)); }
    part->fd = fd;
    return TN_OK;
}

/* While it grows, a file may need a longer name beside its target. */
static int32_t check_length(const char *path, tn_error *err) {
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    size_t most = NAME_MAX - (sizeof ".part-xxxxxx" - 1);
    if (strlen(name) <= most) { return TN_OK; }
    TN_FAIL(err, TN_E_IO, "%s: a name of %zu bytes, at most %zu were expected", tn_path_tail(path),
            strlen(name), most);
}

/* What is there is a regular file or a link to one, is reached through its links, so that they stay, and tells the mode. */
static int32_t look_at_target(tn_part *part, tn_error *err) {
    struct stat there;
    part->replaces = stat(part->path, &there) == 0 || lstat(part->path, &there) == 0;
    if (!part->replaces && errno != ENOENT) {
        TN_FAIL(err, TN_E_IO, "no file can be written at %s: %s", tn_path_tail(part->path), strerror(errno));
    }
    if (!part->replaces) { return check_length(part->path, err); }
    if (!S_ISREG(there.st_mode)) {
        TN_FAIL(err, TN_E_INPUT, "%s is there already, and no regular file", tn_path_tail(part->path));
    }
    char *real = realpath(part->path, NULL);
    if (!real) { return failed(part, "find", err); }
    free(part->path);
    part->path = real;
    part->mode = there.st_mode & 0777;
    return check_length(part->path, err);
}

static int32_t check_folder(const char *path, tn_error *err) {
    char *folder = folder_of(path);
    if (!folder) { return no_memory(path, err); }
    int can = access(folder, W_OK | X_OK) == 0, why = errno;
    free(folder);
    if (can) { return TN_OK; }
    TN_FAIL(err, TN_E_IO, "no file can be written at %s: its folder: %s", tn_path_tail(path), strerror(why));
}

int32_t tn_part_check(const char *path, tn_error *err) {
    tn_part part = {.path = strdup(path)};
    int32_t code = part.path ? look_at_target(&part, err) : no_memory(path, err);
    if (code == TN_OK) { code = check_folder(part.path, err); }
    free(part.path);
    return code;
}

int32_t tn_part_create(const char *path, tn_part **out, tn_error *err) {
    *out = NULL;
    tn_part *part = calloc(1, sizeof *part);
    if (!part) { return no_memory(path, err); }
    part->fd = -1;
    part->path = strdup(path);
    int32_t code = part->path ? look_at_target(part, err) : no_memory(path, err);
    if (code == TN_OK) { code = open_part(part, err); }
    if (code != TN_OK) {
        release(part);
        return code;
    }
    *out = part;
    return TN_OK;
}

const char *tn_part_unfinished(const tn_part *part) {
    return part->name;
}

void tn_part_abandon(tn_part *part) {
    if (!part) { return; }
    if (part->fd >= 0) { close(part->fd); }
    if (part->name && !part->kept) { unlink(part->name); }
    release(part);
}

/* ---- write and finish ---------------------------------------------------------------------------------- */

/* What could not be written once stays so. */
static int32_t lose(tn_part *part, const char *what, tn_error *err) {
    if (!part->lost) { part->lost = errno; }
    errno = part->lost;
    return failed(part, what, err);
}

/* Writes behind what is written, or at the beginning. */
static int32_t put(tn_part *part, const unsigned char *data, size_t size, int at_start, tn_error *err) {
    for (size_t done = 0; done < size && !part->lost;) {
        ssize_t n = at_start ? pwrite(part->fd, data + done, size - done, (off_t)done)
                             : write(part->fd, data + done, size - done);
        if (n > 0) {
            done += (size_t)n;
        } else if (n == 0 || errno != EINTR) {
            if (n == 0) { errno = ENOSPC; }
            return lose(part, "write", err);
        }
    }
    return part->lost ? lose(part, "write", err) : TN_OK;
}

/* Fills the buffer, which goes out whole, so that every write begins at a multiple of a huge page: file systems that know
 * them (ext4 since Linux 6.16, xfs, btrfs) then keep the file in such pages, and a model that was just written is mapped so. */
static int32_t fill(tn_part *part, const unsigned char **data, uint64_t *size, tn_error *err) {
    if (!part->buffer && !(part->buffer = malloc(TN_HUGE_PAGE))) { return no_memory(part->path, err); }
    size_t room = TN_HUGE_PAGE - part->buffered, step = *size < room ? (size_t)*size : room;
    memcpy(part->buffer + part->buffered, *data, step);
    part->buffered += step;
    *data += step;
    *size -= step;
    if (part->buffered < TN_HUGE_PAGE) { return TN_OK; }
    part->buffered = 0;
    return put(part, part->buffer, TN_HUGE_PAGE, 0, err);
}

int32_t tn_part_write(tn_part *part, const void *data, uint64_t size, tn_error *err) {
    const unsigned char *p = data;
    if (part->lost) { return lose(part, "write", err); }
    while (size) {
        if (part->buffered || size < TN_HUGE_PAGE) {
            TN_TRY(fill(part, &p, &size, err));
            continue;
        }
        uint64_t whole = size / TN_HUGE_PAGE * TN_HUGE_PAGE;
        TN_TRY(put(part, p, whole, 0, err));
        p += whole;
        size -= whole;
    }
    return TN_OK;
}

int32_t tn_part_flush(tn_part *part, tn_error *err) {
    size_t size = part->buffered;
    part->buffered = 0;
    int32_t code = put(part, part->buffer, size, 0, err);
    free(part->buffer);
    part->buffer = NULL;
    return code;
}

int32_t tn_part_rewrite(tn_part *part, const void *data, uint64_t size, tn_error *err) {
    TN_TRY(tn_part_flush(part, err));
    return put(part, data, size, 1, err);
}

int32_t tn_part_seal(tn_part *part, tn_error *err) {
    if (part->sealed) { return TN_OK; }
    TN_TRY(tn_part_flush(part, err));
    if (part->replaces && fchmod(part->fd, part->mode) != 0) { return lose(part, "set the mode of", err); }
    if (fsync(part->fd) != 0) { return lose(part, "sync", err); }
    part->sealed = 1;
    return TN_OK;
}

/* 0, or why not. */
static int link_as(const char *from, const char *to) {
    return linkat(AT_FDCWD, from, AT_FDCWD, to, AT_SYMLINK_FOLLOW) == 0 ? 0 : errno;
}

/* Gives a nameless file a name of its own to be renamed from; `why` is why it cannot have the target's. */
static int32_t give_name(tn_part *part, int why, tn_error *err) {
    char from[FD_PATH];
    path_of_fd(part->fd, from);
    for (int attempt = 0; why == EEXIST && attempt < NAMES_TRIED; attempt++) {
        TN_TRY(new_name(part, err));
        why = link_as(from, part->name);
    }
    if (why == 0) { return TN_OK; }
    free(part->name);
    part->name = NULL;
    errno = why;
    return failed(part, "put in its place", err);
}

bool tn_part_blocked(const tn_part *part) {
    struct stat there;
    return lstat(part->path, &there) == 0 && !(part->replaces && S_ISREG(there.st_mode));
}

int32_t tn_part_keep(tn_part *part, tn_error *err) {
    TN_TRY(tn_part_seal(part, err));
    if (!part->name) { TN_TRY(give_name(part, EEXIST, err)); }
    part->kept = true;
    return TN_OK;
}

/* Where the file system knows no such renaming, a second name does it; where it knows none of those either, nobody else
 * is kept out. */
static int rename_to_new(const char *from, const char *to) {
    if (renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE) == 0) { return 0; }
    if (errno != EINVAL && errno != ENOSYS) { return -1; }
    if (link(from, to) == 0) { return unlink(from); }
    return errno == EEXIST ? -1 : rename(from, to);
}

static int32_t close_part(tn_part *part, tn_error *err) {
    int fd = part->fd;
    part->fd = -1;
    return close(fd) == 0 ? TN_OK : failed(part, "write", err);
}

static int32_t put_in_place(tn_part *part, tn_error *err) {
    TN_TRY(tn_part_seal(part, err));
    if (!part->name) {
        char from[FD_PATH];
        path_of_fd(part->fd, from);
        int why = part->replaces ? EEXIST : link_as(from, part->path);
        if (why == 0) { return close_part(part, err); }
        TN_TRY(give_name(part, why, err));
    }
    TN_TRY(close_part(part, err));
    int done = part->replaces ? rename(part->name, part->path) : rename_to_new(part->name, part->path);
    if (done == 0) { return TN_OK; }
    part->kept = true; /* whole, and on disk: it is not lost for a name */
    TN_FAIL(err, TN_E_IO, "%s cannot take its place (%s): it is kept as %s", tn_path_tail(part->path),
            errno == EEXIST ? "another file has appeared there" : strerror(errno), tn_path_tail(part->name));
}

static int32_t sync_folder(const char *path, tn_error *err) {
    char *folder = folder_of(path);
    if (!folder) { return no_memory(path, err); }
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    free(folder);
    int done = fd >= 0 && fsync(fd) == 0;
    int why = errno;
    if (fd >= 0) { close(fd); }
    if (done || why == EINVAL) { return TN_OK; } /* EINVAL: this file system syncs no folders */
    TN_FAIL(err, TN_E_IO, "%s is written, but its folder cannot be synced: %s", tn_path_tail(path),
            strerror(why));
}

int32_t tn_part_make_way(const tn_part *part, tn_error *err) {
    if (!part->replaces) { return TN_OK; }
    if (unlink(part->path) == 0) { return sync_folder(part->path, err); }
    return errno == ENOENT ? TN_OK : failed(part, "replace", err);
}

int32_t tn_part_finish(tn_part *part, tn_error *err) {
    int32_t code = put_in_place(part, err);
    if (code != TN_OK) {
        tn_part_abandon(part);
        return code;
    }
    code = sync_folder(part->path, err);
    release(part);
    return code;
}
