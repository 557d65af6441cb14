/*
 * jinja_value_cases_test.c - filters, tests, methods, operators, items and slices against what Python and jinja2 gave
 * (value_cases.json, unicode_cases.json, written by make_value_cases.py).
 */
#include "jinja_unicode.h"
#include "jinja_value_rig.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

/* ---- rows --------------------------------------------------------------------------------------------- */

enum { MOST = 16 };

static jinja_value table_value(struct jinja_run *run, const json_t *table, const json_t *number) {
    jinja_value value = jinja_undefined(NULL);
    cr_assert(value_decode(run, json_array_get(table, (size_t)json_integer_value(number)), &value),
              "a form is unknown");
    return value;
}

/* Computes a row; the repr of the result, or NULL for a fault. */
static const char *compute(struct jinja_run *run, const json_t *table, const json_t *row, size_t *size) {
    jinja_value at[MOST], self = table_value(run, table, json_array_get(row, 2)), out, text;
    struct jinja_named named[MOST];
    struct jinja_args args = {.at = at, .named = named};
    size_t i;
    json_t *item, *names = json_array_get(row, 4);
    const char *name;
    json_array_foreach (json_array_get(row, 3), i, item) at[args.count++] = table_value(run, table, item);
    json_object_foreach (names, name, item)
        named[args.named_count++] =
            (struct jinja_named){.name = name, .size = strlen(name), .value = table_value(run, table, item)};
    if (!value_apply(run, json_string_value(json_array_get(row, 0)),
                     json_string_value(json_array_get(row, 1)), self, &args, &out) ||
        !value_repr(run, out, &text))
        return NULL;
    *size = text.string->size;
    return text.string->bytes;
}

static char *shown(const json_t *value) {
    return json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY);
}

static void report(const json_t *table, const json_t *row, const char *found) {
    const json_t *args = json_array_get(row, 3);
    char *texts[] = {shown(row),
                     shown(json_array_get(table, (size_t)json_integer_value(json_array_get(row, 2)))),
                     shown(json_array_get(table, (size_t)json_integer_value(json_array_get(args, 0))))};
    cr_log_error("%s: value %s, first argument %s, found %s", texts[0], texts[1],
                 json_array_size(args) ? texts[2] : "none", found);
    for (size_t i = 0; i < 3; i++) free(texts[i]);
}

/* True if a row's result is the expected one; reports it if not. */
static bool agrees(const json_t *table, const json_t *row) {
    struct jinja_run run = value_run();
    const json_t *expected = json_array_get(row, 5);
    size_t size = 0;
    const char *found = compute(&run, table, row, &size);
    bool same = found ? json_is_string(expected) && json_string_length(expected) == size &&
                            memcmp(json_string_value(expected), found, size) == 0
                      : json_is_null(expected);
    if (!same) report(table, row, found ? found : run.fault.message);
    jinja_run_free(&run);
    return same;
}

/* All rows of some kinds. */
static void check_kinds(const char *kinds, size_t fewest) {
    json_t *file = value_load("chat/value_cases.json"), *table = json_object_get(file, "values"), *row;
    cr_assert(json_is_array(table), "value_cases.json is missing or broken");
    size_t i, wrong = 0, rows = 0;
    json_array_foreach (json_object_get(file, "rows"), i, row) {
        if (!strstr(kinds, json_string_value(json_array_get(row, 0)))) continue;
        rows++;
        wrong += !agrees(table, row);
    }
    json_decref(file);
    cr_assert(rows >= fewest && wrong == 0, "%zu of %zu rows differ", wrong, rows);
}

Test(jinja_values, filters_agree_with_python) {
    check_kinds("filter", 5000);
}

Test(jinja_values, tests_and_globals_agree_with_python) {
    check_kinds("test global", 1000);
}

Test(jinja_values, methods_agree_with_python) {
    check_kinds("method", 3000);
}

Test(jinja_values, operators_agree_with_python) {
    check_kinds("binary unary", 5000);
}

Test(jinja_values, items_and_slices_agree_with_python) {
    check_kinds("item attribute slice", 1000);
}

