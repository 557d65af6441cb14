/*
 * tenon/build.h - short forms for authors of architectures. Inline; nothing here crosses the ABI.
 *
 * An architecture does three things, and this header has a small tool for each:
 *
 *   configure()  tn_params   reads hyperparameters. A fault is reported with its key, what was found and what
 *                            is wanted; reading goes on, so that all faults of a file come out at once.
 *   tensors()    tn_claimer  claims tensors by the names that GGUF gives them: "blk.<layer>.<stem>.weight".
 *   build()      tn_writer   writes nodes. Each call returns the value that the node makes.
 *
 * A decoder that differs from known ones in known ways is a row of traits (plugins/arch/common/decoder.h); plugins/arch/bert
 * is an architecture written out. A layer number of TN_NO_LAYER means "of the whole model".
 */
#ifndef TENON_BUILD_H
#define TENON_BUILD_H

#include "tenon/arch.h"
#include "tenon/errors.h"
#include "tenon/rope.h"

#include <float.h>
#include <inttypes.h>

TN_BEGIN_C

#define TN_NO_LAYER (-1)

/* Most bytes of a key or of a name that is put together here, with the NUL at the end. */
#define TN_NAME_MAX 256

/* Bounds that keep every product of two sizes of a model within 64 bits and every width within 32. */
#define TN_LAYERS_MAX 65535u
#define TN_HEADS_MAX 65535u
#define TN_WIDTH_MAX (1u << 24)
#define TN_CONTEXT_MAX 2147483647u

/** As the lower bound of a float: anything above 0. */
#define TN_POSITIVE DBL_MIN

/* ---- hyperparameters --------------------------------------------------------------------------------- */

/**
 * Reads the keys "<prefix>.<key>" of one file. Every reader returns 0 where it found a fault, so that a
 * relation between two numbers can be left alone unless both are there.
 */
typedef struct tn_params {
    const tn_host *host;
    const tn_meta *meta;
    const tn_report *report;
    const char *prefix; /**< the declared name of the architecture */
    tn_error first;     /**< code and words of the first fault; TN_OK: none yet */
} tn_params;

/** A number a layer: the file has one for all, or an array. Stays good as long as the model is open. */
typedef struct tn_layered {
    tn_kv kv;         /**< the array, if count is not 0 */
    uint32_t is_list; /**< 1: kv holds one for each layer */
    uint32_t same;    /**< else: the one for all */
} tn_layered;

static inline tn_params tn_params_begin(const tn_host *host, const tn_meta *meta, const tn_report *report,
                                        const char *prefix) {
    tn_params params;
    memset(&params, 0, sizeof params);
    params.host = host;
    params.meta = meta;
    params.report = report;
    params.prefix = prefix;
    params.first.struct_size = (uint32_t)sizeof params.first;
    return params;
}

/** The code of the first fault, its words in *err; TN_OK if there was none. */
static inline int32_t tn_params_end(const tn_params *params, tn_error *err) {
    if (params->first.code == TN_OK) { return TN_OK; }
    return tn_fail(err, params->first.code, "%s", params->first.text);
}

/** Reports a fault of a key: what the file has, and what would work. */
static inline void tn_param_fault(tn_params *params, int32_t code, const char *key, const char *found,
                                  const char *wanted) {
    char subject[TN_NAME_MAX];
    tn_reason reason;
    snprintf(subject, sizeof subject, "%s.%s", params->prefix, key);
    memset(&reason, 0, sizeof reason);
    TN_STAMP(params->host, &reason, tn_reason);
    reason.code = code;
    reason.subject = subject;
    reason.found = found;
    reason.wanted = wanted;
    params->report->add(params->report, &reason);
    if (params->first.code == TN_OK) {
        tn_fail(&params->first, code, "%s: %s, wanted %s", subject, found, wanted);
    }
}

