/*
 * test_jinja_template.c - what a template is refused for and where, which variables it reads, whose bytes
 * are whose.
 */
#include "chat_rig.h"

#include <criterion/criterion.h>
#include <string.h>

/* ---- faults -------------------------------------------------------------------------------------------- */

static const struct {
    const char *template;
    enum jinja_fault_kind kind;
    uint32_t line, column;
    const char *message; /* a part of it */
} faults[] = {
    /* at load */
    {"a\n{{ x|nosuch }}", JINJA_SYNTAX, 2, 6, "no filter named 'nosuch'"},
    {"{{ x is nosuch }}", JINJA_SYNTAX, 1, 6, "no test named 'nosuch'"},
    {"{% if false %}{{ 'a'|nosuch }}{% endif %}", JINJA_SYNTAX, 1, 22, "no filter named"},
    {"{{ x|replace('a', nu='b') }}", JINJA_SYNTAX, 1, 6, "nu"},
    {"{{ x|upper(1) }}", JINJA_SYNTAX, 1, 6, "upper"},
    {"{{ x is divisibleby }}", JINJA_SYNTAX, 1, 6, "divisibleby"},
    {"{{ range(stop=3) }}", JINJA_SYNTAX, 1, 9, "stop"},
    {"é {{ x.nosuch() }}", JINJA_SYNTAX, 1, 7, "no type has a method 'nosuch'"},
    {"{% nosuch %}", JINJA_SYNTAX, 1, 4, "unknown tag 'nosuch'"},
    {"\n\n  {% if x %}{% endfor %}", JINJA_SYNTAX, 3, 16,
     "unknown tag 'endfor'; 'elif' or 'else' or 'endif'"},
    {"{% if x %}\na", JINJA_SYNTAX, 2, 2, "unexpected end of template"},
    {"{% include 'a' %}", JINJA_SYNTAX, 1, 4, "'include' is not supported"},
    {"{% import 'a' as b %}", JINJA_SYNTAX, 1, 4, "'import' is not supported"},
    {"{% from 'a' import b %}", JINJA_SYNTAX, 1, 4, "'from' is not supported"},
    {"{% extends 'a' %}", JINJA_SYNTAX, 1, 4, "'extends' is not supported"},
    {"{% block a %}{% endblock %}", JINJA_SYNTAX, 1, 4, "'block' is not supported"},
    {"{% do x.append(1) %}", JINJA_SYNTAX, 1, 4, "'do'"},
    {"{% autoescape true %}{% endautoescape %}", JINJA_SYNTAX, 1, 4, "'autoescape'"},
    {"{{ self.a() }}", JINJA_SYNTAX, 1, 8, "'a'"},
    {"{{ self }}", JINJA_SYNTAX, 1, 4, "'self' is not supported"},
    {"{% break %}", JINJA_SYNTAX, 1, 4, "outside of a loop"},
    {"{{ lipsum() }}", JINJA_SYNTAX, 1, 10, "lipsum"},
    {"{{ x|random }}", JINJA_SYNTAX, 1, 6, "random"},
    {"{# a", JINJA_SYNTAX, 1, 1, "comment"},
    {"a{% raw %}{{", JINJA_SYNTAX, 1, 2, "raw"},
    {"{{ 9223372036854775808 }}", JINJA_SYNTAX, 1, 4, "64 bits"},
    {"{{ '\\N{DIGIT ONE}' }}", JINJA_SYNTAX, 1, 4, "\\N"},
    {"{% for i in [1] %}{% set loop = 2 %}{% endfor %}", JINJA_SYNTAX, 1, 26, "loop"},
    {"{{ 'a }}", JINJA_SYNTAX, 1, 4, "string"},
    {"{{ \x01 }}", JINJA_SYNTAX, 1, 4, "unexpected character"},
    /* while rendering */
    {"a\n\n{{ 'x' ~ (1 / 0) }}", JINJA_RUNTIME, 3, 11, "zero"},
    {"{{ nosuch.x }}", JINJA_RUNTIME, 1, 10, "'nosuch' is undefined"},
    {"{{ nosuch() }}", JINJA_RUNTIME, 1, 10, "'nosuch' is undefined"},
    {"{{ [1].append(2) }}", JINJA_RUNTIME, 1, 7, "append"},
    {"{{ ''.__class__ }}", JINJA_RUNTIME, 1, 6, "__class__"}, /* jinja2 faults once it is used */
    {"{% for a, b in [1] %}{% endfor %}", JINJA_RUNTIME, 1, 8, "iterable"},
    {"{% for a, b in [[1]] %}{% endfor %}", JINJA_RUNTIME, 1, 8, "not enough values"},
    {"{{ raise_exception('my\nown') }}", JINJA_RAISED, 1, 19, "my own"},
    {"{% set d = {} %}{% set d.a = 1 %}", JINJA_RUNTIME, 1, 24, "namespace"},
    {"{% set d = {} %}{% set d.a %}1{% endset %}", JINJA_RUNTIME, 1, 24, "namespace"},
    {"{{ 9223372036854775807 + 1 }}", JINJA_RUNTIME, 1, 4, "64 bits"},
    {"{% macro m() %}x{% endmacro %}{% call m() %}{% endcall %}", JINJA_RUNTIME, 1, 40, "caller"},
};

