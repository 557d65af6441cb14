/*
 * tenon/graph.h - the graph: what an architecture describes and a backend computes.
 *
 * A value is a matrix of float32, some rows by a fixed width. Rows are of one of three kinds: T, one a
 * token of the step; O, the rows whose output is asked for; S, one a sequence. Nothing else is dynamic:
 * a graph is built once and run for every step. Values and weights are numbered from 1; 0 means "none".
 *
 * Each op has a struct of attributes of its own, here in the order of their numbers. The reference
 * backend's source is the definition of what each one computes.
 */
#ifndef TENON_GRAPH_H
#define TENON_GRAPH_H

#include "tenon/format.h"

TN_BEGIN_C

/** Ops: X(name, number, attribute struct). Numbers are never reused; a changed meaning is a new op. */
#define TN_OPS(X)                                                                                            \
    X(embed, 1, tn_embed)                                                                                    \
    X(input, 2, tn_input)                                                                                    \
    X(norm, 3, tn_norm)                                                                                      \
    X(linear, 4, tn_linear)                                                                                  \
    X(split, 5, tn_split)                                                                                    \
    X(rope, 6, tn_rope)                                                                                      \
    X(attend, 7, tn_attend)                                                                                  \
    X(act, 8, tn_act_op)                                                                                     \
    X(glu, 9, tn_glu)                                                                                        \
    X(route, 10, tn_route)                                                                                   \
    X(experts, 11, tn_experts)                                                                               \
    X(add, 12, tn_scale)                                                                                     \
    X(mul, 13, tn_scale)                                                                                     \
    X(scale, 14, tn_scale)                                                                                   \
    X(softcap, 15, tn_scale)                                                                                 \
    X(mark, 16, tn_mark)                                                                                     \
    X(rows, 17, tn_scale)                                                                                    \
    X(pool, 18, tn_pool)                                                                                     \
    X(output, 19, tn_output)                                                                                 \
    X(custom, 20, tn_custom)                                                                                 \
    X(clamp, 21, tn_scale)                                                                                   \
    X(expert_linear, 22, tn_linear)                                                                          \
    X(expert_sum, 23, tn_scale)

enum {
#define TN_OP_ENUM(name, number, type) TN_OP_##name = number,
    TN_OPS(TN_OP_ENUM)
#undef TN_OP_ENUM
        TN_OP_LAST = 23
};

/** Kinds of rows of a value. */
enum { TN_ROWS_T = 1, TN_ROWS_O = 2, TN_ROWS_S = 3 };
/** What a value holds: floats, or the choices of a route (expert numbers and weights). */
enum { TN_VALUE_FLOAT = 0, TN_VALUE_ROUTE = 1 };
/** Activations of `act` and `glu`. silu(x) = x / (1 + exp(-alpha x)); gelu_erf = x/2 (1 + erf(x / sqrt 2));
 * gelu_tanh = x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))); relu2 = max(x, 0)^2. */
enum {
    TN_ACT_SILU = 1,
    TN_ACT_GELU_ERF = 2,
    TN_ACT_GELU_TANH = 3,
    TN_ACT_RELU = 4,
    TN_ACT_RELU2 = 5,
    TN_ACT_TANH = 6,
    TN_ACT_SIGMOID = 7
};

/* inputs and weights below: what the node's arrays hold, in order; [x] may be 0 (none). */

/** weights {W}: row of W for each row's token, position or type, times `scale`. By token: a row that the
 * step gives as numbers passes through unscaled. Result T by W's columns. */
enum { TN_EMBED_TOKEN = 1, TN_EMBED_POSITION = 2, TN_EMBED_TYPE = 3 };
typedef struct tn_embed {
    uint32_t struct_size;
    uint32_t by;  /**< TN_EMBED_* */
    double scale; /**< 1 if nothing is asked */
} tn_embed;

/** Rows of numbers from the step. Result T by `width`. */
typedef struct tn_input {
    uint32_t struct_size;
    uint32_t port; /**< number of the port, from 0 */
    uint32_t width;
    uint32_t reserved;
} tn_input;

/** inputs {x}, weights {[W], [b]}: normalises the row, or each of `groups` equal parts of it.
 * rms: x / sqrt(mean(x^2) + eps); layer: (x - mean) / sqrt(mean((x - mean)^2) + eps); then * W + b. W as wide
 * as one part is shared by all, as wide as the row: each part has its own. */
enum { TN_NORM_RMS = 1, TN_NORM_LAYER = 2 };
typedef struct tn_norm {
    uint32_t struct_size;
    uint32_t kind;   /**< TN_NORM_* */
    uint32_t groups; /**< 1: the whole row */
    uint32_t reserved;
    double eps;
} tn_norm;

