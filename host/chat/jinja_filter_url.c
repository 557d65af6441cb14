/*
 * jinja_filter_url.c - urlencode, and striptags with the few character references that it understands.
 */
#include "jinja_filter.h"
#include "jinja_method.h"

/* ---- urlencode ---------------------------------------------------------------------------------------- */

static bool is_safe(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '.' || c == '-' || c == '~';
}

/* In a query a blank is "+" and a slash is not safe. */
static bool quote(struct jinja_builder *b, jinja_value value, bool query) {
    jinja_value text;
    if (!jinja_text(b->run, value, &text)) { return false; }
    const struct jinja_string *s = text.string;
    for (size_t i = 0; i < s->size; i++) {
        static const char digits[] = "0123456789ABCDEF";
        unsigned char byte = (unsigned char)s->bytes[i];
        char form[3] = {'%', digits[byte >> 4], digits[byte & 15]};
        bool plain = is_safe(s->bytes[i]) || (byte == '/' && !query), plus = byte == ' ' && query;
        if (plain) { form[0] = s->bytes[i]; }
        if (plus) { form[0] = '+'; }
        if (!jinja_build(b, form, plain || plus ? 1 : 3, jinja_origin_at(s, i))) { return false; }
    }
    return true;
}

static bool quote_pair(struct jinja_builder *b, jinja_value pair) {
    jinja_value list;
    if (!jinja_to_list(b->run, pair, &list)) { return false; }
    if (list.list->count != 2) {
        return jinja_fail(b->run, JINJA_RUNTIME, "urlencode: expected pairs, got %zu values",
                          list.list->count);
    }
    return (b->size == 0 || jinja_build_literal(b, "&")) && quote(b, list.list->items[0], true) &&
           jinja_build_literal(b, "=") && quote(b, list.list->items[1], true);
}

bool jinja_filter_urlencode(struct jinja_run *run, jinja_value self, const struct jinja_args *args,
                            jinja_value *out) {
    (void)args;
    struct jinja_builder b = {.run = run};
    struct jinja_iterator each;
    jinja_value pairs = self, pair;
    bool done, view, single = self.type == JINJA_STRING || self.type == JINJA_NONE || jinja_is_number(self);
    if (single) { return quote(&b, self, false) && jinja_built(&b, out); }
    if (self.type == JINJA_OBJECT && !jinja_stream_of(self, &view)) {
        return quote(&b, self, false) && jinja_built(&b, out);
    }
    if (self.type == JINJA_DICT && !jinja_view_make(run, "items", self, &pairs)) { return false; }
    if (!jinja_iterate(run, pairs, &each)) { return false; }
    while (jinja_next(run, &each, &pair, &done)) {
        if (done) { return jinja_built(&b, out); }
        if (!quote_pair(&b, pair)) { return false; }
    }
    return false;
}

/* ---- striptags ---------------------------------------------------------------------------------------- */

/* How many bytes at the end of what is kept make a new `open` with the bytes from `begin` on. */
static size_t rejoined(const struct jinja_builder *b, const struct jinja_string *s, size_t begin,
                       const char *open) {
    size_t size = strlen(open);
    for (size_t kept = size - 1; kept > 0; kept--) {
        if (kept <= b->size && size - kept <= s->size - begin &&
            memcmp(b->bytes + b->size - kept, open, kept) == 0 &&
            memcmp(s->bytes + begin, open + kept, size - kept) == 0) {
            return kept;
        }
    }
    return 0;
}

/* What lies between `open` and `close` goes, until there is none; an open one without an end stays. */
static bool without(struct jinja_run *run, const struct jinja_string *s, const char *open, const char *close,
                    jinja_value *out) {
    struct jinja_builder b = {.run = run};
    size_t begin = 0, close_size = strlen(close);
    if (!jinja_spend_walk(run, s->size)) { return false; }
    while (begin < s->size) {
        size_t kept = rejoined(&b, s, begin, open);
        const char *first =
            kept ? s->bytes + begin : memmem(s->bytes + begin, s->size - begin, open, strlen(open));
        size_t from = first ? (size_t)(first - s->bytes) : s->size;
        const char *last = first ? memmem(first, s->size - from, close, close_size) : NULL;
        if (!last) { break; }
        if (!jinja_spend(run, 1)) { return false; }
        b.size -= kept;
        if (!jinja_build_from(&b, s, begin, from)) { return false; }
        begin = (size_t)(last - s->bytes) + close_size;
    }
    return jinja_build_from(&b, s, begin, s->size) && jinja_built(&b, out);
}

