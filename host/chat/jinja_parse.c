/*
 * jinja_parse.c - the frame of the parser: words, faults, and the bodies of blocks.
 */
#include "jinja_parse.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* ---- words --------------------------------------------------------------------------------------------- */

void jinja_advance(struct jinja_parser *p) {
    if (p->has_ahead) {
        p->now = p->ahead;
        p->has_ahead = false;
    } else if (p->now.kind != TOKEN_FAULT && p->now.kind != TOKEN_END) {
        p->now = jinja_lex(&p->lexer);
    }
    p->failed = p->failed || p->now.kind == TOKEN_FAULT;
}

const struct jinja_token *jinja_ahead(struct jinja_parser *p) {
    if (!p->has_ahead) {
        p->ahead = p->now.kind == TOKEN_FAULT ? p->now : jinja_lex(&p->lexer);
        p->has_ahead = true;
    }
    return &p->ahead;
}

bool jinja_at_word(const struct jinja_parser *p, const char *word) {
    return p->now.kind == TOKEN_NAME && strcmp(p->now.name->bytes, word) == 0;
}

bool jinja_at_sign(const struct jinja_parser *p, uint32_t sign) {
    return p->now.kind == TOKEN_OPERATOR && p->now.sign == sign;
}

bool jinja_skip_word(struct jinja_parser *p, const char *word) {
    if (!jinja_at_word(p, word)) { return false; }
    jinja_advance(p);
    return true;
}

bool jinja_skip_sign(struct jinja_parser *p, uint32_t sign) {
    if (!jinja_at_sign(p, sign)) { return false; }
    jinja_advance(p);
    return true;
}

/* ---- faults -------------------------------------------------------------------------------------------- */

bool jinja_parse_fail(struct jinja_parser *p, struct jinja_place at, const char *format, ...) {
    char message[sizeof p->t->run.fault.message];
    va_list args;
    if (p->failed) { return false; }
    p->failed = true;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    p->t->run.at = at;
    return jinja_fail(&p->t->run, JINJA_SYNTAX, "%s", message);
}

static const char *kind_text(enum jinja_token_kind kind) {
    switch (kind) {
    case TOKEN_END: return "end of template";
    case TOKEN_DATA: return "template data / text";
    case TOKEN_PRINT_BEGIN: return "begin of print statement";
    case TOKEN_PRINT_END: return "end of print statement";
    case TOKEN_TAG_BEGIN: return "begin of statement block";
    case TOKEN_TAG_END: return "end of statement block";
    case TOKEN_STRING: return "string";
    case TOKEN_INTEGER: return "integer";
    case TOKEN_FLOAT: return "float";
    default: return "name";
    }
}

static void describe(const struct jinja_token *token, char *out, size_t room) {
    if (token->kind == TOKEN_OPERATOR) {
        snprintf(out, room, "%c%s", (int)(token->sign & 0xFF), (char[2]){(char)(token->sign >> 8), 0});
    } else if (token->kind == TOKEN_NAME) {
        snprintf(out, room, "%.60s", token->name->bytes);
    } else {
        snprintf(out, room, "%s", kind_text(token->kind));
    }
}

bool jinja_parse_expected(struct jinja_parser *p, const char *what) {
    char found[80];
    describe(&p->now, found, sizeof found);
    return jinja_parse_fail(p, p->now.place, "expected %s, got '%s'", what, found);
}

bool jinja_expect(struct jinja_parser *p, enum jinja_token_kind kind) {
    char what[40];
    if (p->now.kind == kind) {
        jinja_advance(p);
        return true;
    }
    snprintf(what, sizeof what, "'%s'", kind_text(kind));
    return jinja_parse_expected(p, what);
}

bool jinja_expect_word(struct jinja_parser *p, const char *word) {
    char what[40];
    if (jinja_skip_word(p, word)) { return true; }
    snprintf(what, sizeof what, "'%s'", word);
    return jinja_parse_expected(p, what);
}

bool jinja_expect_sign(struct jinja_parser *p, uint32_t sign) {
    char what[8];
    if (jinja_skip_sign(p, sign)) { return true; }
    snprintf(what, sizeof what, "'%c'", (int)sign); /* signs of two characters are never expected */
    return jinja_parse_expected(p, what);
}

bool jinja_expect_name(struct jinja_parser *p, struct jinja_name **out) {
    *out = p->now.name;
    return jinja_expect(p, TOKEN_NAME);
}

bool jinja_nest(struct jinja_parser *p) {
    if (p->nesting++ < JINJA_NESTING) { return true; }
    p->t->run.at = p->now.place;
    if (!p->failed) {
        jinja_fail(&p->t->run, JINJA_LIMIT, "more than %d levels of brackets, operators and blocks",
                   JINJA_NESTING);
    }
    p->failed = true;
    return false;
}

/* ---- nodes --------------------------------------------------------------------------------------------- */

struct jinja_node *jinja_new(struct jinja_parser *p, enum jinja_node_kind kind, struct jinja_place at) {
    struct jinja_node *node = p->failed ? NULL : jinja_tree_node(p->t, kind, at);
    p->failed = p->failed || !node;
    return node;
}

