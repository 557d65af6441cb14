/*
 * jinja_inside.h - what the files that implement values share among themselves; the evaluator uses jinja_value.h.
 */
#ifndef TENON_JINJA_INSIDE_H
#define TENON_JINJA_INSIDE_H

#include "jinja_unicode.h"
#include "jinja_value.h"

#include <string.h>

/* Names are known by their length; `word` ends with NUL. */
static inline bool jinja_name_is(const char *name, size_t size, const char *word) {
    return strlen(word) == size && memcmp(name, word, size) == 0;
}

/* ---- memory and steps --------------------------------------------------------------------------------- */

/* Gives back what was allocated, if that is worth it; the memory counts as unused again. */
void jinja_release(struct jinja_run *run, void *memory, size_t count, size_t size);
/* The steps that copying or comparing so many bytes takes; and those of searching in them, or of looking at their
 * characters one by one. */
bool jinja_spend_bytes(struct jinja_run *run, uint64_t bytes);
bool jinja_spend_walk(struct jinja_run *run, uint64_t bytes);
/* Around each nested call whose depth the data decides; leaving gives the depth back. */
bool jinja_enter(struct jinja_run *run);
void jinja_leave(struct jinja_run *run);

/* ---- faults ------------------------------------------------------------------------------------------- */

bool jinja_fail_operand(struct jinja_run *run, const char *sign, jinja_value a, jinja_value b);
bool jinja_fail_overflow(struct jinja_run *run);

/* ---- strings ------------------------------------------------------------------------------------------ */

/* A string without bytes in it yet; origins if `mixed`. */
struct jinja_string *jinja_string_new(struct jinja_run *run, size_t size, bool mixed);
jinja_value jinja_string_value(const struct jinja_string *string);
/* A text of the program's own, written by the template as it were. */
bool jinja_literal(struct jinja_run *run, const char *text, jinja_value *out);
bool jinja_substring(struct jinja_run *run, const struct jinja_string *s, size_t begin, size_t end,
                     jinja_value *out);
/* The same text as markup or as plain text. */
bool jinja_markup(struct jinja_run *run, jinja_value text, bool markup, jinja_value *out);
static inline bool jinja_is_ascii(const struct jinja_string *s) {
    return s->size == s->characters;
}
/* Where a character begins, and the number of the character that begins at a byte. */
bool jinja_byte_of(struct jinja_run *run, const struct jinja_string *s, size_t character, size_t *out);
bool jinja_character_of(struct jinja_run *run, const struct jinja_string *s, size_t byte, size_t *out);
uint8_t jinja_origin_at(const struct jinja_string *s, size_t byte);
/* Given if any byte of [begin, end) is. */
uint8_t jinja_origin_of(const struct jinja_string *s, size_t begin, size_t end);
bool jinja_string_is(const struct jinja_string *s, const char *text);
int jinja_string_order(const struct jinja_string *a, const struct jinja_string *b);
/* The first (last) place of `part` in bytes [begin, end); SIZE_MAX if there is none. */
size_t jinja_string_find(const struct jinja_string *s, size_t begin, size_t end,
                         const struct jinja_string *part);
bool jinja_string_find_last(struct jinja_run *run, const struct jinja_string *s, size_t begin, size_t end,
                            const struct jinja_string *part, size_t *out);
bool jinja_build_string(struct jinja_builder *b, const struct jinja_string *s);
bool jinja_build_code(struct jinja_builder *b, uint32_t code, uint8_t origin);
/* Room for so many bytes more, before a loop that makes them: a fault at once if they are too many. */
bool jinja_build_reserve(struct jinja_builder *b, uint64_t more);
bool jinja_build_repeat(struct jinja_builder *b, const struct jinja_string *s, uint64_t times);
bool jinja_build_spaces(struct jinja_builder *b, uint64_t count);
bool jinja_build_literal(struct jinja_builder *b, const char *text);
bool jinja_build_repr(struct jinja_builder *b, jinja_value value);
bool jinja_build_escaped(struct jinja_builder *b, jinja_value text); /* for HTML, as escape does */
/* A walk over the code points of a string. */
static inline uint32_t jinja_code_at(const struct jinja_string *s, size_t *at) {
    uint32_t code;
    *at += jinja_decode(s->bytes + *at, s->size - *at, &code);
    return code;
}
static inline uint32_t jinja_code_before(const struct jinja_string *s, size_t *at) {
    do (*at)--;
    while (((unsigned char)s->bytes[*at] & 0xC0) == 0x80);
    size_t place = *at;
    return jinja_code_at(s, &place);
}
/* The next line of a text as str.splitlines cuts it: [*begin, *end) and the line break up to *next. */
bool jinja_line(const struct jinja_string *s, size_t *begin, size_t *end, size_t *next);

