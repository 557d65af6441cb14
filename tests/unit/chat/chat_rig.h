/*
 * chat_rig.h - templates rendered for tests.
 */
#ifndef TENON_CHAT_RIG_H
#define TENON_CHAT_RIG_H

#include "jinja.h"

#include <jansson.h>

enum { RIG_NOW = 1768469400 }; /* 2026-01-15T09:30:00 */

typedef struct rig_result {
    struct jinja_output output;
    struct jinja_fault fault;
    bool compiled, rendered;
} rig_result;

/* Compiles and renders; `trusted` may be NULL, limits too (the default ones then). */
void rig_render(const char *text, size_t size, const json_t *given, const json_t *trusted,
                const struct jinja_limits *limits, rig_result *out);
/* A file below the folder that an environment variable names, as JSON; NULL if it is not there. */
json_t *rig_load(const char *variable, const char *path);

#endif