/** linear: inputs {x}, weights {W, [b]}: y = companion scale * (W x) + b. No attributes.
 * expert_linear: inputs {x, route}, weights {W, [b]} (three-dimensional): the same with the matrix and bias of each chosen
 * expert, results side by side in the order of the route. x is as wide as a row of W, or holds so many numbers for each. */
typedef struct tn_linear {
    uint32_t struct_size;
    uint32_t reserved;
} tn_linear;

/** inputs {x}: results are `count` views of columns, widths in order; they sum to the width of x. */
typedef struct tn_split {
    uint32_t struct_size;
    uint32_t count; /**< 1 to 4 */
    uint32_t widths[4];
} tn_split;

/** inputs {x}, weights {[factors]}: rotates the first `rotated` elements of each of `heads` heads of
 * head_dim: (a, b) -> (a cos t - b sin t, a sin t + b cos t), t = position * frequency[p] / factors[p], cos
 * and sin times magnitude. Pair p: elements 2p, 2p+1 (adjacent) or p, p + rotated/2 (halves). */
enum { TN_PAIR_ADJACENT = 1, TN_PAIR_HALVES = 2 };
typedef struct tn_rope {
    uint32_t struct_size;
    uint32_t heads, head_dim;
    uint32_t rotated; /**< even, at most head_dim */
    uint32_t pairing; /**< TN_PAIR_* */
    uint32_t reserved;
    const double *frequencies; /**< rotated / 2 of them; add() copies them */
    double magnitude;          /**< 1 if nothing is asked */
} tn_rope;

/** inputs {q, k, v}, weights {[sinks]}: stores k and v of this step in cache slot `slot` (if cached), then
 * for each row i and head h, with key head g = h / (heads / kv_heads), over the keys j that are not hidden:
 *
 *     s_j = scale * q.k_j                             if softcap: softcap * tanh(that / softcap)
 *     y   = sum_j exp(s_j) v_j / sum_j exp(s_j)       if sinks: with exp(sink_h) in the sum below the line
 *
 * j is hidden unless it is of the same sequence and (if causal) j <= i and (if window) i - j < window.
 * Result: T by heads * value_dim. */
typedef struct tn_attend {
    uint32_t struct_size;
    uint32_t slot; /**< cache slots are numbered over the model from 0 */
    uint32_t heads, kv_heads;
    uint32_t key_dim, value_dim;
    uint32_t causal, cached; /**< 0 or 1 */
    uint32_t window;         /**< 0: none */
    uint32_t reserved;
    double scale;   /**< explicit, no default */
    double softcap; /**< 0: none */
} tn_attend;

/** inputs {x}: elementwise. */
typedef struct tn_act_op {
    uint32_t struct_size;
    uint32_t act; /**< TN_ACT_* */
    double alpha; /**< of silu; 1 if nothing is asked (0 counts as 1) */
} tn_act_op;

/** inputs {g, u}: g' = min(g, limit), u' = clamp(u, -limit, limit) if limit; y = act(g') * (u' + offset). */
typedef struct tn_glu {
    uint32_t struct_size;
    uint32_t act; /**< TN_ACT_* */
    double alpha;
    double limit;  /**< 0: none */
    double offset; /**< 0: none */
} tn_glu;

/** inputs {logits}, weights {[bias]}: per row `used` experts, chosen by logit (with bias: by score + bias),
 * largest first, ties to the lower number; weights = score of the logits, over their sum if `normalise`,
 * times scale. Result: a TN_VALUE_ROUTE of width `used`. */
enum { TN_SCORE_SOFTMAX = 1, TN_SCORE_SIGMOID = 2 };
typedef struct tn_route {
    uint32_t struct_size;
    uint32_t used;
    uint32_t score; /**< TN_SCORE_* */
    uint32_t normalise;
    double scale; /**< 1 if nothing is asked */
} tn_route;

/** inputs {x, route}, weights {[gate], up, down, [gate bias], [up bias], [down bias]} (three-dimensional):
 * the sum over the chosen, in the order of the route, of weight * expert(x); biases are inside the expert. */
typedef struct tn_experts {
    uint32_t struct_size;
    uint32_t act;                /**< TN_ACT_* */
    double alpha, limit, offset; /**< as in tn_glu */
} tn_experts;

/** add {a, b}; mul {a, b}, where one side may be one column wide; scale {x}: x * factor; softcap {x}:
 * factor * tanh(x / factor); clamp {x}: the nearest number in -factor .. factor; rows {x}: T to O; expert_sum
 * {y, route}: the sum over the chosen, in the order of the route, of weight * its part of y. */