Test(jinja_template, faults) {
    json_t *nothing = json_object();
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        rig_result result;
        rig_render(faults[i].template, strlen(faults[i].template), nothing, NULL, NULL, &result);
        cr_expect(!result.rendered, "%s", faults[i].template);
        cr_expect_eq(result.compiled, faults[i].kind != JINJA_SYNTAX, "%s", faults[i].template);
        cr_expect(result.fault.kind == faults[i].kind && result.fault.place.line == faults[i].line &&
                      result.fault.place.column == faults[i].column &&
                      strstr(result.fault.message, faults[i].message),
                  "%s\n kind %d line %u column %u: %s", faults[i].template, (int)result.fault.kind,
                  result.fault.place.line, result.fault.place.column, result.fault.message);
        jinja_output_free(&result.output);
    }
    json_decref(nothing);
}

/* Methods that a name of the template may stand for are not refused. */
Test(jinja_template, methods_of_namespaces) {
    static const char *const fine[] = {
        "{% macro m() %}M{% endmacro %}{% set ns = namespace(own=m) %}{{ ns.own() }}",
        "{% macro m() %}M{% endmacro %}{% set ns = namespace() %}{% set ns.own = m %}{{ ns.own() }}",
        "{% macro m() %}M{% endmacro %}{% set d = {'own': m} %}{{ d.own() }}",
        "{% macro m() %}M{% endmacro %}{{ dict(own=m).own() }}",
    };
    json_t *nothing = json_object();
    for (size_t i = 0; i < sizeof fine / sizeof *fine; i++) {
        rig_result result;
        rig_render(fine[i], strlen(fine[i]), nothing, NULL, NULL, &result);
        cr_expect(result.rendered && strcmp(result.output.text, "M") == 0, "%s: %s", fine[i],
                  result.fault.message);
        jinja_output_free(&result.output);
    }
    json_decref(nothing);
}

/* ---- names --------------------------------------------------------------------------------------------- */

static const struct {
    const char *template, *name;
    bool uses;
} names[] = {
    {"{{ tools }}", "tools", true},
    {"{{ a.tools }}", "tools", false},
    {"{{ a['tools'] }}", "tools", false},
    {"{# tools #}{{ 'tools' }}", "tools", false},
    {"{% if tools is defined %}{% endif %}", "tools", true},
    {"{% set tools = 1 %}{{ tools }}", "tools", false},
    {"{{ tools }}{% set tools = 1 %}", "tools", true},
    {"{% if x %}{% set tools = 1 %}{% endif %}", "tools", false},
    {"{% if x %}{% set tools = 1 %}{% endif %}{{ tools }}", "tools", true},
    {"{% if not tools is defined %}{% set tools = none %}{% endif %}", "tools", true},
    {"{% for tools in x %}{{ tools }}{% endfor %}", "tools", false},
    {"{% for a in tools %}{% endfor %}", "tools", true},
    {"{% for a in x %}{{ tools }}{% endfor %}", "tools", true},
    {"{% for a in x %}{{ tools }}{% set tools = 1 %}{% endfor %}", "tools", true},
    {"{% for a in x if tools %}{% endfor %}", "tools", true},
    {"{% macro m(tools) %}{{ tools }}{% endmacro %}", "tools", false},
    {"{% macro m(a) %}{{ tools }}{% endmacro %}", "tools", true},
    {"{% macro m(a=tools) %}{% endmacro %}", "tools", true},
    {"{% with tools = 1 %}{{ tools }}{% endwith %}", "tools", false},
    {"{% with tools = tools %}{{ tools }}{% endwith %}", "tools", true},
    {"{% set tools %}x{% endset %}{{ tools }}", "tools", false},
    {"{% filter replace(tools, 'a') %}x{% endfilter %}", "tools", true},
    {"{{ f(tools=1) }}", "tools", false},
    {"{{ {'a': [tools]}|tojson }}", "tools", true},
    {"{% generation %}{{ tools }}{% endgeneration %}", "tools", true},
    {"{% set ns = namespace(tools=1) %}{{ ns.tools }}", "tools", false},
    {"{% set ns = namespace() %}{% set ns.tools = 1 %}", "tools", false},
    {"{% set ns.a = 1 %}", "ns", true},
    {"{{ messages }}", "tools", false},
    {"", "tools", false},
};

