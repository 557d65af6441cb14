/*
 * jinja_parse_expression.c - expressions, one function for each level of Jinja's grammar, weakest first.
 */
#include "jinja_parse.h"

static struct jinja_node *parse_or(struct jinja_parser *p);
static struct jinja_node *parse_unary(struct jinja_parser *p, bool filters);

static struct jinja_node *pair(struct jinja_parser *p, enum jinja_node_kind kind, int op,
                               struct jinja_node *left, struct jinja_node *right, struct jinja_place at) {
    struct jinja_node *node = left ? jinja_new(p, kind, at) : NULL;
    if (!node) { return NULL; }
    node->op = (uint8_t)op;
    node->pair.left = left;
    node->pair.right = right;
    return jinja_done(p, node);
}

/* ---- operators ----------------------------------------------------------------------------------------- */

/* a if b else c: the else is itself such an expression; without one, a further `if` may follow. */
struct jinja_node *jinja_parse_expression(struct jinja_parser *p) {
    if (!jinja_nest(p)) { return NULL; }
    struct jinja_place at = p->now.place;
    struct jinja_node *node = parse_or(p);
    while (node && jinja_skip_word(p, "if")) {
        struct jinja_node *condition = jinja_new(p, NODE_CONDITION, at);
        if (!condition) { return NULL; }
        condition->condition.yes = node;
        condition->condition.test = parse_or(p);
        if (!condition->condition.test) { return NULL; }
        if (jinja_skip_word(p, "else") && !(condition->condition.no = jinja_parse_expression(p))) {
            return NULL;
        }
        node = jinja_done(p, condition);
        at = p->now.place;
    }
    p->nesting--;
    return node;
}

/* The words and signs of binary operators: those of one level, the first that fits. */
struct level {
    enum jinja_node_kind kind;
    struct {
        uint32_t sign;
        const char *word;
        enum jinja_operator op;
    } operators[5];
    struct jinja_node *(*next)(struct jinja_parser *p);
};

/* a op b op c, from the left. */
static struct jinja_node *parse_level(struct jinja_parser *p, const struct level *level) {
    struct jinja_place at = p->now.place;
    struct jinja_node *left = level->next(p);
    for (size_t i = 0; left && (level->operators[i].sign || level->operators[i].word); i++) {
        if (level->operators[i].word ? !jinja_skip_word(p, level->operators[i].word)
                                     : !jinja_skip_sign(p, level->operators[i].sign)) {
            continue;
        }
        struct jinja_node *right = level->next(p);
        if (!right) { return NULL; }
        left = pair(p, level->kind, level->operators[i].op, left, right, at);
        at = p->now.place;
        i = (size_t)-1; /* from the first again */
    }
    return left;
}

static struct jinja_node *parse_plain_unary(struct jinja_parser *p) {
    return parse_unary(p, true);
}

static struct jinja_node *parse_power(struct jinja_parser *p) {
    static const struct level level = {
        NODE_BINARY, {{JINJA_SIGN('*', '*'), NULL, JINJA_POW}}, parse_plain_unary};
    return parse_level(p, &level);
}

static struct jinja_node *parse_product(struct jinja_parser *p) {
    static const struct level level = {NODE_BINARY,
                                       {{'*', NULL, JINJA_MUL},
                                        {'/', NULL, JINJA_DIV},
                                        {JINJA_SIGN('/', '/'), NULL, JINJA_FLOOR_DIV},
                                        {'%', NULL, JINJA_MOD}},
                                       parse_power};
    return parse_level(p, &level);
}

static struct jinja_node *parse_concat(struct jinja_parser *p) {
    struct jinja_place at = p->now.place;
    struct jinja_node *first = parse_product(p), *node = first;
    if (!first || !jinja_at_sign(p, '~')) { return first; }
    node = jinja_new(p, NODE_CONCAT, at);
    if (!node) { return NULL; }
    jinja_tree_add(&node->items, first);
    while (jinja_skip_sign(p, '~')) {
        struct jinja_node *part = parse_product(p);
        if (!part) { return NULL; }
        jinja_tree_add(&node->items, part);
    }
    return jinja_done(p, node);
}

