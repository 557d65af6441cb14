/*
 * jinja_global_time.c - strftime_now: the C library's strftime on the given clock, a directive at a time, as
 * datetime.strftime does it for a time without a zone.
 */
#include "jinja_inside.h"

#include <time.h>

enum { LONGEST_DIRECTIVE = 16, ROOM = 256 };

/* "%-d", "%10Y", "%Ey": flags, a width below 100, a modifier, a letter. Returns where it ends; 0 if it is none. */
static size_t directive_end(const struct jinja_string *s, size_t at) {
    size_t begin = at++, digits = at;
    while (at < s->size && s->bytes[at] && strchr("_-0^#", s->bytes[at])) { at++; }
    for (digits = at; at < s->size && s->bytes[at] >= '0' && s->bytes[at] <= '9';) { at++; }
    bool wide = at - digits > 2;
    if (at < s->size && (s->bytes[at] == 'E' || s->bytes[at] == 'O')) { at++; }
    bool letter = at < s->size && s->bytes[at] && (unsigned char)s->bytes[at] < 0x80;
    return letter && !wide && at + 1 - begin < LONGEST_DIRECTIVE ? at + 1 : 0;
}

static bool build_directive(struct jinja_builder *b, const struct jinja_string *s, size_t begin, size_t end,
                            const struct tm *clock) {
    char directive[LONGEST_DIRECTIVE + 1] = {0}, text[ROOM];
    char letter = s->bytes[end - 1];
    if (letter == 's') { return jinja_fail(b->run, JINJA_RUNTIME, "strftime_now: %%s needs a time zone"); }
    if (letter == 'f') { return jinja_build(b, "000000", 6, jinja_origin_of(s, begin, end)); }
    if (letter == 'z' || letter == 'Z') { return true; }
    memcpy(directive, s->bytes + begin, end - begin);
    size_t size = strftime(text, sizeof text, directive, clock);
    return jinja_build(b, text, size, jinja_origin_of(s, begin, end));
}

bool jinja_strftime(struct jinja_run *run, const struct jinja_string *s, jinja_value *out) {
    struct jinja_builder b = {.run = run};
    struct tm clock;
    time_t now = (time_t)run->now;
    if (!gmtime_r(&now, &clock)) {
        return jinja_fail(run, JINJA_RUNTIME, "strftime_now: the year is out of range");
    }
    for (size_t begin = 0;;) {
        const char *sign = memchr(s->bytes + begin, '%', s->size - begin);
        size_t at = sign ? (size_t)(sign - s->bytes) : s->size;
        if (!jinja_build_from(&b, s, begin, at)) { return false; }
        if (!sign) { return jinja_built(&b, out); }
        begin = directive_end(s, at);
        if (!begin) {
            return jinja_fail(run, JINJA_RUNTIME, "strftime_now: a directive of the format is malformed");
        }
        if (!jinja_spend(run, 1) || !build_directive(&b, s, at, begin, &clock)) { return false; }
    }
}
