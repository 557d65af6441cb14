/*
 * jinja_value_object_test.c - namespace, cycler, joiner, strftime_now, raise_exception, what iterates once, JSON in.
 */
#include "jinja_value_rig.h"

#include <criterion/criterion.h>
#include <string.h>

static jinja_value global(const char *name) {
    return (jinja_value){.type = JINJA_BUILTIN, .builtin = jinja_global_find(name, strlen(name))};
}

static const char *text_of(struct jinja_run *run, jinja_value value) {
    jinja_value text;
    cr_assert(jinja_text(run, value, &text), "%s", run->fault.message);
    return text.string->bytes;
}

static bool call(struct jinja_run *run, jinja_value callee, const char *argument, jinja_value *out) {
    const jinja_value at = argument ? value_text(run, argument, JINJA_WRITTEN) : jinja_none();
    const struct jinja_args args = {.at = &at, .count = argument != NULL};
    return jinja_call(run, callee, &args, out);
}

static jinja_value attribute(struct jinja_run *run, jinja_value value, const char *name) {
    jinja_value out;
    cr_assert(jinja_attribute(run, value, name, strlen(name), &out), "%s", run->fault.message);
    return out;
}

Test(jinja_objects, namespaces_can_be_set) {
    struct jinja_run run = value_run();
    jinja_value space, out;
    const struct jinja_named named = {.name = "a", .size = 1, .value = jinja_int(1)};
    const struct jinja_args args = {.named = &named, .named_count = 1};
    cr_assert(jinja_call(&run, global("namespace"), &args, &space));
    cr_assert_eq(attribute(&run, space, "a").integer, 1);
    cr_assert(jinja_namespace_set(&run, space, "b", 1, jinja_int(2)) &&
              jinja_namespace_set(&run, space, "a", 1, jinja_bool(true)));
    cr_assert_str_eq(text_of(&run, space), "<Namespace {'a': True, 'b': 2}>");
    cr_assert(jinja_item(&run, space, value_text(&run, "b", JINJA_WRITTEN), &out) && out.integer == 2);
    cr_assert(attribute(&run, space, "zz").type == JINJA_UNDEFINED);
    cr_assert(!jinja_namespace_set(&run, jinja_int(1), "b", 1, jinja_int(2)));
    cr_assert_str_eq(run.fault.message, "cannot assign attribute on non-namespace object");
    jinja_run_free(&run);
}

Test(jinja_objects, cyclers_and_joiners_go_round) {
    struct jinja_run run = value_run();
    const jinja_value items[] = {jinja_int(1), jinja_int(2)};
    const struct jinja_args args = {.at = items, .count = 2};
    jinja_value cycler, joiner, out;
    cr_assert(jinja_call(&run, global("cycler"), &args, &cycler));
    const int64_t expected[] = {1, 2, 1};
    for (size_t i = 0; i < 3; i++) {
        cr_assert(call(&run, attribute(&run, cycler, "next"), NULL, &out) && out.integer == expected[i]);
    }
    cr_assert_eq(attribute(&run, cycler, "current").integer, 2);
    cr_assert(call(&run, attribute(&run, cycler, "reset"), NULL, &out) &&
              attribute(&run, cycler, "current").integer == 1);
    cr_assert(!call(&run, global("cycler"), NULL, &out));
    cr_assert(call(&run, global("joiner"), "; ", &joiner));
    cr_assert(call(&run, joiner, NULL, &out) && out.string->size == 0);
    cr_assert(call(&run, joiner, NULL, &out));
    cr_assert_str_eq(out.string->bytes, "; ");
    jinja_run_free(&run);
}

/* Python: datetime(2026, 1, 15, 9, 30).strftime(...) */
Test(jinja_objects, time_is_the_given_one) {
    static const char *const cases[][2] = {
        {"%Y-%m-%d %H:%M:%S", "2026-01-15 09:30:00"},
        {"%d %b %Y", "15 Jan 2026"},
        {"%-d. %B, %A %a", "15. January, Thursday Thu"},
        {"%j %U %W %w %y %I %p", "015 02 02 4 26 09 AM"},
        {"%%|%f|%z|%Z|%x|%X|%c", "%|000000|||01/15/26|09:30:00|Thu Jan 15 09:30:00 2026"},
        {"\xC3\xA9 %e%n%t%D %F %T", "\xC3\xA9 15\n\t01/15/26 2026-01-15 09:30:00"},
        {"", ""},
        {"plain", "plain"},
    };
    struct jinja_run run = value_run();
    jinja_value out;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        cr_assert(call(&run, global("strftime_now"), cases[i][0], &out), "%s", run.fault.message);
        cr_assert_str_eq(out.string->bytes, cases[i][1]);
    }
    static const char *const refused[] = {"%", "%999999d", "%s", "a%-"};
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
        cr_assert(!call(&run, global("strftime_now"), refused[i], &out), "%s", refused[i]);
    jinja_run_free(&run);
}