/* a + b + c is one node, up to a minus. */
static struct jinja_node *parse_sum(struct jinja_parser *p) {
    struct jinja_place at = p->now.place;
    struct jinja_node *left = parse_concat(p), *sum = NULL;
    while (left && (jinja_at_sign(p, '+') || jinja_at_sign(p, '-'))) {
        bool plus = jinja_at_sign(p, '+');
        jinja_advance(p);
        struct jinja_node *right = parse_concat(p);
        if (!right) { return NULL; }
        if (plus && !sum) {
            sum = jinja_new(p, NODE_SUM, at);
            if (!sum) { return NULL; }
            jinja_tree_add(&sum->items, left);
        }
        if (plus) {
            jinja_tree_add(&sum->items, right);
        } else {
            left = pair(p, NODE_BINARY, JINJA_SUB, sum ? jinja_done(p, sum) : left, right, at);
            sum = NULL;
        }
        at = p->now.place;
    }
    return sum ? jinja_done(p, sum) : left;
}

/* The comparison that the parser is at; false if it is at none. */
static bool comparison(struct jinja_parser *p, enum jinja_operator *op) {
    static const struct {
        uint32_t sign;
        enum jinja_operator op;
    } signs[] = {{JINJA_SIGN('=', '='), JINJA_EQ},
                 {JINJA_SIGN('!', '='), JINJA_NE},
                 {'<', JINJA_LT},
                 {JINJA_SIGN('<', '='), JINJA_LE},
                 {'>', JINJA_GT},
                 {JINJA_SIGN('>', '='), JINJA_GE}};
    for (size_t i = 0; i < JINJA_COUNT(signs); i++) {
        if (jinja_skip_sign(p, signs[i].sign)) {
            *op = signs[i].op;
            return true;
        }
    }
    *op = JINJA_IN;
    if (jinja_skip_word(p, "in")) { return true; }
    if (!jinja_at_word(p, "not")) { return false; }
    const struct jinja_token *next = jinja_ahead(p);
    if (next->kind != TOKEN_NAME || next->name->size != 2 || next->name->bytes[0] != 'i' ||
        next->name->bytes[1] != 'n') {
        return false;
    }
    jinja_advance(p);
    jinja_advance(p);
    *op = JINJA_NOT_IN;
    return true;
}

static struct jinja_node *parse_compare(struct jinja_parser *p) {
    struct jinja_place at = p->now.place;
    enum jinja_operator op;
    struct jinja_node *first = parse_sum(p), *node = NULL;
    while (first && comparison(p, &op)) {
        struct jinja_node *right = parse_sum(p);
        struct jinja_node *operand = right ? pair(p, NODE_OPERAND, op, right, NULL, right->place) : NULL;
        if (!node) { node = jinja_new(p, NODE_COMPARE, at); }
        if (!operand || !node) { return NULL; }
        node->compare.first = first;
        jinja_tree_add(&node->compare.operands, operand);
    }
    return node ? jinja_done(p, node) : first;
}

static struct jinja_node *parse_not(struct jinja_parser *p) {
    struct jinja_place at = p->now.place;
    if (!jinja_at_word(p, "not")) { return parse_compare(p); }
    if (!jinja_nest(p)) { return NULL; }
    jinja_advance(p);
    struct jinja_node *node = pair(p, NODE_NOT, 0, parse_not(p), NULL, at);
    p->nesting--;
    return node;
}

static struct jinja_node *parse_and(struct jinja_parser *p) {
    static const struct level level = {NODE_AND, {{0, "and", 0}}, parse_not};
    return parse_level(p, &level);
}

