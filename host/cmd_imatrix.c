/*
 * cmd_imatrix.c - tenon imatrix: gathers an importance matrix, goes on with one, merges some.
 */
#include "text_chunks.h"

#include "tenon/importance.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { DEFAULT_CHUNK = 512, SAVE_SECONDS = 60, LOGITS_MOST = 1 << 28 };

struct gathering {
    const struct options *options;
    tn_engine *engine;
    tn_model *model;
    tn_session *session;
    tn_seq *sequence;
    tn_importance *importance;
    json_t *unsized; /* files merged for which the tokens of a chunk were assumed */
    struct text_chunks chunks;
    uint32_t done;  /* chunks of this run */
    uint32_t piece; /* tokens that are fed at once */
    float *logits;  /* with --output-tensor: of a piece */
    bool ours;      /* what is at -o was there when the run began, or is of this run: it may be replaced */
    char *beside;   /* where the matrix goes if something else has appeared at -o; or NULL */
    struct progress progress;
};

static const char *matrix_path(const struct gathering *g) {
    return g->beside ? g->beside : g->options->out;
}

/* A run is long: what has appeared at -o meanwhile is neither replaced nor a reason to lose what was gathered. */
static void look_at_target(struct gathering *g) {
    struct stat there;
    if (g->ours || g->beside || lstat(g->options->out, &there) != 0) { return; }
    for (int i = 1; i < 100; i++) {
        char *path = NULL;
        if (asprintf(&path, "%s.%d", g->options->out, i) < 0) { return; }
        if (lstat(path, &there) != 0) {
            g->beside = path;
            fprintf(stderr,
                    "tenon: warning: something has appeared at %s: it stays, and the matrix goes to %s\n",
                    g->options->out, path);
            return;
        }
        free(path);
    }
}

static int write_matrix(struct gathering *g) {
    tn_error err = TN_ERROR_INIT;
    look_at_target(g);
    int32_t code = tn_importance_write(g->importance, matrix_path(g), &err);
    g->ours |= code == TN_OK;
    return code == TN_OK ? EXIT_DONE : report_error(&err);
}

/* ---- gathering ------------------------------------------------------------------------------------------- */

static int32_t run_chunk(struct gathering *g, const int32_t *ids, tn_error *err) {
    uint32_t want = g->logits ? TN_WANT_ALL : TN_WANT_NONE;
    TN_TRY(tn_seq_truncate(g->sequence, 0, err));
    for (uint32_t at = 0; at < g->chunks.size; at += g->piece) {
        uint32_t left = g->chunks.size - at, count = left < g->piece ? left : g->piece;
        tn_feed feed = {
            .sequence = g->sequence, .ids = ids + at, .count = count, .want = want, .out = g->logits};
        TN_TRY(tn_session_run(g->session, &feed, 1, err));
    }
    return TN_OK;
}

static int gather(struct gathering *g) {
    double saved = now_seconds();
    progress_begin(&g->progress, g->options);
    while (g->done < g->chunks.count) {
        tn_error err = TN_ERROR_INIT;
        int32_t code = run_chunk(g, g->chunks.ids + (size_t)g->done * g->chunks.size, &err);
        if (code == TN_OK) { code = tn_importance_end_chunk(g->importance, 1, &err); }
        if (code == TN_E_CANCELLED && interrupted()) { return EXIT_INTERRUPTED; }
        if (code != TN_OK) {
            progress_end(&g->progress);
            fprintf(stderr, "tenon: %s, chunk %u: %s\n", g->options->model, g->chunks.first + g->done,
                    err.text);
            return tn_code_status(code);
        }
        g->done++;
        progress_show(&g->progress, g->done, g->chunks.count, "chunk %u of %u", g->done, g->chunks.count);
        if (g->done < g->chunks.count && now_seconds() - saved > SAVE_SECONDS) {
            (void)write_matrix(g); /* has told what failed; there may be room again when all is done */
            saved = now_seconds();
        }
    }
    return EXIT_DONE;
}

/* Logits are computed in pieces: they are of no use here, but nothing behind the last layer runs without them. */
static int want_logits(struct gathering *g) {
    size_t row = tn_model_output_width(g->model) * sizeof(float);
    uint64_t most = LOGITS_MOST / row;
    if (most < g->piece) { g->piece = most ? (uint32_t)most : 1; }
    g->logits = malloc(g->piece * row);
    if (g->logits) { return EXIT_DONE; }
    fprintf(stderr, "tenon: not enough memory for %u rows of outputs\n", g->piece);
    return EXIT_FAILED;
}

