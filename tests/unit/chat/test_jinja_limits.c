/*
 * test_jinja_limits.c - templates that want too much of something: a clean fault, soon.
 */
#include "chat_rig.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

enum { SLOW = 25 }; /* seconds: generous for sanitizers on a busy machine, none for what is quadratic */

/* Renders without variables; it has to take less than SLOW. */
static void timed(const char *template, size_t size, const struct jinja_limits *limits, rig_result *out) {
    json_t *nothing = json_object();
    double begin = seconds();
    rig_render(template, size, nothing, NULL, limits, out);
    cr_expect(seconds() - begin < SLOW, "%.80s took %.1f s", template, seconds() - begin);
    json_decref(nothing);
}

static void expect_fault(const char *template, size_t size, enum jinja_fault_kind kind,
                         const struct jinja_limits *limits) {
    rig_result result;
    timed(template, size, limits, &result);
    cr_expect(!result.rendered && result.fault.kind == kind && result.fault.message[0],
              "%.80s: %s, kind %d: %s", template, result.rendered ? "rendered" : "a fault",
              (int)result.fault.kind, result.fault.message);
    jinja_output_free(&result.output);
}

/* ---- what is written ----------------------------------------------------------------------------------- */

static const struct {
    const char *template;
    enum jinja_fault_kind kind;
} greedy[] = {
    {"{{ range(10**9) }}", JINJA_RUNTIME},
    {"{{ range(10**9)|list }}", JINJA_RUNTIME},
    {"{{ 'a' * 10**9 }}", JINJA_LIMIT},
    {"{{ ('a' * 1000000)|list|length }}{{ [0] * 10**9 }}", JINJA_LIMIT},
    {"{% set ns = namespace(s='ab') %}{% for i in range(99) %}{% set ns.s = ns.s ~ ns.s %}{% endfor %}",
     JINJA_LIMIT},
    {"{% set ns = namespace(s='ab') %}{% for i in range(99) %}{% set ns.s = ns.s + ns.s %}{% endfor %}",
     JINJA_LIMIT},
    {"{% set ns = namespace(l=[1]) %}{% for i in range(99) %}{% set ns.l = ns.l + ns.l %}{% endfor %}",
     JINJA_LIMIT},
    {"{% set ns = namespace(l=[]) %}{% for i in range(99) %}{% set ns.l = [ns.l, ns.l] %}{% endfor %}{{ ns.l }}",
     JINJA_LIMIT},
    {"{% set ns = namespace(l=[]) %}{% for i in range(999) %}{% set ns.l = [ns.l] %}{% endfor %}{{ ns.l|tojson }}",
     JINJA_LIMIT},
    {"{% for a in range(9999) %}{% for b in range(9999) %}{% for c in range(9999) %}{% endfor %}{% endfor %}"
     "{% endfor %}",
     JINJA_LIMIT},
    {"{% for a in range(99999) %}{% for b in range(99999) %}{{ loop.index }}{% endfor %}{% endfor %}",
     JINJA_LIMIT},
    {"{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}", JINJA_LIMIT},
    {"{% macro m(n) %}{% for i in [1] %}{% if n %}{{ [m(n + 1)]|join|trim ~ '' }}{% endif %}{% endfor %}{% endmacro %}"
     "{{ m(1) }}",
     JINJA_LIMIT},
    {"{% macro m() %}{{ [[[[[[[[[[[[[[[[[[[[[[[[[[[[[[m()]]]]]]]]]]]]]]]]]]]]]]]]]]]]]] }}{% endmacro %}{{ m() }}",
     JINJA_LIMIT},
    {"{% macro m() %}{{ m() }}{{ m() }}{% endmacro %}{{ m() }}", JINJA_LIMIT},
    {"{% macro a() %}{{ b() }}{% endmacro %}{% macro b() %}{{ a() }}{% endmacro %}{{ a() }}", JINJA_LIMIT},
    {"{% macro m() %}{% call m() %}{% endcall %}{{ caller }}{% endmacro %}{{ m() }}", JINJA_LIMIT},
    {"{% macro m() %}{{ caller() }}{% endmacro %}{% macro r() %}{% call m() %}{{ r() }}{% endcall %}{% endmacro %}"
     "{{ r() }}",
     JINJA_LIMIT},
    {"{% for i in [1] recursive %}{{ loop([1]) }}{% endfor %}", JINJA_LIMIT},
    {"{% for i in range(1000) recursive %}{{ loop(range(1000)) }}{% endfor %}", JINJA_LIMIT},
    {"{% set x = 'a' * 1000000 %}{% for i in range(1000) %}{{ x }}{% endfor %}", JINJA_LIMIT},
    {"{% set x %}{% for i in range(90000) %}{{ 'a' * 10000 }}{% endfor %}{% endset %}", JINJA_LIMIT},
    {"{% set x = 'a' * 1000000 %}{{ (x, x, x)|join(x)|replace('a', x)|length }}", JINJA_LIMIT},
    {"{% macro m(a=m2()) %}{% endmacro %}{% macro m2() %}{{ m() }}{% endmacro %}{{ m() }}", JINJA_LIMIT},
    {"{{ '%999999999999d' % 1 }}", JINJA_RUNTIME},
    {"{{ 'a'.center(10**12) }}", JINJA_LIMIT},
    {"{{ 10**10**10 }}", JINJA_RUNTIME},
};