static struct jinja_node *parse_or(struct jinja_parser *p) {
    static const struct level level = {NODE_OR, {{0, "or", 0}}, parse_and};
    return parse_level(p, &level);
}

/* ---- what is called, filtered, tested ------------------------------------------------------------------ */

static struct jinja_node *new_call(struct jinja_parser *p, enum jinja_node_kind kind,
                                   struct jinja_node *object, struct jinja_place at) {
    struct jinja_node *node = jinja_new(p, kind, at);
    if (!node) { return NULL; }
    node->call = jinja_tree_alloc(p->t, 1, sizeof *node->call);
    p->failed = !node->call;
    if (p->failed) { return NULL; }
    node->call->object = object;
    return node;
}

static bool keyword_argument(struct jinja_parser *p, struct jinja_call_parts *call) {
    struct jinja_node *node = jinja_new(p, NODE_KEYWORD, p->now.place);
    if (!node) { return false; }
    node->member.name = p->now.name;
    node->member.name->member = true;
    for (const struct jinja_node *other = call->keywords.first; other; other = other->next) {
        if (other->member.name == node->member.name) {
            return jinja_parse_fail(p, node->place, "keyword argument '%.60s' repeated",
                                    node->member.name->bytes);
        }
    }
    jinja_advance(p);
    jinja_advance(p);
    node->member.object = jinja_parse_expression(p);
    if (!node->member.object || !jinja_done(p, node)) { return false; }
    jinja_tree_add(&call->keywords, node);
    return true;
}

/* One of a, a=b, *a, **a, in this order: whether the order is kept is said to `ordered`. */
static bool argument(struct jinja_parser *p, struct jinja_call_parts *call, bool *ordered) {
    const struct jinja_token *next = p->now.kind == TOKEN_NAME ? jinja_ahead(p) : NULL;
    if (jinja_skip_sign(p, '*')) {
        *ordered = !call->spread && !call->spread_keywords;
        call->spread = jinja_parse_expression(p);
        return call->spread;
    }
    if (jinja_skip_sign(p, JINJA_SIGN('*', '*'))) {
        *ordered = !call->spread_keywords;
        call->spread_keywords = jinja_parse_expression(p);
        return call->spread_keywords;
    }
    if (next && next->kind == TOKEN_OPERATOR && next->sign == '=') {
        *ordered = !call->spread_keywords;
        return keyword_argument(p, call);
    }
    *ordered = !call->spread && !call->spread_keywords && call->keywords.count == 0;
    struct jinja_node *node = jinja_parse_expression(p);
    if (!node) { return false; }
    jinja_tree_add(&call->positional, node);
    return true;
}

static bool arguments(struct jinja_parser *p, struct jinja_call_parts *call) {
    struct jinja_place at = p->now.place;
    bool first = true, ordered = true;
    if (!jinja_expect_sign(p, '(')) { return false; }
    while (!jinja_at_sign(p, ')')) {
        if (!first && !jinja_expect_sign(p, ',')) { return false; }
        if (!first && jinja_at_sign(p, ')')) { break; }
        if (!argument(p, call, &ordered)) { return false; }
        if (!ordered) { return jinja_parse_fail(p, at, "invalid syntax for function call expression"); }
        first = false;
    }
    return jinja_expect_sign(p, ')');
}

static struct jinja_node *parse_call(struct jinja_parser *p, struct jinja_node *object) {
    struct jinja_node *node = new_call(p, NODE_CALL, object, p->now.place);
    return node && arguments(p, node->call) ? jinja_done(p, node) : NULL;
}

/* The name of a filter or test: dots are allowed in it, which no name here has. */
static bool builtin_name(struct jinja_parser *p, struct jinja_name **out) {
    struct jinja_name *further;
    struct jinja_place at = p->now.place;
    if (!jinja_expect_name(p, out)) { return false; }
    if (!jinja_skip_sign(p, '.')) { return true; }
    return jinja_expect_name(p, &further) &&
           jinja_parse_fail(p, at, "no filter or test named '%.60s.%.60s'", (*out)->bytes, further->bytes);
}

