/* progress.c - the line that tells how far a long run is. */
#include "commands.h"

#include <stdarg.h>
#include <unistd.h>

void progress_begin(struct progress *p, bool shows) {
    *p = (struct progress){
        .start = now_seconds(), .shows = shows, .terminal = isatty(STDERR_FILENO) == 1, .first = true};
}

void progress_show(struct progress *p, uint64_t done, uint64_t total, const char *format, ...) {
    double now = now_seconds(), spent = now - p->start, pause = p->terminal ? 0.1 : 1;
    double left = done ? spent / (double)done * (double)(total - done) : 0;
    va_list args;
    if (!p->shows || (!p->first && done < total && now - p->shown < pause)) { return; }
    if (p->terminal) { fputc('\r', stderr); }
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fprintf(stderr, ", %.0f s, %.0f s left%s", spent, left, p->terminal ? "\033[K" : "\n");
    fflush(stderr);
    p->shown = now;
    p->first = false;
    p->open = p->terminal;
}

void progress_end(struct progress *p) {
    if (p->open) { fputc('\n', stderr); }
    p->open = false;
}
