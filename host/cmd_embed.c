/*
 * cmd_embed.c - tenon embed: a vector for each text.
 */
#include "text_source.h"
#include "text_vectors.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct embed {
    const struct options *options;
    struct text_vectors vectors;
    struct text_source source;
    struct array_file *file;
};

static const char *const pool_names[] = {"none", "mean", "cls", "last",
                                         "rank"}; /* in the order of TN_POOLING_* */
enum { POOL_NAMES = sizeof pool_names / sizeof *pool_names };

static int find_pooling(const char *name, uint32_t *pooling) {
    *pooling = TN_POOLING_OF_FILE;
    if (!name) { return EXIT_DONE; }
    for (uint32_t i = 0; i < POOL_NAMES; i++) {
        if (strcmp(name, pool_names[i]) == 0) {
            *pooling = i;
            return EXIT_DONE;
        }
    }
    return usage_error("embed", "--pool: \"%s\" is none of mean, cls, last, rank and none", name);
}

/* ---- results ------------------------------------------------------------------------------------------- */

/* JSON knows no NaN. */
static void put_numbers(const float *row, uint32_t width, const char *between, bool json) {
    for (uint32_t i = 0; i < width; i++) {
        if (i) { fputs(between, stdout); }
        if (json && !isfinite(row[i])) {
            fputs("null", stdout);
        } else {
            printf("%.9g", (double)row[i]);
        }
    }
}

static void put_json_rows(const struct text_vectors *v, const struct text_result *result) {
    bool nested = v->pooling == TN_POOLING_NONE;
    printf("{\"number\":%" PRIu64 ",\"tokens\":%" PRIu32 ",\"%s\":%s", result->number, result->tokens,
           v->pooling == TN_POOLING_RANK ? "scores" : "embedding", nested ? "[" : "");
    for (uint32_t r = 0; r < result->rows; r++) {
        fputs(r ? ",[" : "[", stdout);
        put_numbers(result->data + (size_t)r * result->width, result->width, ",", true);
        putchar(']');
    }
    puts(nested ? "]}" : "}");
}

static int put_result(void *context, const struct text_result *result) {
    struct embed *e = context;
    bool raw = e->vectors.pooling == TN_POOLING_NONE || e->vectors.pooling == TN_POOLING_RANK;
    if (!raw && !e->options->no_normalize) { tn_normalise(result->data, result->width); }
    if (e->file) { return array_file_write(e->file, result->data, result->rows); }
    if (e->options->json) {
        put_json_rows(&e->vectors, result);
        return EXIT_DONE;
    }
    for (uint32_t r = 0; r < result->rows; r++) {
        put_numbers(result->data + (size_t)r * result->width, result->width, " ", false);
        putchar('\n');
    }
    return EXIT_DONE;
}

/* ---- texts --------------------------------------------------------------------------------------------- */

static int embed_ids(struct embed *e) {
    int32_t *ids;
    uint64_t count;
    int status = parse_ids(e->options, &ids, &count);
    if (status == EXIT_DONE) { return text_vectors_add(&e->vectors, 1, ids, count, e->options->truncate); }
    free(ids);
    return status;
}

static int embed_texts(struct embed *e) {
    for (;;) {
        tn_codec_text text = {.flags = TN_ENCODE_ADD};
        size_t size;
        int status = text_source_waits(&e->source) ? text_vectors_flush(&e->vectors) : EXIT_DONE;
        if (status == EXIT_DONE) { status = text_source_next(&e->source, &text.text, &size); }
        if (status != EXIT_DONE || !text.text) { return status; }
        text.size = size;
        status = text_vectors_add_text(&e->vectors, e->source.number, &text, e->options->truncate);
        if (status != EXIT_DONE) { return status; }
    }
}

static int check_options(const struct options *options) {
    if (options->ids && (options->file || options->argument_count)) {
        return usage_error("embed", "--ids goes neither with texts nor with -f");
    }
    if (options->out && options->json) { return usage_error("embed", "-o and --json exclude each other"); }
    if (same_place(options->out, options->model) || same_place(options->out, options->file)) {
        return usage_error("embed", "-o %s is the %s itself", options->out,
                           same_place(options->out, options->model) ? "model" : "file of texts");
    }
    return EXIT_DONE;
}

static int embed_all(struct embed *e) {
    int status = EXIT_DONE;
    if (e->options->out) { status = array_file_create(e->options, e->vectors.width, &e->file); }
    if (status == EXIT_DONE) { status = e->options->ids ? embed_ids(e) : embed_texts(e); }
    if (status == EXIT_DONE) { status = text_vectors_flush(&e->vectors); }
    if (status == EXIT_DONE && e->file) {
        status = array_file_finish(e->file);
        e->file = NULL;
    }
    return status;
}

int cmd_embed(struct options *options) {
    struct embed e = {.options = options, .vectors = {.options = options}};
    uint32_t pooling;
    int status = check_options(options);
    if (status == EXIT_DONE) { status = find_pooling(options->pool, &pooling); }
    if (status == EXIT_DONE && !options->ids) { status = text_source_open(options, &e.source); }
    if (status == EXIT_DONE) { status = text_vectors_open(options, pooling, !options->ids, &e.vectors); }
    e.vectors.sink = put_result;
    e.vectors.context = &e;
    if (status == EXIT_DONE) { status = embed_all(&e); }
    status = finish_output(status);
    array_file_abandon(e.file);
    text_vectors_close(&e.vectors);
    text_source_close(&e.source);
    return status;
}