struct jinja_node *jinja_parse_filters(struct jinja_parser *p, struct jinja_node *node, bool bare) {
    while (bare || jinja_skip_sign(p, '|')) {
        node = new_call(p, NODE_FILTER, node, p->now.place);
        if (!node || !builtin_name(p, &node->call->name)) { return NULL; }
        if (jinja_at_sign(p, '(') && !arguments(p, node->call)) { return NULL; }
        node = jinja_done(p, node);
        if (!node) { return NULL; }
        bare = false;
    }
    return node;
}

static struct jinja_node *parse_primary(struct jinja_parser *p, bool members);
static struct jinja_node *parse_postfix(struct jinja_parser *p, struct jinja_node *node);

/* A test's only argument may stand without parentheses. */
static bool starts_argument(const struct jinja_parser *p) {
    switch (p->now.kind) {
    case TOKEN_STRING:
    case TOKEN_INTEGER:
    case TOKEN_FLOAT: return true;
    case TOKEN_NAME: return !jinja_at_word(p, "else") && !jinja_at_word(p, "or") && !jinja_at_word(p, "and");
    default: return jinja_at_sign(p, '[') || jinja_at_sign(p, '{');
    }
}

static struct jinja_node *parse_test(struct jinja_parser *p, struct jinja_node *object) {
    struct jinja_place at = p->now.place;
    jinja_advance(p);
    bool negated = jinja_skip_word(p, "not");
    struct jinja_node *node = new_call(p, NODE_TEST, object, at);
    if (!node || !builtin_name(p, &node->call->name)) { return NULL; }
    if (jinja_at_sign(p, '(')) {
        if (!arguments(p, node->call)) { return NULL; }
    } else if (starts_argument(p)) {
        if (jinja_at_word(p, "is")) {
            jinja_parse_fail(p, p->now.place, "tests cannot be chained with is");
            return NULL;
        }
        struct jinja_node *primary = parse_primary(p, false);
        struct jinja_node *argument = primary ? parse_postfix(p, primary) : NULL;
        if (!argument) { return NULL; }
        jinja_tree_add(&node->call->positional, argument);
    }
    node = jinja_done(p, node);
    return negated ? pair(p, NODE_NOT, 0, node, NULL, at) : node;
}

/* ---- what stands behind a value ------------------------------------------------------------------------ */

static struct jinja_node *parse_attribute(struct jinja_parser *p, struct jinja_node *object,
                                          struct jinja_place at) {
    struct jinja_node *node;
    if (p->now.kind == TOKEN_NAME) {
        node = jinja_new(p, NODE_ATTRIBUTE, at);
        if (!node) { return NULL; }
        node->member.object = object;
        node->member.name = p->now.name;
        jinja_advance(p);
        return jinja_done(p, node);
    }
    if (p->now.kind != TOKEN_INTEGER) {
        jinja_parse_fail(p, p->now.place, "expected name or number behind the dot");
        return NULL;
    }
    struct jinja_node *key = jinja_new(p, NODE_CONSTANT, p->now.place);
    if (!key) { return NULL; }
    key->constant = p->now.value;
    jinja_advance(p);
    return pair(p, NODE_ITEM, 0, object, key, at);
}

/* One bound of a slice, if there is one; then, if there may be, the colon behind it. */
static bool slice_bound(struct jinja_parser *p, struct jinja_node **out) {
    if (jinja_at_sign(p, ':') || jinja_at_sign(p, ']') || jinja_at_sign(p, ',')) { return true; }
    *out = jinja_parse_expression(p);
    return *out;
}

