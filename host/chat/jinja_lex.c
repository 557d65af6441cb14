/*
 * jinja_lex.c - cuts a template into words, with Jinja's rules for the white space around tags: a minus
 * takes all of it, a tag of its own on a line takes the line (trim_blocks, lstrip_blocks), a plus keeps it.
 */
#include "jinja_lex.h"
#include "jinja_unicode.h"

#include <string.h>

void jinja_lex_begin(struct jinja_lexer *lexer, struct jinja_template *t, const char *text, size_t size) {
    *lexer = (struct jinja_lexer){.t = t, .text = text, .size = size, .place = {1, 1}};
}

/* ---- places and white space ---------------------------------------------------------------------------- */

/* A further byte of a character. */
static bool is_tail(char c) {
    return ((unsigned char)c & 0xC0) == 0x80;
}

static struct jinja_place place_of(struct jinja_lexer *l, size_t at) {
    for (; l->place_at < at; l->place_at++) {
        char c = l->text[l->place_at];
        if (c == '\n') {
            l->place.line++;
            l->place.column = 1;
        } else {
            l->place.column += !is_tail(c);
        }
    }
    return l->place;
}

static struct jinja_token fault(struct jinja_lexer *l) {
    l->at = l->size;
    l->state = IN_DATA;
    return (struct jinja_token){.kind = TOKEN_FAULT, .place = l->t->run.at};
}

static bool has(const struct jinja_lexer *l, size_t at, const char *word) {
    size_t size = strlen(word);
    return at <= l->size && l->size - at >= size && memcmp(l->text + at, word, size) == 0;
}

static size_t skip_space(const struct jinja_lexer *l, size_t at) {
    uint32_t code;
    while (at < l->size) {
        size_t length = jinja_decode(l->text + at, l->size - at, &code);
        if (!jinja_code_is_space(code)) { break; }
        at += length;
    }
    return at;
}

/* The end of [begin, end) without the white space there. */
static size_t without_space(const struct jinja_lexer *l, size_t begin, size_t end) {
    while (end > begin) {
        uint32_t code;
        size_t at = end - 1;
        while (at > begin && is_tail(l->text[at])) { at--; }
        jinja_decode(l->text + at, end - at, &code);
        if (!jinja_code_is_space(code)) { break; }
        end = at;
    }
    return end;
}

/* The end of the text [begin, end) in front of a tag whose sign is that. */
static size_t strip(const struct jinja_lexer *l, size_t begin, size_t end, char sign, bool whole_lines) {
    if (sign == '-') { return without_space(l, begin, end); }
    if (sign == '+' || !whole_lines) { return end; }
    const char *newline = memrchr(l->text + begin, '\n', end - begin);
    size_t line = newline ? (size_t)(newline - l->text) + 1 : begin;
    bool from_its_start = newline || begin == 0 || l->text[begin - 1] == '\n';
    return from_its_start && without_space(l, line, end) == line ? line : end;
}

static char sign_at(const struct jinja_lexer *l, size_t at) {
    return at < l->size && (l->text[at] == '-' || l->text[at] == '+') ? l->text[at] : 0;
}

/* Behind "%}" or "#}" as it is written: with "-" all white space goes, else a newline, unless there is a "+".
 * Returns `at` if there is no such end. */
static size_t end_of_tag(const struct jinja_lexer *l, size_t at, const char *mark) {
    char sign = sign_at(l, at);
    if (!has(l, at + (sign != 0), mark)) { return at; }
    size_t end = at + (sign != 0) + 2;
    if (sign == '-') { return skip_space(l, end); }
    return end + (!sign && end < l->size && l->text[end] == '\n');
}

/* ---- outside of tags ----------------------------------------------------------------------------------- */

static struct jinja_token data(struct jinja_lexer *l, size_t begin, size_t end) {
    struct jinja_token token = {.kind = TOKEN_DATA, .place = place_of(l, begin)};
    if (!jinja_string_make(&l->t->run, l->text + begin, end - begin, JINJA_WRITTEN, &token.value)) {
        return fault(l);
    }
    return token;
}

/* The next "{{", "{%" or "{#" from `at` on; the size if there is none. */
static size_t find_tag(const struct jinja_lexer *l, size_t at) {
    while (at + 1 < l->size) {
        const char *found = memchr(l->text + at, '{', l->size - at - 1);
        if (!found) { break; }
        at = (size_t)(found - l->text);
        if (strchr("{%#", found[1]) && found[1]) { return at; }
        at++;
    }
    return l->size;
}

