/*
 * test_session_captures.c - what a session hands out beside its outputs: every row of every step, in order, and
 * what cannot be handed out is refused when the session is made.
 */
#include "session_rig.h"

#include <criterion/criterion.h>
#include <math.h>

enum { TOKENS = 30, WIDTH = 16 };

struct seen {
    uint32_t value, rows, last_row, steps;
    float numbers[TOKENS * WIDTH];
};

static void take(void *context, uint32_t value, uint32_t row, const float *data, uint32_t width) {
    struct seen *seen = context;
    cr_assert(seen->rows < TOKENS && width == WIDTH, "row %u of width %u", seen->rows, width);
    cr_assert(value == seen->value);
    if (row == 0) { seen->steps++; }
    cr_assert(row == 0 || row == seen->last_row + 1, "row %u after %u", row, seen->last_row);
    seen->last_row = row;
    memcpy(seen->numbers + seen->rows++ * WIDTH, data, width * sizeof *data);
}

static tn_model *windowed(void) {
    return rig_probe_model(&(rig_probe){.graph = RIG_WINDOWED, .context = 256});
}

static int32_t session_with(tn_model *model, const tn_capture *capture, tn_session **out, tn_error *err) {
    tn_session_options options = {.step_rows = 7, .captures = capture, .capture_count = 1};
    return tn_session_create(model, &options, out, err);
}

/* Value 1 is the embedding: the rows of the table that the ids name, whatever else runs. */
Test(session_captures, rows_in_order_over_steps) {
    tn_model *model = windowed();
    struct seen seen = {.value = 1};
    tn_capture capture = {.value = 1, .context = &seen, .take = take};
    tn_session *session = NULL;
    tn_error err = TN_ERROR_INIT;
    int32_t ids[TOKENS];
    rig_ids(model, 9, ids, TOKENS);
    cr_assert_eq(session_with(model, &capture, &session, &err), TN_OK, "%s", err.text);
    rig_feed(rig_seq(session), session, model, ids, TOKENS, TN_WANT_NONE);
    cr_expect_eq(seen.rows, TOKENS);
    cr_expect_eq(seen.steps, (TOKENS + 6) / 7, "%u steps", seen.steps);
    const float *table = tn_gguf_tensor_find(tn_model_file(model), "tokens")->data;
    for (uint32_t i = 0; i < TOKENS * WIDTH; i++) {
        float wanted = table[ids[i / WIDTH] * WIDTH + i % WIDTH];
        cr_assert(seen.numbers[i] == wanted, "row %u, column %u is %g, expected %g", i / WIDTH, i % WIDTH,
                  seen.numbers[i], wanted);
    }
    tn_session_destroy(session);
    tn_model_close(model);
}

static void expect_refused(tn_capture capture, int32_t code, const char *words) {
    tn_model *model = windowed();
    tn_session *session = NULL;
    tn_error err = TN_ERROR_INIT;
    int32_t found = session_with(model, &capture, &session, &err);
    cr_expect_eq(found, code, "%s (%s), expected %s", tn_code_text(found), err.text, tn_code_text(code));
    cr_expect(strstr(err.text, words), "\"%s\" lacks \"%s\"", err.text, words);
    cr_expect_null(session);
    tn_model_close(model);
}

Test(session_captures, what_is_not_there_is_refused) {
    expect_refused((tn_capture){.value = 1000, .take = take}, TN_E_INPUT, "value 1000");
    expect_refused((tn_capture){.weight = 1}, TN_E_INPUT, "weight 1");
    expect_refused((tn_capture){0}, TN_E_INPUT, "weight 0");
}