Test(jinja_template, uses) {
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct jinja_fault fault = {0};
        struct jinja_template *t = jinja_compile(names[i].template, strlen(names[i].template), &fault);
        cr_assert(t, "%s: %s", names[i].template, fault.message);
        cr_expect_eq(jinja_uses(t, names[i].name), names[i].uses, "%s", names[i].template);
        jinja_free(t);
    }
}

/* ---- whose bytes --------------------------------------------------------------------------------------- */

static const struct {
    const char *template, *text, *whose; /* g: given; others are the template's */
} origins[] = {
    {"<{{ u }}>", "<user>", "-gggg-"},
    {"{{ u }}{{ u }}", "useruser", "gggggggg"},
    {"{{ t }}{{ u }}{{ t }}", "<t>user<t>", "---gggg---"},
    {"{{ '[' + u + ']' }}", "[user]", "-gggg-"},
    {"{{ u ~ t ~ 1 }}", "user<t>1", "gggg----"},
    {"{% set x %}[{{ u }}]{% endset %}{{ x }}", "[user]", "-gggg-"},
    {"{% macro m(a) %}[{{ a }}]{% endmacro %}{{ m(u) }}{{ m('b') }}", "[user][b]", "-gggg----"},
    {"{% filter upper %}a{{ u }}b{% endfilter %}", "AUSERB", "-gggg-"},
    {"{{ (u ~ '<e>')[2:6] }}", "er<e", "gg--"},
    {"{{ [u, 'a']|join('-') }}", "user-a", "gggg--"},
    {"{{ u[::-1] }}", "resu", "gggg"},
    {"{{ '%s|' % u }}", "user|", "gggg-"},
    {"{% for c in u %}{{ c }}.{% endfor %}", "u.s.e.r.", "g-g-g-g-"},
    {"{{ u|replace('s', '<s>') }}", "u<s>er", "g---gg"},
    {"{% for k in o %}{{ k }}{{ o[k] }}{% endfor %}", "keyvalue", "gggggggg"},
    {"{{ 'written' if u else '' }}", "written", "-------"},
};

Test(jinja_template, origins) {
    json_t *given = json_pack("{s:s, s:{s:s}}", "u", "user", "o", "key", "value");
    json_t *trusted = json_pack("{s:s}", "t", "<t>");
    for (size_t i = 0; i < sizeof origins / sizeof *origins; i++) {
        rig_result result;
        char whose[64] = "";
        rig_render(origins[i].template, strlen(origins[i].template), given, trusted, NULL, &result);
        cr_assert(result.rendered, "%s: %s", origins[i].template, result.fault.message);
        memset(whose, '-', result.output.size);
        for (size_t k = 0; k < result.output.given_count; k++) {
            const struct jinja_span *span = &result.output.given[k];
            memset(whose + span->begin, 'g', span->end - span->begin);
        }
        cr_expect_str_eq(result.output.text, origins[i].text, "%s", origins[i].template);
        cr_expect_str_eq(whose, origins[i].whose, "%s", origins[i].template);
        jinja_output_free(&result.output);
    }
    json_decref(given);
    json_decref(trusted);
}

/* What the caller gives goes before what is trusted, and both before functions of that name. */
Test(jinja_template, precedence_of_variables) {
    json_t *given = json_pack("{s:s, s:n}", "a", "given", "c");
    json_t *trusted = json_pack("{s:s, s:s, s:s}", "a", "trusted", "b", "trusted", "range", "r");
    static const char template[] = "{{ a }} {{ b }} {{ c }} {{ range }}";
    rig_result result;
    rig_render(template, sizeof template - 1, given, trusted, NULL, &result);
    cr_assert_str_eq(result.output.text, "given trusted None r");
    jinja_output_free(&result.output);
    json_decref(given);
    json_decref(trusted);
}
