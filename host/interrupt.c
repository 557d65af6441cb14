/*
 * interrupt.c - signals: ^C ends cleanly; a model file that is cut short while it is mapped is named, not a
 * crash.
 */
#include "commands.h"

#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

static volatile sig_atomic_t interrupt_seen;
static _Atomic(tn_session *) running;

static void on_interrupt(int number) {
    if (interrupt_seen) { /* a second ^C does not wait */
        signal(number, SIG_DFL);
        raise(number);
    }
    interrupt_seen = 1;
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
        _exit(EXIT_FAILED);
    }
    signal(number, SIG_DFL); /* not ours: the faulting instruction runs again and dies of it */
}

void install_signals(void) {
    struct sigaction interrupt = {.sa_handler = on_interrupt};
    sigemptyset(&interrupt.sa_mask);
    sigaction(SIGINT, &interrupt, NULL);
    struct sigaction bus = {.sa_sigaction = on_bus_error, .sa_flags = SA_SIGINFO};
    sigemptyset(&bus.sa_mask);
    sigaction(SIGBUS, &bus, NULL);
    signal(SIGPIPE, SIG_IGN); /* a closed pipe is a write error like others */
}

void interrupt_session(tn_session *session) {
    atomic_store(&running, session);
    if (session && interrupt_seen) { tn_session_cancel(session); }
}

bool interrupted(void) {
    return interrupt_seen != 0;
}