/** 1 and *kv filled if the file has the key. */
static inline int tn_param_find(const tn_params *params, const char *key, tn_kv *kv) {
    char name[TN_NAME_MAX];
    memset(kv, 0, sizeof *kv);
    TN_STAMP(params->host, kv, tn_kv);
    snprintf(name, sizeof name, "%s.%s", params->prefix, key);
    return params->meta->find(params->meta, name, kv) == TN_OK;
}

/** Element `i` of an entry in words: "a string", "7", "nan". */
static inline void tn_kv_words(const tn_kv *kv, uint64_t i, char *out, size_t capacity) {
    int64_t n;
    double f;
    uint32_t type = kv->type == TN_KV_ARRAY ? kv->element_type : kv->type;
    if (tn_kv_int(kv, i, &n)) {
        snprintf(out, capacity, "%" PRId64, n);
    } else if (tn_kv_float(kv, i, &f)) {
        snprintf(out, capacity, "%g", f);
    } else if (type == TN_KV_STRING) {
        snprintf(out, capacity, "a string");
    } else if (type == TN_KV_BOOL) {
        snprintf(out, capacity, "a bool");
    } else {
        snprintf(out, capacity, "a number too large"); /* a uint64 beyond int64 */
    }
}

/** The type of an entry in words: "a string", "an array of 3", "a float". */
static inline void tn_kv_type_words(const tn_kv *kv, char *out, size_t capacity) {
    int64_t n;
    switch (kv->type) {
    case TN_KV_ARRAY: snprintf(out, capacity, "an array of %" PRIu64, kv->count); break;
    case TN_KV_STRING: snprintf(out, capacity, "a string"); break;
    case TN_KV_BOOL: snprintf(out, capacity, "a bool"); break;
    case TN_KV_F32:
    case TN_KV_F64: snprintf(out, capacity, "a float"); break;
    default: snprintf(out, capacity, tn_kv_int(kv, 0, &n) ? "an integer" : "a number too large"); break;
    }
}

/** "a float" and the like, as a fault of the key's type. */
static inline void tn_param_wrong_type(tn_params *params, const char *key, const tn_kv *kv,
                                       const char *wanted) {
    char found[64];
    tn_kv_type_words(kv, found, sizeof found);
    tn_param_fault(params, TN_E_PARAM_TYPE, key, found, wanted);
}

/** Element `i` of an integer entry if it is within low .. high; else 0 and a fault. */
static inline uint32_t tn_param_number(tn_params *params, const char *key, const tn_kv *kv, uint64_t i,
                                       uint32_t low, uint32_t high) {
    int64_t n = 0;
    char found[96], words[64], wanted[64];
    int is_integer = tn_kv_int(kv, i, &n);
    if (is_integer && n >= low && n <= high) { return (uint32_t)n; }
    tn_kv_words(kv, i, words, sizeof words);
    if (kv->type == TN_KV_ARRAY) {
        snprintf(found, sizeof found, "%s at %" PRIu64, words, i);
    } else {
        snprintf(found, sizeof found, "%s", words);
    }
    snprintf(wanted, sizeof wanted, "an integer from %" PRIu32 " to %" PRIu32, low, high);
    uint32_t type = kv->type == TN_KV_ARRAY ? kv->element_type : kv->type;
    tn_param_fault(params, is_integer || type == TN_KV_U64 ? TN_E_PARAM_INVALID : TN_E_PARAM_TYPE, key, found,
                   wanted);
    return 0;
}

/** An integer that may be absent: then `fallback`. */
static inline uint32_t tn_param_u32_or(tn_params *params, const char *key, uint32_t low, uint32_t high,
                                       uint32_t fallback) {
    tn_kv kv;
    if (!tn_param_find(params, key, &kv)) { return fallback; }
    if (kv.type == TN_KV_ARRAY) {
        tn_param_wrong_type(params, key, &kv, "an integer");
        return 0;
    }
    return tn_param_number(params, key, &kv, 0, low, high);
}