struct jinja_node *jinja_done(struct jinja_parser *p, struct jinja_node *node) {
    if (!node || p->failed) { return NULL; }
    p->failed = !jinja_tree_measure(p->t, node);
    return p->failed ? NULL : node;
}

/* ---- bodies -------------------------------------------------------------------------------------------- */

static bool is_end(const struct jinja_parser *p, const char *const *ends) {
    for (; *ends; ends++) {
        if (jinja_at_word(p, *ends)) { return true; }
    }
    return false;
}

/* Says which tags are open and what would close the innermost. */
static bool fail_open(struct jinja_parser *p, const char *problem) {
    char wanted[120] = "";
    if (p->open_count == 0) { return jinja_parse_fail(p, p->now.place, "%s", problem); }
    for (const char *const *end = p->waiting[p->open_count - 1]; *end; end++) {
        size_t used = strlen(wanted);
        snprintf(wanted + used, sizeof wanted - used, "%s'%s'", used ? " or " : "", *end);
    }
    return jinja_parse_fail(p, p->now.place, "%s; %s is expected for the innermost open block '%s'", problem,
                            wanted, p->open_tags[p->open_count - 1]);
}

static bool statement(struct jinja_parser *p, struct jinja_nodes *out) {
    char problem[120];
    if (p->now.kind != TOKEN_NAME) { return jinja_parse_fail(p, p->now.place, "tag name expected"); }
    struct jinja_place at = p->now.place;
    const char *tag = p->now.name->bytes;
    struct jinja_node *node = jinja_parse_statement(p);
    if (!node && !p->failed) {
        snprintf(problem, sizeof problem, "unknown tag '%.60s'", tag);
        p->now.place = at;
        return fail_open(p, problem);
    }
    if (!node) { return false; }
    jinja_tree_add(out, node);
    return jinja_expect(p, TOKEN_TAG_END);
}

static bool print(struct jinja_parser *p, struct jinja_nodes *out) {
    struct jinja_node *node = jinja_new(p, NODE_OUTPUT, p->now.place);
    struct jinja_node *value = NULL;
    if (!node) { return false; }
    if (p->now.kind == TOKEN_DATA) {
        value = jinja_new(p, NODE_CONSTANT, p->now.place);
        if (!value) { return false; }
        value->constant = p->now.value;
        jinja_advance(p);
    } else {
        jinja_advance(p);
        value = jinja_parse_tuple(p, true);
        if (!value || !jinja_expect(p, TOKEN_PRINT_END)) { return false; }
    }
    jinja_tree_add(&node->items, value);
    if (!jinja_done(p, node)) { return false; }
    jinja_tree_add(out, node);
    return true;
}

/* Texts, prints and statements up to one of `ends`, or up to the end of the template if there are none. */
static bool statements(struct jinja_parser *p, const char *const *ends, struct jinja_nodes *out) {
    for (;;) {
        switch (p->now.kind) {
        case TOKEN_DATA:
        case TOKEN_PRINT_BEGIN:
            if (!print(p, out)) { return false; }
            break;
        case TOKEN_TAG_BEGIN:
            jinja_advance(p);
            if (ends && is_end(p, ends)) { return true; }
            if (!statement(p, out)) { return false; }
            break;
        case TOKEN_END: return ends ? fail_open(p, "unexpected end of template") : true;
        default: return jinja_parse_expected(p, "a text or a tag");
        }
    }
}

bool jinja_parse_body(struct jinja_parser *p, const char *const *ends, struct jinja_nodes *out) {
    jinja_skip_sign(p, ':');
    p->waiting[p->open_count - 1] = ends;
    return jinja_expect(p, TOKEN_TAG_END) && statements(p, ends, out);
}

/* ---- the whole ----------------------------------------------------------------------------------------- */

/* Newlines become "\n", and one at the end is dropped. */
static bool normalise(struct jinja_template *t, const struct jinja_string *text, char **out, size_t *size) {
    char *to = jinja_alloc(&t->run, text->size + 1, 1);
    size_t count = 0;
    if (!to) { return false; }
    for (size_t i = 0; i < text->size; i++) {
        if (text->bytes[i] == '\r') {
            i += i + 1 < text->size && text->bytes[i + 1] == '\n';
            to[count++] = '\n';
        } else {
            to[count++] = text->bytes[i];
        }
    }
    count -= count > 0 && to[count - 1] == '\n';
    to[count] = 0;
    *out = to;
    *size = count;
    return true;
}

bool jinja_parse(struct jinja_template *t, const char *text, size_t size) {
    jinja_value valid;
    char *plain;
    if (!jinja_string_make(&t->run, text, size, JINJA_WRITTEN, &valid) ||
        !normalise(t, valid.string, &plain, &size)) {
        return false;
    }
    struct jinja_parser *p = jinja_tree_alloc(t, 1, sizeof *p);
    if (!p) { return false; }
    p->t = t;
    jinja_lex_begin(&p->lexer, t, plain, size);
    jinja_advance(p);
    return statements(p, NULL, &t->body);
}
