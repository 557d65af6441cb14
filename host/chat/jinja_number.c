/*
 * jinja_number.c - numbers to texts and back as Python does it: floats by their shortest digits that read back the
 * same, int() and float() of texts with blanks, underscores and digits of any script.
 */
#include "jinja_inside.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

bool jinja_is_whole(jinja_value value) {
    return value.type == JINJA_INT || value.type == JINJA_BOOL;
}
bool jinja_is_number(jinja_value value) {
    return jinja_is_whole(value) || value.type == JINJA_FLOAT;
}
int64_t jinja_whole(jinja_value value) {
    return value.type == JINJA_BOOL ? value.boolean : value.integer;
}
double jinja_real(jinja_value value) {
    return value.type == JINJA_FLOAT ? value.number : (double)jinja_whole(value);
}

/* ---- repr of a float ---------------------------------------------------------------------------------- */

/* The shortest digits that read back as the value, and the power of ten of the first one. */
static size_t shortest_digits(double value, char digits[20], int *exponent) {
    char text[40];
    int precision = 0;
    do {
        snprintf(text, sizeof text, "%.*e", precision, value);
    } while (strtod(text, NULL) != value && ++precision < 17);
    size_t count = 0;
    char *at = text;
    for (; *at != 'e'; at++) {
        if (*at >= '0' && *at <= '9') { digits[count++] = *at; }
    }
    *exponent = (int)strtol(at + 1, NULL, 10);
    while (count > 1 && digits[count - 1] == '0') { count--; }
    return count;
}

static size_t lay_out_exponent(const char *digits, size_t count, int exponent, char *out) {
    size_t at = 0;
    out[at++] = digits[0];
    if (count > 1) { out[at++] = '.'; }
    for (size_t i = 1; i < count; i++) { out[at++] = digits[i]; }
    return at + (size_t)snprintf(out + at, 8, "e%c%02d", exponent < 0 ? '-' : '+', abs(exponent));
}

static size_t lay_out_point(const char *digits, size_t count, int exponent, char *out) {
    size_t at = 0;
    if (exponent < 0) {
        out[at++] = '0';
        out[at++] = '.';
        for (int i = -1; i > exponent; i--) { out[at++] = '0'; }
        for (size_t i = 0; i < count; i++) { out[at++] = digits[i]; }
        return at;
    }
    size_t whole = (size_t)exponent + 1;
    for (size_t i = 0; i < whole; i++) { out[at++] = i < count ? digits[i] : '0'; }
    out[at++] = '.';
    if (count <= whole) { out[at++] = '0'; }
    for (size_t i = whole; i < count; i++) { out[at++] = digits[i]; }
    return at;
}

/* repr() writes an exponent below 1e-4 and from 1e16 on. */
size_t jinja_float_text(double value, char out[JINJA_FLOAT_TEXT]) {
    size_t sign = 0;
    if (isnan(value)) { return (size_t)snprintf(out, JINJA_FLOAT_TEXT, "nan"); }
    if (signbit(value)) { out[sign++] = '-'; }
    value = fabs(value);
    if (isinf(value)) { return sign + (size_t)snprintf(out + sign, JINJA_FLOAT_TEXT - sign, "inf"); }
    char digits[20];
    int exponent;
    size_t count = shortest_digits(value, digits, &exponent);
    size_t size = exponent < -4 || exponent >= 16 ? lay_out_exponent(digits, count, exponent, out + sign)
                                                  : lay_out_point(digits, count, exponent, out + sign);
    out[sign + size] = 0;
    return sign + size;
}

/* ---- texts to numbers --------------------------------------------------------------------------------- */

/* The text without blanks at its ends. */
static void strip(const struct jinja_string *s, size_t *begin, size_t *end) {
    size_t at = 0;
    *begin = 0;
    *end = s->size;
    while (at < s->size && jinja_code_is_space(jinja_code_at(s, &at))) { *begin = at; }
    at = s->size;
    while (at > *begin && jinja_code_is_space(jinja_code_before(s, &at))) { *end = at; }
}

static int digit_value(uint32_t code) {
    if (code >= 'a' && code <= 'z') { return (int)(code - 'a') + 10; }
    if (code >= 'A' && code <= 'Z') { return (int)(code - 'A') + 10; }
    int decimal = jinja_code_decimal(code);
    return decimal < 0 ? 99 : decimal;
}

