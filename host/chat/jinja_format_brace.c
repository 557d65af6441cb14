/*
 * jinja_format_brace.c - "{} {0} {name.part[key]!r:>{width}}".format(...), with the sandbox's rules for attributes.
 */
#include "jinja_format.h"
#include "jinja_method.h"

enum numbering { UNKNOWN, AUTOMATIC, BY_HAND };

struct braces {
    struct jinja_run *run;
    const struct jinja_args *args;
    const jinja_value *mapping; /* of format_map; else NULL */
    enum numbering numbering;
    size_t next;
    bool markup;
};

/* ---- the field's value -------------------------------------------------------------------------------- */

static bool by_number(struct braces *f, size_t number, jinja_value *out) {
    if (f->mapping) { return jinja_fail(f->run, JINJA_RUNTIME, "Format string contains positional fields"); }
    if (number >= f->args->count) {
        return jinja_fail(f->run, JINJA_RUNTIME,
                          "Replacement index %zu out of range for positional args tuple", number);
    }
    *out = f->args->at[number];
    return true;
}

static bool by_name(struct braces *f, const char *name, size_t size, jinja_value *out) {
    const jinja_value *item = NULL;
    if (!(f->mapping ? jinja_dict_find(f->run, *f->mapping, name, size, &item)
                     : jinja_spend(f->run, f->args->named_count))) {
        return false;
    }
    for (size_t i = 0; !f->mapping && i < f->args->named_count; i++) {
        if (f->args->named[i].size == size && memcmp(f->args->named[i].name, name, size) == 0) {
            item = &f->args->named[i].value;
        }
    }
    if (!item) {
        return jinja_fail(f->run, JINJA_RUNTIME, "format() has no argument '%.*s'",
                          (int)(size < 200 ? size : 200), name);
    }
    *out = *item;
    return true;
}

/* True for digits alone; a number beyond any count is SIZE_MAX. */
static bool read_index(const char *text, size_t size, size_t *out) {
    *out = 0;
    for (size_t i = 0; i < size; i++) {
        if (text[i] < '0' || text[i] > '9') { return false; }
        *out = *out > SIZE_MAX / 20 ? SIZE_MAX / 20 : *out * 10 + (size_t)(text[i] - '0');
    }
    return size > 0;
}

static bool first_part(struct braces *f, const char *name, size_t size, jinja_value *out) {
    size_t number;
    bool numbered = read_index(name, size, &number);
    if (size && !numbered) { return by_name(f, name, size, out); }
    enum numbering numbering = numbered ? BY_HAND : AUTOMATIC;
    if (f->numbering != UNKNOWN && f->numbering != numbering) {
        return jinja_fail(f->run, JINJA_RUNTIME,
                          "cannot switch between automatic and manual field numbering");
    }
    f->numbering = numbering;
    return by_number(f, numbered ? number : f->next++, out);
}

/* [key]: an index if it is digits, else a text. */
static bool item_part(struct braces *f, const char *key, size_t size, jinja_value *value) {
    size_t number;
    jinja_value name;
    if (read_index(key, size, &number)) {
        return jinja_item(f->run, *value, jinja_int((int64_t)number), value);
    }
    return jinja_string_make(f->run, key, size, JINJA_WRITTEN, &name) &&
           jinja_item(f->run, *value, name, value);
}

static bool field_value(struct braces *f, const char *name, size_t size, jinja_value *out) {
    size_t at = 0;
    while (at < size && name[at] != '.' && name[at] != '[') { at++; }
    if (!first_part(f, name, at, out)) { return false; }
    while (at < size) {
        bool item = name[at] == '[';
        size_t begin = ++at;
        while (at < size && (item ? name[at] != ']' : name[at] != '.' && name[at] != '[')) { at++; }
        if (at == begin) { return jinja_fail(f->run, JINJA_RUNTIME, "Empty attribute in format string"); }
        if (item && at == size) { return jinja_fail(f->run, JINJA_RUNTIME, "Missing ']' in format string"); }
        if (!(item ? item_part(f, name + begin, at - begin, out)
                   : jinja_attribute(f->run, *out, name + begin, at - begin, out))) {
            return false;
        }
        at += item;
        if (item && at < size && name[at] != '.' && name[at] != '[') {
            return jinja_fail(f->run, JINJA_RUNTIME,
                              "Only '.' or '[' may follow ']' in format field specifier");
        }
    }
    return true;
}

/* ---- fields ------------------------------------------------------------------------------------------- */

static bool build_fields(struct braces *f, const struct jinja_string *format, int depth,
                         struct jinja_builder *b);

/* str(), repr() or ascii() in front of formatting. */
static bool convert(struct jinja_run *run, char conversion, jinja_value *value) {
    struct jinja_builder b = {.run = run};
    bool done = conversion == 's'   ? jinja_build_text(&b, *value)
                : conversion == 'r' ? jinja_build_repr(&b, *value)
                                    : jinja_build_ascii(&b, *value);
    return done && jinja_built(&b, value);
}

