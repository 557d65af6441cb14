/* progress.c - the line that tells how far a long run is. */
#include "commands.h"

#include <stdarg.h>
#include <unistd.h>

void progress_begin(struct progress *p, const struct options *options) {
    bool terminal = isatty(STDERR_FILENO) == 1;
    double now = now_seconds();
    *p = (struct progress){.start = now, .shown = now, .shows = !options->quiet, .terminal = terminal};
    p->at_once = terminal || options->verbose;
}

void progress_show(struct progress *p, uint64_t done, uint64_t total, const char *format, ...) {
    double now = now_seconds(), spent = now - p->start, pause = p->terminal ? 0.1 : 1;
    double left = done ? spent / (double)done * (double)(total - done) : 0;
    va_list args;
    bool last = done == total && p->open;
    if (!p->shows || (now - p->shown < pause && !p->at_once && !last)) { return; }
    if (p->terminal) { fputc('\r', stderr); }
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fprintf(stderr, ", %.0f s, %.0f s left%s", spent, left, p->terminal ? "\033[K" : "\n");
    fflush(stderr);
    p->shown = now;
    p->at_once = false;
    p->open = true;
}

void progress_end(struct progress *p) {
    if (p->open && p->terminal) { fputc('\n', stderr); }
    p->open = false;
}
