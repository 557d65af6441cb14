/*
 * One node at a time against a few values and weights that are there: for each rule of tenon/graph.h a node
 * that breaks it, with the words that the message must have, and the sound nodes beside them with the width
 * they give.
 */
#include "graph_build.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

/* Numbers of the weights below. */
enum {
    NONE,
    EMBD,
    UP,
    VEC16,
    ROUTER,
    K,
    VEC32,
    VEC8,
    HEADS8X2,
    X_UP,
    X_DOWN,
    X_BIAS,
    VEC4,
    ABSENT,
    X_GATE,
    VEC2,
    X_DOWN_BIAS,
    SQUARE16,
    WEIGHTS = SQUARE16
};
/* Numbers of the values that prelude() makes: rows and width. */
enum { T16 = 1, T32, T1, O16, T4, ROUTE, T8, S16, VALUES = S16 };

#define MATRIX(name_, cols_, rows_, count_)                                                                  \
    &(const tn_weight) {                                                                                     \
        .struct_size = sizeof(tn_weight), .name = name_, .cols = cols_, .rows = rows_, .count = count_       \
    }
static const tn_weight *const weights[WEIGHTS] = {
    MATRIX("embd", 16, 32, 1),
    MATRIX("up", 16, 32, 1),
    MATRIX("vec16", 16, 1, 1),
    MATRIX("router", 16, 4, 1),
    MATRIX("k", 16, 8, 1),
    MATRIX("vec32", 32, 1, 1),
    MATRIX("vec8", 8, 1, 1),
    MATRIX("heads8x2", 8, 2, 1),
    MATRIX("x_up", 16, 24, 4),
    MATRIX("x_down", 24, 16, 4),
    MATRIX("x_bias", 24, 4, 1),
    MATRIX("vec4", 4, 1, 1),
    NULL,
    MATRIX("x_gate", 16, 24, 4),
    MATRIX("vec2", 2, 1, 1),
    MATRIX("x_down_bias", 16, 4, 1),
    MATRIX("square16", 16, 16, 1),
};
static const uint32_t flags[WEIGHTS];

#define A(type, ...)                                                                                         \
    &(const type) {                                                                                          \
        .struct_size = sizeof(type), __VA_ARGS__                                                             \
    }
#define EMPTY A(tn_scale, .factor = 0)

static tn_graph_builder *start(void) {
    tn_graph_builder *builder = NULL;
    tn_error err = TN_ERROR_INIT;
    cr_assert_eq(tn_graph_builder_create(weights, flags, WEIGHTS, &builder, &err), TN_OK, "%s", err.text);
    return builder;
}

struct sample {
    const char *words; /* of the message; NULL: it is sound */
    uint32_t width;    /* of its result, if it is sound */
    int32_t op;
    uint32_t inputs[4], weights[6];
    const void *attributes;
};

static uint32_t add(tn_graph_builder *builder, const char *name, const struct sample *s) {
    const tn_builder *table = tn_graph_builder_table(builder);
    tn_node node = {
        .struct_size = sizeof node, .op = s->op, .name = name, .layer = 3, .attributes = s->attributes};
    memcpy(node.inputs, s->inputs, sizeof node.inputs);
    memcpy(node.weights, s->weights, sizeof node.weights);
    return table->add(table, &node);
}

static void prelude(tn_graph_builder *builder) {
    const struct sample made[VALUES] = {
        {NULL, 16, TN_OP_embed, {0}, {EMBD}, A(tn_embed, .by = TN_EMBED_TOKEN, .scale = 1)},
        {NULL, 32, TN_OP_linear, {T16}, {UP}, A(tn_linear, .reserved = 0)},
        {NULL, 1, TN_OP_linear, {T16}, {VEC16}, A(tn_linear, .reserved = 0)},
        {NULL, 16, TN_OP_rows, {T16}, {0}, EMPTY},
        {NULL, 4, TN_OP_linear, {T16}, {ROUTER}, A(tn_linear, .reserved = 0)},
        {NULL, 2, TN_OP_route, {T4}, {0}, A(tn_route, .used = 2, .score = TN_SCORE_SOFTMAX, .scale = 1)},
        {NULL, 8, TN_OP_linear, {T16}, {K}, A(tn_linear, .reserved = 0)},
        {NULL, 16, TN_OP_pool, {T16}, {0}, A(tn_pool, .kind = TN_POOL_MEAN)},
    };
    for (uint32_t i = 0; i < VALUES; i++) { cr_assert_eq(add(builder, "prelude", &made[i]), i + 1); }
}

