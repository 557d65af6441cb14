/*
 * jinja_template.c - compiles a template and renders it: see jinja.h.
 */
#include "jinja_eval.h"

#include <stdlib.h>
#include <string.h>

void jinja_limits_default(struct jinja_limits *out) {
    *out = (struct jinja_limits){.steps = 20000000, .memory = 256u << 20, .output = 64u << 20, .depth = 200};
}

/* ---- compiling ----------------------------------------------------------------------------------------- */

struct jinja_template *jinja_compile(const char *text, size_t size, struct jinja_fault *fault) {
    struct jinja_template *t = calloc(1, sizeof *t);
    if (!t) {
        *fault = (struct jinja_fault){.kind = JINJA_MEMORY, .place = {1, 1}, .message = "out of memory"};
        return NULL;
    }
    jinja_limits_default(&t->run.left);
    t->run.at = (struct jinja_place){1, 1};
    if (jinja_parse(t, text, size) && jinja_bind(t)) { return t; }
    *fault = t->run.fault;
    jinja_free(t);
    return NULL;
}

void jinja_free(struct jinja_template *t) {
    if (!t) { return; }
    jinja_run_free(&t->run);
    free(t);
}

bool jinja_uses(const struct jinja_template *t, const char *name) {
    for (size_t i = 0; i < t->outside_count; i++) {
        if (t->outside_read[i] && strcmp(t->outside[i]->bytes, name) == 0) { return true; }
    }
    return false;
}

/* ---- rendering ----------------------------------------------------------------------------------------- */

static bool render(struct jinja_eval *e) {
    size_t count = e->t->outside_count;
    static const struct jinja_string nothing = {0};
    e->outside = jinja_alloc(&e->run, count + 1, sizeof *e->outside);
    e->asked = jinja_alloc(&e->run, count + 1, sizeof *e->asked);
    e->frame = jinja_frame_make(e, e->t->slots, NULL);
    if (!e->outside || !e->asked || !e->frame) { return false; }
    memset(e->outside, 0, count * sizeof *e->outside);
    memset(e->asked, 0, count * sizeof *e->asked);
    return jinja_sink_put(e, &nothing) && jinja_enter_scope(e, &e->t->scope) &&
           jinja_execute(e, &e->t->body) == FLOW_ON;
}

bool jinja_render(const struct jinja_template *t, const struct jinja_input *input, struct jinja_output *out,
                  struct jinja_fault *fault) {
    struct jinja_eval e = {
        .run = {.left = input->limits, .at = {1, 1}, .now = input->now, .stopped = input->stopped},
        .t = t,
        .input = input};
    *out = (struct jinja_output){0};
    bool done = render(&e);
    jinja_run_free(&e.run);
    if (!done) {
        *fault = e.run.fault;
        jinja_sink_free(&e.sink);
        return false;
    }
    *out = (struct jinja_output){e.sink.text, e.sink.size, e.sink.given, e.sink.given_count};
    return true;
}

void jinja_output_free(struct jinja_output *out) {
    free(out->text);
    free(out->given);
    *out = (struct jinja_output){0};
}
