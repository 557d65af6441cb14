/* What a session refuses, in which words, and that a failed call leaves everything as it was. */
#include "session_rig.h"
#include "support.h"

#include <criterion/criterion.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

static tn_model *model;
static tn_session *session;
static tn_seq *seq;
static int32_t ids[300];
static float *out;

static void setup(void) {
    model = rig_model("llama", 100);
    session = rig_session(model, 16, 2);
    seq = rig_seq(session);
    rig_ids(model, 1, ids, 300);
    out = malloc(300 * tn_model_output_width(model) * sizeof *out);
}

static void teardown(void) {
    free(out);
    tn_session_destroy(session);
    tn_model_close(model);
}

static void expect_fault(const tn_feed *feeds, uint32_t count, int32_t code, const char *words) {
    tn_error err = TN_ERROR_INIT;
    uint32_t before = tn_seq_length(seq);
    int32_t found = tn_session_run(session, feeds, count, &err);
    cr_expect_eq(found, code, "%s (%s), expected %s", tn_code_text(found), err.text, tn_code_text(code));
    cr_expect_eq(err.code, code);
    cr_expect(strstr(err.text, words), "\"%s\" lacks \"%s\"", err.text, words);
    cr_expect_eq(tn_seq_length(seq), before, "a failed call counts no tokens");
}
#define FAULT(code, words, ...) expect_fault(&(tn_feed){__VA_ARGS__, NULL}, 1, code, words)

TestSuite(session_faults, .init = setup, .fini = teardown);

Test(session_faults, ids_outside_the_vocabulary) {
    int32_t vocab = (int32_t)tn_model_vocab_size(model);
    const int32_t bad[] = {-1, INT32_MIN, INT32_MAX, vocab};
    for (size_t i = 0; i < 4; i++) {
        ids[5] = bad[i];
        char word[32];
        snprintf(word, sizeof word, "token 5 has id %d", bad[i]);
        FAULT(TN_E_INPUT, word, seq, ids, 10, TN_WANT_NONE, NULL);
    }
    ids[5] = vocab - 1;
    free(rig_feed(seq, session, model, ids, 10, TN_WANT_LAST));
}

Test(session_faults, context_full) {
    FAULT(TN_E_CONTEXT, "101 more do not fit into a context of 100", seq, ids, 101, TN_WANT_LAST, out);
    FAULT(TN_E_CONTEXT, "4294967295 more", seq, ids, UINT32_MAX, TN_WANT_NONE, NULL);
    rig_feed(seq, session, model, ids, 100, TN_WANT_NONE);
    FAULT(TN_E_CONTEXT, "holds 100 tokens, 1 more", seq, ids, 1, TN_WANT_LAST, out);
    FAULT(TN_OK, "", seq, ids, 0, TN_WANT_NONE, NULL);
}

Test(session_faults, wrong_feeds) {
    tn_session *foreign = rig_session(model, 16, 1);
    tn_feed twice[2] = {{seq, ids, 1, 0, NULL, NULL}, {seq, ids, 1, 0, NULL, NULL}};
    expect_fault(twice, 2, TN_E_INPUT, "occurs twice");
    FAULT(TN_E_INPUT, "no sequence of this session", rig_seq(foreign), ids, 1, TN_WANT_NONE, NULL);
    FAULT(TN_E_INPUT, "no sequence of this session", NULL, ids, 1, TN_WANT_NONE, NULL);
    FAULT(TN_E_INPUT, "no ids", seq, NULL, 1, TN_WANT_NONE, NULL);
    FAULT(TN_E_INPUT, "want is 3", seq, ids, 1, 3, out);
    FAULT(TN_E_INPUT, "no memory for them", seq, ids, 1, TN_WANT_LAST, NULL);
    FAULT(TN_E_INPUT, "of no tokens", seq, ids, 0, TN_WANT_LAST, out);
    tn_session_destroy(foreign);
}

