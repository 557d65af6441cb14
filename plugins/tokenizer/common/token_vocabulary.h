/*
 * token_vocabulary.h - what every family's tokenizer holds: the entries with their kinds and what each stands
 * for, the tables to find them, the special ids. Immutable once loaded.
 */
#ifndef TENON_TOKEN_VOCABULARY_H
#define TENON_TOKEN_VOCABULARY_H

#include "tenon/tokenizer.h"
#include "token_fault.h"
#include "token_memory.h"
#include "token_special.h"
#include "token_words.h"

/* Bits beside TN_TOKEN_* (1 to 6) in a tn_vocabulary's `kinds`. */
enum { TN_KIND_MASK = 7, TN_KIND_ENDS = 8 };

typedef struct tn_vocabulary {
    const tn_host *host;
    tn_arena arena;
    tn_vocab facts;
    tn_text *texts;        /**< [size] as in the file */
    unsigned char *kinds;  /**< [size] */
    uint64_t *piece_at;    /**< [size + 1] piece of id i: pieces[piece_at[i]] up to pieces[piece_at[i + 1]] */
    unsigned char *pieces; /**< what each id stands for */
    tn_words words;        /**< what merging can give, by the family's own spelling */
    tn_words literals;     /**< all other entries, by their text */
    tn_specials specials;  /**< entries that are cut out of the text as they stand */
    uint32_t space_prefix; /**< 1: encode puts a space in front of each stretch of text */
} tn_vocabulary;

/** What differs from family to family when a vocabulary is read. */
typedef struct tn_family {
    int32_t bos, eos, unknown; /**< ids where the file has no key; -1: none */
    const int32_t *more;       /**< ... separator, padding, mask; NULL: none */
    const char *bos_key;       /**< another key for bos, where bos_token_id is not there; NULL: none */
    uint32_t ids_if_special;   /**< 1: these count only where the file does not call the entry NORMAL */
    uint32_t add_bos, add_separator, space_prefix; /**< where the file has no key */
    uint32_t merged; /**< kinds that merging can give, as bits 1 << TN_TOKEN_* */
    uint32_t
        pieces_are_words; /**< 1: merging works on what an entry stands for, 0: on its text in the file */
    uint32_t well_formed; /**< 1: only well-formed UTF-8 reaches the partition */
    /** What a NORMAL or BYTE entry stands for: at most text.size bytes, returns how many; -1: malformed. */
    int64_t (*piece)(uint32_t kind, tn_text text, unsigned char *out);
    const char *piece_wanted;        /**< what a well-formed entry would be, for the fault */
    uint32_t (*strip)(tn_text text); /**< TN_SPECIAL_STRIP_* of a special entry; NULL: none strips */
} tn_family;

/**
 * Reads tokens, types, special ids and flags. Faults go to `faults`; after any, the vocabulary is only good
 * for tn_vocabulary_free(), which is needed in every case.
 */
void tn_vocabulary_load(tn_vocabulary *v, const tn_host *host, const tn_meta *meta, const tn_family *family,
                        tn_faults *faults);
void tn_vocabulary_free(tn_vocabulary *v);

/** The piece of an id that is inside the vocabulary. */
static inline tn_text tn_vocabulary_piece(const tn_vocabulary *v, int32_t id, uint32_t flags) {
    uint32_t kind = v->kinds[id] & TN_KIND_MASK;
    if ((flags & TN_DECODE_SKIP_SPECIAL) && (kind == TN_TOKEN_CONTROL || kind == TN_TOKEN_UNKNOWN)) {
        return (tn_text){"", 0};
    }
    uint64_t begin = v->piece_at[id];
    return (tn_text){(const char *)v->pieces + begin, v->piece_at[id + 1] - begin};
}

/* Functions of tenon.tokenizer/1 that are the same for all; `tokenizer` begins with a tn_vocabulary. */
void tn_vocabulary_facts(void *self, const void *tokenizer, tn_vocab *out);
int64_t tn_vocabulary_read(void *self, const void *tokenizer, int32_t id, uint32_t flags, char *out,
                           uint64_t capacity);
int32_t tn_vocabulary_decode(void *self, const void *tokenizer, const int32_t *ids, uint64_t count,
                             uint32_t flags, char *out, uint64_t capacity, uint64_t *size, tn_error *err);
uint32_t tn_vocabulary_kind(void *self, const void *tokenizer, int32_t id);
int32_t tn_vocabulary_find(void *self, const void *tokenizer, const char *text, uint64_t size);
uint32_t tn_vocabulary_ends(void *self, const void *tokenizer, int32_t id);
uint32_t tn_vocabulary_leading(void *self, const void *tokenizer, int32_t first_id);

#endif
