/*
 * tenon/arch.h - interface "tenon.arch/1": one family of architectures, as a description.
 *
 * A plugin claims values of general.architecture in its manifest. For a file it reads and checks the
 * hyperparameters, says which tensors must and may be there, and writes the graph. It sees no weight.
 * Include tenon/build.h for short forms of all of this.
 */
#ifndef TENON_ARCH_H
#define TENON_ARCH_H

#include "tenon/graph.h"
#include "tenon/meta.h"

TN_BEGIN_C

#define TN_ARCH_1 "tenon.arch/1"

enum { TN_ARCH_DECODER = 1, TN_ARCH_ENCODER = 2, TN_ARCH_RECOGNISER = 3 /* frames to characters */ };

/** What a user wants to know of a model, and what the host needs. Filled by configure(). */
typedef struct tn_facts {
    uint32_t struct_size;
    uint32_t kind; /**< TN_ARCH_* */
    uint32_t layers, width;
    uint32_t heads, kv_heads; /**< of the first layer, where they differ */
    uint32_t key_dim, value_dim;
    uint32_t feed_forward;
    uint32_t experts, experts_used; /**< 0: dense */
    uint32_t context;               /**< what the model was made for, 0: it cannot be said */
    uint32_t context_limit;         /**< a hard limit (learned positions), 0: none */
    uint32_t rotated;               /**< rotary dimensions of a head, 0: none */
    double rope_base;
    uint32_t needs_tokenizer; /**< 0 or 1 */
    uint32_t reserved;
} tn_facts;

/** One tensor that the architecture reads. */
#define TN_CLAIM_OPTIONAL (1u << 0) /* may be absent */
#define TN_CLAIM_UNUSED (1u << 1)   /* known; the graph may leave it unread */
typedef struct tn_claim {
    uint32_t struct_size;
    uint32_t flags; /**< TN_CLAIM_* */
    const char *name;
    uint32_t dim_count; /**< 1 to 4 */
    uint32_t reserved;
    uint64_t dims[4]; /**< as GGUF writes them, fastest first */
    const char *why;  /**< what the shape follows from, for messages: "embedding_length, head_count *
                         key_length"; may be NULL */
} tn_claim;

/** Takes claims while tensors() runs. */
typedef struct tn_claims tn_claims;
struct tn_claims {
    uint32_t struct_size;
    uint32_t reserved;
    void *context;
    /**
     * [load] Looks the tensor up and checks its shape; faults are collected for the refusal. Returns the
     * weight's number for nodes, 0 if it is absent (or wrong: then the model will be refused).
     * Claiming a name twice gives the same number.
     */
    uint32_t (*claim)(const tn_claims *claims, const tn_claim *claim);
    /** [load] 1 if the file has a tensor of that name. */
    uint32_t (*has)(const tn_claims *claims, const char *name);
};

enum { TN_PURPOSE_GENERATE = 1, TN_PURPOSE_EMBED = 2, TN_PURPOSE_RANK = 3, TN_PURPOSE_RECOGNISE = 4 };

/** What the graph is built for. */
typedef struct tn_build {
    uint32_t struct_size;
    uint32_t context; /**< the configured context size */
    uint32_t purpose; /**< TN_PURPOSE_* */
    uint32_t reserved;
} tn_build;

typedef struct tn_arch {
    uint32_t struct_size;
    uint32_t reserved;
    /**
     * [load] Reads and checks the hyperparameters of a file whose general.architecture is `name` (keys
     * carry it as prefix). `vocab_size` is the length of tokenizer.ggml.tokens, 0 if there is none. Every
     * fault goes to `report`, with the key as subject; the call goes on to find more, and fails with the
     * code of the first one. On success *config is the plugin's, and *facts is filled.
     */
    int32_t (*configure)(void *self, const char *name, const tn_meta *meta, uint64_t vocab_size,
                         const tn_report *report, tn_facts *facts, void **config, tn_error *err);
    /** [load] Frees a config. */
    void (*release)(void *self, void *config);
    /** [load] Claims every tensor that a file of this configuration has; remembers the weights' numbers. */
    int32_t (*tensors)(void *self, void *config, const tn_claims *claims, tn_error *err);
    /** [load] Writes the graph. May be called several times, after tensors(). */
    int32_t (*build)(void *self, const void *config, const tn_build *build, const tn_builder *builder,
                     tn_error *err);
} tn_arch;

TN_END_C
#endif
