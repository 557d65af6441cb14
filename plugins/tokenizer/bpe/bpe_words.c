/*
 * bpe_words.c - see bpe_words.h. Words that the cache does not have are looked up whole, if the rules say so, or
 * merged.
 */
#include "bpe_words.h"

#include "bpe_raw.h"
#include "bpe_start.h"
#include "token_utf8.h"

static void add_bytes(const tn_bpe *bpe, tn_encode *call, const unsigned char *text, uint32_t size) {
    for (uint32_t i = 0; i < size; i++) {
        uint32_t byte = bpe->byte_symbols[text[i]];
        if (byte < bpe->vocabulary.facts.size) { tn_ids_add(call, (int32_t)byte); }
    }
}

static void add_characters(const tn_bpe *bpe, tn_encode *call, const unsigned char *text, uint32_t size) {
    uint32_t step;
    for (uint32_t at = 0; at < size; at += step) {
        tn_utf8_read(text + at, &step);
        uint32_t id = tn_words_find(&bpe->vocabulary.words, text + at, step);
        if (id != TN_WORD_NONE) {
            tn_ids_add(call, (int32_t)id);
        } else {
            add_bytes(bpe, call, text + at, step);
        }
    }
}

/* A symbol that is no entry is written character by character, or else byte by byte; a byte that has none is
 * dropped. */
static inline void add_symbol(const tn_bpe *bpe, tn_encode *call, uint32_t symbol, const unsigned char *text,
                              uint32_t size) {
    if (symbol < bpe->vocabulary.facts.size) {
        tn_ids_add(call, (int32_t)symbol);
    } else if (bpe->rules->flags & TN_RULES_RAW) {
        add_characters(bpe, call, text, size);
    } else {
        add_bytes(bpe, call, text, size);
    }
}

static int32_t merge(tn_bpe_words *words, const unsigned char *text, uint64_t size, tn_error *err) {
    tn_word *word = &words->merged;
    const tn_bpe *bpe = words->bpe;
    if (size >= UINT32_MAX) {
        TN_FAIL(err, TN_E_INPUT, "a word of %llu bytes; at most 4294967294", (unsigned long long)size);
    }
    if (tn_word_reserve(word, (uint32_t)size) != TN_OK) {
        TN_FAIL(err, TN_E_MEMORY, "no memory for a word of %llu bytes", (unsigned long long)size);
    }
    word->text = text;
    if (bpe->rules->flags & TN_RULES_RAW) {
        word->count = tn_raw_characters(bpe, text, (uint32_t)size, word->symbol, word->start);
        tn_word_merge(word, tn_bpe_pair, tn_bpe_pair, bpe);
    } else {
        word->count = tn_bpe_start(bpe, text, (uint32_t)size, word->symbol, word->start);
        tn_word_merge(word, tn_bpe_first_pair, tn_bpe_pair, bpe);
    }
    for (uint32_t i = 0; i < word->count; i++) {
        add_symbol(bpe, words->call, word->symbol[i], text + word->start[i],
                   word->start[i + 1] - word->start[i]);
    }
    return TN_OK;
}

/* 1: a word that is an entry is not merged. */
static inline int is_taken_whole(const tn_bpe *bpe, const unsigned char *text) {
    uint32_t flags = bpe->rules->flags;
    return (flags & TN_RULES_WHOLE) || ((flags & TN_RULES_NEWLINES) && text[0] == '\n');
}

/* Looks words up whole, all at once; those that are no entry remain. */
static uint32_t find_whole(const tn_bpe_words *words, tn_bpe_word **todo, uint32_t count) {
    const tn_bpe *bpe = words->bpe;
    const tn_words *entries = &bpe->vocabulary.words;
    tn_word_key keys[TN_BPE_NEW];
    uint32_t left = 0;
    for (uint32_t i = 0; i < count; i++) {
        int wanted = is_taken_whole(bpe, todo[i]->text) && todo[i]->size <= entries->longest;
        keys[i].size = 0;
        if (!wanted) { continue; }
        keys[i] = tn_words_key(entries, todo[i]->text, todo[i]->size, words->end);
        tn_words_prefetch(entries, &keys[i]);
    }
    for (uint32_t i = 0; i < count; i++) {
        tn_bpe_word *word = todo[i];
        uint32_t id = keys[i].size ? tn_words_find_key(entries, &keys[i]) : TN_WORD_NONE;
        if (id == TN_WORD_NONE) {
            if (word->size <= TN_BPE_LANE_WORD) { todo[left++] = word; }
            continue;
        }
        word->few[0] = (int32_t)id;
        word->ids = word->few;
        word->count = 1;
        if (word->size <= TN_CACHE_WORD) { tn_cache_put(&bpe->cache, &word->key, word->few, 1); }
    }
    return left;
}

