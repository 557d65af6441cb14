/*
 * jinja_string_case.c - the methods of strings about letters: case mappings and classes of characters.
 */
#include "jinja_method.h"

/* ---- mappings ----------------------------------------------------------------------------------------- */

enum { CAPITAL_SIGMA = 0x3A3, SIGMA = 0x3C3, FINAL_SIGMA = 0x3C2 };

/* A capital sigma at [begin, end) is final behind a cased letter and not before one; case-ignorable ones between
 * do not count (Final_Sigma of the Unicode standard). */
static bool sigma_is_final(const struct jinja_string *s, size_t begin, size_t end) {
    uint32_t code = 0;
    bool found = false;
    while (!found && begin > 0) {
        code = jinja_code_before(s, &begin);
        found = !jinja_code_is_case_ignorable(code);
    }
    if (!found || !jinja_code_is_cased(code)) { return false; }
    for (found = false; !found && end < s->size;) {
        code = jinja_code_at(s, &end);
        found = !jinja_code_is_case_ignorable(code);
    }
    return !found || !jinja_code_is_cased(code);
}

static bool build_case(struct jinja_builder *b, const struct jinja_string *s, size_t begin, size_t end,
                       enum jinja_case to) {
    uint32_t code, codes[JINJA_CASE_CODES];
    jinja_decode(s->bytes + begin, end - begin, &code);
    uint8_t origin = jinja_origin_at(s, begin);
    if (code == CAPITAL_SIGMA && to == JINJA_LOWER) {
        return jinja_build_code(b, sigma_is_final(s, begin, end) ? FINAL_SIGMA : SIGMA, origin);
    }
    size_t count = jinja_code_case(code, to, codes);
    for (size_t i = 0; i < count; i++) {
        if (!jinja_build_code(b, codes[i], origin)) { return false; }
    }
    return true;
}

bool jinja_case(struct jinja_run *run, const struct jinja_string *s, enum jinja_case to, jinja_value *out) {
    struct jinja_builder b = {.run = run};
    for (size_t at = 0; at < s->size;) {
        size_t begin = at;
        jinja_code_at(s, &at);
        if (!build_case(&b, s, begin, at, to)) { return false; }
    }
    return jinja_spend_walk(run, s->size) && jinja_built(&b, out);
}

bool jinja_str_upper(struct jinja_run *run, jinja_value self, const struct jinja_args *args,
                     jinja_value *out) {
    (void)args;
    return jinja_case(run, self.string, JINJA_UPPER, out);
}

bool jinja_str_lower(struct jinja_run *run, jinja_value self, const struct jinja_args *args,
                     jinja_value *out) {
    (void)args;
    return jinja_case(run, self.string, JINJA_LOWER, out);
}

bool jinja_str_casefold(struct jinja_run *run, jinja_value self, const struct jinja_args *args,
                        jinja_value *out) {
    (void)args;
    return jinja_case(run, self.string, JINJA_FOLD, out);
}

/* Title case for the first letter, or for each that follows no cased letter. */
static bool build_titles(struct jinja_run *run, const struct jinja_string *s, bool each, jinja_value *out) {
    struct jinja_builder b = {.run = run};
    bool inside = false;
    for (size_t at = 0; at < s->size;) {
        size_t begin = at;
        uint32_t code = jinja_code_at(s, &at);
        if (!build_case(&b, s, begin, at, inside ? JINJA_LOWER : JINJA_TITLE)) { return false; }
        inside = !each || jinja_code_is_cased(code);
    }
    return jinja_spend_walk(run, s->size) && jinja_built(&b, out);
}

bool jinja_str_title(struct jinja_run *run, jinja_value self, const struct jinja_args *args,
                     jinja_value *out) {
    (void)args;
    return build_titles(run, self.string, true, out);
}

bool jinja_str_capitalize(struct jinja_run *run, jinja_value self, const struct jinja_args *args,
                          jinja_value *out) {
    (void)args;
    return build_titles(run, self.string, false, out);
}

