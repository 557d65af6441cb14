/*
 * ctc_beam.c - prefix beam search over ctc rows, in logarithms.
 *
 * The beam holds prefixes of a text, each with two sums over the paths that spell it: of those that end in a blank, and of
 * those that end in its last symbol. A further row lets a prefix stay what it is (a blank, or its last symbol again), or
 * makes it longer by a symbol; its own last symbol again makes it longer only behind a blank. Where a prefix that is made
 * longer is another one of the beam, the sums are added. The best `beam` of all that come out are the next beam.
 *
 * Prefixes are nodes of a tree, so that what begins alike is kept once, and equal prefixes are the same node. Beside the
 * sums each of both ends has its most probable path: the rows of its last symbol, and marks of the symbols before. Nodes
 * and marks are counted and given back; what lies further back than the lag is settled (settle()), so there is a bound.
 */
#include "ctc_beam.h"

#include <math.h>
#include <stdlib.h>

#define NONE UINT32_MAX
enum { BLANK, SYMBOL, ENDS }; /* what a path ends in */

/* A prefix: its parent's and a symbol. The root's symbol is the blank, or the last one that is settled. */
struct node {
    uint32_t symbol, parent, child, sibling; /* sibling: of a free one the next free one */
    uint32_t uses;                           /* children, being in the beam, being the root */
    uint32_t slot;                           /* in the beam, or NONE */
    uint64_t depth;                          /* symbols */
    double bigrams;                          /* sum of the log probabilities of its bigrams */
};

/* A symbol of a path, behind another. */
struct mark {
    uint32_t previous, uses; /* previous: of a free one the next free one */
    uint64_t depth;
    tn_ctc_symbol symbol; /* the confidence as a logarithm */
};

/* The most probable path of a prefix with that end: the last symbol, and the marks of those before. */
struct end {
    double score;
    uint32_t marks;
    tn_ctc_symbol symbol; /* the confidence as a logarithm */
};

struct entry {
    uint32_t node;
    double sum[ENDS], total;
    struct end ends[ENDS];
    uint32_t made[ENDS]; /* marks of its ends that this step has made, or NONE */
};

/* What may be in the next beam: entry `from` as it stays (symbol is the blank), or longer. */
struct candidate {
    double score;
    uint64_t order; /* of equal scores the lower one is the better */
    uint32_t from, symbol;
};

/* Things that are taken by number and given back. */
struct pool {
    uint32_t room, spare, first; /* spare ones are a list that begins with `first` */
};

struct tn_ctc_beam {
    tn_ctc_options options;
    struct node *nodes;
    struct mark *marks;
    struct pool node_pool, mark_pool;
    uint32_t root, count;
    uint64_t base; /* depth of the root: symbols that are settled */
    uint64_t row;
    struct entry *now, *stays, *next; /* `beam` of each */
    struct candidate *chosen;         /* a heap, the worst on top */
    uint32_t chosen_count;
    uint64_t *taken, stamp; /* by symbol: `stamp` if the entry's child of it is in the beam */
};

static double add_logs(double a, double b) {
    double high = fmax(a, b), low = fmin(a, b);
    return low == -INFINITY ? high : high + log1p(exp(low - high));
}

static int32_t no_memory(tn_error *err) {
    TN_FAIL(err, TN_E_MEMORY, "no memory for the prefixes of a text");
}

/* ---- nodes and marks --------------------------------------------------------------------------------- */

/* Room for `more` nodes and twice as many marks: a step takes no more. */
static int32_t reserve(tn_ctc_beam *b, uint32_t more, tn_error *err) {
    if (b->node_pool.spare < more) {
        uint32_t from = b->node_pool.room, room = 2 * from + more;
        struct node *nodes = reallocarray(b->nodes, room, sizeof *nodes);
        if (!nodes) { return no_memory(err); }
        b->nodes = nodes;
        for (uint32_t i = from; i < room; i++) {
            nodes[i].sibling = b->node_pool.first;
            b->node_pool.first = i;
        }
        b->node_pool.room = room;
        b->node_pool.spare += room - from;
    }
    if (b->mark_pool.spare < 2 * more) {
        uint32_t from = b->mark_pool.room, room = 2 * from + 2 * more;
        struct mark *marks = reallocarray(b->marks, room, sizeof *marks);
        if (!marks) { return no_memory(err); }
        b->marks = marks;
        for (uint32_t i = from; i < room; i++) {
            marks[i].previous = b->mark_pool.first;
            b->mark_pool.first = i;
        }
        b->mark_pool.room = room;
        b->mark_pool.spare += room - from;
    }
    return TN_OK;
}

