/*
 * text_vectors.h - what embed and rerank share: a model with an embedder, and texts that gather until a step is full.
 */
#ifndef TENON_HOST_TEXT_VECTORS_H
#define TENON_HOST_TEXT_VECTORS_H

#include "commands.h"

#include "tenon/embedding.h"

/* A text's result: `rows` rows of `width` numbers. EXIT_DONE, or a status that ends the run. */
struct text_result {
    uint64_t number; /* as it was given */
    uint32_t tokens, rows, width;
    float *data;
};
typedef int text_sink(void *context, const struct text_result *result);

struct text_vectors {
    const struct options *options;
    tn_engine *engine;
    tn_model *model;
    const tn_text_codec *codec; /* NULL: the model has none */
    tn_embedder *embedder;
    uint32_t pooling, width;
    text_sink *sink; /* gets the results, in the order of the texts */
    void *context;
    /* what waits for a step */
    tn_embed_text *texts;
    uint64_t *numbers;
    uint32_t count;
    uint64_t tokens, rows_room;
    float *rows;
};

/* Opens engine, model and embedder. `pooling` is TN_POOLING_*. EXIT_DONE or a status, message printed; to be closed in
 * either case. */
int text_vectors_open(struct options *options, uint32_t pooling, bool need_tokenizer,
                      struct text_vectors *out);
void text_vectors_close(struct text_vectors *v);
/* Takes ids, which it frees. Of texts that are too long, what is left out is all but the beginning and the end token if
 * `truncate`; else they are an error. */
int text_vectors_add(struct text_vectors *v, uint64_t number, int32_t *ids, uint64_t count, bool truncate);
/* The same for a text, or for a pair of texts. */
int text_vectors_add_text(struct text_vectors *v, uint64_t number, const tn_codec_text *text, bool truncate);
/* Computes what waits. */
int text_vectors_flush(struct text_vectors *v);

#endif