/* Into markup goes what is escaped; markup itself takes no specification. */
static bool build_value(struct braces *f, struct jinja_builder *b, jinja_value value,
                        const struct jinja_string *spec) {
    struct jinja_builder own = {.run = f->run};
    jinja_value text;
    if (!f->markup) { return jinja_format_value(b, value, spec); }
    if (value.type == JINJA_STRING && value.string->markup) {
        if (spec->size) {
            return jinja_fail(f->run, JINJA_RUNTIME, "Unsupported format specification for Markup.");
        }
        return jinja_build_string(b, value.string);
    }
    return jinja_format_value(&own, value, spec) && jinja_built(&own, &text) && jinja_build_escaped(b, text);
}

/* A field between its braces: name!conversion:spec. */
static bool build_field(struct braces *f, const struct jinja_string *s, size_t begin, size_t end, int depth,
                        struct jinja_builder *b) {
    size_t name = begin;
    bool bracket = false;
    for (; name < end && (bracket || (s->bytes[name] != '!' && s->bytes[name] != ':')); name++) {
        bracket = s->bytes[name] == '[' || (bracket && s->bytes[name] != ']');
    }
    char conversion = 0;
    size_t spec = name;
    if (name < end && s->bytes[name] == '!') {
        conversion = name + 1 < end ? s->bytes[name + 1] : 0;
        spec = name + 2;
        if (!conversion || !strchr("sra", conversion) || (spec < end && s->bytes[spec] != ':')) {
            return jinja_fail(f->run, JINJA_RUNTIME, "a conversion in a format is one of !s, !r, !a");
        }
    }
    jinja_value value, text;
    if (!field_value(f, s->bytes + begin, name - begin, &value)) { return false; }
    if (conversion && !convert(f->run, conversion, &value)) { return false; }
    if (spec < end) {
        spec++;
    } else {
        spec = end;
    }
    struct jinja_builder own = {.run = f->run};
    if (!jinja_substring(f->run, s, spec, end, &text) || !build_fields(f, text.string, depth + 1, &own) ||
        !jinja_built(&own, &text)) {
        return false;
    }
    return build_value(f, b, value, text.string);
}

/* The brace that closes the one before `at`; brackets hide braces only in names, which have none. */
static bool closing(struct braces *f, const struct jinja_string *s, size_t at, size_t *end) {
    for (int depth = 1; at < s->size; at++) {
        depth += s->bytes[at] == '{' ? 1 : s->bytes[at] == '}' ? -1 : 0;
        *end = at;
        if (depth == 0) { return true; }
    }
    return jinja_fail(f->run, JINJA_RUNTIME, "expected '}' before end of string");
}

static bool build_fields(struct braces *f, const struct jinja_string *s, int depth, struct jinja_builder *b) {
    if (depth > 2) { return jinja_fail(f->run, JINJA_RUNTIME, "Max string recursion exceeded"); }
    for (size_t at = 0, begin = 0;;) {
        while (at < s->size && s->bytes[at] != '{' && s->bytes[at] != '}') { at++; }
        if (!jinja_build_from(b, s, begin, at)) { return false; }
        if (at == s->size) { return true; }
        bool open = s->bytes[at] == '{';
        if (at + 1 < s->size && s->bytes[at + 1] == s->bytes[at] && depth == 0) {
            begin = at + 1;
            at += 2;
            continue;
        }
        size_t end = at;
        if (!open) { return jinja_fail(f->run, JINJA_RUNTIME, "Single '}' encountered in format string"); }
        if (at + 1 == s->size) {
            return jinja_fail(f->run, JINJA_RUNTIME, "Single '{' encountered in format string");
        }
        if (!closing(f, s, at + 1, &end) || !jinja_spend_bytes(f->run, end - at) ||
            !build_field(f, s, at + 1, end, depth, b)) {
            return false;
        }
        at = begin = end + 1;
    }
}

bool jinja_format_braces(struct jinja_run *run, const struct jinja_string *format,
                         const struct jinja_args *args, const jinja_value *mapping, jinja_value *out) {
    struct braces f = {.run = run, .args = args, .mapping = mapping, .markup = format->markup};
    struct jinja_builder b = {.run = run};
    return build_fields(&f, format, 0, &b) && jinja_built(&b, out);
}

bool jinja_str_format(struct jinja_run *run, jinja_value self, const struct jinja_args *args,
                      jinja_value *out) {
    return jinja_format_braces(run, self.string, args, NULL, out);
}

bool jinja_str_format_map(struct jinja_run *run, jinja_value self, const struct jinja_args *args,
                          jinja_value *out) {
    if (args->at[0].type != JINJA_DICT) {
        return jinja_fail(run, JINJA_RUNTIME, "format_map() needs a dict, not %s",
                          jinja_type_name(args->at[0]));
    }
    return jinja_format_braces(run, self.string, args, &args->at[0], out);
}
