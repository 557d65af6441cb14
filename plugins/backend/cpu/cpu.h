/*
 * cpu.h - what the parts of the cpu backend share: the plan, a run of it, and who does what.
 *
 * A plan is a list of phases. In a run every worker of the gang goes through the same phases and waits for
 * the others once after each; what a phase writes is read by later phases only, or by the worker that wrote
 * it. Nothing that a phase decides by the number of workers or rows changes a bit of the result.
 *
 *     rows     rowwise ops, row by row: norms, embeddings, sums, routes
 *     linear   a prologue of rowwise ops, rows to activation forms, then matrix products cut by weight rows,
 *              each with a chain of elementwise ops behind it. Of experts each row meets those that it chose
 *     attend   rope and norms of heads, cache store, attention
 *     pool     rows of a sequence to one
 */
#ifndef TENON_CPU_H
#define TENON_CPU_H

#include "kernels.h"
#include "tenon/errors.h"

#include <stdatomic.h>
#include <stdbool.h>

/* ---- sizes: additions and products that stay at the top instead of wrapping --------------------------- */

static inline uint64_t cpu_mul(uint64_t a, uint64_t b) {
    uint64_t r;
    return __builtin_mul_overflow(a, b, &r) ? UINT64_MAX : r;
}
static inline uint64_t cpu_add(uint64_t a, uint64_t b) {
    uint64_t r;
    return __builtin_add_overflow(a, b, &r) ? UINT64_MAX : r;
}
static inline uint64_t cpu_round(uint64_t n, uint64_t to) {
    return n > UINT64_MAX - (to - 1) ? UINT64_MAX / to * to : (n + to - 1) / to * to;
}

/* The backend as one host sees it. */
typedef struct cpu_backend {
    const tn_host *host;
    const cpu_kernels *kernels;
    uint32_t workers;
} cpu_backend;

/* ---- cpu_choice.c: which kernels serve a weight ------------------------------------------------------ */

/* How the rows of a matrix are multiplied. Fixed for all numbers of activation rows. */
typedef struct cpu_service {
    uint32_t form;                  /* TN_FORM_F32 or TN_FORM_I8X32 */
    uint32_t planes;                /* activation rows for a row: 2 is I8X32 twice, see cpu_planes.c */
    uint32_t has_minimum;           /* of the panels */
    const tn_format_kernel *gemv;   /* NULL: none */
    const tn_format_kernel *unpack; /* NULL: none; without both: rows are decoded */
} cpu_service;

/* The best kernel of a kind and form that the machine can run; NULL: none. */
const tn_format_kernel *cpu_find_kernel(const tn_format *format, uint64_t isa, uint32_t kind, uint32_t form);
void cpu_serve(const cpu_backend *backend, const tn_weight *weight, cpu_service *out);
/* The same for the weight of a linear: where it is used may ask for more digits. */
void cpu_serve_linear(const cpu_backend *backend, const tn_graph *graph, const tn_node *node,
                      cpu_service *out);
int32_t cpu_supports(void *self, const tn_graph *graph, uint32_t node, tn_choice *choice, tn_error *err);

/* ---- the plan ---------------------------------------------------------------------------------------- */

enum {
    CPU_NONE = UINT32_MAX,
    CPU_LINKS = 4,             /* elementwise ops behind one product */
    CPU_ACTS = 4,              /* activations of one phase */
    CPU_SMALL_ROWS = 8,        /* up to here every worker may prepare activations for itself, */
    CPU_SMALL_CELLS = 8192,    /* if there are no more numbers than these: cheaper than one more barrier */
    CPU_BLOCK_CELLS = 1 << 15, /* of a block of products that waits for its chain */
    CPU_TILE_ACTS = 96         /* query rows of an attention tile */
};

/* Where the rows of a value are. */
enum { CPU_LOCAL = 1, CPU_SHARED = 2, CPU_OUTPUT = 3 };

/* A value of the graph, or one that the planner added. A view has the place of its base and a column there.
 * A route is as wide as twice the experts used: their numbers, then their weights. */
