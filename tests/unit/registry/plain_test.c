/* See plain_test.h. */
#include "plain_test.h"

#include <string.h>

static int faults;

void expect(int holds, const char *format, ...) {
    va_list args;
    if (holds) { return; }
    va_start(args, format);
    fputs("FAILED: ", stderr);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
    va_end(args);
    faults++;
}

void expect_error(const char *what, int32_t code, const tn_error *err, int32_t wanted, const char *words) {
    expect(code == wanted, "%s: %s (%s), expected %s", what, tn_code_text(code), err->text,
           tn_code_text(wanted));
    expect(strstr(err->text, words) != NULL, "%s: the text is \"%s\", expected \"%s\"", what, err->text,
           words);
}

int expect_none(const char *name) {
    printf("%s: %d faults\n", name, faults);
    return faults != 0;
}
