/*
 * codec_threads_test.c - one codec, long texts of several callers at once, each cut into parts for threads of its own:
 * the ids are those of one thread alone. Without a test framework, so that ThreadSanitizer can watch it.
 */
#include "made_codec.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CALLERS = 3, ROUNDS = 4, SIZE = 900000 };

static tn_text_codec codec;
static char *text;
static int32_t *wanted;
static uint64_t wanted_count;

static void *encode(void *context) {
    const tn_codec_text call = {.text = text, .size = SIZE, .flags = TN_ENCODE_ADD, .threads = 3};
    for (int i = 0; i < ROUNDS; i++) {
        tn_error err = TN_ERROR_INIT;
        int32_t *ids;
        uint8_t *types;
        uint64_t count;
        int32_t code = tn_codec_encode_text(&codec, &call, &ids, &types, &count, &err);
        if (code != TN_OK || count != wanted_count || memcmp(ids, wanted, count * sizeof *ids) != 0) {
            fprintf(stderr, "round %d: code %d, %llu ids, %llu were expected: %s\n", i, code,
                    (unsigned long long)count, (unsigned long long)wanted_count, err.text);
            return context;
        }
        free(ids);
        free(types);
    }
    return NULL;
}

int main(void) {
    pthread_t threads[CALLERS];
    tn_error err = TN_ERROR_INIT;
    int bad = 0;
    codec = made_codec(&made_table, sizeof(tn_encode), 3);
    text = malloc(SIZE);
    for (uint32_t i = 0; text && i < SIZE; i++) {
        text[i] = i * 2654435761u % 7 ? 'a' + (char)(i % 26) : ' ';
    }
    const tn_codec_text alone = {.text = text, .size = SIZE, .flags = TN_ENCODE_ADD, .threads = 1};
    if (!text || tn_codec_encode_text(&codec, &alone, &wanted, NULL, &wanted_count, &err) != TN_OK) {
        return 1;
    }
    for (int i = 0; i < CALLERS; i++) {
        if (pthread_create(&threads[i], NULL, encode, &codec) != 0) { return 1; }
    }
    for (int i = 0; i < CALLERS; i++) {
        void *result;
        pthread_join(threads[i], &result);
        bad |= result != NULL;
    }
    free(text);
    free(wanted);
    return bad;
}
