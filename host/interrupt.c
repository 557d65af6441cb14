/*
 * interrupt.c - signals: ^C, SIGTERM and SIGHUP end cleanly; a model file that is cut short while it is
 * mapped is named, not a crash.
 */
#include "commands.h"

#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

static volatile sig_atomic_t interrupt_seen; /* the signal's number */
static _Atomic(tn_session *) running;
static _Atomic(const char *) unfinished;

static void on_interrupt(int number) {
    if (interrupt_seen) { /* a second ^C does not wait */
        signal(number, SIG_DFL);
        raise(number);
    }
    interrupt_seen = number;
    tn_session *session = atomic_load(&running);
    if (session) { tn_session_cancel(session); }
}

static void write_text(const char *text) {
    ssize_t ignored = write(STDERR_FILENO, text, strlen(text));
    (void)ignored; /* there is nobody left to tell */
}

static void on_bus_error(int number, siginfo_t *info, void *context) {
    (void)context;
    const char *path = tn_gguf_mapped_at(info->si_addr);
    if (path) {
        write_text("tenon: ");
        write_text(path);
        write_text(": the file was cut short, or could not be read, while it was in use\n");
        const char *part = atomic_load(&unfinished);
        if (part) { unlink(part); }
        _exit(EXIT_FAILED);
    }
    signal(number, SIG_DFL); /* not ours: the faulting instruction runs again and dies of it */
}

void install_signals(void) {
    static const int ending[] = {SIGINT, SIGTERM, SIGHUP};
    for (size_t i = 0; i < sizeof ending / sizeof *ending; i++) {
        struct sigaction interrupt = {.sa_handler = on_interrupt}, old;
        sigemptyset(&interrupt.sa_mask);
        sigaction(ending[i], NULL, &old);
        if (old.sa_handler != SIG_IGN) { sigaction(ending[i], &interrupt, NULL); } /* nohup stays in force */
    }
    struct sigaction bus = {.sa_sigaction = on_bus_error, .sa_flags = SA_SIGINFO};
    sigemptyset(&bus.sa_mask);
    sigaction(SIGBUS, &bus, NULL);
    signal(SIGPIPE, SIG_IGN); /* a closed pipe and a file at its limit are write errors like others */
    signal(SIGXFSZ, SIG_IGN);
}

void interrupt_session(tn_session *session) {
    atomic_store(&running, session);
    if (session && interrupt_seen) { tn_session_cancel(session); }
}

bool interrupted(void) {
    return interrupt_seen != 0;
}

bool interrupt_clear(void) {
    if (interrupt_seen != SIGINT) { return false; }
    interrupt_seen = 0;
    return true;
}

int interrupt_status(void) {
    return 128 + interrupt_seen;
}

void unfinished_file(const char *path) {
    atomic_store(&unfinished, path);
}
