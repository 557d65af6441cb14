/*
 * jinja_filter_number.c - filters about numbers.
 */
#include "jinja_filter.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

bool jinja_filter_abs(struct jinja_run *run, jinja_value self, const struct jinja_args *args,
                      jinja_value *out) {
    (void)args;
    if (self.type == JINJA_UNDEFINED) { return jinja_fail_undefined(run, self); }
    if (!jinja_is_number(self)) {
        return jinja_fail(run, JINJA_RUNTIME, "bad operand type for abs(): '%s'", jinja_type_name(self));
    }
    if (self.type == JINJA_FLOAT) {
        *out = jinja_float(fabs(self.number));
    } else if (jinja_whole(self) < 0) {
        return jinja_unary(run, JINJA_NEG, self, out);
    } else {
        *out = jinja_int(jinja_whole(self));
    }
    return true;
}

/* float(): a fault for the undefined, *valid false for what Python's raises a TypeError or ValueError. */
static bool to_float(struct jinja_run *run, jinja_value value, double *out, bool *valid) {
    *valid = jinja_is_number(value);
    if (value.type == JINJA_UNDEFINED) { return jinja_fail_undefined(run, value); }
    if (value.type == JINJA_STRING) { return jinja_parse_float(run, value.string, out, valid); }
    if (*valid) { *out = jinja_real(value); }
    return true;
}

bool jinja_filter_float(struct jinja_run *run, jinja_value self, const struct jinja_args *args,
                        jinja_value *out) {
    double value;
    bool valid;
    if (!to_float(run, self, &value, &valid)) { return false; }
    *out = valid ? jinja_float(value) : args->given[0] ? args->at[0] : jinja_float(0);
    return true;
}

/* "42.23"|int gives 42: what is no integer, by a base that is one, is read as a float. */
bool jinja_filter_int(struct jinja_run *run, jinja_value self, const struct jinja_args *args,
                      jinja_value *out) {
    int64_t base = 10, whole;
    double value;
    bool overflow = false, valid, has_base = !args->given[1] || jinja_is_whole(args->at[1]);
    if (args->given[1] && has_base) { base = jinja_whole(args->at[1]); }
    *out = args->given[0] ? args->at[0] : jinja_int(0);
    if (self.type == JINJA_STRING) {
        if (!jinja_spend_walk(run, self.string->size)) { return false; }
        has_base = has_base && (base == 0 || (base >= 2 && base <= 36));
        bool whole_number = has_base && jinja_parse_int(self.string, base, &whole, &overflow);
        if (whole_number && overflow) { return jinja_fail_overflow(run); }
        if (whole_number) { *out = jinja_int(whole); }
        if (whole_number) { return true; }
    } else if (jinja_is_whole(self)) {
        *out = jinja_int(jinja_whole(self));
        return true;
    }
    if (!to_float(run, self, &value, &valid)) { return false; }
    if (!valid || isnan(value) || (isinf(value) && self.type == JINJA_STRING)) { return true; }
    if (!jinja_float_to_int(run, value, &whole)) { return false; }
    *out = jinja_int(whole);
    return true;
}

/* ---- round -------------------------------------------------------------------------------------------- */

/* The decimal digits as printf rounds them: half to even on the exact value, as Python does. */
static double round_float(double value, int64_t digits) {
    enum { MOST = 330 };
    char text[1100];
    if (!isfinite(value) || value == 0 || digits > MOST) { return value; }
    if (digits >= 0) {
        snprintf(text, sizeof text, "%.*f", (int)digits, value);
        return strtod(text, NULL);
    }
    snprintf(text, sizeof text, "%.17e", value);
    int64_t exponent = strtol(strchr(text, 'e') + 1, NULL, 10), kept = exponent + digits;
    if (digits < -MOST || kept < -1) { return copysign(0, value); }
    if (kept >= 0) {
        snprintf(text, sizeof text, "%.*e", (int)kept, value);
        return strtod(text, NULL);
    }
    double unit = strtod((snprintf(text, sizeof text, "1e%d", (int)-digits), text), NULL);
    return copysign(fabs(value) > unit / 2 ? unit : 0, value);
}

