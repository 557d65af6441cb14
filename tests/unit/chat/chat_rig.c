/*
 * chat_rig.c - see chat_rig.h.
 */
#include "chat_rig.h"

#include <stdio.h>
#include <stdlib.h>

void rig_render(const char *text, size_t size, const json_t *given, const json_t *trusted,
                const struct jinja_limits *limits, rig_result *out) {
    struct jinja_input input = {.given = given, .trusted = trusted, .now = RIG_NOW};
    jinja_limits_default(&input.limits);
    if (limits) { input.limits = *limits; }
    *out = (rig_result){0};
    struct jinja_template *t = jinja_compile(text, size, &out->fault);
    out->compiled = t;
    out->rendered = t && jinja_render(t, &input, &out->output, &out->fault);
    jinja_free(t);
}

json_t *rig_load(const char *variable, const char *path) {
    char full[4096];
    json_error_t error;
    const char *folder = getenv(variable);
    snprintf(full, sizeof full, "%s/%s", folder ? folder : ".", path);
    return json_load_file(full, JSON_ALLOW_NUL, &error);
}
