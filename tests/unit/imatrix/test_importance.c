/*
 * test_importance.c - importance matrices of models: against sums worked out here, on both backends, however the text
 * is cut into steps; chunks that fail.
 */
#include "importance_rig.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <unistd.h>

enum { WIDTH = 64 };

TestSuite(importance, .init = rig_make_folder, .fini = rig_remove_folder);

/* ---- sums ------------------------------------------------------------------------------------------------ */

static const float *numbers_of(const tn_model *model, const char *name) {
    const tn_gguf_tensor *tensor = tn_gguf_tensor_find(tn_model_file(model), name);
    cr_assert(tensor && tensor->type == 0, "%s is no F32 tensor", name);
    return tensor->data;
}

/* The first layer's norm of the embeddings, squared and summed: x / sqrt(mean x^2 + eps) * gain. */
static void sums_by_hand(const struct watched *w, double sums[WIDTH]) {
    const float *table = numbers_of(w->model, "token_embd.weight"),
                *gain = numbers_of(w->model, "blk.0.attn_norm.weight");
    memset(sums, 0, WIDTH * sizeof *sums);
    for (uint32_t t = 0; t < TOKENS; t++) {
        const float *x = table + w->ids[t] * WIDTH;
        double squares = 0;
        for (uint32_t c = 0; c < WIDTH; c++) { squares += (double)x[c] * x[c]; }
        for (uint32_t c = 0; c < WIDTH; c++) {
            double y = x[c] / sqrt(squares / WIDTH + 0.005f) * gain[c];
            sums[c] += y * y;
        }
    }
}

static void by_hand(const char *backend, uint32_t step_rows) {
    static const char *const same[] = {"blk.0.attn_q.weight", "blk.0.attn_k.weight", "blk.0.attn_v.weight"};
    struct watched w;
    tn_imatrix matrix;
    double wanted[WIDTH];
    rig_watch(&w, rig_fixture("llama", backend), step_rows, 0);
    rig_run_chunk(&w, TN_WANT_NONE);
    rig_end_chunk(&w);
    rig_read_back(w.importance, &matrix);
    sums_by_hand(&w, wanted);
    cr_expect_eq(matrix.names.count, 3 * 7, "%llu entries, expected 21",
                 (unsigned long long)matrix.names.count);
    cr_expect_eq(matrix.chunk_count, 1);
    cr_expect_eq(matrix.chunk_size, TOKENS);
    for (uint64_t i = 0; i < matrix.names.count; i++) {
        cr_expect_eq(matrix.entries[i].counts[0], TOKENS, "%s saw %g rows", matrix.names.at[i],
                     matrix.entries[i].counts[0]);
        cr_expect(i == 0 || strcmp(matrix.names.at[i - 1], matrix.names.at[i]) < 0, "names are not sorted");
    }
    for (int i = 0; i < 3; i++) {
        const tn_imatrix_entry *entry = rig_entry(&matrix, same[i]);
        cr_assert(entry->columns == WIDTH && entry->experts == 1);
        rig_expect_near(same[i], entry->sums, wanted, WIDTH, 1e-5);
    }
    cr_expect_eq(rig_entry(&matrix, "blk.2.ffn_down.weight")->columns, 160);
    tn_imatrix_free(&matrix);
    rig_unwatch(&w);
}

Test(importance, by_hand_on_reference) {
    by_hand("reference", 0);
    by_hand("reference", 7);
}

Test(importance, by_hand_on_cpu) {
    by_hand("cpu", 0);
    by_hand("cpu", 7);
}

/* Every matrix, on two backends that know nothing of each other. */
Test(importance, backends_agree) {
    struct watched w[2];
    tn_imatrix matrix[2];
    for (int i = 0; i < 2; i++) {
        rig_watch(&w[i], rig_fixture("llama", i ? "cpu" : "reference"), 16, 1);
        rig_run_chunk(&w[i], TN_WANT_ALL);
        rig_end_chunk(&w[i]);
        rig_read_back(w[i].importance, &matrix[i]);
    }
    cr_assert_eq(matrix[0].names.count, 22);
    for (uint64_t i = 0; i < 22; i++) {
        const char *name = matrix[0].names.at[i];
        const tn_imatrix_entry *other = rig_entry(&matrix[1], name);
        rig_expect_near(name, other->sums, matrix[0].entries[i].sums, other->columns, 1e-4);
        cr_expect_eq(other->counts[0], TOKENS);
    }
    rig_entry(&matrix[0], "output.weight");
    for (int i = 0; i < 2; i++) {
        tn_imatrix_free(&matrix[i]);
        rig_unwatch(&w[i]);
    }
}