Test(jinja_objects, exceptions_carry_their_message) {
    struct jinja_run run = value_run();
    jinja_value out;
    run.at = (struct jinja_place){7, 3};
    cr_assert(!call(&run, global("raise_exception"), "roles must alternate", &out));
    cr_assert(run.fault.kind == JINJA_RAISED && run.fault.place.line == 7 && run.fault.place.column == 3);
    cr_assert_str_eq(run.fault.message, "roles must alternate");
    jinja_run_free(&run);
}

static size_t count_of(struct jinja_run *run, jinja_value value) {
    struct jinja_iterator each;
    cr_assert(jinja_iterate(run, value, &each), "%s", run->fault.message);
    return each.count;
}

/* As in Python: a generator is true, has no length and is used up by the first loop; a view of a dict is not. */
Test(jinja_objects, generators_are_used_up) {
    struct jinja_run run = value_run();
    json_t *json = json_pack("[i,i]", 1, 2);
    jinja_value list, generator, out;
    const struct jinja_args none = {0};
    bool truth;
    cr_assert(jinja_from_json(&run, json, JINJA_GIVEN, &list));
    cr_assert(jinja_filter_call(&run, jinja_filter_find("select", 6), list, &none, &generator));
    cr_assert(!jinja_filter_call(&run, jinja_filter_find("length", 6), generator, &none, &out));
    cr_assert(!jinja_text(&run, generator, &out));
    cr_assert_eq(count_of(&run, generator), 2);
    cr_assert_eq(count_of(&run, generator), 0);
    cr_assert(jinja_truth(&run, generator, &truth) && truth);
    json_decref(json);
    json = json_pack("{s:i}", "a", 1);
    cr_assert(jinja_from_json(&run, json, JINJA_GIVEN, &list));
    cr_assert(call(&run, attribute(&run, list, "items"), NULL, &out));
    cr_assert(count_of(&run, out) == 1 && count_of(&run, out) == 1);
    cr_assert_str_eq(text_of(&run, out), "dict_items([('a', 1)])");
    json_decref(json);
    jinja_run_free(&run);
}

Test(jinja_objects, json_keeps_order_and_numbers) {
    static const char *const cases[][2] = {
        {"{\"b\": 1, \"a\": 2, \"b\": 3}", "{'b': 3, 'a': 2}"},
        {"[1, 1.0, -0.0, 1e2, true, null, \"\\u0000x\"]", "[1, 1.0, -0.0, 100.0, True, None, '\\x00x']"},
        {"[9223372036854775807, -9223372036854775808]", "[9223372036854775807, -9223372036854775808]"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct jinja_run run = value_run();
        json_t *json = json_loads(cases[i][0], JSON_ALLOW_NUL, NULL);
        jinja_value value;
        cr_assert(jinja_from_json(&run, json, JINJA_GIVEN, &value));
        cr_assert_str_eq(text_of(&run, value), cases[i][1]);
        json_decref(json);
        jinja_run_free(&run);
    }
}

/* The messages that a user meets most. */
Test(jinja_objects, faults_speak_as_python_does) {
    static const struct {
        const char *kind, *name, *self, *message;
    } cases[] = {
        {"method", "append", "[1]", "access to attribute 'append' of 'list' object is unsafe"},
        {"method", "update", "{}", "access to attribute 'update' of 'dict' object is unsafe"},
        {"attribute", "__class__", "1", "access to attribute '__class__' of 'int' object is unsafe"},
        {"method", "nothing", "{\"a\": 1}", "'dict object' has no attribute 'nothing'"},
        {"filter", "length", "1", "object of type 'int' has no len()"},
        {"filter", "replace", "\"a\"", "replace() missing required argument 'old'"},
        {"binary", "+", "\"a\"", "can only concatenate str (not \"NoneType\") to str"},
        {"binary", "<", "1", "'<' not supported between instances of 'int' and 'NoneType'"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct jinja_run run = value_run();
        json_t *json = json_loads(cases[i].self, JSON_DECODE_ANY, NULL);
        jinja_value self, out, none = jinja_none();
        const struct jinja_args args = {.at = &none, .count = cases[i].kind[0] == 'b'};
        cr_assert(jinja_from_json(&run, json, JINJA_GIVEN, &self));
        cr_assert(!value_apply(&run, cases[i].kind, cases[i].name, self, &args, &out));
        cr_assert_str_eq(run.fault.message, cases[i].message);
        json_decref(json);
        jinja_run_free(&run);
    }
    cr_assert(jinja_filter_refused("random", 6) && jinja_filter_refused("urlize", 6) &&
              jinja_global_refused("lipsum", 6));
    cr_assert(!jinja_filter_find("random", 6) && !jinja_filter_refused("upper", 5) &&
              jinja_method_known("append", 6));
}
