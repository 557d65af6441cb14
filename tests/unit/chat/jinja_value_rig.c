/*
 * jinja_value_rig.c - values of templates for tests.
 */
#include "jinja_value_rig.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct jinja_run value_run(void) {
    return (struct jinja_run){
        .left = {.steps = 1u << 30, .memory = 1u << 30, .output = 1u << 30, .depth = 200},
        .at = {1, 1},
        .now = VALUE_NOW};
}

jinja_value value_text(struct jinja_run *run, const char *text, uint8_t origin) {
    jinja_value value = jinja_undefined(NULL);
    jinja_string_make(run, text, strlen(text), origin, &value);
    return value;
}

/* ---- forms -------------------------------------------------------------------------------------------- */

static bool decode_items(struct jinja_run *run, const json_t *items, enum jinja_type type, jinja_value *out) {
    size_t i;
    json_t *item;
    jinja_value value;
    if (!jinja_list_make(run, type, 0, out)) return false;
    json_array_foreach (items, i, item)
        if (!value_decode(run, item, &value) || !jinja_list_add(run, *out, value)) return false;
    return true;
}

static bool decode_pairs(struct jinja_run *run, const json_t *items, jinja_value *out) {
    size_t i;
    json_t *item;
    jinja_value key, value;
    if (!jinja_dict_make(run, out)) return false;
    json_array_foreach (items, i, item)
        if (!value_decode(run, json_array_get(item, 0), &key) ||
            !value_decode(run, json_array_get(item, 1), &value) || !jinja_dict_set(run, *out, key, value))
            return false;
    return true;
}

static bool decode_object(struct jinja_run *run, json_t *form, jinja_value *out) {
    const char *name;
    json_t *item;
    jinja_value value;
    if (!jinja_dict_make(run, out)) return false;
    json_object_foreach (form, name, item)
        if (!value_decode(run, item, &value) ||
            !jinja_dict_set(run, *out, value_text(run, name, JINJA_WRITTEN), value))
            return false;
    return true;
}

static bool decode_special(struct jinja_run *run, const char *kind, const json_t *form, jinja_value *out) {
    const json_t *items = json_object_get(form, "items"), *text = json_object_get(form, "text");
    if (strcmp(kind, "tuple") == 0) return decode_items(run, items, JINJA_TUPLE, out);
    if (strcmp(kind, "dict") == 0) return decode_pairs(run, items, out);
    if (strcmp(kind, "undefined") == 0)
        *out = jinja_undefined("u");
    else if (strcmp(kind, "float") == 0)
        *out = jinja_float(strtod(json_string_value(text), NULL));
    else if (strcmp(kind, "markup") == 0) {
        const struct jinja_args none = {0};
        return jinja_filter_call(run, jinja_filter_find("safe", 4),
                                 value_text(run, json_string_value(text), JINJA_WRITTEN), &none, out);
    } else if (strcmp(kind, "range") == 0) {
        jinja_value bounds;
        if (!decode_items(run, items, JINJA_LIST, &bounds)) return false;
        const struct jinja_args args = {.at = bounds.list->items, .count = bounds.list->count};
        return jinja_call(run, (jinja_value){.type = JINJA_BUILTIN, .builtin = jinja_global_find("range", 5)},
                          &args, out);
    } else
        return false;
    return true;
}

bool value_decode(struct jinja_run *run, const json_t *form, jinja_value *out) {
    const json_t *kind = json_object_get(form, "$");
    if (kind) return decode_special(run, json_string_value(kind), form, out);
    if (json_is_array(form)) return decode_items(run, form, JINJA_LIST, out);
    if (json_is_object(form)) return decode_object(run, (json_t *)(uintptr_t)form, out);
    return jinja_from_json(run, form, JINJA_WRITTEN, out);
}

/* ---- operations --------------------------------------------------------------------------------------- */

static const char *const signs[] = {
    "+", "-", "*", "/", "//", "%", "**", "==", "!=", "<", "<=", ">", ">=", "in", "not in"};

static bool apply_binary(struct jinja_run *run, const char *sign, jinja_value a, jinja_value b,
                         jinja_value *out) {
    for (size_t i = 0; i < sizeof signs / sizeof *signs; i++)
        if (strcmp(signs[i], sign) == 0) return jinja_binary(run, (enum jinja_operator)i, a, b, out);
    return jinja_fail(run, JINJA_SYNTAX, "no operator %s", sign);
}

static bool apply_named(struct jinja_run *run, const struct jinja_builtin *builtin, bool test,
                        jinja_value self, const struct jinja_args *args, jinja_value *out) {
    bool truth;
    if (!builtin) return jinja_fail(run, JINJA_SYNTAX, "there is none of that name");
    if (!test) return jinja_filter_call(run, builtin, self, args, out);
    if (!jinja_test_call(run, builtin, self, args, &truth)) return false;
    *out = jinja_bool(truth);
    return true;
}

bool value_apply(struct jinja_run *run, const char *kind, const char *name, jinja_value self,
                 const struct jinja_args *args, jinja_value *out) {
    const size_t size = strlen(name);
    jinja_value method;
    if (strcmp(kind, "filter") == 0)
        return apply_named(run, jinja_filter_find(name, size), false, self, args, out);
    if (strcmp(kind, "test") == 0)
        return apply_named(run, jinja_test_find(name, size), true, self, args, out);
    if (strcmp(kind, "method") == 0)
        return jinja_attribute(run, self, name, size, &method) && jinja_call(run, method, args, out);
    if (strcmp(kind, "binary") == 0) return apply_binary(run, name, self, args->at[0], out);
    if (strcmp(kind, "unary") == 0) return jinja_unary(run, *name == '-' ? JINJA_NEG : JINJA_POS, self, out);
    if (strcmp(kind, "item") == 0) return jinja_item(run, self, args->at[0], out);
    if (strcmp(kind, "attribute") == 0) return jinja_attribute(run, self, name, size, out);
    if (strcmp(kind, "slice") == 0) return jinja_slice(run, self, args->at[0], args->at[1], args->at[2], out);
    if (strcmp(kind, "global") == 0) {
        const jinja_value callee = {.type = JINJA_BUILTIN, .builtin = jinja_global_find(name, size)};
        return jinja_call(run, callee, args, out);
    }
    return jinja_fail(run, JINJA_SYNTAX, "no kind %s", kind);
}

bool value_repr(struct jinja_run *run, jinja_value value, jinja_value *out) {
    const struct jinja_args none = {0};
    if (value.type == JINJA_OBJECT &&
        !jinja_filter_call(run, jinja_filter_find("list", 4), value, &none, &value))
        return false;
    return jinja_repr(run, value, out);
}

json_t *value_load(const char *path) {
    char full[4096];
    snprintf(full, sizeof full, "%s/%s", getenv("TENON_TEST_DATA"), path);
    return json_load_file(full, JSON_ALLOW_NUL | JSON_DECODE_ANY, NULL);
}
