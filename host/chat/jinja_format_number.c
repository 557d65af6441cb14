/*
 * jinja_format_number.c - numbers and texts by a format specification: signs, separators, padding.
 */
#include "jinja_format.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- layout ------------------------------------------------------------------------------------------- */

char jinja_sign_of(const struct jinja_spec *spec, bool negative) {
    return negative ? '-' : spec->sign == '+' || spec->sign == ' ' ? spec->sign : 0;
}

static bool fill(struct jinja_builder *b, const struct jinja_spec *spec, uint64_t count) {
    char bytes[4];
    if (spec->fill == ' ' && spec->fill_origin == JINJA_WRITTEN) { return jinja_build_spaces(b, count); }
    size_t size = jinja_encode(spec->fill, bytes);
    if (!jinja_build_reserve(b, count)) { return false; }
    for (uint64_t i = 0; i < count; i++) {
        if (!jinja_build(b, bytes, size, spec->fill_origin)) { return false; }
    }
    return true;
}

static size_t grouped_size(size_t digits, const struct jinja_spec *spec, int group) {
    return digits + (spec->grouping && digits ? (digits - 1) / (size_t)group : 0);
}

static bool build_part(struct jinja_builder *b, const struct jinja_spec *spec, const char *part) {
    return jinja_build(b, part, strlen(part), spec->origin);
}

/* The digits behind `zeros` zeros, with separators counted from the right. */
static bool build_digits(struct jinja_builder *b, const struct jinja_spec *spec,
                         const struct jinja_number_parts *parts, size_t zeros) {
    size_t count = zeros + parts->digit_count;
    for (size_t i = 0; i < count; i++) {
        bool cut = spec->grouping && i && (count - i) % (size_t)parts->group == 0;
        if (cut && !jinja_build(b, &spec->grouping, 1, spec->origin)) { return false; }
        if (!jinja_build(b, i < zeros ? "0" : parts->digits + i - zeros, 1, spec->origin)) { return false; }
    }
    return true;
}

/* Zeros that fill the width count as digits, so that separators go between them too. */
static size_t count_zeros(const struct jinja_spec *spec, const struct jinja_number_parts *parts,
                          size_t other) {
    size_t zeros = 0, width = spec->width > (int64_t)other ? (size_t)spec->width - other : 0;
    if (spec->fill != '0' || spec->align != '=' || !spec->grouping) { return 0; }
    if (width > parts->digit_count) {
        zeros = (width - parts->digit_count) * (size_t)parts->group / (size_t)(parts->group + 1);
        zeros = zeros > 2 ? zeros - 2 : 0; /* a little low; the rest is counted */
    }
    while (grouped_size(zeros + parts->digit_count, spec, parts->group) < width) { zeros++; }
    return zeros;
}

bool jinja_lay_out_number(struct jinja_builder *b, const struct jinja_spec *spec,
                          const struct jinja_number_parts *parts) {
    size_t other = (parts->sign != 0) + strlen(parts->prefix) + strlen(parts->rest);
    size_t zeros = count_zeros(spec, parts, other);
    size_t size = other + grouped_size(zeros + parts->digit_count, spec, parts->group);
    uint64_t lacking = spec->width > (int64_t)size ? (uint64_t)spec->width - size : 0;
    char align = spec->align ? spec->align : '>';
    uint64_t left = align == '>' ? lacking : align == '^' ? lacking / 2 : 0;
    uint64_t inner = align == '=' ? lacking : 0;
    return fill(b, spec, left) && (!parts->sign || jinja_build(b, &parts->sign, 1, spec->origin)) &&
           build_part(b, spec, parts->prefix) && fill(b, spec, inner) &&
           build_digits(b, spec, parts, zeros) && build_part(b, spec, parts->rest) &&
           fill(b, spec, lacking - left - inner);
}

bool jinja_lay_out_text(struct jinja_builder *b, const struct jinja_spec *spec,
                        const struct jinja_string *s) {
    size_t end = s->size, count = s->characters;
    if (spec->precision >= 0 && (uint64_t)spec->precision < count) {
        count = (size_t)spec->precision;
        if (!jinja_byte_of(b->run, s, count, &end)) { return false; }
    }
    uint64_t lacking = spec->width > (int64_t)count ? (uint64_t)spec->width - count : 0;
    uint64_t left = spec->align == '>' ? lacking : spec->align == '^' ? lacking / 2 : 0;
    return fill(b, spec, left) && jinja_build_from(b, s, 0, end) && fill(b, spec, lacking - left);
}

/* ---- integers ----------------------------------------------------------------------------------------- */

static size_t digits_of(uint64_t value, unsigned base, bool upper, char out[72]) {
    char backwards[64];
    size_t count = 0;
    do {
        backwards[count++] = (upper ? "0123456789ABCDEF" : "0123456789abcdef")[value % base];
    } while (value /= base);
    for (size_t i = 0; i < count; i++) { out[i] = backwards[count - 1 - i]; }
    out[count] = 0;
    return count;
}

