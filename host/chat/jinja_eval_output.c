/*
 * jinja_eval_output.c - the rendered text, and which of its bytes the caller gave.
 */
#include "jinja_eval.h"

#include <stdlib.h>
#include <string.h>

static bool fail_memory(struct jinja_eval *e) {
    return jinja_fail(&e->run, JINJA_MEMORY, "out of memory");
}

static bool make_room(struct jinja_eval *e, size_t more) {
    struct jinja_sink *sink = &e->sink;
    size_t needed = sink->size + more + 1; /* the limit of the output keeps this small */
    if (needed <= sink->room) { return true; }
    size_t room = needed > sink->room * 2 ? needed + 256 : sink->room * 2;
    char *text = realloc(sink->text, room);
    if (!text) { return fail_memory(e); }
    sink->text = text;
    sink->room = room;
    return true;
}

/* Marks [begin, end), behind all that is marked, as given. */
static bool mark_given(struct jinja_eval *e, size_t begin, size_t end) {
    struct jinja_sink *sink = &e->sink;
    if (sink->given_count > 0 && sink->given[sink->given_count - 1].end == begin) {
        sink->given[sink->given_count - 1].end = end;
        return true;
    }
    if (sink->given_count == sink->given_room) {
        size_t room = sink->given_room ? sink->given_room * 2 : 32;
        struct jinja_span *given = realloc(sink->given, room * sizeof *given);
        if (!given) { return fail_memory(e); }
        sink->given = given;
        sink->given_room = room;
    }
    sink->given[sink->given_count++] = (struct jinja_span){begin, end};
    return true;
}

static bool mark(struct jinja_eval *e, const struct jinja_string *text, size_t base) {
    if (text->size == 0 || text->origin == JINJA_WRITTEN) { return true; }
    if (text->origin == JINJA_GIVEN) { return mark_given(e, base, base + text->size); }
    for (size_t at = 0; at < text->size;) {
        size_t end = at + 1;
        while (end < text->size && text->origins[end] == text->origins[at]) { end++; }
        if (text->origins[at] != JINJA_WRITTEN && !mark_given(e, base + at, base + end)) { return false; }
        at = end;
    }
    return true;
}

bool jinja_sink_put(struct jinja_eval *e, const struct jinja_string *text) {
    size_t base = e->sink.size;
    if (text->size > e->run.left.output) {
        return jinja_fail(&e->run, JINJA_LIMIT, "the text becomes larger than %llu bytes",
                          (unsigned long long)e->input->limits.output);
    }
    e->run.left.output -= text->size;
    if (!make_room(e, text->size)) { return false; }
    memcpy(e->sink.text + base, text->bytes, text->size);
    e->sink.size += text->size;
    e->sink.text[e->sink.size] = 0;
    return mark(e, text, base);
}

void jinja_sink_free(struct jinja_sink *sink) {
    free(sink->text);
    free(sink->given);
    *sink = (struct jinja_sink){0};
}

bool jinja_emit(struct jinja_eval *e, const struct jinja_string *text) {
    if (e->capture) { return jinja_build_from(e->capture, text, 0, text->size); }
    return jinja_sink_put(e, text);
}

bool jinja_emit_block(struct jinja_eval *e, jinja_value value) {
    if (value.type == JINJA_STRING) { return jinja_emit(e, value.string); }
    return jinja_fail(&e->run, JINJA_RUNTIME, "expected str instance, %s found", jinja_type_name(value));
}

enum jinja_flow jinja_capture_body(struct jinja_eval *e, const struct jinja_nodes *body, jinja_value *out) {
    struct jinja_builder text = {.run = &e->run};
    struct jinja_builder *outer = e->capture;
    e->capture = &text;
    enum jinja_flow flow = jinja_execute(e, body);
    e->capture = outer;
    return flow == FLOW_ON && !jinja_built(&text, out) ? FLOW_FAULT : flow;
}