/* Behind a tag that is one word ("raw", "endraw"), up to its "%}"; 0 if it is not that tag. */
static size_t word_tag(const struct jinja_lexer *l, size_t at, const char *word) {
    size_t name = skip_space(l, at + 2 + (sign_at(l, at + 2) != 0));
    return has(l, name, word) ? skip_space(l, name + strlen(word)) : 0;
}

/* Behind "{% raw %}", which keeps the newline that follows; 0 if there is none at `at`. */
static size_t raw_begin(const struct jinja_lexer *l, size_t at) {
    size_t end = word_tag(l, at, "raw");
    if (end && has(l, end, "%}")) { return end + 2; }
    return end && has(l, end, "-%}") ? skip_space(l, end + 3) : 0;
}

static bool skip_comment(struct jinja_lexer *l, size_t tag) {
    size_t begin = tag + 2 + (sign_at(l, tag + 2) != 0);
    const char *end = begin < l->size ? memmem(l->text + begin, l->size - begin, "#}", 2) : l->text + l->size;
    if (!end) {
        l->t->run.at = place_of(l, tag);
        return jinja_fail(&l->t->run, JINJA_SYNTAX, "missing end of comment tag");
    }
    size_t at = (size_t)(end - l->text);
    if (at > begin && sign_at(l, at - 1)) { at--; }
    l->at = end_of_tag(l, at, "#}");
    return true;
}

/* The text up to the next tag, or that tag's begin. */
static struct jinja_token lex_data(struct jinja_lexer *l) {
    while (l->at < l->size) {
        size_t begin = l->at, tag = find_tag(l, begin);
        if (tag > begin) {
            bool print = tag < l->size && l->text[tag + 1] == '{';
            size_t end = tag < l->size ? strip(l, begin, tag, sign_at(l, tag + 2), !print) : tag;
            l->at = tag;
            if (end > begin) { return data(l, begin, end); }
            continue;
        }
        if (l->text[tag + 1] == '#') {
            if (!skip_comment(l, tag)) { return fault(l); }
            continue;
        }
        size_t raw = l->text[tag + 1] == '%' ? raw_begin(l, tag) : 0;
        if (raw) {
            place_of(l, tag);
            l->at = raw;
            l->state = IN_RAW;
            return (struct jinja_token){.kind = TOKEN_NONE};
        }
        bool print = l->text[tag + 1] == '{';
        l->at = tag + 2 + (sign_at(l, tag + 2) != 0);
        l->state = print ? IN_PRINT : IN_TAG;
        return (struct jinja_token){.kind = print ? TOKEN_PRINT_BEGIN : TOKEN_TAG_BEGIN,
                                    .place = place_of(l, tag)};
    }
    return (struct jinja_token){.kind = TOKEN_END, .place = place_of(l, l->size)};
}

/* The text up to "{% endraw %}". */
static struct jinja_token lex_raw(struct jinja_lexer *l) {
    size_t begin = l->at;
    for (size_t at = begin; at < l->size; at += 2) {
        const char *found = memmem(l->text + at, l->size - at, "{%", 2);
        if (!found) { break; }
        at = (size_t)(found - l->text);
        size_t word = word_tag(l, at, "endraw");
        size_t behind = word ? end_of_tag(l, word, "%}") : 0;
        if (!word || behind == word) { continue; }
        size_t end = strip(l, begin, at, sign_at(l, at + 2), true);
        l->state = IN_DATA;
        l->at = behind;
        return end > begin ? data(l, begin, end) : (struct jinja_token){.kind = TOKEN_NONE};
    }
    if (begin >= l->size) { return (struct jinja_token){.kind = TOKEN_END, .place = place_of(l, l->size)}; }
    l->t->run.at = l->place;
    jinja_fail(&l->t->run, JINJA_SYNTAX, "missing end of raw directive");
    return fault(l);
}

/* ---- in tags ------------------------------------------------------------------------------------------- */

static bool balance(struct jinja_lexer *l, char c) {
    const char *pair = c ? strchr("()[]{}", c) : NULL;
    if (!pair) { return true; }
    if (strchr("([{", c)) {
        if (l->open == JINJA_NESTING) {
            return jinja_fail(&l->t->run, JINJA_LIMIT, "more than %d brackets within each other",
                              JINJA_NESTING);
        }
        l->closing[l->open++] = pair[1];
        return true;
    }
    if (l->open == 0) { return jinja_fail(&l->t->run, JINJA_SYNTAX, "unexpected '%c'", c); }
    char expected = l->closing[--l->open];
    if (expected == c) { return true; }
    return jinja_fail(&l->t->run, JINJA_SYNTAX, "unexpected '%c', expected '%c'", c, expected);
}