typedef struct tn_scale {
    uint32_t struct_size;
    uint32_t reserved;
    double factor; /**< of scale, softcap and clamp; else 0 */
} tn_scale;

/** inputs {x}: x itself, under a role that the host can find. */
enum { TN_MARK_LAYER_OUTPUT = 1 };
typedef struct tn_mark {
    uint32_t struct_size;
    uint32_t role; /**< TN_MARK_* */
} tn_mark;

/** inputs {x}: T to S, over a sequence that lies whole in the step. */
enum { TN_POOL_MEAN = 1, TN_POOL_FIRST = 2, TN_POOL_LAST = 3 };
typedef struct tn_pool {
    uint32_t struct_size;
    uint32_t kind; /**< TN_POOL_* */
} tn_pool;

/** inputs {x}, weights {[bigrams]}: what the graph returns. Several are allowed, one of a kind. Rows of ctc are logits of
 * the symbols of an alphabet, one of them the blank; core reads the alphabet from the file's keys <architecture>.ctc.*
 * and decodes. bigrams, a square of the row's width: log probabilities of a symbol (column) behind another (row). */
enum { TN_OUTPUT_LOGITS = 1, TN_OUTPUT_HIDDEN = 2, TN_OUTPUT_SCORE = 3, TN_OUTPUT_CTC = 4 };
typedef struct tn_output {
    uint32_t struct_size;
    uint32_t kind; /**< TN_OUTPUT_* */
} tn_output;

/** inputs {x...}, weights {...}: someone else's rowwise op; served by a kernel plugin that claims its id. */
typedef struct tn_custom {
    uint32_t struct_size;
    uint32_t width;     /**< of the result */
    const char *id;     /**< "name/1"; add() copies it */
    const void *params; /**< add() copies `params_size` bytes */
    uint64_t params_size;
} tn_custom;

#define TN_NODE_INPUTS 4
#define TN_NODE_WEIGHTS 6

/** One op of a graph. */
typedef struct tn_node {
    uint32_t struct_size;
    int32_t op;                        /**< TN_OP_* */
    const char *name;                  /**< the author's name for its result: "blk.3.attn_q" */
    int32_t layer;                     /**< or -1 */
    uint32_t inputs[TN_NODE_INPUTS];   /**< values, 0 = none */
    uint32_t weights[TN_NODE_WEIGHTS]; /**< weights, 0 = none */
    uint32_t
        result; /**< the first value it makes (0 for output); a split makes `count` in a row. add() sets it */
    const void *attributes; /**< the struct that TN_OPS names for the op; never NULL */
} tn_node;

/** What is known of a value. */
typedef struct tn_value {
    uint32_t struct_size;
    uint32_t rows; /**< TN_ROWS_* */
    uint32_t width;
    uint32_t kind; /**< TN_VALUE_* */
    uint32_t node; /**< index of the node that makes it */
    uint32_t uses; /**< how many operands read it */
} tn_value;

/** A weight: a tensor of the file, claimed by the architecture. Lives as long as the model. */
typedef struct tn_weight {
    uint32_t struct_size;
    uint32_t id;      /**< its number in the graph, from 1 */
    const char *name; /**< the tensor's name */
    const tn_format *format;
    void *format_self;
    uint64_t cols, rows,
        count; /**< elements of a row, rows, matrices (experts); 1 where there are fewer dims */
    uint64_t row_bytes;
    uint64_t size;       /**< bytes at data */
    const void *data;    /**< mapped, read only, any alignment; NULL until the weights are there (fit) */
    const float *scales; /**< companion scale: one, or `count`; NULL: none. Multiplies the product */
    uint64_t scale_count;
} tn_weight;

/** A finished graph. Belongs to the host, outlives every plan made from it. */
typedef struct tn_graph {
    uint32_t struct_size;
    uint32_t node_count, value_count, weight_count, slot_count;
    uint32_t reserved;
    const tn_node *const *nodes;     /**< in an order in which every input is made before it is read */
    const tn_value *const *values;   /**< values[v - 1] is value v */
    const tn_weight *const *weights; /**< weights[w - 1] is weight w; NULL where it is claimed but absent */
} tn_graph;

/** Takes nodes while build() runs. */
typedef struct tn_builder tn_builder;
struct tn_builder {
    uint32_t struct_size;
    uint32_t reserved;
    void *context;
    /**
     * [load] Checks a node and appends a copy of it. Returns its first result, or 0: the node was wrong,
     * the builder remembers why (and names the node), every later add() returns 0, and the host fails the
     * build with that reason. So an author need not check each call.
     */
    uint32_t (*add)(const tn_builder *builder, const tn_node *node);
};

TN_END_C
#endif