typedef struct cpu_value {
    uint32_t base; /* index of the value that holds the numbers: itself unless it is a view */
    uint32_t column, width;
    uint32_t domain;    /* TN_ROWS_*: the rows that exist, after rows() has been moved up */
    uint32_t uses;      /* reads of it or of its views */
    uint32_t output;    /* output node that it is written for, or CPU_NONE */
    bool captured;      /* it or a view of it */
    uint32_t place;     /* CPU_LOCAL, CPU_SHARED, CPU_OUTPUT */
    uint32_t first;     /* phase that makes it */
    uint32_t last;      /* phase after which nobody needs it */
    bool by_row;        /* made by a rowwise op */
    uint64_t stride;    /* floats from row to row */
    uint64_t offset;    /* bytes in the arena */
    uint64_t workspace; /* by_row: floats in the worker's row workspace */
} cpu_value;

/* Small weights (norms, biases, factors) as floats. */
typedef struct cpu_vector {
    const tn_weight *weight; /* NULL: none */
    const float *data;
} cpu_vector;

/* A rowwise op. */
typedef struct cpu_op {
    const tn_node *node;
    uint32_t a, b, result; /* value indices, CPU_NONE where there are none */
    cpu_vector w, bias;
    uint32_t table; /* of rope */
} cpu_op;

/* An elementwise op on the block of results of a product. */
typedef struct cpu_link {
    const tn_node *node;
    uint32_t other; /* operand of add and mul: value index */
} cpu_link;

/* One matrix of a product. */
typedef struct cpu_member {
    const tn_weight *weight;
    cpu_service service;
    cpu_vector bias;
    uint32_t act; /* in its phase */
} cpu_member;

/* A product and its chain; two members are the gate and up of a glu, the first link. A chosen one has a
 * matrix for each expert, and rows are multiplied with those that the phase's route gives them: their results
 * lie side by side in a row of the result, in the order of the route. */
typedef struct cpu_job {
    cpu_member members[2];
    uint32_t member_count, link_count;
    bool chosen;
    cpu_link links[CPU_LINKS];
    uint32_t result; /* value index */
    uint32_t domain;
    uint32_t phase;
    uint32_t next; /* job of the phase, or CPU_NONE */
} cpu_job;

/* Rows of a value in an activation form. For chosen jobs there is an activation row for each expert of a row
 * as well, sorted by expert. */
typedef struct cpu_source {
    uint32_t value, form, planes;
    uint32_t parts; /* activation rows that a row of the value is cut into */
    bool chosen;
    uint64_t cols;
    uint64_t offset, small_offset; /* bytes in the shared and in a worker's region */
    uint64_t sorted_offset, small_sorted_offset;
} cpu_source;

/* What happens to the heads of q or k before they are used: an optional norm, then an optional rotation. */
typedef struct cpu_heads {
    uint32_t value; /* value index before it */
    const tn_node *norm, *rope;
    cpu_vector w, bias;
    uint32_t table;
} cpu_heads;

typedef struct cpu_attention {
    const tn_node *node;
    uint32_t heads, kv_heads, share; /* share = heads / kv_heads */
    uint32_t key_dim, value_dim;
    uint32_t key_pad, value_pad; /* whole blocks of the cache's formats */
    uint32_t group, slot;        /* of the cache; slot counts in the group */
    uint32_t block;              /* keys of a block: tokens of a page */
    cpu_heads q, k;
    uint32_t v, result;
    cpu_vector sinks;
    bool cached;
    const tn_format *key_format, *value_format; /* of the cache */
    void *key_self, *value_self;
    const tn_format_kernel *key_gemv, *key_unpack, *key_store;
    const tn_format_kernel *value_blend, *value_unpack, *value_store;
} cpu_attention;

/* What goes into a matrix of experts, or two that share it, for those who capture it. */
typedef struct cpu_expert_input {
    uint32_t weights[2]; /* numbers, 0: none */
    uint32_t phase;      /* after which it is handed out */
    uint32_t value, route, used;
    uint32_t parts; /* of a row of the value: 1, the same for all its experts, or one for each */
} cpu_expert_input;

enum { CPU_PHASE_TABLES = 1, CPU_PHASE_ROWS, CPU_PHASE_LINEAR, CPU_PHASE_ATTEND, CPU_PHASE_POOL };

typedef struct cpu_phase {
    uint32_t kind;
    uint32_t domain;
    uint32_t op_from, op_count; /* rows, linear: prologue; pool: its op */
    uint32_t source_count;
    uint32_t first_job; /* CPU_NONE: none */
    uint32_t attention;
    uint32_t small_rows;           /* linear: up to so many rows every worker prepares for itself */
    uint32_t route, experts, used; /* of chosen jobs: value index or CPU_NONE, experts there are, of a row */
    cpu_source sources[CPU_ACTS];
} cpu_phase;

