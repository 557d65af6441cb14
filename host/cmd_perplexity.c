/*
 * cmd_perplexity.c - tenon perplexity: how well a model predicts a text, and how far it is from another one.
 */
#include "text_chunks.h"

#include "tenon/score.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { DEFAULT_CHUNK = 512, LOGITS_MOST = 1 << 28 }; /* bytes of logits that are held at once */

struct perplexity {
    const struct options *options;
    tn_engine *engine;
    tn_model *model;
    tn_session *session;
    tn_seq *sequence;
    tn_base *base;
    tn_base_writer *writer;
    struct text_chunks chunks;
    uint32_t width;
    uint32_t rows;  /* that are scored of a chunk */
    uint32_t piece; /* that are held at once */
    float *logits, *base_logits;
    tn_score *scores; /* of all chunks */
    uint64_t scored;
    double loss; /* their sum */
    struct progress progress;
    double seconds;
};

/* ---- a chunk --------------------------------------------------------------------------------------------- */

static int32_t feed(struct perplexity *p, const int32_t *ids, uint32_t count, uint32_t want, tn_error *err) {
    tn_feed f = {.sequence = p->sequence,
                 .ids = ids,
                 .count = count,
                 .want = want,
                 .out = want == TN_WANT_ALL ? p->logits : NULL};
    return tn_session_run(p->session, &f, 1, err);
}

/* Runs `count` tokens that are followed by one more, and scores each. */
static int32_t score_piece(struct perplexity *p, const int32_t *ids, uint32_t count, tn_error *err) {
    tn_score *out = p->scores + p->scored;
    tn_scoring scoring = {p->logits, p->base ? p->base_logits : NULL, ids + 1, count, p->width, out};
    TN_TRY(feed(p, ids, count, TN_WANT_ALL, err));
    if (p->base) { TN_TRY(tn_base_read(p->base, p->base_logits, count, err)); }
    if (p->writer) { TN_TRY(tn_base_put(p->writer, p->logits, count, err)); }
    TN_TRY(tn_score_rows(p->engine, &scoring, err));
    for (uint32_t i = 0; i < count; i++) {
        if (!isfinite(out[i].loss) || !isfinite(out[i].base_loss) || !isfinite(out[i].divergence)) {
            TN_FAIL(err, TN_E_FAILED, "row %u gives a token a probability of 0", i);
        }
        p->loss += out[i].loss;
    }
    p->scored += count;
    return TN_OK;
}

static int32_t score_chunk(struct perplexity *p, uint32_t number, tn_error *err) {
    const int32_t *ids = p->chunks.ids + (size_t)number * p->chunks.size;
    uint32_t first = p->chunks.size / 2, last = p->chunks.size - 1;
    TN_TRY(tn_seq_truncate(p->sequence, 0, err));
    TN_TRY(feed(p, ids, first, TN_WANT_NONE, err));
    for (uint32_t at = first; at < last; at += p->piece) {
        uint32_t count = last - at < p->piece ? last - at : p->piece;
        TN_TRY(score_piece(p, ids + at, count, err));
    }
    return TN_OK;
}

static int score_all(struct perplexity *p) {
    double start = now_seconds();
    progress_begin(&p->progress, p->options);
    for (uint32_t c = 0; c < p->chunks.count; c++) {
        tn_error err = TN_ERROR_INIT;
        int32_t code = score_chunk(p, c, &err);
        if (code == TN_E_CANCELLED && interrupted()) { return EXIT_INTERRUPTED; }
        if (code != TN_OK) {
            bool base = code == TN_E_FILE_DAMAGED, saving = code == TN_E_IO && p->options->save;
            progress_end(&p->progress);
            fprintf(stderr, "tenon: %s, chunk %u: %s\n",
                    base     ? p->options->base
                    : saving ? p->options->save
                             : p->options->model,
                    c, err.text);
            return tn_code_status(code);
        }
        progress_show(&p->progress, c + 1, p->chunks.count, "chunk %u of %u, perplexity %.4f", c + 1,
                      p->chunks.count, exp(p->loss / (double)p->scored));
    }
    progress_end(&p->progress);
    p->seconds = now_seconds() - start;
    return EXIT_DONE;
}

/* ---- what came out --------------------------------------------------------------------------------------- */

struct estimate {
    double mean, error; /* standard error of the mean */
};

/* A number of each score: a loss, the base's, their difference, the divergence, the same top. */
static double loss_of(const tn_score *s) {
    return s->loss;
}
static double base_loss_of(const tn_score *s) {
    return s->base_loss;
}
static double ratio_of(const tn_score *s) {
    return s->loss - s->base_loss;
}
static double divergence_of(const tn_score *s) {
    return s->divergence;
}
static double same_top_of(const tn_score *s) {
    return s->same_top;
}

