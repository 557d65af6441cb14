/*
 * jinja_value_rig.h - values of templates for tests: from the forms of value_cases.json, and through their operations
 * by name.
 */
#ifndef TENON_JINJA_VALUE_RIG_H
#define TENON_JINJA_VALUE_RIG_H

#include "jinja_value.h"

#include <jansson.h>

enum { VALUE_NOW = 1768469400 }; /* 2026-01-15T09:30:00 */

/* A rendering with limits that do not matter. */
struct jinja_run value_run(void);
jinja_value value_text(struct jinja_run *run, const char *text, uint8_t origin);
/* A value from its form; false if the form is unknown. */
bool value_decode(struct jinja_run *run, const json_t *form, jinja_value *out);
/* Applies a filter, test, method, operator, ... as the rows of value_cases.json name them. */
bool value_apply(struct jinja_run *run, const char *kind, const char *name, jinja_value self,
                 const struct jinja_args *args, jinja_value *out);
/* repr(), of a list of what only iterates; an empty text for what has none. */
bool value_repr(struct jinja_run *run, jinja_value value, jinja_value *out);
/* A file below the folder of the test data. */
json_t *value_load(const char *path);

#endif
