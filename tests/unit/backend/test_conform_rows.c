/* test_conform_rows.c - ops on rows, held to the reference: embed, norm, split, rope, act, glu, arithmetic,
 * pool. */
#include "conformance.h"

#include <criterion/criterion.h>

static const lengths few = {2, {5, 3}};
static const uint32_t widths[] = {1, 3, 16, 31, 33, 64, 100, 576};

#define EACH(i, array) for (uint32_t i = 0; i < sizeof(array) / sizeof(array)[0]; i++)

/* ---- embed */

struct embed_case {
    uint32_t type, by, width, given;
    double scale;
};

static void make_embed(bench *b, const void *context) {
    const struct embed_case *c = context;
    b->vocab = 37;
    b->given = c->given ? c->width : 0;
    b->use_types = c->by == TN_EMBED_TYPE;
    uint32_t w = bench_weight(b, c->type, c->width, c->by == TN_EMBED_TYPE ? 2 : 37, 1, 1);
    bench_output(b, tn_add_embed(&b->writer, "embed", c->by, w, c->scale), 0);
}

Test(conform, embed) {
    const struct embed_case table[] = {
        {TYPE_F32, TN_EMBED_TOKEN, 33, 0, 1},   {TYPE_F16, TN_EMBED_TOKEN, 64, 0, 8},
        {TYPE_BF16, TN_EMBED_TOKEN, 5, 1, 3},   {TYPE_Q8_0, TN_EMBED_TOKEN, 96, 0, 1},
        {TYPE_Q4_0, TN_EMBED_TOKEN, 32, 0, 1},  {TYPE_Q4_1, TN_EMBED_TOKEN, 64, 1, 0.5},
        {TYPE_Q6_K, TN_EMBED_TOKEN, 256, 0, 1}, {TYPE_F32, TN_EMBED_POSITION, 48, 0, 1},
        {TYPE_F32, TN_EMBED_TYPE, 48, 0, 1}};
    EACH (i, table) { conform("embed", make_embed, &table[i], &few, TOLERANCE_FLOAT); }
    conform_end();
}

/* ---- norm */

struct norm_case {
    uint32_t kind, part, groups, own, bias;
};

static void make_norm(bench *b, const void *context) {
    const struct norm_case *c = context;
    uint64_t size = c->own ? (uint64_t)c->part * c->groups : c->part;
    tn_matrix w = {bench_gain(b, size), c->bias ? bench_weight(b, TYPE_F32, size, 1, 1, 1) : 0};
    uint32_t x = bench_input(b, c->part * c->groups);
    bench_output(b, tn_add_norm(&b->writer, "norm", x, c->kind, c->groups, w, 1e-5), 0);
}

Test(conform, norm) {
    EACH (i, widths) {
        for (uint32_t kind = TN_NORM_RMS; kind <= TN_NORM_LAYER; kind++) {
            const struct norm_case table[] = {
                {kind, widths[i], 1, 0, 0}, {kind, widths[i], 3, 0, 1}, {kind, widths[i], 4, 1, 0}};
            if (kind == TN_NORM_LAYER && widths[i] == 1) { continue; } /* 0 / sqrt(eps): nothing to compare */
            EACH (k, table) { conform("norm", make_norm, &table[k], &few, TOLERANCE_FLOAT); }
        }
    }
    conform_end();
}

/* A norm without weights, and rows that are far from 1. */
static void make_bare_norm(bench *b, const void *context) {
    tn_matrix none = {0, 0};
    uint32_t x = tn_add_scale(&b->writer, "scaled", bench_input(b, 200), *(const double *)context);
    bench_output(b, tn_add_norm(&b->writer, "norm", x, TN_NORM_LAYER, 1, none, 1e-6), 0);
}

Test(conform, norm_of_large_and_small_rows) {
    const double factors[] = {1e-12, 1e-3, 1e12};
    EACH (i, factors) { conform("norm", make_bare_norm, &factors[i], &few, TOLERANCE_FLOAT); }
    conform_end();
}

/* ---- split */

static void make_split(bench *b, const void *context) {
    const uint32_t *parts = context;
    uint32_t x = bench_input(b, parts[0] + parts[1] + parts[0]);
    uint32_t all[3] = {parts[0], parts[1], parts[0]};
    uint32_t y = tn_add_split(&b->writer, "split", x, 3, all);
    uint32_t sum = tn_add_sum(&b->writer, "sum", y, y + 2);
    uint32_t one = tn_add_norm(&b->writer, "norm", y + 1, TN_NORM_RMS, 1, (tn_matrix){0, 0}, 1e-5);
    if (parts[0] == parts[1]) { sum = tn_add_sum(&b->writer, "sum of three", sum, one); }
    if (parts[1] == 1) { sum = tn_add_product(&b->writer, "product", sum, one); }
    bench_output(b, sum, 0);
}

Test(conform, split) {
    const uint32_t parts[][2] = {{32, 32}, {33, 33}, {7, 1}, {100, 1}, {64, 64}};
    EACH (i, parts) { conform("split", make_split, parts[i], &few, TOLERANCE_FLOAT); }
    conform_end();
}

/* ---- rope */

struct rope_case {
    uint32_t heads, head_dim, rotated, pairing, factors;
    double magnitude;
};

static void make_rope(bench *b, const void *context) {
    const struct rope_case *c = context;
    double frequencies[256];
    tn_rotation r = {.rotated = c->rotated,
                     .scaling = TN_SCALING_LINEAR,
                     .base = 10000,
                     .factor = 1,
                     .attention_factor = 1};
    TN_ATTRIBUTES(&b->writer, tn_rope, rope);
    tn_rope_frequencies(&r, frequencies);
    rope.heads = c->heads;
    rope.head_dim = c->head_dim;
    rope.rotated = c->rotated;
    rope.pairing = c->pairing;
    rope.frequencies = frequencies;
    rope.magnitude = c->magnitude;
    uint32_t factors = c->factors ? bench_gain(b, c->rotated / 2) : 0;
    uint32_t x = bench_input(b, c->heads * c->head_dim);
    bench_output(b, tn_add_rope(&b->writer, "rope", x, factors, &rope), 0);
}