static struct estimate estimate(const struct perplexity *p, double (*number)(const tn_score *score)) {
    double n = (double)p->scored, sum = 0, squares = 0;
    for (uint64_t i = 0; i < p->scored; i++) { sum += number(&p->scores[i]); }
    for (uint64_t i = 0; i < p->scored; i++) {
        double off = number(&p->scores[i]) - sum / n;
        squares += off * off;
    }
    return (struct estimate){sum / n, n > 1 ? sqrt(squares / n / (n - 1)) : 0};
}

static void set_estimate(json_t *report, const char *name, const char *error_name, struct estimate e) {
    json_object_set_new(report, name, json_real(e.mean));
    json_object_set_new(report, error_name, json_real(e.error));
}

/* exp of a mean loss, with the error that follows from it. */
static struct estimate as_perplexity(struct estimate loss) {
    return (struct estimate){exp(loss.mean), exp(loss.mean) * loss.error};
}

static int by_divergence(const void *a, const void *b) {
    double x = ((const tn_score *)a)->divergence, y = ((const tn_score *)b)->divergence;
    return (x > y) - (x < y);
}

/* Between the two sorted numbers beside the place, by a straight line. */
static double quantile(const tn_score *sorted, uint64_t count, double share) {
    double at = share * (double)(count - 1);
    uint64_t low = (uint64_t)at, high = low + 1 < count ? low + 1 : low;
    return sorted[low].divergence + (at - (double)low) * (sorted[high].divergence - sorted[low].divergence);
}

/* Sorts the scores. */
static void report_base(struct perplexity *p, json_t *report) {
    struct estimate base = as_perplexity(estimate(p, base_loss_of));
    set_text(report, "base", p->options->base);
    set_estimate(report, "base_perplexity", "base_perplexity_error", base);
    set_estimate(report, "log_ratio", "log_ratio_error", estimate(p, ratio_of));
    set_estimate(report, "kl_mean", "kl_error", estimate(p, divergence_of));
    struct estimate same = estimate(p, same_top_of);
    qsort(p->scores, p->scored, sizeof *p->scores, by_divergence);
    json_object_set_new(report, "kl_99", json_real(quantile(p->scores, p->scored, 0.99)));
    json_object_set_new(report, "kl_largest", json_real(p->scores[p->scored - 1].divergence));
    set_estimate(report, "same_top", "same_top_error", same);
}

static int print_result(struct perplexity *p) {
    double worst = fmax(estimate(p, loss_of).mean, p->base ? estimate(p, base_loss_of).mean : 0);
    if (!isfinite(exp(worst))) {
        fprintf(stderr, "tenon: %s: the mean loss is %g: its perplexity is beyond all numbers\n",
                p->options->model, worst);
        return EXIT_FAILED;
    }
    json_t *report = json_object();
    set_text(report, "file", p->options->model);
    set_text(report, "text", p->options->file);
    set_count(report, "context", p->chunks.size);
    set_count(report, "chunks", p->chunks.count);
    set_count(report, "scored", p->scored);
    set_estimate(report, "perplexity", "perplexity_error", as_perplexity(estimate(p, loss_of)));
    if (p->base) { report_base(p, report); }
    if (p->options->save) { set_text(report, "saved", p->options->save); }
    double tokens = (double)p->chunks.count * (p->chunks.size - 1);
    json_object_set_new(report, "seconds", json_real(p->seconds));
    json_object_set_new(report, "tokens_per_second", json_real(tokens / p->seconds));
    finish_report(p->options, report);
    return EXIT_DONE;
}

/* ---- before it begins ------------------------------------------------------------------------------------ */

static int check_options(const struct options *options) {
    if (!options->file) { return usage_error("perplexity", "which text? (-f FILE)"); }
    if (options->save && options->base) {
        return usage_error("perplexity", "--save-logits and --base exclude each other");
    }
    if (same_place(options->save, options->model) || same_place(options->save, options->file)) {
        return usage_error("perplexity", "--save-logits %s is the model or the text", options->save);
    }
    int status = options->save ? can_write(options->save) : EXIT_DONE;
    if (status != EXIT_DONE) { return status; }
    if (options->save && !options->force && access(options->save, F_OK) == 0) {
        return usage_error("perplexity", "%s is there already (--force replaces it)", options->save);
    }
    if (options->context && options->context < 3) {
        return usage_error("perplexity", "-c %" PRId64 ": a chunk needs 3 tokens for one to be scored",
                           options->context);
    }
    return EXIT_DONE;
}

/* What is not said is the base's. */
static int open_base(struct perplexity *p, struct options *options) {
    tn_error err = TN_ERROR_INIT;
    if (options->base) {
        if (tn_base_open(options->base, &p->base, &err) != TN_OK) { return report_error(&err); }
        const tn_base_shape *shape = tn_base_shape_of(p->base);
        if (!options->context) { options->context = shape->context; }
        if (!options->chunks) { options->chunks = shape->chunks; }
    }
    if (!options->context) { options->context = DEFAULT_CHUNK; }
    return EXIT_DONE;
}

