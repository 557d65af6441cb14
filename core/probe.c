/*
 * probe.c - the host's side of a trial: starts tenon-probe, reads its report line by line, waits for its end
 * no longer than the limit, and says what became of it.
 */
#include "probe.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* Longest line: a check's name, numbers, an error's text. */
enum { LINE_MOST = 1280, NAP_MS = 5 };

typedef struct trial {
    const tn_probe *probe;
    const char *path;
    const tn_check_report *report;
    pid_t child;
    int from_child; /* -1 once it has been closed over there */
    char line[LINE_MOST];
    size_t used;
    char last[32]; /* the check that passed last */
    int done;      /* it came to the end of its main() */
    tn_error why;  /* of the check that failed */
} trial;

/* ---- its report ------------------------------------------------------------------------------------- */

static void take_line(trial *t, char *line) {
    char *rest = line;
    const char *check = strsep(&rest, "\t"), *passed = rest ? strsep(&rest, "\t") : NULL;
    const char *code = rest ? strsep(&rest, "\t") : NULL;
    if (strcmp(check, TN_PROBE_DONE) == 0) { t->done = 1; }
    if (!rest || t->why.code != TN_OK) { return; }
    if (*passed == '1') {
        snprintf(t->last, sizeof t->last, "%s", check);
    } else {
        tn_fail(&t->why, (int32_t)strtol(code, NULL, 10), "%s", rest);
    }
    if (t->report) { t->report->report(t->report->context, check, *passed == '1', rest); }
}

static void take_bytes(trial *t, const char *bytes, size_t count) {
    for (size_t i = 0; i < count; i++) {
        if (bytes[i] == '\n') {
            t->line[t->used] = 0;
            t->used = 0;
            take_line(t, t->line);
        } else if (t->used < sizeof t->line - 1) {
            t->line[t->used++] = bytes[i];
        }
    }
}

/* Reads what is there; waits for it up to `limit_ms`. */
static void listen_for(trial *t, int limit_ms) {
    struct pollfd from = {.fd = t->from_child, .events = POLLIN};
    char bytes[2048];
    if (poll(&from, 1, limit_ms) <= 0 || !from.revents) { return; }
    ssize_t got = read(t->from_child, bytes, sizeof bytes);
    if (got > 0) {
        take_bytes(t, bytes, (size_t)got);
    } else if (got == 0 || (errno != EINTR && errno != EAGAIN)) {
        close(t->from_child);
        t->from_child = -1; /* poll() only waits from now on */
    }
}

/* ---- its life --------------------------------------------------------------------------------------- */