/** An integer that must be there, within low .. high. */
static inline uint32_t tn_param_u32(tn_params *params, const char *key, uint32_t low, uint32_t high) {
    tn_kv kv;
    if (tn_param_find(params, key, &kv)) { return tn_param_u32_or(params, key, low, high, 0); }
    tn_param_fault(params, TN_E_PARAM_MISSING, key, "absent", "an integer");
    return 0;
}

/** context_length, which must be there. 0 without a fault if no context can be that long: such a file runs where the user
 * says how long, and the host asks for it. */
static inline uint32_t tn_param_context(tn_params *params) {
    const char *key = "context_length";
    tn_kv kv;
    int64_t n;
    if (tn_param_find(params, key, &kv) && kv.type != TN_KV_ARRAY) {
        int fits = tn_kv_int(&kv, 0, &n);
        if (fits ? n < 1 || n > TN_CONTEXT_MAX : kv.type == TN_KV_U64) { return 0; }
    }
    return tn_param_u32(params, key, 1, TN_CONTEXT_MAX);
}

/** A float that may be absent; finite, within low .. high (TN_POSITIVE: above 0). */
static inline double tn_param_float_or(tn_params *params, const char *key, double low, double high,
                                       double fallback) {
    tn_kv kv;
    double f = 0;
    char found[64], wanted[64];
    if (!tn_param_find(params, key, &kv)) { return fallback; }
    if (kv.type == TN_KV_ARRAY || !tn_kv_float(&kv, 0, &f)) {
        tn_param_wrong_type(params, key, &kv, "a float");
        return 0;
    }
    if (f >= low && f <= high) { return f; } /* false for NaN */
    tn_kv_words(&kv, 0, found, sizeof found);
    if (low == TN_POSITIVE) {
        snprintf(wanted, sizeof wanted, "a number above 0, at most %g", high);
    } else {
        snprintf(wanted, sizeof wanted, "a number from %g to %g", low, high);
    }
    tn_param_fault(params, TN_E_PARAM_INVALID, key, found, wanted);
    return 0;
}

/** A float that must be there. */
static inline double tn_param_float(tn_params *params, const char *key, double low, double high) {
    tn_kv kv;
    if (tn_param_find(params, key, &kv)) { return tn_param_float_or(params, key, low, high, 0); }
    tn_param_fault(params, TN_E_PARAM_MISSING, key, "absent", "a float");
    return 0;
}

/** A bool that may be absent. */
static inline uint32_t tn_param_bool_or(tn_params *params, const char *key, uint32_t fallback) {
    tn_kv kv;
    if (!tn_param_find(params, key, &kv)) { return fallback; }
    if (kv.type == TN_KV_BOOL) { return *(const unsigned char *)kv.data != 0; }
    tn_param_wrong_type(params, key, &kv, "a bool");
    return 0;
}

/** A string that may be absent: then data is NULL. Not NUL-terminated. */
static inline tn_text tn_param_text(tn_params *params, const char *key) {
    tn_kv kv;
    tn_text text = {NULL, 0};
    if (!tn_param_find(params, key, &kv)) { return text; }
    if (kv.type == TN_KV_STRING) {
        text.data = (const char *)kv.data;
        text.size = kv.count;
    } else {
        tn_param_wrong_type(params, key, &kv, "a string");
    }
    return text;
}

/** 1 if a text says just this. */
static inline int tn_text_is(tn_text text, const char *words) {
    return text.data && text.size == strlen(words) && memcmp(text.data, words, text.size) == 0;
}

