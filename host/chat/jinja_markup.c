/*
 * jinja_markup.c - the methods of markup, as markupsafe has them: results are markup, and what comes from elsewhere is
 * escaped before it becomes part of one.
 */
#include "jinja_method.h"

static bool escape_items(struct jinja_run *run, jinja_value items, jinja_value *out) {
    struct jinja_iterator each;
    jinja_value item;
    bool done;
    if (!jinja_iterate(run, items, &each) || !jinja_list_make(run, JINJA_LIST, 0, out)) { return false; }
    while (jinja_next(run, &each, &item, &done) && !done) {
        if (!jinja_html_escape(run, item, &item) || !jinja_list_add(run, *out, item)) { return false; }
    }
    return done;
}

static bool mark(struct jinja_run *run, jinja_value *value) {
    if (value->type == JINJA_STRING) { return jinja_markup(run, *value, true, value); }
    if (value->type != JINJA_LIST && value->type != JINJA_TUPLE) { return true; }
    for (size_t i = 0; i < value->list->count; i++) {
        if (!mark(run, &value->list->items[i])) { return false; }
    }
    return true;
}

/* Parameter 1 of replace() and of what pads is text that joins the markup; join() takes many of those. */
bool jinja_markup_call(struct jinja_run *run, const struct jinja_builtin *method, jinja_value self,
                       const struct jinja_args *args, jinja_value *out) {
    jinja_value at[JINJA_PARAMETERS];
    struct jinja_args escaped = *args;
    bool join = strcmp(method->name, "join") == 0;
    bool second = args->given[1] && (strcmp(method->name, "replace") == 0 || strstr(method->name, "just") ||
                                     strcmp(method->name, "center") == 0);
    if (join || second) {
        memcpy(at, args->at, args->count * sizeof *at);
        escaped.at = at;
        if (!(join ? escape_items(run, at[0], &at[0]) : jinja_html_escape(run, at[1], &at[1]))) {
            return false;
        }
    }
    return method->call(run, self, &escaped, out) && mark(run, out);
}
