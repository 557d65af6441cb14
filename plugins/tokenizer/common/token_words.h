/*
 * token_words.h - a hash table from byte strings to numbers: texts of a vocabulary to ids.
 */
#ifndef TENON_TOKEN_WORDS_H
#define TENON_TOKEN_WORDS_H

#include "tenon/host.h"
#include "token_hash.h"

/** Texts of up to 8 bytes, which are most, lie in the slot itself: a look-up then touches one cache line. */
typedef struct tn_word_slot {
    union {
        uint64_t bytes;
        const unsigned char *text; /**< belongs to whoever put it in, and outlives the table */
    } key;
    uint32_t size, value; /**< size 0: free */
} tn_word_slot;

typedef struct tn_words {
    const tn_host *host;
    tn_word_slot *slots;
    uint64_t mask; /**< slots - 1 */
    uint64_t used;
    uint64_t seed;    /**< differs from run to run: nobody can make a file whose texts all collide. No result
                         depends on it */
    uint32_t longest; /**< bytes of the longest text */
} tn_words;

/** What is looked for. */
typedef struct tn_word_key {
    const unsigned char *text;
    uint64_t size, bytes; /**< bytes: up to 8 of them as one number, zeros behind; 0 of longer ones */
    uint64_t hash;
} tn_word_key;

#define TN_WORD_NONE UINT32_MAX
enum { TN_WORD_INLINE = 8 };

/** An empty table with room for `expected` texts; it grows when more come. TN_OK or TN_E_MEMORY. */
int32_t tn_words_create(tn_words *words, const tn_host *host, uint64_t expected);
void tn_words_free(tn_words *words);
/** Puts a text of at least one byte in; an equal one that is there gets the new value. TN_OK or TN_E_MEMORY.
 */
int32_t tn_words_put(tn_words *words, const unsigned char *text, uint32_t size, uint32_t value);
/** The value of a text, TN_WORD_NONE if it is not there. */
uint32_t tn_words_find(const tn_words *words, const unsigned char *text, uint64_t size);
/** The same for a key of at least one byte. */
uint32_t tn_words_find_key(const tn_words *words, const tn_word_key *key);
/** The hash of more than 8 bytes. */
uint64_t tn_words_hash_long(const tn_words *words, const unsigned char *text, uint64_t size);

/* Up to 8 bytes as one number; no more than them are read. */
static inline uint64_t tn_word_bytes(const unsigned char *p, uint64_t size) {
    uint32_t low = p[0], high = p[size - 1];
    if (size >= 4) {
        memcpy(&low, p, 4);
        memcpy(&high, p + size - 4, 4);
        return low | (uint64_t)high << 8 * (size - 4);
    }
    return low | (uint64_t)p[size / 2] << 8 * (size / 2) | (uint64_t)high << 8 * (size - 1);
}

/** The key of a text of at least one byte; up to `end` bytes can be read. */
static inline tn_word_key tn_words_key(const tn_words *words, const unsigned char *text, uint64_t size,
                                       const unsigned char *end) {
    static const unsigned char ones[2 * TN_WORD_INLINE] = {255, 255, 255, 255, 255, 255, 255, 255};
    tn_word_key key = {text, size, 0, 0};
    if (size > TN_WORD_INLINE) {
        key.hash = tn_words_hash_long(words, text, size);
        return key;
    }
    key.bytes = end - text >= TN_WORD_INLINE ? tn_hash_load(text) & tn_hash_load(ones + TN_WORD_INLINE - size)
                                             : tn_word_bytes(text, size);
    key.hash = tn_hash_fold(key.bytes ^ words->seed, 0x9e3779b97f4a7c15u ^ size);
    return key;
}

/** Has the memory of a key's slot come near. */
static inline void tn_words_prefetch(const tn_words *words, const tn_word_key *key) {
    __builtin_prefetch(&words->slots[key->hash & words->mask]);
}

#endif
