/*
 * jinja_tree.h - a template after parsing: nodes in an arena, and how its names are bound.
 *
 * Names are bound when the template is loaded, by Jinja's own rules: a `for`, macro, `with` or capturing
 * block is a scope; a scope that stores a name has a variable of its own, which begins as a copy of the
 * outer one; a scope that only reads takes the innermost variable of that name, or asks the caller of the
 * rendering for it. A macro and a recursive loop are functions: each call has its own variables, and
 * reaches those of the functions around it through a chain of frames, as Python's closures do.
 */
#ifndef TENON_JINJA_TREE_H
#define TENON_JINJA_TREE_H

#include "jinja.h"

enum {
    JINJA_NESTING = 200, /* brackets and blocks within each other; keeps the parser's stack small */
    JINJA_HEIGHT = 500   /* nodes below each other: chains of operators, filters, attributes */
};

enum jinja_node_kind {
    /* expressions */
    NODE_CONSTANT,
    NODE_NAME,
    NODE_MEMBER, /* ns.a, as the target of `set` */
    NODE_TUPLE,
    NODE_LIST,
    NODE_DICT, /* key, item, key, item, ... */
    NODE_SUM,  /* a + b + c: strings are joined at once */
    NODE_CONCAT,
    NODE_ATTRIBUTE,
    NODE_ITEM,
    NODE_SLICE,
    NODE_CALL,
    NODE_FILTER,
    NODE_TEST,
    NODE_UNARY,
    NODE_BINARY,
    NODE_NOT,
    NODE_AND,
    NODE_OR,
    NODE_COMPARE,
    NODE_CONDITION,
    /* statements */
    NODE_OUTPUT,
    NODE_FOR,
    NODE_IF,
    NODE_SET,
    NODE_SET_BLOCK,
    NODE_FILTER_BLOCK,
    NODE_MACRO,
    NODE_CALL_BLOCK,
    NODE_GENERATION,
    NODE_WITH,
    NODE_BREAK,
    NODE_CONTINUE,
    /* parts of other nodes */
    NODE_OPERAND, /* of a comparison */
    NODE_KEYWORD, /* name=value */
    NODE_BRANCH   /* of an `if`; `else` has no test */
};

/* A name in the template's text, once for each different one. */
struct jinja_name {
    size_t size;
    uint32_t hash;
    int32_t outside;             /* its place in jinja_template.outside; -1 until it is asked for there */
    bool member;                 /* the template gives something that name as a key, so it may be called */
    struct jinja_binding *bound; /* while binding: the variables of the open scopes, innermost first */
    struct jinja_name *next;     /* in the table */
    char bytes[];                /* and a NUL */
};

/* A variable: so many functions further out, that slot of its frame. */
struct jinja_variable {
    uint32_t hops, slot;
};

enum jinja_load_kind {
    LOAD_PARAMETER, /* set by whoever enters the scope */
    LOAD_OUTSIDE,   /* a variable of the caller or a global function */
    LOAD_COPY,      /* of the variable of the same name further out */
    LOAD_NOTHING    /* undefined until set */
};
/* What a variable of a scope holds when the scope is entered. */
struct jinja_load {
    enum jinja_load_kind kind;
    uint32_t slot;
    const struct jinja_name *name;
    struct jinja_variable from; /* LOAD_COPY */
    struct jinja_load *next;
};
struct jinja_scope {
    struct jinja_load *loads;
};

struct jinja_nodes {
    struct jinja_node *first, *last;
    uint32_t count;
};

enum jinja_use { USE_LOAD, USE_STORE, USE_PARAMETER };

struct jinja_call_parts {
    struct jinja_node *object; /* what is called, filtered, tested; NULL: the text of the block around */
    struct jinja_name *name;   /* of a filter or test */
    struct jinja_nodes positional, keywords;
    struct jinja_node *spread, *spread_keywords; /* *x, **x; or NULL */
    const struct jinja_builtin *builtin;         /* of a filter or test */
};

struct jinja_for {
    struct jinja_node *target, *iterable, *test; /* test may be NULL */
    struct jinja_node *test_target;              /* the target once more: the test has variables of its own */
    struct jinja_nodes body, otherwise;
    struct jinja_scope scope, test_scope, else_scope;
    bool recursive, uses_loop;
    uint32_t loop;  /* slot of `loop` */
    uint32_t slots; /* of a recursive loop's frame */
};