/* To a power of ten, halves to even. */
static bool round_int(struct jinja_run *run, int64_t value, int64_t digits, jinja_value *out) {
    *out = jinja_int(value);
    if (digits >= 0) { return true; }
    *out = jinja_int(0);
    if (digits < -19) { return true; }
    __int128 unit = 1, exact = value;
    for (int64_t i = digits; i < 0; i++) { unit *= 10; }
    __int128 rest = exact % unit < 0 ? exact % unit + unit : exact % unit, low = exact - rest;
    bool up = rest * 2 > unit || (rest * 2 == unit && low / unit % 2 != 0);
    __int128 result = up ? low + unit : low;
    if (result > INT64_MAX || result < INT64_MIN) { return jinja_fail_overflow(run); }
    *out = jinja_int((int64_t)result);
    return true;
}

/* ceil or floor at a decimal place, by way of the power of ten as jinja does it. */
static bool round_toward(struct jinja_run *run, jinja_value self, int64_t precision, bool up,
                         jinja_value *out) {
    jinja_value power, scaled;
    if (self.type != JINJA_FLOAT && precision >= 0) {
        *out = jinja_float(jinja_real(self));
        return true;
    }
    if (!jinja_binary(run, JINJA_POW, jinja_int(10), jinja_int(precision), &power) ||
        !jinja_binary(run, JINJA_MUL, self, power, &scaled)) {
        return false;
    }
    double number = up ? ceil(scaled.number) : floor(scaled.number);
    if (!isfinite(number)) {
        return jinja_fail(run, JINJA_RUNTIME, "cannot convert float infinity or NaN to integer");
    }
    return jinja_binary(run, JINJA_DIV, jinja_float(number == 0 ? 0 : number), power, out); /* no -0 */
}

bool jinja_filter_round(struct jinja_run *run, jinja_value self, const struct jinja_args *args,
                        jinja_value *out) {
    const struct jinja_string *method = NULL;
    int64_t precision = 0;
    if (!jinja_arg_string(run, args, 1, &method)) { return false; }
    bool common = !args->given[1] || (method && jinja_string_is(method, "common"));
    bool up = method && jinja_string_is(method, "ceil");
    if (!common && !up && !(method && jinja_string_is(method, "floor"))) {
        return jinja_fail(run, JINJA_RUNTIME, "round: method must be common, ceil or floor");
    }
    if (self.type == JINJA_UNDEFINED) { return jinja_fail_undefined(run, self); }
    if (!jinja_is_number(self)) {
        return jinja_fail(run, JINJA_RUNTIME, "type %s doesn't define __round__ method",
                          jinja_type_name(self));
    }
    if (common && args->given[0] && args->at[0].type == JINJA_NONE) {
        if (self.type != JINJA_FLOAT) { return round_int(run, jinja_whole(self), 0, out); }
        if (!jinja_float_to_int(run, nearbyint(self.number), &precision)) { return false; }
        *out = jinja_int(precision);
        return true;
    }
    if (!jinja_arg_int(run, args, 0, 0, &precision)) { return false; }
    if (!common) { return round_toward(run, self, precision, up, out); }
    if (self.type != JINJA_FLOAT) { return round_int(run, jinja_whole(self), precision, out); }
    if (!jinja_spend(run, JINJA_FLOAT_STEPS)) { return false; }
    double rounded = round_float(self.number, precision);
    if (isinf(rounded) && isfinite(self.number)) {
        return jinja_fail(run, JINJA_RUNTIME, "rounded value too large to represent");
    }
    *out = jinja_float(rounded);
    return true;
}

/* ---- filesizeformat ----------------------------------------------------------------------------------- */

bool jinja_filter_filesizeformat(struct jinja_run *run, jinja_value self, const struct jinja_args *args,
                                 jinja_value *out) {
    static const char *const prefixes = "kMGTPEZY";
    char text[400];
    double bytes;
    bool valid, binary;
    if (!to_float(run, self, &bytes, &valid) || !jinja_arg_bool(run, args, 0, false, &binary)) {
        return false;
    }
    if (!valid) {
        return jinja_fail(run, JINJA_RUNTIME, "filesizeformat: could not convert a value to float");
    }
    double base = binary ? 1024 : 1000, unit = base;
    if (bytes == 1) { return jinja_literal(run, "1 Byte", out); }
    if (bytes < base) {
        int64_t whole;
        if (!jinja_float_to_int(run, bytes, &whole)) { return false; }
        snprintf(text, sizeof text, "%" PRId64 " Bytes", whole);
        return jinja_literal(run, text, out);
    }
    size_t i = 0;
    for (unit *= base; i < 7 && !(bytes < unit); i++) { unit *= base; }
    char prefix = binary && i == 0 ? 'K' : prefixes[i];
    snprintf(text, sizeof text, "%.1f %c%sB", base * bytes / unit, prefix, binary ? "i" : "");
    return jinja_literal(run, text, out);
}
