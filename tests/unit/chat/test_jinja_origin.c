/*
 * test_jinja_origin.c - no way through a template turns what the caller gave into text of the template's own: keys,
 * values, names made from them, characters made from numbers. What the template writes stays its own.
 */
#include "chat_rig.h"

#include <criterion/criterion.h>
#include <string.h>

/* Which bytes are given: 'g', others '-'. */
static const char *whose(const struct jinja_output *output, char *out, size_t room) {
    cr_assert(output->size < room);
    memset(out, '-', output->size);
    out[output->size] = 0;
    for (size_t i = 0; i < output->given_count; i++) {
        const struct jinja_span *span = &output->given[i];
        memset(out + span->begin, 'g', span->end - span->begin);
    }
    return out;
}

/* ---- byte by byte -------------------------------------------------------------------------------------- */

static const struct {
    const char *template, *text, *whose;
} exact[] = {
    /* names from a mapping are its keys; names in the template are the template's */
    {"{{ dict(**o) }}", "{'<|k|>': '<|v|>'}", "--ggggg----ggggg--"},
    {"{{ dict(a=1, **o) }}", "{'a': 1, '<|k|>': '<|v|>'}", "----------ggggg----ggggg--"},
    {"{{ dict({'b': 2}, **o)|list|join }}", "b<|k|>", "-ggggg"},
    {"{{ dict(o, **{'b': 2})|list|join }}", "<|k|>b", "ggggg-"},
    {"{{ dict(**{'<|k|>': u})|list|join }}", "<|k|>", "-----"},
    {"{{ dict(**{'<|' ~ n ~ u: 1})|list|join }}", "<|60u", "----g"},
    {"{{ namespace(**o) }}", "<Namespace {'<|k|>': '<|v|>'}>", "-------------ggggg----ggggg---"},
    {"{{ namespace(a=u) }}", "<Namespace {'a': 'u'}>", "------------------g---"},
    {"{% set n = namespace(**o) %}{% set n.a = 1 %}{{ n }}", "<Namespace {'<|k|>': '<|v|>', 'a': 1}>",
     "-------------ggggg----ggggg-----------"},
    {"{% macro m() %}{{ kwargs }}{% endmacro %}{{ m(**o) }}", "{'<|k|>': '<|v|>'}", "--ggggg----ggggg--"},
    {"{% macro m() %}{{ kwargs }}{% endmacro %}{{ m(a=u, **o) }}", "{'a': 'u', '<|k|>': '<|v|>'}",
     "-------g----ggggg----ggggg--"},
    {"{% macro m() %}{{ kwargs|list|join }}{% endmacro %}{{ m(**{'<|k|>': u}) }}", "<|k|>", "-----"},
    {"{% macro m(a) %}{{ kwargs|list|join }}{{ a }}{% endmacro %}{{ m(**dict(o, a=1)) }}", "<|k|>1",
     "ggggg-"},
    {"{% macro m() %}{{ kwargs|list|join }}{% endmacro %}{% macro w() %}{{ m(**kwargs) }}{% endmacro %}"
     "{{ w(b=1, **o) }}",
     "b<|k|>", "-ggggg"},
    {"{% macro m() %}{{ kwargs|list|join }}{{ caller() }}{% endmacro %}{% call m(**o) %}c{% endcall %}",
     "<|k|>c", "ggggg-"},
    {"{{ '%s'|format(**o) }}", "{'<|k|>': '<|v|>'}", "--ggggg----ggggg--"},
    {"{{ '%s'|format(a=u) }}", "{'a': 'u'}", "-------g--"},
    {"{{ ['%s']|map('format', **o)|join }}", "{'<|k|>': '<|v|>'}", "--ggggg----ggggg--"},
    /* characters from numbers, whoever the numbers are from */
    {"{{ '%c' % n }}", "<", "g"},
    {"{{ '%c|%c' % (n, 62) }}", "<|>", "g-g"},
    {"{{ '[%3c]' % n }}", "[  <]", "---g-"},
    {"{{ '%c' % u }}", "u", "g"},
    {"{{ '%c' % 'u' }}", "u", "-"},
    {"{{ '%(a)c' % {'a': n} }}", "<", "g"},
    {"{{ '%c'|format(n) }}", "<", "g"},
    {"{{ '%(a)c'|format(a=n) }}", "<", "g"},
    {"{{ codes|map('string')|join(' ') }}", "60 124 101", "----------"},
    {"{% for c in codes %}{{ '%c' % c }}{% endfor %}", "<|e", "ggg"},
    {"{{ ['%c', '%c']|map('format', n)|join }}", "<<", "gg"},
    {"{{ '{:c}'.format(n) }}", "<", "g"},
    {"{{ '{:*^3c}'.format(60) }}", "*<*", "-g-"},
    {"{{ '{0:c}{1:c}{0:c}'.format(*codes) }}", "<|<", "ggg"},
    {"{{ '{a:{b}}'.format(a=n, b='c') }}", "<", "g"},
    {"{{ '{a:c}'.format_map({'a': n}) }}", "<", "g"},
    {"{{ '{:c}'.format(true)|length }}", "1", "-"},
    {"{{ '%c' % (u|length + 59) }}", "<", "g"},
    {"{{ '%c' % '60'|int }}", "<", "g"},
    /* numbers are digits; in a format that was given, they are what that makes of them */
    {"{{ n }} {{ '%d' % n }} {{ '{:x}'.format(n) }}", "60 60 3c", "--------"},
    {"{{ true }}{{ none }}{{ 1.5 }}", "TrueNone1.5", "-----------"},
    {"{{ f % 48879 }}", "+0xbeef", "ggggggg"},
    {"{{ ('%' ~ x) % 48879 }}", "beef", "gggg"},
    {"{{ ('{:_' ~ x ~ '}').format(1048576) }}", "10_0000", "ggggggg"},
    {"{{ ('{:' ~ z ~ '}').format(7) }}", "0007", "gggg"},
    {"{{ ('{:' ~ z ~ '}').format('a') }}", "a000", "-ggg"},
    {"{{ '{:05.1f}'.format(n) }}", "060.0", "-----"},
    /* the clock, by a format of either */
    {"{{ strftime_now('%Y%%') }}", "2026%", "-----"},
    {"{{ strftime_now(t) }}", "2026-%", "gggggg"},
    /* references made of both are not the template's */
    {"{{ '&lt;'|striptags }}", "<", "-"},
    {"{{ ('&' ~ r ~ ';')|striptags }}", "<", "g"},
    {"{{ ('&lt;' ~ u)|striptags }}", "<u", "-g"},
    {"{{ ('&#' ~ n ~ ';|')|striptags }}", "<|", "g-"},
    {"{{ '&#60;&#x7c;'|striptags }}", "<|", "gg"},
};

