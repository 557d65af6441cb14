/*
 * reference.h - what the files of the reference backend share: plans, runs, the cache, one function an op.
 *
 * A value is `rows` by `width` doubles, row after row. The choices of a route take two numbers each: first
 * all expert numbers of the row, then their weights.
 */
#ifndef TENON_REFERENCE_H
#define TENON_REFERENCE_H

#include "tenon/backend.h"
#include "tenon/errors.h"

#include <string.h>

typedef struct ref_value {
    double *data;
    uint32_t width; /* doubles of a row */
} ref_value;

/* What one worker may scribble on. */
typedef struct ref_scratch {
    float *row;   /* a decoded row of a weight, or a head of the cache */
    double *work; /* scores and a head (attend), hidden numbers (experts) */
} ref_scratch;

typedef struct ref_plan {
    const tn_host *host;
    const tn_graph *graph;
    tn_limits limits;
    uint32_t worker_count, buffer_count;
    ref_value *values; /* values[v - 1] */
    double **buffers;  /* what the values lie in; one serves several that do not live at the same time */
    ref_scratch *workers;
    float *numbers[3]; /* whole decoded vectors: weight, bias and one more, of the node that runs */
    float *captured;   /* a row on its way to a capture */
} ref_plan;

typedef struct ref_group {
    uint32_t slot_count, page_tokens, kv_heads, key_dim, value_dim;
    uint32_t *slots;
    const tn_format *format[2]; /* of keys, of values */
    void *format_self[2];
    uint64_t padded[2];                                            /* elements of a head, whole blocks */
    uint64_t bytes[2];                                             /* of a head */
    void (*store[2])(const float *x, uint64_t cols, void *blocks); /* NULL: encode() */
    uint64_t page_bytes, page_count;
    unsigned char **pages;
} ref_group;

typedef struct ref_cache {
    const tn_host *host;
    uint32_t group_count;
    ref_group groups[];
} ref_cache;

/* One run of a plan. */
typedef struct ref_run {
    const ref_plan *plan;
    ref_cache *cache;
    const tn_step *step;
    uint32_t outputs_done;
} ref_run;

enum { REF_KEY = 0, REF_VALUE = 1 };

/* ---- ref_plan.c */
int32_t ref_supports(void *self, const tn_graph *graph, uint32_t node, tn_choice *choice, tn_error *err);
int32_t ref_memory(void *self, const tn_compile *compile, tn_memory *out, tn_error *err);
int32_t ref_compile(void *self, void *placed, const tn_compile *compile, void **plan, tn_error *err);
void ref_discard(void *self, void *plan);
/* How many values a node makes. */
uint32_t ref_result_count(const tn_node *node);

/* ---- ref_run.c */
int32_t ref_run_step(void *self, void *plan, void *cache, const tn_step *step, tn_error *err);
/* Rows of a value in this step. */
uint32_t ref_row_count(const ref_run *run, uint32_t value);
/* Row `row` of a value. */
double *ref_row(const ref_run *run, uint32_t value, uint64_t row);
/* The weight of a node's slot, NULL: none. */
const tn_weight *ref_weight(const ref_run *run, const tn_node *node, uint32_t slot);
/* All numbers of a weight, decoded into plan->numbers[at]; NULL if it is NULL. */
const float *ref_numbers(const ref_run *run, const tn_weight *weight, uint32_t at);
/* Slots 0 to n - 1 of a node's weights hold a matrix for each expert. */
uint32_t ref_expert_matrices(const tn_node *node);
/* A decoded row of matrix `matrix` times x, companion scale included, in column order. */
double ref_weight_dot(const tn_weight *w, uint64_t matrix, const float *row, const double *x);
/* Row `row` of matrix `matrix` of a weight, decoded to `out`. */
void ref_decode_row(const tn_weight *weight, uint64_t matrix, uint64_t row, float *out);

/* ---- ref_cache.c */
int32_t ref_cache_create(void *self, const tn_cache_group *const *groups, uint32_t group_count, void **cache,
                         tn_error *err);
void ref_cache_destroy(void *self, void *cache);
int32_t ref_cache_reserve(void *self, void *cache, uint32_t group, uint64_t pages, tn_error *err);
int32_t ref_cache_copy(void *self, void *cache, uint32_t group, uint32_t from, uint32_t to, tn_error *err);
uint64_t ref_cache_page_bytes(void *self, const void *cache, uint32_t group);
/* The group of a slot and the slot's place in it; 0 if no group has it. */
int ref_cache_find(const ref_cache *cache, uint32_t slot, uint32_t *group, uint32_t *at);
/* Where the key or value of a token (by its place in the page) lies. */
unsigned char *ref_cache_head(const ref_group *group, uint32_t page, uint32_t slot_at, uint32_t token,
                              uint32_t which, uint32_t head);

/* ---- one function an op, by the names of TN_OPS */
#define REF_DECLARE(name, number, type) int32_t ref_##name(ref_run *run, const tn_node *node, tn_error *err);
TN_OPS(REF_DECLARE)
#undef REF_DECLARE
double ref_activate(uint32_t act, double alpha, double x);
double ref_glu_number(uint32_t act, double alpha, double limit, double offset, double gate, double up);

#endif