static uint32_t make_node(tn_ctc_beam *b, uint32_t parent, uint32_t symbol) {
    uint32_t n = b->node_pool.first;
    struct node *node = &b->nodes[n];
    b->node_pool.first = node->sibling;
    b->node_pool.spare--;
    *node = (struct node){.symbol = symbol, .parent = parent, .child = NONE, .sibling = NONE, .slot = NONE};
    if (parent == NONE) { return n; }
    struct node *above = &b->nodes[parent];
    node->depth = above->depth + 1;
    node->sibling = above->child;
    above->child = n;
    above->uses++;
    if (b->options.bigrams) {
        size_t row = (size_t)above->symbol * b->options.size;
        node->bigrams = above->bigrams + (double)b->options.bigrams[row + symbol];
    }
    return n;
}

static uint32_t child_of(tn_ctc_beam *b, uint32_t parent, uint32_t symbol) {
    uint32_t n = b->nodes[parent].child;
    while (n != NONE && b->nodes[n].symbol != symbol) { n = b->nodes[n].sibling; }
    return n != NONE ? n : make_node(b, parent, symbol);
}

static void cut_from_parent(tn_ctc_beam *b, uint32_t n) {
    uint32_t *at = &b->nodes[b->nodes[n].parent].child;
    while (*at != n) { at = &b->nodes[*at].sibling; }
    *at = b->nodes[n].sibling;
    b->nodes[n].parent = NONE;
}

/* One use less; what nobody uses any more goes, and its parent has one use less. */
static void release_node(tn_ctc_beam *b, uint32_t n) {
    while (n != NONE && --b->nodes[n].uses == 0) {
        uint32_t parent = b->nodes[n].parent;
        if (parent != NONE) { cut_from_parent(b, n); }
        b->nodes[n].sibling = b->node_pool.first;
        b->node_pool.first = n;
        b->node_pool.spare++;
        n = parent;
    }
}

static void release_mark(tn_ctc_beam *b, uint32_t m) {
    while (m != NONE && --b->marks[m].uses == 0) {
        uint32_t previous = b->marks[m].previous;
        b->marks[m].previous = b->mark_pool.first;
        b->mark_pool.first = m;
        b->mark_pool.spare++;
        m = previous;
    }
}

/* The mark for one of an entry's ends, made once a step: what its longer prefixes have behind them. */
static uint32_t mark_of(tn_ctc_beam *b, struct entry *e, int which) {
    const struct end *end = &e->ends[which];
    uint64_t depth = b->nodes[e->node].depth;
    if (depth == b->base || e->made[which] != NONE) { return e->made[which]; }
    uint32_t m = b->mark_pool.first;
    struct mark *mark = &b->marks[m];
    b->mark_pool.first = mark->previous;
    b->mark_pool.spare--;
    *mark = (struct mark){.previous = end->marks, .uses = 1, .depth = depth, .symbol = end->symbol};
    if (end->marks != NONE) { b->marks[end->marks].uses++; }
    return e->made[which] = m;
}

static void hold(tn_ctc_beam *b, const struct entry *e) {
    b->nodes[e->node].uses++;
    for (int k = 0; k < ENDS; k++) {
        if (e->ends[k].marks != NONE) { b->marks[e->ends[k].marks].uses++; }
    }
}

static void let_go(tn_ctc_beam *b, const struct entry *e) {
    b->nodes[e->node].slot = NONE;
    for (int k = 0; k < ENDS; k++) {
        release_mark(b, e->ends[k].marks);
        release_mark(b, e->made[k]);
    }
    release_node(b, e->node);
}

/* ---- a step ------------------------------------------------------------------------------------------ */

static int better_end(const struct entry *e) {
    return e->ends[SYMBOL].score > e->ends[BLANK].score ? SYMBOL : BLANK;
}

/* What `symbol` may follow: the sum of such paths of an entry, and the end of the best one. */
static double paths_before(const tn_ctc_beam *b, const struct entry *e, uint32_t symbol) {
    return b->nodes[e->node].symbol == symbol ? e->sum[BLANK] : e->total;
}

