/*
 * test_capture_experts.c - what goes into each expert's matrices, as the backends hand it out, against numbers
 * worked out by hand.
 */
#include "backend_rig.h"

#include <criterion/criterion.h>

enum { ROWS = 2, WIDTH = 3, HIDDEN = 2, EXPERTS = 3, USED = 2 };

/* What take_input() was told, in its order. */
struct taking {
    uint32_t weight, row, expert, width;
    float x[WIDTH];
};
struct log {
    struct taking at[16];
    uint32_t count;
};

static void take_input(void *context, uint32_t weight, uint32_t expert, uint32_t row, const float *data,
                       uint32_t width) {
    struct log *log = context;
    cr_assert(log->count < 16 && width <= WIDTH);
    struct taking *t = &log->at[log->count++];
    *t = (struct taking){.weight = weight, .row = row, .expert = expert, .width = width};
    memcpy(t->x, data, width * sizeof *data);
}

/* The forms: without a gate, with one, with one and every matrix in a node of its own. */
enum { UNGATED, GATED, APART };

/* Rows (1, 2, 3) and (-1, 0, 2); the first goes to experts 0 and 2, the second to 1 and 2. */
static void make_experts(bench *b, const void *context) {
    static const float x[ROWS * WIDTH] = {1, 2, 3, -1, 0, 2}, logits[ROWS * EXPERTS] = {3, 1, 2, 0, 5, 4};
    static const float gate[EXPERTS * HIDDEN * WIDTH] = {1, 0, 0, 0, 1, 0, 0, 0, 1,
                                                         1, 1, 1, 1, 1, 0, 0, 0, 2};
    static const float up[EXPERTS * HIDDEN * WIDTH] = {0, 0, 1, 1, 0, 0, 0, 0, 1, 1, 0, 1, 1, 0, 0, 0, 1, 1};
    static const float down[EXPERTS * WIDTH * HIDDEN] = {1, 2, 3, 4, 5, 6, 1, 0, 0,
                                                         1, 1, 1, 2, 0, 0, 2, 1, -1};
    const uint32_t gated = *(const uint32_t *)context != UNGATED, apart = *(const uint32_t *)context == APART;
    TN_ATTRIBUTES(&b->writer, tn_route, route);
    route.used = USED;
    route.score = TN_SCORE_SOFTMAX;
    route.normalise = 1;
    route.scale = 1;
    TN_ATTRIBUTES(&b->writer, tn_experts, experts);
    experts.act = TN_ACT_RELU;
    uint32_t y = tn_add_route(&b->writer, "route", bench_rows_of(b, EXPERTS, ROWS, logits), 0, &route);
    tn_matrix g = {gated ? bench_numbers(b, WIDTH, HIDDEN, EXPERTS, gate) : 0, 0};
    tn_matrix u = {bench_numbers(b, WIDTH, HIDDEN, EXPERTS, up), 0};
    tn_matrix d = {bench_numbers(b, HIDDEN, WIDTH, EXPERTS, down), 0};
    uint32_t rows = bench_rows_of(b, WIDTH, ROWS, x);
    if (apart) {
        uint32_t h = tn_add_glu(&b->writer, "glu", tn_add_expert_linear(&b->writer, "gate", rows, y, g),
                                tn_add_expert_linear(&b->writer, "up", rows, y, u), TN_ACT_RELU);
        h = tn_add_expert_linear(&b->writer, "down", h, y, d);
        bench_output(b, tn_add_expert_sum(&b->writer, "sum", h, y), 0);
    } else {
        bench_output(b, tn_add_experts(&b->writer, "experts", rows, y, g, u, d, &experts), 0);
    }
    b->weight_captures[0] = u.weight;
    b->weight_captures[1] = d.weight;
    b->weight_captures[2] = g.weight;
    b->weight_capture_count = gated ? 3 : 2;
}

static void expect_taking(const struct log *log, uint32_t i, const struct taking *want) {
    const struct taking *got = &log->at[i];
    cr_assert(got->weight == want->weight && got->row == want->row && got->expert == want->expert &&
                  got->width == want->width,
              "number %u is of weight %u, row %u, expert %u, width %u; expected %u, %u, %u, %u", i,
              got->weight, got->row, got->expert, got->width, want->weight, want->row, want->expert,
              want->width);
    for (uint32_t c = 0; c < want->width; c++) {
        cr_assert(got->x[c] == want->x[c], "number %u, column %u is %g, expected %g", i, c, got->x[c],
                  want->x[c]);
    }
}

/* Runs a step with captures and one without: what was taken, and that nothing else changed. */
static void run_captured(rig *r, uint32_t form, bench *b, struct log log[3]) {
    const lengths l = {1, {ROWS}};
    const uint32_t counts[BENCH_SEQUENCES] = {ROWS};
    float with[ROWS * WIDTH], without[ROWS * WIDTH];
    tn_capture captures[3];
    const tn_capture *list[3];
    tn_error err = TN_ERROR_INIT;
    session s;
    cr_assert(bench_open(b, r, make_experts, &form, &err), "%s", err.text);
    memset(log, 0, 3 * sizeof *log);
    for (uint32_t i = 0; i < b->weight_capture_count; i++) {
        captures[i] = (tn_capture){.struct_size = sizeof *captures,
                                   .context = &log[i],
                                   .weight = b->weight_captures[i],
                                   .take_input = take_input};
        list[i] = &captures[i];
    }
    step_options options = {.captures = list, .capture_count = b->weight_capture_count};
    session_open(&s, b, &l);
    cr_assert(session_step(&s, counts, with, &options, &err) == TN_OK, "%s", err.text);
    s.held[0] = 0;
    cr_assert(session_step(&s, counts, without, NULL, &err) == TN_OK, "%s", err.text);
    cr_assert(memcmp(with, without, sizeof with) == 0, "captures changed the result");
    session_close(&s);
}

