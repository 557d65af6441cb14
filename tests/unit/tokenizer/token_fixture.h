/*
 * token_fixture.h - what the tokenizer tests stand on: a host of their own, plugins opened as the host would,
 * GGUF files and made-up metadata.
 */
#ifndef TENON_TOKEN_FIXTURE_H
#define TENON_TOKEN_FIXTURE_H

#include "tenon/gguf.h"
#include "token_made.h"

/** The table of a tokenizer plugin of the build. */
const tn_tokenizer *test_plugin(const char *id);
/** The plugin that serves a value of tokenizer.ggml.model. */
const tn_tokenizer *test_plugin_for(const char *model);

/** One tokenizer from a file or from made-up metadata. */
typedef struct test_tokenizer {
    test_host host;
    const tn_tokenizer *table;
    void *tokenizer;
    tn_gguf *file;
} test_tokenizer;
/** Fails the test if the vocabulary is refused. */
void test_tokenizer_open(test_tokenizer *t, const char *path);
void test_tokenizer_make(test_tokenizer *t, const char *id, const tn_meta *meta);
/** Also checks that all memory came back. */
void test_tokenizer_close(test_tokenizer *t);

/** A malloc'd list of ids, the number in *count. */
int32_t *test_encode(const test_tokenizer *t, const char *text, uint64_t size, uint32_t flags,
                     uint64_t *count);
/** A malloc'd text with a NUL behind it, the size in *size. */
char *test_decode(const test_tokenizer *t, const int32_t *ids, uint64_t count, uint32_t flags,
                  uint64_t *size);

/** A path under the folder that an environment variable names; NULL if the variable or the file is missing.
 */
const char *test_path(const char *variable, const char *name, char *out, size_t size);
#endif