/* The default limits for a part of the time that sanitizers would take with them. */
Test(jinja_limits, greedy_templates) {
    struct jinja_limits limits;
    jinja_limits_default(&limits);
    limits.steps /= 10;
    limits.memory /= 4;
    for (size_t i = 0; i < sizeof greedy / sizeof *greedy; i++) {
        expect_fault(greedy[i].template, strlen(greedy[i].template), greedy[i].kind, &limits);
    }
}

/* ---- stopped ---------------------------------------------------------------------------------------------- */

static uint64_t asked, patience;

static bool stop(void) {
    return ++asked > patience;
}

/* Who asks for the end of a rendering gets it when it is asked next. */
Test(jinja_limits, stopped) {
    static const char *const endless[] = {
        "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}",
        "{% set x = 'a' * 1000000 %}{% for i in range(99999) %}{% if x is lower %}{% endif %}{% endfor %}",
        "{% set l = range(90000)|list %}{% set m = range(90000)|list %}{% for i in l %}{{ 1 if l == m }}{% endfor %}",
        "{% macro m() %}{{ m() }}{{ m() }}{% endmacro %}{% for i in range(99999) %}{{ [1, 2]|tojson }}{% endfor %}",
        "{% for i in range(999) %}{% set x = range(99999)|map('string')|join|length %}{% endfor %}"};
    json_t *nothing = json_object();
    for (size_t i = 0; i < sizeof endless / sizeof *endless; i++) {
        for (patience = 0; patience < 40; patience = 2 * patience + 3) {
            struct jinja_fault fault;
            struct jinja_output output;
            struct jinja_template *t = jinja_compile(endless[i], strlen(endless[i]), &fault);
            struct jinja_input input = {.given = nothing, .stopped = stop};
            cr_assert(t, "%s", fault.message);
            jinja_limits_default(&input.limits);
            asked = 0;
            cr_expect(!jinja_render(t, &input, &output, &fault) && fault.kind == JINJA_STOPPED, "%s: %s",
                      endless[i], fault.message);
            cr_expect(asked == patience + 1, "asked %llu times", (unsigned long long)asked);
            jinja_free(t);
        }
    }
    json_decref(nothing);
}

/* Each limit by itself, small. */
Test(jinja_limits, each) {
    struct jinja_limits limits;
    static const char loops[] = "{% for i in range(1000) %}{{ 'abcdefghij' }}{% endfor %}";
    static const char nested[] = "{% macro m(n) %}{{ m(n - 1) if n }}{% endmacro %}{{ m(15) }}";
    rig_result result;
    timed(loops, sizeof loops - 1, NULL, &result);
    cr_assert(result.rendered && result.output.size == 10000);
    jinja_output_free(&result.output);
    jinja_limits_default(&limits);
    limits.steps = 900;
    expect_fault(loops, sizeof loops - 1, JINJA_LIMIT, &limits);
    jinja_limits_default(&limits);
    limits.output = 9999;
    expect_fault(loops, sizeof loops - 1, JINJA_LIMIT, &limits);
    limits.output = 10000;
    timed(loops, sizeof loops - 1, &limits, &result);
    cr_expect(result.rendered);
    jinja_output_free(&result.output);
    limits.depth = 10;
    expect_fault(nested, sizeof nested - 1, JINJA_LIMIT, &limits);
    limits.depth = 20;
    timed(nested, sizeof nested - 1, &limits, &result);
    cr_expect(result.rendered, "%s", result.fault.message);
    jinja_output_free(&result.output);
    limits.memory = 100;
    expect_fault(nested, sizeof nested - 1, JINJA_LIMIT, &limits);
}