/* A function: a macro, or the body of a `call` or `generation` block. */
struct jinja_macro {
    struct jinja_node *target;               /* the variable of a macro */
    struct jinja_node *call;                 /* of a `call` block */
    struct jinja_name *name;                 /* NULL: none */
    struct jinja_nodes parameters, defaults; /* the last parameters have the defaults */
    struct jinja_nodes body;
    struct jinja_scope scope;
    bool wants_caller, wants_kwargs, wants_varargs, explicit_caller;
    uint32_t caller, kwargs, varargs; /* their slots */
    uint32_t slots;
};

struct jinja_capture {
    struct jinja_node *target, *filter; /* a `filter` block has no target, a `set` block may have no filter */
    struct jinja_nodes body;
    struct jinja_scope scope;
};
struct jinja_with {
    struct jinja_nodes targets, values, body;
    struct jinja_scope scope;
};

struct jinja_node {
    uint8_t kind;    /* enum jinja_node_kind */
    uint8_t op;      /* enum jinja_operator of a unary, binary, operand; enum jinja_use of a name */
    uint16_t height; /* 1 if there is nothing below */
    struct jinja_place place;
    struct jinja_node *next; /* in the list it is in */
    union {
        jinja_value constant;
        struct {
            struct jinja_name *name;
            struct jinja_variable variable;
        } name;
        struct jinja_nodes items; /* tuple, list, dict, sum, concat, output; the branches of an `if` */
        struct {
            struct jinja_node *object;
            struct jinja_name *name;
        } member; /* attribute, member, keyword */
        struct {
            struct jinja_node *left, *right; /* unary, not, operand: left only; item: object and key */
        } pair;
        struct {
            struct jinja_node *object, *bounds[3]; /* NULL: left out */
        } slice;
        struct {
            struct jinja_node *test, *yes, *no; /* no may be NULL */
        } condition;
        struct {
            struct jinja_node *first;
            struct jinja_nodes operands;
        } compare;
        struct {
            struct jinja_node *test; /* NULL: else */
            struct jinja_nodes body;
        } branch;
        struct {
            struct jinja_node *target, *value;
        } set;
        struct jinja_call_parts *call;
        struct jinja_for *loop;
        struct jinja_macro *macro;
        struct jinja_capture *capture;
        struct jinja_with *with;
    };
};

struct jinja_template {
    struct jinja_run run; /* its arena; after loading nothing in it changes */
    struct jinja_nodes body;
    struct jinja_scope scope;
    uint32_t slots;
    const struct jinja_name **outside; /* the names that are asked for outside */
    bool *outside_read;                /* if they are read, not only set in a branch */
    size_t outside_count, outside_room;
    struct jinja_name **names; /* by their hash; as many buckets as a power of two */
    size_t name_count, bucket_count;
};

/* Zeroed memory of the template. */
void *jinja_tree_alloc(struct jinja_template *t, size_t count, size_t size);
struct jinja_name *jinja_tree_name(struct jinja_template *t, const char *bytes, size_t size);
struct jinja_node *jinja_tree_node(struct jinja_template *t, enum jinja_node_kind kind,
                                   struct jinja_place at);
void jinja_tree_add(struct jinja_nodes *list, struct jinja_node *node);
/* Sets the height; false after a fault, if it is too large. */
bool jinja_tree_measure(struct jinja_template *t, struct jinja_node *node);
/* Calls `visit` for each node right below, in Jinja's order, until that returns false. */
typedef bool (*jinja_visit)(void *context, struct jinja_node *node);
bool jinja_tree_each(struct jinja_node *node, jinja_visit visit, void *context);
bool jinja_tree_each_of(const struct jinja_nodes *list, jinja_visit visit, void *context);

bool jinja_parse(struct jinja_template *t, const char *text, size_t size);
bool jinja_bind(struct jinja_template *t);
/* What can be told of a filter, test or call without data: names and arguments. */
bool jinja_check_filter(struct jinja_template *t, struct jinja_node *node);
bool jinja_check_test(struct jinja_template *t, struct jinja_node *node);
bool jinja_check_call(struct jinja_template *t, const struct jinja_node *node, bool global);

#endif
