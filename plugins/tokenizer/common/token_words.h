/*
 * token_words.h - a hash table from byte strings to numbers: texts of a vocabulary to ids.
 */
#ifndef TENON_TOKEN_WORDS_H
#define TENON_TOKEN_WORDS_H

#include "tenon/host.h"

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

#define TN_WORD_NONE UINT32_MAX

/** An empty table with room for `expected` texts; it grows when more come. TN_OK or TN_E_MEMORY. */
int32_t tn_words_create(tn_words *words, const tn_host *host, uint64_t expected);
void tn_words_free(tn_words *words);
/** Puts a text of at least one byte in; an equal one that is there gets the new value. TN_OK or TN_E_MEMORY.
 */
int32_t tn_words_put(tn_words *words, const unsigned char *text, uint32_t size, uint32_t value);
/** Has the memory of a text's slot come near, for a look-up soon after. */
void tn_words_prefetch(const tn_words *words, const unsigned char *text, uint64_t size);
/** The value of a text, TN_WORD_NONE if it is not there. */
uint32_t tn_words_find(const tn_words *words, const unsigned char *text, uint64_t size);

#endif
