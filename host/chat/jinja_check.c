/*
 * jinja_check.c - what is wrong with a filter, a test or a call whatever the data: said when a template is
 * loaded.
 */
#include "jinja_tree.h"

#include <string.h>

static bool fail_here(struct jinja_template *t, const struct jinja_node *node, const char *what,
                      const struct jinja_name *name) {
    t->run.at = node->place;
    return jinja_fail(&t->run, JINJA_SYNTAX, "%s '%.60s'", what, name->bytes);
}

/* The number and the names of the arguments; what *x and **x bring is known when rendering only. */
static bool check_arguments(struct jinja_template *t, const struct jinja_node *node,
                            const struct jinja_builtin *builtin) {
    const struct jinja_call_parts *call = node->call;
    size_t count = call->positional.count, named_count = call->keywords.count, i = 0;
    if (call->spread || call->spread_keywords) { return true; }
    jinja_value *at = jinja_tree_alloc(t, count + 1, sizeof *at); /* all undefined */
    struct jinja_named *named = jinja_tree_alloc(t, named_count + 1, sizeof *named);
    if (!at || !named) { return false; }
    for (const struct jinja_node *keyword = call->keywords.first; keyword; keyword = keyword->next) {
        named[i++] =
            (struct jinja_named){.name = keyword->member.name->bytes, .size = keyword->member.name->size};
    }
    const struct jinja_args args = {.at = at, .count = count, .named = named, .named_count = named_count};
    t->run.at = node->place;
    if (jinja_arguments_fit(&t->run, builtin, &args)) { return true; }
    t->run.fault.kind = JINJA_SYNTAX;
    return false;
}

bool jinja_check_filter(struct jinja_template *t, struct jinja_node *node) {
    const struct jinja_name *name = node->call->name;
    const char *reason = jinja_filter_refused(name->bytes, name->size);
    node->call->builtin = jinja_filter_find(name->bytes, name->size);
    if (node->call->builtin) { return check_arguments(t, node, node->call->builtin); }
    if (!reason) { return fail_here(t, node, "no filter named", name); }
    t->run.at = node->place;
    return jinja_fail(&t->run, JINJA_SYNTAX, "the filter '%s' is not supported: %s", name->bytes, reason);
}

bool jinja_check_test(struct jinja_template *t, struct jinja_node *node) {
    const struct jinja_name *name = node->call->name;
    node->call->builtin = jinja_test_find(name->bytes, name->size);
    if (!node->call->builtin) { return fail_here(t, node, "no test named", name); }
    return check_arguments(t, node, node->call->builtin);
}

/* Of `loop` and of what cycler() gives. */
static bool is_object_method(const struct jinja_name *name) {
    static const char *const names[] = {"cycle", "changed", "next", "reset"};
    for (size_t i = 0; i < JINJA_COUNT(names); i++) {
        if (strcmp(name->bytes, names[i]) == 0) { return true; }
    }
    return false;
}

/* `global`: the object is a name that nothing in the template sets. */
bool jinja_check_call(struct jinja_template *t, const struct jinja_node *node, bool global) {
    const struct jinja_node *object = node->call->object;
    if (object->kind == NODE_ATTRIBUTE) {
        const struct jinja_name *name = object->member.name;
        if (name->member || is_object_method(name) || jinja_method_known(name->bytes, name->size)) {
            return true;
        }
        return fail_here(t, object, "no type has a method", name);
    }
    if (object->kind != NODE_NAME || !global) { return true; }
    const struct jinja_name *name = object->name.name;
    const struct jinja_builtin *builtin = jinja_global_find(name->bytes, name->size);
    const char *reason = jinja_global_refused(name->bytes, name->size);
    if (builtin) { return check_arguments(t, node, builtin); }
    if (!reason) { return true; }
    t->run.at = node->place;
    return jinja_fail(&t->run, JINJA_SYNTAX, "the function '%s' is not supported: %s", name->bytes, reason);
}
