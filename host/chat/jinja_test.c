/*
 * jinja_test.c - the tests behind `is`.
 */
#include "jinja_inside.h"

#define TEST(name)                                                                                           \
    static bool test_##name(struct jinja_run *run, jinja_value self, const struct jinja_args *args,          \
                            jinja_value *out)

static bool give(jinja_value *out, bool value) {
    *out = jinja_bool(value);
    return true;
}

/* ---- types -------------------------------------------------------------------------------------------- */

#define TYPE_TEST(name, condition)                                                                           \
    TEST(name) {                                                                                             \
        (void)run;                                                                                           \
        (void)args;                                                                                          \
        return give(out, condition);                                                                         \
    }
TYPE_TEST(boolean, self.type == JINJA_BOOL)
TYPE_TEST(defined, self.type != JINJA_UNDEFINED)
TYPE_TEST(escaped, self.type == JINJA_STRING && self.string->markup)
TYPE_TEST(falsehood, self.type == JINJA_BOOL && !self.boolean)
TYPE_TEST(float, self.type == JINJA_FLOAT)
TYPE_TEST(integer, self.type == JINJA_INT)
TYPE_TEST(mapping, self.type == JINJA_DICT)
TYPE_TEST(none, self.type == JINJA_NONE)
TYPE_TEST(number, jinja_is_number(self))
TYPE_TEST(string, self.type == JINJA_STRING)
TYPE_TEST(truth, self.type == JINJA_BOOL && self.boolean)
TYPE_TEST(undefined, self.type == JINJA_UNDEFINED)

/* The undefined has a length and items by its own rules. */
static bool is_sequence(jinja_value value) {
    return value.type == JINJA_STRING || value.type == JINJA_LIST || value.type == JINJA_TUPLE ||
           value.type == JINJA_DICT || value.type == JINJA_RANGE || value.type == JINJA_UNDEFINED;
}

static bool is_stream(jinja_value value) {
    bool view;
    return jinja_stream_of(value, &view) != NULL;
}

TYPE_TEST(sequence, is_sequence(self))
TYPE_TEST(iterable, is_sequence(self) || is_stream(self))
TYPE_TEST(callable, self.type == JINJA_METHOD || self.type == JINJA_BUILTIN || self.type == JINJA_UNDEFINED ||
                        (self.type == JINJA_OBJECT && self.object->class->call))

/* ---- comparisons -------------------------------------------------------------------------------------- */

#define COMPARISON(name, op)                                                                                 \
    TEST(name) {                                                                                             \
        return jinja_binary(run, op, self, args->at[0], out);                                                \
    }
COMPARISON(eq, JINJA_EQ)
COMPARISON(ne, JINJA_NE)
COMPARISON(lt, JINJA_LT)
COMPARISON(le, JINJA_LE)
COMPARISON(gt, JINJA_GT)
COMPARISON(ge, JINJA_GE)
COMPARISON(in, JINJA_IN)

/* Python's `is`: one and the same object. Small values without parts are that if they are equal. */
TEST(sameas) {
    const jinja_value other = args->at[0];
    if (self.type != other.type) { return give(out, false); }
    switch (self.type) {
    case JINJA_NONE: return give(out, true);
    case JINJA_BOOL:
    case JINJA_INT:
    case JINJA_FLOAT: return jinja_binary(run, JINJA_EQ, self, other, out);
    case JINJA_STRING: return give(out, self.string == other.string);
    case JINJA_LIST:
    case JINJA_TUPLE: return give(out, self.list == other.list);
    default: return give(out, self.object == other.object);
    }
}

/* ---- numbers ------------------------------------------------------------------------------------------ */

static bool rest_is(struct jinja_run *run, jinja_value self, jinja_value by, int64_t wanted,
                    jinja_value *out) {
    jinja_value rest;
    return jinja_binary(run, JINJA_MOD, self, by, &rest) &&
           jinja_binary(run, JINJA_EQ, rest, jinja_int(wanted), out);
}

