/*
 * probe.h - trying a plugin in a child process, so that one that crashes or hangs is a refusal and not the
 * end of the host; and remembering the hashes of those that have passed.
 */
#ifndef TENON_PROBE_H
#define TENON_PROBE_H

#include "plugin_check.h"

typedef struct tn_probe {
    const char *program; /**< tenon-probe; NULL: not known where */
    uint32_t limit_ms;
    const char *manifest_path;
} tn_probe;

/**
 * Runs load, abi version, abi sizes, identity, interfaces, claims, open and close in a child, on the open
 * file of `library`, and reports them as they come (`report` may be NULL). TN_E_PLUGIN_BROKEN: it crashed,
 * ended the process, or took too long; or what the failed check says.
 */
int32_t tn_probe_run(const tn_probe *probe, const tn_library *library, const tn_check_report *report,
                     tn_error *err);

/** True if known.sha256 in the install's own folder, written by our build or install, has this file's hash.
 */
int tn_probe_is_own(const tn_folder *folder, const char *file, const char *sha256);
/** True if the user's cache ($XDG_CACHE_HOME or ~/.cache, tenon/probed) says that it has passed before. */
int tn_probe_passed_before(const char *sha256);
/** Adds a hash to that cache. */
int32_t tn_probe_remember(const char *sha256, tn_error *err);

/**
 * main() of tenon-probe LIBRARY MANIFEST: the library is descriptor TN_PROBE_LIBRARY, the report goes to
 * TN_PROBE_REPORT as lines "check <tab> 0 or 1 <tab> code <tab> text", and "done" at the end.
 */
int tn_probe_main(int argc, char **argv);
enum { TN_PROBE_LIBRARY = 3, TN_PROBE_REPORT = 4 };
#define TN_PROBE_DONE "done"

#endif