static struct jinja_node *parse_slice(struct jinja_parser *p, struct jinja_node *object,
                                      struct jinja_node *start, struct jinja_place at) {
    struct jinja_node *node = jinja_new(p, NODE_SLICE, at);
    if (!node) { return NULL; }
    node->slice.object = object;
    node->slice.bounds[0] = start;
    if (!jinja_expect_sign(p, ':') || !slice_bound(p, &node->slice.bounds[1])) { return NULL; }
    if (jinja_skip_sign(p, ':') && !slice_bound(p, &node->slice.bounds[2])) { return NULL; }
    if (!jinja_at_sign(p, ']')) {
        jinja_parse_expected(p, "']' behind a slice");
        return NULL;
    }
    return jinja_done(p, node);
}

/* Further keys behind the first: all together are one tuple. */
static struct jinja_node *key_tuple(struct jinja_parser *p, struct jinja_node *first, struct jinja_place at) {
    struct jinja_node *tuple = jinja_new(p, NODE_TUPLE, at);
    if (!tuple) { return NULL; }
    if (first) { jinja_tree_add(&tuple->items, first); }
    while (!jinja_at_sign(p, ']')) {
        struct jinja_node *key = jinja_expect_sign(p, ',') ? jinja_parse_expression(p) : NULL;
        if (!key) { return NULL; }
        jinja_tree_add(&tuple->items, key);
    }
    return jinja_done(p, tuple);
}

static struct jinja_node *parse_subscript(struct jinja_parser *p, struct jinja_node *object,
                                          struct jinja_place at) {
    struct jinja_node *key = NULL, *node;
    if (!jinja_at_sign(p, ':') && !jinja_at_sign(p, ']') && !(key = jinja_parse_expression(p))) {
        return NULL;
    }
    if (jinja_at_sign(p, ':')) {
        node = parse_slice(p, object, key, at);
    } else {
        if (!key || !jinja_at_sign(p, ']')) { key = key_tuple(p, key, at); }
        node = key ? pair(p, NODE_ITEM, 0, object, key, at) : NULL;
    }
    return node && jinja_expect_sign(p, ']') ? node : NULL;
}

static struct jinja_node *parse_postfix(struct jinja_parser *p, struct jinja_node *node) {
    while (node) {
        struct jinja_place at = p->now.place;
        if (jinja_skip_sign(p, '.')) {
            node = parse_attribute(p, node, at);
        } else if (jinja_skip_sign(p, '[')) {
            node = parse_subscript(p, node, at);
        } else if (jinja_at_sign(p, '(')) {
            node = parse_call(p, node);
        } else {
            break;
        }
    }
    return node;
}

static struct jinja_node *parse_filtered(struct jinja_parser *p, struct jinja_node *node) {
    while (node) {
        if (jinja_at_sign(p, '|')) {
            node = jinja_parse_filters(p, node, false);
        } else if (jinja_at_word(p, "is")) {
            node = parse_test(p, node);
        } else if (jinja_at_sign(p, '(')) {
            node = parse_call(p, node);
        } else {
            break;
        }
    }
    return node;
}

static struct jinja_node *parse_unary(struct jinja_parser *p, bool filters) {
    struct jinja_place at = p->now.place;
    struct jinja_node *node;
    if (jinja_at_sign(p, '-') || jinja_at_sign(p, '+')) {
        enum jinja_operator op = jinja_at_sign(p, '-') ? JINJA_NEG : JINJA_POS;
        if (!jinja_nest(p)) { return NULL; }
        jinja_advance(p);
        node = pair(p, NODE_UNARY, op, parse_unary(p, false), NULL, at);
        p->nesting--;
    } else {
        node = parse_primary(p, false);
    }
    node = node ? parse_postfix(p, node) : NULL;
    return node && filters ? parse_filtered(p, node) : node;
}

/* ---- values -------------------------------------------------------------------------------------------- */

static struct jinja_node *constant(struct jinja_parser *p, jinja_value value, struct jinja_place at) {
    struct jinja_node *node = jinja_new(p, NODE_CONSTANT, at);
    if (node) { node->constant = value; }
    return node;
}