/** An integer for every one of `layers` layers (0: their number is not known); absent: `fallback`. */
static inline tn_layered tn_param_layers_or(tn_params *params, const char *key, uint32_t low, uint32_t high,
                                            uint32_t layers, const tn_layered *fallback) {
    tn_layered list;
    char found[64], wanted[64];
    memset(&list, 0, sizeof list);
    if (!tn_param_find(params, key, &list.kv)) { return *fallback; }
    if (list.kv.type != TN_KV_ARRAY) {
        list.same = tn_param_number(params, key, &list.kv, 0, low, high);
        return list;
    }
    if (layers && list.kv.count != layers) {
        snprintf(found, sizeof found, "an array of %" PRIu64, list.kv.count);
        snprintf(wanted, sizeof wanted, "an integer, or an array of %" PRIu32 " (block_count)", layers);
        tn_param_fault(params, TN_E_PARAM_INVALID, key, found, wanted);
        return list;
    }
    for (uint64_t i = 0; i < list.kv.count; i++) {
        if (!tn_param_number(params, key, &list.kv, i, low, high) && low > 0) { return list; }
    }
    list.is_list = layers != 0;
    return list;
}

/** An integer for every layer that must be there. */
static inline tn_layered tn_param_layers(tn_params *params, const char *key, uint32_t low, uint32_t high,
                                         uint32_t layers) {
    tn_layered none;
    memset(&none, 0, sizeof none);
    if (!tn_param_find(params, key, &none.kv)) {
        tn_param_fault(params, TN_E_PARAM_MISSING, key, "absent", "an integer, or an array of block_count");
    }
    return tn_param_layers_or(params, key, low, high, layers, &none);
}

/** The number of a layer; 0 if there was a fault. */
static inline uint32_t tn_layer_number(const tn_layered *list, uint32_t layer) {
    int64_t n = 0;
    if (!list->is_list) { return list->same; }
    return tn_kv_int(&list->kv, layer, &n) ? (uint32_t)n : 0;
}

/** The keys rope.scaling.*: law, factor (its old name too), original context, attention factor. `context` stands in for the
 * original context; 0: it is not known. */
static inline void tn_param_scaling(tn_params *params, uint32_t context, tn_rotation *out) {
    tn_text law = tn_param_text(params, "rope.scaling.type");
    out->scaling = TN_SCALING_LINEAR;
    if (tn_text_is(law, "none")) {
        out->scaling = TN_SCALING_NONE;
    } else if (tn_text_is(law, "yarn")) {
        out->scaling = TN_SCALING_YARN;
    } else if (tn_text_is(law, "longrope")) {
        out->scaling = TN_SCALING_LONGROPE;
    } else if (law.data && !tn_text_is(law, "linear")) {
        char found[64];
        snprintf(found, sizeof found, "'%.*s'", (int)(law.size < 40 ? law.size : 40), law.data);
        tn_param_fault(params, TN_E_PARAM_UNSUPPORTED, "rope.scaling.type", found,
                       "none, linear, yarn or longrope");
    }
    double old = tn_param_float_or(params, "rope.scale_linear", 0, 1e6, 0);
    out->factor = tn_param_float_or(params, "rope.scaling.factor", 0, 1e6, old);
    if (out->factor == 0) { out->factor = 1; }
    out->original_context =
        tn_param_u32_or(params, "rope.scaling.original_context_length", 1, TN_CONTEXT_MAX, context);
    out->attention_factor = tn_param_float_or(params, "rope.scaling.attn_factor", TN_POSITIVE, 1e6, 1);
    if (!out->original_context && (out->scaling == TN_SCALING_YARN || out->scaling == TN_SCALING_LONGROPE)) {
        tn_kv kv;
        const char *key = "rope.scaling.original_context_length";
        if (tn_param_find(params, key, &kv)) { return; } /* its fault is reported */
        tn_param_fault(params, TN_E_PARAM_MISSING, key, "absent",
                       "an integer, for context_length is none that could stand in for it");
    }
}

/** The whole rotation of `rotated` dimensions, from the keys rope.freq_base and rope.scaling.*. */
static inline tn_rotation tn_param_rotation(tn_params *params, uint32_t rotated, uint32_t context) {
    tn_rotation r;
    memset(&r, 0, sizeof r);
    r.rotated = rotated;
    r.base = tn_param_float_or(params, "rope.freq_base", TN_POSITIVE, 1e30, 10000);
    tn_param_scaling(params, context, &r);
    if (r.scaling != TN_SCALING_YARN) { return r; }
    char found[64];
    if (r.base != 0 && r.base <= 1) {
        snprintf(found, sizeof found, "%g with yarn", r.base);
        tn_param_fault(params, TN_E_PARAM_INVALID, "rope.freq_base", found, "a number above 1");
    }
    if (r.factor < 1) {
        snprintf(found, sizeof found, "%g with yarn", r.factor);
        tn_param_fault(params, TN_E_PARAM_INVALID, "rope.scaling.factor", found, "at least 1");
    }
    return r;
}

