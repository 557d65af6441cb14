/*
 * backend_rig.h - a backend on a test bench: opened through the real registry, fed with small graphs.
 *
 * A rig is one backend in one engine, with an instruction set and a number of threads. A bench is one graph
 * with its weights, made anew for each rig by the same function and seed, so that all rigs compute the same.
 * Rows of numbers come through `input` ports and depend on port, sequence and index only, not on how steps
 * are cut.
 */
#ifndef TENON_TESTS_BACKEND_RIG_H
#define TENON_TESTS_BACKEND_RIG_H

#include "graph_build.h"
#include "registry.h"
#include "tenon/build.h"

enum {
    TYPE_F32 = 0,
    TYPE_F16 = 1,
    TYPE_Q4_0 = 2,
    TYPE_Q4_1 = 3,
    TYPE_Q5_0 = 6,
    TYPE_Q5_1 = 7,
    TYPE_Q8_0 = 8,
    TYPE_Q2_K = 10,
    TYPE_Q3_K = 11,
    TYPE_Q4_K = 12,
    TYPE_Q5_K = 13,
    TYPE_Q6_K = 14,
    TYPE_IQ2_XXS = 16,
    TYPE_IQ2_XS = 17,
    TYPE_IQ3_XXS = 18,
    TYPE_IQ4_NL = 20,
    TYPE_IQ3_S = 21,
    TYPE_IQ2_S = 22,
    TYPE_IQ4_XS = 23,
    TYPE_BF16 = 30,
    TYPE_TQ1_0 = 34,
    TYPE_TQ2_0 = 35,
    TYPE_MXFP4 = 39,
    TYPE_NVFP4 = 40,
    TYPE_Q1_0 = 41,
    TYPE_Q2_0 = 42
};

/* ---- rigs */

typedef struct rig {
    char name[64];
    tn_engine *engine;
    const tn_backend *backend;
    void *self;
} rig;

/** Opens a backend; isa NULL: as it comes. 0: there is no such plugin in the build. */
int rig_open(rig *out, const char *backend, const char *isa, uint32_t threads);
void rig_close(rig *r);

/* ---- benches */

#define BENCH_WEIGHTS 32
#define BENCH_SEQUENCES 4
#define BENCH_PAGE_TOKENS 64

typedef struct bench {
    rig *on;
    uint64_t seed;
    tn_weight weights[BENCH_WEIGHTS];
    const tn_weight *weight_list[BENCH_WEIGHTS];
    uint32_t weight_flags[BENCH_WEIGHTS];
    uint32_t weight_count;
    uint32_t port_widths[4], port_count;
    uint32_t cache_type; /* TYPE_* of keys and values */
    tn_graph_builder *builder;
    tn_writer writer;
    const tn_graph *graph;
    uint32_t vocab;                                    /* token ids are below it; 0: all 0 */
    uint32_t use_types;                                /* token types 0 and 1 in turn */
    uint32_t poisoned;                                 /* row index + 1 whose input of sequence 0 has a NaN */
    uint32_t width;                                    /* of the output, set by bench_output() */
    uint32_t capture;                                  /* a value to capture, or 0 */
    uint32_t weight_captures[3], weight_capture_count; /* matrices of experts whose inputs may be captured */
    uint32_t given; /* every third token comes as numbers of this width, 0: none */
} bench;

typedef void (*bench_make)(bench *b, const void *context);

/** A weight of random numbers of about `spread`, in a format; `count` matrices. Returns its number. */
uint32_t bench_weight(bench *b, uint32_t type, uint64_t cols, uint64_t rows, uint64_t count, double spread);
/** An F32 weight of just these numbers. */
uint32_t bench_numbers(bench *b, uint64_t cols, uint64_t rows, uint64_t count, const float *numbers);
/** Rows of just these numbers: the one of a token is that of its index in its sequence. */
uint32_t bench_rows_of(bench *b, uint32_t width, uint32_t rows, const float *numbers);
/** Random numbers around 1. */
uint32_t bench_gain(bench *b, uint64_t size);
/** A port of random rows. */
uint32_t bench_input(bench *b, uint32_t width);
/** The one output: rows asked for (all), or one a sequence if `value` is pooled. */
void bench_output(bench *b, uint32_t value, uint32_t pooled);

/** Makes the graph on a rig; 0 and the reason in *why if the backend refuses a node. Fails the test if the
 * graph is wrong.
 */
int bench_open(bench *b, rig *r, bench_make make, const void *context, tn_error *why);
void bench_close(bench *b);

/* ---- runs */

/** How sequences are cut into steps. */
enum { CUT_WHOLE, CUT_PIECES, CUT_ALONE, CUT_DECODE, CUT_COUNT };
extern const char *const cut_names[CUT_COUNT];

typedef struct lengths {
    uint32_t count, of[BENCH_SEQUENCES];
} lengths;

/** Rows of output in all. */
uint64_t bench_rows(const bench *b, const lengths *l);
/**
 * Runs all tokens of all sequences. CUT_WHOLE: one step; CUT_PIECES: steps of 1, 7 and the rest of each,
 * mixed; CUT_ALONE: sequence after sequence; CUT_DECODE: all but the last 3 tokens, then one by one. Row (s,
 * i) of the result is at the sum of the lengths before s, plus i; pooled outputs have one row a sequence. To
 * be free()d.
 */
float *bench_run(bench *b, const lengths *l, int cut);

/* One step with everything that may be asked for. */
typedef struct step_options {
    tn_cache_group *groups;
    const tn_capture *const *captures;
    uint32_t capture_count;
    uint32_t (*cancelled)(void *context);
    void *cancel_context;
} step_options;

/** The parts of bench_run(), for tests that go their own way. */
typedef struct session {
    bench *b;
    void *placed, *plan, *cache;
    tn_cache_group groups[4];
    const tn_cache_group *group_list[4];
    uint32_t slots[4][BENCH_WEIGHTS];
    uint32_t group_count;
    uint64_t pages_per_sequence;
    uint32_t *tables[BENCH_SEQUENCES][4]; /* pages by sequence and group */
    uint32_t held[BENCH_SEQUENCES];
} session;

void session_open(session *s, bench *b, const lengths *most);
void session_close(session *s);
/** Runs the next counts[i] tokens of each sequence i; their rows go to out, sequence after sequence. */
int32_t session_step(session *s, const uint32_t counts[BENCH_SEQUENCES], float *out,
                     const step_options *options, tn_error *err);

/* ---- comparing */

/** The largest root mean square error of a row, relative to the rms of all of `want` (one row may be small
 * because its terms cancel); NaN where only one of the two has a NaN. */
double worst_error(const float *got, const float *want, uint64_t rows, uint32_t width);
/** A random number of about 1 that depends on its coordinates only. */
float noise(uint64_t seed, uint64_t a, uint64_t b, uint64_t c);

#endif