Test(session_faults, too_many_sequences) {
    tn_error err = TN_ERROR_INIT;
    tn_seq *other = NULL;
    cr_expect_eq(tn_seq_create(session, &other, &err), TN_OK);
    tn_seq *third = NULL;
    cr_expect_eq(tn_seq_create(session, &third, &err), TN_E_RANGE);
    cr_expect(strstr(err.text, "2 sequences"), "%s", err.text);
    cr_expect_null(third);
    cr_expect_eq(tn_seq_fork(seq, &third, &err), TN_E_RANGE);
    tn_seq_free(other);
    cr_expect_eq(tn_seq_fork(seq, &third, &err), TN_OK, "%s", err.text);
    cr_expect_eq(tn_seq_truncate(seq, 1, &err), TN_E_RANGE);
    cr_expect(strstr(err.text, "holds 0 tokens"), "%s", err.text);
    tn_seq_free(NULL);
}

/* A request that comes before the run is seen by it, once. */
Test(session_faults, cancel) {
    rig_feed(seq, session, model, ids, 40, TN_WANT_NONE);
    float *wanted = rig_alone(model, ids, 60);
    tn_session_cancel(session);
    FAULT(TN_E_CANCELLED, "cancelled", seq, ids + 40, 20, TN_WANT_ALL, out);
    float *rows = rig_feed(seq, session, model, ids + 40, 20, TN_WANT_ALL);
    rig_expect_rows("after a cancelled run", model, rows, wanted + 40 * (size_t)tn_model_output_width(model),
                    20);
    free(rows), free(wanted);
}

static void *cancel_later(void *arg) {
    tn_session_cancel(arg);
    return NULL;
}

/* In the middle of a run or before it: either way the tokens count wholly or not at all. */
Test(session_faults, cancel_from_another_thread) {
    float *wanted = rig_alone(model, ids, 100);
    for (int round = 0; round < 20; round++) {
        pthread_t thread;
        tn_error err = TN_ERROR_INIT;
        tn_feed feed = {seq, ids, 100, TN_WANT_ALL, out, NULL};
        pthread_create(&thread, NULL, cancel_later, session);
        int32_t code = tn_session_run(session, &feed, 1, &err);
        pthread_join(thread, NULL);
        cr_assert(code == TN_OK || code == TN_E_CANCELLED, "%s", err.text);
        cr_assert_eq(tn_seq_length(seq), code == TN_OK ? 100 : 0);
        if (code == TN_OK) { /* the request has come too late: it is the next run's */
            cr_assert_eq(tn_seq_truncate(seq, 0, &err), TN_OK);
            cr_assert_eq(tn_session_run(session, &feed, 1, &err), TN_E_CANCELLED);
        }
        cr_assert_eq(tn_session_run(session, &feed, 1, &err), TN_OK, "%s", err.text);
        rig_expect_rows("after a cancelled run", model, out, wanted, 100);
        cr_assert_eq(tn_seq_truncate(seq, 0, &err), TN_OK);
    }
    free(wanted);
}

/* ---- models ----------------------------------------------------------------------------------------- */

Test(session_faults, a_refused_file_says_why) {
    tn_model_options options = {.backend = "reference"};
    tn_error err = TN_ERROR_INIT;
    tn_model *refused = NULL;
    tn_fit *fit = NULL;
    const char *path = rig_data("refused/tensor-missing.gguf");
    cr_expect_eq(tn_model_load(rig_engine(), path, &options, &refused, &fit, &err), TN_E_TENSOR_MISSING);
    cr_expect(strstr(err.text, "blk.1.ffn_down.weight"), "%s", err.text);
    cr_expect_null(refused);
    cr_assert_not_null(fit);
    cr_expect_eq(tn_fit_code(fit), TN_E_TENSOR_MISSING);
    tn_fit_free(fit);
    cr_expect_eq(tn_model_load(rig_engine(), path, &options, &refused, NULL, &err), TN_E_TENSOR_MISSING);
    tn_model_close(NULL);
}