/* Watching changes no bit of what a model says. */
static void unchanged(const char *backend) {
    struct watched w;
    rig_watch(&w, rig_fixture("llama", backend), 16, 1);
    tn_session *plain = rig_session(w.model, 16, 1);
    float *with = rig_feed(w.sequence, w.session, w.model, w.ids, TOKENS, TN_WANT_ALL);
    float *without = rig_feed(rig_seq(plain), plain, w.model, w.ids, TOKENS, TN_WANT_ALL);
    rig_expect_rows(backend, w.model, with, without, TOKENS);
    free(with), free(without);
    tn_session_destroy(plain);
    rig_unwatch(&w);
}

Test(importance, watching_changes_nothing) {
    unchanged("reference");
    unchanged("cpu");
}

/* ---- experts ---------------------------------------------------------------------------------------------- */

enum { COLUMNS = 8, HIDDEN = 6, EXPERTS = 4, USED = 2, VOCAB = 32 }; /* of probe/arch_routed.c */

static void put_tensor(tn_gguf_writer *writer, uint32_t seed, uint64_t count) {
    tn_error err = TN_ERROR_INIT;
    for (uint64_t i = 0; i < count; i++) {
        seed = seed * 1664525u + 1013904223u;
        float number = (float)((int)(seed >> 16 & 255) - 128) / 64.0f;
        cr_assert_eq(tn_gguf_writer_write(writer, &number, sizeof number, &err), TN_OK);
    }
}

static const char *routed_model(void) {
    static const struct {
        const char *name;
        uint64_t dims[3];
    } tensors[] = {{"tokens", {COLUMNS, VOCAB, 1}},
                   {"router", {COLUMNS, EXPERTS, 1}},
                   {"gate", {COLUMNS, HIDDEN, EXPERTS}},
                   {"up", {COLUMNS, HIDDEN, EXPERTS}},
                   {"down", {HIDDEN, COLUMNS, EXPERTS}}};
    const tn_kv kv = {
        .struct_size = sizeof kv, .type = TN_KV_STRING, .count = 6, .size = 6, .data = "routed"};
    const char *path = rig_file("routed.gguf");
    tn_gguf_writer *writer = NULL;
    tn_error err = TN_ERROR_INIT;
    cr_assert_eq(tn_gguf_writer_create(path, &writer, &err), TN_OK);
    cr_assert_eq(tn_gguf_writer_put(writer, "general.architecture", &kv, &err), TN_OK);
    for (int pass = 0; pass < 2; pass++) {
        for (uint32_t t = 0; t < 5; t++) {
            const uint64_t *d = tensors[t].dims, count = d[0] * d[1] * d[2];
            if (pass) { put_tensor(writer, 77 + t, count); }
            if (pass) { continue; }
            int32_t code =
                tn_gguf_writer_declare(writer, tensors[t].name, 0, d[2] > 1 ? 3 : 2, d, count * 4, &err);
            cr_assert_eq(code, TN_OK, "%s", err.text);
        }
    }
    cr_assert_eq(tn_gguf_writer_finish(writer, &err), TN_OK, "%s", err.text);
    return path;
}

static double dot(const float *row, const float *x) {
    double sum = 0;
    for (uint32_t c = 0; c < COLUMNS; c++) { sum += (double)row[c] * x[c]; }
    return sum;
}

struct expert_sums {
    double in[EXPERTS * COLUMNS], between[EXPERTS * HIDDEN], counts[EXPERTS];
};

/* What expert `e` gets of a row, and what is between its matrices: relu(gate x) * (up x). */
static void sum_expert(const struct watched *w, const float *x, uint32_t e, struct expert_sums *sums) {
    const float *gate = numbers_of(w->model, "gate"), *up = numbers_of(w->model, "up");
    for (uint32_t c = 0; c < COLUMNS; c++) { sums->in[e * COLUMNS + c] += (double)x[c] * x[c]; }
    for (uint32_t h = 0; h < HIDDEN; h++) {
        double y =
            fmax(dot(gate + (e * HIDDEN + h) * COLUMNS, x), 0) * dot(up + (e * HIDDEN + h) * COLUMNS, x);
        sums->between[e * HIDDEN + h] += y * y;
    }
    sums->counts[e]++;
}