static bool lex_operator(struct jinja_lexer *l, struct jinja_token *token) {
    static const char *const two[] = {"//", "**", "==", "!=", ">=", "<="};
    char c = l->text[l->at];
    uint32_t code;
    token->kind = TOKEN_OPERATOR;
    for (size_t i = 0; i < JINJA_COUNT(two); i++) {
        if (has(l, l->at, two[i])) {
            token->sign = JINJA_SIGN((unsigned char)two[i][0], (unsigned)two[i][1]);
            l->at += 2;
            return true;
        }
    }
    if (c && strchr("+-/*%~[](){}><=.:|,;", c)) {
        token->sign = (unsigned char)c;
        l->at++;
        return balance(l, c);
    }
    size_t length = jinja_decode(l->text + l->at, l->size - l->at, &code);
    if (code < 0x20) { return jinja_fail(&l->t->run, JINJA_SYNTAX, "unexpected character %d", c); }
    return jinja_fail(&l->t->run, JINJA_SYNTAX, "unexpected character '%.*s'", (int)length, l->text + l->at);
}

static size_t name_size(const struct jinja_lexer *l) {
    size_t at = l->at;
    uint32_t code;
    while (at < l->size) {
        size_t length = jinja_decode(l->text + at, l->size - at, &code);
        if (at == l->at ? !jinja_code_starts_name(code) : !jinja_code_continues_name(code)) { break; }
        at += length;
    }
    return at - l->at;
}

/* Behind the closing quote; 0 if there is none. */
static size_t string_end(const struct jinja_lexer *l) {
    char quote = l->text[l->at];
    for (size_t at = l->at + 1; at < l->size; at++) {
        if (l->text[at] == quote) { return at + 1; }
        at += l->text[at] == '\\';
    }
    return 0;
}

static bool lex_literal(struct jinja_lexer *l, struct jinja_token *token, bool *found) {
    const char *text = l->text + l->at;
    size_t left = l->size - l->at, size = 0;
    *found = true;
    if (*text == '"' || *text == '\'') {
        size_t end = string_end(l);
        if (!end) { return jinja_fail(&l->t->run, JINJA_SYNTAX, "a string without an end"); }
        l->at = end;
        token->kind = TOKEN_STRING;
        return jinja_lex_string(&l->t->run, text + 1, (size_t)(l->text + end - text) - 2, &token->value);
    }
    bool behind_dot = l->at > 0 && text[-1] == '.';
    if (!behind_dot && (size = jinja_lex_float_size(text, left)) > 0) {
        l->at += size;
        token->kind = TOKEN_FLOAT;
        return jinja_lex_float(&l->t->run, text, size, &token->value);
    }
    if ((size = jinja_lex_integer_size(text, left)) > 0) {
        l->at += size;
        token->kind = TOKEN_INTEGER;
        return jinja_lex_integer(&l->t->run, text, size, &token->value);
    }
    *found = false;
    return true;
}

/* Behind the end of the tag or print that is open, or `at`: within brackets there is none. */
static size_t tag_end(const struct jinja_lexer *l) {
    if (l->open > 0) { return l->at; }
    if (l->state == IN_TAG) { return end_of_tag(l, l->at, "%}"); }
    if (has(l, l->at, "-}}")) { return skip_space(l, l->at + 3); }
    return has(l, l->at, "}}") ? l->at + 2 : l->at;
}

static struct jinja_token lex_tag(struct jinja_lexer *l) {
    struct jinja_token token = {.kind = TOKEN_END};
    bool found = false;
    l->at = skip_space(l, l->at);
    size_t end = tag_end(l);
    token.place = place_of(l, l->at);
    if (l->at >= l->size) { return token; }
    if (end > l->at) {
        token.kind = l->state == IN_TAG ? TOKEN_TAG_END : TOKEN_PRINT_END;
        l->at = end;
        l->state = IN_DATA;
        return token;
    }
    l->t->run.at = token.place;
    if (!lex_literal(l, &token, &found)) { return fault(l); }
    if (found) { return token; }
    size_t size = name_size(l);
    if (size > 0) {
        token.kind = TOKEN_NAME;
        token.name = jinja_tree_name(l->t, l->text + l->at, size);
        l->at += size;
        return token.name ? token : fault(l);
    }
    return lex_operator(l, &token) ? token : fault(l);
}

struct jinja_token jinja_lex(struct jinja_lexer *l) {
    struct jinja_token token = {.kind = TOKEN_NONE};
    while (token.kind == TOKEN_NONE) {
        token = l->state == IN_DATA ? lex_data(l) : l->state == IN_RAW ? lex_raw(l) : lex_tag(l);
    }
    return token;
}