/* ---- what is generated --------------------------------------------------------------------------------- */

/* before, `count` times `open`, middle, `count` times `close`, after; to be freed. */
static char *repeated(const char *before, const char *open, const char *middle, const char *close,
                      const char *after, size_t count, size_t *size) {
    char *text = NULL;
    FILE *out = open_memstream(&text, size);
    cr_assert(out);
    fputs(before, out);
    for (size_t i = 0; i < count; i++) { fputs(open, out); }
    fputs(middle, out);
    for (size_t i = 0; i < count; i++) { fputs(close, out); }
    fputs(after, out);
    fclose(out);
    return text;
}

static const struct {
    const char *before, *open, *middle, *close, *after;
    size_t few, many; /* this many render, that many are refused (0: are not) */
} nests[] = {
    {"{{ ", "(", "1", ")", " }}", 60, 50000},
    {"{{ ", "[", "1", "]", " }}", 60, 50000},
    {"{{ ", "{'a':", "1", "}", " }}", 60, 50000},
    {"{{ ", "x[", "1", "]", "|default(1) }}", 1, 50000},
    {"{{ ", "-", "1", "", " }}", 60, 50000},
    {"{{ ", "not ", "1", "", " }}", 60, 50000},
    {"{{ ", "1 if 0 else ", "1", "", " }}", 60, 50000},
    {"{{ ", "1 if 0 else (", "1", ")", " }}", 60, 50000},
    {"{{ ", "range(", "1", ")", "|string }}", 1, 50000},
    {"{{ 1", "|string", "", "", " }}", 100, 50000},
    {"{{ {}", "|default(0)", "", "", " }}", 100, 50000},
    {"{{ x", " and x", "", "", " }}", 100, 50000},
    {"{{ 1", " * 1", "", "", " }}", 100, 50000},
    {"{{ 1", " ** 1", "", "", " }}", 100, 50000},
    {"{{ 1", " - 1", "", "", " }}", 100, 50000},
    {"{{ [1] is sequence", " is sequence", "", "", " }}", 0, 50000},
    {"{{ x ", "if x ", "", "", " }}", 1, 50000},
    {"{{ 'a'", ".upper()", "", "", " }}", 50, 50000},
    {"{{ 'a'", "[0]", "", "", " }}", 100, 50000},
    {"", "{% if 1 %}", "a", "{% endif %}", "", 60, 50000},
    {"", "{% for i in [1] %}", "a", "{% endfor %}", "", 60, 50000},
    {"", "{% with %}", "a", "{% endwith %}", "", 60, 50000},
    {"", "{% filter upper %}", "a", "{% endfilter %}", "", 60, 50000},
    {"", "{% set x %}", "a", "{% endset %}", "", 60, 50000},
    {"", "{% macro m() %}", "a", "{% endmacro %}", "", 60, 50000},
    {"", "{% generation %}", "a", "{% endgeneration %}", "", 60, 50000},
    /* long is not deep */
    {"{{ 1", " + 1", "", "", " }}", 20000, 0},
    {"{{ 'a'", " + 'a'", "", "", " }}", 20000, 0},
    {"{{ 1", " ~ 1", "", "", " }}", 20000, 0},
    {"{{ 1", " < 2", "", "", " }}", 20000, 0},
    {"{{ [1", ", 1", "", "", "]|length }}", 20000, 0},
    {"{{ 'a'", " 'a'", "", "", "|length }}", 20000, 0},
    {"", "{% if 1 %}a{% endif %}", "", "", "", 20000, 0},
    {"{% if 0 %}", "{% elif 0 %}", "", "", "{% endif %}", 20000, 0},
    {"", "{{ x }}", "", "", "", 20000, 0},
    {"", "{% set x = 1 %}", "", "", "", 20000, 0},
    {"", "{# a #}", "", "", "", 20000, 0},
    {"", "{% raw %}{% endraw %}", "", "", "", 20000, 0},
    {"", "{% raw %}{%{% endraw %}", "", "", "", 20000, 0},
    {"", "{ ", "", "", "", 20000, 0},
    {"", " \n", "", "", "{%- set x = 1 %}", 20000, 0},
    {"{% set x = 1 -%}", " \n", "", "", "", 20000, 0},
    {"{% raw %}", "{% ", "", "", "{% endraw %}", 20000, 0},
    {"{% for i in [1] %}", "{% set x = 1 %}", "", "", "{% endfor %}", 20000, 0},
    {"{% macro m() %}", "{{ x }}{% if x %}{% set x = 1 %}{% endif %}", "", "", "{% endmacro %}", 20000, 0},
};

