/*
 * cpu_step_test.c - results do not depend on how work is cut: prompts in steps, sequences together, threads,
 * instruction sets. Bit for bit.
 */
#include "cpu_test.h"

#include <string.h>

enum { LENGTH = 150, MOST = 256 };

static void make_ids(int32_t *ids, uint32_t count, uint32_t vocab, uint64_t seed) {
    test_random random = {seed};
    for (uint32_t i = 0; i < count; i++) {
        ids[i] = (int32_t)((test_uniform(&random) + 1) * 0.499f * (float)vocab);
    }
}

/* Logits of all rows of one sequence, fed in steps of the given size. */
static void run_cut(const test_graph *g, const test_shape *shape, uint32_t workers, uint64_t isa,
                    uint32_t step, const int32_t *ids, float *out) {
    static test_session s;
    tn_error err = TN_ERROR_INIT;
    test_session_open(&s, g, shape, &test_f32, workers, isa);
    for (uint32_t at = 0; at < LENGTH; at += step) {
        const int32_t *list[] = {ids + at};
        uint32_t count = LENGTH - at < step ? LENGTH - at : step;
        cr_assert_eq(test_session_step(&s, list, &count, 1, out + (size_t)at * shape->vocab, &err), TN_OK,
                     "%s", err.text);
    }
    test_session_close(&s);
}

static void same(const float *a, const float *b, uint64_t count, const char *what) {
    for (uint64_t i = 0; i < count; i++) {
        cr_assert_eq(memcmp(&a[i], &b[i], sizeof *a), 0, "%s: number %llu is %a, expected %a", what,
                     (unsigned long long)i, (double)a[i], (double)b[i]);
    }
}

static void check_cuts(const test_shape *shape, uint32_t longest) {
    static test_graph g;
    static float wanted[LENGTH * MOST], found[LENGTH * MOST];
    static const uint32_t steps[] = {1, 2, 7, 37, LENGTH};
    int32_t ids[LENGTH];
    char what[64];
    test_decoder(&g, shape, 7);
    make_ids(ids, LENGTH, shape->vocab, 3);
    run_cut(&g, shape, 1, 0, LENGTH, ids, wanted);
    float most = 0;
    for (uint32_t i = 0; i < LENGTH * shape->vocab; i++) { most = wanted[i] > most ? wanted[i] : most; }
    cr_assert(most > 0.01f && most < 1000, "largest logit is %g", (double)most);
    for (uint32_t i = 0; i < longest; i++) {
        for (uint32_t workers = 1; workers <= 3; workers += 2) {
            memset(found, 0, sizeof found);
            run_cut(&g, shape, workers, test_isa(), steps[i], ids, found);
            snprintf(what, sizeof what, "steps of %u, %u workers", steps[i], workers);
            same(found, wanted, (uint64_t)LENGTH * shape->vocab, what);
        }
    }
    test_graph_free(&g);
}

Test(step, does_not_depend_on_cuts_threads_instruction_sets) {
    check_cuts(&test_small, 5);
}

Test(step, fused_projection_and_head_norms) {
    test_shape shape = test_small;
    shape.fused = shape.head_norms = true;
    check_cuts(&shape, 5);
}

Test(step, window) {
    test_shape shape = test_small;
    shape.window = 21;
    check_cuts(&shape, 5);
}

Test(step, float_weights) {
    test_shape shape = test_small;
    shape.format = &test_f32;
    check_cuts(&shape, 5);
}

Test(step, weights_without_kernels) {
    test_shape shape = test_small;
    shape.format = &test_f32_plain;
    check_cuts(&shape, 5);
}

Test(step, decoded_weights_equal_float_kernels) {
    static test_graph a, b;
    static float wanted[LENGTH * MOST], found[LENGTH * MOST];
    test_shape shape = test_small;
    int32_t ids[LENGTH];
    make_ids(ids, LENGTH, shape.vocab, 3);
    shape.format = &test_f32;
    test_decoder(&a, &shape, 5);
    run_cut(&a, &shape, 1, test_isa(), 50, ids, wanted);
    shape.format = &test_f32_plain;
    test_decoder(&b, &shape, 5);
    run_cut(&b, &shape, 1, test_isa(), 50, ids, found);
    same(found, wanted, (uint64_t)LENGTH * shape.vocab, "decoded");
    test_graph_free(&a);
    test_graph_free(&b);
}

