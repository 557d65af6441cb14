/*
 * jinja_operator.c - arithmetic under Python's rules. Integers have 64 bits; a result beyond them is a fault.
 */
#include "jinja_inside.h"

#include <math.h>

static const char *const signs[] = {
    [JINJA_ADD] = "+",           [JINJA_SUB] = "-",        [JINJA_MUL] = "*",
    [JINJA_DIV] = "/",           [JINJA_FLOOR_DIV] = "//", [JINJA_MOD] = "%",
    [JINJA_POW] = "** or pow()", [JINJA_NEG] = "-",        [JINJA_POS] = "+",
};

static bool give_int(int64_t value, jinja_value *out) {
    *out = jinja_int(value);
    return true;
}

static bool give_float(double value, jinja_value *out) {
    *out = jinja_float(value);
    return true;
}

/* ---- division ----------------------------------------------------------------------------------------- */

/* The quotient of integers rounded once: 64 bits and more of it with the rest as a sticky bit. */
static double divide_whole(int64_t a, int64_t b) {
    uint64_t x = a < 0 ? 0 - (uint64_t)a : (uint64_t)a, y = b < 0 ? 0 - (uint64_t)b : (uint64_t)b;
    if (x == 0) { return b < 0 ? -0.0 : 0.0; }
    int shift = __builtin_clzll(x) + 63;
    unsigned __int128 dividend = (unsigned __int128)x << shift, quotient = dividend / y;
    if (dividend % y) { quotient |= 1; }
    double value = ldexp((double)quotient, -shift);
    return (a < 0) != (b < 0) ? -value : value;
}

static bool floor_divide(struct jinja_run *run, int64_t a, int64_t b, int64_t *quotient, int64_t *rest) {
    if (b == 0) { return jinja_fail(run, JINJA_RUNTIME, "integer division or modulo by zero"); }
    if (b == -1) { /* the smallest integer by -1 traps */
        *rest = 0;
        return !__builtin_sub_overflow((int64_t)0, a, quotient) || jinja_fail_overflow(run);
    }
    *quotient = a / b;
    *rest = a % b;
    if (*rest && (*rest < 0) != (b < 0)) {
        *rest += b;
        --*quotient;
    }
    return true;
}

/* As CPython's float_divmod: the rest has the divisor's sign, the quotient is corrected to a whole number. */
bool jinja_float_floor_mod(struct jinja_run *run, double a, double b, double *floor_out, double *mod_out) {
    if (b == 0) { return jinja_fail(run, JINJA_RUNTIME, "float floor division or modulo by zero"); }
    double mod = fmod(a, b), div = (a - mod) / b;
    if (mod == 0) {
        mod = copysign(0, b);
    } else if ((b < 0) != (mod < 0)) {
        mod += b;
        div -= 1;
    }
    double whole = div == 0 ? copysign(0, a / b) : floor(div);
    if (div - whole > 0.5) { whole += 1; }
    *floor_out = whole;
    *mod_out = mod;
    return true;
}

/* ---- powers ------------------------------------------------------------------------------------------- */

static bool power_whole(struct jinja_run *run, int64_t base, int64_t exponent, jinja_value *out) {
    int64_t result = 1;
    if (base == 0 || base == 1) { return give_int(exponent == 0 ? 1 : base, out); }
    if (base == -1) { return give_int(exponent % 2 ? -1 : 1, out); }
    for (int64_t i = 0; i < exponent; i++) { /* at most 63 rounds before it overflows */
        if (__builtin_mul_overflow(result, base, &result)) { return jinja_fail_overflow(run); }
    }
    return give_int(result, out);
}

static bool power_real(struct jinja_run *run, double base, double exponent, jinja_value *out) {
    if (base == 0 && exponent < 0) {
        return jinja_fail(run, JINJA_RUNTIME, "0.0 cannot be raised to a negative power");
    }
    if (base < 0 && isfinite(base) && isfinite(exponent) && exponent != floor(exponent)) {
        return jinja_fail(run, JINJA_RUNTIME, "a negative number to a broken power is a complex number");
    }
    double result = pow(base, exponent);
    if (isinf(result) && isfinite(base) && isfinite(exponent)) {
        return jinja_fail(run, JINJA_RUNTIME, "the result of ** is out of the range of floats");
    }
    return give_float(result, out);
}

/* ---- numbers ------------------------------------------------------------------------------------------ */

