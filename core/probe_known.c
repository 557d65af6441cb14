/*
 * probe_known.c - hashes that need no trial: of the plugins that were built or installed together with
 * libtenon, and of those that passed a trial before on this user's account.
 */
#include "probe.h"
#include "trust_search.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Longer lists are not read, and a cache that comes to it starts anew: some 15000 hashes. */
enum { LIST_MOST = 1 << 20 };

/* True if `text` has exactly this line. */
static int has_line(const char *text, const char *line) {
    size_t size = strlen(line);
    for (const char *at = text; at && *at;) {
        if (strncmp(at, line, size) == 0 && (at[size] == '\n' || at[size] == 0)) { return 1; }
        at = strchr(at, '\n');
        if (at) { at++; }
    }
    return 0;
}

/* A list that cannot be read or is not to be trusted knows nothing: then there is a trial. */
static int list_has(const tn_folder *folder, const char *name, const char *line) {
    char *text;
    size_t size;
    int found = tn_file_read(folder, name, LIST_MOST, &text, &size, NULL) == TN_OK && has_line(text, line);
    free(text);
    return found;
}

int tn_probe_is_own(const tn_folder *folder, const char *file, const char *sha256) {
    char line[512];
    return snprintf(line, sizeof line, "%s  %s", sha256, file) < (int)sizeof line &&
           list_has(folder, "known.sha256", line);
}

int tn_probe_passed_before(const char *sha256) {
    char *path = tn_user_folder("XDG_CACHE_HOME", ".cache");
    tn_folder folder = {.fd = -1};
    int found = path && tn_folder_open(path, &folder, NULL) == TN_OK && list_has(&folder, "probed", sha256);
    tn_folder_close(&folder);
    free(path);
    return found;
}

/* ---- the cache -------------------------------------------------------------------------------------- */

static int32_t make_folders(char *path, tn_error *err) {
    for (char *at = path + 1;; at++) {
        char was = *at;
        if (was && was != '/') { continue; }
        *at = 0;
        int failed = mkdir(path, 0700) != 0 && errno != EEXIST;
        if (failed) { TN_FAIL(err, TN_E_IO, "%s: %s", path, strerror(errno)); }
        *at = was;
        if (!was) { return TN_OK; }
    }
}

static int write_all(int fd, const char *text, size_t size) {
    while (size) {
        ssize_t put = write(fd, text, size);
        if (put < 0 && errno != EINTR) { return 0; }
        if (put > 0) {
            text += put;
            size -= (size_t)put;
        }
    }
    return 1;
}

/* Writes a new list beside the old one and renames it over. Of two that do so at once one hash may be lost,
 * which costs a trial more. */
static int32_t replace_list(const tn_folder *folder, const char *old, size_t size, const char *sha256,
                            tn_error *err) {
    char name[64], line[TN_SHA256_TEXT + 1];
    snprintf(name, sizeof name, "probed.%ld", (long)getpid());
    snprintf(line, sizeof line, "%s\n", sha256);
    unlinkat(folder->fd, name, 0); /* of a process that is gone */
    int fd = openat(folder->fd, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0) { TN_FAIL(err, TN_E_IO, "%s/%s: %s", folder->path, name, strerror(errno)); }
    int written = write_all(fd, old, size) && write_all(fd, line, strlen(line));
    if (close(fd) != 0 || !written || renameat(folder->fd, name, folder->fd, "probed") != 0) {
        int failed = errno;
        unlinkat(folder->fd, name, 0);
        TN_FAIL(err, TN_E_IO, "%s/probed: %s", folder->path, strerror(failed));
    }
    return TN_OK;
}

static int32_t add_to_list(const tn_folder *folder, const char *sha256, tn_error *err) {
    char *old = NULL;
    size_t size = 0;
    tn_error why = TN_ERROR_INIT;
    int32_t code = tn_file_read(folder, "probed", LIST_MOST, &old, &size, &why);
    if (code == TN_E_PLUGIN_UNTRUSTED || code == TN_E_MEMORY) { TN_FAIL(err, code, "%s", why.text); }
    if (code != TN_OK || size > LIST_MOST - TN_SHA256_TEXT) { size = 0; }
    code = replace_list(folder, old ? old : "", size, sha256, err);
    free(old);
    return code;
}

int32_t tn_probe_remember(const char *sha256, tn_error *err) {
    char *path = tn_user_folder("XDG_CACHE_HOME", ".cache");
    tn_folder folder = {.fd = -1};
    if (!path) { TN_FAIL(err, TN_E_NOT_FOUND, "neither XDG_CACHE_HOME nor HOME is set"); }
    int32_t code = make_folders(path, err);
    if (code == TN_OK) { code = tn_folder_open(path, &folder, err); }
    if (code == TN_OK) { code = add_to_list(&folder, sha256, err); }
    tn_folder_close(&folder);
    free(path);
    return code;
}
