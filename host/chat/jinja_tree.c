/*
 * jinja_tree.c - makes and walks the nodes of a template, and keeps its names.
 */
#include "jinja_tree.h"

#include <string.h>

void *jinja_tree_alloc(struct jinja_template *t, size_t count, size_t size) {
    void *memory = jinja_alloc(&t->run, count, size);
    return memory ? memset(memory, 0, count * size) : NULL;
}

static uint32_t hash_of(const char *bytes, size_t size) { /* FNV-1a */
    uint32_t hash = 2166136261u;
    for (size_t i = 0; i < size; i++) { hash = (hash ^ (unsigned char)bytes[i]) * 16777619u; }
    return hash;
}

/* Twice as many buckets. */
static bool grow_names(struct jinja_template *t) {
    size_t count = t->bucket_count ? t->bucket_count * 2 : 64;
    struct jinja_name **names = jinja_tree_alloc(t, count, sizeof *names);
    if (!names) { return false; }
    for (size_t i = 0; i < t->bucket_count; i++) {
        for (struct jinja_name *name = t->names[i], *next; name; name = next) {
            next = name->next;
            name->next = names[name->hash & (count - 1)];
            names[name->hash & (count - 1)] = name;
        }
    }
    t->names = names;
    t->bucket_count = count;
    return true;
}

struct jinja_name *jinja_tree_name(struct jinja_template *t, const char *bytes, size_t size) {
    uint32_t hash = hash_of(bytes, size);
    if (t->name_count == t->bucket_count && !grow_names(t)) { return NULL; }
    struct jinja_name **bucket = &t->names[hash & (t->bucket_count - 1)];
    for (struct jinja_name *name = *bucket; name; name = name->next) {
        if (name->hash == hash && name->size == size && memcmp(name->bytes, bytes, size) == 0) {
            return name;
        }
    }
    struct jinja_name *name = jinja_tree_alloc(t, 1, sizeof *name + size + 1);
    if (!name) { return NULL; }
    *name = (struct jinja_name){.size = size, .hash = hash, .outside = -1, .next = *bucket};
    memcpy(name->bytes, bytes, size);
    *bucket = name;
    t->name_count++;
    return name;
}

struct jinja_node *jinja_tree_node(struct jinja_template *t, enum jinja_node_kind kind,
                                   struct jinja_place at) {
    struct jinja_node *node = jinja_tree_alloc(t, 1, sizeof *node);
    if (node) {
        node->kind = (uint8_t)kind;
        node->height = 1;
        node->place = at;
    }
    return node;
}

void jinja_tree_add(struct jinja_nodes *list, struct jinja_node *node) {
    if (list->last) {
        list->last->next = node;
    } else {
        list->first = node;
    }
    list->last = node;
    list->count++;
}

static bool rise(void *context, struct jinja_node *below) {
    struct jinja_node *node = context;
    if (below->height >= node->height) { node->height = (uint16_t)(below->height + 1); }
    return true;
}

bool jinja_tree_measure(struct jinja_template *t, struct jinja_node *node) {
    jinja_tree_each(node, rise, node);
    if (node->height <= JINJA_HEIGHT) { return true; }
    t->run.at = node->place;
    return jinja_fail(&t->run, JINJA_LIMIT, "an expression of more than %d levels", JINJA_HEIGHT);
}

/* ---- walking ------------------------------------------------------------------------------------------- */

bool jinja_tree_each_of(const struct jinja_nodes *list, jinja_visit visit, void *context) {
    for (struct jinja_node *node = list->first; node; node = node->next) {
        if (!visit(context, node)) { return false; }
    }
    return true;
}

static bool one(struct jinja_node *node, jinja_visit visit, void *context) {
    return !node || visit(context, node);
}

static bool each_of_call(const struct jinja_call_parts *call, jinja_visit visit, void *context) {
    return one(call->object, visit, context) && jinja_tree_each_of(&call->positional, visit, context) &&
           jinja_tree_each_of(&call->keywords, visit, context) && one(call->spread, visit, context) &&
           one(call->spread_keywords, visit, context);
}

static bool each_of_macro(const struct jinja_macro *macro, jinja_visit visit, void *context) {
    return one(macro->call, visit, context) && jinja_tree_each_of(&macro->parameters, visit, context) &&
           jinja_tree_each_of(&macro->defaults, visit, context) &&
           jinja_tree_each_of(&macro->body, visit, context);
}

static bool each_of_for(const struct jinja_for *loop, jinja_visit visit, void *context) {
    return visit(context, loop->target) && visit(context, loop->iterable) &&
           jinja_tree_each_of(&loop->body, visit, context) &&
           jinja_tree_each_of(&loop->otherwise, visit, context) && one(loop->test, visit, context);
}

static bool each_of_statement(struct jinja_node *node, jinja_visit visit, void *context) {
    switch (node->kind) {
    case NODE_FOR: return each_of_for(node->loop, visit, context);
    case NODE_SET: return visit(context, node->set.target) && visit(context, node->set.value);
    case NODE_SET_BLOCK:
        return visit(context, node->capture->target) && one(node->capture->filter, visit, context) &&
               jinja_tree_each_of(&node->capture->body, visit, context);
    case NODE_FILTER_BLOCK:
        return jinja_tree_each_of(&node->capture->body, visit, context) &&
               visit(context, node->capture->filter);
    case NODE_MACRO:
    case NODE_CALL_BLOCK:
    case NODE_GENERATION: return each_of_macro(node->macro, visit, context);
    case NODE_WITH:
        return jinja_tree_each_of(&node->with->targets, visit, context) &&
               jinja_tree_each_of(&node->with->values, visit, context) &&
               jinja_tree_each_of(&node->with->body, visit, context);
    case NODE_BRANCH:
        return one(node->branch.test, visit, context) &&
               jinja_tree_each_of(&node->branch.body, visit, context);
    default: return true; /* break, continue */
    }
}

bool jinja_tree_each(struct jinja_node *node, jinja_visit visit, void *context) {
    switch (node->kind) {
    case NODE_CONSTANT:
    case NODE_NAME: return true;
    case NODE_TUPLE:
    case NODE_LIST:
    case NODE_DICT:
    case NODE_SUM:
    case NODE_CONCAT:
    case NODE_OUTPUT:
    case NODE_IF: return jinja_tree_each_of(&node->items, visit, context);
    case NODE_ATTRIBUTE:
    case NODE_MEMBER:
    case NODE_KEYWORD: return visit(context, node->member.object);
    case NODE_CALL:
    case NODE_FILTER:
    case NODE_TEST: return each_of_call(node->call, visit, context);
    case NODE_SLICE:
        return visit(context, node->slice.object) && one(node->slice.bounds[0], visit, context) &&
               one(node->slice.bounds[1], visit, context) && one(node->slice.bounds[2], visit, context);
    case NODE_ITEM:
    case NODE_UNARY:
    case NODE_BINARY:
    case NODE_NOT:
    case NODE_AND:
    case NODE_OR:
    case NODE_OPERAND: return visit(context, node->pair.left) && one(node->pair.right, visit, context);
    case NODE_COMPARE:
        return visit(context, node->compare.first) &&
               jinja_tree_each_of(&node->compare.operands, visit, context);
    case NODE_CONDITION:
        return visit(context, node->condition.test) && visit(context, node->condition.yes) &&
               one(node->condition.no, visit, context);
    default: return each_of_statement(node, visit, context);
    }
}