/* Cosines and sines of a rope, for each row of the step. */
typedef struct cpu_table {
    const tn_rope *rope;
    cpu_vector factors;
    uint64_t offset; /* bytes in the arena: rows of rotated / 2 cosines, then as many sines */
} cpu_table;

/* Offsets in the memory of one worker. */
typedef struct cpu_scratch {
    uint64_t workspace, sources, choices, blocks, planes, gemm;
    uint64_t queries, scores, partial, state, keys, values, row; /* of attention, over the same bytes */
    uint64_t size;
} cpu_scratch;

typedef struct cpu_plan {
    cpu_backend *backend;
    const tn_graph *graph;
    tn_limits limits;
    uint32_t value_count, phase_count, op_count, job_count, attention_count, table_count, output_count;
    uint32_t expert_input_count;
    cpu_value *values;
    cpu_phase *phases;
    cpu_op *ops;
    cpu_job *jobs;
    cpu_attention *attentions;
    cpu_table *tables;
    cpu_expert_input *expert_inputs;
    const tn_node **outputs;       /* output nodes in order */
    uint32_t tile_rows, tile_acts; /* of an attention tile at most */
    uint32_t key_pad_most, value_pad_most, block_most;
    uint32_t kv_heads_least, heads_most;
    uint64_t workspace_floats; /* results of the rowwise ops of one phase, one row */
    uint64_t partial_floats;   /* for parts of blocks that are kept */
    uint64_t uncached_bytes;   /* keys and values of attention without a cache */
    cpu_scratch scratch;
    uint64_t shared_sources, uncached, partials, left, tiles, counters, embedded, workers; /* in the arena */
    uint64_t arena_size, vector_size;
    unsigned char *arena;
    float *vectors;
} cpu_plan;

/* cpu_plan_graph.c, cpu_plan.c: from the graph to phases. Reads no weight data. The plan is zeroed before. */
int32_t cpu_plan_values(cpu_plan *plan, const tn_compile *compile, tn_error *err);
int32_t cpu_plan_phases(cpu_plan *plan, const tn_compile *compile, tn_error *err);
uint32_t cpu_plan_base(const cpu_plan *plan, uint32_t value);
/* Slots 0 to n - 1 of a node's weights hold a matrix for each expert. */
uint32_t cpu_expert_matrices(const tn_node *node);
/* cpu_layout.c: places of values and scratch; sizes only. */
int32_t cpu_plan_layout(cpu_plan *plan, tn_error *err);
/* cpu_plan_text.c: one line a phase. Returns the length that it would have. */
uint64_t cpu_plan_print(const cpu_plan *plan, char *out, uint64_t capacity);
/* cpu_compile.c */
int32_t cpu_plan_create(cpu_backend *backend, const tn_compile *compile, cpu_plan **out, tn_error *err);
void cpu_plan_free(cpu_plan *plan);
int32_t cpu_memory(void *self, const tn_compile *compile, tn_memory *out, tn_error *err);
int32_t cpu_compile(void *self, void *placed, const tn_compile *compile, void **plan, tn_error *err);
void cpu_discard(void *self, void *plan);

/* ---- cpu_cache.c: pages ------------------------------------------------------------------------------ */

typedef struct cpu_cache_group {
    uint32_t page_tokens;
    uint64_t key_row, value_row;    /* bytes of one token of one head */
    uint64_t key_bytes, head_bytes; /* of a page: the keys of one head; its keys and values */
    uint64_t slot_bytes, page_bytes;
    uint64_t chunk_pages, chunk_count;
    unsigned char **chunks; /* of chunk_pages pages each; they never move */
} cpu_cache_group;

typedef struct cpu_cache {
    cpu_backend *backend;
    uint32_t group_count;
    cpu_cache_group groups[];
} cpu_cache;

int32_t cpu_cache_create(void *self, const tn_cache_group *const *groups, uint32_t count, void **cache,
                         tn_error *err);