bool jinja_lay_out_int(struct jinja_builder *b, const struct jinja_spec *spec, int64_t value) {
    bool hex = spec->type == 'x' || spec->type == 'X';
    unsigned base = hex ? 16 : spec->type == 'o' ? 8 : spec->type == 'b' ? 2 : 10;
    const char *prefix = spec->type == 'x'   ? "0x"
                         : spec->type == 'X' ? "0X"
                         : spec->type == 'o' ? "0o"
                         : spec->type == 'b' ? "0b"
                                             : "";
    char digits[72];
    const struct jinja_number_parts parts = {
        .sign = jinja_sign_of(spec, value < 0),
        .prefix = spec->alternate ? prefix : "",
        .digits = digits,
        .digit_count =
            digits_of(value < 0 ? 0 - (uint64_t)value : (uint64_t)value, base, spec->type == 'X', digits),
        .rest = "",
        .group = base == 10 ? 3 : 4,
    };
    return jinja_lay_out_number(b, spec, &parts);
}

/* ---- floats ------------------------------------------------------------------------------------------- */

enum { LARGEST_PRECISION = 100000, LONGEST_WHOLE = 400 };

/* Without a type and with a precision: as 'g', but never without a digit behind the point, and with an exponent
 * one digit earlier. */
static void print_general(double value, int precision, bool alternate, char *out, size_t room) {
    if (precision == 0) { precision = 1; }
    snprintf(out, room, alternate ? "%#.*e" : "%.*e", precision - 1, value);
    int exponent = (int)strtol(strchr(out, 'e') + 1, NULL, 10);
    bool scientific = exponent < -4 || exponent >= precision - 1;
    if (!scientific) { snprintf(out, room, "%.*f", precision - 1 - exponent, value); }
    char *end = scientific ? strchr(out, 'e') : out + strlen(out), *last = end;
    char *dot = memchr(out, '.', (size_t)(end - out));
    if (!dot || alternate) { return; }
    while (last > dot + (scientific ? 1 : 2) && last[-1] == '0') { last--; }
    if (last == dot + 1) { last = dot; }
    memmove(last, end, strlen(end) + 1);
}

/* repr(); alternate, there is a point in any case. */
static void print_shortest(double value, bool alternate, char *out) {
    out[jinja_float_text(value, out)] = 0;
    char *exponent = strchr(out, 'e');
    if (!alternate || !exponent || strchr(out, '.')) { return; }
    memmove(exponent + 1, exponent, strlen(exponent) + 1);
    *exponent = '.';
}

static void print_float(const struct jinja_spec *spec, double value, char *out, size_t room) {
    char type = spec->type == '%' ? 'f' : spec->type == 'n' ? 'g' : spec->type;
    const char plain[] = {'%', '.', '*', type, 0}, alternate[] = {'%', '#', '.', '*', type, 0};
    int precision = spec->precision < 0 ? 6 : (int)spec->precision;
    if (type == 0 && spec->precision < 0) {
        print_shortest(value, spec->alternate, out);
    } else if (type == 0 && isfinite(value)) {
        print_general(value, (int)spec->precision, spec->alternate, out, room);
    } else if (type == 0) {
        snprintf(out, room, isnan(value) ? "nan" : "inf");
    } else {
        snprintf(out, room, spec->alternate ? alternate : plain, precision, value);
    }
}

static bool all_zero(const char *text) {
    while (*text == '0' || *text == '.') { text++; }
    return *text == 0 || *text == 'e' || *text == 'E';
}

static bool lay_out_printed(struct jinja_builder *b, const struct jinja_spec *spec, bool negative,
                            char *text) {
    size_t digits = strspn(text, "0123456789");
    struct jinja_spec own = *spec;
    if (spec->no_negative_zero && all_zero(text)) { negative = false; }
    if (digits == 0) { own.grouping = 0; /* inf, nan: zeros do not separate */ }
    if (spec->type == '%') { snprintf(text + strlen(text), 2, "%%"); }
    const struct jinja_number_parts parts = {
        jinja_sign_of(spec, negative), "", text, digits, text + digits, 3};
    return jinja_lay_out_number(b, &own, &parts);
}

bool jinja_lay_out_float(struct jinja_builder *b, const struct jinja_spec *spec, double value) {
    if (spec->precision > LARGEST_PRECISION) {
        return jinja_fail(b->run, JINJA_LIMIT, "a precision is above %d", LARGEST_PRECISION);
    }
    bool negative = signbit(value) && !isnan(value);
    size_t room = LONGEST_WHOLE + (spec->precision > 0 ? (size_t)spec->precision : 0);
    char *text = jinja_alloc(b->run, room + 2, 1);
    if (!text || !jinja_spend(b->run, JINJA_FLOAT_STEPS)) { return false; }
    value = isnan(value) ? NAN : fabs(value);
    if (spec->type == '%') { value *= 100; }
    print_float(spec, value, text, room);
    bool done = lay_out_printed(b, spec, negative, text);
    jinja_release(b->run, text, room + 2, 1);
    return done;
}