/* ---- tensors ----------------------------------------------------------------------------------------- */

/** Claims tensors; `layer` is the current one. */
typedef struct tn_claimer {
    const tn_host *host;
    const tn_claims *claims;
    int32_t layer;
} tn_claimer;

/** A matrix and its bias: numbers of weights, 0 where there is none. */
typedef struct tn_matrix {
    uint32_t weight, bias;
} tn_matrix;

static inline tn_claimer tn_claimer_begin(const tn_host *host, const tn_claims *claims) {
    tn_claimer claimer = {host, claims, TN_NO_LAYER};
    return claimer;
}

/** "blk.3.attn_q" and a suffix, or without the layer. */
static inline void tn_layer_name(int32_t layer, const char *stem, const char *suffix, char *out) {
    if (layer == TN_NO_LAYER) {
        snprintf(out, TN_NAME_MAX, "%s%s", stem, suffix);
    } else {
        snprintf(out, TN_NAME_MAX, "blk.%" PRId32 ".%s%s", layer, stem, suffix);
    }
}

/** 1 if the file has the tensor. `name` is without the layer: "attn_qkv.weight". */
static inline uint32_t tn_claim_has(const tn_claimer *claimer, const char *name) {
    char full[TN_NAME_MAX];
    tn_layer_name(claimer->layer, name, "", full);
    return claimer->claims->has(claimer->claims, full);
}

/** Claims "<stem><suffix>" of 1 to 3 dimensions, fastest first; trailing dimensions are 0. flags: TN_CLAIM_*.
 */
static inline uint32_t tn_claim_part(const tn_claimer *claimer, const char *stem, const char *suffix,
                                     uint32_t flags, uint64_t cols, uint64_t rows, uint64_t count,
                                     const char *why) {
    char name[TN_NAME_MAX];
    tn_claim claim;
    tn_layer_name(claimer->layer, stem, suffix, name);
    memset(&claim, 0, sizeof claim);
    TN_STAMP(claimer->host, &claim, tn_claim);
    claim.flags = flags;
    claim.name = name;
    claim.dim_count = rows == 0 ? 1 : count == 0 ? 2 : 3;
    claim.dims[0] = cols;
    claim.dims[1] = rows;
    claim.dims[2] = count;
    claim.why = why;
    return claimer->claims->claim(claimer->claims, &claim);
}

/** Claims a tensor by its whole name within the layer: "rope_freqs.weight". */
static inline uint32_t tn_claim_tensor(const tn_claimer *claimer, const char *name, uint32_t flags,
                                       uint64_t cols, uint64_t rows, uint64_t count, const char *why) {
    return tn_claim_part(claimer, name, "", flags, cols, rows, count, why);
}

/** A vector that must be there: a norm's weights. */
static inline uint32_t tn_claim_vector(const tn_claimer *claimer, const char *name, uint64_t size,
                                       const char *why) {
    return tn_claim_tensor(claimer, name, 0, size, 0, 0, why);
}

/** A linear layer from `in` to `out` numbers: "<stem>.weight" must be there, "<stem>.bias" may. `why` says
 * what both sizes follow from: "embedding_length, feed_forward_length". */
static inline tn_matrix tn_claim_linear(const tn_claimer *claimer, const char *stem, uint64_t in,
                                        uint64_t out, const char *why) {
    tn_matrix matrix;
    matrix.weight = tn_claim_part(claimer, stem, ".weight", 0, in, out, 0, why);
    matrix.bias =
        tn_claim_part(claimer, stem, ".bias", TN_CLAIM_OPTIONAL, out, 0, 0, "the rows of its matrix");
    return matrix;
}

