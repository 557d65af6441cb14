/*
 * fake_file.h - a GGUF file that exists only as lists: metadata and tensors for tests of architectures.
 *
 * It plays the host's part towards an architecture plugin: metadata, the report, claims, memory.
 */
#ifndef TENON_TESTS_FAKE_FILE_H
#define TENON_TESTS_FAKE_FILE_H

#include "tenon/build.h"
#include "tenon/plugin.h"

#define FAKE_KEYS 48
#define FAKE_TENSORS 160

typedef struct fake_file {
    tn_host host;
    tn_meta meta;
    tn_report report;
    tn_claims claims;
    struct {
        char name[96];
        tn_kv kv;
        unsigned char data[64];
    } keys[FAKE_KEYS];
    uint32_t key_count;
    /* tensors of the file */
    struct {
        char name[96];
        uint64_t dims[4];
    } tensors[FAKE_TENSORS];
    uint32_t tensor_count;
    /* what was claimed, and the faults of it, as "name: found / wanted" lines */
    char claimed[FAKE_TENSORS][96];
    uint32_t claimed_count;
    tn_weight weights[FAKE_TENSORS];
    const tn_weight *weight_list[FAKE_TENSORS];
    uint32_t flags[FAKE_TENSORS];
    /* reasons, as "code subject found" lines */
    char reasons[4096];
    uint32_t reason_count;
    int64_t live; /* allocations that were not given back */
} fake_file;

/** An empty file. The struct must not move afterwards. */
void fake_begin(fake_file *f);
void fake_u32(fake_file *f, const char *key, uint32_t value);
void fake_u64(fake_file *f, const char *key, uint64_t value);
void fake_f32(fake_file *f, const char *key, float value);
void fake_text(fake_file *f, const char *key, const char *value);
void fake_bool(fake_file *f, const char *key, int value);
void fake_list(fake_file *f, const char *key, const uint32_t *values, uint32_t count);
void fake_remove(fake_file *f, const char *key);
/** Adds a tensor, or changes the shape of one that is there; trailing dimensions are 0. */
void fake_tensor(fake_file *f, const char *name, uint64_t cols, uint64_t rows);
void fake_drop(fake_file *f, const char *name);
/** Names of tensors that were not claimed, joined by blanks. */
void fake_unread(const fake_file *f, char *out, size_t capacity);

/** Nodes of an op in a graph that was built for the file; the first of them, or fails the test. */
uint32_t fake_count(const tn_graph *graph, int32_t op);
const tn_node *fake_first(const tn_graph *graph, int32_t op);

#endif
