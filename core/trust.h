/*
 * trust.h - which folders and files may hand code or settings to this process.
 *
 * A folder is trusted if it and every folder above it belongs to root or the user and can be written by
 * nobody else; a folder above it that all may write is safe if it has the sticky bit, for what lies in it
 * belongs to root or the user (that is checked one step further down). A file in it must be a regular file,
 * no link, of the same owners, and not writable by others. Only modes are looked at: an access control list
 * can give more away than they show, as far as its mask, which is the group's mode then, lets it.
 */
#ifndef TENON_TRUST_H
#define TENON_TRUST_H

#include "tenon/errors.h"

#include <sys/stat.h>

/** A trusted folder, open. */
typedef struct tn_folder {
    char *path; /**< real, absolute */
    int fd;     /**< -1: not open */
} tn_folder;

/**
 * Resolves links in `path` and checks the real folder and its parents. TN_E_NOT_FOUND: not there;
 * TN_E_PLUGIN_UNTRUSTED: names the folder that is to blame. out->path is set whenever there is such a folder.
 */
int32_t tn_folder_open(const char *path, tn_folder *out, tn_error *err);
void tn_folder_close(tn_folder *folder);

/** Checks a file in a folder without opening it. TN_E_NOT_FOUND, TN_E_PLUGIN_UNTRUSTED. */
int32_t tn_file_check(const tn_folder *folder, const char *name, tn_error *err);

/** Opens a file for reading after the same checks, made on what was opened; never blocks. */
int32_t tn_file_open(const tn_folder *folder, const char *name, int *fd, struct stat *st, tn_error *err);

/** The whole of such a file, at most `most` bytes, with a NUL behind; to be freed. */
int32_t tn_file_read(const tn_folder *folder, const char *name, size_t most, char **text, size_t *size,
                     tn_error *err);

/** The whole of an open file of st_size bytes, likewise. `path` is for messages. */
int32_t tn_fd_read(int fd, const char *path, size_t size, char **out, tn_error *err);

#endif