Test(session_faults, a_file_that_is_not_there) {
    tn_error err = TN_ERROR_INIT;
    tn_model *none = NULL;
    tn_fit *fit = NULL;
    cr_expect_eq(tn_model_load(rig_engine(), rig_data("no-such-file"), NULL, &none, &fit, &err), TN_E_IO);
    cr_expect(strstr(err.text, "no-such-file"), "%s", err.text);
    cr_expect_null(none);
    cr_expect_null(fit);
}

static uint32_t stop(void *context, uint64_t done, uint64_t total) {
    cr_expect_leq(done, total);
    ++*(int *)context;
    return 1;
}

Test(session_faults, placing_can_be_stopped) {
    int calls = 0;
    tn_model_options options = {.backend = "reference", .progress = stop, .progress_context = &calls};
    tn_error err = TN_ERROR_INIT;
    tn_model *stopped = NULL;
    tn_fit *fit = NULL;
    int32_t code = tn_model_load(rig_engine(), rig_data("models/llama.gguf"), &options, &stopped, &fit, &err);
    cr_expect(calls == 1 && code == TN_E_CANCELLED, "%d calls, then %s", calls, tn_code_text(code));
    tn_fit_free(fit);
    tn_model_close(stopped);
}

static uint32_t cut_short(void *context, uint64_t done, uint64_t total) {
    (void)total;
    if (done == 0) { cr_assert_eq(truncate(context, 8192), 0); }
    return 0;
}

/* The weights are read when a model is loaded: what cannot be read is an error then, and no signal later. */
static void expect_cut(const char *source, int adapts) {
    size_t size;
    char *folder = tn_test_folder(), *path = tn_test_path(folder, "cut.gguf"), model_path[512];
    unsigned char *data = tn_test_read(rig_data(source), &size);
    tn_test_write(path, data, size);
    snprintf(model_path, sizeof model_path, "%s", rig_data("models/llama.gguf"));
    const tn_adapter adapter = {.kind = TN_ADAPTER_LORA, .path = path, .scale = 1};
    tn_model_options options = {.backend = "reference",
                                .progress = cut_short,
                                .progress_context = path,
                                .adapters = &adapter,
                                .adapter_count = adapts ? 1 : 0};
    tn_error err = TN_ERROR_INIT;
    tn_model *loaded = NULL;
    cr_expect_eq(tn_model_load(rig_engine(), adapts ? model_path : path, &options, &loaded, NULL, &err),
                 TN_E_IO);
    cr_expect(strstr(err.text, "cut.gguf: tensor ") && strstr(err.text, "cut short"), "%s", err.text);
    cr_expect_null(loaded);
    free(data);
    free(path);
    tn_test_folder_remove(folder);
}

Test(session_faults, a_file_that_is_cut_short_while_it_is_loaded) {
    expect_cut("models/llama.gguf", 0);
    expect_cut("adapters/lora-llama-a.gguf", 1);
}

Test(session_faults, a_fit_beside_its_model) {
    tn_model_options options = {.backend = "reference"};
    tn_error err = TN_ERROR_INIT;
    tn_model *loaded = NULL;
    tn_fit *fit = NULL;
    cr_assert_eq(tn_model_load(rig_engine(), rig_data("models/llama.gguf"), &options, &loaded, &fit, &err),
                 TN_OK);
    cr_expect_eq(tn_fit_code(fit), TN_OK);
    cr_expect(tn_fit_node_count(fit) > 10);
    cr_expect_eq(tn_model_output_kind(loaded), TN_OUTPUT_LOGITS);
    cr_expect_eq(tn_model_vocab_size(loaded), tn_model_output_width(loaded));
    cr_expect_eq(tn_model_context(loaded), tn_model_facts(loaded)->context);
    cr_expect_not_null(tn_model_codec(loaded));
    cr_expect_not_null(tn_model_file(loaded));
    tn_memory memory;
    tn_model_memory(loaded, &memory);
    cr_expect(memory.mapped + memory.copied + memory.packed > 0);
    tn_fit_free(fit);
    tn_model_close(loaded);
}
