/*
 * jinja_filter.c - which filters there are.
 */
#include "jinja_filter.h"

#define FILTER(c_name, name, required, ...) {name, {__VA_ARGS__}, required, jinja_filter_##c_name},
static const struct jinja_builtin filters[] = {JINJA_TEXT_FILTERS(FILTER) JINJA_NUMBER_FILTERS(FILTER)
                                                   JINJA_SEQUENCE_FILTERS(FILTER)};

const struct jinja_builtin *jinja_filter_find(const char *name, size_t size) {
    return jinja_builtin_find(filters, JINJA_COUNT(filters), name, size);
}

const char *jinja_filter_refused(const char *name, size_t size) {
    if (size == 6 && memcmp(name, "random", 6) == 0) { return "a rendering gives the same text each time"; }
    if (size == 6 && memcmp(name, "urlize", 6) == 0) { return "it makes HTML links, which no prompt needs"; }
    return NULL;
}
