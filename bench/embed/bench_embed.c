/*
 * bench_embed.c - texts embedded per second, best of several rounds; loading, tokenizing and the first round are not
 * counted.
 *
 *     bench_embed MODEL.gguf THREADS SECONDS [STEP_ROWS] < texts, one a line
 */
#include "tenon/embedding.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { TEXTS_MOST = 4096 };

/* Of one thread it is the processor's time, which other programs disturb less. */
static double now(int alone) {
    struct timespec t;
    clock_gettime(alone ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void must(int32_t code, const tn_error *err) {
    if (code == TN_OK) { return; }
    fprintf(stderr, "bench_embed: %s\n", err->text);
    exit(1);
}

static uint32_t read_texts(const tn_model *model, tn_embed_text *texts) {
    char line[65536];
    tn_error err = TN_ERROR_INIT;
    uint32_t count = 0, width = tn_model_output_width(model);
    while (count < TEXTS_MOST && fgets(line, sizeof line, stdin)) {
        int32_t *ids;
        uint64_t size;
        must(tn_codec_encode(tn_model_codec(model), line, strcspn(line, "\n"), TN_ENCODE_ADD, &ids, &size,
                             &err),
             &err);
        float *out = malloc(width * sizeof *out);
        texts[count++] = (tn_embed_text){.ids = ids, .count = (uint32_t)size, .out = out};
    }
    return count;
}

int main(int argc, char **argv) {
    static tn_embed_text texts[TEXTS_MOST];
    tn_engine *engine;
    tn_model *model;
    tn_embedder *embedder;
    tn_error err = TN_ERROR_INIT;
    if (argc != 4 && argc != 5) {
        fprintf(stderr, "usage: bench_embed MODEL.gguf THREADS SECONDS [STEP_ROWS] < TEXTS\n");
        return 2;
    }
    tn_engine_options options = {.threads = (uint32_t)strtoul(argv[2], NULL, 10)};
    tn_model_options purpose = {.purpose = TN_PURPOSE_EMBED};
    tn_embedder_options pooling = {.pooling = TN_POOLING_OF_FILE,
                                   .step_rows = argc > 4 ? (uint32_t)strtoul(argv[4], NULL, 10) : 0};
    must(tn_engine_create(&options, &engine, &err), &err);
    must(tn_model_load(engine, argv[1], &purpose, &model, NULL, &err), &err);
    must(tn_embedder_create(model, &pooling, &embedder, &err), &err);
    uint32_t count = read_texts(model, texts);
    must(tn_embedder_run(embedder, texts, count, &err), &err);
    int alone = options.threads == 1;
    double least = 1e30, end = now(alone) + strtod(argv[3], NULL);
    do {
        double start = now(alone);
        must(tn_embedder_run(embedder, texts, count, &err), &err);
        double spent = now(alone) - start;
        least = spent < least ? spent : least;
    } while (now(alone) < end);
    printf("%.2f\n", count / least);
    for (uint32_t i = 0; i < count; i++) {
        free((int32_t *)texts[i].ids);
        free(texts[i].out);
    }
    tn_embedder_free(embedder);
    tn_model_close(model);
    tn_engine_destroy(engine);
    return 0;
}
