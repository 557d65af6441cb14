/*
 * jinja_unicode.c - code points: UTF-8, classes and case mappings as Python's str has them, by utf8proc's tables
 * and the exceptions of jinja_unicode_table.c.
 */
#include "jinja_unicode.h"

#include <utf8proc.h>

/* The number of bytes that follow a first byte, and the bounds of the second (RFC 3629); 0 with no character. */
static size_t following(unsigned char first, unsigned char *low, unsigned char *high) {
    *low = first == 0xE0 ? 0xA0 : first == 0xF0 ? 0x90 : 0x80;
    *high = first == 0xED ? 0x9F : first == 0xF4 ? 0x8F : 0xBF;
    return first >= 0xC2 && first < 0xE0   ? 1
           : first >= 0xE0 && first < 0xF0 ? 2
           : first >= 0xF0 && first < 0xF5 ? 3
                                           : 0;
}

size_t jinja_decode(const char *bytes, size_t left, uint32_t *code) {
    const unsigned char *in = (const unsigned char *)bytes;
    if (in[0] < 0x80) {
        *code = in[0];
        return 1;
    }
    unsigned char low, high;
    size_t more = following(in[0], &low, &high);
    uint32_t value = in[0] & (0x3Fu >> more);
    *code = UINT32_MAX;
    if (more == 0) { return 1; }
    for (size_t i = 1; i <= more; i++, low = 0x80, high = 0xBF) {
        if (i == left || in[i] < low || in[i] > high) { return i; }
        value = value << 6 | (in[i] & 0x3F);
    }
    *code = value;
    return more + 1;
}

size_t jinja_encode(uint32_t code, char out[4]) {
    if (code < 0x80) {
        out[0] = (char)code;
        return 1;
    }
    size_t more = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
    static const unsigned char first[] = {0, 0xC0, 0xE0, 0xF0};
    out[0] = (char)(first[more] | code >> 6 * more);
    for (size_t i = 1; i <= more; i++) { out[i] = (char)(0x80 | (code >> 6 * (more - i) & 0x3F)); }
    return more + 1;
}

static bool within(const struct jinja_code_ranges *set, uint32_t code) {
    size_t low = 0, high = set->count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (code > set->ranges[middle].last) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < set->count && code >= set->ranges[low].first;
}

/* True if the category is one of a set of bits. */
static bool category_in(uint32_t code, uint32_t set) {
    return set >> utf8proc_category((utf8proc_int32_t)code) & 1;
}

enum {
    LETTERS = 1 << UTF8PROC_CATEGORY_LU | 1 << UTF8PROC_CATEGORY_LL | 1 << UTF8PROC_CATEGORY_LT |
              1 << UTF8PROC_CATEGORY_LM | 1 << UTF8PROC_CATEGORY_LO,
    NUMBERS = 1 << UTF8PROC_CATEGORY_ND | 1 << UTF8PROC_CATEGORY_NL | 1 << UTF8PROC_CATEGORY_NO,
    NAME_START = LETTERS | 1 << UTF8PROC_CATEGORY_NL,
    NAME = NAME_START | 1 << UTF8PROC_CATEGORY_MN | 1 << UTF8PROC_CATEGORY_MC | 1 << UTF8PROC_CATEGORY_ND |
           1 << UTF8PROC_CATEGORY_PC,
    CASE_IGNORABLE = 1 << UTF8PROC_CATEGORY_MN | 1 << UTF8PROC_CATEGORY_ME | 1 << UTF8PROC_CATEGORY_CF |
                     1 << UTF8PROC_CATEGORY_LM | 1 << UTF8PROC_CATEGORY_SK,
    UNPRINTABLE = 1 << UTF8PROC_CATEGORY_CC | 1 << UTF8PROC_CATEGORY_CF | 1 << UTF8PROC_CATEGORY_CS |
                  1 << UTF8PROC_CATEGORY_CO | 1 << UTF8PROC_CATEGORY_CN | 1 << UTF8PROC_CATEGORY_ZL |
                  1 << UTF8PROC_CATEGORY_ZP | 1 << UTF8PROC_CATEGORY_ZS,
};