static bool compute_whole(struct jinja_run *run, enum jinja_operator op, int64_t a, int64_t b,
                          jinja_value *out) {
    int64_t result = 0, rest = 0;
    bool overflow = false;
    switch (op) {
    case JINJA_ADD: overflow = __builtin_add_overflow(a, b, &result); break;
    case JINJA_SUB: overflow = __builtin_sub_overflow(a, b, &result); break;
    case JINJA_MUL: overflow = __builtin_mul_overflow(a, b, &result); break;
    case JINJA_DIV:
        if (b == 0) { return jinja_fail(run, JINJA_RUNTIME, "division by zero"); }
        return give_float(divide_whole(a, b), out);
    case JINJA_POW: return b < 0 ? power_real(run, (double)a, (double)b, out) : power_whole(run, a, b, out);
    case JINJA_MOD:
        if (b == -1) { return give_int(0, out); }
        return floor_divide(run, a, b, &result, &rest) && give_int(rest, out);
    default:
        if (!floor_divide(run, a, b, &result, &rest)) { return false; }
    }
    return overflow ? jinja_fail_overflow(run) : give_int(result, out);
}

static bool compute_real(struct jinja_run *run, enum jinja_operator op, double a, double b,
                         jinja_value *out) {
    double quotient, rest;
    switch (op) {
    case JINJA_ADD: return give_float(a + b, out);
    case JINJA_SUB: return give_float(a - b, out);
    case JINJA_MUL: return give_float(a * b, out);
    case JINJA_DIV:
        if (b == 0) { return jinja_fail(run, JINJA_RUNTIME, "float division by zero"); }
        return give_float(a / b, out);
    case JINJA_POW: return power_real(run, a, b, out);
    default:
        return jinja_float_floor_mod(run, a, b, &quotient, &rest) &&
               give_float(op == JINJA_MOD ? rest : quotient, out);
    }
}

/* ---- sequences ---------------------------------------------------------------------------------------- */

/* Markup stays markup, so what is plain is escaped before it joins. */
static bool add_strings(struct jinja_run *run, jinja_value a, jinja_value b, jinja_value *out) {
    struct jinja_builder sum = {.run = run};
    bool markup = a.string->markup || b.string->markup;
    if (markup && (!jinja_html_escape(run, a, &a) || !jinja_html_escape(run, b, &b))) { return false; }
    return jinja_build_string(&sum, a.string) && jinja_build_string(&sum, b.string) &&
           jinja_built(&sum, out) && jinja_markup(run, *out, markup, out);
}

static bool add_items(struct jinja_run *run, jinja_value to, const struct jinja_list *from) {
    for (size_t i = 0; i < from->count; i++) {
        if (!jinja_list_add(run, to, from->items[i])) { return false; }
    }
    return true;
}

static bool add(struct jinja_run *run, jinja_value a, jinja_value b, jinja_value *out) {
    if (a.type == JINJA_STRING && b.type == JINJA_STRING) { return add_strings(run, a, b, out); }
    if (a.type == b.type && (a.type == JINJA_LIST || a.type == JINJA_TUPLE)) {
        return jinja_list_make(run, a.type, a.list->count + b.list->count, out) &&
               add_items(run, *out, a.list) && add_items(run, *out, b.list);
    }
    if (b.type == JINJA_UNDEFINED) { return jinja_fail_undefined(run, b); }
    if (a.type == JINJA_STRING) {
        return jinja_fail(run, JINJA_RUNTIME, "can only concatenate str (not \"%s\") to str",
                          jinja_type_name(b));
    }
    if (a.type == JINJA_LIST || a.type == JINJA_TUPLE) {
        return jinja_fail(run, JINJA_RUNTIME, "can only concatenate %s (not \"%s\") to %s",
                          jinja_type_name(a), jinja_type_name(b), jinja_type_name(a));
    }
    return jinja_fail_operand(run, "+", a, b);
}

static bool is_sequence(jinja_value value) {
    return value.type == JINJA_STRING || value.type == JINJA_LIST || value.type == JINJA_TUPLE;
}

