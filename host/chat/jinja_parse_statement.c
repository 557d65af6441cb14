/*
 * jinja_parse_statement.c - tags: one function each.
 */
#include "jinja_parse.h"

#include <string.h>

typedef struct jinja_node *(*tag_parser)(struct jinja_parser *p, struct jinja_place at);

/* Words that end a body. */
static const char *const ends_for[] = {"endfor", "else", NULL}, *const ends_for_else[] = {"endfor", NULL};
static const char *const ends_if[] = {"elif", "else", "endif", NULL}, *const ends_else[] = {"endif", NULL};
static const char *const ends_set[] = {"endset", NULL}, *const ends_macro[] = {"endmacro", NULL};
static const char *const ends_call[] = {"endcall", NULL}, *const ends_filter[] = {"endfilter", NULL};
static const char *const ends_with[] = {"endwith", NULL}, *const ends_autoescape[] = {"endautoescape", NULL};
static const char *const ends_generation[] = {"endgeneration", NULL};

/* A body and the tag that ends it. */
static bool whole_body(struct jinja_parser *p, const char *const *ends, struct jinja_nodes *out) {
    if (!jinja_parse_body(p, ends, out)) { return false; }
    jinja_advance(p);
    return true;
}

static void *part(struct jinja_parser *p, size_t size) {
    void *memory = p->failed ? NULL : jinja_tree_alloc(p->t, 1, size);
    p->failed = p->failed || !memory;
    return memory;
}

/* ---- for, if ------------------------------------------------------------------------------------------- */

/* A target once more, with variables of its own. */
static struct jinja_node *copy_target(struct jinja_parser *p, const struct jinja_node *target) {
    struct jinja_node *copy = jinja_new(p, target->kind, target->place);
    if (!copy) { return NULL; }
    copy->op = target->op;
    copy->height = target->height;
    if (target->kind == NODE_NAME) {
        copy->name = target->name;
        return copy;
    }
    for (const struct jinja_node *item = target->items.first; item; item = item->next) {
        struct jinja_node *copied = copy_target(p, item);
        if (!copied) { return NULL; }
        jinja_tree_add(&copy->items, copied);
    }
    return copy;
}

static bool for_head(struct jinja_parser *p, struct jinja_for *loop) {
    loop->target = jinja_parse_target(p, USE_STORE, false);
    if (!loop->target || !jinja_expect_word(p, "in")) { return false; }
    loop->iterable = jinja_parse_tuple(p, false);
    if (!loop->iterable) { return false; }
    if (jinja_skip_word(p, "if")) {
        loop->test = jinja_parse_expression(p);
        loop->test_target = loop->test ? copy_target(p, loop->target) : NULL;
        if (!loop->test_target) { return false; }
    }
    loop->recursive = jinja_skip_word(p, "recursive");
    return true;
}

static struct jinja_node *parse_for(struct jinja_parser *p, struct jinja_place at) {
    struct jinja_node *node = jinja_new(p, NODE_FOR, at);
    struct jinja_for *loop = part(p, sizeof *loop);
    if (!node || !loop) { return NULL; }
    node->loop = loop;
    if (!for_head(p, loop) || !jinja_parse_body(p, ends_for, &loop->body)) { return NULL; }
    bool otherwise = jinja_at_word(p, "else");
    jinja_advance(p);
    if (otherwise && !whole_body(p, ends_for_else, &loop->otherwise)) { return NULL; }
    return jinja_done(p, node);
}

static bool branch(struct jinja_parser *p, struct jinja_node *parent, bool tested) {
    struct jinja_node *node = jinja_new(p, NODE_BRANCH, p->now.place);
    if (!node) { return false; }
    if (tested && !(node->branch.test = jinja_parse_tuple(p, false))) { return false; }
    if (!jinja_parse_body(p, tested ? ends_if : ends_else, &node->branch.body)) { return false; }
    jinja_tree_add(&parent->items, node);
    return jinja_done(p, node);
}

static struct jinja_node *parse_if(struct jinja_parser *p, struct jinja_place at) {
    struct jinja_node *node = jinja_new(p, NODE_IF, at);
    bool more = node && branch(p, node, true);
    while (more && jinja_skip_word(p, "elif")) { more = branch(p, node, true); }
    if (more && jinja_skip_word(p, "else")) { more = branch(p, node, false); }
    if (!more) { return NULL; }
    jinja_advance(p); /* endif */
    return jinja_done(p, node);
}

/* ---- set, filter, with --------------------------------------------------------------------------------- */

