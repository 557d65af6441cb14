/*
 * template_value_fuzz.c - random filters, tests, methods and operators on random values: nothing may crash, read
 * beyond, or go on without end; a fault has a message of one line; strings stay valid, with an origin for each byte.
 * The input is a small program for a stack of values.
 */
#include "jinja_value_rig.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *const filters[] = {"abs",        "attr",      "batch",
                                      "capitalize", "center",    "default",
                                      "dictsort",   "e",         "filesizeformat",
                                      "first",      "float",     "forceescape",
                                      "format",     "groupby",   "indent",
                                      "int",        "items",     "join",
                                      "last",       "length",    "list",
                                      "lower",      "map",       "max",
                                      "min",        "pprint",    "reject",
                                      "rejectattr", "replace",   "reverse",
                                      "round",      "safe",      "select",
                                      "selectattr", "slice",     "sort",
                                      "string",     "striptags", "sum",
                                      "title",      "tojson",    "trim",
                                      "truncate",   "unique",    "upper",
                                      "urlencode",  "wordcount", "wordwrap",
                                      "xmlattr"};
static const char *const tests[] = {"divisibleby", "eq",       "even",  "filter",  "ge",
                                    "in",          "iterable", "lower", "mapping", "odd",
                                    "sameas",      "sequence", "test",  "upper"};
static const char *const methods[] = {
    "strip",      "lstrip",       "rstrip",       "split",      "rsplit",   "splitlines",   "partition",
    "rpartition", "removeprefix", "removesuffix", "startswith", "endswith", "find",         "rfind",
    "index",      "rindex",       "count",        "replace",    "join",     "upper",        "lower",
    "title",      "capitalize",   "casefold",     "swapcase",   "isdigit",  "isidentifier", "istitle",
    "format",     "format_map",   "zfill",        "center",     "ljust",    "rjust",        "expandtabs",
    "items",      "keys",         "values",       "get",        "copy",     "append"};
static const char *const globals[] = {"range", "dict", "namespace", "cycler", "joiner", "strftime_now"};
static const char *const signs[] = {
    "+", "-", "*", "/", "//", "%", "**", "==", "!=", "<", "<=", ">", ">=", "in", "not in"};
#define PICK(names, byte) names[(byte) % (sizeof(names) / sizeof *(names))]

enum { STACK = 16 };
struct machine {
    struct jinja_run run;
    const uint8_t *data;
    size_t size;
    jinja_value stack[STACK];
    size_t count;
};

static uint8_t take(struct machine *m) {
    if (m->size == 0) return 0;
    m->size--;
    return *m->data++;
}

static void push(struct machine *m, jinja_value value) {
    if (m->count == STACK) memmove(m->stack, m->stack + 1, --m->count * sizeof *m->stack);
    m->stack[m->count++] = value;
}

static jinja_value pop(struct machine *m) {
    return m->count ? m->stack[--m->count] : jinja_none();
}

/* What must hold of each string. */
static void check(jinja_value value) {
    if (value.type != JINJA_STRING) return;
    const struct jinja_string *s = value.string;
    size_t characters = 0;
    for (size_t i = 0; i < s->size; i++) {
        characters += ((unsigned char)s->bytes[i] & 0xC0) != 0x80;
        if (s->origin == JINJA_MIXED && s->origins[i] > JINJA_GIVEN) abort();
    }
    if (characters != s->characters || s->bytes[s->size] != 0 ||
        (s->origin == JINJA_MIXED) != (s->origins != NULL))
        abort();
    json_t *text = json_stringn(s->bytes, s->size); /* NULL if it is no UTF-8 */
    if (!text) abort();
    json_decref(text);
}

static bool push_text(struct machine *m) {
    size_t size = take(m) % 24;
    uint8_t origin = take(m) & 1;
    jinja_value text;
    if (size > m->size) size = m->size;
    if (!jinja_string_make(&m->run, (const char *)m->data, size, origin, &text)) return false;
    m->data += size;
    m->size -= size;
    push(m, text);
    return true;
}

static bool push_container(struct machine *m, uint8_t kind) {
    jinja_value out;
    size_t count = take(m) % 6;
    bool dict = kind == 2;
    if (!(dict ? jinja_dict_make(&m->run, &out)
               : jinja_list_make(&m->run, kind ? JINJA_TUPLE : JINJA_LIST, 0, &out)))
        return false;
    for (size_t i = 0; i < count; i++) {
        jinja_value item = pop(m);
        if (!(dict ? jinja_dict_set(&m->run, out, pop(m), item) : jinja_list_add(&m->run, out, item)))
            return false;
    }
    push(m, out);
    return true;
}

static void push_number(struct machine *m, bool real) {
    uint64_t bits = 0;
    double number;
    size_t bytes = real ? 8 : 1 + take(m) % 8;
    for (size_t i = 0; i < bytes; i++) bits = bits << 8 | take(m);
    memcpy(&number, &bits, sizeof number);
    push(m, real ? jinja_float(number) : jinja_int((int64_t)(bits << (64 - 8 * bytes)) >> (64 - 8 * bytes)));
}

static bool apply(struct machine *m, const char *kind, const char *name) {
    uint8_t shape = take(m);
    jinja_value at[4], self = pop(m), out;
    struct jinja_args args = {.at = at, .count = strcmp(kind, "binary") == 0 ? 1 : shape % 4};
    if (strcmp(kind, "slice") == 0) args.count = 3;
    if (strcmp(kind, "item") == 0) args.count = 1;
    for (size_t i = 0; i < args.count; i++) at[i] = pop(m);
    const struct jinja_named named = {.name = "attribute", .size = 9, .value = pop(m)};
    args.named = &named;
    args.named_count = shape >> 7;
    if (!value_apply(&m->run, kind, name, self, &args, &out)) return false;
    check(out);
    push(m, out);
    return true;
}

static bool step(struct machine *m) {
    switch (take(m) % 16) {
    case 0: push(m, jinja_none()); return true;
    case 1: push(m, jinja_bool(take(m) & 1)); return true;
    case 2: push_number(m, false); return true;
    case 3: push_number(m, true); return true;
    case 4: push(m, jinja_undefined("u")); return true;
    case 5:
    case 6: return push_text(m);
    case 7: return push_container(m, take(m) % 3);
    case 8: return apply(m, "binary", PICK(signs, take(m)));
    case 9: return apply(m, "test", PICK(tests, take(m)));
    case 10: return apply(m, "method", PICK(methods, take(m)));
    case 11: return apply(m, "item", "");
    case 12: return apply(m, "slice", "");
    case 13: return apply(m, "global", PICK(globals, take(m)));
    case 14: push(m, m->count ? m->stack[m->count - 1] : jinja_int(2)); return true;
    default: return apply(m, "filter", PICK(filters, take(m)));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct machine m = {.run = {.left = {.steps = 200000, .memory = 1 << 22, .output = 1 << 20, .depth = 60},
                                .now = VALUE_NOW},
                        .data = data,
                        .size = size};
    while (m.size) {
        if (step(&m)) continue;
        if (m.run.fault.message[0] == 0 || strchr(m.run.fault.message, '\n') || m.run.left.depth != 60)
            abort();
        if (m.run.fault.kind == JINJA_LIMIT || m.run.fault.kind == JINJA_MEMORY) break;
    }
    jinja_value text;
    while (m.count)
        if (jinja_text(&m.run, pop(&m), &text)) check(text);
    jinja_run_free(&m.run);
    return 0;
}