/* ---- code points -------------------------------------------------------------------------------------- */

static bool in_runs(const json_t *runs, size_t *at, uint32_t code) {
    while (*at < json_array_size(runs) &&
           (uint32_t)json_integer_value(json_array_get(json_array_get(runs, *at), 1)) < code)
        ++*at;
    return *at < json_array_size(runs) &&
           (uint32_t)json_integer_value(json_array_get(json_array_get(runs, *at), 0)) <= code;
}

static const struct {
    const char *name;
    bool (*is)(uint32_t code);
} classes[] = {
    {"isspace", jinja_code_is_space},         {"isalpha", jinja_code_is_alpha},
    {"isdecimal", jinja_code_is_decimal},     {"isdigit", jinja_code_is_digit},
    {"isnumeric", jinja_code_is_numeric},     {"isalnum", jinja_code_is_alnum},
    {"islower", jinja_code_is_lower},         {"isupper", jinja_code_is_upper},
    {"isprintable", jinja_code_is_printable}, {"isidentifier", jinja_code_starts_name},
    {"continues", jinja_code_continues_name},
};

Test(jinja_values, classes_of_code_points_agree_with_python) {
    json_t *file = value_load("chat/unicode_cases.json");
    const json_t *assigned = json_object_get(file, "assigned");
    cr_assert(json_array_size(assigned) > 600);
    for (size_t i = 0; i < sizeof classes / sizeof *classes; i++) {
        const json_t *runs = json_object_get(file, classes[i].name);
        size_t at = 0, known = 0;
        for (uint32_t code = 0; code < 0x110000; code++) {
            if (!in_runs(assigned, &known, code)) continue;
            bool expected = in_runs(runs, &at, code);
            cr_assert(classes[i].is(code) == expected, "%s of U+%04X: expected %d", classes[i].name, code,
                      expected);
        }
    }
    json_decref(file);
}

static void check_case(const json_t *expected, uint32_t code, enum jinja_case to) {
    uint32_t codes[JINJA_CASE_CODES];
    char bytes[4 * JINJA_CASE_CODES];
    size_t size = 0, count = jinja_code_case(code, to, codes);
    for (size_t i = 0; i < count; i++) size += jinja_encode(codes[i], bytes + size);
    cr_assert(json_string_length(expected) == size && memcmp(json_string_value(expected), bytes, size) == 0,
              "case %d of U+%04X: expected %s, found %.*s", to, code, json_string_value(expected), (int)size,
              bytes);
}

Test(jinja_values, case_mappings_agree_with_python) {
    json_t *file = value_load("chat/unicode_cases.json"), *row;
    const json_t *rows = json_object_get(file, "case"), *assigned = json_object_get(file, "assigned");
    size_t next = 0, known = 0;
    for (uint32_t code = 0; code < 0x110000; code++) {
        uint32_t codes[JINJA_CASE_CODES];
        row = json_array_get(rows, next);
        bool listed = row && (uint32_t)json_integer_value(json_array_get(row, 0)) == code;
        next += listed;
        if (listed)
            for (int to = JINJA_LOWER; to <= JINJA_FOLD; to++)
                check_case(json_array_get(row, (size_t)to + 1), code, (enum jinja_case)to);
        if (listed || !in_runs(assigned, &known, code)) continue;
        for (int to = JINJA_LOWER; to <= JINJA_FOLD; to++)
            cr_assert(jinja_code_case(code, (enum jinja_case)to, codes) == 1 && codes[0] == code,
                      "case %d of U+%04X", to, code);
    }
    json_decref(file);
}

Test(jinja_values, decimal_digits_agree_with_python) {
    json_t *file = value_load("chat/unicode_cases.json"), *row;
    size_t i;
    json_array_foreach (json_object_get(file, "decimal"), i, row) {
        uint32_t code = (uint32_t)json_integer_value(json_array_get(row, 0));
        cr_assert(jinja_code_decimal(code) == json_integer_value(json_array_get(row, 1)), "U+%04X", code);
    }
    cr_assert(jinja_code_decimal('a') == -1 && jinja_code_decimal(0xB2) == -1);
    json_decref(file);
}
