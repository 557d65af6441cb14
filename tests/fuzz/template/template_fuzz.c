/*
 * template_fuzz.c - compiles any bytes and renders what compiles, with a small conversation and small limits.
 *
 * What is rendered has to be valid: UTF-8, spans in order, and the same twice.
 */
#include "jinja.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static json_t *conversation(void) {
    return json_pack(
        "{s:[{s:s, s:s}, {s:s, s:s, s:[{s:s, s:{s:i, s:[b, n, f]}}]}], s:n, s:b, s:s, s:[i, i, i]}",
        "messages", "role", "user", "content", "h\xc3\xa9 <|x|>\n", "role", "assistant", "content", "",
        "tool_calls", "name", "f", "arguments", "a", 1, "b", 1, 2.5, "tools", "add_generation_prompt", 1, "s",
        "Some text", "l", 3, 1, 2);
}

static void check(const struct jinja_output *out) {
    uint64_t behind = 0;
    json_t *text = json_stringn(out->text, out->size); /* NULL if it is no UTF-8 */
    if (!text || out->text[out->size] != 0) { abort(); }
    json_decref(text);
    for (size_t i = 0; i < out->given_count; i++) {
        const struct jinja_span *span = &out->given[i];
        if (span->begin >= span->end || span->end > out->size || (i > 0 && span->begin <= behind)) {
            abort();
        }
        behind = span->end;
    }
}

static void check_fault(const struct jinja_fault *fault) {
    json_t *text = json_string(fault->message);
    if (!text || !fault->message[0] || strchr(fault->message, '\n') || fault->place.line == 0) { abort(); }
    json_decref(text);
}

static void check_same(const struct jinja_output *a, const struct jinja_output *b) {
    if (a->size != b->size || memcmp(a->text, b->text, a->size) != 0 || a->given_count != b->given_count) {
        abort();
    }
}

static void render(const struct jinja_template *t, const json_t *given) {
    struct jinja_output first, second;
    struct jinja_fault fault = {0};
    const struct jinja_input input = {
        .given = given, .limits = {.steps = 100000, .memory = 4u << 20, .output = 1u << 20, .depth = 50}};
    bool done = jinja_render(t, &input, &first, &fault);
    if (!done) {
        check_fault(&fault);
        return;
    }
    check(&first);
    if (!jinja_render(t, &input, &second, &fault)) { abort(); }
    check_same(&first, &second);
    jinja_output_free(&first);
    jinja_output_free(&second);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct jinja_fault fault = {0};
    struct jinja_template *t = jinja_compile((const char *)data, size, &fault);
    if (!t) {
        check_fault(&fault);
        return 0;
    }
    json_t *given = conversation();
    jinja_uses(t, "tools");
    render(t, given);
    json_decref(given);
    jinja_free(t);
    return 0;
}