/* true, True, none, ... are values; undefined if the word is a name. */
static jinja_value word_value(const struct jinja_parser *p) {
    if (jinja_at_word(p, "true") || jinja_at_word(p, "True")) { return jinja_bool(true); }
    if (jinja_at_word(p, "false") || jinja_at_word(p, "False")) { return jinja_bool(false); }
    if (jinja_at_word(p, "none") || jinja_at_word(p, "None")) { return jinja_none(); }
    return jinja_undefined(NULL);
}

static struct jinja_node *parse_word(struct jinja_parser *p, bool members) {
    struct jinja_place at = p->now.place;
    struct jinja_name *name = p->now.name;
    jinja_value value = word_value(p);
    jinja_advance(p);
    if (value.type != JINJA_UNDEFINED) { return constant(p, value, at); }
    struct jinja_node *node = jinja_new(p, NODE_NAME, at);
    if (!node) { return NULL; }
    node->name.name = name;
    if (!members || !jinja_skip_sign(p, '.')) { return node; }
    struct jinja_node *member = jinja_new(p, NODE_MEMBER, at);
    if (!member || !jinja_expect_name(p, &member->member.name)) { return NULL; }
    member->member.object = node;
    member->member.name->member = true;
    return jinja_done(p, member);
}

/* "a" "b" is one string. It may become a key, by which something is called later. */
static struct jinja_node *parse_string(struct jinja_parser *p) {
    struct jinja_place at = p->now.place;
    struct jinja_builder builder = {.run = &p->t->run};
    jinja_value value = p->now.value;
    jinja_advance(p);
    if (p->now.kind == TOKEN_STRING) {
        bool built = jinja_build_from(&builder, value.string, 0, value.string->size);
        for (; built && p->now.kind == TOKEN_STRING; jinja_advance(p)) {
            built = jinja_build_from(&builder, p->now.value.string, 0, p->now.value.string->size);
        }
        p->failed = p->failed || !built || !jinja_built(&builder, &value);
        if (p->failed) { return NULL; }
    }
    struct jinja_name *name = jinja_tree_name(p->t, value.string->bytes, value.string->size);
    p->failed = p->failed || !name;
    if (name) { name->member = true; }
    return constant(p, value, at);
}

/* The items of [...] or {...} up to that sign. */
static struct jinja_node *parse_items(struct jinja_parser *p, enum jinja_node_kind kind, uint32_t end) {
    struct jinja_node *node = jinja_new(p, kind, p->now.place);
    jinja_advance(p);
    while (node && !jinja_at_sign(p, end)) {
        if (node->items.count > 0 && !jinja_expect_sign(p, ',')) { return NULL; }
        if (jinja_at_sign(p, end)) { break; }
        for (int parts = kind == NODE_DICT ? 2 : 1; parts > 0; parts--) {
            struct jinja_node *item = jinja_parse_expression(p);
            if (!item || (parts == 2 && !jinja_expect_sign(p, ':'))) { return NULL; }
            jinja_tree_add(&node->items, item);
        }
    }
    jinja_advance(p);
    return jinja_done(p, node);
}

static bool at_tuple_end(const struct jinja_parser *p) {
    return p->now.kind == TOKEN_PRINT_END || p->now.kind == TOKEN_TAG_END || jinja_at_sign(p, ')');
}

enum tuple_of { OF_EXPRESSIONS, OF_EXPRESSIONS_WITHOUT_IF, OF_NAMES, OF_NAMES_AND_MEMBERS };

static struct jinja_node *tuple_part(struct jinja_parser *p, enum tuple_of of) {
    switch (of) {
    case OF_EXPRESSIONS: return jinja_parse_expression(p);
    case OF_EXPRESSIONS_WITHOUT_IF: return parse_or(p);
    default: return parse_primary(p, of == OF_NAMES_AND_MEMBERS);
    }
}