static int end_before(const tn_ctc_beam *b, const struct entry *e, uint32_t symbol) {
    return b->nodes[e->node].symbol == symbol ? BLANK : better_end(e);
}

/* The end of a prefix that has just been made longer by `symbol`. */
static struct end longer_end(tn_ctc_beam *b, struct entry *from, uint32_t symbol, double p) {
    int which = end_before(b, from, symbol);
    return (struct end){.score = from->ends[which].score + p,
                        .marks = mark_of(b, from, which),
                        .symbol = {symbol, b->row, b->row, p}};
}

static void stay(tn_ctc_beam *b, const double *row) {
    for (uint32_t i = 0; i < b->count; i++) {
        const struct entry *e = &b->now[i];
        struct entry *s = &b->stays[i];
        uint32_t symbol = b->nodes[e->node].symbol;
        *s = *e;
        s->sum[BLANK] = e->total + row[b->options.blank];
        s->ends[BLANK] = e->ends[better_end(e)];
        s->ends[BLANK].score += row[b->options.blank];
        if (symbol == b->options.blank) { continue; } /* the empty text */
        struct end *end = &s->ends[SYMBOL];
        s->sum[SYMBOL] += row[symbol];
        end->score += row[symbol];
        end->symbol.last = b->row;
        end->symbol.confidence = fmax(end->symbol.confidence, row[symbol]);
    }
}

/* Prefixes of the beam that others of the beam become. */
static void merge(tn_ctc_beam *b, const double *row) {
    for (uint32_t i = 0; i < b->count; i++) {
        struct entry *s = &b->stays[i];
        const struct node *node = &b->nodes[s->node];
        if (node->parent == NONE || b->nodes[node->parent].slot == NONE) { continue; }
        struct entry *from = &b->now[b->nodes[node->parent].slot];
        double p = row[node->symbol], sum = paths_before(b, from, node->symbol) + p;
        if (sum == -INFINITY) { continue; }
        s->sum[SYMBOL] = add_logs(s->sum[SYMBOL], sum);
        if (from->ends[end_before(b, from, node->symbol)].score + p > s->ends[SYMBOL].score) {
            s->ends[SYMBOL] = longer_end(b, from, node->symbol, p);
        }
    }
}

static int is_worse(const struct candidate *x, const struct candidate *y) {
    return x->score < y->score || (x->score == y->score && x->order > y->order);
}

static void swap(struct candidate *x, struct candidate *y) {
    struct candidate t = *x;
    *x = *y;
    *y = t;
}

static void sink(struct candidate *heap, uint32_t count) {
    for (uint32_t i = 0, k; (k = 2 * i + 1) < count; i = k) {
        if (k + 1 < count && is_worse(&heap[k + 1], &heap[k])) { k++; }
        if (!is_worse(&heap[k], &heap[i])) { return; }
        swap(&heap[k], &heap[i]);
    }
}

/* Keeps the best ones. Candidates come in their order, so one that is no better than the worst is worse. */
static void consider(tn_ctc_beam *b, const struct candidate *c) {
    struct candidate *heap = b->chosen;
    if (b->chosen_count == b->options.beam) {
        if (!(c->score > heap[0].score)) { return; }
        heap[0] = *c;
        sink(heap, b->chosen_count);
        return;
    }
    uint32_t i = b->chosen_count++;
    heap[i] = *c;
    for (; i && is_worse(&heap[i], &heap[(i - 1) / 2]); i = (i - 1) / 2) {
        swap(&heap[i], &heap[(i - 1) / 2]);
    }
}

static void consider_longer(tn_ctc_beam *b, uint32_t i, const double *row) {
    const struct entry *e = &b->now[i];
    const struct node *node = &b->nodes[e->node];
    uint32_t size = b->options.size;
    double weight = b->options.bigrams ? b->options.bigram_weight : 0;
    const float *bigrams = b->options.bigrams ? b->options.bigrams + (size_t)node->symbol * size : NULL;
    b->stamp++;
    for (uint32_t c = node->child; c != NONE; c = b->nodes[c].sibling) {
        if (b->nodes[c].slot != NONE) { b->taken[b->nodes[c].symbol] = b->stamp; }
    }
    for (uint32_t s = 0; s < size; s++) {
        double score = paths_before(b, e, s) + row[s];
        if (s == b->options.blank || b->taken[s] == b->stamp || score == -INFINITY) { continue; }
        if (bigrams) { score += weight * (node->bigrams + (double)bigrams[s]); }
        consider(b, &(struct candidate){score, (uint64_t)(i + 1) * size + s + b->count, i, s});
    }
}