static void experts_by_hand(const struct watched *w, struct expert_sums *sums) {
    const float *table = numbers_of(w->model, "tokens"), *router = numbers_of(w->model, "router");
    *sums = (struct expert_sums){{0}, {0}, {0}};
    for (uint32_t t = 0; t < TOKENS; t++) {
        const float *x = table + w->ids[t] * COLUMNS;
        for (uint32_t e = 0; e < EXPERTS; e++) {
            uint32_t before = 0; /* experts that are chosen before this one */
            double mine = dot(router + e * COLUMNS, x);
            for (uint32_t other = 0; other < EXPERTS; other++) {
                double theirs = dot(router + other * COLUMNS, x);
                before += theirs > mine || (theirs == mine && other < e);
            }
            if (before < USED) { sum_expert(w, x, e, sums); }
        }
    }
}

Test(importance, experts_by_hand) {
    static const char *const names[] = {"gate", "up", "down"};
    struct watched w;
    struct expert_sums wanted;
    tn_imatrix matrix;
    const char *path = routed_model();
    rig_watch(&w, rig_load(path, "reference"), 7, 0);
    rig_run_chunk(&w, TN_WANT_NONE);
    rig_end_chunk(&w);
    rig_read_back(w.importance, &matrix);
    experts_by_hand(&w, &wanted);
    cr_assert_eq(matrix.names.count, 4);
    for (int i = 0; i < 3; i++) {
        const tn_imatrix_entry *entry = rig_entry(&matrix, names[i]);
        cr_assert(entry->experts == EXPERTS && entry->columns == (i == 2 ? HIDDEN : COLUMNS));
        rig_expect_near(names[i], entry->counts, wanted.counts, EXPERTS, 0);
        rig_expect_near(names[i], entry->sums, i == 2 ? wanted.between : wanted.in, EXPERTS * entry->columns,
                        1e-6);
    }
    const tn_imatrix_entry *router = rig_entry(&matrix, "router");
    cr_expect(router->experts == 1 && router->counts[0] == TOKENS);
    tn_imatrix_free(&matrix);
    rig_unwatch(&w);
    unlink(path);
}

/* An expert that nothing was sent to is told. */
Test(importance, unseen_experts) {
    struct watched w;
    tn_importance_row row = {0};
    const char *path = routed_model();
    rig_watch(&w, rig_load(path, "reference"), 0, 0);
    for (uint32_t t = 1; t < TOKENS; t++) { w.ids[t] = w.ids[0]; }
    rig_run_chunk(&w, TN_WANT_NONE);
    rig_end_chunk(&w);
    for (uint64_t i = 0; i < tn_importance_count(w.importance) && row.experts < 2; i++) {
        tn_importance_at(w.importance, i, &row);
    }
    cr_expect(row.unseen == EXPERTS - USED && row.least == 0 && row.most == TOKENS, "%llu unseen, %g to %g",
              (unsigned long long)row.unseen, row.least, row.most);
    rig_unwatch(&w);
    unlink(path);
}

/* ---- runs that go on ------------------------------------------------------------------------------------ */