Test(jinja_origin, exact) {
    json_t *given =
        json_pack("{s:{s:s}, s:s, s:i, s:[i,i,i], s:s, s:s, s:s, s:s, s:s}", "o", "<|k|>", "<|v|>", "u", "u",
                  "n", 60, "codes", 60, 124, 101, "f", "%+#x", "x", "x", "z", "04", "t", "%Y-%%", "r", "lt");
    cr_assert(given);
    for (size_t i = 0; i < sizeof exact / sizeof *exact; i++) {
        rig_result result;
        char found[128];
        rig_render(exact[i].template, strlen(exact[i].template), given, NULL, NULL, &result);
        cr_assert(result.rendered, "%s: %s", exact[i].template, result.fault.message);
        cr_expect_str_eq(result.output.text, exact[i].text, "%s: %s", exact[i].template, result.output.text);
        whose(&result.output, found, sizeof found);
        cr_expect_str_eq(found, exact[i].whose, "%s: %s", exact[i].template, found);
        jinja_output_free(&result.output);
    }
    json_decref(given);
}

/* ---- every way from data to text ----------------------------------------------------------------------- */

/* `o` is a dict, `l` a list of it, `s` its text in JSON. The word is a key of it or a value, and outlives every
 * escape. */
#define WORD "E_E"
static const char *const ways[] = {
    "{{ o }}",
    "{{ l }}",
    "{{ o ~ '' }}",
    "{{ '' + s + '' }}",
    "{{ s * 2 }}",
    "{{ s[::-1][::-1] }}",
    "{{ s[::2] }}{{ s[1::2] }}{{ s[1:] }}",
    "{{ (o,) }}",
    "{{ {o|first: o} }}",
    "{{ dict(o) }}",
    "{{ dict(o.items()) }}",
    "{{ dict(o|items) }}",
    "{{ dict([[o|first, o]]) }}",
    "{{ dict(**o) }}",
    "{{ dict({'a': 1}, **o) }}",
    "{{ dict(o, **{'a': 1}) }}",
    "{{ dict(o, a=o) }}",
    "{{ dict(**dict(**o)) }}",
    "{{ o.copy() }}",
    "{{ namespace(o) }}",
    "{{ namespace(**o) }}",
    "{{ namespace(a=o) }}",
    "{{ namespace(a=o).a }}",
    "{% set n = namespace() %}{% set n.a = o %}{{ n.a }}",
    "{% macro m() %}{{ kwargs }}{% endmacro %}{{ m(**o) }}",
    "{% macro m() %}{{ varargs }}{% endmacro %}{{ m(o) }}{{ m(*o) }}{{ m(*o.values()) }}",
    "{% macro m() %}{% for k, v in kwargs|items %}{{ k }}{{ v }}{% endfor %}{% endmacro %}{{ m(**o) }}",
    "{% macro m() %}{{ kwargs|tojson }}{% endmacro %}{% macro w() %}{{ m(**kwargs) }}{% endmacro %}{{ w(**o) }}",
    "{% macro m(a=o) %}{{ a }}{% endmacro %}{{ m() }}",
    "{% macro m() %}{{ caller(o) }}{% endmacro %}{% call(a) m() %}{{ a }}{% endcall %}",
    "{% set x %}{{ o }}{% endset %}{{ x }}",
    "{% set x | upper %}{{ o }}{% endset %}{{ x }}",
    "{% filter upper %}{{ o }}{% endfilter %}",
    "{% with a = o %}{{ a }}{% endwith %}",
    "{% generation %}{{ o }}{% endgeneration %}",
    "{% for k in o %}{{ k }}{{ o[k] }}{{ o.get(k) }}{{ loop.cycle(k, o[k]) }}{% endfor %}",
    "{% for k in [o, 1] %}{{ loop.nextitem }}{{ loop.previtem }}{% endfor %}",
    "{% for k, v in o.items() %}{{ k }}{{ v }}{% endfor %}",
    "{% for c in s %}{{ c }}{% endfor %}",
    "{% for k in l recursive %}{{ k if k is string else loop(k) ~ loop(k.values()) }}{% endfor %}",
    "{{ cycler(*o).next() }}{{ cycler(*o.values()).current }}",
    "{% set j = joiner(o) %}{{ j() }}{{ j() }}",
    "{{ o.items() }}",
    "{{ o.keys() }}{{ o.values() }}",
    "{{ o.keys()|join }}{{ o.values()|join }}",
    "{{ o|items|list }}",
    "{{ o|items|map(attribute=0)|join }}{{ o|items|map(attribute=1)|join }}",
    "{{ o|items|map('first')|join }}{{ o|items|map('last')|join }}",
    "{{ o|items|sum(start=())|join }}",
    "{{ o|items|join(attribute=0) }}{{ o|items|join(attribute='1') }}",
    "{{ o|items|sort(attribute='0')|list }}",
    "{{ o|items|selectattr(0)|list }}{{ o|items|rejectattr(0, 'none')|list }}",
    "{{ o|items|groupby(0) }}",
    "{{ o|items|groupby(1)|map(attribute='grouper')|join }}{{ o|items|groupby(0)|map(attribute='list')|list }}",
    "{{ l|groupby('nosuch', o|join)|first }}{{ l|groupby('nosuch', o.values()|join)|first }}",
    "{{ o|dictsort }}",
    "{{ o|dictsort(by='value', reverse=true) }}",
    "{{ o|list|first }}{{ o.values()|list|last }}",
    "{{ o|first }}{{ o|last }}{{ o.values()|first }}",
    "{{ o|min }}{{ o.values()|max }}",
    "{{ o|sort }}{{ o.values()|sort }}",
    "{{ o|unique|list }}{{ o.values()|unique|list }}",
    "{{ o|batch(2, o)|list }}",
    "{{ o|slice(2, o)|list }}",
    "{{ o|reverse|list }}{{ o.values()|list|reverse|list }}",
    "{{ o|select('string')|list }}{{ o.values()|reject('none')|list }}",
    "{{ l|map('list')|list }}{{ l|map('dictsort')|list }}",
    "{{ l|map('tojson')|join }}",
    "{{ l|map('xmlattr')|join }}",
    "{{ l|map('string')|join }}",
    "{{ l|map(attribute='nosuch', default=o)|list }}",
    "{{ l|selectattr('nosuch', 'undefined')|list }}",
    "{{ o|tojson }}",
    "{{ o|tojson(sort_keys=true) }}",
    "{{ o|tojson(ensure_ascii=true, indent=2) }}",
    "{{ [1, 2]|tojson(separators=(s, s)) }}",
    "{{ [1, 2]|tojson(indent=s) }}",
    "{{ o|pprint }}",
    "{{ [o, o, o, o, o, o, o, o, o, o]|pprint }}",
    "{{ o|xmlattr }}",
    "{{ o|xmlattr(false) }}",
    "{{ o|urlencode }}",
    "{{ o|items|urlencode }}",
    "{{ s|urlencode }}",
    "{{ o|string|escape }}",
    "{{ o|forceescape }}",
    "{{ o|string|safe }}",
    "{{ s|e + s }}",
    "{{ s|striptags }}",
    "{{ o|string|trim('{}') }}",
    "{{ s|upper }}{{ s|title }}{{ s|capitalize }}",
    "{{ s.upper() }}{{ s.swapcase().swapcase() }}{{ s.casefold() }}{{ s.lower() }}",
    "{{ s|center(80) }}{{ s.ljust(80, '*') }}{{ s.rjust(80) }}{{ s.zfill(80) }}",
    "{{ s.expandtabs() }}",
    "{{ s|indent(2, true) }}",
    "{{ 'a\nb'|indent(s) }}",
    "{{ s|truncate(60) }}",
    "{{ ('a' * 300)|truncate(200, true, s) }}",
    "{{ s|wordwrap(40) }}",
    "{{ 'a b c'|wordwrap(1, true, s) }}",
    "{{ s|replace('x', 'y') }}",
    "{{ 'a'|replace('a', o) }}{{ 'a'.replace('a', s) }}",
    "{{ s|list|join }}",
    "{{ ['a', 'b']|join(s) }}{{ s.join('ab') }}",
    "{{ s.split('x')|join }}{{ s.rsplit('x')|join }}{{ s.splitlines()|join }}",
    "{{ s.partition('x')|join }}{{ s.rpartition('x')|join }}",
    "{{ s.strip('{}') }}{{ s.removeprefix('{') }}{{ s.removesuffix('}') }}",
    "{{ '%s' % o }}",
    "{{ '%r %a' % (o, o) }}",
    "{{ '%-80s' % s }}",
    "{{ '%(a)s' % {'a': o} }}",
    "{{ '%s'|format(o) }}",
    "{{ '%s'|format(**o) }}",
    "{{ '%(a)s'|format(a=o) }}",
    "{{ ['%s']|map('format', **o)|join }}",
    "{{ s|format }}",
    "{{ '{}'.format(o) }}",
    "{{ '{0!r} {0!a} {0!s}'.format(o) }}",
    "{{ '{a}'.format(**dict(o, a=o)) }}",
    "{{ '{a}'.format_map({'a': o}) }}",
    "{{ '{:*>80}'.format(s) }}",
    "{{ '{a[b]}'.format(a={'b': o}) }}{{ '{a.b}'.format(a={'b': o}) }}",
    "{{ nosuch|default(o) }}{{ ''|d(o, true) }}",
    "{{ o or 1 }}{{ o and s }}{{ o if o else s }}",
    "{{ o|attr('nosuch')|default(o) }}{{ o['nosuch']|default(o) }}",
};