/* What a builder says of one node: the fault's message, or "" and the result's width. */
static void judge(const struct sample *s, char message[1016], uint32_t *width) {
    tn_graph_builder *builder = start();
    tn_error err = TN_ERROR_INIT;
    const tn_graph *graph = NULL;
    const struct sample end = {NULL, 0, TN_OP_output, {O16}, {0}, A(tn_output, .kind = TN_OUTPUT_LOGITS)};
    prelude(builder);
    uint32_t result = add(builder, "blk.3.it", s);
    add(builder, "end", &end);
    /* A node that is sound leaves unused values and weights, which the whole graph is refused for. */
    int32_t code = tn_graph_builder_finish(builder, TN_OK, &graph, &err);
    cr_assert_neq(code, TN_OK);
    int sound = strncmp(err.text, "blk.3.it", 8) != 0 || strstr(err.text, "not used") != NULL;
    snprintf(message, 1016, "%s", sound ? "" : err.text);
    *width = 0;
    if (result) { cr_expect(sound, "a result and a fault: %s", err.text); }
    tn_graph_builder_free(builder);
}

static const double frequencies[4] = {1, 0.5, 0.25, 0.125};
static const double not_finite[4] = {1, NAN, 1, 1};

#define ROPE(...)                                                                                            \
    A(tn_rope, .heads = 2, .head_dim = 8, .rotated = 8, .pairing = TN_PAIR_HALVES,                           \
      .frequencies = frequencies, .magnitude = 1, __VA_ARGS__)
#define ATTEND(...)                                                                                          \
    A(tn_attend, .heads = 2, .kv_heads = 1, .key_dim = 8, .value_dim = 8, .causal = 1, .cached = 1,          \
      .scale = 1, __VA_ARGS__)
#define NORM(...) A(tn_norm, .kind = TN_NORM_RMS, .groups = 1, .eps = 1e-5, __VA_ARGS__)
#define EXPERTS(...) A(tn_experts, .act = TN_ACT_SILU, __VA_ARGS__)

#pragma GCC diagnostic ignored "-Woverride-init"
#ifdef __clang__
#pragma clang diagnostic ignored "-Winitializer-overrides"
#endif

