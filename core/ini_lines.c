/*
 * ini_lines.c - feeds inih line by line and puts file and line before every fault.
 */
#include "ini_lines.h"

#include <ini.h>
#include <string.h>

/* inih's buffer is 200 bytes: the line, a newline, a NUL. Sections and names are cut to 49 bytes. */
enum { LINE_MOST = 198, NAME_MOST = 49 };

typedef struct reader {
    const tn_ini *ini;
    size_t at;
    unsigned line;
    int32_t code; /* of the first fault */
    tn_error *err;
} reader;

TN_PRINTF(3, 4)
static void fault(reader *r, int32_t code, const char *format, ...) {
    char text[512];
    va_list args;
    if (r->code != TN_OK) { return; }
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    r->code = tn_fail(r->err, code, "%s:%u: %s", r->ini->path, r->line, text);
}

static int printable(const char *text, size_t size) {
    for (size_t i = 0; i < size; i++) {
        if ((text[i] < ' ' || text[i] > '~') && text[i] != '\t') { return 0; }
    }
    return 1;
}

/* The first byte that is no blank; NUL if there is none. */
static char first_of(const char *text, size_t size) {
    for (size_t i = 0; i < size; i++) {
        if (!strchr(" \t\r", text[i])) { return text[i]; }
    }
    return 0;
}

/* One line as it may be handed to inih. */
static void judge_line(reader *r, const char *text, size_t size) {
    char first = first_of(text, size);
    if (memchr(text, 0, size)) {
        fault(r, r->ini->code, "a NUL byte");
    } else if (size > LINE_MOST) {
        fault(r, r->ini->code, "a line of %zu bytes, at most %d are read", size, LINE_MOST);
    } else if (first && first != text[0] && first != ';' && first != '#') {
        fault(r, r->ini->code, "an indented line: every entry starts at the left");
    } else if (first == '[' && size > NAME_MOST) {
        fault(r, r->ini->code, "a section name of more than %d bytes", NAME_MOST - 1);
    }
}

/* inih's fgets: the next line into `out`, or NULL at the end or after a fault. */
static char *next_line(char *out, int room, void *stream) {
    reader *r = stream;
    const char *text = r->ini->text + r->at;
    size_t left = r->ini->size - r->at;
    if (r->code != TN_OK || left == 0) { return NULL; }
    const char *end = memchr(text, '\n', left);
    size_t size = end ? (size_t)(end - text) : left;
    r->line++;
    judge_line(r, text, size);
    if (r->code != TN_OK || (int)size + 2 > room) { return NULL; }
    memcpy(out, text, size);
    out[size] = '\n';
    out[size + 1] = 0;
    r->at += size + (end != NULL);
    return out;
}

static int entry(void *user, const char *section, const char *name, const char *value) {
    reader *r = user;
    if (r->code != TN_OK) { return 0; }
    if (!*name || !*value) {
        fault(r, r->ini->code, "an entry needs a name, '=' and a value");
    } else if (!printable(name, strlen(name)) || !printable(value, strlen(value))) {
        fault(r, r->ini->code, "a byte that is no printable ASCII");
    } else {
        tn_error why = TN_ERROR_INIT;
        int32_t code = r->ini->entry(r->ini->context, section, name, value, &why);
        if (code != TN_OK) { fault(r, code, "%s", why.text); }
    }
    return r->code == TN_OK;
}

int32_t tn_ini_read(const tn_ini *ini, tn_error *err) {
    reader r = {.ini = ini, .err = err};
    int at = ini_parse_stream(next_line, &r, entry, &r);
    if (r.code == TN_OK && at != 0) {
        r.line = at > 0 ? (unsigned)at : r.line;
        fault(&r, ini->code, "neither [section], name = value, nor a comment");
    }
    return r.code;
}