/* Renders one way; returns how many of the words in the text are the caller's, adds up those that are not. */
static size_t count_words(const char *template, const json_t *given, const json_t *trusted, size_t *written) {
    rig_result result;
    char found[16384];
    size_t count = 0;
    rig_render(template, strlen(template), given, trusted, NULL, &result);
    cr_assert(result.rendered, "%s: %s", template, result.fault.message);
    whose(&result.output, found, sizeof found);
    for (const char *word = result.output.text; (word = strcasestr(word, WORD)); word += strlen(WORD)) {
        bool is_given = strncmp(found + (word - result.output.text), "ggg", 3) == 0;
        count += is_given;
        *written += !is_given;
    }
    cr_expect(!trusted || result.output.given_count == 0, "%s", template);
    jinja_output_free(&result.output);
    return count;
}

static json_t *data_of(const char *key, const char *value) {
    char text[64];
    snprintf(text, sizeof text, "{\"%s\": \"%s\"}", key, value);
    return json_pack("{s:{s:s}, s:[{s:s}], s:s}", "o", key, value, "l", key, value, "s", text);
}

/* Given data shows as given, as a key and as a value; the same data from the model's file as the template's own. */
Test(jinja_origin, every_way) {
    json_t *key = data_of(WORD, "x"), *value = data_of("x", WORD), *nothing = json_object();
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        size_t written = 0, trusted = 0;
        size_t keys = count_words(ways[i], key, NULL, &written);
        size_t values = count_words(ways[i], value, NULL, &written);
        cr_expect(keys + values > 0 && written == 0, "%s: %zu keys, %zu values, %zu lost", ways[i], keys,
                  values, written);
        cr_expect(count_words(ways[i], nothing, key, &trusted) +
                              count_words(ways[i], nothing, value, &trusted) ==
                          0 &&
                      trusted == keys + values,
                  "%s: %zu of %zu", ways[i], trusted, keys + values);
    }
    json_decref(key);
    json_decref(value);
    json_decref(nothing);
}

