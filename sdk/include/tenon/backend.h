/*
 * tenon/backend.h - interface "tenon.backend/1-draft": compiles graphs and runs them on a device.
 *
 * The order of things: supports() for every node (pure, before a weight is read) -> place() weights ->
 * compile() graphs into plans -> cache_create() -> run() steps. Graphs, weights and steps belong to the
 * host: graph and weights outlive every plan, a step lasts for the call. A backend remembers nothing of
 * how far a sequence is: the host says it with every step, so a step that failed or was cancelled is undone
 * by not counting its tokens.
 */
#ifndef TENON_BACKEND_H
#define TENON_BACKEND_H

#include "tenon/graph.h"

TN_BEGIN_C

#define TN_BACKEND_1 "tenon.backend/1-draft"

/** How a node would be served: filled by supports(). Texts are static or live as long as the plugin. */
typedef struct tn_choice {
    uint32_t struct_size;
    uint32_t stable;  /**< 1: results do not depend on how rows are grouped into steps */
    char kernel[96];  /**< "q4_0 gemv i8x32 avx512vnni, panel p8 vnni" */
    char others[512]; /**< why not the others: "amx_int8: not on this machine; ..." */
} tn_choice;

/** Upper bounds of what steps will ask of a plan. */
typedef struct tn_limits {
    uint32_t struct_size;
    uint32_t rows;               /**< T */
    uint32_t output_rows;        /**< O */
    uint32_t sequences;          /**< S */
    uint64_t pages_per_sequence; /**< of the longest sequence, in any group */
} tn_limits;

/** Bytes, as far as they can be known. */
typedef struct tn_memory {
    uint32_t struct_size;
    uint32_t reserved;
    uint64_t mapped;  /**< used where they lie in the file */
    uint64_t copied;  /**< copied as they are */
    uint64_t packed;  /**< rewritten for the device */
    uint64_t scratch; /**< of a plan */
} tn_memory;

/** Placing weights. */
typedef struct tn_place {
    uint32_t struct_size;
    uint32_t weight_count;
    const tn_weight *const *weights; /**< NULL entries are absent */
    /** May be NULL. [load] Called now and then; a return of 1 asks to stop (TN_E_CANCELLED). */
    uint32_t (*progress)(void *context, uint64_t done, uint64_t total);
    void *context;
} tn_place;

/** A group of cache slots whose pages look alike. Page p of a group holds `page_tokens` tokens of every one
 * of its slots. */
enum { TN_GROUP_PAGED = 0 };
typedef struct tn_cache_group {
    uint32_t struct_size;
    uint32_t kind; /**< TN_GROUP_* */
    uint32_t slot_count;
    uint32_t page_tokens;  /**< a power of two */
    const uint32_t *slots; /**< slot numbers of the graph */
    uint32_t kv_heads, key_dim, value_dim;
    uint32_t window;                            /**< 0: all */
    const tn_format *key_format, *value_format; /**< each head is padded to whole blocks */
    void *key_self, *value_self;
} tn_cache_group;

/** Compiling a graph. */
typedef struct tn_compile {
    uint32_t struct_size;
    uint32_t group_count;
    const tn_graph *graph;
    const tn_limits *limits;
    const tn_cache_group *const *groups;
    const uint32_t *captures; /**< values that a step may want to see */
    uint32_t capture_count;
    uint32_t weight_capture_count;
    const uint32_t
        *weight_captures; /**< matrices of `experts` whose inputs a step may want to see; the inputs
                                        of other ops are values */
} tn_compile;

/** One sequence of a step. */
typedef struct tn_sequence {
    uint32_t struct_size;
    uint32_t held;  /**< tokens that the cache holds from earlier steps */
    uint32_t count; /**< tokens of this step */
    uint32_t group_count;
    const uint32_t *const *pages; /**< for each group: page number of tokens 0 .. page_tokens - 1, and so on,
                                     for held + count tokens */
} tn_sequence;

/** A value, or the inputs of a matrix inside `experts`, on the way to the host: rows as they were before any
 * rounding to codes. */
