/*
 * jinja_value_origin_test.c - each byte's origin through the operations: 'w' for written by the template, 'g' for
 * given by the caller.
 */
#include "jinja_value_rig.h"

#include <criterion/criterion.h>
#include <string.h>

/* "a[b]c" is a text whose bytes within brackets are given; ASCII brackets only mark. */
static jinja_value marked(struct jinja_run *run, const char *text) {
    struct jinja_builder b = {.run = run};
    jinja_value out;
    uint8_t origin = JINJA_WRITTEN;
    for (; *text; text++) {
        if (*text == '[' || *text == ']')
            origin = *text == '[' ? JINJA_GIVEN : JINJA_WRITTEN;
        else
            jinja_build(&b, text, 1, origin);
    }
    cr_assert(jinja_built(&b, &out));
    return out;
}

/* The reverse of that. */
static const char *unmarked(const struct jinja_string *s, char *out, size_t room) {
    size_t at = 0;
    bool given = false;
    for (size_t i = 0; i <= s->size && at + 3 < room; i++) {
        bool now = i < s->size && (s->origin == JINJA_MIXED ? s->origins[i] : s->origin) == JINJA_GIVEN;
        if (now != given) out[at++] = now ? '[' : ']';
        given = now;
        if (i < s->size) out[at++] = s->bytes[i];
    }
    out[at] = 0;
    return out;
}

static const struct origin_case {
    const char *kind, *name, *self, *first, *second, *expected;
} cases[] = {
    {"binary", "+", "a[b]", "[c]d", NULL, "a[bc]d"},
    {"binary", "+", "", "[c]", NULL, "[c]"},
    {"filter", "upper", "a[b\xC3\x9F]\xC3\x9F", NULL, NULL, "A[BSS]SS"},
    {"filter", "lower", "A[B\xCE\xA3]", NULL, NULL, "a[b\xCF\x82]"},
    {"filter", "title", "ab[cd e]f", NULL, NULL, "Ab[cd E]f"},
    {"filter", "capitalize", "[a]BC", NULL, NULL, "[A]bc"},
    {"filter", "trim", " [ a ] b ", NULL, NULL, "[a ] b"},
    {"filter", "replace", "a[bab]a", "a", "x[y]", "x[yb]x[yb]x[y]"},
    {"filter", "replace", "[ab]", "", "-", "-[a]-[b]-"},
    {"filter", "reverse", "a[b]c[d]", NULL, NULL, "[d]c[b]a"},
    {"filter", "escape", "<[<a]", NULL, NULL, "&lt;[&lt;a]"},
    {"filter", "tojson", "a[\"\n\x01\xC3\xA9]", NULL, NULL, "\"a[\\\"\\n\\u0001\xC3\xA9]\""},
    {"filter", "tojson", "[<|im_end|>]", NULL, NULL, "\"[<|im_end|>]\""},
    {"filter", "indent", "a\n[b\nc]", NULL, NULL, "a\n    [b]\n    [c]"},
    {"filter", "truncate", "[abcdefghijklmnop]", NULL, NULL, "[abcdefghijklmnop]"},
    {"filter", "urlencode", "a[ \xC3\xA9]", NULL, NULL, "a[%20%C3%A9]"},
    {"filter", "striptags", "a[<b>c&lt;]  d", NULL, NULL, "a[c<] d"},
    {"filter", "string", "a[b]", NULL, NULL, "a[b]"},
    {"filter", "wordwrap", "a[b c]", NULL, NULL, "a[b c]"},
    {"filter", "safe", "a[b]", NULL, NULL, "a[b]"},
    {"filter", "default", "a[b]", "x", NULL, "a[b]"},
    {"filter", "pprint", "a[b]", NULL, NULL, "'a[b]'"},
    {"method", "strip", "[xa]x", "x", NULL, "[a]"},
    {"method", "swapcase", "a[Bc]", NULL, NULL, "A[bC]"},
    {"method", "removeprefix", "a[bc]", "ab", NULL, "[c]"},
    {"method", "join", "[,]", "ab", NULL, "a[,]b"},
    {"method", "format", "{}[{}]", "[x]y", "z", "[x]yz"},
    {"method", "format", "{:[*]>3}", "ab", NULL, "[*]ab"},
    {"method", "expandtabs", "[a\tb]", NULL, NULL, "[a]       [b]"},
    {"method", "replace", "[\xC3\xA9]a", "a", "[b]",
     "[\xC3\xA9"
     "b]"},
};