/* ---- roles ------------------------------------------------------------------------------------------------ */

static const struct {
    const char *template, *text, *whose;
} roles_shown[] = {
    {"{% for m in messages %}{{ '<|' + m.role + '|>' + m.content }}{% endfor %}", "<|user|>a user<|end|>user",
     "--------gggggg--ggg--gggg"},
    /* the value of another key, of a part, of another variable, however it is spelt */
    {"{{ messages[1].content }}{{ messages[1]['name'] }}", "useruser", "gggggggg"},
    {"{{ messages[0].parts[0].role }}{{ messages[0].part.role }}", "useruser", "gggggggg"},
    {"{{ role }}{{ tools[0].role }}{{ message.role }}", "useruseruser", "gggggggggggg"},
    {"{{ messages[0]|first }}{{ messages[0]|list|last }}", "rolepart", "gggggggg"},
    /* the role itself, whichever way */
    {"{{ messages[0]['role'] ~ messages|map(attribute='role')|first }}", "useruser", "--------"},
    {"{% for k, v in messages[0]|items if k == 'role' %}{{ v }}{% endfor %}", "user", "----"},
};

/* The role of a message counts as written where it is one of input.roles; nothing else that is given does. */
Test(jinja_origin, roles_are_written) {
    static const char *const roles[] = {"user", NULL};
    json_t *given = json_pack("{s:[{s:s,s:s,s:[{s:s}],s:{s:s}},{s:s,s:s,s:s}], s:s, s:[{s:s}], s:{s:s}}",
                              "messages", "role", "user", "content", "a user", "parts", "role", "user",
                              "part", "role", "user", "role", "end", "content", "user", "name", "user",
                              "role", "user", "tools", "role", "user", "message", "role", "user");
    cr_assert(given);
    for (size_t i = 0; i < sizeof roles_shown / sizeof *roles_shown; i++) {
        struct jinja_fault fault;
        struct jinja_output output;
        char got[256];
        const char *source = roles_shown[i].template;
        struct jinja_template *t = jinja_compile(source, strlen(source), &fault);
        cr_assert(t, "%s", fault.message);
        struct jinja_input input = {.given = given, .roles = roles};
        jinja_limits_default(&input.limits);
        cr_assert(jinja_render(t, &input, &output, &fault), "%s: %s", source, fault.message);
        cr_expect_str_eq(output.text, roles_shown[i].text, "%s: %s", source, output.text);
        whose(&output, got, sizeof got);
        cr_expect_str_eq(got, roles_shown[i].whose, "%s: %s", source, got);
        jinja_output_free(&output);
        jinja_free(t);
    }
    json_decref(given);
}