static int prepare(struct gathering *g) {
    const struct options *options = g->options;
    tn_error err = TN_ERROR_INIT;
    int status = read_chunks("imatrix", g->model, options, (uint32_t)options->context, &g->chunks);
    if (status != EXIT_DONE) { return status; }
    g->piece = g->chunks.size;
    if (options->output_tensor) { status = want_logits(g); }
    if (status != EXIT_DONE) { return status; }
    tn_session_options wanted = {0};
    if (tn_importance_dataset(g->importance, options->file, &err) != TN_OK ||
        tn_importance_collect(g->importance, g->model, options->output_tensor, &err) != TN_OK) {
        return report_error(&err);
    }
    wanted.captures = tn_importance_captures(g->importance, &wanted.capture_count);
    if (tn_session_create(g->model, &wanted, &g->session, &err) != TN_OK ||
        tn_seq_create(g->session, &g->sequence, &err) != TN_OK) {
        return report_error(&err);
    }
    interrupt_session(g->session);
    return EXIT_DONE;
}

static int gather_from_text(struct gathering *g) {
    int status = open_engine(g->options, &g->engine);
    if (status == EXIT_DONE) { status = load_model(g->engine, g->options, true, &g->model); }
    if (status == EXIT_DONE) { status = prepare(g); }
    return status == EXIT_DONE ? gather(g) : status;
}

/* ---- the report ------------------------------------------------------------------------------------------ */

