/*
 * probe_main.c - tenon-probe. All of it is in libtenon, so that a trial is made by the same code as loading.
 */
#include "probe.h"

#ifdef TENON_SANITIZED
/* A plugin's crash must look like one. */
const char *__asan_default_options(void);
const char *__tsan_default_options(void);
__attribute__((visibility("default"))) const char *__asan_default_options(void) {
    return "handle_segv=0:handle_sigbus=0:handle_abort=0:handle_sigill=0:handle_sigfpe=0:detect_leaks=0";
}
__attribute__((visibility("default"))) const char *__tsan_default_options(void) {
    return "handle_segv=0:handle_sigbus=0:handle_abort=0:handle_sigill=0:handle_sigfpe=0";
}
#endif

int main(int argc, char **argv) {
    return tn_probe_main(argc, argv);
}
