/*
 * test_backend_step.c - what a step promises beside its numbers, on each backend: captures, cancelling, forks
 * of a cache, rows that do not touch each other.
 */
#include "backend_rig.h"

#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <stdlib.h>

static char backends[][32] = {"reference", "cpu"};

ParameterizedTestParameters(step, captures) {
    return cr_make_param_array(char[32], backends, 2);
}
ParameterizedTestParameters(step, cancel) {
    return cr_make_param_array(char[32], backends, 2);
}
ParameterizedTestParameters(step, fork) {
    return cr_make_param_array(char[32], backends, 2);
}
ParameterizedTestParameters(step, nan_stays_in_its_row) {
    return cr_make_param_array(char[32], backends, 2);
}
ParameterizedTestParameters(step, outputs) {
    return cr_make_param_array(char[32], backends, 2);
}

static void open_or_skip(rig *r, const char *name) {
    if (!rig_open(r, name, NULL, 2)) { cr_skip_test("backend.%s is not in the build", name); }
}

static void bench_or_skip(bench *b, rig *r, bench_make make, const void *context) {
    tn_error why = TN_ERROR_INIT;
    if (!bench_open(b, r, make, context, &why)) {
        rig_close(r);
        cr_skip_test("%s", why.text);
    }
}

/* A norm, projections, attention over a cache, a sum. */
static void make_small(bench *b, const void *context) {
    const tn_writer *w = &b->writer;
    uint32_t type = context ? *(const uint32_t *)context : TYPE_F32;
    tn_matrix q = {bench_weight(b, type, 64, 64, 1, 0.2), 0}, k = {bench_weight(b, type, 64, 32, 1, 0.2), 0};
    tn_matrix v = {bench_weight(b, type, 64, 32, 1, 0.2), 0},
              out = {bench_weight(b, type, 64, 64, 1, 0.2), 0};
    uint32_t x = bench_input(b, 64), h = tn_add_rms(w, "norm", x, bench_gain(b, 64), 1e-5);
    TN_ATTRIBUTES(w, tn_attend, attend);
    attend.heads = 4;
    attend.kv_heads = 2;
    attend.key_dim = attend.value_dim = 16;
    attend.causal = attend.cached = 1;
    attend.scale = 0.25;
    uint32_t y = tn_add_attend(w, "attend", tn_add_linear(w, "q", h, q), tn_add_linear(w, "k", h, k),
                               tn_add_linear(w, "v", h, v), 0, &attend);
    b->capture = h;
    bench_output(b, tn_add_sum(w, "sum", x, tn_add_linear(w, "out", y, out)), 0);
}

/* ---- captures */

struct taken {
    uint32_t value, rows, width;
    double sum_of_squares;
};

static void take(void *context, uint32_t value, uint32_t row, const float *data, uint32_t width) {
    struct taken *t = context;
    cr_assert(value == t->value && row == t->rows, "value %u row %u, expected %u and %u", value, row,
              t->value, t->rows);
    t->rows++;
    t->width = width;
    for (uint32_t c = 0; c < width; c++) { t->sum_of_squares += (double)data[c] * data[c]; }
}

ParameterizedTest(char name[32], step, captures) {
    const lengths l = {2, {20, 5}};
    const uint32_t counts[BENCH_SEQUENCES] = {20, 5};
    float out[25 * 64];
    float without[25 * 64];
    tn_error err = TN_ERROR_INIT;
    rig r;
    bench b;
    session s;
    open_or_skip(&r, name);
    bench_or_skip(&b, &r, make_small, NULL);
    struct taken t = {.value = b.capture};
    tn_capture capture = {.struct_size = sizeof capture, .value = b.capture, .context = &t, .take = take};
    const tn_capture *list[] = {&capture};
    step_options options = {.captures = list, .capture_count = 1};
    session_open(&s, &b, &l);
    int32_t code = session_step(&s, counts, out, &options, &err);
    cr_assert(code == TN_OK, "%s", err.text);
    cr_assert(t.rows == 25 && t.width == 64, "%u rows of %u, expected 25 of 64", t.rows, t.width);
    /* Normalised rows times gains around 1 with a spread of 0.3: the mean square is about 1.09. */
    double mean = t.sum_of_squares / (25 * 64);
    cr_assert(mean > 0.8 && mean < 1.4, "mean square %g of a normalised value", mean);
    memset(s.held, 0, sizeof s.held);
    code = session_step(&s, counts, without, NULL, &err);
    cr_assert(code == TN_OK, "%s", err.text);
    cr_assert(memcmp(out, without, sizeof out) == 0, "a capture changed the result");
    session_close(&s);
    bench_close(&b);
    rig_close(&r);
}

/* ---- cancelling */

static uint32_t after_two(void *context) {
    return ++*(uint32_t *)context > 2;
}

ParameterizedTest(char name[32], step, cancel) {
    const lengths l = {1, {40}};
    const uint32_t first[BENCH_SEQUENCES] = {30}, second[BENCH_SEQUENCES] = {10};
    float out[40 * 64], part[40 * 64];
    uint32_t polls = 0;
    step_options options = {.cancelled = after_two, .cancel_context = &polls};
    tn_error err = TN_ERROR_INIT;
    rig r;
    bench b;
    session s;
    open_or_skip(&r, name);
    bench_or_skip(&b, &r, make_small, NULL);
    float *want = bench_run(&b, &l, CUT_WHOLE);
    session_open(&s, &b, &l);
    cr_assert(session_step(&s, first, out, NULL, &err) == TN_OK, "%s", err.text);
    int32_t code = session_step(&s, second, part, &options, &err);
    cr_assert(code == TN_E_CANCELLED, "%d (%s), expected %d", code, err.text, TN_E_CANCELLED);
    code =
        session_step(&s, second, out + 30 * 64, NULL, &err); /* none of the cancelled tokens were counted */
    cr_assert(code == TN_OK, "%s", err.text);
    cr_assert(worst_error(out, want, 40, 64) == 0, "a cancelled step left something behind");
    free(want);
    session_close(&s);
    bench_close(&b);
    rig_close(&r);
}