void cpu_cache_destroy(void *self, void *cache);
int32_t cpu_cache_reserve(void *self, void *cache, uint32_t group, uint64_t pages, tn_error *err);
int32_t cpu_cache_copy(void *self, void *cache, uint32_t group, uint32_t from, uint32_t to, tn_error *err);
uint64_t cpu_cache_page_bytes(void *self, const void *cache, uint32_t group);
/* Pages that exist. */
static inline uint64_t cpu_cache_pages(const cpu_cache_group *group) {
    return group->chunk_count * group->chunk_pages;
}
/* Rows of the keys (values) of one head in a page: page_tokens rows of key_row (value_row) bytes. */
unsigned char *cpu_cache_keys(const cpu_cache_group *group, uint32_t page, uint32_t slot, uint32_t head);
unsigned char *cpu_cache_values(const cpu_cache_group *group, uint32_t page, uint32_t slot, uint32_t head);
/* Elements padded to whole blocks. */
uint32_t cpu_cache_pad(const tn_format *format, uint32_t elements);

/* ---- a run ------------------------------------------------------------------------------------------- */

/* Consecutive rows of one sequence of the step. */
typedef struct cpu_tile {
    uint32_t sequence, row, rows;
} cpu_tile;

typedef struct cpu_run {
    const cpu_plan *plan;
    const cpu_cache *cache;
    const tn_step *step;
    uint64_t rows[TN_ROWS_S + 1]; /* by domain */
    uint32_t tile_count;
    uint32_t context;   /* tokens of the longest sequence, this step's among them */
    uint32_t tile_most; /* rows of the largest tile */
    bool whole;         /* every sequence is one tile */
    const cpu_tile *tiles;
    const uint32_t *embedded;   /* for rows of token -1: their number in step->embedded */
    _Atomic uint32_t *counters; /* one for each phase, 0 at the start */
    bool stop[2]; /* of even and odd turns; written by worker 0 before the barrier, read after it */
} cpu_run;

typedef struct cpu_worker {
    cpu_run *run;
    const cpu_plan *plan;
    tn_gang *gang;
    uint32_t id, phase;
    unsigned char *scratch;
} cpu_worker;

int32_t cpu_run_step(void *self, void *plan, void *cache, const tn_step *step, tn_error *err);

/* Row `row` of a value, for a phase whose rows are `domain`: where only the rows asked for are computed, but
 * the value has all, it is the row asked for. NULL: an output that is not wanted. */
float *cpu_value_row(const cpu_worker *worker, uint32_t value, uint32_t domain, uint64_t row);
/* This worker's part of `count` things: from .. to - 1. */
void cpu_share(const cpu_worker *worker, uint64_t count, uint64_t *from, uint64_t *to);
static inline void cpu_barrier(const cpu_worker *worker) {
    worker->plan->backend->host->barrier(worker->gang);
}

/* cpu_planes.c */
void cpu_quantise_planes(const float *x, uint64_t cols, int8_t *high, int8_t *low, float *high_scales,
                         float *low_scales, int16_t *high_sums, int16_t *low_sums);

/* cpu_rowwise.c */
void cpu_run_tables(cpu_worker *worker);
void cpu_run_rows(cpu_worker *worker, const cpu_phase *phase);
void cpu_run_pool(cpu_worker *worker, const cpu_phase *phase);
/* All ops of a phase on one row; values that others read are written if `share`. */
void cpu_run_ops(const cpu_worker *worker, const cpu_phase *phase, uint64_t row, bool share);
/* A value as the ops of this phase left it: in the workspace if one of them made it. */
const float *cpu_operand(const cpu_worker *worker, const cpu_phase *phase, uint32_t value, uint64_t row);
/* Part number `part`, of n numbers, of a row. */
void cpu_norm(const cpu_kernels *kernels, const tn_norm *norm, const cpu_vector *w, const cpu_vector *bias,
              uint32_t part, const float *x, uint64_t n, float *out);
/* add, mul, scale, softcap, act, glu, what experts do between their matrices. b: NULL where there is one
 * operand. */
void cpu_elementwise(const cpu_kernels *kernels, const tn_node *node, const float *a, const float *b,
                     uint64_t n, float *out);
const float *cpu_table_row(const cpu_plan *plan, uint32_t table, uint64_t row);

/* Activation rows that meet one matrix of a weight. */
typedef struct cpu_group {
    uint32_t matrix, from, count;
} cpu_group;

/* The experts that the rows of a step chose. A pair is a row and one of its experts: pair p is number p % used
 * of row p / used. */