/* Going on with a file, wherever a run stopped, ends in the same bits as one long run. */
static void resume(const char *model) {
    enum { CHUNKS = 5 };
    struct watched once;
    tn_imatrix long_run, resumed;
    tn_error err = TN_ERROR_INIT;
    const char *path = rig_file("part.gguf");
    rig_watch(&once, rig_load(model, "reference"), 0, 0);
    for (int i = 0; i < CHUNKS; i++) {
        struct watched next;
        rig_ids(once.model, 3 + i, once.ids, TOKENS);
        rig_run_chunk(&once, TN_WANT_NONE);
        rig_end_chunk(&once);
        rig_watch(&next, rig_load(model, "reference"), 0, 0);
        memcpy(next.ids, once.ids, sizeof next.ids);
        if (i) { cr_assert_eq(tn_importance_merge(next.importance, path, &err), TN_OK, "%s", err.text); }
        rig_run_chunk(&next, TN_WANT_NONE);
        rig_end_chunk(&next);
        cr_assert_eq(tn_importance_write(next.importance, path, &err), TN_OK, "%s", err.text);
        rig_unwatch(&next);
    }
    rig_read_back(once.importance, &long_run);
    cr_assert_eq(tn_imatrix_read(path, &resumed, &err), TN_OK, "%s", err.text);
    cr_expect_eq(resumed.chunk_count, CHUNKS);
    for (uint64_t i = 0; i < long_run.names.count; i++) {
        const tn_imatrix_entry *entry = &long_run.entries[i], *other = &resumed.entries[i];
        rig_expect_near(long_run.names.at[i], other->sums, entry->sums, entry->columns * entry->experts, 0);
        rig_expect_near(long_run.names.at[i], other->counts, entry->counts, entry->experts, 0);
    }
    tn_imatrix_free(&long_run), tn_imatrix_free(&resumed);
    rig_unwatch(&once);
    unlink(path);
}

Test(importance, resumed_is_as_if_never_stopped) {
    const char *routed = routed_model();
    resume(rig_data("models/llama.gguf"));
    resume(routed);
    unlink(routed);
}

/* ---- chunks that do not count ---------------------------------------------------------------------------- */

Test(importance, a_forgotten_chunk_leaves_nothing) {
    struct watched w;
    tn_imatrix once, after;
    tn_error err = TN_ERROR_INIT;
    rig_watch(&w, rig_fixture("llama", "reference"), 0, 0);
    rig_run_chunk(&w, TN_WANT_NONE);
    rig_end_chunk(&w);
    rig_read_back(w.importance, &once);
    rig_run_chunk(&w, TN_WANT_NONE);
    cr_assert_eq(tn_importance_end_chunk(w.importance, 0, &err), TN_OK);
    rig_read_back(w.importance, &after);
    cr_expect_eq(after.chunk_count, 1);
    for (uint64_t i = 0; i < once.names.count; i++) {
        rig_expect_near(once.names.at[i], after.entries[i].sums, once.entries[i].sums,
                        once.entries[i].columns, 0);
    }
    tn_imatrix_free(&once);
    tn_imatrix_free(&after);
    rig_unwatch(&w);
}

/* A copy of a fixture in which column 5 of a norm's gain is not a number. */
static const char *broken_model(void) {
    rig_edit edit = {.source = "models/llama.gguf"};
    const char *path = rig_make(&edit);
    const float bad = NAN;
    tn_error err = TN_ERROR_INIT;
    tn_gguf *file = NULL;
    static char image[1 << 20];
    FILE *both = fopen(path, "r+b");
    cr_assert_not_null(both);
    size_t size = fread(image, 1, sizeof image, both);
    cr_assert_eq(tn_gguf_open(path, tn_engine_types(rig_engine()), &file, &err), TN_OK, "%s", err.text);
    const tn_gguf_tensor *gain = tn_gguf_tensor_find(file, "blk.1.ffn_norm.weight");
    const char *at = memmem(image, size, gain->data, gain->size);
    tn_gguf_close(file);
    cr_assert_not_null(at);
    cr_assert_eq(fseek(both, at - image + 5 * (long)sizeof bad, SEEK_SET), 0);
    cr_assert_eq(fwrite(&bad, sizeof bad, 1, both), 1);
    fclose(both);
    return path;
}

Test(importance, not_a_number_is_named) {
    struct watched w;
    tn_error err = TN_ERROR_INIT;
    tn_importance_row row;
    rig_watch(&w, rig_load(broken_model(), "reference"), 0, 0);
    rig_run_chunk(&w, TN_WANT_NONE);
    int32_t code = tn_importance_end_chunk(w.importance, 1, &err);
    cr_expect_eq(code, TN_E_FAILED, "%d, expected %d", code, TN_E_FAILED);
    cr_expect(strstr(err.text, "blk.1.ffn_gate.weight") && strstr(err.text, "column 5"), "\"%s\"", err.text);
    cr_expect_eq(tn_importance_chunks(w.importance), 0);
    tn_importance_at(w.importance, 0, &row);
    cr_expect_eq(row.most, 0, "%g activations were counted", row.most);
    rig_unwatch(&w);
}
