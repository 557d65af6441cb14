/*
 * bpe_words.h - words to ids. Some are looked up in the cache at a time: its lines then come near together. Those that it
 * does not have wait for each other, so that there are enough to be merged side by side.
 */
#ifndef TENON_BPE_WORDS_H
#define TENON_BPE_WORDS_H

#include "bpe.h"
#include "bpe_lanes.h"

enum { TN_BPE_BATCH = 64, TN_BPE_ENOUGH = 32, TN_BPE_NEW = 96, TN_BPE_LAST = 256, TN_BPE_KNOWN = 1024 };
_Static_assert(TN_BPE_NEW == TN_BPE_ENOUGH + TN_BPE_BATCH, "a whole batch may have to wait");

/** A word that is to be looked up. */
typedef struct tn_bpe_piece {
    const unsigned char *text;
    uint64_t size;
    tn_cache_key key; /**< of at most TN_CACHE_WORD bytes */
} tn_bpe_piece;

typedef struct tn_bpe_words {
    const tn_bpe *bpe;
    tn_encode *call;
    tn_word merged;
    const unsigned char
        *end; /**< of the text that words are put from: up to here can be read until they are done */
    uint32_t count, fresh_count, known_count;
    tn_bpe_piece piece[TN_BPE_BATCH];
    tn_bpe_word fresh[TN_BPE_NEW];              /**< words that the cache does not have */
    uint8_t last[TN_BPE_LAST];                  /**< the number of a fresh word, by some bits of its hash */
    int32_t known[TN_BPE_KNOWN + TN_BPE_SPARE]; /**< ids of all others since the first of these */
    tn_bpe_lanes lanes;
} tn_bpe_words;

/** Looks up what was put, and adds ids once enough words are waiting. */
int32_t tn_bpe_words_look(tn_bpe_words *words, tn_error *err);
/** Adds the ids of all words that were put. */
int32_t tn_bpe_words_end(tn_bpe_words *words, tn_error *err);

/** Puts a word. */
static inline int32_t tn_bpe_words_put(tn_bpe_words *words, const unsigned char *text, uint64_t size,
                                       tn_error *err) {
    tn_bpe_piece *piece = &words->piece[words->count];
    piece->text = text;
    piece->size = size;
    if (size <= TN_CACHE_WORD) {
        tn_cache_key_make(&piece->key, &words->bpe->cache, text, size, words->end);
        tn_cache_prefetch(&words->bpe->cache, &piece->key);
    }
    return ++words->count == TN_BPE_BATCH ? tn_bpe_words_look(words, err) : TN_OK;
}

#endif
