/*
 * jinja_method.h - the methods of strings, for the table in jinja_method.c.
 */
#ifndef TENON_JINJA_METHOD_H
#define TENON_JINJA_METHOD_H

#include "jinja_inside.h"

/* X(name, how many arguments it needs, its parameters) */
/* clang-format off */
#define JINJA_STRING_METHODS(X) \
    X(strip, 0, "/chars") X(lstrip, 0, "/chars") X(rstrip, 0, "/chars") X(split, 0, "sep", "maxsplit") \
    X(rsplit, 0, "sep", "maxsplit") X(splitlines, 0, "keepends") X(partition, 1, "/sep") \
    X(rpartition, 1, "/sep") X(removeprefix, 1, "/prefix") X(removesuffix, 1, "/suffix") \
    X(startswith, 1, "/prefix", "/start", "/end") X(endswith, 1, "/suffix", "/start", "/end") \
    X(find, 1, "/sub", "/start", "/end") X(rfind, 1, "/sub", "/start", "/end") \
    X(index, 1, "/sub", "/start", "/end") X(rindex, 1, "/sub", "/start", "/end") \
    X(count, 1, "/sub", "/start", "/end") X(replace, 2, "/old", "/new", "/count") X(join, 1, "/iterable") \
    X(format, 0, "*", "**") X(format_map, 1, "/mapping") X(zfill, 1, "/width") \
    X(center, 1, "/width", "/fillchar") X(ljust, 1, "/width", "/fillchar") \
    X(rjust, 1, "/width", "/fillchar") X(expandtabs, 0, "tabsize") X(upper, 0, NULL) X(lower, 0, NULL) \
    X(title, 0, NULL) X(capitalize, 0, NULL) X(casefold, 0, NULL) X(swapcase, 0, NULL) \
    X(isdigit, 0, NULL) X(isalpha, 0, NULL) X(isalnum, 0, NULL) X(isspace, 0, NULL) X(isupper, 0, NULL) \
    X(islower, 0, NULL) X(isnumeric, 0, NULL) X(isdecimal, 0, NULL) X(isascii, 0, NULL) \
    X(isidentifier, 0, NULL) X(istitle, 0, NULL) X(isprintable, 0, NULL)
/* clang-format on */

#define JINJA_METHOD_DECLARE(name, ...)                                                                      \
    bool jinja_str_##name(struct jinja_run *run, jinja_value self, const struct jinja_args *args,            \
                          jinja_value *out);
JINJA_STRING_METHODS(JINJA_METHOD_DECLARE)
#undef JINJA_METHOD_DECLARE

/* Arguments `at` and `at` + 1 as the bytes [begin, end) of a string; *beyond if the start lies behind the end. */
bool jinja_arg_range(struct jinja_run *run, const struct jinja_string *s, const struct jinja_args *args,
                     size_t at, size_t *begin, size_t *end, bool *beyond);
bool jinja_replace(struct jinja_run *run, const struct jinja_string *s, const struct jinja_string *old,
                   const struct jinja_string *new, int64_t count, jinja_value *out);
bool jinja_strip(struct jinja_run *run, const struct jinja_string *s, const struct jinja_string *chars,
                 bool left, bool right, jinja_value *out);
bool jinja_split_lines(struct jinja_run *run, const struct jinja_string *s, bool keep, jinja_value *out);
bool jinja_split(struct jinja_run *run, const struct jinja_string *s, const struct jinja_string *separator,
                 int64_t most, jinja_value *out);
bool jinja_join(struct jinja_run *run, const struct jinja_string *separator, jinja_value items, bool any,
                jinja_value *out); /* any: str() of each, else a TypeError */
bool jinja_case(struct jinja_run *run, const struct jinja_string *s, enum jinja_case to, jinja_value *out);

#endif