static double score_of(const tn_ctc_beam *b, const struct entry *e) {
    double weight = b->options.bigrams ? b->options.bigram_weight : 0;
    return add_logs(e->sum[BLANK], e->sum[SYMBOL]) + weight * b->nodes[e->node].bigrams;
}

static int by_rank(const void *x, const void *y) {
    return is_worse(x, y) ? 1 : -1; /* no two are the same */
}

static void choose(tn_ctc_beam *b, const double *row) {
    b->chosen_count = 0;
    for (uint32_t i = 0; i < b->count; i++) {
        consider(b, &(struct candidate){score_of(b, &b->stays[i]), i, i, b->options.blank});
    }
    for (uint32_t i = 0; i < b->count; i++) { consider_longer(b, i, row); }
    qsort(b->chosen, b->chosen_count, sizeof *b->chosen, by_rank);
}

static void fill_next(tn_ctc_beam *b, const struct candidate *c, const double *row, struct entry *out) {
    struct entry *from = &b->now[c->from];
    if (c->symbol == b->options.blank) {
        *out = b->stays[c->from];
    } else {
        double p = row[c->symbol];
        *out = (struct entry){.node = child_of(b, from->node, c->symbol),
                              .sum = {-INFINITY, paths_before(b, from, c->symbol) + p},
                              .ends = {{-INFINITY, NONE, {0}}, longer_end(b, from, c->symbol, p)}};
    }
    out->total = add_logs(out->sum[BLANK], out->sum[SYMBOL]);
    out->made[BLANK] = out->made[SYMBOL] = NONE;
    hold(b, out);
}

static void turn(tn_ctc_beam *b, const double *row) {
    for (uint32_t k = 0; k < b->chosen_count; k++) { fill_next(b, &b->chosen[k], row, &b->next[k]); }
    for (uint32_t i = 0; i < b->count; i++) { let_go(b, &b->now[i]); }
    struct entry *now = b->now;
    b->now = b->next;
    b->next = now;
    b->count = b->chosen_count;
    for (uint32_t i = 0; i < b->count; i++) { b->nodes[b->now[i].node].slot = i; }
}

/* ---- what is settled --------------------------------------------------------------------------------- */

static void put(tn_ctc_symbol *at, const tn_ctc_symbol *symbol) {
    *at = *symbol;
    at->confidence = exp(symbol->confidence);
}

/* The symbols behind the root up to a depth, as the entry's best path has them. */
static int32_t tell(tn_ctc_beam *b, const struct entry *e, uint64_t depth, tn_ctc_list *list, tn_error *err) {
    const struct end *end = &e->ends[better_end(e)];
    TN_TRY(tn_ctc_list_reserve(list, depth - b->base, err));
    tn_ctc_symbol *first = list->items + list->count;
    list->count += depth - b->base;
    if (depth > b->base && b->nodes[e->node].depth == depth) {
        put(&first[depth - b->base - 1], &end->symbol);
    }
    for (uint32_t m = end->marks; m != NONE; m = b->marks[m].previous) {
        const struct mark *mark = &b->marks[m];
        if (mark->depth <= depth) { put(&first[mark->depth - b->base - 1], &mark->symbol); }
    }
    return TN_OK;
}

static uint32_t ancestor_at(const tn_ctc_beam *b, uint32_t n, uint64_t depth) {
    while (b->nodes[n].depth > depth) { n = b->nodes[n].parent; }
    return n;
}

static void drop_others(tn_ctc_beam *b, uint32_t root) {
    uint32_t kept = 0;
    for (uint32_t i = 0; i < b->count; i++) {
        if (ancestor_at(b, b->now[i].node, b->nodes[root].depth) != root) {
            let_go(b, &b->now[i]);
            continue;
        }
        b->nodes[b->now[i].node].slot = kept;
        b->now[kept++] = b->now[i];
    }
    b->count = kept;
}