Test(conform, rope) {
    const lengths longer = {2, {300, 20}};
    for (uint32_t pairing = TN_PAIR_ADJACENT; pairing <= TN_PAIR_HALVES; pairing++) {
        const struct rope_case table[] = {{1, 2, 2, pairing, 0, 1},     {3, 6, 4, pairing, 0, 1},
                                          {4, 32, 32, pairing, 1, 1.2}, {2, 80, 32, pairing, 0, 1},
                                          {5, 96, 96, pairing, 1, 1},   {1, 128, 128, pairing, 0, 1},
                                          {2, 40, 10, pairing, 1, 2},   {2, 256, 256, pairing, 0, 1}};
        EACH (i, table) { conform("rope", make_rope, &table[i], &longer, TOLERANCE_FLOAT); }
    }
    conform_end();
}

/* ---- activations */

struct act_case {
    uint32_t act, width;
    double alpha, limit, offset, stretch;
};

static void make_act(bench *b, const void *context) {
    const struct act_case *c = context;
    uint32_t x = tn_add_scale(&b->writer, "stretched", bench_input(b, c->width), c->stretch);
    bench_output(b, tn_add_act(&b->writer, "act", x, c->act, c->alpha), 0);
}

static void make_glu(bench *b, const void *context) {
    const struct act_case *c = context;
    TN_ATTRIBUTES(&b->writer, tn_glu, glu);
    glu.act = c->act;
    glu.alpha = c->alpha;
    glu.limit = c->limit;
    glu.offset = c->offset;
    uint32_t g = tn_add_scale(&b->writer, "stretched", bench_input(b, c->width), c->stretch);
    uint32_t inputs[TN_NODE_INPUTS] = {g, bench_input(b, c->width)};
    bench_output(b, tn_add_node(&b->writer, TN_OP_glu, "glu", inputs, NULL, &glu), 0);
}

Test(conform, act) {
    const double stretches[] = {0.01, 1, 30};
    for (uint32_t act = TN_ACT_SILU; act <= TN_ACT_SIGMOID; act++) {
        EACH (i, widths) {
            EACH (k, stretches) {
                struct act_case c = {act, widths[i], 1, 0, 0, stretches[k]};
                conform("act", make_act, &c, &few, TOLERANCE_FLOAT);
            }
        }
    }
    struct act_case quick = {TN_ACT_SILU, 50, 1.702, 0, 0, 3}, unset = {TN_ACT_SILU, 50, 0, 0, 0, 3};
    conform("silu 1.702", make_act, &quick, &few, TOLERANCE_FLOAT);
    conform("silu without alpha", make_act, &unset, &few, TOLERANCE_FLOAT);
    conform_end();
}

Test(conform, glu) {
    for (uint32_t act = TN_ACT_SILU; act <= TN_ACT_SIGMOID; act++) {
        const struct act_case table[] = {
            {act, 160, 1, 0, 0, 1}, {act, 33, 1.702, 1.1, 1, 5}, {act, 7, 1, 0, 0, 30}};
        EACH (i, table) { conform("glu", make_glu, &table[i], &few, TOLERANCE_FLOAT); }
    }
    conform_end();
}

/* ---- arithmetic */

struct arithmetic_case {
    int32_t op;
    uint32_t width, other;
    double factor;
};

static void make_arithmetic(bench *b, const void *context) {
    const struct arithmetic_case *c = context;
    uint32_t x = bench_input(b, c->width), y = c->other ? bench_input(b, c->other) : 0;
    bench_output(b, tn_add_simple(&b->writer, c->op, "op", x, y, c->factor), 0);
}

Test(conform, arithmetic) {
    EACH (i, widths) {
        const struct arithmetic_case table[] = {
            {TN_OP_add, widths[i], widths[i], 0}, {TN_OP_mul, widths[i], widths[i], 0},
            {TN_OP_mul, widths[i], 1, 0},         {TN_OP_mul, 1, widths[i], 0},
            {TN_OP_scale, widths[i], 0, 7.75},    {TN_OP_softcap, widths[i], 0, 1.5},
            {TN_OP_clamp, widths[i], 0, 0.75}};
        EACH (k, table) { conform("arithmetic", make_arithmetic, &table[k], &few, TOLERANCE_FLOAT); }
    }
    conform_end();
}

static void make_mark(bench *b, const void *context) {
    (void)context;
    uint32_t x = tn_add_mark(&b->writer, "mark", bench_input(b, 33), TN_MARK_LAYER_OUTPUT);
    bench_output(b, tn_add_sum(&b->writer, "twice", x, x), 0);
}

Test(conform, mark) {
    conform("mark", make_mark, NULL, &few, TOLERANCE_FLOAT);
    conform_end();
}

/* ---- pool */

static void make_pool(bench *b, const void *context) {
    uint32_t x = tn_add_act(&b->writer, "act", bench_input(b, 37), TN_ACT_TANH, 1);
    bench_output(b, tn_add_pool(&b->writer, "pool", x, *(const uint32_t *)context), 1);
}

Test(conform, pool) {
    const lengths three = {3, {5, 1, 70}};
    for (uint32_t kind = TN_POOL_MEAN; kind <= TN_POOL_LAST; kind++) {
        conform_whole("pool", make_pool, &kind, &three, TOLERANCE_FLOAT);
    }
    conform_end();
}
