/*
 * jinja_value_limits_test.c - limits: every operation on large or deep values ends in time and with a fault, never in
 * a crash; long texts take linear time.
 */
#include "jinja_value_rig.h"

#include <criterion/criterion.h>
#include <string.h>

/* A text of `size` bytes made of copies of a part. */
static jinja_value long_text(struct jinja_run *run, const char *part, size_t size) {
    struct jinja_builder b = {.run = run};
    jinja_value out;
    for (size_t at = 0; at < size; at += strlen(part))
        cr_assert(jinja_build(&b, part, strlen(part), JINJA_GIVEN));
    cr_assert(jinja_built(&b, &out));
    return out;
}

static const struct {
    const char *kind, *name, *first, *second;
} linear[] = {
    {"filter", "upper", NULL, NULL},      {"filter", "title", NULL, NULL},
    {"filter", "tojson", NULL, NULL},     {"filter", "escape", NULL, NULL},
    {"filter", "replace", "a", "bc"},     {"filter", "replace", "", "-"},
    {"filter", "trim", "a", NULL},        {"filter", "indent", NULL, NULL},
    {"filter", "list", NULL, NULL},       {"filter", "reverse", NULL, NULL},
    {"filter", "wordcount", NULL, NULL},  {"filter", "wordwrap", NULL, NULL},
    {"filter", "striptags", NULL, NULL},  {"filter", "urlencode", NULL, NULL},
    {"filter", "pprint", NULL, NULL},     {"filter", "sort", NULL, NULL},
    {"filter", "unique", NULL, NULL},     {"filter", "truncate", NULL, NULL},
    {"filter", "int", NULL, NULL},        {"filter", "float", NULL, NULL},
    {"method", "split", NULL, NULL},      {"method", "split", "a", NULL},
    {"method", "rsplit", "aa", NULL},     {"method", "rsplit", NULL, NULL},
    {"method", "splitlines", NULL, NULL}, {"method", "count", "aab", NULL},
    {"method", "rfind", "b", NULL},       {"method", "rfind", "aaaaaaab", NULL},
    {"method", "partition", "b", NULL},   {"method", "rpartition", "ab", NULL},
    {"method", "casefold", NULL, NULL},   {"method", "swapcase", NULL, NULL},
    {"method", "istitle", NULL, NULL},    {"method", "isidentifier", NULL, NULL},
    {"method", "strip", "a ", NULL},      {"method", "lower", NULL, NULL},
    {"method", "format", "x", NULL},      {"binary", "%", "x", NULL},
    {"binary", "in", "aaab", NULL},       {"binary", "==", "x", NULL},
};

static const char *const parts[] = {"a", "a ", "\xC3\xA9", "\n", "<", "{}", "%s", "\xCE\xA3", "-a", "&", "0"};

/* Steps of one operation on half a megabyte: at most some for each byte, so that nothing is quadratic. */
Test(jinja_limits, long_texts_take_linear_steps) {
    for (size_t p = 0; p < sizeof parts / sizeof *parts; p++)
        for (size_t i = 0; i < sizeof linear / sizeof *linear; i++) {
            struct jinja_run run = value_run();
            const size_t size = 1 << 15;
            jinja_value text = long_text(&run, parts[p], size), at[2] = {jinja_none(), jinja_none()}, out;
            struct jinja_args args = {
                .at = at, .count = (size_t)(linear[i].first != NULL) + (linear[i].second != NULL)};
            if (linear[i].first) at[0] = value_text(&run, linear[i].first, JINJA_WRITTEN);
            if (linear[i].second) at[1] = value_text(&run, linear[i].second, JINJA_WRITTEN);
            run.left.steps = 128 * size; /* sorting takes some for each level */
            if (!value_apply(&run, linear[i].kind, linear[i].name, text, &args, &out))
                cr_assert(run.fault.kind == JINJA_RUNTIME, "%s of many %s: %s", linear[i].name, parts[p],
                          run.fault.message);
            jinja_run_free(&run);
        }
}

static jinja_value nested(struct jinja_run *run, size_t depth, enum jinja_type type) {
    jinja_value value, outer;
    cr_assert(jinja_list_make(run, type, 0, &value));
    while (depth--) {
        cr_assert(jinja_list_make(run, type, 1, &outer) && jinja_list_add(run, outer, value));
        value = outer;
    }
    return value;
}

Test(jinja_limits, deep_values_are_a_fault) {
    static const struct {
        const char *kind, *name;
    } deep[] = {{"filter", "tojson"}, {"filter", "string"}, {"filter", "pprint"},
                {"binary", "=="},     {"binary", "<"},      {"binary", "in"}};
    for (size_t i = 0; i < sizeof deep / sizeof *deep; i++) {
        struct jinja_run run = value_run();
        const bool binary = deep[i].kind[0] == 'b';
        const jinja_value a = nested(&run, 100000, JINJA_LIST), b = nested(&run, 100000, JINJA_LIST);
        const struct jinja_args args = {.at = &b, .count = binary};
        jinja_value out;
        cr_assert(!value_apply(&run, deep[i].kind, deep[i].name, a, &args, &out) &&
                      run.fault.kind == JINJA_LIMIT,
                  "%s", deep[i].name);
        cr_assert(run.left.depth == 200, "%s: the depth is not given back", deep[i].name);
        jinja_run_free(&run);
    }
}

