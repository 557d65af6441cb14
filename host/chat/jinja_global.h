/*
 * jinja_global.h - the global functions, for the table in jinja_global.c.
 */
#ifndef TENON_JINJA_GLOBAL_H
#define TENON_JINJA_GLOBAL_H

#include "jinja_inside.h"

bool jinja_global_dict(struct jinja_run *run, jinja_value self, const struct jinja_args *args,
                       jinja_value *out);
bool jinja_global_namespace(struct jinja_run *run, jinja_value self, const struct jinja_args *args,
                            jinja_value *out);
bool jinja_global_cycler(struct jinja_run *run, jinja_value self, const struct jinja_args *args,
                         jinja_value *out);
bool jinja_global_joiner(struct jinja_run *run, jinja_value self, const struct jinja_args *args,
                         jinja_value *out);

#endif