typedef struct cpu_choices {
    uint32_t experts, used, group_count;
    uint32_t *numbers; /* the expert of each pair */
    uint32_t *pairs;   /* sorted by expert */
    uint32_t *starts;  /* by expert: its first pair among the sorted */
    cpu_group *groups; /* the experts that somebody chose, in order, over the sorted pairs */
} cpu_choices;

/* What the products of a phase read. */
typedef struct cpu_inputs {
    tn_act acts[CPU_ACTS]; /* by source */
    cpu_group whole;       /* all rows and the only matrix */
    cpu_choices choices;
} cpu_inputs;

/* cpu_experts.c */
/* The row of a route; logits of n experts, whose scores are left in `scores`. */
void cpu_route(const cpu_kernels *kernels, const tn_route *route, const float *logits, uint32_t n,
               const float *bias, float *scores, float *out);
/* The sum of what the experts of a row gave, in the order of its route. */
void cpu_sum_experts(const cpu_kernels *kernels, const float *parts, const float *route, uint32_t used,
                     uint32_t width, float *out);
uint64_t cpu_choices_bytes(const cpu_phase *phase, uint64_t rows);
void cpu_choices_at(const cpu_phase *phase, uint64_t rows, unsigned char *memory, cpu_choices *out);
/* The experts of row `row`; then, when all rows are in, the order by expert. */
void cpu_choices_take(cpu_choices *choices, uint64_t row, const float *route);
void cpu_choices_sort(cpu_choices *choices, uint64_t rows);

/* cpu_acts.c */
/* Runs the prologue of a phase and makes what its products read. */
void cpu_prepare(const cpu_worker *worker, const cpu_phase *phase, cpu_inputs *in);
/* Memory for `rows` activation rows of a source. */
uint64_t cpu_source_bytes(const cpu_source *source, uint64_t rows);

/* cpu_linear.c */
void cpu_run_linear(cpu_worker *worker, const cpu_phase *phase);
/* Activation rows that one panel meets at once, where there are `rows`, and where there are at most so many. */
uint64_t cpu_token_block(uint64_t cols, uint64_t rows);
uint64_t cpu_token_block_most(uint64_t cols, uint64_t rows);

/* cpu_attend.c, cpu_attend_block.c */
void cpu_run_attend(cpu_worker *worker, const cpu_phase *phase);

/* The unit of attention: the query rows of a tile, in all heads that share one key head. Query row `a` is row
 * a / share of the tile and head a % share of those. */
typedef struct cpu_unit {
    const cpu_attention *attention;
    const cpu_tile *tile;
    uint32_t kv_head, acts;
    uint32_t index; /* of the tile's first row in its sequence */
    uint32_t total; /* tokens of the sequence, this step's among them */
} cpu_unit;

/* What some keys give to each query row: the largest score, the sum of exp(score - maximum), and the values
 * weighted with these numbers, value_pad floats a row. A row that sees none of the keys: sum 0. */
typedef struct cpu_part {
    float *maximum, *sum, *out;
} cpu_part;

static inline uint64_t cpu_part_floats(uint64_t acts, uint64_t value_pad) {
    return cpu_round(cpu_mul(acts, value_pad + 2), 16);
}
static inline cpu_part cpu_part_at(float *memory, uint64_t acts, uint64_t value_pad) {
    return (cpu_part){memory + acts * value_pad, memory + acts * (value_pad + 1), memory};
}
/* Keys of block number `block` that row `row` of the tile sees: from .. to - 1, counted in the block. */
void cpu_attend_visible(const cpu_unit *unit, uint32_t block, uint32_t row, uint32_t *from, uint32_t *to);
/* The part of one block. Queries lie in the worker's scratch. */
void cpu_attend_block(const cpu_worker *worker, const cpu_unit *unit, uint32_t block, const cpu_part *part);
/* Adds a part to those before it. */
void cpu_attend_merge(const cpu_kernels *kernels, const cpu_unit *unit, const cpu_part *into,
                      const cpu_part *part);
/* exp(x) as all kernels compute it. */
static inline float cpu_exp(const cpu_kernels *kernels, float x) {
    float out;
    kernels->exp_sum(&x, 0.0f, 1, &out);
    return out;
}
/* Where uncached keys and values of a head are: rows of key_dim (value_dim) floats, by row of the step. */
float *cpu_uncached_keys(const cpu_plan *plan, const cpu_attention *attention, uint32_t head);
float *cpu_uncached_values(const cpu_plan *plan, const cpu_attention *attention, uint32_t head);

#endif
