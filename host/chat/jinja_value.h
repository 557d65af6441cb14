/*
 * jinja_value.h - what template expressions compute with: values under Python's rules, in an arena that a
 * rendering frees at once.
 *
 * Every byte of a string knows where it came from: written in the template (trusted, so that "<|im_end|>"
 * in it is that token) or given by the caller (a user's text, which never becomes a control token). All
 * operations carry that along. Numbers have no origin: their digits count as written, as True, None, quotes and
 * brackets around values and blanks that pad do; a character made from its number counts as given.
 */
#ifndef TENON_JINJA_VALUE_H
#define TENON_JINJA_VALUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define JINJA_COUNT(array) (sizeof(array) / sizeof *(array))

/* ---- a rendering -------------------------------------------------------------------------------------- */

struct jinja_place {
    uint32_t line, column; /* from 1; column in characters */
};

enum jinja_fault_kind {
    JINJA_SYNTAX,  /* the template is malformed, or uses what there is not */
    JINJA_RUNTIME, /* an operation failed while rendering: wrong type, undefined, key, index, zero division */
    JINJA_RAISED,  /* raise_exception(message) */
    JINJA_LIMIT,   /* steps, depth, memory or output used up */
    JINJA_MEMORY,
    JINJA_STOPPED /* as jinja_input.stopped asked */
};

struct jinja_fault {
    enum jinja_fault_kind kind;
    struct jinja_place place;
    char message[512]; /* one line, valid UTF-8 */
};

struct jinja_limits {
    uint64_t steps;  /* nodes evaluated, elements made or visited */
    uint64_t memory; /* bytes of values */
    uint64_t output; /* bytes of the rendered text */
    uint32_t depth;  /* nested calls, includes recursion of macros and nesting of values in str() or tojson */
};

struct jinja_block; /* of the arena */

struct jinja_run {
    struct jinja_block *blocks;
    struct jinja_limits left; /* counts down */
    struct jinja_place at;    /* of the node that is being evaluated, for messages */
    struct jinja_fault fault; /* set once a function has returned false */
    bool (*stopped)(void);    /* as in jinja_input; or NULL */
    int64_t now;              /* local time of strftime_now as seconds since 1970 of a clock without zone */
};

