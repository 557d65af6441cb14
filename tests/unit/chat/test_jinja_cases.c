/*
 * test_jinja_cases.c - small templates of our own, against what Python's jinja2 made of them
 * (tests/data/chat/jinja_cases.json, by make_jinja_cases.py).
 */
#include "chat_rig.h"

#include <criterion/criterion.h>
#include <string.h>

/* Returns false and says so if a case differs. */
static bool check(const json_t *context, const json_t *item) {
    const json_t *template = json_object_get(item, "template"), *text = json_object_get(item, "text");
    const char *group = json_string_value(json_object_get(item, "group"));
    rig_result result;
    rig_render(json_string_value(template), json_string_length(template), context, NULL, NULL, &result);
    bool same = text ? result.rendered && result.output.size == json_string_length(text) &&
                           memcmp(result.output.text, json_string_value(text), result.output.size) == 0
                     : !result.rendered && result.fault.message[0] && result.fault.place.line > 0;
    if (!same) {
        fprintf(
            stderr, "%s: %s\n  expected %s\n  got      %s%s\n", group, json_string_value(template),
            text ? json_string_value(text) : json_string_value(json_object_get(item, "fault")),
            result.rendered ? result.output.text : "fault: ", result.rendered ? "" : result.fault.message);
    }
    jinja_output_free(&result.output);
    return same;
}

Test(jinja_cases, same_as_python) {
    json_t *file = rig_load("TENON_TEST_DATA", "chat/jinja_cases.json");
    const json_t *item;
    size_t i, wrong = 0;
    cr_assert(file);
    json_array_foreach (json_object_get(file, "cases"), i, item) {
        wrong += !check(json_object_get(file, "context"), item);
    }
    cr_assert(i > 600, "only %zu cases", i);
    cr_assert_eq(wrong, 0, "%zu of %zu cases differ", wrong, i);
    json_decref(file);
}