static void expect_inputs(const char *backend, uint32_t form) {
    rig r;
    bench b;
    struct log log[3];
    if (!rig_open(&r, backend, NULL, 2)) { cr_skip_test("backend.%s is not in the build", backend); }
    run_captured(&r, form, &b, log);
    uint32_t up = b.weight_captures[0], down = b.weight_captures[1], gate = b.weight_captures[2];
    const struct taking ups[] = {{up, 0, 0, 3, {1, 2, 3}},
                                 {up, 0, 2, 3, {1, 2, 3}},
                                 {up, 1, 1, 3, {-1, 0, 2}},
                                 {up, 1, 2, 3, {-1, 0, 2}}};
    /* relu(gate x) * (up x): (1, 2) (3, 1); (3, 6) (1, 5); (2, 1) (2, 1); (0, 4) (-1, 2) */
    const struct taking downs[] = {
        {down, 0, 0, 2, {3, 2}}, {down, 0, 2, 2, {3, 30}}, {down, 1, 1, 2, {4, 1}}, {down, 1, 2, 2, {0, 8}}};
    for (uint32_t i = 0; i < 3; i++) { cr_assert(log[i].count == 4, "%u rows, expected 4", log[i].count); }
    for (uint32_t i = 0; i < 4; i++) {
        struct taking gated = ups[i];
        gated.weight = gate;
        expect_taking(&log[0], i, &ups[i]);
        expect_taking(&log[1], i, &downs[i]);
        expect_taking(&log[2], i, &gated);
    }
    bench_close(&b);
    rig_close(&r);
}

Test(capture_experts, inputs_by_hand) {
    expect_inputs("reference", GATED);
    expect_inputs("reference", APART);
}
Test(capture_experts, inputs_by_hand_on_cpu) {
    expect_inputs("cpu", GATED);
    expect_inputs("cpu", APART);
}

static void expect_ungated(const char *backend) {
    rig r;
    bench b;
    struct log log[3];
    if (!rig_open(&r, backend, NULL, 2)) { cr_skip_test("backend.%s is not in the build", backend); }
    run_captured(&r, UNGATED, &b, log);
    uint32_t down = b.weight_captures[1];
    /* relu(up x) */
    const struct taking downs[] = {
        {down, 0, 0, 2, {3, 1}}, {down, 0, 2, 2, {1, 5}}, {down, 1, 1, 2, {2, 1}}, {down, 1, 2, 2, {0, 2}}};
    for (uint32_t i = 0; i < 4; i++) { expect_taking(&log[1], i, &downs[i]); }
    bench_close(&b);
    rig_close(&r);
}

Test(capture_experts, without_a_gate) {
    expect_ungated("reference");
}
Test(capture_experts, without_a_gate_on_cpu) {
    expect_ungated("cpu");
}

/* A weight of another op, or none at all, is no matrix of experts. */
static void expect_refused(const char *backend, uint32_t weight, int32_t code, const char *words) {
    rig r, maker;
    bench b;
    tn_error err = TN_ERROR_INIT;
    const uint32_t form = GATED;
    if (!rig_open(&r, backend, NULL, 1)) { cr_skip_test("backend.%s is not in the build", backend); }
    cr_assert(rig_open(&maker, "reference", NULL, 1));
    cr_assert(bench_open(&b, &maker, make_experts, &form, &err), "%s", err.text);
    tn_limits limits = {.struct_size = sizeof limits, .rows = 4, .output_rows = 4, .sequences = 1};
    tn_compile compile = {.struct_size = sizeof compile,
                          .graph = b.graph,
                          .limits = &limits,
                          .weight_captures = &weight,
                          .weight_capture_count = 1};
    void *plan = NULL;
    int32_t found = r.backend->compile(r.self, NULL, &compile, &plan, &err);
    cr_expect_eq(found, code, "%s: %d (%s), expected %d", backend, found, err.text, code);
    cr_expect(strstr(err.text, words), "%s: \"%s\" lacks \"%s\"", backend, err.text, words);
    bench_close(&b);
    rig_close(&maker);
    rig_close(&r);
}

Test(capture_experts, refused_by_name) {
    expect_refused("reference", 0, TN_E_INPUT, "weight 0");
    expect_refused("reference", 99, TN_E_INPUT, "weight 99");
    expect_refused("cpu", 0, TN_E_INPUT, "weight 0");
    expect_refused("cpu", 99, TN_E_INPUT, "weight 99");
    expect_refused("cpu", 1, TN_E_INPUT, "weight 1");
}