/* All functions that can fail return false after they have set run->fault. */
bool jinja_fail(struct jinja_run *run, enum jinja_fault_kind kind, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Counts `count` steps. */
bool jinja_spend(struct jinja_run *run, uint64_t count);
/* Memory until the end of the rendering, aligned for anything; NULL after a fault. */
void *jinja_alloc(struct jinja_run *run, size_t count, size_t size);
void jinja_run_free(struct jinja_run *run); /* all of its memory */

/* ---- values ------------------------------------------------------------------------------------------- */

enum jinja_type {
    JINJA_UNDEFINED,
    JINJA_NONE,
    JINJA_BOOL,
    JINJA_INT, /* 64 bits; a result beyond is a fault that says so */
    JINJA_FLOAT,
    JINJA_STRING, /* UTF-8, length and index in characters as in Python */
    JINJA_LIST,
    JINJA_TUPLE,
    JINJA_DICT,    /* keeps the order of its keys; keys may be any hashable value */
    JINJA_RANGE,   /* range(): never spelt out */
    JINJA_METHOD,  /* a method bound to its value */
    JINJA_BUILTIN, /* a global function */
    JINJA_OBJECT   /* of the evaluator: macro, loop, namespace, cycler, joiner */
};

struct jinja_string {
    size_t size;       /* bytes */
    size_t characters; /* code points */
    uint8_t origin;    /* JINJA_WRITTEN, JINJA_GIVEN or JINJA_MIXED */
    bool markup;       /* made by escape or safe: further text is escaped before it is added (+, %) */
    const unsigned char *origins; /* [size] if mixed, else NULL */
    char bytes[];                 /* and a NUL */
};
enum { JINJA_WRITTEN = 0, JINJA_GIVEN = 1, JINJA_MIXED = 2 };

struct jinja_value;
struct jinja_list {
    size_t count, room;
    struct jinja_value *items;
    bool group; /* a tuple of groupby: its items are also its attributes `grouper` and `list` */
};
struct jinja_dict; /* opaque */
struct jinja_object;
struct jinja_builtin;

struct jinja_range {
    int64_t start, stop, step;
};
struct jinja_method {
    const struct jinja_value *self;
    const struct jinja_builtin *method;
};

typedef struct jinja_value {
    enum jinja_type type;
    union {
        const char
            *name; /* of what is undefined: a variable's; with a space in it: the whole message; or NULL */
        bool boolean;
        int64_t integer;
        double number;
        const struct jinja_string *string;
        struct jinja_list *list; /* also of a tuple */
        struct jinja_dict *dict;
        const struct jinja_range *range;
        const struct jinja_method *method;
        const struct jinja_builtin *builtin;
        struct jinja_object *object;
    };
} jinja_value;

struct jinja_named {
    const char *name;
    size_t size;
    jinja_value value;
    const struct jinja_string *key; /* under which ** found it; NULL: the template wrote the name */
};
/* Arguments of a call: *x and **x are already spread out. */
struct jinja_args {
    const jinja_value *at;
    size_t count;
    const struct jinja_named *named;
    size_t named_count;
    const bool *given; /* set for the function of a builtin only: which of its parameters were given */
};

/* An object's behaviour; NULL where it has none of that. */
struct jinja_class {
    const char *name; /* "Macro", "LoopContext", "Namespace" */
    bool (*attribute)(struct jinja_run *run, struct jinja_object *self, const char *name, size_t size,
                      jinja_value *out); /* out is undefined if there is no such attribute */
    bool (*call)(struct jinja_run *run, struct jinja_object *self, const struct jinja_args *args,
                 jinja_value *out);
    bool (*text)(struct jinja_run *run, struct jinja_object *self, jinja_value *out); /* str(): a string */
};
struct jinja_object {
    const struct jinja_class *class;
};

static inline jinja_value jinja_none(void) {
    return (jinja_value){.type = JINJA_NONE};
}
static inline jinja_value jinja_bool(bool value) {
    return (jinja_value){.type = JINJA_BOOL, .boolean = value};
}
static inline jinja_value jinja_int(int64_t value) {
    return (jinja_value){.type = JINJA_INT, .integer = value};
}
static inline jinja_value jinja_float(double value) {
    return (jinja_value){.type = JINJA_FLOAT, .number = value};
}
/* `name` lives as long as the rendering: see jinja_value.name. */
static inline jinja_value jinja_undefined(const char *name) {
    return (jinja_value){.type = JINJA_UNDEFINED, .name = name};
}

/* ---- making ------------------------------------------------------------------------------------------- */

bool jinja_string_make(struct jinja_run *run, const char *bytes, size_t size, uint8_t origin,
                       jinja_value *out); /* bytes that are no UTF-8 become U+FFFD */
bool jinja_list_make(struct jinja_run *run, enum jinja_type list_or_tuple, size_t room, jinja_value *out);
bool jinja_list_add(struct jinja_run *run, jinja_value list, jinja_value item);
bool jinja_dict_make(struct jinja_run *run, jinja_value *out);
bool jinja_dict_set(struct jinja_run *run, jinja_value dict, jinja_value key, jinja_value item);
/* The item of a key that is a text; NULL in *item if there is none. */
bool jinja_dict_find(struct jinja_run *run, jinja_value dict, const char *key, size_t size,
                     const jinja_value **item);
/* A JSON value; all of its texts have that origin. Include <jansson.h> to have one. */
struct json_t;
bool jinja_from_json(struct jinja_run *run, const struct json_t *json, uint8_t origin, jinja_value *out);
/* Messages that the caller gave: an array of objects, whose "role" counts as written where it is one of `roles`. */
bool jinja_from_messages(struct jinja_run *run, const struct json_t *json, const char *const *roles,
                         jinja_value *out);

/* Builds a string piece by piece. */
struct jinja_builder {
    struct jinja_run *run;
    char *bytes;
    unsigned char *origins; /* made at the first piece of another origin */
    size_t size, room;
    uint8_t origin;
};
bool jinja_build(struct jinja_builder *b, const char *bytes, size_t size, uint8_t origin);
/* Bytes from `begin` up to `end` of a string, with their origins. */
bool jinja_build_from(struct jinja_builder *b, const struct jinja_string *s, size_t begin, size_t end);
bool jinja_build_text(struct jinja_builder *b, jinja_value value); /* str(value) */
bool jinja_built(struct jinja_builder *b, jinja_value *out);

/* ---- Python's operations ------------------------------------------------------------------------------ */

enum jinja_operator {
    JINJA_ADD,
    JINJA_SUB,
    JINJA_MUL,
    JINJA_DIV,
    JINJA_FLOOR_DIV,
    JINJA_MOD,
    JINJA_POW, /* % formats strings */
    JINJA_EQ,
    JINJA_NE,
    JINJA_LT,
    JINJA_LE,
    JINJA_GT,
    JINJA_GE,
    JINJA_IN,
    JINJA_NOT_IN,
    JINJA_NEG,
    JINJA_POS
};
/* Uses an undefined value: a fault with its name. */
bool jinja_fail_undefined(struct jinja_run *run, jinja_value value);
/* The name of a value's type in Python: "str", "NoneType". */
const char *jinja_type_name(jinja_value value);
bool jinja_unary(struct jinja_run *run, enum jinja_operator op, jinja_value a, jinja_value *out);
bool jinja_binary(struct jinja_run *run, enum jinja_operator op, jinja_value a, jinja_value b,
                  jinja_value *out);
bool jinja_truth(struct jinja_run *run, jinja_value value, bool *out);
bool jinja_text(struct jinja_run *run, jinja_value value, jinja_value *out); /* str(): a string */
bool jinja_repr(struct jinja_run *run, jinja_value value, jinja_value *out);
/* a.name: a method of its type, an object's attribute, else the item of that name, else undefined. A fault on
 * an undefined a. Attributes that the sandbox forbids (list.append, dict.update, names with a leading
 * underscore, ...) are faults. */
bool jinja_attribute(struct jinja_run *run, jinja_value a, const char *name, size_t size, jinja_value *out);
/* a[key]: item first, then attribute, else undefined. */
bool jinja_item(struct jinja_run *run, jinja_value a, jinja_value key, jinja_value *out);
/* a[start:stop:step]; none stands for what is left out. */
bool jinja_slice(struct jinja_run *run, jinja_value a, jinja_value start, jinja_value stop, jinja_value step,
                 jinja_value *out);
/* Calls a method, a builtin or an object. */
bool jinja_call(struct jinja_run *run, jinja_value callee, const struct jinja_args *args, jinja_value *out);

/* Iterating: items of a list, tuple, range; keys of a dict; characters of a string; nothing of an undefined. */
struct jinja_iterator {
    jinja_value over;
    size_t at, byte, count; /* count: how many there are in all */
    bool backwards;
};
bool jinja_iterate(struct jinja_run *run, jinja_value over, struct jinja_iterator *out);
bool jinja_next(struct jinja_run *run, struct jinja_iterator *it, jinja_value *item, bool *done);

/* ns.name = item; a fault if `to` is no namespace(). */
bool jinja_namespace_set(struct jinja_run *run, jinja_value to, const char *name, size_t size,
                         jinja_value item);

/* ---- filters, tests, global functions, methods ---------------------------------------------------------- */

enum { JINJA_PARAMETERS = 8 };
/* `self` is the value in front of | or `is` or the dot; undefined for a global. Arguments are put in the order
 * of `parameters` before the call: args->at has one value for each (undefined where given[i] is false), the
 * further ones of "*" behind them; args->named has those of "**". */
struct jinja_builtin {
    const char *name;
    const char *parameters[JINJA_PARAMETERS]; /* names; "/name": by place only; then "*", "**": any further */
    uint8_t required;
    bool (*call)(struct jinja_run *run, jinja_value self, const struct jinja_args *args, jinja_value *out);
};
const struct jinja_builtin *jinja_filter_find(const char *name, size_t size); /* NULL: none */
const struct jinja_builtin *jinja_test_find(const char *name, size_t size);
const struct jinja_builtin *jinja_global_find(const char *name,
                                              size_t size); /* range, dict, raise_exception, ... */
/* Why a filter or a global that Jinja has is refused here ("random", "lipsum"); NULL if it is not one of those. */
const char *jinja_filter_refused(const char *name, size_t size);
const char *jinja_global_refused(const char *name, size_t size);
/* True if some type has a method of that name (also such as the sandbox forbids). */
bool jinja_method_known(const char *name, size_t size);
/* Arguments against the parameters, for checks at load time and before calls: too many, missing, unknown name,
 * given twice. The message in run->fault is Python's in spirit: "replace() got an unexpected argument 'x'". */
bool jinja_arguments_fit(struct jinja_run *run, const struct jinja_builtin *builtin,
                         const struct jinja_args *args);
bool jinja_filter_call(struct jinja_run *run, const struct jinja_builtin *filter, jinja_value self,
                       const struct jinja_args *args, jinja_value *out);
bool jinja_test_call(struct jinja_run *run, const struct jinja_builtin *test, jinja_value self,
                     const struct jinja_args *args, bool *out);

#endif
