/*
 * trust.c - owners, modes and links of plugin folders and of the files in them.
 */
#include "trust.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int owner_trusted(const struct stat *st) {
    return st->st_uid == 0 || st->st_uid == geteuid();
}

static int32_t check_owner(const char *path, const struct stat *st, tn_error *err) {
    if (owner_trusted(st)) { return TN_OK; }
    TN_FAIL(err, TN_E_PLUGIN_UNTRUSTED, "%s belongs to user %u, neither to root nor to user %u", path,
            (unsigned)st->st_uid, (unsigned)geteuid());
}

static int32_t check_mode(const char *path, const struct stat *st, tn_error *err) {
    if (!(st->st_mode & (S_IWGRP | S_IWOTH))) { return TN_OK; }
    TN_FAIL(err, TN_E_PLUGIN_UNTRUSTED, "%s may be written by %s (mode %04o)", path,
            st->st_mode & S_IWOTH ? "everybody" : "its group", (unsigned)st->st_mode & 07777);
}

/* One folder on the way; `last` is the plugin folder itself, where a sticky bit is not enough: others could
 * put files beside ours. */
static int32_t check_step(const char *path, int last, tn_error *err) {
    struct stat st;
    if (lstat(path, &st) != 0) {
        TN_FAIL(err, errno == ENOENT ? TN_E_NOT_FOUND : TN_E_IO, "%s: %s", path, strerror(errno));
    }
    if (!S_ISDIR(st.st_mode)) { TN_FAIL(err, TN_E_PLUGIN_UNTRUSTED, "%s is not a folder", path); }
    TN_TRY(check_owner(path, &st, err));
    return !last && st.st_mode & S_ISVTX ? TN_OK : check_mode(path, &st, err);
}

static int32_t check_way(const char *real, tn_error *err) {
    char step[PATH_MAX];
    snprintf(step, sizeof step, "%s", real); /* realpath's results fit */
    TN_TRY(check_step("/", real[1] == 0, err));
    for (char *at = step + 1; *at;) {
        at += strcspn(at, "/");
        char rest = *at;
        *at = 0;
        TN_TRY(check_step(step, rest == 0, err));
        *at = rest;
        at += rest != 0;
    }
    return TN_OK;
}

int32_t tn_folder_open(const char *path, tn_folder *out, tn_error *err) {
    struct stat named, opened;
    *out = (tn_folder){.fd = -1};
    out->path = realpath(path, NULL);
    if (!out->path) {
        TN_FAIL(err, errno == ENOMEM ? TN_E_MEMORY : TN_E_NOT_FOUND, "%s: %s", path, strerror(errno));
    }
    if (stat(out->path, &named) != 0 || !S_ISDIR(named.st_mode)) {
        TN_FAIL(err, TN_E_NOT_FOUND, "%s: not a folder", path);
    }
    TN_TRY(check_way(out->path, err));
    out->fd = open(out->path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (out->fd < 0) { TN_FAIL(err, TN_E_IO, "%s: %s", out->path, strerror(errno)); }
    if (fstat(out->fd, &opened) != 0 || named.st_dev != opened.st_dev || named.st_ino != opened.st_ino) {
        TN_FAIL(err, TN_E_PLUGIN_UNTRUSTED, "%s was exchanged while it was checked", out->path);
    }
    return TN_OK;
}

void tn_folder_close(tn_folder *folder) {
    if (folder->fd >= 0) { close(folder->fd); }
    free(folder->path);
    *folder = (tn_folder){.fd = -1};
}

static const char *kind_of(mode_t mode) {
    switch (mode & S_IFMT) {
    case S_IFLNK: return "a symbolic link";
    case S_IFDIR: return "a folder";
    case S_IFIFO: return "a pipe";
    case S_IFSOCK: return "a socket";
    default: return "a device";
    }
}

static int32_t check_file(const tn_folder *folder, const char *name, const struct stat *st, tn_error *err) {
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/%s", folder->path, name);
    if (!S_ISREG(st->st_mode)) {
        TN_FAIL(err, TN_E_PLUGIN_UNTRUSTED, "%s is %s, not a regular file", path, kind_of(st->st_mode));
    }
    TN_TRY(check_owner(path, st, err));
    return check_mode(path, st, err);
}

int32_t tn_file_check(const tn_folder *folder, const char *name, tn_error *err) {
    struct stat st;
    if (fstatat(folder->fd, name, &st, AT_SYMLINK_NOFOLLOW) != 0) {
        TN_FAIL(err, errno == ENOENT ? TN_E_NOT_FOUND : TN_E_IO, "%s/%s: %s", folder->path, name,
                strerror(errno));
    }
    return check_file(folder, name, &st, err);
}

int32_t tn_file_open(const tn_folder *folder, const char *name, int *fd, struct stat *st, tn_error *err) {
    TN_TRY(tn_file_check(folder, name, err)); /* says what a link or pipe is; the rest is checked again */
    *fd = openat(folder->fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (*fd < 0) { TN_FAIL(err, TN_E_IO, "%s/%s: %s", folder->path, name, strerror(errno)); }
    int32_t code = fstat(*fd, st) == 0
                       ? check_file(folder, name, st, err)
                       : tn_fail(err, TN_E_IO, "%s/%s: %s", folder->path, name, strerror(errno));
    if (code != TN_OK) {
        close(*fd);
        *fd = -1;
    }
    return code;
}

int32_t tn_fd_read(int fd, const char *path, size_t size, char **out, tn_error *err) {
    char *text = malloc(size + 1);
    *out = NULL;
    if (!text) { TN_FAIL(err, TN_E_MEMORY, "no memory for the %zu bytes of %s", size, path); }
    for (size_t at = 0; at < size;) {
        ssize_t got = pread(fd, text + at, size - at, (off_t)at);
        if (got > 0) {
            at += (size_t)got;
        } else if (got == 0 || errno != EINTR) {
            int32_t code = got == 0 ? tn_fail(err, TN_E_IO, "%s became shorter while it was read", path)
                                    : tn_fail(err, TN_E_IO, "%s: %s", path, strerror(errno));
            free(text);
            return code;
        }
    }
    text[size] = 0;
    *out = text;
    return TN_OK;
}

int32_t tn_file_read(const tn_folder *folder, const char *name, size_t most, char **text, size_t *size,
                     tn_error *err) {
    char path[PATH_MAX];
    struct stat st;
    int fd;
    *text = NULL;
    *size = 0;
    TN_TRY(tn_file_open(folder, name, &fd, &st, err));
    snprintf(path, sizeof path, "%s/%s", folder->path, name);
    *size = (size_t)st.st_size;
    int32_t code = *size > most ? tn_fail(err, TN_E_PLUGIN_MANIFEST, "%s: %zu bytes, at most %zu are read",
                                          path, *size, most)
                                : tn_fd_read(fd, path, *size, text, err);
    close(fd);
    return code;
}
