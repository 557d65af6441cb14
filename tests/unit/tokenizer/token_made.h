/*
 * token_made.h - a host, a report and metadata made up for the tests of the tokenizers; nothing of a test
 * framework, so that fuzz targets use them too.
 */
#ifndef TENON_TOKEN_MADE_H
#define TENON_TOKEN_MADE_H

#include "tenon/plugin.h"

/** A host that lends memory only. Counts what is out; fails from the allocation number `fail_at` on (0:
 * never). */
typedef struct test_host {
    tn_host host;
    uint64_t out, calls, fail_at;
} test_host;
void test_host_init(test_host *t);

/** The faults of one create. */
typedef struct test_report {
    tn_report report;
    uint32_t count;
    int32_t code[16];
    char subject[16][64], text[16][256]; /**< text: found | wanted */
} test_report;
void test_report_init(test_report *r);

/** Made-up metadata. Values are copied. */
typedef struct test_meta {
    tn_meta meta;
    struct test_entry *entries;
    uint32_t count;
} test_meta;
void test_meta_init(test_meta *m);
void test_meta_free(test_meta *m);
void test_meta_remove(test_meta *m, const char *key);
/** Puts a value; an earlier one of the key is replaced. */
void test_meta_string(test_meta *m, const char *key, const char *value);
void test_meta_u32(test_meta *m, const char *key, uint32_t value);
void test_meta_bool(test_meta *m, const char *key, int value);
void test_meta_strings(test_meta *m, const char *key, uint64_t count, const char *const *values);
void test_meta_i32s(test_meta *m, const char *key, uint64_t count, const int32_t *values);
void test_meta_f32s(test_meta *m, const char *key, uint64_t count, const float *values);
void test_meta_raw(test_meta *m, const char *key, const tn_kv *kv);

/** A vocabulary of the 256 bytes (ids 0 to 255), then `count` further entries of these types. For gpt2 each
 * byte is its character of the byte alphabet; for llama id 0 is <unk>, 1 <s>, 2 </s>, bytes begin at 3. */
void test_meta_bpe(test_meta *m, const char *pre, uint64_t count, const char *const *texts,
                   const int32_t *types, uint64_t merge_count, const char *const *merges);
void test_meta_spm(test_meta *m, uint64_t count, const char *const *texts, const int32_t *types,
                   const float *scores);
/** [PAD] 0, [UNK] 1, [CLS] 2, [SEP] 3, [MASK] 4, then `count` further entries as a GGUF file has them. */
void test_meta_wordpiece(test_meta *m, uint64_t count, const char *const *texts, const int32_t *types);

/** The same as UTF-8 as it stands (gemma4): id 0 is <pad>, 1 <eos>, 2 <bos>, bytes begin at 3. */
void test_meta_utf8(test_meta *m, const char *pre, uint64_t count, const char *const *texts,
                    const int32_t *types, uint64_t merge_count, const char *const *merges);

/** xorshift: the next of a sequence. */
uint64_t test_random(uint64_t *state);
/** Random well-formed UTF-8 with much white space, digits, marks and capitals; returns the size. */
uint64_t test_random_text(uint64_t *state, char *out, uint64_t capacity);

#endif
