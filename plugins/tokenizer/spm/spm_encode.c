/*
 * spm_encode.c - text to ids: cut at special entries; in each stretch spaces become U+2581, then characters
 * are merged, the entry of the highest score first. Words that were merged before are in the cache.
 */
#include "spm.h"
#include "token_ids.h"
#include "token_merge.h"
#include "token_plain.h"

/* One call of encode. */
typedef struct encoder {
    const tn_spm *spm;
    tn_encode *call;
    tn_word word;
    tn_scratch spaced;
} encoder;

/* Symbols are ids; a character is looked up only once it is known that it stays. */
static tn_pair pair_of(const void *family, uint32_t left, uint32_t right, const unsigned char *text,
                       uint32_t size) {
    (void)left, (void)right;
    const tn_spm *spm = family;
    uint32_t id = tn_words_find(&spm->vocabulary.words, text, size);
    return id == TN_WORD_NONE ? (tn_pair){TN_RANK_NONE, 0} : (tn_pair){spm->ranks[id], id};
}

/* A character that is no entry becomes bytes; without entries for these it is unknown. */
static void add_symbol(encoder *e, uint32_t id, const unsigned char *text, uint32_t size) {
    if (id == TN_WORD_NONE) { id = tn_words_find(&e->spm->vocabulary.words, text, size); }
    if (id != TN_WORD_NONE) {
        tn_ids_add(e->call, (int32_t)id);
        return;
    }
    for (uint32_t i = 0; i < size; i++) {
        int32_t byte = e->spm->bytes[text[i]];
        tn_ids_add(e->call, byte >= 0 ? byte : e->spm->vocabulary.facts.unknown);
    }
}

/* Where the word that begins at `at` ends: before the first character that nothing merges with the one before. */
static const unsigned char *word_end(const tn_spm *spm, const unsigned char *at, const unsigned char *end) {
    for (;;) {
        uint64_t size = tn_spm_character_size(at, end);
        if (at + size == end || !tn_spm_joins(spm, at, size, end)) { return at + size; }
        at += size;
    }
}

static int32_t merge(encoder *e, const unsigned char *text, uint64_t size, tn_error *err) {
    tn_word *word = &e->word;
    if (size >= UINT32_MAX) {
        TN_FAIL(err, TN_E_INPUT, "a word of %llu bytes; at most 4294967294", (unsigned long long)size);
    }
    if (tn_word_reserve(word, (uint32_t)size) != TN_OK) {
        TN_FAIL(err, TN_E_MEMORY, "no memory for a word of %llu bytes", (unsigned long long)size);
    }
    word->text = text;
    word->count = 0;
    for (uint64_t at = 0; at < size; at += tn_spm_character_size(text + at, text + size)) {
        word->start[word->count] = (uint32_t)at;
        word->symbol[word->count++] = TN_WORD_NONE;
    }
    word->start[word->count] = (uint32_t)size;
    tn_word_merge(word, pair_of, pair_of, e->spm);
    for (uint32_t i = 0; i < word->count; i++) {
        add_symbol(e, word->symbol[i], text + word->start[i], word->start[i + 1] - word->start[i]);
    }
    return TN_OK;
}

/* Up to `end` bytes can be read. */
static int32_t encode_word(encoder *e, const unsigned char *text, uint64_t size, const unsigned char *end,
                           tn_error *err) {
    const tn_cache *cache = &e->spm->cache;
    tn_encode *call = e->call;
    tn_cache_key key;
    if (size > TN_CACHE_WORD) { return merge(e, text, size, err); }
    tn_cache_key_make(&key, cache, text, size, end);
    int32_t ids[TN_CACHE_IDS];
    uint32_t count = tn_cache_find(cache, &key, ids);
    if (count != UINT32_MAX) { return tn_ids_add_all(call, ids, count), TN_OK; }
    uint64_t before = call->count;
    TN_TRY(merge(e, text, size, err));
    if (call->count - before <= TN_CACHE_IDS && call->count <= call->capacity) {
        tn_cache_put(cache, &key, call->ids + before, call->count - before);
    }
    return TN_OK;
}

static int32_t encode_stretch(encoder *e, const unsigned char *text, uint64_t size, int prefix,
                              tn_error *err) {
    if (!size) { return TN_OK; }
    unsigned char *spaced = size < UINT64_MAX ? tn_scratch_get(&e->spaced, size + 1, TN_SPACED_SIZE) : NULL;
    if (!spaced) {
        TN_FAIL(err, TN_E_MEMORY, "no memory for a text of %llu bytes", (unsigned long long)size);
    }
    uint64_t count = prefix ? tn_put_spaced(spaced) : 0;
    for (uint64_t i = 0; i < size; i++) {
        if (text[i] == ' ') {
            count += tn_put_spaced(spaced + count);
        } else {
            spaced[count++] = text[i];
        }
    }
    const unsigned char *at = spaced, *end = spaced + count;
    while (at < end) {
        const unsigned char *next = word_end(e->spm, at, end);
        TN_TRY(encode_word(e, at, (uint64_t)(next - at), end, err));
        at = next;
    }
    return TN_OK;
}

static int32_t encode_text(encoder *e, tn_error *err) {
    tn_partition parts = tn_partition_of(&e->spm->vocabulary.specials, e->call);
    while (parts.at < parts.size) {
        int inside = parts.at == 0 && (e->call->flags & TN_ENCODE_CONTINUES);
        tn_stretch stretch = tn_partition_next(&parts);
        TN_TRY(encode_stretch(e, parts.text + stretch.begin, stretch.end - stretch.begin,
                              e->spm->vocabulary.space_prefix && !inside, err));
        if (stretch.id >= 0) { tn_ids_add(e->call, stretch.id); }
    }
    return TN_OK;
}

int32_t tn_spm_encode(void *self, const void *tokenizer, tn_encode *call, tn_error *err) {
    const tn_spm *spm = tokenizer;
    const tn_scratch empty = {.host = self};
    encoder e; /* most of it is room for a word: not cleared */
    e.spm = spm;
    e.call = call;
    e.word.scratch = e.spaced = empty;
    TN_TRY(tn_ids_begin(call, &spm->vocabulary.facts, err));
    int32_t code = encode_text(&e, err);
    tn_scratch_free(&e.word.scratch);
    tn_scratch_free(&e.spaced);
    return code == TN_OK ? tn_ids_end(call, &spm->vocabulary.facts, err) : code;
}
