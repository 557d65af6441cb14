/*
 * jinja_json.c - JSON values as values of templates, all of their texts with one origin but the roles of messages.
 */
#include "jinja_inside.h"

#include <jansson.h>
#include <string.h>

static bool convert(struct jinja_run *run, const json_t *json, uint8_t origin, jinja_value *out);

static bool convert_array(struct jinja_run *run, const json_t *json, uint8_t origin, jinja_value *out) {
    size_t count = json_array_size(json);
    if (!jinja_list_make(run, JINJA_LIST, count, out)) { return false; }
    for (size_t i = 0; i < count; i++) {
        jinja_value item;
        if (!jinja_from_json(run, json_array_get(json, i), origin, &item) ||
            !jinja_list_add(run, *out, item)) {
            return false;
        }
    }
    return true;
}

static bool convert_object(struct jinja_run *run, const json_t *json, uint8_t origin, jinja_value *out) {
    if (!jinja_dict_make(run, out)) { return false; }
    json_t *object = (json_t *)(uintptr_t)json; /* jansson's iterators take no const, and change nothing */
    for (void *it = json_object_iter(object); it; it = json_object_iter_next(object, it)) {
        const char *name = json_object_iter_key(it);
        jinja_value key, item;
        if (!jinja_string_make(run, name, json_object_iter_key_len(it), origin, &key) ||
            !jinja_from_json(run, json_object_iter_value(it), origin, &item) ||
            !jinja_dict_set(run, *out, key, item)) {
            return false;
        }
    }
    return true;
}

static bool convert(struct jinja_run *run, const json_t *json, uint8_t origin, jinja_value *out) {
    switch (json_typeof(json)) {
    case JSON_OBJECT: return convert_object(run, json, origin, out);
    case JSON_ARRAY: return convert_array(run, json, origin, out);
    case JSON_STRING:
        return jinja_string_make(run, json_string_value(json), json_string_length(json), origin, out);
    case JSON_INTEGER: *out = jinja_int(json_integer_value(json)); return true;
    case JSON_REAL: *out = jinja_float(json_real_value(json)); return true;
    case JSON_TRUE:
    case JSON_FALSE: *out = jinja_bool(json_is_true(json)); return true;
    default: *out = jinja_none(); return true;
    }
}

bool jinja_from_json(struct jinja_run *run, const json_t *json, uint8_t origin, jinja_value *out) {
    if (!jinja_spend(run, 1) || !jinja_enter(run)) { return false; }
    bool done = convert(run, json, origin, out);
    jinja_leave(run);
    return done;
}

/* ---- messages ----------------------------------------------------------------------------------------- */

static bool is_one_of(const json_t *text, const char *const *words) {
    for (; words && *words; words++) {
        if (strlen(*words) == json_string_length(text) && strcmp(*words, json_string_value(text)) == 0) {
            return true;
        }
    }
    return false;
}

static bool set_role(struct jinja_run *run, const json_t *message, const char *const *roles,
                     jinja_value out) {
    const json_t *role = json_object_get(message, "role");
    jinja_value key, text;
    if (!json_is_string(role) || !is_one_of(role, roles)) { return true; }
    return jinja_string_make(run, "role", 4, JINJA_GIVEN, &key) &&
           jinja_from_json(run, role, JINJA_WRITTEN, &text) && jinja_dict_set(run, out, key, text);
}

bool jinja_from_messages(struct jinja_run *run, const json_t *json, const char *const *roles,
                         jinja_value *out) {
    if (!jinja_from_json(run, json, JINJA_GIVEN, out)) { return false; }
    for (size_t i = 0; i < json_array_size(json); i++) {
        const json_t *message = json_array_get(json, i);
        if (json_is_object(message) && !set_role(run, message, roles, out->list->items[i])) { return false; }
    }
    return true;
}
