/*
 * token_cache_test.c - what threads remember for each other changes no result: many of them encode the same random
 * texts, each in another order, with tables so small that words push each other out all the time, and get what a
 * thread alone gets. A program of its own, since ThreadSanitizer and Criterion do not go together.
 */
#include "tenon/model.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { THREADS = 4, TEXTS = 48, SIZE = 4000, ROUNDS = 3 };

typedef struct job {
    const tn_text_codec *codec;
    char (*texts)[SIZE];
    uint64_t sums[TEXTS]; /* of each text's ids */
    uint64_t first;       /* the text to begin with */
    int failed;
} job;

static uint64_t next_random(uint64_t *state) {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    return *state ^= *state << 17;
}

/* Words of 1 to 12 letters, a few of them from everywhere. */
static void make_texts(char (*texts)[SIZE]) {
    uint64_t state = 88172645463325252u;
    for (int i = 0; i < TEXTS; i++) {
        for (int at = 0; at < SIZE;) {
            uint64_t r = next_random(&state), length = 1 + r % 12;
            for (uint64_t k = 0; k < length && at < SIZE; k++) {
                texts[i][at++] = (char)('a' + (r >> 4 * k) % 16);
            }
            if (at < SIZE) { texts[i][at++] = r >> 60 ? ' ' : "\n.\xff\xc3"[r >> 58 & 3]; }
        }
    }
}

static void *encode_all(void *arg) {
    job *j = arg;
    for (int i = 0; i < ROUNDS * TEXTS; i++) {
        uint64_t text = (j->first + (uint64_t)i * 7) % TEXTS, count, sum = 14695981039346656037u;
        int32_t *ids;
        if (tn_codec_encode(j->codec, j->texts[text], SIZE, 0, &ids, &count, NULL) != TN_OK) {
            j->failed = 1;
            return NULL;
        }
        for (uint64_t k = 0; k < count; k++) { sum = (sum ^ (uint64_t)ids[k]) * 1099511628211u; }
        free(ids);
        if (i >= TEXTS && j->sums[text] != sum) { j->failed = 1; }
        j->sums[text] = sum;
    }
    return NULL;
}

static int check(tn_engine *engine, const char *name, char (*texts)[SIZE]) {
    char path[4096];
    tn_gguf *file = NULL;
    tn_text_codec *codec = NULL;
    tn_error err = TN_ERROR_INIT;
    pthread_t threads[THREADS];
    static job jobs[THREADS], alone;
    int wrong = 0;
    snprintf(path, sizeof path, "%s/models/%s", getenv("TENON_TEST_DATA"), name);
    if (tn_gguf_open(path, tn_engine_types(engine), &file, &err) != TN_OK ||
        tn_codec_open(engine, file, NULL, &codec, &err) != TN_OK) {
        printf("%s\n", err.text);
        return 1;
    }
    for (uint64_t i = 0; i < THREADS; i++) {
        jobs[i] = (job){.codec = codec, .texts = texts, .first = i * 11};
        if (pthread_create(&threads[i], NULL, encode_all, &jobs[i]) != 0) { abort(); }
    }
    for (int i = 0; i < THREADS; i++) { pthread_join(threads[i], NULL); }
    tn_codec_close(codec);
    if (tn_codec_open(engine, file, NULL, &codec, &err) != TN_OK) { return 1; }
    alone = (job){.codec = codec, .texts = texts};
    encode_all(&alone);
    for (int i = 0; i < THREADS; i++) {
        wrong += jobs[i].failed || alone.failed || memcmp(jobs[i].sums, alone.sums, sizeof alone.sums) != 0;
    }
    printf("%s: %d threads, %d differ\n", name, THREADS, wrong);
    tn_codec_close(codec);
    tn_gguf_close(file);
    return wrong;
}

int main(void) {
    static char texts[TEXTS][SIZE];
    tn_engine *engine = NULL;
    tn_error err = TN_ERROR_INIT;
    make_texts(texts);
    if (tn_engine_create(NULL, &engine, &err) != TN_OK) {
        printf("%s\n", err.text);
        return 1;
    }
    int wrong = check(engine, "llama3-ropefreqs.gguf", texts) + check(engine, "llama.gguf", texts);
    tn_engine_destroy(engine);
    return wrong != 0;
}