TEST(odd) {
    (void)args;
    return rest_is(run, self, jinja_int(2), 1, out);
}
TEST(even) {
    (void)args;
    return rest_is(run, self, jinja_int(2), 0, out);
}
TEST(divisibleby) {
    return rest_is(run, self, args->at[0], 0, out);
}

/* ---- texts -------------------------------------------------------------------------------------------- */

TEST(lower) {
    (void)args;
    jinja_value text;
    return jinja_text(run, self, &text) && jinja_string_method(run, "islower", text, NULL, 0, out);
}
TEST(upper) {
    (void)args;
    jinja_value text;
    return jinja_text(run, self, &text) && jinja_string_method(run, "isupper", text, NULL, 0, out);
}

/* Looked up in a dict by Python: what has no hash is a fault. */
static bool is_name(struct jinja_run *run, jinja_value self, bool test, jinja_value *out) {
    uint64_t hash;
    if (!jinja_hash(run, self, &hash)) { return false; }
    if (self.type != JINJA_STRING) { return give(out, false); }
    const struct jinja_string *s = self.string;
    return give(out, test ? jinja_test_find(s->bytes, s->size) != NULL
                          : jinja_filter_find(s->bytes, s->size) || jinja_filter_refused(s->bytes, s->size));
}

TEST(filter) {
    (void)args;
    return is_name(run, self, false, out);
}
TEST(test) {
    (void)args;
    return is_name(run, self, true, out);
}

/* ---- the table ---------------------------------------------------------------------------------------- */

static const struct jinja_builtin tests[] = {
    {"boolean", {NULL}, 0, test_boolean},  {"callable", {NULL}, 0, test_callable},
    {"defined", {NULL}, 0, test_defined},  {"divisibleby", {"num"}, 1, test_divisibleby},
    {"eq", {"/other"}, 1, test_eq},        {"equalto", {"/other"}, 1, test_eq},
    {"==", {"/other"}, 1, test_eq},        {"escaped", {NULL}, 0, test_escaped},
    {"even", {NULL}, 0, test_even},        {"false", {NULL}, 0, test_falsehood},
    {"filter", {NULL}, 0, test_filter},    {"float", {NULL}, 0, test_float},
    {"ge", {"/other"}, 1, test_ge},        {">=", {"/other"}, 1, test_ge},
    {"gt", {"/other"}, 1, test_gt},        {"greaterthan", {"/other"}, 1, test_gt},
    {">", {"/other"}, 1, test_gt},         {"in", {"seq"}, 1, test_in},
    {"integer", {NULL}, 0, test_integer},  {"iterable", {NULL}, 0, test_iterable},
    {"le", {"/other"}, 1, test_le},        {"<=", {"/other"}, 1, test_le},
    {"lower", {NULL}, 0, test_lower},      {"lt", {"/other"}, 1, test_lt},
    {"lessthan", {"/other"}, 1, test_lt},  {"<", {"/other"}, 1, test_lt},
    {"mapping", {NULL}, 0, test_mapping},  {"ne", {"/other"}, 1, test_ne},
    {"!=", {"/other"}, 1, test_ne},        {"none", {NULL}, 0, test_none},
    {"number", {NULL}, 0, test_number},    {"odd", {NULL}, 0, test_odd},
    {"sameas", {"other"}, 1, test_sameas}, {"sequence", {NULL}, 0, test_sequence},
    {"string", {NULL}, 0, test_string},    {"test", {NULL}, 0, test_test},
    {"true", {NULL}, 0, test_truth},       {"undefined", {NULL}, 0, test_undefined},
    {"upper", {NULL}, 0, test_upper},
};

const struct jinja_builtin *jinja_test_find(const char *name, size_t size) {
    return jinja_builtin_find(tests, JINJA_COUNT(tests), name, size);
}