/* Marks of what is settled now go. */
static void cut_marks(tn_ctc_beam *b, struct end *end) {
    if (end->marks == NONE) { return; }
    if (b->marks[end->marks].depth <= b->base) {
        release_mark(b, end->marks);
        end->marks = NONE;
        return;
    }
    uint32_t m = end->marks;
    while (b->marks[m].depth > b->base + 1) { m = b->marks[m].previous; }
    uint32_t settled = b->marks[m].previous;
    b->marks[m].previous = NONE;
    release_mark(b, settled);
}

static int32_t settle(tn_ctc_beam *b, tn_ctc_list *list, tn_error *err) {
    const struct entry *best = &b->now[0];
    uint64_t depth = b->base + b->options.lag;
    if (b->nodes[best->node].depth < depth + b->options.lag) { return TN_OK; }
    uint32_t root = ancestor_at(b, best->node, depth), old = b->root;
    TN_TRY(tell(b, best, depth, list, err));
    drop_others(b, root);
    uint32_t parent = b->nodes[root].parent;
    b->nodes[root].uses++;
    cut_from_parent(b, root);
    release_node(b, parent);
    release_node(b, old);
    b->root = root;
    b->base = depth;
    for (uint32_t i = 0; i < b->count; i++) {
        for (int k = 0; k < ENDS; k++) { cut_marks(b, &b->now[i].ends[k]); }
    }
    return TN_OK;
}

/* ---- the search -------------------------------------------------------------------------------------- */

int32_t tn_ctc_beam_create(const tn_ctc_options *options, tn_ctc_beam **out, tn_error *err) {
    tn_ctc_beam *b = calloc(1, sizeof *b);
    *out = b;
    if (!b) { return no_memory(err); }
    b->options = *options;
    b->node_pool.first = b->mark_pool.first = NONE;
    b->now = calloc(options->beam, sizeof *b->now);
    b->stays = calloc(options->beam, sizeof *b->stays);
    b->next = calloc(options->beam, sizeof *b->next);
    b->chosen = calloc(options->beam, sizeof *b->chosen);
    b->taken = calloc(options->size, sizeof *b->taken);
    if (!b->now || !b->stays || !b->next || !b->chosen || !b->taken) { return no_memory(err); }
    TN_TRY(reserve(b, options->beam + 1, err));
    b->root = make_node(b, NONE, options->blank);
    b->nodes[b->root].uses = 1;
    b->now[0] = (struct entry){.node = b->root,
                               .sum = {0, -INFINITY},
                               .ends = {{0, NONE, {0}}, {-INFINITY, NONE, {0}}},
                               .made = {NONE, NONE}};
    hold(b, &b->now[0]);
    b->nodes[b->root].slot = 0;
    b->count = 1;
    return TN_OK;
}

void tn_ctc_beam_free(tn_ctc_beam *b) {
    if (!b) { return; }
    free(b->nodes);
    free(b->marks);
    free(b->now);
    free(b->stays);
    free(b->next);
    free(b->chosen);
    free(b->taken);
    free(b);
}

int32_t tn_ctc_beam_step(tn_ctc_beam *b, const double *row, tn_ctc_list *list, tn_error *err) {
    TN_TRY(reserve(b, b->options.beam, err));
    stay(b, row);
    merge(b, row);
    choose(b, row);
    turn(b, row);
    b->row++;
    return settle(b, list, err);
}

/* The end of the text is a bigram too. */
static double final_score(const tn_ctc_beam *b, const struct entry *e) {
    double score = score_of(b, e);
    if (!b->options.bigrams) { return score; }
    size_t row = (size_t)b->nodes[e->node].symbol * b->options.size;
    return score + b->options.bigram_weight * (double)b->options.bigrams[row + b->options.blank];
}

int32_t tn_ctc_beam_finish(tn_ctc_beam *b, tn_ctc_list *list, double *log_probability, tn_error *err) {
    uint32_t best = 0;
    for (uint32_t i = 1; i < b->count; i++) {
        if (final_score(b, &b->now[i]) > final_score(b, &b->now[best])) { best = i; }
    }
    *log_probability = b->now[best].total;
    return tell(b, &b->now[best], b->nodes[b->now[best].node].depth, list, err);
}