/* ---- the graph --------------------------------------------------------------------------------------- */

/** Writes nodes; `layer` is the current one. Names are given without it: "attn_q". */
typedef struct tn_writer {
    const tn_host *host;
    const tn_builder *builder;
    int32_t layer;
} tn_writer;

static inline tn_writer tn_writer_begin(const tn_host *host, const tn_builder *builder) {
    tn_writer writer = {host, builder, TN_NO_LAYER};
    return writer;
}

/** Attributes of an op, cleared and stamped: TN_ATTRIBUTES(writer, tn_glu, glu); glu.act = ... */
#define TN_ATTRIBUTES(writer, type, variable)                                                                \
    type variable;                                                                                           \
    memset(&variable, 0, sizeof variable);                                                                   \
    TN_STAMP((writer)->host, &variable, type)

/** Any op: up to four values and six weights, 0 for none. */
static inline uint32_t tn_add_node(const tn_writer *writer, int32_t op, const char *name,
                                   const uint32_t inputs[TN_NODE_INPUTS],
                                   const uint32_t weights[TN_NODE_WEIGHTS], const void *attributes) {
    char full[TN_NAME_MAX];
    TN_ATTRIBUTES(writer, tn_node, node);
    tn_layer_name(writer->layer, name, "", full);
    node.op = op;
    node.name = full;
    node.layer = writer->layer;
    if (inputs) { memcpy(node.inputs, inputs, sizeof node.inputs); }
    if (weights) { memcpy(node.weights, weights, sizeof node.weights); }
    node.attributes = attributes;
    return writer->builder->add(writer->builder, &node);
}

/** Rows of a table by TN_EMBED_*, times `scale`. */
static inline uint32_t tn_add_embed(const tn_writer *writer, const char *name, uint32_t by, uint32_t weight,
                                    double scale) {
    const uint32_t weights[TN_NODE_WEIGHTS] = {weight};
    TN_ATTRIBUTES(writer, tn_embed, attributes);
    attributes.by = by;
    attributes.scale = scale;
    return tn_add_node(writer, TN_OP_embed, name, NULL, weights, &attributes);
}

/** Rows of numbers from the step's port. */
static inline uint32_t tn_add_input(const tn_writer *writer, const char *name, uint32_t port,
                                    uint32_t width) {
    TN_ATTRIBUTES(writer, tn_input, attributes);
    attributes.port = port;
    attributes.width = width;
    return tn_add_node(writer, TN_OP_input, name, NULL, NULL, &attributes);
}

/** A norm of TN_NORM_* over each of `groups` parts of a row. */
static inline uint32_t tn_add_norm(const tn_writer *writer, const char *name, uint32_t x, uint32_t kind,
                                   uint32_t groups, tn_matrix w, double eps) {
    const uint32_t inputs[TN_NODE_INPUTS] = {x}, weights[TN_NODE_WEIGHTS] = {w.weight, w.bias};
    TN_ATTRIBUTES(writer, tn_norm, attributes);
    attributes.kind = kind;
    attributes.groups = groups;
    attributes.eps = eps;
    return tn_add_node(writer, TN_OP_norm, name, inputs, weights, &attributes);
}

/** Root mean square over the whole row. */
static inline uint32_t tn_add_rms(const tn_writer *writer, const char *name, uint32_t x, uint32_t weight,
                                  double eps) {
    tn_matrix w = {weight, 0};
    return tn_add_norm(writer, name, x, TN_NORM_RMS, 1, w, eps);
}

/** W x + b. */
static inline uint32_t tn_add_linear(const tn_writer *writer, const char *name, uint32_t x, tn_matrix w) {
    const uint32_t inputs[TN_NODE_INPUTS] = {x}, weights[TN_NODE_WEIGHTS] = {w.weight, w.bias};
    TN_ATTRIBUTES(writer, tn_linear, attributes);
    return tn_add_node(writer, TN_OP_linear, name, inputs, weights, &attributes);
}

