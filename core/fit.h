/*
 * fit.h - the proof that plugins and a file fit, and what it leaves behind for a model.
 *
 * The stages, in order: fit_file.c (container, kind of file, architecture, hyperparameters), fit_tensors.c
 * (tensors asked for and found, none unread, formats), fit_plan.c (graph, backend, cache). Each adds its
 * reasons and goes on as far as it can.
 */
#ifndef TENON_FIT_H
#define TENON_FIT_H

#include "abi_view.h"
#include "adapter.h"
#include "fit_reasons.h"
#include "graph_build.h"
#include "tenon/ctc.h"

/** A format plugin as the file's tensors need it. */
typedef struct tn_fit_format {
    uint32_t type;
    const tn_entry *entry; /**< NULL: nobody serves it */
    const tn_format *format;
    void *self;
    const char *name;   /**< "Q4_0", or "type 200" */
    const char *tensor; /**< the first tensor of the type */
    uint64_t tensors;   /**< how many there are */
    int32_t code;       /**< TN_OK, or why it is not served, with the message: */
    const char *message;
} tn_fit_format;

/** A companion scale whose numbers are decoded once the model is loaded. */
typedef struct tn_companion_tensor {
    tn_weight *weight;
    const tn_gguf_tensor *tensor;
    const tn_format *format;
    void *format_self;
} tn_companion_tensor;

/** What fits: a model is made of it. */
typedef struct tn_match {
    tn_engine *engine;
    const tn_gguf *file;
    tn_arena arena; /**< weights and all that they point to */

    const tn_entry *arch_entry;
    const tn_arch *arch;
    void *arch_self, *config;
    tn_abi_view arch_view;
    tn_facts facts;
    uint32_t context, purpose;

    tn_weight **weights; /**< of `weight_count` claims, from number 1 */
    const tn_gguf_tensor **tensors;
    uint32_t *claim_flags;
    uint32_t weight_count, own_weight_count; /**< with those of adapters, and without */
    tn_companion_tensor *companions;
    uint32_t companion_count;

    tn_adapters adapters; /**< their weights follow those of the file */

    tn_text_codec *codec;
    tn_graph_builder *builder;
    const tn_graph *graph;

    const tn_entry *backend_entry;
    const tn_backend *backend;
    void *backend_self;
    tn_abi_view view; /**< the backend's */
    const tn_format *cache_format;
    void *cache_self;

    uint32_t vocab_size;                /**< rows of the token embedding, 0: none */
    uint32_t frame_width;               /**< numbers of a frame, 0: it reads ids */
    const tn_alphabet *alphabet;        /**< of a ctc output; NULL: none */
    const tn_weight *bigrams;           /**< likewise; may be NULL */
    uint32_t output_kind, output_width; /**< of the first output */
    uint32_t output_rows;               /**< TN_ROWS_O, TN_ROWS_S */
    uint32_t whole; /**< 1: a sequence must lie whole in one step (pooled, or attended without a cache) */
} tn_match;

/** Frees what it holds; a zeroed one is fine. */
void tn_match_release(tn_match *match);

struct tn_fit {
    tn_match match;
    int taken; /**< 1: `match` belongs to a model now */
    tn_model_options options;
    tn_reasons reasons;
    const char *architecture; /**< declared name, made printable */
    int configured, claimed;  /**< hyperparameters read; all tensors asked for are there */
    uint64_t tensor_count, tensors_read, kv_bytes;
    tn_fit_format *formats;
    uint32_t format_count, format_capacity;
    tn_fit_node *nodes;
    uint32_t node_count;
    const char **unused; /**< names, NULL after the last; NULL: none */
    const char **plugins;
    uint32_t plugin_count;
    tn_vocab vocab;
    int has_vocab;
};

/** 1, and a reason added, if the file is something else than a model. */
int tn_fit_file_kind(tn_fit *fit);
/** Finds the architecture's plugin and has it read the hyperparameters. */
void tn_fit_architecture_run(tn_fit *fit);
/** Formats of all tensors; if configured, the claims, their companions, and what nobody reads. */
int32_t tn_fit_tensors(tn_fit *fit, tn_error *err);
/** The format plugin of a type, looked up once; NULL: no memory. Its fault, if any, is in it. */
tn_fit_format *tn_fit_format_of(tn_fit *fit, uint32_t type);
/** A weight for a tensor, in the match's memory, without number; NULL: no memory. */
tn_weight *tn_fit_weight(tn_fit *fit, const tn_gguf_tensor *tensor);
/** adapter.c. Opens the adapters that are asked for; makes weights of their tensors; after the graph is built: all of
 * them are part of it. */
int32_t tn_fit_adapters_open(tn_fit *fit, tn_error *err);
void tn_fit_adapters_claim(tn_fit *fit);
void tn_fit_adapters_used(tn_fit *fit);
void tn_adapters_close(tn_adapters *adapters);
/** "an array", "a float32". */
const char *tn_fit_kv_type(const tn_kv *kv);
/** The alphabet of a ctc output: what is wrong with it is a reason. */
void tn_fit_alphabet_read(tn_fit *fit, const tn_node *output);
/** The tokenizer, where there is one or must be one. */
void tn_fit_codec(tn_fit *fit);
/** The graph, the backend for each node, the cache. */
int32_t tn_fit_plan(tn_fit *fit, tn_error *err);

/** "a, b, c" of what is claimed under a key, in the fit's memory; types by name. "none" if nothing is. */
const char *tn_fit_installed(tn_fit *fit, const char *key);

#endif
