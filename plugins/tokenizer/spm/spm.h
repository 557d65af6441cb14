/*
 * spm.h - a SentencePiece (BPE with scores) tokenizer once it is loaded.
 */
#ifndef TENON_SPM_H
#define TENON_SPM_H

#include "token_cache.h"
#include "token_spaced.h"
#include "token_vocabulary.h"

typedef struct tn_spm {
    tn_vocabulary vocabulary; /**< first: shared functions see only this */
    uint32_t *ranks;          /**< [size] 0 is best; falls as the score rises */
    int32_t bytes[256];       /**< id of each byte, -1 if there is none */
    uint64_t ascii_joins[128]
                        [2]; /**< a bit for each ASCII character that follows another inside some entry */
    uint64_t *joins;         /**< the same for any two characters, a bit for each hash of two */
    uint64_t joins_mask;     /**< bits of `joins` - 1 */
    tn_cache cache;          /**< words already merged */
} tn_spm;

/** Bytes of the character at `at`, going by the lead byte alone; anything else is a character of one byte. */
static inline uint64_t tn_spm_character_size(const unsigned char *at, const unsigned char *end) {
    static const unsigned char sizes[16] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 2, 2, 3, 4};
    uint64_t size = sizes[*at >> 4], left = (uint64_t)(end - at);
    return size < left ? size : left;
}

/** The bit of a character and the next in `joins`. */
static inline uint64_t tn_spm_join(const tn_spm *spm, const unsigned char *text, uint64_t size,
                                   uint64_t next_size) {
    uint32_t a = text[0], b = text[size];
    for (uint64_t i = 1; i < size; i++) { a = a << 8 | text[i]; }
    for (uint64_t i = 1; i < next_size; i++) { b = b << 8 | text[size + i]; }
    uint64_t hash = ((uint64_t)a << 32 | b) * 0x9e3779b97f4a7c15u;
    return (hash ^ hash >> 32) * 0xe7037ed1a0b428dbu >> 20 & spm->joins_mask;
}

/** 0: no merge can reach over the place between the characters at `at` and `at + size`, which is before `end`. */
static inline int tn_spm_joins(const tn_spm *spm, const unsigned char *at, uint64_t size,
                               const unsigned char *end) {
    const unsigned char *next = at + size;
    if (*at < 0x80 && *next < 0x80) { return spm->ascii_joins[*at][*next / 64] >> *next % 64 & 1; }
    uint64_t bit = tn_spm_join(spm, at, size, tn_spm_character_size(next, end));
    return spm->joins[bit / 64] >> bit % 64 & 1;
}

int32_t tn_spm_create(void *self, const tn_meta *meta, const tn_report *report, void **tokenizer,
                      tn_error *err);
void tn_spm_destroy(void *self, void *tokenizer);
int32_t tn_spm_encode(void *self, const void *tokenizer, tn_encode *call, tn_error *err);
uint64_t tn_spm_cut(void *self, const void *tokenizer, const char *text, uint64_t size, uint32_t flags);

#endif