static struct jinja_node *capture(struct jinja_parser *p, struct jinja_place at, struct jinja_node *target) {
    struct jinja_node *node = jinja_new(p, target ? NODE_SET_BLOCK : NODE_FILTER_BLOCK, at);
    struct jinja_capture *parts = part(p, sizeof *parts);
    if (!node || !parts) { return NULL; }
    node->capture = parts;
    parts->target = target;
    if (!target || jinja_at_sign(p, '|')) {
        parts->filter = jinja_parse_filters(p, NULL, !target);
        if (!parts->filter) { return NULL; }
    }
    return whole_body(p, target ? ends_set : ends_filter, &parts->body) ? jinja_done(p, node) : NULL;
}

static struct jinja_node *parse_set(struct jinja_parser *p, struct jinja_place at) {
    struct jinja_node *target = jinja_parse_target(p, USE_STORE, true);
    if (!target) { return NULL; }
    if (!jinja_skip_sign(p, '=')) { return capture(p, at, target); }
    struct jinja_node *node = jinja_new(p, NODE_SET, at);
    if (!node) { return NULL; }
    node->set.target = target;
    node->set.value = jinja_parse_tuple(p, true);
    return node->set.value ? jinja_done(p, node) : NULL;
}

static struct jinja_node *parse_filter_block(struct jinja_parser *p, struct jinja_place at) {
    return capture(p, at, NULL);
}

static struct jinja_node *with(struct jinja_parser *p, struct jinja_place at) {
    struct jinja_node *node = jinja_new(p, NODE_WITH, at);
    struct jinja_with *parts = part(p, sizeof *parts);
    if (!node || !parts) { return NULL; }
    node->with = parts;
    return node;
}

static struct jinja_node *parse_with(struct jinja_parser *p, struct jinja_place at) {
    struct jinja_node *node = with(p, at);
    while (node && p->now.kind != TOKEN_TAG_END && !jinja_at_sign(p, ':')) {
        struct jinja_node *target, *value;
        if (node->with->targets.count > 0 && !jinja_expect_sign(p, ',')) { return NULL; }
        target = jinja_parse_target(p, USE_PARAMETER, false);
        if (!target || !jinja_expect_sign(p, '=')) { return NULL; }
        value = jinja_parse_expression(p);
        if (!value) { return NULL; }
        jinja_tree_add(&node->with->targets, target);
        jinja_tree_add(&node->with->values, value);
    }
    return node && whole_body(p, ends_with, &node->with->body) ? jinja_done(p, node) : NULL;
}

/* Nothing is ever escaped here, so that only "false" can be had: a scope of its own. */
static struct jinja_node *parse_autoescape(struct jinja_parser *p, struct jinja_place at) {
    struct jinja_node *node = with(p, at);
    if (!jinja_skip_word(p, "false") && !jinja_skip_word(p, "False")) {
        jinja_parse_fail(p, at, "'autoescape' is not supported, except for 'autoescape false'");
        return NULL;
    }
    return node && whole_body(p, ends_autoescape, &node->with->body) ? jinja_done(p, node) : NULL;
}

/* ---- macros -------------------------------------------------------------------------------------------- */

static bool parameter(struct jinja_parser *p, struct jinja_macro *macro) {
    struct jinja_node *node = jinja_parse_name_target(p, USE_PARAMETER);
    if (!node) { return false; }
    for (const struct jinja_node *other = macro->parameters.first; other; other = other->next) {
        if (other->name.name == node->name.name) {
            return jinja_parse_fail(p, node->place, "duplicate argument '%.60s'", node->name.name->bytes);
        }
    }
    jinja_tree_add(&macro->parameters, node);
    if (jinja_skip_sign(p, '=')) {
        struct jinja_node *value = jinja_parse_expression(p);
        if (!value) { return false; }
        jinja_tree_add(&macro->defaults, value);
    } else if (macro->defaults.count > 0) {
        return jinja_parse_fail(p, node->place, "non-default argument follows default argument");
    }
    return true;
}

static bool signature(struct jinja_parser *p, struct jinja_macro *macro) {
    if (!jinja_expect_sign(p, '(')) { return false; }
    while (!jinja_at_sign(p, ')')) {
        if (macro->parameters.count > 0 && !jinja_expect_sign(p, ',')) { return false; }
        if (!parameter(p, macro)) { return false; }
    }
    return jinja_expect_sign(p, ')');
}

static struct jinja_node *macro(struct jinja_parser *p, enum jinja_node_kind kind, struct jinja_place at) {
    struct jinja_node *node = jinja_new(p, kind, at);
    struct jinja_macro *parts = part(p, sizeof *parts);
    if (!node || !parts) { return NULL; }
    node->macro = parts;
    return node;
}