/* ---- numbers ------------------------------------------------------------------------------------------ */

enum { JINJA_FLOAT_TEXT = 40, JINJA_FLOAT_STEPS = 32 };            /* finding the digits is slow */
size_t jinja_float_text(double value, char out[JINJA_FLOAT_TEXT]); /* repr(); takes JINJA_FLOAT_STEPS */
bool jinja_is_number(jinja_value value);                           /* bool, int or float */
bool jinja_is_whole(jinja_value value);                            /* bool or int */
int64_t jinja_whole(jinja_value value);                            /* of those */
double jinja_real(jinja_value value);                              /* of a number */
/* int() and float() of a text: false if it is none; `overflow` if it is one beyond 64 bits. */
bool jinja_parse_int(const struct jinja_string *s, int64_t base, int64_t *out, bool *overflow);
bool jinja_parse_float(struct jinja_run *run, const struct jinja_string *s, double *out, bool *valid);
bool jinja_float_to_int(struct jinja_run *run, double value, int64_t *out);
bool jinja_float_floor_mod(struct jinja_run *run, double a, double b, double *floor_out, double *mod_out);
int jinja_order_numbers(jinja_value a, jinja_value b, bool *unordered);

/* ---- comparing ---------------------------------------------------------------------------------------- */

bool jinja_equal(struct jinja_run *run, jinja_value a, jinja_value b, bool *out);
/* a < b, or the TypeError of `sign`. */
bool jinja_less(struct jinja_run *run, jinja_value a, jinja_value b, bool *out);
bool jinja_compare(struct jinja_run *run, enum jinja_operator op, jinja_value a, jinja_value b, bool *out);
bool jinja_contains(struct jinja_run *run, jinja_value whole, jinja_value part, bool *out);
bool jinja_hash(struct jinja_run *run, jinja_value value, uint64_t *out); /* a fault if it is not hashable */
uint64_t jinja_hash_bytes(const char *bytes, size_t size);                /* of a string */
/* Sorts `order`, numbers of `keys`, by those; stable in both directions. */
bool jinja_sort(struct jinja_run *run, const jinja_value *keys, size_t count, bool reverse, size_t *order);

/* ---- dicts -------------------------------------------------------------------------------------------- */

struct jinja_pair {
    uint64_t hash;
    jinja_value key, item;
};
struct jinja_dict {
    size_t count, room;
    struct jinja_pair *pairs; /* in the order of their first setting; none is ever removed */
    uint32_t *slots;          /* number of a pair + 1, or 0 */
    size_t slot_count;        /* a power of two */
};
/* NULL in *item if there is none. */
bool jinja_dict_get(struct jinja_run *run, const struct jinja_dict *dict, jinja_value key,
                    const jinja_value **item);
bool jinja_dict_update(struct jinja_run *run, jinja_value to, jinja_value from);
bool jinja_dict_pairs(struct jinja_run *run, jinja_value to, jinja_value from);
bool jinja_pair_make(struct jinja_run *run, jinja_value a, jinja_value b, jinja_value *out);

/* ---- what iterates once, and views --------------------------------------------------------------------- */

/* What map, select, reversed() and others give in Python: can be iterated once, is true, has no length. Views of
 * a dict have one. Both hold their items already. */
