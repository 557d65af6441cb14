/*
 * loader.h - from a library file to its tn_plugin, so that the bytes that were judged are those that run.
 */
#ifndef TENON_LOADER_H
#define TENON_LOADER_H

#include "hash.h"
#include "tenon/plugin.h"
#include "trust.h"

/** A library file as it was judged. */
typedef struct tn_library {
    const char *path; /**< for messages, and to load by where there is no /proc */
    int fd;
    struct stat st;
    char *bytes; /**< all of it, until it is loaded; NULL: not read */
    char sha256[TN_SHA256_TEXT];
} tn_library;

/** Larger files are no plugins. */
#define TN_LIBRARY_MOST (256u << 20)

/** Takes over `fd`; reads and hashes the file. */
int32_t tn_library_read(const char *path, int fd, tn_library *out, tn_error *err);
/** Closes and frees what has not been loaded. */
void tn_library_close(tn_library *library);

/**
 * Loads it, once a process: a file that any engine has loaded before is not loaded again, and one that has
 * changed since is refused. The library and its descriptor then stay for the life of the process; library->fd
 * becomes -1. TN_E_PLUGIN_BROKEN: the dynamic linker's words; TN_E_PLUGIN_HASH: what was mapped is another
 * file. `proc` is "/proc" but in tests.
 */
int32_t tn_library_load(tn_library *library, const char *proc, const tn_plugin **out, tn_error *err);

#endif
