/*
 * jinja_lex_literal.c - numbers and strings as Python writes them.
 */
#include "jinja_lex.h"
#include "jinja_unicode.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- numbers ------------------------------------------------------------------------------------------- */

static bool is_digit(char c, int base) {
    if (base == 16 && ((c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'))) { return true; }
    return c >= '0' && c < '0' + (base < 10 ? base : 10);
}

/* Bytes of digits with single underscores before them: (_?\d)*. */
static size_t digits(const char *s, size_t size, int base) {
    size_t at = 0;
    for (;;) {
        size_t next = at + (at < size && s[at] == '_');
        if (next >= size || !is_digit(s[next], base)) { return at; }
        at = next + 1;
    }
}

static int base_of(const char *s, size_t size) {
    char mark = size > 1 && s[0] == '0' ? (char)(s[1] | 0x20) : 0;
    return mark == 'x' ? 16 : mark == 'o' ? 8 : mark == 'b' ? 2 : 10;
}

size_t jinja_lex_integer_size(const char *s, size_t size) {
    int base = base_of(s, size);
    size_t count = base == 10 ? 0 : digits(s + 2, size - 2, base);
    if (count > 0) { return 2 + count; }
    if (size == 0 || !is_digit(s[0], 10)) { return 0; }
    return 1 + digits(s + 1, size - 1, s[0] == '0' ? 1 : 10); /* base 1: zeros only */
}

/* Digits that do not begin with an underscore. */
static size_t plain_digits(const char *s, size_t size) {
    return size > 0 && is_digit(s[0], 10) ? digits(s, size, 10) : 0;
}

size_t jinja_lex_float_size(const char *s, size_t size) {
    size_t at = plain_digits(s, size);
    if (at == 0) { return 0; }
    size_t fraction = at < size && s[at] == '.' ? plain_digits(s + at + 1, size - at - 1) : 0;
    if (fraction > 0) { at += 1 + fraction; }
    if (at < size && (s[at] | 0x20) == 'e') {
        size_t mark = at + 1 + (at + 1 < size && (s[at + 1] == '+' || s[at + 1] == '-'));
        size_t exponent = mark < size ? plain_digits(s + mark, size - mark) : 0;
        if (exponent > 0) { return mark + exponent; }
    }
    return fraction > 0 ? at : 0;
}

bool jinja_lex_integer(struct jinja_run *run, const char *s, size_t size, jinja_value *out) {
    int base = base_of(s, size);
    int64_t value = 0;
    for (size_t i = base == 10 ? 0 : 2; i < size; i++) {
        if (s[i] == '_') { continue; }
        int digit = s[i] <= '9' ? s[i] - '0' : (s[i] | 0x20) - 'a' + 10;
        if (__builtin_mul_overflow(value, base, &value) || __builtin_add_overflow(value, digit, &value)) {
            return jinja_fail(run, JINJA_SYNTAX, "the integer %.*s does not fit 64 bits",
                              size < 40 ? (int)size : 40, s);
        }
    }
    *out = jinja_int(value);
    return true;
}

bool jinja_lex_float(struct jinja_run *run, const char *s, size_t size, jinja_value *out) {
    char *plain = jinja_alloc(run, size + 1, 1);
    size_t count = 0;
    if (!plain) { return false; }
    for (size_t i = 0; i < size; i++) {
        if (s[i] != '_') { plain[count++] = s[i]; }
    }
    plain[count] = 0;
    *out = jinja_float(strtod(plain, NULL));
    return true;
}

/* ---- strings ------------------------------------------------------------------------------------------- */

/* The text of a string literal in the making. */
struct literal {
    struct jinja_run *run;
    const char *in;
    size_t size, at;
    char *out;
    size_t count;
};

static bool put_character(struct literal *l, uint32_t c) {
    if (c >= 0xD800 && c < 0xE000) {
        return jinja_fail(l->run, JINJA_SYNTAX, "half a surrogate pair in a string: no character");
    }
    if (c > 0x10FFFF) { return jinja_fail(l->run, JINJA_SYNTAX, "illegal Unicode character"); }
    l->count += jinja_encode(c, l->out + l->count);
    return true;
}

static bool hex_escape(struct literal *l, char mark) {
    int wanted = mark == 'x' ? 2 : mark == 'u' ? 4 : 8;
    uint32_t value = 0;
    for (int i = 0; i < wanted; i++, l->at++) {
        if (l->at >= l->size || !is_digit(l->in[l->at], 16)) {
            return jinja_fail(l->run, JINJA_SYNTAX, "truncated \\%c escape: %d hexadecimal digits expected",
                              mark, wanted);
        }
        char c = l->in[l->at];
        value = value << 4 | (uint32_t)(c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10);
    }
    return put_character(l, value);
}

static bool octal_escape(struct literal *l, char first) {
    uint32_t value = (uint32_t)(first - '0');
    for (int i = 0; i < 2 && l->at < l->size && is_digit(l->in[l->at], 8); i++, l->at++) {
        value = value << 3 | (uint32_t)(l->in[l->at] - '0');
    }
    return put_character(l, value);
}

/* Jinja spells a character beyond ASCII as \xe9, \u20ac or \U0001f642 before it reads escapes: a backslash in
 * front of one escapes that backslash, and the spelling stays. */
static bool escaped_beyond_ascii(struct literal *l) {
    uint32_t c;
    char spelling[12];
    size_t length = jinja_decode(l->in + l->at, l->size - l->at, &c);
    int count = snprintf(spelling, sizeof spelling,
                         c < 0x100     ? "\\x%02x"
                         : c < 0x10000 ? "\\u%04x"
                                       : "\\U%08x",
                         c);
    memcpy(l->out + l->count, spelling, (size_t)count);
    l->count += (size_t)count;
    l->at += length;
    return true;
}

static bool escape(struct literal *l) {
    static const char plain[] = "\\'\"abfnrtv", means[] = "\\'\"\a\b\f\n\r\t\v";
    char c = l->in[l->at];
    if ((unsigned char)c >= 0x80) { return escaped_beyond_ascii(l); }
    l->at++;
    const char *found = c ? strchr(plain, c) : NULL;
    if (found) { return put_character(l, (unsigned char)means[found - plain]); }
    if (c == '\n') { return true; }
    if (c == 'x' || c == 'u' || c == 'U') { return hex_escape(l, c); }
    if (c >= '0' && c <= '7') { return octal_escape(l, c); }
    if (c == 'N') {
        return jinja_fail(l->run, JINJA_SYNTAX, "\\N{...} is not supported: characters have no names here");
    }
    l->out[l->count++] = '\\';
    l->out[l->count++] = c;
    return true;
}

bool jinja_lex_string(struct jinja_run *run, const char *bytes, size_t size, jinja_value *out) {
    /* The worst: a backslash and a character of four bytes, of which the spelling has ten. */
    struct literal l = {.run = run, .in = bytes, .size = size, .out = jinja_alloc(run, size + 1, 2)};
    if (!l.out) { return false; }
    while (l.at < size) {
        char c = bytes[l.at++];
        if (c != '\\') {
            l.out[l.count++] = c;
        } else if (l.at >= size) {
            return jinja_fail(run, JINJA_SYNTAX, "\\ at end of string");
        } else if (!escape(&l)) {
            return false;
        }
    }
    return jinja_string_make(run, l.out, l.count, JINJA_WRITTEN, out);
}
