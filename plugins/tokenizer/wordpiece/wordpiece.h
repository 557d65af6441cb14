/*
 * wordpiece.h - a WordPiece tokenizer once it is loaded.
 */
#ifndef TENON_WORDPIECE_H
#define TENON_WORDPIECE_H

#include "token_vocabulary.h"
#include "wordpiece_characters.h"
#include "wordpiece_table.h"
#include "wordpiece_trie.h"

/** Characters of the longest word that is looked up. */
enum { TN_WORDPIECE_LONGEST = 100 };

typedef struct tn_wordpiece {
    tn_vocabulary vocabulary; /**< first: shared functions see only this */
    tn_wordpiece_rules rules;
    const tn_wordpiece_character *characters; /**< [TN_WORDPIECE_LISTED] */
    tn_trie trie;
    tn_wordpiece_table table;
    int32_t alone[128]; /**< ASCII punctuation: the id of each as a word */
    uint8_t ascii[256]; /**< TN_CHARACTER_* of ASCII, WORD for other bytes */
    uint32_t always;    /**< 1: some entry is cut out of any text */
} tn_wordpiece;

int32_t tn_wordpiece_create(void *self, const tn_meta *meta, const tn_report *report, void **tokenizer,
                            tn_error *err);
void tn_wordpiece_destroy(void *self, void *tokenizer);
int32_t tn_wordpiece_encode(void *self, const void *tokenizer, tn_encode *call, tn_error *err);
uint64_t tn_wordpiece_cut(void *self, const void *tokenizer, const char *text, uint64_t size, uint32_t flags);

#endif
