/*
 * bench_tokenizer.c - how fast a file's tokenizer is: MB/s (10^6 bytes of text) of CPU time, on text seen for the
 * first time and seen again, ids back to text, loading, memory. Through libtenon, as the programs use it.
 *
 *     BUILD/bench/bench_tokenizer MODEL.gguf TEXT [CHUNK_BYTES [THREADS [REPEATS]]]
 *
 * The text is cut into chunks of 4096 bytes (0: the whole text at once), at the end of a character, no special
 * text, nothing added. With THREADS, that many encode it at once, each all chunks: MB/s of all by the clock.
 * REPEATS 0 stops after the first time.
 */
#include "tenon/model.h"

#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { REPEATS = 5 };

typedef struct chunk {
    const char *text;
    uint64_t size;
    int32_t *ids;
    uint64_t count;
} chunk;

typedef struct bench {
    const tn_text_codec *codec;
    chunk *chunks;
    uint64_t count, bytes, ids;
} bench;

static double now(clockid_t clock) {
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void need(int condition, const char *what, const tn_error *err) {
    if (!condition) {
        fprintf(stderr, "bench_tokenizer: %s: %s\n", what, err ? err->text : "failed");
        exit(1);
    }
}

static uint64_t in_use(void) {
    struct mallinfo2 info = mallinfo2();
    return info.uordblks + info.hblkhd;
}

static char *read_text(const char *path, uint64_t *size) {
    FILE *file = fopen(path, "rb");
    need(file && fseek(file, 0, SEEK_END) == 0, path, NULL);
    *size = (uint64_t)ftell(file);
    rewind(file);
    char *text = malloc(*size + 1);
    need(text && fread(text, 1, *size, file) == *size, path, NULL);
    fclose(file);
    return text;
}

static void cut_text(bench *b, const char *text, uint64_t size, uint64_t chunk_size) {
    b->bytes = size;
    if (!chunk_size || chunk_size > size) { chunk_size = size; }
    b->chunks = calloc(chunk_size ? 2 * (size / chunk_size) + 2 : 1, sizeof *b->chunks);
    need(b->chunks != NULL, "memory", NULL);
    for (uint64_t at = 0; at < size;) {
        uint64_t end = size - at < chunk_size ? size : at + chunk_size;
        while (end < size && end > at + chunk_size / 2 + 1 && ((unsigned char)text[end] & 0xc0) == 0x80) {
            end--;
        }
        b->chunks[b->count++] = (chunk){.text = text + at, .size = end - at};
        at = end;
    }
}

/* Seconds of this thread's CPU time for all chunks. As a caller would, each chunk's ids are given back before the next. */
static double encode_all(bench *b, int keep) {
    tn_error err = TN_ERROR_INIT;
    double start = now(CLOCK_THREAD_CPUTIME_ID);
    for (uint64_t i = 0; i < b->count; i++) {
        chunk *c = &b->chunks[i];
        int32_t *ids;
        uint64_t count;
        int32_t code = tn_codec_encode(b->codec, c->text, c->size, 0, &ids, &count, &err);
        need(code == TN_OK, "encode", &err);
        b->ids += count;
        if (keep) {
            c->ids = ids;
            c->count = count;
        } else {
            free(ids);
        }
    }
    return now(CLOCK_THREAD_CPUTIME_ID) - start;
}

/* What the first text makes of the vocabulary belongs to loading. Seconds of CPU time. */
static double encode_nothing(const tn_text_codec *codec) {
    tn_error err = TN_ERROR_INIT;
    int32_t *ids;
    uint64_t count;
    double start = now(CLOCK_THREAD_CPUTIME_ID);
    need(tn_codec_encode(codec, "", 0, 0, &ids, &count, &err) == TN_OK, "encode", &err);
    free(ids);
    return now(CLOCK_THREAD_CPUTIME_ID) - start;
}

static double decode_all(const bench *b, uint64_t *bytes) {
    tn_error err = TN_ERROR_INIT;
    double start = now(CLOCK_THREAD_CPUTIME_ID);
    *bytes = 0;
    for (uint64_t i = 0; i < b->count; i++) {
        char *text;
        uint64_t size;
        int32_t code = tn_codec_decode(b->codec, b->chunks[i].ids, b->chunks[i].count, 0, &text, &size, &err);
        need(code == TN_OK, "decode", &err);
        *bytes += size;
        free(text);
    }
    return now(CLOCK_THREAD_CPUTIME_ID) - start;
}

static void *encode_thread(void *arg) {
    bench b = *(const bench *)arg;
    encode_all(&b, 0);
    return NULL;
}

/* Seconds by the clock. */
static double encode_threads(bench *b, uint32_t threads) {
    pthread_t *all = malloc(threads * sizeof *all);
    need(all != NULL, "memory", NULL);
    double start = now(CLOCK_MONOTONIC);
    for (uint32_t i = 0; i < threads; i++) {
        need(pthread_create(&all[i], NULL, encode_thread, b) == 0, "pthread_create", NULL);
    }
    for (uint32_t i = 0; i < threads; i++) { pthread_join(all[i], NULL); }
    double seconds = now(CLOCK_MONOTONIC) - start;
    free(all);
    return seconds;
}

static void measure(bench *b, uint32_t threads, uint32_t repeats) {
    double mb = 1e-6 * (double)b->bytes, first = encode_all(b, 0), again = 1e30, back = 1e30;
    uint64_t decoded = 0, ids = b->ids;
    encode_all(b, 1);
    for (uint32_t i = 0; i < repeats; i++) {
        double seconds = encode_all(b, 0);
        again = seconds < again ? seconds : again;
        seconds = decode_all(b, &decoded);
        back = seconds < back ? seconds : back;
    }
    printf("%llu bytes in %llu chunks, %llu ids\n", (unsigned long long)b->bytes,
           (unsigned long long)b->count, (unsigned long long)ids);
    printf("encode: %.1f MB/s the first time\n", mb / first);
    if (repeats) {
        printf("encode: %.1f MB/s again\n", mb / again);
        printf("decode: %.1f MB/s\n", 1e-6 * (double)decoded / back);
    }
    if (threads) {
        printf("encode on %u threads: %.1f MB/s\n", threads, threads * mb / encode_threads(b, threads));
    }
}

int main(int argc, char **argv) {
    tn_engine *engine = NULL;
    tn_gguf *file = NULL;
    tn_text_codec *codec = NULL;
    tn_error err = TN_ERROR_INIT;
    bench b = {0};
    uint64_t size;
    if (argc < 3) {
        fprintf(stderr, "usage: bench_tokenizer MODEL.gguf TEXT [CHUNK_BYTES [THREADS [REPEATS]]]\n");
        return 2;
    }
    char *text = read_text(argv[2], &size);
    cut_text(&b, text, size, argc > 3 ? strtoull(argv[3], NULL, 10) : 4096);
    need(tn_engine_create(NULL, &engine, &err) == TN_OK, "engine", &err);
    need(tn_gguf_open(argv[1], tn_engine_types(engine), &file, &err) == TN_OK, "file", &err);
    uint64_t before = in_use();
    double start = now(CLOCK_THREAD_CPUTIME_ID);
    need(tn_codec_open(engine, file, NULL, &codec, &err) == TN_OK, "tokenizer", &err);
    double loaded = now(CLOCK_THREAD_CPUTIME_ID) - start;
    double ready = encode_nothing(codec);
    tn_vocab vocab = {.struct_size = sizeof vocab};
    tn_codec_vocab(codec, &vocab);
    printf("load: %.1f ms (plugin and vocabulary) and %.1f ms with the first text, %.2f MB for %u entries\n",
           1e3 * loaded, 1e3 * (loaded + ready), 1e-6 * (double)(in_use() - before), vocab.size);
    b.codec = codec;
    measure(&b, argc > 4 ? (uint32_t)strtoul(argv[4], NULL, 10) : 0,
            argc > 5 ? (uint32_t)strtoul(argv[5], NULL, 10) : REPEATS);
    for (uint64_t i = 0; i < b.count; i++) { free(b.chunks[i].ids); }
    free(b.chunks);
    free(text);
    tn_codec_close(codec);
    tn_gguf_close(file);
    tn_engine_destroy(engine);
    return 0;
}