/* ---- words that the cache does not have ---------------------------------------------------------------- */

/* The first fresh word that has the key of number `number`, if that one is remembered; else `number`. */
static uint32_t find_same(tn_bpe_words *words, uint32_t number) {
    const tn_cache_key *key = &words->fresh[number].key;
    uint8_t *last = &words->last[key->hash >> 32 & (TN_BPE_LAST - 1)];
    const tn_bpe_word *other = &words->fresh[*last];
    uint64_t size = key->size > TN_CACHE_HALF_WORD ? TN_CACHE_WORD : TN_CACHE_HALF_WORD;
    if (*last < number && other->size == key->size && other->key.hash == key->hash &&
        memcmp(other->key.word, key->word, size) == 0) {
        return other->same;
    }
    *last = (uint8_t)number;
    return number;
}

static void put_fresh(tn_bpe_words *words, const tn_bpe_piece *piece) {
    uint32_t number = words->fresh_count++;
    tn_bpe_word *word = &words->fresh[number];
    word->text = piece->text;
    word->size = piece->size;
    word->key = piece->key;
    word->before = words->known_count;
    word->count = UINT32_MAX;
    word->same = piece->size <= TN_CACHE_WORD ? find_same(words, number) : number;
}

/* Four at a time, since there are few: up to TN_BPE_SPARE more are read and written. */
static inline void add_ids(tn_encode *call, const int32_t *ids, uint32_t count) {
    if (call->count < call->capacity && count + TN_BPE_SPARE <= call->capacity - call->count) {
        int32_t *out = call->ids + call->count;
        for (uint32_t i = 0; i < count; i += 4) { memcpy(out + i, ids + i, 4 * sizeof *ids); }
        call->count += count;
    } else {
        tn_ids_add_all(call, ids, count);
    }
}

/* Merges a word by itself. */
static int32_t add_merged(tn_bpe_words *words, const tn_bpe_word *word, tn_error *err) {
    tn_encode *call = words->call;
    uint64_t before = call->count;
    TN_TRY(merge(words, word->text, word->size, err));
    if (word->size <= TN_CACHE_WORD && call->count - before <= TN_CACHE_IDS &&
        call->count <= call->capacity) {
        tn_cache_put(&words->bpe->cache, &word->key, call->ids + before, (uint32_t)(call->count - before));
    }
    return TN_OK;
}

/* Adds the ids of fresh words and of those between them. */
static int32_t add_all(tn_bpe_words *words, tn_error *err) {
    const tn_bpe *bpe = words->bpe;
    tn_bpe_word *todo[TN_BPE_NEW];
    uint32_t count = 0, at = 0;
    for (uint32_t i = 0; i < words->fresh_count; i++) {
        if (words->fresh[i].same == i) { todo[count++] = &words->fresh[i]; }
    }
    count = find_whole(words, todo, count);
    if (!(bpe->rules->flags & TN_RULES_RAW)) { tn_bpe_merge_side_by_side(bpe, &words->lanes, todo, count); }
    for (const tn_bpe_word *word = words->fresh; word < words->fresh + words->fresh_count; word++) {
        const tn_bpe_word *same = &words->fresh[word->same];
        add_ids(words->call, words->known + at, word->before - at);
        at = word->before;
        if (same->count == UINT32_MAX) {
            TN_TRY(add_merged(words, word, err));
        } else {
            add_ids(words->call, same->ids, same->count);
        }
    }
    add_ids(words->call, words->known + at, words->known_count - at);
    words->fresh_count = words->known_count = 0;
    return TN_OK;
}

/* ---- all words ----------------------------------------------------------------------------------------- */

int32_t tn_bpe_words_look(tn_bpe_words *words, tn_error *err) {
    const tn_cache *cache = &words->bpe->cache;
    uint32_t known = words->known_count;
    for (const tn_bpe_piece *piece = words->piece; piece < words->piece + words->count; piece++) {
        uint32_t count = piece->size <= TN_CACHE_WORD
                             ? tn_cache_find(cache, &piece->key, words->known + known)
                             : UINT32_MAX;
        if (count != UINT32_MAX) {
            known += count;
            continue;
        }
        words->known_count = known;
        put_fresh(words, piece);
    }
    words->known_count = known;
    words->count = 0;
    int full = known > TN_BPE_KNOWN - TN_BPE_BATCH * TN_CACHE_IDS;
    return full || words->fresh_count >= TN_BPE_ENOUGH ? add_all(words, err) : TN_OK;
}

int32_t tn_bpe_words_end(tn_bpe_words *words, tn_error *err) {
    TN_TRY(tn_bpe_words_look(words, err));
    return add_all(words, err);
}