/** Cuts columns into `count` parts; returns the first, the others follow it by number. */
static inline uint32_t tn_add_split(const tn_writer *writer, const char *name, uint32_t x, uint32_t count,
                                    const uint32_t *widths) {
    const uint32_t inputs[TN_NODE_INPUTS] = {x};
    TN_ATTRIBUTES(writer, tn_split, attributes);
    attributes.count = count;
    for (uint32_t i = 0; i < count && i < 4; i++) { attributes.widths[i] = widths[i]; }
    return tn_add_node(writer, TN_OP_split, name, inputs, NULL, &attributes);
}

/** Rotates heads; attributes.frequencies and magnitude come from tenon/rope.h. */
static inline uint32_t tn_add_rope(const tn_writer *writer, const char *name, uint32_t x, uint32_t factors,
                                   const tn_rope *attributes) {
    const uint32_t inputs[TN_NODE_INPUTS] = {x}, weights[TN_NODE_WEIGHTS] = {factors};
    return tn_add_node(writer, TN_OP_rope, name, inputs, weights, attributes);
}

/** Attention. */
static inline uint32_t tn_add_attend(const tn_writer *writer, const char *name, uint32_t q, uint32_t k,
                                     uint32_t v, uint32_t sinks, const tn_attend *attributes) {
    const uint32_t inputs[TN_NODE_INPUTS] = {q, k, v}, weights[TN_NODE_WEIGHTS] = {sinks};
    return tn_add_node(writer, TN_OP_attend, name, inputs, weights, attributes);
}

/** An activation of TN_ACT_*, element by element. */
static inline uint32_t tn_add_act(const tn_writer *writer, const char *name, uint32_t x, uint32_t act,
                                  double alpha) {
    const uint32_t inputs[TN_NODE_INPUTS] = {x};
    TN_ATTRIBUTES(writer, tn_act_op, attributes);
    attributes.act = act;
    attributes.alpha = alpha;
    return tn_add_node(writer, TN_OP_act, name, inputs, NULL, &attributes);
}

/** act(gate) * up. */
static inline uint32_t tn_add_glu(const tn_writer *writer, const char *name, uint32_t gate, uint32_t up,
                                  uint32_t act) {
    const uint32_t inputs[TN_NODE_INPUTS] = {gate, up};
    TN_ATTRIBUTES(writer, tn_glu, attributes);
    attributes.act = act;
    attributes.alpha = 1;
    return tn_add_node(writer, TN_OP_glu, name, inputs, NULL, &attributes);
}

/** The choice of experts from their logits. */
static inline uint32_t tn_add_route(const tn_writer *writer, const char *name, uint32_t logits, uint32_t bias,
                                    const tn_route *attributes) {
    const uint32_t inputs[TN_NODE_INPUTS] = {logits}, weights[TN_NODE_WEIGHTS] = {bias};
    return tn_add_node(writer, TN_OP_route, name, inputs, weights, attributes);
}

/** W x + b of each chosen expert, side by side; x is for all of them, or has a part for each. */
static inline uint32_t tn_add_expert_linear(const tn_writer *writer, const char *name, uint32_t x,
                                            uint32_t route, tn_matrix w) {
    const uint32_t inputs[TN_NODE_INPUTS] = {x, route}, weights[TN_NODE_WEIGHTS] = {w.weight, w.bias};
    TN_ATTRIBUTES(writer, tn_linear, attributes);
    return tn_add_node(writer, TN_OP_expert_linear, name, inputs, weights, &attributes);
}

/** The chosen experts of each row. */
static inline uint32_t tn_add_experts(const tn_writer *writer, const char *name, uint32_t x, uint32_t route,
                                      tn_matrix gate, tn_matrix up, tn_matrix down,
                                      const tn_experts *attributes) {
    const uint32_t inputs[TN_NODE_INPUTS] = {x, route};
    const uint32_t weights[TN_NODE_WEIGHTS] = {gate.weight, up.weight, down.weight,
                                               gate.bias,   up.bias,   down.bias};
    return tn_add_node(writer, TN_OP_experts, name, inputs, weights, attributes);
}