/* Messages of any shape are taken as they are. */
Test(jinja_origin, messages_of_any_shape) {
    static const char *const roles[] = {"user", NULL};
    static const char source[] = "{{ messages }}";
    static const char *const shapes[] = {"7",
                                         "null",
                                         "\"user\"",
                                         "{\"role\": \"user\"}",
                                         "[\"user\", 1, [], {}]",
                                         "[{\"role\": 7}, {\"role\": [\"user\"]}]"};
    static const char *const texts[] = {
        "7", "None", "user", "{'role': 'user'}", "['user', 1, [], {}]", "[{'role': 7}, {'role': ['user']}]"};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        struct jinja_fault fault;
        struct jinja_output output;
        json_t *given = json_pack("{s:o}", "messages", json_loads(shapes[i], JSON_DECODE_ANY, NULL));
        struct jinja_template *t = jinja_compile(source, strlen(source), &fault);
        struct jinja_input input = {.given = given, .roles = roles};
        jinja_limits_default(&input.limits);
        cr_assert(jinja_render(t, &input, &output, &fault), "%s: %s", shapes[i], fault.message);
        cr_expect_str_eq(output.text, texts[i], "%s", output.text);
        jinja_output_free(&output);
        jinja_free(t);
        json_decref(given);
    }
}
