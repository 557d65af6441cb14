/*
 * jinja_lex.h - the words of a template, one at a time.
 */
#ifndef TENON_JINJA_LEX_H
#define TENON_JINJA_LEX_H

#include "jinja_tree.h"

enum jinja_token_kind {
    TOKEN_NONE,  /* the lexer's own: nothing yet */
    TOKEN_FAULT, /* the run has the fault */
    TOKEN_END,
    TOKEN_DATA, /* text outside of tags */
    TOKEN_PRINT_BEGIN,
    TOKEN_PRINT_END,
    TOKEN_TAG_BEGIN,
    TOKEN_TAG_END,
    TOKEN_NAME,
    TOKEN_STRING,
    TOKEN_INTEGER,
    TOKEN_FLOAT,
    TOKEN_OPERATOR
};

/* Operators are told apart by their text, as a number: one or two characters. */
#define JINJA_SIGN(first, second) ((first) | (second) << 8)

struct jinja_token {
    enum jinja_token_kind kind;
    uint32_t sign; /* JINJA_SIGN of an operator */
    struct jinja_place place;
    struct jinja_name *name;
    jinja_value value; /* of data, strings and numbers */
};

struct jinja_lexer {
    struct jinja_template *t;
    const char *text;
    size_t size, at;
    enum { IN_DATA, IN_PRINT, IN_TAG, IN_RAW } state;
    size_t place_at; /* up to here `place` has counted */
    struct jinja_place place;
    uint32_t open;               /* brackets */
    char closing[JINJA_NESTING]; /* what each waits for */
};

void jinja_lex_begin(struct jinja_lexer *lexer, struct jinja_template *t, const char *text, size_t size);
/* Once it is TOKEN_FAULT or TOKEN_END it stays so. */
struct jinja_token jinja_lex(struct jinja_lexer *lexer);

/* The value of a literal: a string without its quotes, a number. A fault has the message only. */
bool jinja_lex_string(struct jinja_run *run, const char *bytes, size_t size, jinja_value *out);
bool jinja_lex_integer(struct jinja_run *run, const char *bytes, size_t size, jinja_value *out);
bool jinja_lex_float(struct jinja_run *run, const char *bytes, size_t size, jinja_value *out);
/* The bytes of the number at the front; 0: none. */
size_t jinja_lex_integer_size(const char *bytes, size_t size);
size_t jinja_lex_float_size(const char *bytes, size_t size);

#endif