static const struct sample samples[] = {
    /* ops and operands */
    {"op 99 does not exist", 0, 99, {T16}, {0}, EMPTY},
    {"op 0 does not exist", 0, 0, {T16}, {0}, EMPTY},
    {"op -1 does not exist", 0, -1, {T16}, {0}, EMPTY},
    {"struct_size", 0, TN_OP_scale, {T16}, {0}, NULL},
    {"struct_size", 0, TN_OP_rope, {T16}, {0}, EMPTY},
    {"input 0 of 1 is missing", 0, TN_OP_scale, {0}, {0}, EMPTY},
    {"input 1 of 2 is missing", 0, TN_OP_add, {T16}, {0}, EMPTY},
    {"takes 1 inputs", 0, TN_OP_scale, {T16, T16}, {0}, EMPTY},
    {"input 0 is value 77", 0, TN_OP_scale, {77}, {0}, EMPTY},
    {"weight 0 is missing", 0, TN_OP_linear, {T16}, {0}, A(tn_linear, .reserved = 0)},
    {"takes 0 weights", 0, TN_OP_scale, {T16}, {UP}, EMPTY},
    {"weight 0 is number 99", 0, TN_OP_linear, {T16}, {99}, A(tn_linear, .reserved = 0)},
    {"which the file does not have", 0, TN_OP_linear, {T16}, {ABSENT}, A(tn_linear, .reserved = 0)},
    {"is a choice of experts", 0, TN_OP_scale, {ROUTE}, {0}, EMPTY},
    /* embed, input */
    {NULL, 16, TN_OP_embed, {0}, {EMBD}, A(tn_embed, .by = TN_EMBED_TYPE, .scale = 1)},
    {"by is 4", 0, TN_OP_embed, {0}, {EMBD}, A(tn_embed, .by = 4, .scale = 1)},
    {"scale is inf", 0, TN_OP_embed, {0}, {EMBD}, A(tn_embed, .by = 1, .scale = INFINITY)},
    {"4 matrices", 0, TN_OP_embed, {0}, {X_UP}, A(tn_embed, .by = 1, .scale = 1)},
    {NULL, 5, TN_OP_input, {0}, {0}, A(tn_input, .width = 5)},
    {"0 wide", 0, TN_OP_input, {0}, {0}, A(tn_input, .width = 0)},
    {"wide, expected 1 to", 0, TN_OP_input, {0}, {0}, A(tn_input, .width = UINT32_MAX)},
    /* norm */
    {NULL, 16, TN_OP_norm, {T16}, {VEC16}, NORM(.groups = 1)},
    {NULL, 16, TN_OP_norm, {T16}, {VEC8}, NORM(.groups = 2)},
    {NULL, 16, TN_OP_norm, {T16}, {HEADS8X2, VEC16}, NORM(.groups = 2)},
    {NULL, 16, TN_OP_norm, {T16}, {0}, NORM(.kind = TN_NORM_LAYER)},
    {"vec8", 0, TN_OP_norm, {T16}, {VEC8}, NORM(.groups = 1)},
    {"bias vec32", 0, TN_OP_norm, {T16}, {VEC16, VEC32}, NORM(.groups = 1)},
    {"heads8x2", 0, TN_OP_norm, {T16}, {HEADS8X2}, NORM(.groups = 4)},
    {"3 groups do not divide", 0, TN_OP_norm, {T16}, {0}, NORM(.groups = 3)},
    {"groups is 0", 0, TN_OP_norm, {T16}, {0}, NORM(.groups = 0)},
    {"kind is 3", 0, TN_OP_norm, {T16}, {0}, NORM(.kind = 3)},
    {"eps is nan", 0, TN_OP_norm, {T16}, {0}, NORM(.eps = NAN)},
    {"eps is -1", 0, TN_OP_norm, {T16}, {0}, NORM(.eps = -1)},
    /* linear */
    {NULL, 32, TN_OP_linear, {T16}, {UP, VEC32}, A(tn_linear, .reserved = 0)},
    {"rows of up have 16 numbers", 0, TN_OP_linear, {T32}, {UP}, A(tn_linear, .reserved = 0)},
    {"bias vec16", 0, TN_OP_linear, {T16}, {UP, VEC16}, A(tn_linear, .reserved = 0)},
    {"4 matrices", 0, TN_OP_linear, {T16}, {X_UP}, A(tn_linear, .reserved = 0)},
    /* split */
    {NULL, 10, TN_OP_split, {T16}, {0}, A(tn_split, .count = 2, .widths = {10, 6})},
    {"expected 15", 0, TN_OP_split, {T16}, {0}, A(tn_split, .count = 2, .widths = {10, 5})},
    {"5 parts", 0, TN_OP_split, {T16}, {0}, A(tn_split, .count = 5, .widths = {4, 4, 4, 4})},
    {"part 1 of 2 is 0 wide", 0, TN_OP_split, {T16}, {0}, A(tn_split, .count = 2, .widths = {16, 0})},
    {"part 1 of 1 is 4 wide", 0, TN_OP_split, {T16}, {0}, A(tn_split, .count = 1, .widths = {16, 4})},
    {"expected 4294967312",
     0,
     TN_OP_split,
     {T16},
     {0},
     A(tn_split, .count = 3, .widths = {16, UINT32_MAX, 1})},
    /* rope */
    {NULL, 16, TN_OP_rope, {T16}, {VEC4}, ROPE(.heads = 2)},
    {NULL, 16, TN_OP_rope, {T16}, {VEC2}, ROPE(.rotated = 4)},
    {"expected 24", 0, TN_OP_rope, {T16}, {0}, ROPE(.heads = 3)},
    {"5 rotated", 0, TN_OP_rope, {T16}, {0}, ROPE(.rotated = 5)},
    {"10 rotated", 0, TN_OP_rope, {T16}, {0}, ROPE(.rotated = 10)},
    {"0 rotated", 0, TN_OP_rope, {T16}, {0}, ROPE(.rotated = 0)},
    {"pairing is 0", 0, TN_OP_rope, {T16}, {0}, ROPE(.pairing = 0)},
    {"no frequencies", 0, TN_OP_rope, {T16}, {0}, ROPE(.frequencies = NULL)},
    {"a frequency is nan", 0, TN_OP_rope, {T16}, {0}, ROPE(.frequencies = not_finite)},
    {"magnitude is -inf", 0, TN_OP_rope, {T16}, {0}, ROPE(.magnitude = -INFINITY)},
    {"factors vec8", 0, TN_OP_rope, {T16}, {VEC8}, ROPE(.heads = 2)},
    {"a row an output", 0, TN_OP_rope, {O16}, {0}, ROPE(.heads = 2)},
    {"head_dim is 0", 0, TN_OP_rope, {T16}, {0}, ROPE(.head_dim = 0)},
    {"expected 4294967312", 0, TN_OP_rope, {T16}, {0}, ROPE(.heads = (1u << 28) + 1, .head_dim = 16)},
    /* attend */
    {NULL, 16, TN_OP_attend, {T16, T8, T8}, {VEC2}, ATTEND(.heads = 2)},
    {"q (prelude) is 16 wide, expected 24", 0, TN_OP_attend, {T16, T8, T8}, {0}, ATTEND(.heads = 3)},
    {"k (prelude) is 16 wide", 0, TN_OP_attend, {T16, T16, T8}, {0}, ATTEND(.heads = 2)},
    {"v (prelude) is 16 wide", 0, TN_OP_attend, {T16, T8, T16}, {0}, ATTEND(.heads = 2)},
    {"2 key heads do not divide 1", 0, TN_OP_attend, {T8, T16, T16}, {0}, ATTEND(.heads = 1, .kv_heads = 2)},
    {"kv_heads is 0", 0, TN_OP_attend, {T16, T8, T8}, {0}, ATTEND(.kv_heads = 0)},
    {"value_dim is 0", 0, TN_OP_attend, {T16, T8, T8}, {0}, ATTEND(.value_dim = 0)},
    {"causal is 2", 0, TN_OP_attend, {T16, T8, T8}, {0}, ATTEND(.causal = 2)},
    {"cached is 7", 0, TN_OP_attend, {T16, T8, T8}, {0}, ATTEND(.cached = 7)},
    {"scale is nan", 0, TN_OP_attend, {T16, T8, T8}, {0}, ATTEND(.scale = NAN)},
    {"softcap is -2", 0, TN_OP_attend, {T16, T8, T8}, {0}, ATTEND(.softcap = -2)},
    {"sinks vec4", 0, TN_OP_attend, {T16, T8, T8}, {VEC4}, ATTEND(.heads = 2)},
    {"input 0 (prelude) has a row an output", 0, TN_OP_attend, {O16, T8, T8}, {0}, ATTEND(.heads = 2)},
    /* act, glu */
    {NULL, 16, TN_OP_act, {O16}, {0}, A(tn_act_op, .act = TN_ACT_SIGMOID)},
    {"act is 8", 0, TN_OP_act, {T16}, {0}, A(tn_act_op, .act = 8)},
    {"alpha is inf", 0, TN_OP_act, {T16}, {0}, A(tn_act_op, .act = 1, .alpha = INFINITY)},
    {NULL, 16, TN_OP_glu, {T16, T16}, {0}, A(tn_glu, .act = TN_ACT_SILU)},
    {"u (prelude) is 32 wide, expected 16", 0, TN_OP_glu, {T16, T32}, {0}, A(tn_glu, .act = TN_ACT_SILU)},
    {"act is 0", 0, TN_OP_glu, {T16, T16}, {0}, A(tn_glu, .act = 0)},
    {"limit is -7", 0, TN_OP_glu, {T16, T16}, {0}, A(tn_glu, .act = 1, .limit = -7)},
    {"offset is nan", 0, TN_OP_glu, {T16, T16}, {0}, A(tn_glu, .act = 1, .offset = NAN)},
    {"input 1 (prelude) has a row a sequence", 0, TN_OP_glu, {T16, S16}, {0}, A(tn_glu, .act = 1)},
    /* route, experts */
    {NULL, 1, TN_OP_route, {T4}, {VEC4}, A(tn_route, .used = 1, .score = TN_SCORE_SIGMOID, .scale = 1)},
    {"5 used of 4 experts", 0, TN_OP_route, {T4}, {0}, A(tn_route, .used = 5, .score = 1, .scale = 1)},
    {"0 used of 4 experts", 0, TN_OP_route, {T4}, {0}, A(tn_route, .used = 0, .score = 1, .scale = 1)},
    {"score is 3", 0, TN_OP_route, {T4}, {0}, A(tn_route, .used = 2, .score = 3, .scale = 1)},
    {"normalise is 2",
     0,
     TN_OP_route,
     {T4},
     {0},
     A(tn_route, .used = 2, .score = 1, .normalise = 2, .scale = 1)},
    {"bias vec8", 0, TN_OP_route, {T4}, {VEC8}, A(tn_route, .used = 2, .score = 1, .scale = 1)},
    {NULL,
     16,
     TN_OP_experts,
     {T16, ROUTE},
     {X_GATE, X_UP, X_DOWN, X_BIAS, X_BIAS, X_DOWN_BIAS},
     EXPERTS(.alpha = 1)},
    {NULL, 16, TN_OP_experts, {T16, ROUTE}, {0, X_UP, X_DOWN}, EXPERTS(.alpha = 1)},
    {"is not the result of a route", 0, TN_OP_experts, {T16, T4}, {0, X_UP, X_DOWN}, EXPERTS(.alpha = 1)},
    {"weight 2 is missing", 0, TN_OP_experts, {T16, ROUTE}, {0, X_UP}, EXPERTS(.alpha = 1)},
    {"up is [16, 32, 1], expected [16, 32, 4]",
     0,
     TN_OP_experts,
     {T16, ROUTE},
     {0, UP, X_DOWN},
     EXPERTS(.alpha = 1)},
    {"x_up is [16, 24, 4], expected [32, 24, 4]",
     0,
     TN_OP_experts,
     {T32, ROUTE},
     {0, X_UP, X_DOWN},
     EXPERTS(.alpha = 1)},
    {"a gate bias without a gate",
     0,
     TN_OP_experts,
     {T16, ROUTE},
     {0, X_UP, X_DOWN, X_BIAS},
     EXPERTS(.alpha = 1)},
    {"x_bias is", 0, TN_OP_experts, {T16, ROUTE}, {0, X_UP, X_DOWN, 0, 0, X_BIAS}, EXPERTS(.alpha = 1)},
    {NULL, 48, TN_OP_expert_linear, {T16, ROUTE}, {X_UP, X_BIAS}, A(tn_linear, .reserved = 0)},
    {NULL, 48, TN_OP_expert_linear, {T32, ROUTE}, {X_UP}, A(tn_linear, .reserved = 0)},
    {"is not the result of a route", 0, TN_OP_expert_linear, {T16, T4}, {X_UP}, A(tn_linear, .reserved = 0)},
    {"input 1 of 2 is missing", 0, TN_OP_expert_linear, {T16}, {X_UP}, A(tn_linear, .reserved = 0)},
    {"rows of x_up have 16 numbers, the input is 8 wide for 2 experts",
     0,
     TN_OP_expert_linear,
     {T8, ROUTE},
     {X_UP},
     A(tn_linear, .reserved = 0)},
    {"up is [16, 32, 1], expected [16, 32, 4]",
     0,
     TN_OP_expert_linear,
     {T16, ROUTE},
     {UP},
     A(tn_linear, .reserved = 0)},
    {"x_down_bias is",
     0,
     TN_OP_expert_linear,
     {T16, ROUTE},
     {X_UP, X_DOWN_BIAS},
     A(tn_linear, .reserved = 0)},
    {"expected a row an output", 0, TN_OP_expert_sum, {O16, ROUTE}, {0}, EMPTY},
    {NULL, 8, TN_OP_expert_sum, {T16, ROUTE}, {0}, EMPTY},
    {"2 experts do not divide a row of 1", 0, TN_OP_expert_sum, {T1, ROUTE}, {0}, EMPTY},
    {"takes no factor", 0, TN_OP_expert_sum, {T16, ROUTE}, {0}, A(tn_scale, .factor = 1)},
    {"is not the result of a route", 0, TN_OP_expert_sum, {T16, T4}, {0}, EMPTY},
    /* add, mul, scale, softcap, mark, rows, pool */
    {NULL, 16, TN_OP_add, {T16, T16}, {0}, EMPTY},
    {"is 32 wide, expected 16", 0, TN_OP_add, {T16, T32}, {0}, EMPTY},
    {"has a row an output", 0, TN_OP_add, {T16, O16}, {0}, EMPTY},
    {"takes no factor", 0, TN_OP_add, {T16, T16}, {0}, A(tn_scale, .factor = 2)},
    {NULL, 16, TN_OP_mul, {T1, T16}, {0}, EMPTY},
    {NULL, 16, TN_OP_mul, {T16, T1}, {0}, EMPTY},
    {"expected the same width or 1", 0, TN_OP_mul, {T16, T32}, {0}, EMPTY},
    {NULL, 16, TN_OP_scale, {T16}, {0}, A(tn_scale, .factor = 0.5)},
    {"factor is nan", 0, TN_OP_scale, {T16}, {0}, A(tn_scale, .factor = NAN)},
    {"factor is 0", 0, TN_OP_softcap, {T16}, {0}, EMPTY},
    {"factor is 0", 0, TN_OP_clamp, {T16}, {0}, EMPTY},
    {NULL, 16, TN_OP_mark, {T16}, {0}, A(tn_mark, .role = TN_MARK_LAYER_OUTPUT)},
    {"role is 2", 0, TN_OP_mark, {T16}, {0}, A(tn_mark, .role = 2)},
    {"has a row an output, expected a row a token", 0, TN_OP_rows, {O16}, {0}, EMPTY},
    {"has a row an output, expected a row a token", 0, TN_OP_pool, {O16}, {0}, A(tn_pool, .kind = 1)},
    {"kind is 4", 0, TN_OP_pool, {T16}, {0}, A(tn_pool, .kind = 4)},
    /* output, custom */
    {"`rows` or `pool` comes first", 0, TN_OP_output, {T16}, {0}, A(tn_output, .kind = TN_OUTPUT_HIDDEN)},
    {"kind is 5", 0, TN_OP_output, {O16}, {0}, A(tn_output, .kind = 5)},
    {"only ctc takes bigrams", 0, TN_OP_output, {O16}, {SQUARE16}, A(tn_output, .kind = TN_OUTPUT_HIDDEN)},
    {"bigrams up is [16, 32], expected [16, 16]",
     0,
     TN_OP_output,
     {O16},
     {UP},
     A(tn_output, .kind = TN_OUTPUT_CTC)},
    {"takes 1 inputs", 0, TN_OP_output, {O16, O16}, {0}, A(tn_output, .kind = TN_OUTPUT_CTC)},
    {NULL,
     7,
     TN_OP_custom,
     {T16, T32},
     {UP},
     A(tn_custom, .id = "mine/1", .width = 7, .params = "abc", .params_size = 3)},
    {"its id is missing", 0, TN_OP_custom, {T16}, {0}, A(tn_custom, .width = 7)},
    {"its id is mine", 0, TN_OP_custom, {T16}, {0}, A(tn_custom, .id = "mine", .width = 7)},
    {"0 wide", 0, TN_OP_custom, {T16}, {0}, A(tn_custom, .id = "mine/1")},
    {"3 bytes of parameters at NULL",
     0,
     TN_OP_custom,
     {T16},
     {0},
     A(tn_custom, .id = "mine/1", .width = 7, .params_size = 3)},
    {"input 1 (prelude) has a row a sequence",
     0,
     TN_OP_custom,
     {T16, S16},
     {0},
     A(tn_custom, .id = "mine/1", .width = 7)},
    {"input 2 follows one that is missing",
     0,
     TN_OP_custom,
     {T16, 0, T16},
     {0},
     A(tn_custom, .id = "mine/1", .width = 7)},
};