/* Three sequences in steps that mix them, against each of them alone. */
static void check_company(const uint32_t plan[][3], size_t steps) {
    static test_graph g;
    static test_session s;
    static float alone[3][LENGTH * MOST], step[MOST * MOST];
    int32_t ids[3][LENGTH];
    uint32_t vocab = test_small.vocab;
    test_decoder(&g, &test_small, 11);
    for (uint32_t q = 0; q < 3; q++) {
        make_ids(ids[q], LENGTH, vocab, 20 + q);
        run_cut(&g, &test_small, 1, test_isa(), LENGTH, ids[q], alone[q]);
    }
    test_session_open(&s, &g, &test_small, &test_f32, 5, test_isa());
    for (size_t i = 0; i < steps; i++) {
        tn_error err = TN_ERROR_INIT;
        const int32_t *list[3];
        uint32_t before[3], counts[3], row = 0;
        for (uint32_t q = 0; q < 3; q++) {
            before[q] = s.held[q];
            counts[q] = plan[i][q];
            list[q] = ids[q] + before[q];
        }
        cr_assert_eq(test_session_step(&s, list, counts, 3, step, &err), TN_OK, "%s", err.text);
        for (uint32_t q = 0; q < 3; row += counts[q++]) {
            same(step + (size_t)row * vocab, alone[q] + (size_t)before[q] * vocab,
                 (uint64_t)counts[q] * vocab, "mixed");
        }
    }
    test_session_close(&s);
    test_graph_free(&g);
}

Test(step, prompts_and_single_tokens) {
    static const uint32_t plan[][3] = {{40, 1, 0}, {1, 1, 100}, {1, 64, 1}, {1, 1, 1}, {9, 1, 1}};
    check_company(plan, sizeof plan / sizeof *plan);
}

/* Contexts so long that tasks are cut into ranges, with tiles of one row and of several. */
Test(step, long_contexts_of_unequal_tiles) {
    static const uint32_t plan[][3] = {{130, 40, 0}, {1, 2, 0}, {3, 1, 0}, {1, 5, 0}, {1, 1, 0}};
    check_company(plan, sizeof plan / sizeof *plan);
}

static uint32_t cancel_at(void *context) {
    return --*(int *)context == 0;
}

/* A cancelled step ends in all workers, and running it again gives what it would have given. */
Test(step, cancelled_and_run_again) {
    static test_graph g;
    static test_session s;
    static float wanted[LENGTH * MOST], out[LENGTH * MOST];
    int32_t ids[LENGTH], position[10] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
    uint32_t zeros[10] = {0}, index[10] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, count = 10;
    const int32_t *list[] = {ids};
    tn_error err = TN_ERROR_INIT;
    test_decoder(&g, &test_small, 11);
    make_ids(ids, LENGTH, test_small.vocab, 1);
    run_cut(&g, &test_small, 1, test_isa(), LENGTH, ids, wanted);
    test_session_open(&s, &g, &test_small, &test_f32, 3, test_isa());
    for (int phase = 1; phase < 8; phase++) {
        int left = phase;
        const uint32_t *pages[] = {s.pages[0]};
        tn_sequence sequence = {sizeof sequence, 0, 10, 1, pages};
        const tn_sequence *sequences[] = {&sequence};
        float *outputs[] = {NULL};
        tn_step step = {.struct_size = sizeof step,
                        .rows = 10,
                        .tokens = ids,
                        .sequence = zeros,
                        .index = index,
                        .position = position,
                        .sequence_count = 1,
                        .sequences = sequences,
                        .outputs = outputs,
                        .cancelled = cancel_at,
                        .cancel_context = &left};
        cr_assert_eq(cpu_run_step(&s.backend, s.plan, s.cache, &step, &err), TN_E_CANCELLED);
    }
    cr_assert_eq(test_session_step(&s, list, &count, 1, out, &err), TN_OK, "%s", err.text);
    same(out, wanted, 10ull * test_small.vocab, "after cancelling");
    test_session_close(&s);
    test_graph_free(&g);
}

/* What a step says is checked before anything runs. */
Test(step, wrong_steps_are_refused) {
    static test_graph g;
    static test_session s;
    static float out[MOST * MOST];
    int32_t good[] = {1, 2, 3}, bad[] = {1, 96, 3}, negative[] = {-1, 2, 3};
    const int32_t *lists[] = {good, bad, negative};
    uint32_t count = 3;
    tn_error err = TN_ERROR_INIT;
    test_decoder(&g, &test_small, 11);
    test_session_open(&s, &g, &test_small, &test_f32, 1, test_isa());
    cr_assert_eq(test_session_step(&s, &lists[1], &count, 1, out, &err), TN_E_INPUT, "%s", err.text);
    cr_assert(strstr(err.text, "96") && strstr(err.text, "embed"), "%s", err.text);
    cr_assert_eq(test_session_step(&s, &lists[2], &count, 1, out, &err), TN_E_INPUT, "%s", err.text);
    s.pages[0][0] = 8 * TEST_PAGES + 4096;
    cr_assert_eq(test_session_step(&s, &lists[0], &count, 1, out, &err), TN_E_RANGE, "%s", err.text);
    s.pages[0][0] = 5;
    cr_assert_eq(test_session_step(&s, &lists[0], &count, 1, out, &err), TN_OK, "%s", err.text);
    test_session_close(&s);
    test_graph_free(&g);
}