static bool repeat(struct jinja_run *run, jinja_value what, int64_t times, jinja_value *out) {
    if (times < 0) { times = 0; }
    if (what.type == JINJA_STRING) {
        struct jinja_builder b = {.run = run};
        return jinja_build_repeat(&b, what.string, (uint64_t)times) && jinja_built(&b, out) &&
               jinja_markup(run, *out, what.string->markup, out);
    }
    size_t room;
    if (__builtin_mul_overflow(what.list->count, (uint64_t)times, &room)) {
        return jinja_fail(run, JINJA_LIMIT, "a list is too long");
    }
    if (!jinja_list_make(run, what.type, room, out)) { return false; }
    for (size_t i = 0; i < room; i += what.list->count) {
        if (!add_items(run, *out, what.list)) { return false; }
    }
    return true;
}

static bool multiply(struct jinja_run *run, jinja_value a, jinja_value b, jinja_value *out) {
    if (is_sequence(a) && jinja_is_whole(b)) { return repeat(run, a, jinja_whole(b), out); }
    if (jinja_is_whole(a) && is_sequence(b)) { return repeat(run, b, jinja_whole(a), out); }
    bool undefined = a.type == JINJA_UNDEFINED || b.type == JINJA_UNDEFINED;
    if (!undefined && (is_sequence(a) || is_sequence(b))) {
        return jinja_fail(run, JINJA_RUNTIME, "can't multiply sequence by non-int of type '%s'",
                          jinja_type_name(is_sequence(a) ? b : a));
    }
    return jinja_fail_operand(run, "*", a, b);
}

/* ---- entries ------------------------------------------------------------------------------------------ */

static bool arithmetic(struct jinja_run *run, enum jinja_operator op, jinja_value a, jinja_value b,
                       jinja_value *out) {
    if (jinja_is_whole(a) && jinja_is_whole(b)) {
        return compute_whole(run, op, jinja_whole(a), jinja_whole(b), out);
    }
    if (jinja_is_number(a) && jinja_is_number(b)) {
        return compute_real(run, op, jinja_real(a), jinja_real(b), out);
    }
    if (op == JINJA_ADD) { return add(run, a, b, out); }
    if (op == JINJA_MUL) { return multiply(run, a, b, out); }
    if (op == JINJA_MOD && a.type == JINJA_STRING) { return jinja_format_percent(run, a.string, b, out); }
    return jinja_fail_operand(run, signs[op], a, b);
}

bool jinja_binary(struct jinja_run *run, enum jinja_operator op, jinja_value a, jinja_value b,
                  jinja_value *out) {
    bool truth;
    if (op <= JINJA_POW) { return jinja_spend(run, 1) && arithmetic(run, op, a, b, out); }
    bool done = op == JINJA_IN || op == JINJA_NOT_IN ? jinja_contains(run, b, a, &truth)
                                                     : jinja_compare(run, op, a, b, &truth);
    if (done) { *out = jinja_bool(op == JINJA_NOT_IN ? !truth : truth); }
    return done;
}

bool jinja_unary(struct jinja_run *run, enum jinja_operator op, jinja_value a, jinja_value *out) {
    int64_t negative;
    if (a.type == JINJA_UNDEFINED) { return jinja_fail_undefined(run, a); }
    if (!jinja_is_number(a)) {
        return jinja_fail(run, JINJA_RUNTIME, "bad operand type for unary %s: '%s'", signs[op],
                          jinja_type_name(a));
    }
    if (a.type == JINJA_FLOAT) { return give_float(op == JINJA_NEG ? -a.number : a.number, out); }
    if (op == JINJA_POS) { return give_int(jinja_whole(a), out); }
    if (__builtin_sub_overflow((int64_t)0, jinja_whole(a), &negative)) { return jinja_fail_overflow(run); }
    return give_int(negative, out);
}

bool jinja_truth(struct jinja_run *run, jinja_value value, bool *out) {
    bool view;
    size_t length = 1;
    struct jinja_stream *stream = jinja_stream_of(value, &view);
    switch (value.type) {
    case JINJA_UNDEFINED:
    case JINJA_NONE: length = 0; break;
    case JINJA_BOOL: length = value.boolean; break;
    case JINJA_INT: length = value.integer != 0; break;
    case JINJA_FLOAT: length = value.number != 0; break;
    case JINJA_STRING: length = value.string->size; break;
    case JINJA_LIST:
    case JINJA_TUPLE: length = value.list->count; break;
    case JINJA_DICT: length = value.dict->count; break;
    case JINJA_RANGE: length = jinja_range_length(value.range); break;
    default: length = stream && view ? stream->items.list->count : 1;
    }
    *out = length != 0;
    return jinja_spend(run, 1);
}