/* ---- forks */

/* Sequence 1 takes over the first 100 tokens of sequence 0: page 0 shared, page 1 copied. Both go on with 30.
 */
ParameterizedTest(char name[32], step, fork) {
    const lengths l = {2, {130, 130}};
    const uint32_t first[BENCH_SEQUENCES] = {100}, both[BENCH_SEQUENCES] = {30, 30};
    float head[100 * 64], tails[60 * 64];
    tn_error err = TN_ERROR_INIT;
    rig r;
    bench b;
    session s;
    open_or_skip(&r, name);
    bench_or_skip(&b, &r, make_small, NULL);
    session_open(&s, &b, &l);
    cr_assert(session_step(&s, first, head, NULL, &err) == TN_OK, "%s", err.text);
    uint32_t own = s.tables[1][0][0];
    s.tables[1][0][0] = s.tables[0][0][0];
    int32_t code = r.backend->cache_copy(r.self, s.cache, 0, s.tables[0][0][1], s.tables[1][0][1], &err);
    cr_assert(code == TN_OK, "%s", err.text);
    s.held[1] = 100;
    cr_assert(session_step(&s, both, tails, NULL, &err) == TN_OK, "%s", err.text);
    s.tables[1][0][0] = own;
    session_close(&s);
    /* The rows of sequence 1 differ from those of sequence 0, so its own run must be made from the same past.
     */
    const lengths alone = {1, {130}};
    float *want = bench_run(&b, &alone, CUT_WHOLE);
    cr_assert(worst_error(tails, want + 100 * 64, 30, 64) == 0, "the original was changed by its fork");
    session_open(&s, &b, &l);
    cr_assert(session_step(&s, first, head, NULL, &err) == TN_OK, "%s", err.text);
    s.held[1] = 100;
    memcpy(s.tables[1][0], s.tables[0][0],
           3 * sizeof(uint32_t)); /* the fork alone, over the pages themselves */
    const uint32_t only_fork[BENCH_SEQUENCES] = {0, 30};
    float fork[30 * 64];
    cr_assert(session_step(&s, only_fork, fork, NULL, &err) == TN_OK, "%s", err.text);
    cr_assert(memcmp(fork, tails + 30 * 64, sizeof fork) == 0, "the fork is not what it is alone");
    free(want);
    session_close(&s);
    bench_close(&b);
    rig_close(&r);
}

/* ---- rows do not touch each other */

static void make_rowwise(bench *b, const void *context) {
    uint32_t type = *(const uint32_t *)context;
    tn_matrix m = {bench_weight(b, type, 256, 40, 1, 1), 0};
    uint32_t x = bench_input(b, 256), h = tn_add_rms(&b->writer, "norm", x, bench_gain(b, 256), 1e-5);
    bench_output(b, tn_add_act(&b->writer, "act", tn_add_linear(&b->writer, "linear", h, m), TN_ACT_SILU, 1),
                 0);
}

static void poison(rig *r, uint32_t type, uint32_t row) {
    const lengths l = {1, {20}};
    bench b;
    bench_or_skip(&b, r, make_rowwise, &type);
    float *clean = bench_run(&b, &l, CUT_WHOLE);
    b.poisoned = row + 1;
    float *got = bench_run(&b, &l, CUT_WHOLE);
    for (uint32_t i = 0; i < 20 * 40; i++) {
        if (i / 40 == row) {
            cr_assert(isnan(got[i]), "type %u: number %u of a row with a NaN is %g", type, i % 40, got[i]);
        } else {
            cr_assert(memcmp(&got[i], &clean[i], 4) == 0, "type %u: row %u changed from %.9g to %.9g", type,
                      i / 40, clean[i], got[i]);
        }
    }
    free(clean);
    free(got);
    bench_close(&b);
}

ParameterizedTest(char name[32], step, nan_stays_in_its_row) {
    const uint32_t types[] = {TYPE_F32, TYPE_F16, TYPE_BF16, TYPE_Q8_0, TYPE_Q4_0, TYPE_Q4_1, TYPE_Q6_K};
    rig r;
    open_or_skip(&r, name);
    for (uint32_t i = 0; i < 7; i++) { poison(&r, types[i], 3 * i % 20); }
    rig_close(&r);
}

/* ---- outputs that are not wanted */

ParameterizedTest(char name[32], step, outputs) {
    const lengths l = {1, {10}};
    const uint32_t counts[BENCH_SEQUENCES] = {10};
    tn_error err = TN_ERROR_INIT;
    rig r;
    bench b;
    session s;
    open_or_skip(&r, name);
    bench_or_skip(&b, &r, make_small, NULL);
    session_open(&s, &b, &l);
    int32_t code = session_step(&s, counts, NULL, NULL, &err);
    cr_assert(code == TN_OK, "%s", err.text);
    session_close(&s);
    bench_close(&b);
    rig_close(&r);
}