/** Two operands or one, and perhaps a factor: what the forms below share. */
static inline uint32_t tn_add_simple(const tn_writer *writer, int32_t op, const char *name, uint32_t a,
                                     uint32_t b, double factor) {
    const uint32_t inputs[TN_NODE_INPUTS] = {a, b};
    TN_ATTRIBUTES(writer, tn_scale, attributes);
    attributes.factor = factor;
    return tn_add_node(writer, op, name, inputs, NULL, &attributes);
}

/** a + b. */
static inline uint32_t tn_add_sum(const tn_writer *writer, const char *name, uint32_t a, uint32_t b) {
    return tn_add_simple(writer, TN_OP_add, name, a, b, 0);
}

/** a * b, one of them perhaps one column wide. */
static inline uint32_t tn_add_product(const tn_writer *writer, const char *name, uint32_t a, uint32_t b) {
    return tn_add_simple(writer, TN_OP_mul, name, a, b, 0);
}

/** The parts of x, one of each chosen expert, times its weight. */
static inline uint32_t tn_add_expert_sum(const tn_writer *writer, const char *name, uint32_t x,
                                         uint32_t route) {
    return tn_add_simple(writer, TN_OP_expert_sum, name, x, route, 0);
}

/** x * factor. */
static inline uint32_t tn_add_scale(const tn_writer *writer, const char *name, uint32_t x, double factor) {
    return tn_add_simple(writer, TN_OP_scale, name, x, 0, factor);
}

/** cap * tanh(x / cap). */
static inline uint32_t tn_add_softcap(const tn_writer *writer, const char *name, uint32_t x, double cap) {
    return tn_add_simple(writer, TN_OP_softcap, name, x, 0, cap);
}

/** The nearest number in -limit .. limit. */
static inline uint32_t tn_add_clamp(const tn_writer *writer, const char *name, uint32_t x, double limit) {
    return tn_add_simple(writer, TN_OP_clamp, name, x, 0, limit);
}

/** The rows whose output is asked for. */
static inline uint32_t tn_add_rows(const tn_writer *writer, const char *name, uint32_t x) {
    return tn_add_simple(writer, TN_OP_rows, name, x, 0, 0);
}

/** x under a role of TN_MARK_*. */
static inline uint32_t tn_add_mark(const tn_writer *writer, const char *name, uint32_t x, uint32_t role) {
    const uint32_t inputs[TN_NODE_INPUTS] = {x};
    TN_ATTRIBUTES(writer, tn_mark, attributes);
    attributes.role = role;
    return tn_add_node(writer, TN_OP_mark, name, inputs, NULL, &attributes);
}

/** One row a sequence: TN_POOL_*. */
static inline uint32_t tn_add_pool(const tn_writer *writer, const char *name, uint32_t x, uint32_t kind) {
    const uint32_t inputs[TN_NODE_INPUTS] = {x};
    TN_ATTRIBUTES(writer, tn_pool, attributes);
    attributes.kind = kind;
    return tn_add_node(writer, TN_OP_pool, name, inputs, NULL, &attributes);
}

/** What the graph returns: TN_OUTPUT_*. `bigrams`: a weight, of ctc. */
static inline void tn_add_output(const tn_writer *writer, const char *name, uint32_t x, uint32_t bigrams,
                                 uint32_t kind) {
    const uint32_t inputs[TN_NODE_INPUTS] = {x}, weights[TN_NODE_WEIGHTS] = {bigrams};
    TN_ATTRIBUTES(writer, tn_output, attributes);
    attributes.kind = kind;
    tn_add_node(writer, TN_OP_output, name, inputs, weights, &attributes);
}

TN_END_C
#endif