struct jinja_stream {
    struct jinja_object object;
    jinja_value items;
    bool used;
};
bool jinja_stream_make(struct jinja_run *run, jinja_value items, jinja_value *out); /* "generator" */
bool jinja_view_make(struct jinja_run *run, const char *method, jinja_value dict, jinja_value *out);
struct jinja_stream *jinja_stream_of(jinja_value value, bool *view); /* NULL if it is neither */
bool jinja_build_view(struct jinja_builder *b, jinja_value view);
bool jinja_length(struct jinja_run *run, jinja_value value, size_t *out);
size_t jinja_range_length(const struct jinja_range *range);
bool jinja_to_list(struct jinja_run *run, jinja_value value, jinja_value *out); /* a new list */
/* Iterates from the end. */
bool jinja_iterate_back(struct jinja_run *run, jinja_value over, struct jinja_iterator *out);

/* ---- calls -------------------------------------------------------------------------------------------- */

bool jinja_builtin_call(struct jinja_run *run, const struct jinja_builtin *builtin, jinja_value self,
                        const struct jinja_args *args, jinja_value *out);
const struct jinja_builtin *jinja_builtin_find(const struct jinja_builtin *table, size_t count,
                                               const char *name, size_t size);
/* Parameter `i`: what was given, or the default; a fault if it has the wrong type. None counts as not given. */
bool jinja_has(const struct jinja_args *args, size_t i);
bool jinja_arg_int(struct jinja_run *run, const struct jinja_args *args, size_t i, int64_t fallback,
                   int64_t *out);
bool jinja_arg_bool(struct jinja_run *run, const struct jinja_args *args, size_t i, bool fallback, bool *out);
bool jinja_arg_flag(struct jinja_run *run, const struct jinja_args *args, size_t i,
                    bool *out); /* one that Python wants an integer for; false if not given */
bool jinja_arg_string(struct jinja_run *run, const struct jinja_args *args, size_t i,
                      const struct jinja_string **out); /* unchanged if not given */
/* The name of an argument as a text: one from a mapping is that mapping's key, whoever wrote it. */
bool jinja_name_text(struct jinja_run *run, const struct jinja_named *named, jinja_value *out);
/* An integer as Python's __index__ wants it. */
bool jinja_index(struct jinja_run *run, jinja_value value, int64_t *out);

/* Methods: NULL if the type has none of that name; `forbidden` if the sandbox refuses it. */
const struct jinja_builtin *jinja_method_find(jinja_value self, const char *name, size_t size,
                                              bool *forbidden);
bool jinja_method_value(struct jinja_run *run, jinja_value self, const struct jinja_builtin *method,
                        jinja_value *out);
bool jinja_is_string_method(const struct jinja_builtin *method);
bool jinja_markup_call(struct jinja_run *run, const struct jinja_builtin *method, jinja_value self,
                       const struct jinja_args *args, jinja_value *out);
/* Calls a method of a string by name with up to two arguments. */
bool jinja_string_method(struct jinja_run *run, const char *name, jinja_value self, const jinja_value *at,
                         size_t count, jinja_value *out);

/* ---- parts of formatting -------------------------------------------------------------------------------- */

bool jinja_format_percent(struct jinja_run *run, const struct jinja_string *format, jinja_value values,
                          jinja_value *out);
bool jinja_format_braces(struct jinja_run *run, const struct jinja_string *format,
                         const struct jinja_args *args, const jinja_value *mapping, jinja_value *out);
bool jinja_format_value(struct jinja_builder *b, jinja_value value, const struct jinja_string *spec);
bool jinja_build_ascii(struct jinja_builder *b, jinja_value value);                 /* ascii() */
bool jinja_html_escape(struct jinja_run *run, jinja_value value, jinja_value *out); /* markupsafe.escape() */
bool jinja_strftime(struct jinja_run *run, const struct jinja_string *format, jinja_value *out);
/* The value behind "a.b.0" of an item, as filters with an attribute look it up. */
bool jinja_attribute_path(struct jinja_run *run, jinja_value item, jinja_value path,
                          const jinja_value *fallback, jinja_value *out);

#endif