/* 0x, 0o, 0b in front, as far as the base admits it; base 0 takes it from there. */
static int64_t read_prefix(const struct jinja_string *s, size_t *at, size_t end, int64_t base) {
    static const struct {
        char letter;
        int64_t base;
    } prefixes[] = {{'x', 16}, {'o', 8}, {'b', 2}};
    if (end - *at >= 2 && s->bytes[*at] == '0') {
        for (size_t i = 0; i < JINJA_COUNT(prefixes); i++) {
            if ((s->bytes[*at + 1] | 0x20) == prefixes[i].letter && (base == 0 || base == prefixes[i].base)) {
                *at += 2;
                if (*at < end && s->bytes[*at] == '_') { ++*at; /* one may follow the prefix */ }
                return prefixes[i].base;
            }
        }
    }
    return base;
}

bool jinja_parse_int(const struct jinja_string *s, int64_t base, int64_t *out, bool *overflow) {
    size_t at, end, first;
    strip(s, &at, &end);
    bool negative = at < end && s->bytes[at] == '-', digit_before = false, zero = true;
    if (at < end && (negative || s->bytes[at] == '+')) { at++; }
    int64_t radix = read_prefix(s, &at, end, base), value = 0;
    bool plain = radix == 0; /* base 0 without a prefix: no leading zeros but zero itself */
    if (plain) { radix = 10; }
    *overflow = false;
    for (first = at; at < end;) {
        size_t place = at;
        uint32_t code = jinja_code_at(s, &at);
        int digit = digit_value(code);
        if (code == '_' && digit_before && at < end) {
            digit_before = false;
        } else if (digit >= radix) {
            return false;
        } else {
            if (plain && place > first && zero && s->bytes[first] == '0' && digit != 0) { return false; }
            zero = zero && digit == 0;
            digit_before = true;
            *overflow |= __builtin_mul_overflow(value, radix, &value) ||
                         (negative ? __builtin_sub_overflow(value, digit, &value)
                                   : __builtin_add_overflow(value, digit, &value));
        }
    }
    *out = value;
    return digit_before;
}

/* Copies a float's characters as ASCII; false if there are others, or underscores that are not between digits. */
static bool copy_float(const struct jinja_string *s, size_t at, size_t end, char *out) {
    bool digit_before = false;
    while (at < end) {
        uint32_t code = jinja_code_at(s, &at);
        int digit = jinja_code_decimal(code);
        if (code == '_') {
            size_t next = at;
            if (!digit_before || at == end || jinja_code_decimal(jinja_code_at(s, &next)) < 0) {
                return false;
            }
        } else if (digit < 0 && code >= 0x80) {
            return false;
        } else {
            *out++ = digit >= 0 ? (char)('0' + digit) : (char)code;
        }
        digit_before = digit >= 0;
    }
    *out = 0;
    return true;
}

/* strtod reads hexadecimals and "nan(...)" too, which Python does not. */
static bool is_float(const char *text) {
    size_t sign = *text == '-' || *text == '+';
    const char *t = text + sign;
    if (strcasecmp(t, "inf") == 0 || strcasecmp(t, "infinity") == 0 || strcasecmp(t, "nan") == 0) {
        return true;
    }
    return *t && strspn(t, "0123456789.eE+-") == strlen(t);
}

bool jinja_parse_float(struct jinja_run *run, const struct jinja_string *s, double *out, bool *valid) {
    size_t begin, end;
    char *stop;
    strip(s, &begin, &end);
    char *text = jinja_alloc(run, end - begin + 1, 1);
    if (!text || !jinja_spend_walk(run, s->size)) { return false; }
    *valid = begin < end && !memchr(s->bytes + begin, 0, end - begin) && copy_float(s, begin, end, text) &&
             is_float(text);
    if (*valid) {
        *out = strtod(text, &stop);
        *valid = *stop == 0;
    }
    jinja_release(run, text, end - begin + 1, 1);
    return true;
}

bool jinja_float_to_int(struct jinja_run *run, double value, int64_t *out) {
    if (isnan(value)) { return jinja_fail(run, JINJA_RUNTIME, "cannot convert float NaN to integer"); }
    if (isinf(value)) { return jinja_fail(run, JINJA_RUNTIME, "cannot convert float infinity to integer"); }
    if (!(value >= -0x1p63 && value < 0x1p63)) { return jinja_fail_overflow(run); }
    *out = (int64_t)value;
    return true;
}
