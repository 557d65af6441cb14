/*
 * bert.h - encoders: every token sees every other, norms stand behind the residual sums, no last norm.
 *
 *     x = ln(token_embd[id] + token_types[0] + position_embd[t])     nomic-bert: no positions, rotated heads
 *     x = ln(x + Attn(x)),  x = ln(x + FFN(x))                       nomic-bert: gated by silu, bert: gelu_erf
 *     score = cls.output tanh(cls x[0])                              of a file with a classification head
 */
#ifndef TENON_ARCH_BERT_H
#define TENON_ARCH_BERT_H

#include "decoder.h"

/* What sets the two names apart. */
typedef struct bert_traits {
    const char *name;
    bool positions;   /* learned; else q and k are rotated, in halves */
    bool gated;       /* silu(gate) * up; else gelu_erf(up) */
    bool linear_bias; /* of every matrix; else of the attention's where the file has them */
    bool classifies;  /* a classification head may be there */
} bert_traits;

typedef struct bert_layer {
    tn_matrix qkv, q, k, v, attn_output, attn_output_norm;
    tn_matrix gate, up, down, layer_output_norm;
} bert_layer;

typedef struct bert {
    const tn_host *host;
    const bert_traits *traits;
    uint32_t layer_count, width, vocab, context, heads, head_dim, feed_forward;
    uint32_t types, labels; /* rows of token_types; outputs of the classification head */
    uint32_t head_pool;     /* TN_POOL_*: what the head sees */
    double eps;
    tn_rotation rotation;
    uint32_t token_embd, token_types, position_embd;
    tn_matrix token_embd_norm, cls, cls_output;
    bert_layer layers[];
} bert;

/* bert_graph.c */
int32_t bert_write(const bert *b, const tn_build *options, const tn_builder *builder, tn_error *err);

#endif
