/*
 * probe_child.c - the child's side of a trial: does all that loading does, on the descriptor that it was
 * given, and reports each check at once, so that the host knows where it was when it died.
 */
#include "isa.h"
#include "probe.h"

#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

enum { CHECK_NAME = 32 };

static void put_line(int32_t code, const char *check, int passed, const char *text) {
    char line[1280];
    int size = snprintf(line, sizeof line, "%s\t%d\t%d\t%s", check, passed, code, text);
    if (size > (int)sizeof line - 2) { size = (int)sizeof line - 2; }
    for (int i = 0; i < size; i++) {
        if (line[i] == '\n') { line[i] = ' '; }
    }
    line[size++] = '\n';
    if (write(TN_PROBE_REPORT, line, (size_t)size) != size) { _exit(1); } /* nobody listens */
}

/* `context`: room for the name of the check that failed, which is told with its code later. */
static void on_check(void *context, const char *check, int passed, const char *text) {
    if (passed) {
        put_line(TN_OK, check, 1, text);
    } else {
        snprintf(context, CHECK_NAME, "%s", check);
    }
}

/* No core dumps, no files, no life beyond the host's; no other descriptors of the host. */
static void give_up_rights(void) {
    struct rlimit none = {0, 0};
    setrlimit(RLIMIT_CORE, &none);
    setrlimit(RLIMIT_FSIZE, &none);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    close_range(TN_PROBE_REPORT + 1, UINT_MAX, 0);
}

static int32_t read_manifest(const char *path, tn_manifest *out, tn_error *err) {
    struct stat st;
    char *text = NULL;
    int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st) != 0) { TN_FAIL(err, TN_E_IO, "%s cannot be read", path); }
    TN_TRY(tn_fd_read(fd, path, (size_t)st.st_size, &text, err));
    close(fd);
    int32_t code = tn_manifest_parse(path, text, (size_t)st.st_size, out, err);
    free(text);
    return code;
}

static int32_t run(const char *library_path, const char *manifest_path, char failed[CHECK_NAME],
                   tn_error *err) {
    tn_manifest manifest;
    tn_library library;
    tn_lent lent = {0};
    tn_proof proof = {.manifest = &manifest, .library = &library, .lent = &lent};
    tn_check_report report = {on_check, failed};
    TN_TRY(read_manifest(manifest_path, &manifest, err));
    TN_TRY(tn_library_read(library_path, TN_PROBE_LIBRARY, &library, err));
    TN_TRY(tn_proof_file(&proof, NULL, err));
    TN_TRY(tn_isa_detect(&lent.isa, err));
    TN_TRY(tn_pool_create(1, &lent.pool, err));
    TN_TRY(tn_proof_open(&proof, &report, err));
    if (proof.plugin->close) { proof.plugin->close(proof.self); }
    return TN_OK;
}

int tn_probe_main(int argc, char **argv) {
    tn_error err = TN_ERROR_INIT;
    char failed[CHECK_NAME] = "load";
    if (argc != 3 || fcntl(TN_PROBE_LIBRARY, F_GETFD) < 0 || fcntl(TN_PROBE_REPORT, F_GETFD) < 0) {
        fputs("tenon-probe: started by libtenon to try a plugin; of no use by itself\n", stderr);
        return 2;
    }
    give_up_rights();
    int32_t code = run(argv[1], argv[2], failed, &err);
    if (code != TN_OK) { put_line(code, failed, 0, err.text); }
    if (write(TN_PROBE_REPORT, TN_PROBE_DONE "\n", sizeof TN_PROBE_DONE) < 0) { return 1; }
    _exit(0); /* at once: what the plugin left behind for the end of the process is not tried */
}
