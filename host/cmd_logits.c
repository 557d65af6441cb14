/*
 * cmd_logits.c - tenon logits: the numbers of every position, and the greedy continuation.
 */
#include "commands.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { CHUNK = 512 }; /* rows that are held at once */

struct logits {
    const struct options *options;
    tn_model *model;
    tn_session *session;
    tn_seq *sequence;
    struct array_file *file;
    float *rows;
    int32_t *ids;
    uint64_t id_count;
    uint32_t width;
};

static int run_rows(struct logits *run, const int32_t *ids, uint32_t count, uint32_t want) {
    tn_error err = TN_ERROR_INIT;
    tn_feed feed = {.sequence = run->sequence,
                    .ids = ids,
                    .count = count,
                    .want = want,
                    .out = want == TN_WANT_NONE ? NULL : run->rows};
    int32_t code = tn_session_run(run->session, &feed, 1, &err);
    if (code == TN_E_CANCELLED && interrupted()) { return EXIT_INTERRUPTED; }
    return code == TN_OK ? EXIT_DONE : report_error(&err);
}

static void warn_of_nan(const struct logits *run, uint64_t first, uint64_t rows) {
    for (uint64_t i = 0; i < rows * run->width && !run->options->quiet; i++) {
        if (isnan(run->rows[i])) {
            fprintf(stderr, "tenon: %s: the results at position %llu are not all numbers (NaN)\n",
                    run->options->model, (unsigned long long)(first + i / run->width));
            return;
        }
    }
}

static int write_rows(struct logits *run) {
    uint64_t step = run->options->step ? (uint64_t)run->options->step : run->id_count;
    int status = EXIT_DONE;
    for (uint64_t at = 0; at < run->id_count && status == EXIT_DONE;) {
        uint64_t piece = step < CHUNK ? step : CHUNK;
        uint64_t left_in_step = step - at % step, left = run->id_count - at;
        piece = piece < left_in_step ? piece : left_in_step;
        piece = piece < left ? piece : left;
        status = run_rows(run, run->ids + at, (uint32_t)piece, run->file ? TN_WANT_ALL : TN_WANT_LAST);
        if (status == EXIT_DONE && run->file) {
            warn_of_nan(run, at, piece);
            status = array_file_write(run->file, run->rows, piece);
        }
        if (status == EXIT_DONE && at + piece == run->id_count && run->file) {
            memmove(run->rows, run->rows + (piece - 1) * run->width, run->width * sizeof *run->rows);
        }
        at += piece;
    }
    return status;
}

/* The id of the largest logit, ties to the lower one; -1: there is a NaN. */
static int32_t largest(const float *row, uint32_t width) {
    uint32_t best = 0;
    for (uint32_t i = 0; i < width; i++) {
        if (isnan(row[i])) { return -1; }
        best = row[i] > row[best] ? i : best;
    }
    return (int32_t)best;
}

static int print_greedy(struct logits *run) {
    for (int64_t n = 0; n < run->options->count; n++) {
        int32_t id = largest(run->rows, run->width);
        if (id < 0) {
            fprintf(stderr, "tenon: %s: the logits at position %u are not all numbers (NaN)\n",
                    run->options->model, tn_seq_length(run->sequence) - 1);
            return EXIT_FAILED;
        }
        printf("%s%d", n ? " " : "", id);
        if (n + 1 < run->options->count) {
            int status = run_rows(run, &id, 1, TN_WANT_LAST);
            if (status != EXIT_DONE) { return status; }
        }
    }
    putchar('\n');
    return EXIT_DONE;
}

static int compute(struct logits *run) {
    const struct options *options = run->options;
    if (!options->ids == !options->prompt) { return usage_error("logits", "give either --ids or -p"); }
    int status = read_tokens(options, run->model, &run->ids, &run->id_count);
    if (status != EXIT_DONE) { return status; }
    if (options->count && tn_model_output_kind(run->model) != TN_OUTPUT_LOGITS) {
        return usage_error("logits", "-n: %s has no logits to continue with", options->model);
    }
    uint64_t most = run->id_count + (options->count ? (uint64_t)options->count - 1 : 0);
    if (most > tn_model_context(run->model)) {
        return usage_error("logits", "%llu tokens, the context holds %u (see -c)", (unsigned long long)most,
                           tn_model_context(run->model));
    }
    tn_error err = TN_ERROR_INIT;
    if (tn_session_create(run->model, NULL, &run->session, &err) != TN_OK ||
        tn_seq_create(run->session, &run->sequence, &err) != TN_OK) {
        return report_error(&err);
    }
    interrupt_session(run->session);
    run->width = tn_model_output_width(run->model);
    uint64_t rows = run->id_count < CHUNK ? run->id_count : CHUNK;
    run->rows = malloc((size_t)rows * run->width * sizeof *run->rows);
    if (!run->rows) {
        tn_fail(&err, TN_E_MEMORY, "not enough memory for %llu rows of %u numbers", (unsigned long long)rows,
                run->width);
        return report_error(&err);
    }
    if (options->out) { status = array_file_create(options, run->width, &run->file); }
    if (status == EXIT_DONE) { status = write_rows(run); }
    if (status == EXIT_DONE && run->file) {
        status = array_file_finish(run->file);
        run->file = NULL;
    }
    if (status == EXIT_DONE && options->count) { status = print_greedy(run); }
    return status;
}

int cmd_logits(struct options *options) {
    struct logits run = {.options = options};
    if (!options->out && !options->count) {
        return usage_error("logits", "nothing to do: give -o FILE, -n N or both");
    }
    if (same_place(options->out, options->model)) {
        return usage_error("logits", "-o %s is the model itself", options->out);
    }
    tn_engine *engine = NULL;
    int status = open_engine(options, &engine);
    if (status == EXIT_DONE) { status = load_model(engine, options, options->prompt != NULL, &run.model); }
    if (status == EXIT_DONE) { status = compute(&run); }
    interrupt_session(NULL);
    array_file_abandon(run.file);
    free(run.rows);
    free(run.ids);
    tn_session_destroy(run.session);
    tn_model_close(run.model);
    tn_engine_destroy(engine);
    return status;
}
