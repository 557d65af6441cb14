/*
 * adapter.h - what changes a model without changing its file: low-rank adapters (LoRA) and control vectors.
 *
 * An adapter is a GGUF file whose tensors become weights beside those of the model. The graph builder then writes
 * more nodes than the architecture asked for: behind each `linear` over an adapted matrix W
 *
 *     y = W x + b  +  s B (A x)        s = scale * alpha / rank          https://arxiv.org/abs/2106.09685
 *
 * and behind the `mark` of a layer's output x + scale * direction. So every backend can do it, and no plugin knows.
 * `experts` with an adapted matrix are written in their parts, each product with its addition behind it.
 *
 * A table that rows are looked up in has its pair the other way round, A a table as well: a row of W' = W + s (B A)^T is
 * w + s B a. Where such a table multiplies too (tied output), that is W x + s A (B^T x).
 */
#ifndef TENON_ADAPTER_H
#define TENON_ADAPTER_H

#include "tenon/gguf.h"
#include "tenon/graph.h"

/** One low-rank pair. Weights by number. */
typedef struct tn_adapter_pair {
    const char *file, *name; /**< for messages: the adapter's path, the adapted tensor */
    uint32_t target;
    uint32_t a, b;         /**< of a product; of a table: B turned over, and A */
    uint32_t rows, rows_b; /**< of a table: A and B; else 0 */
    uint32_t uses;         /**< products and tables that it was added to */
    double scale;
} tn_adapter_pair;

/** One direction of a control vector. */
typedef struct tn_adapter_direction {
    const char *file;
    int32_t layer;
    uint32_t weight;
    uint32_t uses;
    double scale;
} tn_adapter_direction;

typedef struct tn_adapters {
    tn_gguf **files;
    uint32_t file_count;
    uint64_t tensor_count; /**< of all files */
    uint64_t weight_most;  /**< weights that may be made of them */
    tn_adapter_pair *pairs;
    uint32_t pair_count;
    tn_adapter_direction *directions;
    uint32_t direction_count;
} tn_adapters;

#endif
