/*
 * bpe_words.c - see bpe_words.h. Most words are in the cache; those that are not are looked up whole, if the
 * rules say so, or merged.
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
    tn_word_key keys[TN_BPE_BATCH];
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

/* Of the words, those that are in the cache get their ids; returns how many are not. */
static uint32_t find_known(const tn_bpe *bpe, tn_bpe_word *word, uint32_t count, tn_bpe_word **todo) {
    uint32_t missing = 0;
    for (const tn_bpe_word *end = word + count; word < end; word++) {
        word->count =
            word->size <= TN_CACHE_WORD ? tn_cache_find(&bpe->cache, &word->key, word->few) : UINT32_MAX;
        word->ids = word->few;
        if (word->count == UINT32_MAX) { todo[missing++] = word; }
    }
    return missing;
}

/* Ids lie in room for at least TN_CACHE_IDS: that many are written where they fit, however few count. */
static inline void add_ids(tn_encode *call, const int32_t *ids, uint32_t count) {
    if (count <= TN_CACHE_IDS && call->capacity >= TN_CACHE_IDS &&
        call->count <= call->capacity - TN_CACHE_IDS) {
        memcpy(call->ids + call->count, ids, TN_CACHE_IDS * sizeof *ids);
        call->count += count;
    } else {
        tn_ids_add_all(call, ids, count);
    }
}

int32_t tn_bpe_words_flush(tn_bpe_words *words, tn_error *err) {
    const tn_bpe *bpe = words->bpe;
    tn_encode *call = words->call;
    tn_bpe_word *todo[TN_BPE_BATCH];
    uint32_t count = words->count;
    words->count = 0;
    uint32_t missing = find_known(bpe, words->word, count, todo);
    if (missing) { missing = find_whole(words, todo, missing); }
    if (missing && !(bpe->rules->flags & TN_RULES_RAW)) {
        tn_bpe_merge_side_by_side(bpe, &words->lanes, todo, missing);
    }
    for (uint32_t i = 0; i < count; i++) {
        const tn_bpe_word *word = &words->word[i];
        if (word->count != UINT32_MAX) {
            add_ids(call, word->ids, word->count);
            continue;
        }
        uint64_t before = call->count;
        TN_TRY(merge(words, word->text, word->size, err));
        if (word->size <= TN_CACHE_WORD && call->count - before <= TN_CACHE_IDS &&
            call->count <= call->capacity) {
            tn_cache_put(&bpe->cache, &word->key, call->ids + before, (uint32_t)(call->count - before));
        }
    }
    return TN_OK;
}