static int64_t now_ms(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* A copy of a descriptor above those that the child is to get. */
static int above(int fd) {
    return fcntl(fd, F_DUPFD_CLOEXEC, 16);
}

/* Signals as a new program expects them; a process group of its own, so that ^C is the host's alone. */
static int set_attributes(posix_spawnattr_t *attributes) {
    sigset_t all, none;
    sigfillset(&all);
    sigemptyset(&none);
    int failed = posix_spawnattr_setsigdefault(attributes, &all);
    if (!failed) { failed = posix_spawnattr_setsigmask(attributes, &none); }
    if (!failed) {
        failed = posix_spawnattr_setflags(attributes, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK |
                                                          POSIX_SPAWN_SETPGROUP);
    }
    return failed;
}

static int set_files(posix_spawn_file_actions_t *files, int library, int report) {
    int failed = posix_spawn_file_actions_addopen(files, 0, "/dev/null", O_RDONLY, 0);
    if (!failed) { failed = posix_spawn_file_actions_addopen(files, 1, "/dev/null", O_WRONLY, 0); }
    if (!failed) { failed = posix_spawn_file_actions_addopen(files, 2, "/dev/null", O_WRONLY, 0); }
    if (!failed) { failed = posix_spawn_file_actions_adddup2(files, library, TN_PROBE_LIBRARY); }
    if (!failed) { failed = posix_spawn_file_actions_adddup2(files, report, TN_PROBE_REPORT); }
    return failed;
}

static int spawn(trial *t, int library, int report) {
    char *argv[] = {(char *)t->probe->program, (char *)t->path, (char *)t->probe->manifest_path, NULL};
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attributes;
    int failed = posix_spawn_file_actions_init(&files);
    if (failed) { return failed; }
    failed = posix_spawnattr_init(&attributes);
    if (!failed) {
        failed = set_attributes(&attributes);
        if (!failed) { failed = set_files(&files, library, report); }
        if (!failed) { failed = posix_spawn(&t->child, argv[0], &files, &attributes, argv, environ); }
        posix_spawnattr_destroy(&attributes);
    }
    posix_spawn_file_actions_destroy(&files);
    return failed;
}

static int32_t start(trial *t, const tn_library *library, tn_error *err) {
    int ends[2];
    if (!t->probe->program) {
        TN_FAIL(err, TN_E_FAILED, "%s is new here and cannot be tried: this libtenon has no install folder",
                t->path);
    }
    if (pipe2(ends, O_CLOEXEC) != 0) { TN_FAIL(err, TN_E_FAILED, "cannot make a pipe: %s", strerror(errno)); }
    t->from_child = ends[0];
    int file = above(library->fd), report = above(ends[1]);
    int failed = file < 0 || report < 0 ? errno : spawn(t, file, report);
    if (file >= 0) { close(file); }
    if (report >= 0) { close(report); }
    close(ends[1]);
    if (failed) {
        close(t->from_child);
        TN_FAIL(err, TN_E_FAILED, "%s is new here and cannot be tried: %s: %s", t->path, t->probe->program,
                strerror(failed));
    }
    return TN_OK;
}

/* Until it has ended or the limit is over. 1: it has, and *status says how; 0: not yet. A host that ignores
 * SIGCHLD gets no status; then the report alone tells. */
static int wait_for(trial *t, int64_t until, int *status) {
    for (;;) {
        pid_t ended = waitpid(t->child, status, WNOHANG);
        if (ended == t->child || (ended < 0 && errno == ECHILD)) {
            if (ended < 0) { *status = 0; }
            break;
        }
        int64_t left = until - now_ms();
        if (left <= 0) { return 0; }
        listen_for(t, left < NAP_MS ? (int)left : NAP_MS);
    }
    for (int more = 1; more && t->from_child >= 0;) { /* what it wrote before it ended */
        struct pollfd from = {.fd = t->from_child, .events = POLLIN};
        more = poll(&from, 1, 0) > 0;
        if (more) { listen_for(t, 0); }
    }
    return 1;
}

/* ---- the verdict ------------------------------------------------------------------------------------ */

/* Which code of the plugin was running when no further check was reported. */
static const char *at_work(const trial *t) {
    if (!t->last[0]) { return "its constructor"; }
    if (strcmp(t->last, "claims") == 0) { return "open"; }
    if (strcmp(t->last, "open") == 0) { return "close"; }
    return "interface";
}

static int32_t broken(trial *t, const char *check, const char *text, tn_error *err) {
    if (t->report) { t->report->report(t->report->context, check, 0, text); }
    TN_FAIL(err, TN_E_PLUGIN_BROKEN, "%s", text);
}

static int32_t judge(trial *t, int ended, int status, tn_error *err) {
    char text[sizeof err->text];
    const char *path = t->path, *where = at_work(t);
    if (t->why.code != TN_OK) { TN_FAIL(err, t->why.code, "%s", t->why.text); }
    if (!ended) {
        snprintf(text, sizeof text, "%.700s did not come back from %s within %" PRIu32 ".%" PRIu32 " s", path,
                 where, t->probe->limit_ms / 1000, t->probe->limit_ms % 1000 / 100);
    } else if (WIFSIGNALED(status)) {
        const char *name = sigabbrev_np(WTERMSIG(status));
        snprintf(text, sizeof text, "%.700s crashed in %s: signal SIG%s", path, where, name ? name : "?");
    } else if (!t->done) {
        snprintf(text, sizeof text, "%.700s ended the process with status %d in %s", path,
                 WEXITSTATUS(status), where);
    } else {
        return TN_OK;
    }
    return broken(t, strcmp(where, "its constructor") == 0 ? "load" : where, text, err);
}

int32_t tn_probe_run(const tn_probe *probe, const tn_library *library, const tn_check_report *report,
                     tn_error *err) {
    trial t = {.probe = probe, .path = library->path, .report = report, .why = TN_ERROR_INIT};
    int status = 0;
    int32_t code = start(&t, library, &t.why);
    if (code != TN_OK) {
        if (report) { report->report(report->context, "trial", 0, t.why.text); }
        TN_FAIL(err, code, "%s", t.why.text);
    }
    int ended = wait_for(&t, now_ms() + probe->limit_ms, &status);
    if (!ended) { /* with all that it may have started */
        kill(-t.child, SIGKILL);
        while (waitpid(t.child, NULL, 0) < 0 && errno == EINTR) {}
    }
    if (t.from_child >= 0) { close(t.from_child); }
    return judge(&t, ended, status, err);
}
