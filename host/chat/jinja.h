/*
 * jinja.h - templates: compiled once, rendered by any number of threads.
 *
 * The language is Jinja 3.1 as transformers sets it up for chat templates: trim_blocks, lstrip_blocks, loop
 * controls, `generation` blocks, an immutable sandbox, tojson without ASCII escapes, raise_exception,
 * strftime_now. No template can reach files, environment or plugins; include, import, extends and block are
 * refused. Stricter than Jinja: integers have 64 bits; what the sandbox forbids is a fault where it is
 * named, not where it is used; filters and tests that there are not are refused even in a branch that is
 * never taken.
 *
 * A rendering takes less than 1 MB of stack, whatever the template.
 */
#ifndef TENON_JINJA_H
#define TENON_JINJA_H

#include "jinja_value.h"

#include <jansson.h>

struct jinja_template;

/* Reads a template of any bytes (what is no UTF-8 becomes U+FFFD); NULL after a fault, which has line and
 * column. Everything that can be told without data is checked here: tags, filters, tests, arguments' names,
 * methods that no type has. */
struct jinja_template *jinja_compile(const char *text, size_t size, struct jinja_fault *fault);
void jinja_free(struct jinja_template *t);

/* True if the template reads a variable of that name from outside anywhere ("tools"). */
bool jinja_uses(const struct jinja_template *t, const char *name);
/* 20 million steps, 256 MB, 64 MB of output, depth 200: far more than any conversation takes. */
void jinja_limits_default(struct jinja_limits *out);

/* Variables; those of `given` go before those of `trusted`. `given` is an object whose texts are the
 * caller's: they never count as written by the template. `trusted` (or NULL) is one whose texts do:
 * bos_token, eos_token. */
struct jinja_input {
    const json_t *given, *trusted;
    /* What counts as written as the "role" of one of the `messages` given: templates put it between the halves of
     * control tokens. NULL behind the last; NULL: none. */
    const char *const *roles;
    bool (*stopped)(
        void);   /* asked now and then; true ends the rendering, with the fault JINJA_STOPPED. NULL: never */
    int64_t now; /* for strftime_now: seconds since 1970, read as a clock without zone */
    struct jinja_limits limits;
};

/* A rendered text; `given` are the stretches of bytes that came from input->given, in order and disjoint. */
struct jinja_span {
    uint64_t begin, end;
};
struct jinja_output {
    char *text; /* with a NUL behind it */
    size_t size;
    struct jinja_span *given;
    size_t given_count;
};
bool jinja_render(const struct jinja_template *t, const struct jinja_input *input, struct jinja_output *out,
                  struct jinja_fault *fault);
void jinja_output_free(struct jinja_output *out);

#endif
