/*
 * registry_check.c - every check on one library, for `tenon plugins check`. Nothing of it is loaded into this
 * process: what runs its code runs in the child.
 */
#include "engine_state.h"
#include "probe.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

typedef struct inspection {
    tn_engine *engine;
    const char *library_path;
    tn_folder folder;
    char name[NAME_MAX + 1], manifest_name[NAME_MAX + 8];
    char *manifest_path;
    tn_manifest manifest;
    tn_library library;
    char said[PATH_MAX + 64];
} inspection;

static int32_t check_folder(inspection *at, tn_error *err) {
    const char *path = at->library_path, *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path;
    size_t size = strlen(name);
    if (size < 4 || size > NAME_MAX || strcmp(name + size - 3, ".so") != 0) {
        TN_FAIL(err, TN_E_PLUGIN_BROKEN, "%s: the name of a plugin's library ends in .so", path);
    }
    snprintf(at->name, sizeof at->name, "%s", name);
    snprintf(at->manifest_name, sizeof at->manifest_name, "%.*s.ini", (int)(size - 3), name);
    char *folder = slash ? strndup(path, (size_t)(slash - path) + 1) : strdup(".");
    int32_t code = folder ? tn_folder_open(folder, &at->folder, err)
                          : tn_fail(err, TN_E_MEMORY, "no memory to check %s", path);
    free(folder);
    TN_TRY(code);
    snprintf(at->said, sizeof at->said, "%s", at->folder.path);
    return TN_OK;
}

static int32_t check_file(inspection *at, tn_error *err) {
    struct stat st;
    int fd;
    TN_TRY(tn_file_open(&at->folder, at->name, &fd, &st, err));
    TN_TRY(tn_library_read(at->library_path, fd, &at->library, err));
    snprintf(at->said, sizeof at->said, "%lld bytes of user %u, mode %04o", (long long)st.st_size,
             (unsigned)st.st_uid, (unsigned)st.st_mode & 07777);
    return TN_OK;
}

static int32_t check_manifest(inspection *at, tn_error *err) {
    char *text;
    size_t size;
    if (asprintf(&at->manifest_path, "%s/%s", at->folder.path, at->manifest_name) < 0) {
        at->manifest_path = NULL;
        TN_FAIL(err, TN_E_MEMORY, "no memory to check %s", at->library_path);
    }
    int32_t code = tn_file_read(&at->folder, at->manifest_name, TN_MANIFEST_MOST, &text, &size, err);
    if (code == TN_E_NOT_FOUND) {
        TN_FAIL(err, TN_E_PLUGIN_MANIFEST, "%s has no manifest: %s is not there", at->library_path,
                at->manifest_path);
    }
    TN_TRY(code);
    code = tn_manifest_parse(at->manifest_path, text, size, &at->manifest, err);
    free(text);
    TN_TRY(code);
    if (strcmp(at->manifest.library, at->name) != 0) {
        TN_FAIL(err, TN_E_PLUGIN_MANIFEST, "%s is about the library %s, not about %s", at->manifest_path,
                *at->manifest.library ? at->manifest.library : "(none)", at->name);
    }
    snprintf(at->said, sizeof at->said, "%s", at->manifest_path);
    return TN_OK;
}

static int32_t check_needs(inspection *at, tn_error *err) {
    const tn_manifest *m = &at->manifest;
    TN_TRY(tn_manifest_judge(at->engine, m, at->manifest_path, err));
    snprintf(at->said, sizeof at->said, "abi %u.%u, %s", m->abi_major, m->abi_min_minor,
             *m->isa ? m->isa : "no instruction set");
    return TN_OK;
}

/* The rest has its own reports: hash and ELF here, what runs the plugin's code in the child. */
static int32_t check_code(inspection *at, const tn_check_report *report, tn_error *err) {
    tn_probe probe = {at->engine->probe_program, at->engine->probe_limit_ms, at->manifest_path};
    tn_proof proof = {.manifest = &at->manifest, .library = &at->library};
    TN_TRY(tn_proof_file(&proof, report, err));
    return tn_probe_run(&probe, &at->library, report, err);
}

int32_t tn_engine_check(tn_engine *engine, const char *library,
                        void (*report)(void *context, const char *check, int passed, const char *text),
                        void *context, tn_error *err) {
    static const struct {
        const char *name;
        int32_t (*run)(inspection *at, tn_error *err);
    } checks[] = {
        {"folder", check_folder}, {"file", check_file}, {"manifest", check_manifest}, {"needs", check_needs}};
    inspection at = {.engine = engine,
                     .library_path = library,
                     .folder.fd = -1,
                     .library.fd = -1,
                     .manifest = tn_manifest_empty};
    tn_check_report out = {report, context};
    tn_error why = TN_ERROR_INIT;
    int32_t code = TN_OK;
    for (size_t i = 0; i < sizeof checks / sizeof checks[0] && code == TN_OK; i++) {
        code = checks[i].run(&at, &why);
        report(context, checks[i].name, code == TN_OK, code == TN_OK ? at.said : why.text);
    }
    if (code == TN_OK) { code = check_code(&at, &out, &why); }
    tn_library_close(&at.library);
    tn_manifest_free(&at.manifest);
    tn_folder_close(&at.folder);
    free(at.manifest_path);
    return code == TN_OK ? TN_OK : tn_fail(err, code, "%s", why.text);
}