Test(jinja_limits, deep_tuples_as_keys_are_a_fault) {
    struct jinja_run run = value_run();
    jinja_value dict;
    cr_assert(jinja_dict_make(&run, &dict));
    cr_assert(!jinja_dict_set(&run, dict, nested(&run, 100000, JINJA_TUPLE), jinja_none()));
    cr_assert(run.fault.kind == JINJA_LIMIT);
    jinja_run_free(&run);
}

/* A list that holds itself twice, and so on: 2^60 leaves. */
Test(jinja_limits, shared_values_use_up_the_steps) {
    static const char *const names[] = {"tojson", "string"};
    for (size_t n = 0; n < 2; n++) {
        struct jinja_run run = value_run();
        jinja_value value = jinja_int(1), outer, out;
        const struct jinja_args none = {0};
        for (size_t i = 0; i < 60; i++) {
            cr_assert(jinja_list_make(&run, JINJA_LIST, 2, &outer) && jinja_list_add(&run, outer, value) &&
                      jinja_list_add(&run, outer, value));
            value = outer;
        }
        run.left.steps = 1000000;
        cr_assert(!value_apply(&run, "filter", names[n], value, &none, &out) &&
                  run.fault.kind == JINJA_LIMIT);
        jinja_run_free(&run);
    }
}

Test(jinja_limits, large_results_are_a_fault) {
    static const struct {
        const char *kind, *name, *self;
        int64_t number;
    } large[] = {{"binary", "*", "abc", INT64_MAX},           {"binary", "*", "abc", 1000000000},
                 {"method", "center", "a", INT64_MAX},        {"method", "zfill", "a", INT64_MAX},
                 {"method", "expandtabs", "\t\t", INT64_MAX}, {"filter", "indent", "a\nb", INT64_MAX},
                 {"filter", "center", "a", 2000000000},       {"method", "ljust", "\xC3\xA9", 1000000000000}};
    for (size_t i = 0; i < sizeof large / sizeof *large; i++) {
        struct jinja_run run = value_run();
        const jinja_value number = jinja_int(large[i].number);
        const struct jinja_args args = {.at = &number, .count = 1};
        jinja_value out;
        run.left.memory = 100000000;
        cr_assert(!value_apply(&run, large[i].kind, large[i].name,
                               value_text(&run, large[i].self, JINJA_WRITTEN), &args, &out),
                  "%s", large[i].name);
        cr_assert(run.fault.kind == JINJA_LIMIT, "%s: %s", large[i].name, run.fault.message);
        jinja_run_free(&run);
    }
}

/* Whatever little memory or steps there are, an operation ends with the fault of that. */
Test(jinja_limits, every_shortage_is_a_clean_fault) {
    json_t *json =
        json_loads("{\"b\": [1, 2.5, \"x y\", null, {\"z\": \"\\u00e9\"}], \"a\": \"text\"}", 0, NULL);
    for (size_t i = 0; i < 400; i++)
        for (int memory = 0; memory < 2; memory++) {
            struct jinja_run run = value_run();
            const struct jinja_args none = {0};
            jinja_value value, out;
            if (memory)
                run.left.memory = 16 * i;
            else
                run.left.steps = i;
            bool done = jinja_from_json(&run, json, JINJA_GIVEN, &value) &&
                        value_apply(&run, "filter", "dictsort", value, &none, &out) &&
                        value_apply(&run, "filter", "tojson", out, &none, &out) &&
                        value_apply(&run, "method", "upper", out, &none, &out) &&
                        value_apply(&run, "method", "split", out, &none, &out);
            cr_assert(done || run.fault.kind == JINJA_LIMIT, "%s", run.fault.message);
            jinja_run_free(&run);
        }
    json_decref(json);
}

Test(jinja_limits, released_memory_counts_as_unused) {
    struct jinja_run run = value_run();
    jinja_value text = long_text(&run, "a", 1000000), out;
    run.left.memory = 3500000; /* each growth frees what was before */
    const struct jinja_args none = {0};
    cr_assert(value_apply(&run, "filter", "upper", text, &none, &out), "%s", run.fault.message);
    jinja_run_free(&run);
}

Test(jinja_limits, messages_are_one_line_of_utf8) {
    struct jinja_run run = value_run();
    jinja_value out;
    char name[2000];
    memset(name, 'x', sizeof name);
    for (size_t i = 0; i + 2 < sizeof name; i += 2) memcpy(name + i, "\xC3\xA9", 2);
    name[5] = '\n';
    name[sizeof name - 1] = 0;
    const struct jinja_args args = {.at = (jinja_value[]){value_text(&run, name, JINJA_GIVEN)}, .count = 1};
    cr_assert(!value_apply(&run, "global", "raise_exception", jinja_none(), &args, &out));
    cr_assert(run.fault.kind == JINJA_RAISED && !strchr(run.fault.message, '\n'));
    json_t *text = json_string(run.fault.message); /* NULL if it is no UTF-8 */
    cr_assert(text != NULL);
    json_decref(text);
    jinja_run_free(&run);
}