static int check_base(const struct perplexity *p) {
    const tn_base_shape *base = tn_base_shape_of(p->base);
    const struct text_chunks *chunks = &p->chunks;
    const char *name = p->options->base;
    if (base->width != p->width) {
        return usage_error("perplexity", "--base %s: rows of %u numbers, those of %s have %u", name,
                           base->width, p->options->model, p->width);
    }
    if (base->context != chunks->size || base->chunks != chunks->count) {
        return usage_error("perplexity", "--base %s: %u chunks of %u tokens, this run has %u of %u", name,
                           base->chunks, base->context, chunks->count, chunks->size);
    }
    const int32_t *ids = tn_base_ids(p->base);
    for (size_t i = 0; i < (size_t)chunks->count * chunks->size; i++) {
        if (ids[i] == chunks->ids[i]) { continue; }
        return usage_error("perplexity",
                           "--base %s: another text or tokenizer: token %zu of chunk %zu is %d, here %d",
                           name, i % chunks->size, i / chunks->size, ids[i], chunks->ids[i]);
    }
    return EXIT_DONE;
}

/* The size is told before anything is written: it may be large. */
static int create_base(struct perplexity *p) {
    tn_base_shape shape = {p->width, p->chunks.size, p->chunks.count};
    tn_error err = TN_ERROR_INIT;
    if (!p->options->quiet) {
        fprintf(stderr, "tenon: %s will take %.1f MB: %" PRIu64 " rows of %u logits\n", p->options->save,
                1e-6 * (double)tn_base_bytes(&shape), (uint64_t)p->chunks.count * p->rows, p->width);
    }
    if (tn_base_create(p->options->save, &shape, p->chunks.ids, &p->writer, &err) != TN_OK) {
        return report_error(&err);
    }
    unfinished_file(tn_base_unfinished(p->writer));
    return EXIT_DONE;
}

static int make_room(struct perplexity *p) {
    size_t row = p->width * sizeof(float);
    uint64_t most = LOGITS_MOST / row;
    p->rows = tn_score_count(p->chunks.size);
    p->piece = most < 1 ? 1 : most < p->rows ? (uint32_t)most : p->rows;
    p->logits = malloc(p->piece * row);
    p->base_logits = p->base ? malloc(p->piece * row) : NULL;
    p->scores = calloc((size_t)p->chunks.count * p->rows, sizeof *p->scores);
    if (p->logits && p->scores && (p->base_logits || !p->base)) { return EXIT_DONE; }
    fprintf(stderr, "tenon: not enough memory for %u rows of %u logits\n", p->piece, p->width);
    return EXIT_FAILED;
}

static int prepare(struct perplexity *p) {
    tn_error err = TN_ERROR_INIT;
    p->width = tn_model_output_width(p->model);
    if (tn_model_output_kind(p->model) != TN_OUTPUT_LOGITS) {
        return usage_error("perplexity", "%s has no logits", p->options->model);
    }
    int status = read_chunks("perplexity", p->model, p->options, (uint32_t)p->options->context, &p->chunks);
    if (status == EXIT_DONE && p->base) { status = check_base(p); }
    if (status == EXIT_DONE) { status = make_room(p); }
    if (status != EXIT_DONE) { return status; }
    if (tn_session_create(p->model, NULL, &p->session, &err) != TN_OK ||
        tn_seq_create(p->session, &p->sequence, &err) != TN_OK) {
        return report_error(&err);
    }
    interrupt_session(p->session);
    return p->options->save ? create_base(p) : EXIT_DONE;
}

static int finish_base(struct perplexity *p) {
    tn_error err = TN_ERROR_INIT;
    int32_t code = tn_base_finish(p->writer, &err);
    p->writer = NULL;
    unfinished_file(NULL);
    return code == TN_OK ? EXIT_DONE : report_error(&err);
}

int cmd_perplexity(struct options *options) {
    struct perplexity p = {.options = options};
    int status = check_options(options);
    if (status == EXIT_DONE) { status = open_base(&p, options); }
    if (status == EXIT_DONE) { status = open_engine(options, &p.engine); }
    if (status == EXIT_DONE) { status = load_model(p.engine, options, true, &p.model); }
    if (status == EXIT_DONE) { status = prepare(&p); }
    if (status == EXIT_DONE) { status = score_all(&p); }
    if (status == EXIT_DONE && p.writer) { status = finish_base(&p); }
    if (status == EXIT_DONE) { status = print_result(&p); }
    progress_end(&p.progress);
    interrupt_session(NULL);
    unfinished_file(NULL);
    tn_base_abandon(p.writer);
    tn_base_close(p.base);
    free(p.scores);
    free(p.base_logits);
    free(p.logits);
    free_chunks(&p.chunks);
    tn_session_destroy(p.session);
    tn_model_close(p.model);
    tn_engine_destroy(p.engine);
    return status;
}