/* An expression, or a tuple of them if there is a comma. An empty one needs parentheses. */
static struct jinja_node *parse_tuple(struct jinja_parser *p, enum tuple_of of, bool parentheses) {
    struct jinja_place at = p->now.place;
    struct jinja_nodes parts = {0};
    bool comma = false;
    while (!at_tuple_end(p)) {
        struct jinja_node *part = tuple_part(p, of);
        if (!part) { return NULL; }
        jinja_tree_add(&parts, part);
        if (!jinja_skip_sign(p, ',')) { break; }
        comma = true;
    }
    if (!comma && parts.count > 0) { return parts.first; }
    if (!comma && !parentheses) {
        jinja_parse_expected(p, "an expression");
        return NULL;
    }
    struct jinja_node *node = jinja_new(p, NODE_TUPLE, at);
    if (node) { node->items = parts; }
    return jinja_done(p, node);
}

struct jinja_node *jinja_parse_tuple(struct jinja_parser *p, bool conditions) {
    return parse_tuple(p, conditions ? OF_EXPRESSIONS : OF_EXPRESSIONS_WITHOUT_IF, false);
}

static struct jinja_node *parse_parentheses(struct jinja_parser *p) {
    jinja_advance(p);
    struct jinja_node *node = parse_tuple(p, OF_EXPRESSIONS, true);
    return node && jinja_expect_sign(p, ')') ? node : NULL;
}

static struct jinja_node *parse_primary(struct jinja_parser *p, bool members) {
    struct jinja_node *node = NULL;
    switch (p->now.kind) {
    case TOKEN_NAME: return parse_word(p, members);
    case TOKEN_STRING: return parse_string(p);
    case TOKEN_INTEGER:
    case TOKEN_FLOAT:
        node = constant(p, p->now.value, p->now.place);
        jinja_advance(p);
        return node;
    default: break;
    }
    if (jinja_at_sign(p, '(')) { return parse_parentheses(p); }
    if (jinja_at_sign(p, '[')) { return parse_items(p, NODE_LIST, ']'); }
    if (jinja_at_sign(p, '{')) { return parse_items(p, NODE_DICT, '}'); }
    jinja_parse_expected(p, "an expression");
    return NULL;
}

/* ---- targets ------------------------------------------------------------------------------------------- */

/* Marks the names of a target; false if it is none. */
static bool assign_to(struct jinja_parser *p, struct jinja_node *node, enum jinja_use use) {
    if (node->kind == NODE_NAME) { node->op = (uint8_t)use; }
    if (node->kind == NODE_NAME || node->kind == NODE_MEMBER) { return true; }
    if (node->kind != NODE_TUPLE) {
        return jinja_parse_fail(p, node->place,
                                "this cannot be assigned to: a name or a tuple of names is expected");
    }
    for (struct jinja_node *part = node->items.first; part; part = part->next) {
        if (!assign_to(p, part, use)) { return false; }
    }
    return true;
}

struct jinja_node *jinja_parse_target(struct jinja_parser *p, enum jinja_use use, bool members) {
    struct jinja_node *node = parse_tuple(p, members ? OF_NAMES_AND_MEMBERS : OF_NAMES, false);
    return node && assign_to(p, node, use) ? node : NULL;
}

struct jinja_node *jinja_parse_name_target(struct jinja_parser *p, enum jinja_use use) {
    struct jinja_place at = p->now.place;
    struct jinja_name *name;
    bool value = word_value(p).type != JINJA_UNDEFINED;
    if (!jinja_expect_name(p, &name)) { return NULL; }
    struct jinja_node *node = jinja_new(p, NODE_NAME, at);
    if (!node) { return NULL; }
    node->name.name = name;
    node->op = (uint8_t)use;
    if (!value) { return node; }
    jinja_parse_fail(p, at, "'%s' is a value and cannot be assigned to", name->bytes);
    return NULL;
}
