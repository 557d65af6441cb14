/*
 * cpu_test.h - what the tests of the cpu backend share: a host with a pool of its own, two formats, graphs
 * made by hand, and a step at a time through a backend.
 */
#ifndef TENON_CPU_TEST_H
#define TENON_CPU_TEST_H

#include "cpu.h"

#include <criterion/criterion.h>

/* ---- cpu_test_host.c: threads are made for each gang; alloc can be told to fail */
typedef struct test_host {
    tn_host host;
    uint32_t workers;
    int64_t allocations_left; /* < 0: any number */
    int64_t live;             /* allocations that are not freed */
} test_host;
void test_host_init(test_host *host, uint32_t workers, uint64_t isa);
cpu_backend test_backend(test_host *host);
/* The instruction sets of this machine that kernel tables may use. */
uint64_t test_isa(void);

/* ---- cpu_test_format.c */
extern const tn_format test_f32;       /* with all kernels */
extern const tn_format test_f32_plain; /* without any: decoded */
extern const tn_format test_q8;        /* 32 int8 and a float scale; int8 kernels */
/* A generator with its state, the same on every machine. */
typedef struct test_random {
    uint64_t state;
} test_random;
float test_uniform(test_random *random); /* -1 .. 1 */

/* ---- cpu_test_graph.c: nodes are appended; widths and rows follow from the op */
enum { TEST_NODES = 256, TEST_WEIGHTS = 256 };
typedef struct test_graph {
    tn_graph graph;
    tn_node nodes[TEST_NODES];
    tn_value values[TEST_NODES];
    tn_weight weights[TEST_WEIGHTS];
    const tn_node *node_list[TEST_NODES];
    const tn_value *value_list[TEST_NODES];
    const tn_weight *weight_list[TEST_WEIGHTS];
    void *owned[TEST_WEIGHTS + TEST_NODES];
    uint32_t owned_count;
    test_random random;
} test_graph;
void test_graph_init(test_graph *g, uint64_t seed);
void test_graph_free(test_graph *g);
uint32_t test_weight(test_graph *g, const tn_format *format, const char *name, uint32_t rows, uint32_t cols);
/* Appends a node; its attributes are copied. Returns its first result. */
uint32_t test_node(test_graph *g, const tn_node *node, const void *attributes, size_t size);
uint32_t test_embed(test_graph *g, const char *name, uint32_t w);
uint32_t test_norm(test_graph *g, const char *name, uint32_t x, uint32_t w, uint32_t groups);
uint32_t test_linear(test_graph *g, const char *name, uint32_t x, uint32_t w, uint32_t bias);
uint32_t test_rope(test_graph *g, const char *name, uint32_t x, uint32_t heads, uint32_t pairing);
uint32_t test_plain(test_graph *g, int32_t op, const char *name, uint32_t a, uint32_t b, double factor);
uint32_t test_glu(test_graph *g, const char *name, uint32_t gate, uint32_t up);
uint32_t test_attend(test_graph *g, const char *name, uint32_t q, uint32_t k, uint32_t v,
                     const tn_attend *attend);
void test_output(test_graph *g, uint32_t x);

/* ---- cpu_test_model.c: a small decoder, and steps through it */
typedef struct test_shape {
    uint32_t vocab, width, heads, kv_heads, head_dim, hidden, layers;
    const tn_format *format, *embedding; /* of matrices, of embedding and output */
    bool fused;                          /* one matrix for q, k, v and a split */
    bool head_norms;
    uint32_t window;
} test_shape;
extern const test_shape test_small;
void test_decoder(test_graph *g, const test_shape *shape, uint64_t seed);

enum { TEST_PAGE = 16, TEST_PAGES = 64 };
typedef struct test_session {
    test_host host;
    cpu_backend backend;
    test_shape shape;
    tn_cache_group group;
    uint32_t slots[8];
    tn_limits limits;
    void *plan, *cache;
    uint32_t held[8];
    uint32_t pages[8][TEST_PAGES]; /* of each sequence, taken apart so that order would show */
} test_session;
void test_session_open(test_session *s, const test_graph *g, const test_shape *shape, const tn_format *cache,
                       uint32_t workers, uint64_t isa);
void test_session_close(test_session *s);
/* Feeds counts[i] ids to sequence i; logits of every row go to `out`, row after row. */
int32_t test_session_step(test_session *s, const int32_t *const *ids, const uint32_t *counts,
                          uint32_t sequences, float *out, tn_error *err);

#endif
