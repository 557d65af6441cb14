/*
 * bpe.h - a byte-level BPE tokenizer once it is loaded.
 */
#ifndef TENON_BPE_H
#define TENON_BPE_H

#include <pthread.h>
#include <stdatomic.h>

#include "bpe_rules.h"
#include "token_cache.h"
#include "token_hash.h"
#include "token_merge.h"
#include "token_vocabulary.h"

/** A merge: two symbols that give a third, and its rank. */
typedef struct tn_bpe_merge {
    uint32_t left, right;
    tn_pair gives;
} tn_bpe_merge;

/** Four places for merges, one cache line: full before the next line is used. */
typedef struct tn_bpe_merge_line {
    uint64_t key[4]; /**< (left + 1) << 32 | right; 0: free */
    tn_pair gives[4];
} tn_bpe_merge_line;

/** What is known of two bytes. */
typedef struct tn_bpe_byte_pair {
    uint32_t rank;                   /**< TN_RANK_NONE: they do not merge */
    uint32_t product : 31, sure : 1; /**< sure: no merge of what they give has a lower rank */
    uint32_t before; /**< the lowest rank of a merge of a text that ends in the first byte with the second */
    uint32_t behind; /**< ... of the first byte with a text that begins with the second */
} tn_bpe_byte_pair;

/** What is known of a character of three bytes whose first two are merged. */
typedef struct tn_bpe_character {
    uint32_t rank; /**< TN_RANK_NONE: they do not merge with the third */
    uint32_t product : 29, sure : 1;
    uint32_t
        apart : 2; /**< nothing takes those two along sooner: 1: what ends in a space, 2: what does not */
} tn_bpe_character;

enum { TN_BPE_CHARACTERS = 65536, TN_BPE_CHARACTER_SYMBOLS = 1 << 29 };

/** The number of a character of three bytes. */
static inline uint32_t tn_bpe_character_number(const unsigned char *bytes) {
    return (bytes[0] & 0xfu) << 12 | (bytes[1] & 0x3fu) << 6 | (bytes[2] & 0x3fu);
}

/** The bit of `apart` that says it of what ends in a byte. */
static inline uint32_t tn_bpe_apart(unsigned char last) {
    return last == ' ' ? 1 : 2;
}

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
    tn_rules own_rules;        /**< with a stage for that */
    atomic_int merges_made;    /**< the table below is whole */
    pthread_mutex_t making;    /**< held by the thread that makes it */
    tn_bpe_merge_line *merges; /**< a hash table, at most two thirds full, and behind it an empty line */
    uint64_t merge_mask, merge_seed;
    /* A bit for each hash of a pair in the table: most pairs do not merge, and the table is too large to be near. */
    uint64_t *merge_filter, filter_mask;
    tn_bpe_byte_pair *byte_pairs; /**< [65536] by the first << 8 | the second */
    tn_bpe_character *characters; /**< by their numbers */
    tn_cache cache;               /**< words already merged */
} tn_bpe;

static inline uint64_t tn_bpe_merge_hash(const tn_bpe *bpe, uint32_t left, uint32_t right) {
    return tn_hash_fold(((uint64_t)left << 32 | right) ^ bpe->merge_seed, 0x9e3779b97f4a7c15u);
}

/** The number of a hash's bit in `merge_filter`. */
static inline uint64_t tn_bpe_filter_bit(const tn_bpe *bpe, uint64_t hash) {
    return hash >> 32 & bpe->filter_mask;
}

/** 0: no pair of this hash merges. */
static inline uint32_t tn_bpe_may_merge(const tn_bpe *bpe, uint64_t hash) {
    uint64_t bit = tn_bpe_filter_bit(bpe, hash);
    return bpe->merge_filter[bit / 64] >> bit % 64 & 1;
}

static inline uint64_t tn_bpe_merge_key(uint32_t left, uint32_t right) {
    return (left + 1ull) << 32 | right;
}

/** What a key's pair gives, if `none` is 0; else `none` is all ones. */
typedef struct tn_bpe_found {
    const tn_pair *pair;
    uint64_t none;
} tn_bpe_found;

/** Looks a key up, from a line on. No branch depends on the pair, but where a line is full. */
static inline tn_bpe_found tn_bpe_merge_find(const tn_bpe_merge_line *lines, uint64_t mask, uint64_t place,
                                             uint64_t key) {
    for (;; place = (place + 1) & mask) {
        const tn_bpe_merge_line *line = &lines[place];
        uint32_t at = (uint32_t)(line->key[1] == key) | (uint32_t)(line->key[2] == key) << 1 |
                      -(uint32_t)(line->key[3] == key) >> 30;
        uint64_t differs = line->key[at] != key;
        if (!(differs & (line->key[3] != 0))) { return (tn_bpe_found){&line->gives[at], -differs}; }
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
