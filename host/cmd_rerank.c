/*
 * cmd_rerank.c - tenon rerank: documents in the order in which they answer a query.
 */
#include "text_source.h"
#include "text_vectors.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct document {
    uint64_t number;
    float score;
    char *text;
    size_t size;
};

struct rerank {
    const struct options *options;
    struct text_vectors vectors;
    struct text_source source;
    struct document *documents;
    size_t count, room; /* the last ones have no score yet */
    size_t scored;
};

static int no_memory(void) {
    fputs("tenon: not enough memory for the documents\n", stderr);
    return EXIT_FAILED;
}

/* ---- keeping documents --------------------------------------------------------------------------------- */

/* Best first; of equal ones, and among those that are not numbers, the earlier. */
static int compare(const void *a, const void *b) {
    const struct document *x = a, *y = b;
    int x_nan = x->score != x->score, y_nan = y->score != y->score;
    if (x_nan != y_nan) { return x_nan - y_nan; }
    if (x->score > y->score) { return -1; }
    if (x->score < y->score) { return 1; }
    return x->number < y->number ? -1 : x->number > y->number;
}

/* With --top nothing is kept that cannot be among the best. Called while all have scores. */
static void drop_worst(struct rerank *r) {
    size_t most = (size_t)r->options->top;
    if (r->count) { qsort(r->documents, r->count, sizeof *r->documents, compare); }
    while (most && r->count > most) { free(r->documents[--r->count].text); }
    r->scored = r->count;
}

static int keep(struct rerank *r, const char *text, size_t size) {
    if (r->count == r->room) {
        size_t room = 2 * r->room + 64;
        struct document *more = reallocarray(r->documents, room, sizeof *more);
        if (!more) { return no_memory(); }
        r->documents = more;
        r->room = room;
    }
    struct document *d = &r->documents[r->count];
    *d = (struct document){.number = r->source.number, .text = malloc(size + 1), .size = size};
    if (!d->text) { return no_memory(); }
    memcpy(d->text, text, size);
    r->count++;
    return EXIT_DONE;
}

/* Results come in the order of the documents. */
static int take_score(void *context, const struct text_result *result) {
    struct rerank *r = context;
    r->documents[r->scored++].score = result->data[0];
    return EXIT_DONE;
}

/* ---- the run ------------------------------------------------------------------------------------------- */

static int score_documents(struct rerank *r) {
    for (;;) {
        tn_codec_text pair = {
            .text = r->options->query, .size = strlen(r->options->query), .flags = TN_ENCODE_ADD};
        size_t size;
        int status = text_source_next(&r->source, &pair.pair, &size);
        if (status != EXIT_DONE || !pair.pair) { return status; }
        pair.pair_size = size;
        if (r->options->top && r->scored == r->count && r->count > 2 * (size_t)r->options->top + 256) {
            drop_worst(r);
        }
        status = keep(r, pair.pair, size);
        if (status == EXIT_DONE) {
            status = text_vectors_add_text(&r->vectors, r->source.number, &pair, false);
        }
        if (status != EXIT_DONE) { return status; }
    }
}

static int check_head(const struct rerank *r) {
    if (r->vectors.width == 1) { return EXIT_DONE; }
    return usage_error(
        "rerank", "%s: its classification head has %u scores, a rank is one (see tenon embed --pool rank)",
        r->options->model, r->vectors.width);
}

static void put_text(const struct rerank *r) {
    for (size_t i = 0; i < r->count; i++) {
        const struct document *d = &r->documents[i];
        printf("%" PRIu64 "\t%.9g\t", d->number, (double)d->score);
        for (size_t c = 0; c < d->size; c++) {
            putchar(d->text[c] == '\n' || d->text[c] == '\t' ? ' ' : d->text[c]);
        } /* of an argument */
        putchar('\n');
    }
}

static int put_json(const struct rerank *r) {
    json_t *list = json_array();
    for (size_t i = 0; i < r->count; i++) {
        const struct document *d = &r->documents[i];
        json_t *score = json_real((double)d->score), *object = json_object(); /* of a NaN: none */
        set_count(object, "number", d->number);
        json_object_set_new(object, "score", score ? score : json_null());
        json_object_set_new(object, "text", text_json(d->text, d->size));
        json_array_append_new(list, object);
    }
    print_json(list, stdout);
    json_decref(list);
    return EXIT_DONE;
}

static int rank(struct rerank *r) {
    int status = check_head(r);
    if (status == EXIT_DONE) { status = score_documents(r); }
    if (status == EXIT_DONE) { status = text_vectors_flush(&r->vectors); }
    if (status != EXIT_DONE) { return status; }
    drop_worst(r);
    if (r->options->json) { return put_json(r); }
    put_text(r);
    return EXIT_DONE;
}

int cmd_rerank(struct options *options) {
    struct rerank r = {.options = options, .vectors = {.options = options}};
    if (!options->query) { return usage_error("rerank", "which query? (-q QUERY)"); }
    int status = text_source_open(options, &r.source);
    if (status == EXIT_DONE) { status = text_vectors_open(options, TN_POOLING_RANK, true, &r.vectors); }
    r.vectors.sink = take_score;
    r.vectors.context = &r;
    if (status == EXIT_DONE) { status = rank(&r); }
    status = finish_output(status);
    for (size_t i = 0; i < r.count; i++) { free(r.documents[i].text); }
    free(r.documents);
    text_vectors_close(&r.vectors);
    text_source_close(&r.source);
    return status;
}
