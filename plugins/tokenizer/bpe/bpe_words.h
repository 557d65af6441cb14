/*
 * bpe_words.h - words to ids, some at a time: what is known of them then comes near together.
 */
#ifndef TENON_BPE_WORDS_H
#define TENON_BPE_WORDS_H

#include "bpe.h"
#include "bpe_lanes.h"

enum { TN_BPE_BATCH = 64 };

typedef struct tn_bpe_words {
    const tn_bpe *bpe;
    tn_encode *call;
    tn_word merged;
    const unsigned char
        *end; /**< of the text that words are put from: up to here can be read until they are flushed */
    uint32_t count;
    tn_bpe_word word[TN_BPE_BATCH];
    tn_bpe_lanes lanes;
} tn_bpe_words;

/** Adds the ids of all words that were put. */
int32_t tn_bpe_words_flush(tn_bpe_words *words, tn_error *err);

/** Puts a word. */
static inline int32_t tn_bpe_words_put(tn_bpe_words *words, const unsigned char *text, uint64_t size,
                                       tn_error *err) {
    tn_bpe_word *word = &words->word[words->count];
    word->text = text;
    word->size = size;
    if (size <= TN_CACHE_WORD) {
        tn_cache_key_make(&word->key, &words->bpe->cache, text, size, words->end);
        tn_cache_prefetch(&words->bpe->cache, &word->key);
    }
    return ++words->count == TN_BPE_BATCH ? tn_bpe_words_flush(words, err) : TN_OK;
}

#endif