typedef struct tn_capture {
    uint32_t struct_size;
    uint32_t value; /**< one of tn_compile.captures; 0: the inputs of `weight` */
    void *context;
    /** [compute, one thread at a time, in row order] `row` counts from 0 in the step; memory lasts for the
     * call. Not called if `value` is 0. */
    void (*take)(void *context, uint32_t value, uint32_t row, const float *data, uint32_t width);
    uint32_t weight; /**< one of tn_compile.weight_captures; 0: `value` */
    uint32_t reserved;
    /** As take(), once for each expert of a row, in the order of its route: what that expert's matrix is
     * multiplied with. Called if `value` is 0. */
    void (*take_input)(void *context, uint32_t weight, uint32_t expert, uint32_t row, const float *data,
                       uint32_t width);
} tn_capture;

/** One step. Row r is token tokens[r], number index[r] of its sequence. Rows of a sequence are in order of
 * their index and lie together. */
typedef struct tn_step {
    uint32_t struct_size;
    uint32_t rows;               /**< T */
    const int32_t *tokens;       /**< ids; -1: the row comes from `embedded` */
    const uint32_t *sequence;    /**< number of the row's sequence in `sequences` */
    const uint32_t *index;       /**< place in that sequence: cache and masks */
    const int32_t *position;     /**< rope and position tables */
    const int32_t *type;         /**< token types; NULL: all 0 */
    const float *embedded;       /**< rows for tokens of -1, in order; NULL if there are none */
    const float *const *ports;   /**< for each `input` port its rows; NULL if the graph has none */
    uint32_t output_count;       /**< O */
    uint32_t sequence_count;     /**< S */
    const uint32_t *output_rows; /**< rising row numbers */
    const tn_sequence *const *sequences;
    float *const *outputs; /**< for each output node of the graph, in order: O (or S) rows, packed. NULL
                              entries are not wanted */
    const tn_capture *const *captures;
    uint32_t capture_count;
    uint32_t reserved;
    /** Polled between phases; 1: stop with TN_E_CANCELLED. May be NULL. [compute] */
    uint32_t (*cancelled)(void *context);
    void *cancel_context;
} tn_step;

typedef struct tn_backend {
    uint32_t struct_size;
    uint32_t reserved;
    /** [load] One line about the device and what of it is used: "2 threads, avx512_vnni". Copied to out. */
    void (*describe)(void *self, char *out, uint64_t capacity);
    /**
     * [load] Pure. TN_OK and *choice filled if this backend can run node number `node` of the graph; else
     * TN_E_OP_UNSUPPORTED and the reason in words. Weights may have no data yet.
     */
    int32_t (*supports)(void *self, const tn_graph *graph, uint32_t node, tn_choice *choice, tn_error *err);
    /** [load] Bytes that a plan under these limits will take for scratch. Takes none. */
    int32_t (*memory)(void *self, const tn_compile *compile, tn_memory *out, tn_error *err);
    /** [load] Maps, copies or repacks weights, in parallel. *placed is the backend's; *out says what it took.
     */
    int32_t (*place)(void *self, const tn_place *place, void **placed, tn_memory *out, tn_error *err);
    /** [load] After the last plan over them is gone. */
    void (*unplace)(void *self, void *placed);
    /** [load] A plan: all that run() will need is allocated here. */
    int32_t (*compile)(void *self, void *placed, const tn_compile *compile, void **plan, tn_error *err);
    /** [load] Frees a plan. */
    void (*discard)(void *self, void *plan);
    /** [load] A cache of the given groups, without pages. One or more plans may use it. */
    int32_t (*cache_create)(void *self, const tn_cache_group *const *groups, uint32_t group_count,
                            void **cache, tn_error *err);
    /** [load] Frees a cache. */
    void (*cache_destroy)(void *self, void *cache);
    /** [any, not during run] Makes pages 0 .. pages - 1 of a group exist; those that did keep their contents.
     * TN_E_MEMORY changes nothing. */
    int32_t (*cache_reserve)(void *self, void *cache, uint32_t group, uint64_t pages, tn_error *err);
    /** [any, not during run] Copies page `from` over page `to`. */
    int32_t (*cache_copy)(void *self, void *cache, uint32_t group, uint32_t from, uint32_t to, tn_error *err);
    /** [any] Bytes of one page of a group, all of its slots. */
    uint64_t (*cache_page_bytes)(void *self, const void *cache, uint32_t group);
    /** [any] One run of a plan at a time; two plans may run at once and take turns on the pool. Returns when
     * the outputs are written. Allocates nothing. */
    int32_t (*run)(void *self, void *plan, void *cache, const tn_step *step, tn_error *err);
} tn_backend;

TN_END_C
#endif