static int by_number(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* What all matrices together look like. */
struct summary {
    double least, most; /* activations */
    uint64_t unseen;    /* experts */
    const char *unseen_in;
    double typical, worst; /* spread */
    const char *worst_in;
};

static int summarise(const tn_importance *importance, struct summary *out) {
    uint64_t count = tn_importance_count(importance);
    double *spreads = calloc(count, sizeof *spreads);
    *out = (struct summary){0};
    if (!spreads) {
        fprintf(stderr, "tenon: not enough memory for the report\n");
        return EXIT_FAILED;
    }
    for (uint64_t i = 0; i < count; i++) {
        tn_importance_row row;
        tn_importance_at(importance, i, &row);
        spreads[i] = row.spread;
        if (i == 0 || row.least < out->least) { out->least = row.least; }
        if (row.most > out->most) { out->most = row.most; }
        if (row.unseen && !out->unseen_in) { out->unseen_in = row.name; }
        out->unseen += row.unseen;
        if (i == 0 || row.spread > out->worst) {
            out->worst = row.spread;
            out->worst_in = row.name;
        }
    }
    qsort(spreads, count, sizeof *spreads, by_number);
    out->typical = spreads[count / 2];
    free(spreads);
    return EXIT_DONE;
}

/* "tenon quantize -i model.gguf -o OUT.gguf --type TYPE --imatrix FILE" */
static void set_next(json_t *report, const struct options *options, const char *path) {
    char *text = NULL;
    size_t size = 0;
    FILE *memory = open_memstream(&text, &size);
    if (!memory) { return; }
    fputs("tenon quantize -i ", memory);
    print_word(options->model ? options->model : "MODEL.gguf", memory);
    fputs(" -o OUT.gguf --type TYPE --imatrix ", memory);
    print_word(path, memory);
    fclose(memory);
    set_text(report, "next", text);
    free(text);
}

static const char reading[] =
    "spread is the most important column over the mean one: at 1 all matter alike and a quantiser gains nothing from "
    "this file, at 100 one column counts for a hundred and it gains much";

static void describe(const struct gathering *g, const struct summary *s, json_t *report) {
    const tn_importance *importance = g->importance;
    set_text(report, "file", matrix_path(g));
    set_count(report, "matrices", tn_importance_count(importance));
    set_count(report, "chunks", tn_importance_chunks(importance));
    set_count(report, "chunk_size", tn_importance_chunk_size(importance));
    if (s->least == s->most) {
        set_count(report, "activations_each", (uint64_t)s->most);
    } else {
        set_count(report, "activations_least", (uint64_t)s->least);
        set_count(report, "activations_most", (uint64_t)s->most);
    }
    if (s->unseen) {
        set_count(report, "experts_unseen", s->unseen);
        set_text(report, "first_of_them_in", s->unseen_in);
    }
    json_object_set_new(report, "spread_typical", json_real(s->typical));
    json_object_set_new(report, "spread_worst", json_real(s->worst));
    set_text(report, "worst_in", s->worst_in);
    if (json_array_size(g->unsized)) { json_object_set(report, "chunk_size_assumed_of", g->unsized); }
    set_text(report, "reading", reading);
    set_next(report, g->options, matrix_path(g));
}

static int print_summary(const struct gathering *g) {
    struct summary summary;
    int status = summarise(g->importance, &summary);
    if (status != EXIT_DONE) { return status; }
    json_t *report = json_object();
    describe(g, &summary, report);
    finish_report(g->options, report);
    return EXIT_DONE;
}

/* After ^C: what is whole is kept, and how to go on is told. */
static void tell_rest(const struct gathering *g) {
    const struct options *options = g->options;
    if (!g->done) {
        fputs("tenon: interrupted before a chunk was whole: nothing was written\n", stderr);
        return;
    }
    static const char *const anew[] = {"context", "chunks", "from-chunk", "in-file", "output", "force", NULL};
    fprintf(stderr, "tenon: interrupted after %u of %u chunks; to go on: tenon imatrix", g->done,
            g->chunks.count);
    options_print(options, anew, stderr);
    fprintf(stderr, " -c %u --from-chunk %u", g->chunks.size, g->chunks.first + g->done);
    if (options->chunks) { fprintf(stderr, " --chunks %u", g->chunks.count - g->done); }
    fputs(" --in-file ", stderr);
    print_word(matrix_path(g), stderr);
    fputs(" -o ", stderr);
    print_word(matrix_path(g), stderr);
    fputc('\n', stderr);
}

/* ---- the command ----------------------------------------------------------------------------------------- */

/* What was gathered so far may be replaced by what it grows to. */
static bool is_input(const struct options *options) {
    for (uint64_t i = 0; i < options->in_files.count; i++) {
        if (same_place(options->out, options->in_files.at[i])) { return true; }
    }
    return false;
}

static int check_options(struct options *options) {
    if (!options->out) { return usage_error("imatrix", "where does it go? (-o FILE)"); }
    if (!options->file && !options->in_files.count) {
        return usage_error("imatrix",
                           "nothing to do: give a text (-f FILE), files to merge (--in-file FILE) or both");
    }
    if (options->file && !options->model) { return usage_error("imatrix", "which model? (-m FILE)"); }
    if (same_place(options->out, options->model) || same_place(options->out, options->file)) {
        return usage_error("imatrix", "-o %s is the model or the text", options->out);
    }
    int status = can_write(options->out);
    if (status == EXIT_DONE && !options->force && access(options->out, F_OK) == 0 && !is_input(options)) {
        return usage_error("imatrix", "%s is there already (--force replaces it)", options->out);
    }
    if (options->file && !options->context) { options->context = DEFAULT_CHUNK; }
    return status;
}

/* Older files do not tell what they count by: a wrong guess weighs them wrongly against the rest. */
static void warn_of_size(struct gathering *g, const char *path) {
    fputs("tenon: warning: ", stderr);
    print_clean(path, stderr);
    fprintf(stderr, " does not tell how many tokens its chunks have: %u are assumed (-c N says it)\n",
            tn_importance_chunk_size(g->importance));
    json_array_append_new(g->unsized, text_json(path, strlen(path)));
}

static int merge_files(struct gathering *g, bool sized) {
    const struct options *options = g->options;
    tn_error err = TN_ERROR_INIT;
    if (tn_importance_create((uint32_t)options->context, &g->importance, &err) != TN_OK) {
        return report_error(&err);
    }
    for (uint64_t i = 0; i < options->in_files.count; i++) {
        uint32_t before = tn_importance_unsized(g->importance);
        if (tn_importance_merge(g->importance, options->in_files.at[i], &err) != TN_OK) {
            return report_error(&err);
        }
        if (!sized && tn_importance_unsized(g->importance) > before) {
            warn_of_size(g, options->in_files.at[i]);
        }
    }
    return EXIT_DONE;
}

int cmd_imatrix(struct options *options) {
    struct gathering g = {.options = options, .unsized = json_array()};
    bool sized = options->context != 0;
    int status = check_options(options);
    g.ours = status == EXIT_DONE && access(options->out, F_OK) == 0;
    if (status == EXIT_DONE) { status = merge_files(&g, sized); }
    if (status == EXIT_DONE && options->file) { status = gather_from_text(&g); }
    progress_end(&g.progress);
    interrupt_session(NULL);
    bool whole = status == EXIT_DONE, some = status == EXIT_INTERRUPTED && g.done;
    if (whole || some) {
        int written = write_matrix(&g);
        if (written == EXIT_DONE) { written = print_summary(&g); }
        if (written == EXIT_DONE && whole && g.beside) {
            written = EXIT_FAILED;
        } /* not where it was wanted */
        if (written != EXIT_DONE) { status = written; }
    }
    if (status == EXIT_INTERRUPTED && options->file) { tell_rest(&g); }
    json_decref(g.unsized);
    free(g.beside);
    free(g.logits);
    free_chunks(&g.chunks);
    tn_session_destroy(g.session);
    tn_importance_free(g.importance);
    tn_model_close(g.model);
    tn_engine_destroy(g.engine);
    return status;
}
