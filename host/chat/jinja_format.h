/*
 * jinja_format.h - what both ways of formatting share: "%5.2f" and "{:>5.2f}".
 */
#ifndef TENON_JINJA_FORMAT_H
#define TENON_JINJA_FORMAT_H

#include "jinja_inside.h"

struct jinja_spec {
    uint32_t fill; /* a code point, ' ' if none was given */
    uint8_t fill_origin;
    uint8_t origin; /* of the specification: what it makes of a number is whose it is */
    char align;     /* '<', '>', '^', '=' or 0 */
    char sign;      /* '+', '-', ' ' or 0 */
    bool alternate, no_negative_zero, zero;
    int64_t width, precision; /* -1: none */
    char grouping;            /* ',', '_' or 0 */
    char type;                /* 0: none */
};

/* A number in its parts: "-", "0x", "1234", ".5e+10". */
struct jinja_number_parts {
    char sign; /* 0: none */
    const char *prefix;
    const char *digits;
    size_t digit_count;
    const char *rest;
    int group; /* digits between separators */
};

bool jinja_lay_out_number(struct jinja_builder *b, const struct jinja_spec *spec,
                          const struct jinja_number_parts *parts);
/* A text cut to the precision and padded to the width. */
bool jinja_lay_out_text(struct jinja_builder *b, const struct jinja_spec *spec, const struct jinja_string *s);
bool jinja_lay_out_int(struct jinja_builder *b, const struct jinja_spec *spec, int64_t value);
bool jinja_lay_out_float(struct jinja_builder *b, const struct jinja_spec *spec, double value);
char jinja_sign_of(const struct jinja_spec *spec, bool negative);

#endif