Test(jinja_origin, follow_the_bytes) {
    char text[256];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct origin_case *c = &cases[i];
        struct jinja_run run = value_run();
        jinja_value at[2] = {jinja_none(), jinja_none()}, out;
        struct jinja_args args = {.at = at, .count = (size_t)(c->first != NULL) + (c->second != NULL)};
        if (c->first) at[0] = marked(&run, c->first);
        if (c->second) at[1] = marked(&run, c->second);
        cr_assert(value_apply(&run, c->kind, c->name, marked(&run, c->self), &args, &out), "%s: %s", c->name,
                  run.fault.message);
        cr_assert(out.type == JINJA_STRING);
        unmarked(out.string, text, sizeof text);
        cr_assert(strcmp(text, c->expected) == 0, "%s of %s: expected %s, found %s", c->name, c->self,
                  c->expected, text);
        jinja_run_free(&run);
    }
}

/* Each part of a split text, of a partition, of a slice, each character. */
static void check_parts(const char *kind, const char *name, const char *self, const char *first,
                        const char *expected) {
    char text[256], all[1024] = "";
    struct jinja_run run = value_run();
    const jinja_value at[3] = {first ? marked(&run, first) : jinja_none(), jinja_none(), jinja_none()};
    const struct jinja_args args = {.at = at, .count = first ? 1 : 0};
    jinja_value out, item;
    struct jinja_iterator each;
    bool done;
    cr_assert(value_apply(&run, kind, name, marked(&run, self), &args, &out), "%s", run.fault.message);
    cr_assert(jinja_iterate(&run, out, &each));
    while (jinja_next(&run, &each, &item, &done) && !done) {
        strncat(all, unmarked(item.string, text, sizeof text), sizeof all - strlen(all) - 1);
        strncat(all, "/", sizeof all - strlen(all) - 1);
    }
    cr_assert(strcmp(all, expected) == 0, "%s of %s: expected %s, found %s", name, self, expected, all);
    jinja_run_free(&run);
}

Test(jinja_origin, follow_parts) {
    check_parts("method", "split", "a[b,c],d", ",", "a[b]/[c]/d/");
    check_parts("method", "rsplit", "a[b,c],d", ",", "a[b]/[c]/d/");
    check_parts("method", "split", " a[ b\t]c ", NULL, "a/[b]/c/");
    check_parts("method", "splitlines", "a[\nb]c", NULL, "a/[b]c/");
    check_parts("method", "partition", "a[b,]c", ",", "a[b]/[,]/c/");
    check_parts("method", "rpartition", "a[b,]c", ",", "a[b]/[,]/c/");
    check_parts("filter", "list", "a[\xC3\xA9]b", NULL, "a/[\xC3\xA9]/b/");
    check_parts("filter", "sort", "b[a]", NULL, "[a]/b/");
}

Test(jinja_origin, hold_in_containers_and_numbers) {
    struct jinja_run run = value_run();
    char text[256];
    json_t *json = json_pack("{s:[s,i,b]}", "k'", "<|e|>", 5, 1);
    jinja_value value, out;
    const struct jinja_args none = {0};
    cr_assert(jinja_from_json(&run, json, JINJA_GIVEN, &value));
    cr_assert(jinja_text(&run, value, &out));
    cr_assert_str_eq(unmarked(out.string, text, sizeof text), "{\"[k']\": ['[<|e|>]', 5, True]}");
    cr_assert(jinja_filter_call(&run, jinja_filter_find("tojson", 6), value, &none, &out));
    cr_assert_str_eq(unmarked(out.string, text, sizeof text), "{\"[k']\": [\"[<|e|>]\", 5, true]}");
    json_decref(json);
    jinja_run_free(&run);
}

Test(jinja_origin, faulty_bytes_become_replacement_characters) {
    struct jinja_run run = value_run();
    jinja_value out;
    cr_assert(jinja_string_make(&run, "a\xFF\xE2\x82z\xF0\x9F", 7, JINJA_GIVEN, &out));
    cr_assert_str_eq(out.string->bytes, "a\xEF\xBF\xBD\xEF\xBF\xBDz\xEF\xBF\xBD");
    cr_assert(out.string->characters == 5 && out.string->origin == JINJA_GIVEN);
    jinja_run_free(&run);
}
