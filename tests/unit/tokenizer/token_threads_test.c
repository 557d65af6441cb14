/*
 * token_threads_test.c - many threads begin with one tokenizer at once: what the first text makes (the table of
 * merges) is whole for all. A program of its own, since ThreadSanitizer and Criterion do not go together.
 */
#include "tenon/model.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { THREADS = 8, ROUNDS = 20 };

static const char text[] = "the quick brown fox, and then 12345 more: the the theory of theirs\n\n  the end";

typedef struct encoding {
    const tn_text_codec *codec;
    pthread_barrier_t *start;
    int32_t *ids;
    uint64_t count;
    int32_t code;
} encoding;

static void *encode(void *arg) {
    encoding *e = arg;
    pthread_barrier_wait(e->start);
    e->code = tn_codec_encode(e->codec, text, strlen(text), 0, &e->ids, &e->count, NULL);
    return NULL;
}

/* Returns how many of the threads got something else than the first. */
static int one_round(tn_engine *engine, const tn_gguf *file) {
    tn_text_codec *codec = NULL;
    pthread_barrier_t start;
    pthread_t threads[THREADS];
    encoding all[THREADS];
    int wrong = 0;
    if (tn_codec_open(engine, file, NULL, &codec, NULL) != TN_OK) { return THREADS; }
    pthread_barrier_init(&start, NULL, THREADS);
    for (int i = 0; i < THREADS; i++) {
        all[i] = (encoding){.codec = codec, .start = &start};
        if (pthread_create(&threads[i], NULL, encode, &all[i]) != 0) { abort(); }
    }
    for (int i = 0; i < THREADS; i++) { pthread_join(threads[i], NULL); }
    for (int i = 0; i < THREADS; i++) {
        wrong += all[i].code != TN_OK || all[i].count == 0 || all[i].count >= strlen(text) ||
                 all[i].count != all[0].count ||
                 memcmp(all[i].ids, all[0].ids, all[i].count * sizeof *all[i].ids) != 0;
    }
    for (int i = 0; i < THREADS; i++) { free(all[i].ids); }
    pthread_barrier_destroy(&start);
    tn_codec_close(codec);
    return wrong;
}

static int check_file(tn_engine *engine, const char *path) {
    tn_gguf *file = NULL;
    tn_error err = TN_ERROR_INIT;
    int wrong = 0;
    if (tn_gguf_open(path, tn_engine_types(engine), &file, &err) != TN_OK) {
        printf("%s\n", err.text);
        return 1;
    }
    for (int i = 0; i < ROUNDS; i++) { wrong += one_round(engine, file); }
    tn_gguf_close(file);
    printf("%s: %d rounds of %d threads, %d differ\n", path, ROUNDS, THREADS, wrong);
    return wrong;
}

int main(void) {
    char path[4096];
    tn_engine *engine = NULL;
    tn_error err = TN_ERROR_INIT;
    if (tn_engine_create(NULL, &engine, &err) != TN_OK) {
        printf("%s\n", err.text);
        return 1;
    }
    snprintf(path, sizeof path, "%s/models/llama3-ropefreqs.gguf", getenv("TENON_TEST_DATA"));
    int wrong = check_file(engine, path);
    snprintf(path, sizeof path, "%s/tokenizer/vocabs/ggml-vocab-bert-bge.gguf", getenv("TENON_TEST_SHARED"));
    if (access(path, R_OK) == 0) {
        wrong += check_file(engine, path);
    } else {
        printf("skipped: no %s\n", path);
    }
    tn_engine_destroy(engine);
    return wrong != 0;
}
