/* text_vectors.c - see text_vectors.h. */
#include "text_vectors.h"

#include <math.h>
#include <stdlib.h>

static int no_memory(void) {
    fputs("tenon: not enough memory for the texts of a step\n", stderr);
    return EXIT_FAILED;
}

/* ---- open ---------------------------------------------------------------------------------------------- */

/* Whether the model ranks is decided when it is loaded, so what the file says is read before. */
static int choose_purpose(struct options *options, uint32_t pooling) {
    tn_error err = TN_ERROR_INIT;
    tn_gguf *file = NULL;
    if (pooling == TN_POOLING_OF_FILE && tn_gguf_open(options->model, NULL, &file, &err) == TN_OK &&
        tn_pooling_read(file, &pooling, &err) != TN_OK) {
        tn_gguf_close(file);
        return report_error(&err);
    }
    tn_gguf_close(file); /* what is wrong with it is told where it is loaded */
    options->purpose = pooling == TN_POOLING_RANK ? TN_PURPOSE_RANK : TN_PURPOSE_EMBED;
    return EXIT_DONE;
}

static int open_embedder(struct text_vectors *v, uint32_t pooling) {
    tn_error err = TN_ERROR_INIT;
    tn_embedder_options wanted = {.pooling = pooling};
    if (tn_embedder_create(v->model, &wanted, &v->embedder, &err) != TN_OK) { return report_error(&err); }
    interrupt_session(tn_embedder_session(v->embedder));
    v->pooling = tn_embedder_pooling(v->embedder);
    v->width = tn_model_output_width(v->model);
    v->codec = tn_model_codec(v->model);
    v->texts = calloc(tn_embedder_texts(v->embedder), sizeof *v->texts);
    v->numbers = calloc(tn_embedder_texts(v->embedder), sizeof *v->numbers);
    return v->texts && v->numbers ? EXIT_DONE : no_memory();
}

int text_vectors_open(struct options *options, uint32_t pooling, bool need_tokenizer,
                      struct text_vectors *out) {
    static char buffer[64 * 1024];
    setvbuf(stdout, buffer, _IOFBF, sizeof buffer);
    *out = (struct text_vectors){.options = options};
    int status = open_engine(options, &out->engine);
    if (status == EXIT_DONE) { status = choose_purpose(options, pooling); }
    if (status == EXIT_DONE) { status = load_model(out->engine, options, need_tokenizer, &out->model); }
    return status == EXIT_DONE ? open_embedder(out, pooling) : status;
}

static void forget_texts(struct text_vectors *v) {
    for (uint32_t i = 0; i < v->count; i++) { free((int32_t *)v->texts[i].ids); }
    v->count = 0;
    v->tokens = 0;
}

void text_vectors_close(struct text_vectors *v) {
    interrupt_session(NULL);
    forget_texts(v);
    free(v->texts);
    free(v->numbers);
    free(v->rows);
    tn_embedder_free(v->embedder);
    tn_model_close(v->model);
    tn_engine_destroy(v->engine);
}

/* ---- a step -------------------------------------------------------------------------------------------- */

static int reserve_rows(struct text_vectors *v) {
    uint64_t rows = v->pooling == TN_POOLING_NONE ? v->tokens : v->count;
    if (rows <= v->rows_room) { return EXIT_DONE; }
    free(v->rows);
    v->rows_room = 0;
    v->rows = malloc(rows * v->width * sizeof *v->rows);
    if (!v->rows) { return no_memory(); }
    v->rows_room = rows;
    return EXIT_DONE;
}

static int hand_out(struct text_vectors *v, uint32_t i) {
    const tn_embed_text *text = &v->texts[i];
    struct text_result result = {v->numbers[i], text->count, v->pooling == TN_POOLING_NONE ? text->count : 1,
                                 v->width, text->out};
    size_t count = (size_t)result.rows * v->width, at = 0;
    while (at < count && isfinite(result.data[at])) { at++; }
    if (at < count && !v->options->quiet) {
        fprintf(stderr, "tenon: %s: the results of text %llu are not all numbers (NaN)\n", v->options->model,
                (unsigned long long)result.number);
    }
    return v->sink(v->context, &result);
}

int text_vectors_flush(struct text_vectors *v) {
    tn_error err = TN_ERROR_INIT;
    int status = reserve_rows(v);
    if (status != EXIT_DONE || !v->count) { return status; }
    float *out = v->rows;
    for (uint32_t i = 0; i < v->count; i++) {
        v->texts[i].out = out;
        out += (size_t)v->width * (v->pooling == TN_POOLING_NONE ? v->texts[i].count : 1);
    }
    int32_t code = tn_embedder_run(v->embedder, v->texts, v->count, &err);
    if (code == TN_E_CANCELLED && interrupted()) { return EXIT_INTERRUPTED; }
    if (code != TN_OK) { return report_error(&err); }
    for (uint32_t i = 0; i < v->count && status == EXIT_DONE; i++) { status = hand_out(v, i); }
    forget_texts(v);
    return status;
}

/* ---- texts --------------------------------------------------------------------------------------------- */

static bool ends_with_token(const struct text_vectors *v) {
    tn_vocab vocab = {.struct_size = sizeof vocab};
    if (!v->codec) { return false; }
    tn_codec_vocab(v->codec, &vocab);
    return vocab.add_eos || vocab.add_separator;
}

/* What does not fit is cut off in front of the end token, or told. */
static int fit_text(const struct text_vectors *v, uint64_t number, int32_t *ids, uint64_t *count,
                    bool truncate) {
    const char *command = v->options->command;
    uint32_t context = tn_model_context(v->model);
    if (!*count) { return usage_error(command, "text %llu has no tokens", (unsigned long long)number); }
    if (*count <= context) { return EXIT_DONE; }
    if (!truncate) {
        return usage_error(command, "text %llu has %llu tokens, the context holds %u%s",
                           (unsigned long long)number, (unsigned long long)*count, context,
                           v->options->purpose == TN_PURPOSE_EMBED ? " (see --truncate)" : "");
    }
    if (ends_with_token(v)) { ids[context - 1] = ids[*count - 1]; }
    *count = context;
    return EXIT_DONE;
}

int text_vectors_add(struct text_vectors *v, uint64_t number, int32_t *ids, uint64_t count, bool truncate) {
    int status = fit_text(v, number, ids, &count, truncate);
    if (status != EXIT_DONE) {
        int before =
            text_vectors_flush(v); /* texts in front of a bad one have results, however they were gathered */
        free(ids);
        return before == EXIT_DONE ? status : before;
    }
    if (v->count == tn_embedder_texts(v->embedder) || v->tokens + count > tn_embedder_rows(v->embedder)) {
        status = text_vectors_flush(v);
    }
    if (status != EXIT_DONE) {
        free(ids);
        return status;
    }
    v->numbers[v->count] = number;
    v->texts[v->count++] = (tn_embed_text){.ids = ids, .count = (uint32_t)count};
    v->tokens += count;
    return EXIT_DONE;
}

int text_vectors_add_text(struct text_vectors *v, uint64_t number, const tn_codec_text *text, bool truncate) {
    tn_error err = TN_ERROR_INIT;
    int32_t *ids = NULL;
    uint64_t count = 0;
    if (tn_codec_encode_text(v->codec, text, &ids, NULL, &count, &err) != TN_OK) {
        return report_error(&err);
    }
    return text_vectors_add(v, number, ids, count, truncate);
}