bool jinja_code_is_space(uint32_t code) {
    return within(&jinja_spaces, code);
}
bool jinja_code_is_alpha(uint32_t code) {
    return category_in(code, LETTERS);
}
bool jinja_code_is_decimal(uint32_t code) {
    return category_in(code, 1 << UTF8PROC_CATEGORY_ND);
}
bool jinja_code_is_digit(uint32_t code) {
    return jinja_code_is_decimal(code) || within(&jinja_other_digit, code);
}
bool jinja_code_is_numeric(uint32_t code) {
    return category_in(code, NUMBERS) || within(&jinja_other_numeric, code);
}
bool jinja_code_is_alnum(uint32_t code) {
    return jinja_code_is_alpha(code) || jinja_code_is_numeric(code);
}
bool jinja_code_is_lower(uint32_t code) {
    if (code < 0x80) { return code >= 'a' && code <= 'z'; }
    return category_in(code, 1 << UTF8PROC_CATEGORY_LL) || within(&jinja_other_lower, code);
}
bool jinja_code_is_upper(uint32_t code) {
    if (code < 0x80) { return code >= 'A' && code <= 'Z'; }
    return category_in(code, 1 << UTF8PROC_CATEGORY_LU) || within(&jinja_other_upper, code);
}
bool jinja_code_is_title(uint32_t code) {
    return category_in(code, 1 << UTF8PROC_CATEGORY_LT);
}
bool jinja_code_is_cased(uint32_t code) {
    return jinja_code_is_lower(code) || jinja_code_is_upper(code) || jinja_code_is_title(code);
}
bool jinja_code_is_case_ignorable(uint32_t code) {
    return category_in(code, CASE_IGNORABLE) || within(&jinja_other_case_ignorable, code);
}
bool jinja_code_is_printable(uint32_t code) {
    return code == ' ' || !category_in(code, UNPRINTABLE);
}
bool jinja_code_starts_name(uint32_t code) {
    return code == '_' || (category_in(code, NAME_START) && !within(&jinja_no_name_start, code)) ||
           within(&jinja_other_name_start, code);
}
bool jinja_code_continues_name(uint32_t code) {
    return (category_in(code, NAME) && !within(&jinja_no_name, code)) || within(&jinja_other_name, code) ||
           within(&jinja_other_name_start, code);
}
bool jinja_code_breaks_line(uint32_t code) {
    return (code >= '\n' && code <= '\r') || (code >= 0x1C && code <= 0x1E) || code == 0x85 ||
           code == 0x2028 || code == 0x2029;
}

/* Decimal digits come in runs of ten whose first is the zero, with one exception: the mathematical ones follow
 * each other without a gap from U+1D7CE on. */
int jinja_code_decimal(uint32_t code) {
    if (code >= '0' && code <= '9') { return (int)(code - '0'); }
    if (code < 0x80 || !jinja_code_is_decimal(code)) { return -1; }
    if (code >= 0x1D7CE && code <= 0x1D7FF) { return (int)((code - 0x1D7CE) % 10); }
    int value = 0;
    while (value < 9 && jinja_code_is_decimal(code - (uint32_t)value - 1)) { value++; }
    return value;
}

static size_t special_case(const uint16_t codes[3], uint32_t *out) {
    size_t count = 0;
    for (; count < 3 && codes[count]; count++) { out[count] = codes[count]; }
    return count;
}

static const struct jinja_special_case *find_special(uint32_t code) {
    size_t low = 0, high = jinja_special_case_count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (code > jinja_special_cases[middle].code) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    bool found = low < jinja_special_case_count && jinja_special_cases[low].code == code;
    return found ? &jinja_special_cases[low] : NULL;
}

static size_t fold(uint32_t code, uint32_t out[JINJA_CASE_CODES]) {
    int last = 0;
    utf8proc_int32_t codes[JINJA_CASE_CODES];
    utf8proc_ssize_t count =
        utf8proc_decompose_char((utf8proc_int32_t)code, codes, JINJA_CASE_CODES, UTF8PROC_CASEFOLD, &last);
    for (utf8proc_ssize_t i = 0; i < count; i++) { out[i] = (uint32_t)codes[i]; }
    return (size_t)count;
}

size_t jinja_code_case(uint32_t code, enum jinja_case to, uint32_t out[JINJA_CASE_CODES]) {
    utf8proc_int32_t c = (utf8proc_int32_t)code;
    if (to == JINJA_FOLD && code >= 0x80) { return fold(code, out); }
    if (to == JINJA_LOWER || to == JINJA_FOLD) {
        out[0] = (uint32_t)utf8proc_tolower(c);
        out[1] = 0x307; /* of U+0130 */
        if (code == 0x130) { out[0] = 'i'; }
        return code == 0x130 ? 2 : 1;
    }
    const struct jinja_special_case *special = code < 0x80 ? NULL : find_special(code);
    if (special) { return special_case(to == JINJA_UPPER ? special->upper : special->title, out); }
    out[0] = (uint32_t)(to == JINJA_UPPER ? utf8proc_toupper(c) : utf8proc_totitle(c));
    return 1;
}
