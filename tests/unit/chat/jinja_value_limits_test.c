/*
 * jinja_value_limits_test.c - limits: every operation on large or deep values ends in time and with a fault, never in
 * a crash; long texts take linear time.
 */
#include "jinja_value_rig.h"

#include <criterion/criterion.h>
#include <string.h>
#include <time.h>

/* A text of `size` bytes made of copies of a part. */
static jinja_value long_text(struct jinja_run *run, const char *part, size_t size) {
    struct jinja_builder b = {.run = run};
    jinja_value out;
    for (size_t at = 0; at < size; at += strlen(part))
        cr_assert(jinja_build(&b, part, strlen(part), JINJA_GIVEN));
    cr_assert(jinja_built(&b, &out));
    return out;
}

struct operation {
    const char *kind, *name, *first, *second;
};
static const struct operation linear[] = {
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

/* Those that look at each character and give next to nothing. */
static const struct operation walks[] = {
    {"test", "lower", NULL, NULL},         {"test", "upper", NULL, NULL},
    {"method", "islower", NULL, NULL},     {"method", "isupper", NULL, NULL},
    {"method", "isdigit", NULL, NULL},     {"method", "isalpha", NULL, NULL},
    {"method", "isalnum", NULL, NULL},     {"method", "isspace", NULL, NULL},
    {"method", "isnumeric", NULL, NULL},   {"method", "isdecimal", NULL, NULL},
    {"method", "isprintable", NULL, NULL}, {"method", "isascii", NULL, NULL},
    {"method", "strip", NULL, NULL},       {"method", "strip", "a\xC3\xA9<", NULL},
    {"method", "expandtabs", NULL, NULL},  {"method", "splitlines", NULL, NULL},
    {"method", "split", "zz", NULL},       {"method", "replace", "zz", "y"},
    {"method", "count", "", NULL},         {"method", "find", "aaz", NULL},
    {"method", "endswith", "z", NULL},     {"method", "capitalize", NULL, NULL},
    {"method", "format_map", "a", NULL},   {"filter", "capitalize", NULL, NULL},
    {"filter", "length", NULL, NULL},      {"filter", "first", NULL, NULL},
    {"filter", "last", NULL, NULL},        {"filter", "string", NULL, NULL},
    {"filter", "forceescape", NULL, NULL}, {"filter", "xmlattr", NULL, NULL},
    {"filter", "dictsort", NULL, NULL},    {"test", "divisibleby", "2", NULL},
    {"test", "filter", NULL, NULL},        {"test", "in", "a", NULL},
    {"binary", "<", "aa", NULL},
};

static const char *const parts[] = {
    "a", "a ", "\xC3\xA9", "\n",   "<", "{}", "%s", "\xCE\xA3",        "-a", "&", "0",
    "-", "<>", "\xD9\xA3", "&lt;", " ", "\t", "A",  "\xF0\x9F\x98\x80"};

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

/* ---- steps and work ----------------------------------------------------------------------------------------- */

/* What a step may take at most: the default limit is 20 million of them, and no template may take minutes. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(memory_sanitizer)
#define SANITIZED 1
#endif
#endif
#ifdef SANITIZED
static const double second_a_step = 20e-6;
enum { LONG_TEXT = 1 << 14, LONG_LIST = 5000 };
#else
static const double second_a_step = 1e-6;
enum { LONG_TEXT = 1 << 18, LONG_LIST = 50000 };
#endif
enum { FREE_STEPS = 100 }; /* what may be taken for a call by itself */

static double seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* Several times, since a busy machine may take longer once. */
static void check_cost(struct jinja_run *run, const char *kind, const char *name, jinja_value self,
                       const struct jinja_args *args, const char *what) {
    double best = 1;
    for (int i = 0; i < 5 && best > second_a_step; i++) {
        jinja_value out;
        uint64_t before = run->left.steps;
        double begin = seconds();
        if (!value_apply(run, kind, name, self, args, &out)) {
            cr_assert(run->fault.kind <= JINJA_LIMIT, "%s of %s: %s", name, what, run->fault.message);
        }
        double cost = (seconds() - begin) / (double)(before - run->left.steps + FREE_STEPS);
        best = cost < best ? cost : best;
    }
    cr_expect(best <= second_a_step, "%s %s of %s: %.2f us a step, expected at most %.0f", kind, name, what,
              best * 1e6, second_a_step * 1e6);
}

/* An operation on a long text takes steps in proportion to its work, also where it gives next to nothing. */
Test(jinja_limits, texts_take_steps_for_their_work, .timeout = 250) {
    for (size_t p = 0; p < JINJA_COUNT(parts); p++) {
        for (size_t i = 0; i < JINJA_COUNT(linear) + JINJA_COUNT(walks); i++) {
            struct jinja_run run = value_run();
            const struct operation *o =
                i < JINJA_COUNT(linear) ? &linear[i] : &walks[i - JINJA_COUNT(linear)];
            jinja_value text = long_text(&run, parts[p], LONG_TEXT), at[2] = {jinja_none(), jinja_none()};
            const struct jinja_args args = {.at = at,
                                            .count = (size_t)(o->first != NULL) + (o->second != NULL)};
            if (o->first) { at[0] = value_text(&run, o->first, JINJA_WRITTEN); }
            if (o->second) { at[1] = value_text(&run, o->second, JINJA_WRITTEN); }
            check_cost(&run, o->kind, o->name, text, &args, parts[p]);
            jinja_run_free(&run);
        }
    }
}

/* The same with a long text as the argument: a part that is looked for, a prefix, a key, a format. */
Test(jinja_limits, arguments_take_steps_for_their_work) {
    static const struct operation with[] = {
        {"method", "count", NULL, NULL},    {"method", "find", NULL, NULL},
        {"method", "rfind", NULL, NULL},    {"method", "startswith", NULL, NULL},
        {"method", "endswith", NULL, NULL}, {"method", "removeprefix", NULL, NULL},
        {"method", "strip", NULL, NULL},    {"method", "removesuffix", NULL, NULL},
        {"method", "split", NULL, NULL},    {"method", "partition", NULL, NULL},
        {"filter", "attr", NULL, NULL},     {"binary", "==", NULL, NULL},
        {"binary", "<", NULL, NULL},        {"binary", "in", NULL, NULL},
        {"binary", "%", NULL, NULL},        {"item", "item", NULL, NULL},
        {"method", "format", NULL, NULL},   {"filter", "join", NULL, NULL}};
    static const size_t sizes[] = {3, 31, 255, 300, LONG_TEXT};
    for (size_t i = 0; i < JINJA_COUNT(with); i++) {
        for (size_t n = 0; n < JINJA_COUNT(sizes); n++) {
            struct jinja_run run = value_run();
            jinja_value self = long_text(&run, "a", LONG_TEXT + 1), part = long_text(&run, "a", sizes[n]),
                        other;
            cr_assert(jinja_binary(&run, JINJA_ADD, part, value_text(&run, "b", JINJA_GIVEN), &other));
            check_cost(&run, with[i].kind, with[i].name, self, &(struct jinja_args){.at = &other, .count = 1},
                       "a..b");
            check_cost(&run, with[i].kind, with[i].name, self, &(struct jinja_args){.at = &part, .count = 1},
                       "a..a");
            cr_assert(jinja_binary(&run, JINJA_ADD, value_text(&run, "b", JINJA_GIVEN), part, &other));
            check_cost(&run, with[i].kind, with[i].name, self, &(struct jinja_args){.at = &other, .count = 1},
                       "ba..");
            jinja_run_free(&run);
        }
    }
}

/* Lists of many small values, compared with an equal one, searched, sorted, written. */
Test(jinja_limits, lists_take_steps_for_their_work) {
    static const struct operation with[] = {
        {"binary", "==", NULL, NULL},     {"binary", "!=", NULL, NULL},     {"binary", "<", NULL, NULL},
        {"binary", ">=", NULL, NULL},     {"binary", "+", NULL, NULL},      {"binary", "in", NULL, NULL},
        {"method", "count", NULL, NULL},  {"method", "index", NULL, NULL},  {"filter", "sort", NULL, NULL},
        {"filter", "max", NULL, NULL},    {"filter", "min", NULL, NULL},    {"filter", "unique", NULL, NULL},
        {"filter", "sum", NULL, NULL},    {"filter", "list", NULL, NULL},   {"filter", "reverse", NULL, NULL},
        {"filter", "tojson", NULL, NULL}, {"filter", "string", NULL, NULL}, {"filter", "pprint", NULL, NULL},
        {"filter", "last", NULL, NULL},   {"filter", "length", NULL, NULL}, {"filter", "join", NULL, NULL}};
    const jinja_value items[] = {jinja_int(7), jinja_float(1.0 / 3), jinja_bool(true), jinja_none()};
    for (size_t k = 0; k < JINJA_COUNT(items); k++) {
        for (size_t i = 0; i < JINJA_COUNT(with); i++) {
            struct jinja_run run = value_run();
            jinja_value lists[2];
            for (size_t n = 0; n < 2; n++) {
                cr_assert(jinja_list_make(&run, JINJA_LIST, 0, &lists[n]));
                for (size_t m = 0; m < LONG_LIST; m++) {
                    cr_assert(jinja_list_add(&run, lists[n], items[k]));
                }
            }
            const struct jinja_args args = {.at = &lists[1], .count = with[i].kind[0] != 'f'};
            check_cost(&run, with[i].kind, with[i].name, lists[0], &args, jinja_type_name(items[k]));
            jinja_run_free(&run);
        }
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