static const struct {
    const char *name;
    uint32_t code;
} references[] = {{"amp", '&'}, {"lt", '<'}, {"gt", '>'}, {"quot", '"'}, {"apos", '\''}, {"nbsp", 0xA0}};

/* "#39" or "#x27", as HTML reads them; 0 if it is none or no character. */
static uint32_t numeric_reference(const char *text, size_t size) {
    uint32_t code = 0;
    bool hex = size > 1 && (text[1] == 'x' || text[1] == 'X');
    size_t at = hex ? 2 : 1;
    if (at >= size) { return 0; }
    for (; at < size; at++) {
        char c = text[at] | 0x20;
        bool digit = text[at] >= '0' && text[at] <= '9';
        if (!digit && !(hex && c >= 'a' && c <= 'f')) { return 0; }
        code = code * (hex ? 16 : 10) + (uint32_t)(digit ? text[at] - '0' : c - 'a' + 10);
        if (code > 0x10FFFF) { return 0; }
    }
    bool odd = code < 0x20 || (code >= 0x7F && code < 0xA0) || (code >= 0xD800 && code < 0xE000);
    return odd ? 0 : code;
}

static uint32_t named_reference(const char *text, size_t size) {
    for (size_t i = 0; i < JINJA_COUNT(references); i++) {
        if (jinja_name_is(text, size, references[i].name)) { return references[i].code; }
    }
    return 0;
}

/* The end of "name" or "#12" behind an ampersand. */
static size_t reference_end(const struct jinja_string *s, size_t at) {
    size_t begin = at;
    if (at < s->size && s->bytes[at] == '#') { at++; }
    while (at < s->size && at - begin < 33 && is_safe(s->bytes[at]) && s->bytes[at] != '.' &&
           s->bytes[at] != '-' && s->bytes[at] != '~' && s->bytes[at] != '_') {
        at++;
    }
    return at;
}

/* A character made from its number counts as given: see jinja_value.h. */
static bool resolve(struct jinja_run *run, const struct jinja_string *s, jinja_value *out) {
    struct jinja_builder b = {.run = run};
    size_t begin = 0;
    for (const char *sign; (sign = memchr(s->bytes + begin, '&', s->size - begin));) {
        size_t at = (size_t)(sign - s->bytes), end = reference_end(s, at + 1), size = end - at - 1;
        bool closed = end < s->size && s->bytes[end] == ';', numeric = size && sign[1] == '#';
        uint32_t code = numeric ? numeric_reference(sign + 1, size) : named_reference(sign + 1, size);
        if (size && (!code || !closed) && (closed || code || numeric)) {
            return jinja_fail(run, JINJA_RUNTIME,
                              "striptags: the character reference '&%.*s' is not supported", (int)size,
                              sign + 1);
        }
        uint8_t origin = !code || numeric ? JINJA_GIVEN : jinja_origin_of(s, at, end + 1);
        if (!jinja_spend(run, 1) || !jinja_build_from(&b, s, begin, at) ||
            !(code ? jinja_build_code(&b, code, origin) : jinja_build_from(&b, s, at, at + 1))) {
            return false;
        }
        begin = code ? end + 1 : at + 1;
    }
    return jinja_build_from(&b, s, begin, s->size) && jinja_built(&b, out);
}

bool jinja_filter_striptags(struct jinja_run *run, jinja_value self, const struct jinja_args *args,
                            jinja_value *out) {
    (void)args;
    jinja_value text, words, blank;
    return jinja_text(run, self, &text) && without(run, text.string, "<!--", "-->", &text) &&
           without(run, text.string, "<", ">", &text) && jinja_split(run, text.string, NULL, -1, &words) &&
           jinja_literal(run, " ", &blank) && jinja_join(run, blank.string, words, false, &text) &&
           resolve(run, text.string, out);
}
