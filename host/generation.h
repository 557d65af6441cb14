/*
 * generation.h - ids in, text out: a session with one sequence, a sampler, and all that can end an answer.
 */
#ifndef TENON_HOST_GENERATION_H
#define TENON_HOST_GENERATION_H

#include "commands.h"

struct generation {
    struct options *options; /* they may change between answers */
    tn_model *model;
    const tn_text_codec *codec;
    tn_session *session;
    tn_seq *sequence;
    tn_stream *stream;
    tn_stops *stops;
    tn_sampler *sampler;
    float *logits;
    int32_t *held; /* the ids that the sequence holds */
    uint64_t held_count, held_room;
    int32_t end; /* a token that ends an answer besides those of the vocabulary; -1: none */
    /* of the last answer */
    uint64_t prompt_count, generated;
    double prompt_time, generate_time;
    const char *stop; /* why it ended: "eos", "stop", "length", "context", "interrupt" */
};

/* Where an answer's text goes, as it comes; EXIT_DONE or a status that ends the answer. */
typedef int generation_sink(void *context, const char *text, uint64_t size);
/* To standard output, at once; the context is not used. */
generation_sink generation_print;

/* Opens a session of a model that continues texts; a generation is closed in every case. Options without a seed get one;
 * each answer adds one to it, so that trying again gives another. */
int generation_open(struct options *options, tn_model *model, struct generation *out);
void generation_close(struct generation *g);
/* Continues `count` ids, one at least. What the sequence holds of them already is not computed again. ^C ends the
 * answer, not more: g->stop says so. */
int generation_answer(struct generation *g, const int32_t *ids, uint64_t count, generation_sink *sink,
                      void *context);
/* One line to standard error. */
void generation_report(const struct generation *g);

#endif