Test(graph_nodes, every_rule) {
    for (size_t i = 0; i < sizeof samples / sizeof *samples; i++) {
        const struct sample *s = &samples[i];
        char message[1016];
        uint32_t width;
        judge(s, message, &width);
        if (s->words) {
            cr_expect(strstr(message, s->words), "sample %zu: \"%s\" lacks \"%s\"", i, message, s->words);
            cr_expect(strncmp(message, "blk.3.it (", 10) == 0, "sample %zu: \"%s\" does not name the node", i,
                      message);
        } else {
            cr_expect_str_eq(message, "", "sample %zu is sound: %s", i, message);
        }
    }
}

Test(graph_nodes, results_have_their_widths) {
    for (size_t i = 0; i < sizeof samples / sizeof *samples; i++) {
        const struct sample *s = &samples[i];
        if (s->words) { continue; }
        tn_graph_builder *builder = start();
        prelude(builder);
        uint32_t value = add(builder, "it", s);
        struct sample twice = {NULL, 0, TN_OP_scale, {value}, {0}, A(tn_scale, .factor = 1)};
        cr_expect_eq(value, VALUES + 1, "sample %zu is value %u", i, value);
        if (s->op !=
            TN_OP_route) { /* the checks of the next node see the width: a split of s->width is sound */
            struct sample split = {NULL,    0,   TN_OP_split,
                                   {value}, {0}, A(tn_split, .count = 1, .widths = {s->width})};
            cr_expect_neq(add(builder, "next", &split), 0, "sample %zu is not %u wide", i, s->width);
        } else {
            cr_expect_eq(add(builder, "next", &twice), 0, "sample %zu: a route is no number", i);
        }
        tn_graph_builder_free(builder);
    }
}