static struct jinja_node *parse_macro(struct jinja_parser *p, struct jinja_place at) {
    struct jinja_node *node = macro(p, NODE_MACRO, at);
    if (!node || !(node->macro->target = jinja_parse_name_target(p, USE_STORE))) { return NULL; }
    node->macro->name = node->macro->target->name.name;
    return signature(p, node->macro) && whole_body(p, ends_macro, &node->macro->body) ? jinja_done(p, node)
                                                                                      : NULL;
}

static struct jinja_node *parse_call_block(struct jinja_parser *p, struct jinja_place at) {
    struct jinja_node *node = macro(p, NODE_CALL_BLOCK, at);
    if (!node || (jinja_at_sign(p, '(') && !signature(p, node->macro))) { return NULL; }
    struct jinja_node *call = node->macro->call = jinja_parse_expression(p);
    if (!call) { return NULL; }
    if (call->kind != NODE_CALL) {
        jinja_parse_fail(p, call->place, "expected a call");
        return NULL;
    }
    for (const struct jinja_node *keyword = call->call->keywords.first; keyword; keyword = keyword->next) {
        if (strcmp(keyword->member.name->bytes, "caller") == 0) {
            jinja_parse_fail(p, keyword->place, "keyword argument 'caller' repeated: it is the block");
            return NULL;
        }
    }
    return whole_body(p, ends_call, &node->macro->body) ? jinja_done(p, node) : NULL;
}

/* The answer's part of a training text: a function that is called in its place. */
static struct jinja_node *parse_generation(struct jinja_parser *p, struct jinja_place at) {
    struct jinja_node *node = macro(p, NODE_GENERATION, at);
    return node && whole_body(p, ends_generation, &node->macro->body) ? jinja_done(p, node) : NULL;
}

/* ---- small ones ---------------------------------------------------------------------------------------- */

static struct jinja_node *parse_break(struct jinja_parser *p, struct jinja_place at) {
    return jinja_new(p, NODE_BREAK, at);
}

static struct jinja_node *parse_continue(struct jinja_parser *p, struct jinja_place at) {
    return jinja_new(p, NODE_CONTINUE, at);
}

static struct jinja_node *parse_print(struct jinja_parser *p, struct jinja_place at) {
    struct jinja_node *node = jinja_new(p, NODE_OUTPUT, at);
    while (node && p->now.kind != TOKEN_TAG_END) {
        if (node->items.count > 0 && !jinja_expect_sign(p, ',')) { return NULL; }
        struct jinja_node *value = jinja_parse_expression(p);
        if (!value) { return NULL; }
        jinja_tree_add(&node->items, value);
    }
    return jinja_done(p, node);
}

static struct jinja_node *refuse_files(struct jinja_parser *p, struct jinja_place at) {
    jinja_parse_fail(p, at, "'%s' is not supported: a template cannot read other templates",
                     p->open_tags[p->open_count - 1]);
    return NULL;
}

static struct jinja_node *refuse_block(struct jinja_parser *p, struct jinja_place at) {
    jinja_parse_fail(p, at, "'block' is not supported: there are no templates that extend others");
    return NULL;
}

static struct jinja_node *refuse_do(struct jinja_parser *p, struct jinja_place at) {
    jinja_parse_fail(p, at, "'do' is not part of the language of chat templates");
    return NULL;
}

static const struct {
    const char *name;
    tag_parser parse;
} tags[] = {
    {"for", parse_for},
    {"if", parse_if},
    {"set", parse_set},
    {"macro", parse_macro},
    {"call", parse_call_block},
    {"filter", parse_filter_block},
    {"with", parse_with},
    {"print", parse_print},
    {"generation", parse_generation},
    {"break", parse_break},
    {"continue", parse_continue},
    {"autoescape", parse_autoescape},
    {"include", refuse_files},
    {"import", refuse_files},
    {"from", refuse_files},
    {"extends", refuse_files},
    {"block", refuse_block},
    {"do", refuse_do},
};

/* NULL without a fault: there is no such tag. */
struct jinja_node *jinja_parse_statement(struct jinja_parser *p) {
    struct jinja_place at = p->now.place;
    for (size_t i = 0; i < JINJA_COUNT(tags); i++) {
        if (!jinja_at_word(p, tags[i].name)) { continue; }
        if (!jinja_nest(p) || p->open_count == JINJA_NESTING) { return NULL; }
        static const char *const nothing[] = {NULL};
        p->waiting[p->open_count] = nothing;
        p->open_tags[p->open_count++] = tags[i].name;
        jinja_advance(p);
        struct jinja_node *node = tags[i].parse(p, at);
        p->failed = p->failed || !node;
        p->open_count--;
        p->nesting--;
        return node;
    }
    return NULL;
}