bool jinja_str_swapcase(struct jinja_run *run, jinja_value self, const struct jinja_args *args,
                        jinja_value *out) {
    (void)args;
    const struct jinja_string *s = self.string;
    struct jinja_builder b = {.run = run};
    for (size_t at = 0; at < s->size;) {
        size_t begin = at;
        uint32_t code = jinja_code_at(s, &at);
        bool upper = jinja_code_is_upper(code), change = upper || jinja_code_is_lower(code);
        if (!(change ? build_case(&b, s, begin, at, upper ? JINJA_LOWER : JINJA_UPPER)
                     : jinja_build_from(&b, s, begin, at))) {
            return false;
        }
    }
    return jinja_spend_walk(run, s->size) && jinja_built(&b, out);
}

/* ---- classes ------------------------------------------------------------------------------------------ */

static bool all_are(struct jinja_run *run, const struct jinja_string *s, bool (*is)(uint32_t code),
                    bool empty, jinja_value *out) {
    bool all = s->size ? true : empty;
    for (size_t at = 0; all && at < s->size;) { all = is(jinja_code_at(s, &at)); }
    *out = jinja_bool(all);
    return jinja_spend_walk(run, s->size);
}

#define CLASS_METHOD(name, is, empty)                                                                        \
    bool jinja_str_##name(struct jinja_run *run, jinja_value self, const struct jinja_args *args,            \
                          jinja_value *out) {                                                                \
        (void)args;                                                                                          \
        return all_are(run, self.string, is, empty, out);                                                    \
    }
CLASS_METHOD(isdigit, jinja_code_is_digit, false)
CLASS_METHOD(isalpha, jinja_code_is_alpha, false)
CLASS_METHOD(isalnum, jinja_code_is_alnum, false)
CLASS_METHOD(isspace, jinja_code_is_space, false)
CLASS_METHOD(isnumeric, jinja_code_is_numeric, false)
CLASS_METHOD(isdecimal, jinja_code_is_decimal, false)
CLASS_METHOD(isprintable, jinja_code_is_printable, true)

bool jinja_str_isascii(struct jinja_run *run, jinja_value self, const struct jinja_args *args,
                       jinja_value *out) {
    (void)run;
    (void)args;
    *out = jinja_bool(jinja_is_ascii(self.string));
    return true;
}

/* At least one letter of that case, and none of another. */
static bool one_case(struct jinja_run *run, const struct jinja_string *s, bool upper, jinja_value *out) {
    bool seen = false, other = false;
    for (size_t at = 0; !other && at < s->size;) {
        uint32_t code = jinja_code_at(s, &at);
        bool is_upper = jinja_code_is_upper(code), is_lower = jinja_code_is_lower(code);
        seen = seen || (upper ? is_upper : is_lower);
        other = (upper ? is_lower : is_upper) || jinja_code_is_title(code);
    }
    *out = jinja_bool(seen && !other);
    return jinja_spend_walk(run, s->size);
}

bool jinja_str_isupper(struct jinja_run *run, jinja_value self, const struct jinja_args *args,
                       jinja_value *out) {
    (void)args;
    return one_case(run, self.string, true, out);
}

bool jinja_str_islower(struct jinja_run *run, jinja_value self, const struct jinja_args *args,
                       jinja_value *out) {
    (void)args;
    return one_case(run, self.string, false, out);
}

bool jinja_str_istitle(struct jinja_run *run, jinja_value self, const struct jinja_args *args,
                       jinja_value *out) {
    (void)args;
    const struct jinja_string *s = self.string;
    bool seen = false, inside = false, fits = true;
    for (size_t at = 0; fits && at < s->size;) {
        uint32_t code = jinja_code_at(s, &at);
        bool begins = jinja_code_is_upper(code) || jinja_code_is_title(code);
        bool cased = begins || jinja_code_is_lower(code);
        fits = !cased || begins != inside;
        inside = cased;
        seen = seen || cased;
    }
    *out = jinja_bool(seen && fits);
    return jinja_spend_walk(run, s->size);
}

bool jinja_str_isidentifier(struct jinja_run *run, jinja_value self, const struct jinja_args *args,
                            jinja_value *out) {
    (void)args;
    const struct jinja_string *s = self.string;
    size_t at = 0;
    bool is = s->size && jinja_code_starts_name(jinja_code_at(s, &at));
    while (is && at < s->size) { is = jinja_code_continues_name(jinja_code_at(s, &at)); }
    *out = jinja_bool(is);
    return jinja_spend_walk(run, s->size);
}
