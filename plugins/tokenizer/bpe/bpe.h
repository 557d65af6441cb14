/*
 * bpe.h - a byte-level BPE tokenizer once it is loaded.
 */
#ifndef TENON_BPE_H
#define TENON_BPE_H

#include <pthread.h>
#include <stdatomic.h>

#include "bpe_rules.h"
#include "token_cache.h"
#include "token_merge.h"
#include "token_vocabulary.h"

/** A merge: two symbols that give a third. */
typedef struct tn_merge_slot {
    uint32_t left_1, right; /**< the left one's number and 1; 0: free */
    uint32_t rank, product;
} tn_merge_slot;

/**
 * Symbols are numbers: ids first, then the 256 bytes (those that have no entry), then texts that merges name
 * and the vocabulary does not have.
 */
typedef struct tn_bpe {
    tn_vocabulary vocabulary; /**< first: shared functions see only this */
    const tn_rules *rules;
    uint32_t lower_case; /**< 1: the file asks for lower case, and its rules know that */
    uint32_t byte_symbols[256];
    const unsigned char *merge_texts; /**< the file's strings, checked */
    uint32_t merge_count;
    uint32_t by_id; /**< there are none: two symbols merge if both are an entry, the lowest id first */
    unsigned char joins[256]; /**< bytes behind which a merge goes on with U+2581 */
    tn_stage own_stages[2];
    tn_rules own_rules;     /**< with a stage for that */
    atomic_int merges_made; /**< the table below is whole */
    pthread_mutex_t making; /**< held by the thread that makes it */
    tn_merge_slot *merges;  /**< open addressing, at most two thirds full */
    uint64_t merge_mask, merge_seed;
    /* A bit for each hash of a pair in the table: most pairs do not merge, and the table is too large to be near. */
    uint64_t *merge_filter, filter_mask;
    tn_pair *byte_pairs; /**< [65536] what two bytes give, by the first << 8 | the second */
    /* [65536] each: the rank of two bytes, where no merge of what they give has a lower one; the lowest rank of a
     * merge of a text that ends in the first byte with the second byte; and of the first byte with a text that
     * begins with the second. */
    uint32_t *sure, *before, *behind;
    tn_cache cache; /**< words already merged */
} tn_bpe;

static inline uint64_t tn_bpe_merge_hash(const tn_bpe *bpe, uint32_t left, uint32_t right) {
    unsigned __int128 product =
        (unsigned __int128)(((uint64_t)left << 32 | right) ^ bpe->merge_seed) * 0x9e3779b97f4a7c15u;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static inline uint64_t tn_bpe_merge_place(const tn_bpe *bpe, uint32_t left, uint32_t right) {
    return tn_bpe_merge_hash(bpe, left, right) & bpe->merge_mask;
}

/** The number of a hash's bit in `merge_filter`. */
static inline uint64_t tn_bpe_filter_bit(const tn_bpe *bpe, uint64_t hash) {
    return hash >> 32 & bpe->filter_mask;
}

/** The slot of a pair: its merge, or the free one where it would be. */
static inline tn_merge_slot *tn_bpe_merge_slot(const tn_bpe *bpe, uint32_t left, uint32_t right) {
    uint64_t i = tn_bpe_merge_place(bpe, left, right);
    for (;; i = (i + 1) & bpe->merge_mask) {
        tn_merge_slot *slot = &bpe->merges[i];
        if (!slot->left_1 || (slot->left_1 == left + 1 && slot->right == right)) { return slot; }
    }
}

/** The rules of a file, by tokenizer.ggml.model, its `pre` or its architecture; NULL after a fault. */
const tn_rules *tn_bpe_rules(const tn_meta *meta, tn_faults *faults);
int32_t tn_bpe_create(void *self, const tn_meta *meta, const tn_report *report, void **tokenizer,
                      tn_error *err);
void tn_bpe_destroy(void *self, void *tokenizer);
/** [any] Makes the table of merges if nobody has yet; TN_E_MEMORY, after which the next call tries again. */
int32_t tn_bpe_make_merges(tn_bpe *bpe, tn_error *err);
int32_t tn_bpe_encode(void *self, const void *tokenizer, tn_encode *call, tn_error *err);
uint64_t tn_bpe_cut(void *self, const void *tokenizer, const char *text, uint64_t size, uint32_t flags);

#endif
