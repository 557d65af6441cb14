/*
 * jinja_parse.h - what the two halves of the parser share: words, faults, nesting.
 *
 * Functions that return a node return NULL after a fault. A fault in a word comes as TOKEN_FAULT, which fits
 * nowhere: whoever meets it fails, and the first fault stays.
 */
#ifndef TENON_JINJA_PARSE_H
#define TENON_JINJA_PARSE_H

#include "jinja_lex.h"

struct jinja_parser {
    struct jinja_template *t;
    struct jinja_lexer lexer;
    struct jinja_token now, ahead;
    bool has_ahead, failed;
    uint32_t nesting;
    /* The tags that are open, and the words that the innermost body waits for ("elif", "else", "endif"). */
    const char *open_tags[JINJA_NESTING];
    const char *const *waiting[JINJA_NESTING];
    uint32_t open_count;
};

void jinja_advance(struct jinja_parser *p);
const struct jinja_token *jinja_ahead(struct jinja_parser *p);
bool jinja_at_word(const struct jinja_parser *p, const char *word);
bool jinja_at_sign(const struct jinja_parser *p, uint32_t sign);
/* Goes on if the parser is there. */
bool jinja_skip_word(struct jinja_parser *p, const char *word);
bool jinja_skip_sign(struct jinja_parser *p, uint32_t sign);
/* Goes on, or fails. */
bool jinja_expect(struct jinja_parser *p, enum jinja_token_kind kind);
bool jinja_expect_word(struct jinja_parser *p, const char *word);
bool jinja_expect_sign(struct jinja_parser *p, uint32_t sign);
bool jinja_expect_name(struct jinja_parser *p, struct jinja_name **out);

bool jinja_parse_fail(struct jinja_parser *p, struct jinja_place at, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* "expected ..., got ..." */
bool jinja_parse_expected(struct jinja_parser *p, const char *what);
bool jinja_nest(struct jinja_parser *p); /* one level deeper; p->nesting-- leads out */

struct jinja_node *jinja_new(struct jinja_parser *p, enum jinja_node_kind kind, struct jinja_place at);
struct jinja_node *jinja_done(struct jinja_parser *p, struct jinja_node *node); /* measures it */

struct jinja_node *jinja_parse_expression(struct jinja_parser *p);
/* An expression, or a tuple of them if there are commas. Without `conditions` no "if" belongs to it. */
struct jinja_node *jinja_parse_tuple(struct jinja_parser *p, bool conditions);
/* A name, a tuple of them, or (for `set`) a namespace's attribute. */
struct jinja_node *jinja_parse_target(struct jinja_parser *p, enum jinja_use use, bool members);
struct jinja_node *jinja_parse_name_target(struct jinja_parser *p, enum jinja_use use);
/* "| a | b(1)" behind a node; of a block, whose text it filters, the node is NULL. `bare`: the first has no
 * "|". */
struct jinja_node *jinja_parse_filters(struct jinja_parser *p, struct jinja_node *node, bool bare);

/* Statements up to one of the words, whose tag's name is then the current word. */
bool jinja_parse_body(struct jinja_parser *p, const char *const *ends, struct jinja_nodes *out);
struct jinja_node *jinja_parse_statement(struct jinja_parser *p);

#endif