Test(jinja_limits, deep_and_long_templates, .timeout = 280) {
    for (size_t i = 0; i < sizeof nests / sizeof *nests; i++) {
        rig_result result;
        size_t size;
        char *text = repeated(nests[i].before, nests[i].open, nests[i].middle, nests[i].close, nests[i].after,
                              nests[i].few, &size);
        timed(text, size, NULL, &result);
        cr_expect(result.rendered || nests[i].few < 2, "%s %s: %s", nests[i].before, nests[i].open,
                  result.fault.message);
        jinja_output_free(&result.output);
        free(text);
        if (nests[i].many == 0) { continue; }
        text = repeated(nests[i].before, nests[i].open, nests[i].middle, nests[i].close, nests[i].after,
                        nests[i].many, &size);
        timed(text, size, NULL, &result);
        cr_expect(!result.compiled && result.fault.message[0], "%s %s", nests[i].before, nests[i].open);
        free(text);
    }
}

/* A macro that calls itself from deep within blocks: the deepest stack there is. */
Test(jinja_limits, deep_recursion) {
    static const struct {
        const char *open, *close;
    } bodies[] = {{"{% if 1 %}{% with %}{% filter trim %}", "{% endfilter %}{% endwith %}{% endif %}"},
                  {"{% for i in [1] %}{% set x %}", "{% endset %}{{ x }}{% endfor %}"},
                  {"{% generation %}{% for i in [1] recursive %}", "{% endfor %}{% endgeneration %}"},
                  {"{{ [(((", ")))] }}"}};
    for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++) {
        size_t size;
        bool plain = bodies[i].open[1] == '{';
        char *text = repeated("{% macro m() %}", bodies[i].open, plain ? "m()" : "{{ m() }}", bodies[i].close,
                              "{% endmacro %}{{ m() }}", plain ? 1 : 30, &size);
        expect_fault(text, size, JINJA_LIMIT, NULL);
        free(text);
    }
}

/* Many different names, each in scopes of its own. */
Test(jinja_limits, many_names) {
    char *text = NULL;
    size_t size;
    rig_result result;
    FILE *out = open_memstream(&text, &size);
    for (int i = 0; i < 10000; i++) {
        fprintf(out, "{%% set a%d = b%d|default(%d) %%}{%% for c%d in [a%d] %%}{{ c%d ~ d%d }}{%% endfor %%}",
                i, i, i, i, i, i, i);
    }
    fclose(out);
    timed(text, size, NULL, &result);
    cr_expect(result.rendered && strncmp(result.output.text, "0123", 4) == 0, "%s", result.fault.message);
    jinja_output_free(&result.output);
    free(text);
}

/* Plain text costs what it is. */
Test(jinja_limits, large_text) {
    size_t size = 8u << 20;
    rig_result result;
    char *text = malloc(size);
    memset(text, 'x', size);
    timed(text, size, NULL, &result);
    cr_expect(result.rendered && result.output.size == size && result.output.given_count == 0);
    jinja_output_free(&result.output);
    free(text);
}
