/*
 * jinja_unicode.h - code points: UTF-8, classes and case mappings as Python's str has them.
 */
#ifndef TENON_JINJA_UNICODE_H
#define TENON_JINJA_UNICODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Reads one code point of `left` > 0 bytes and returns its length. What is no UTF-8 gives UINT32_MAX and the
 * length of the longest beginning that could have become a character, at least 1. */
size_t jinja_decode(const char *bytes, size_t left, uint32_t *code);
size_t jinja_encode(uint32_t code, char out[4]);

bool jinja_code_is_space(uint32_t code);
bool jinja_code_is_alpha(uint32_t code);
bool jinja_code_is_decimal(uint32_t code);
bool jinja_code_is_digit(uint32_t code);
bool jinja_code_is_numeric(uint32_t code);
bool jinja_code_is_alnum(uint32_t code);
bool jinja_code_is_lower(uint32_t code);
bool jinja_code_is_upper(uint32_t code);
bool jinja_code_is_title(uint32_t code);
bool jinja_code_is_cased(uint32_t code);
bool jinja_code_is_case_ignorable(uint32_t code);
bool jinja_code_is_printable(uint32_t code);
bool jinja_code_starts_name(uint32_t code);
bool jinja_code_continues_name(uint32_t code);
bool jinja_code_breaks_line(uint32_t code);
int jinja_code_decimal(uint32_t code); /* the value of a decimal digit, -1 if it is none */

enum jinja_case { JINJA_LOWER, JINJA_UPPER, JINJA_TITLE, JINJA_FOLD };
enum { JINJA_CASE_CODES = 4 };
/* The full mapping of one code point, apart from the final sigma; returns how many there are. */
size_t jinja_code_case(uint32_t code, enum jinja_case to, uint32_t out[JINJA_CASE_CODES]);

/* Exceptions from what the general category says; sorted (jinja_unicode_table.c). */
struct jinja_code_range {
    uint32_t first, last;
};
struct jinja_code_ranges {
    const struct jinja_code_range *ranges;
    size_t count;
};
extern const struct jinja_code_ranges jinja_other_lower, jinja_other_upper, jinja_other_digit,
    jinja_other_numeric, jinja_spaces, jinja_other_name_start, jinja_no_name_start, jinja_other_name,
    jinja_no_name, jinja_other_case_ignorable;
/* Mappings to several code points (SpecialCasing of the Unicode database). */
struct jinja_special_case {
    uint16_t code, upper[3], title[3];
};
extern const struct jinja_special_case jinja_special_cases[];
extern const size_t jinja_special_case_count;

#endif
