/*
 * token_words.c - open addressing with linear probing, at most half full.
 */
#include "token_words.h"

#include "tenon/abi.h"
#include "token_memory.h"

#include <string.h>

static inline int is_wanted(const tn_word_slot *slot, const tn_word_key *key) {
    if (slot->size != key->size) { return 0; }
    return key->size <= TN_WORD_INLINE ? slot->key.bytes == key->bytes
                                       : memcmp(slot->key.text, key->text, key->size) == 0;
}

static inline tn_word_slot *slot_of(const tn_words *words, const tn_word_key *key) {
    for (uint64_t i = key->hash & words->mask;; i = (i + 1) & words->mask) {
        tn_word_slot *slot = &words->slots[i];
        if (!slot->size || is_wanted(slot, key)) { return slot; }
    }
}

/* Multiply and fold, eight bytes at a time; the seed is on both sides of each product. */
uint64_t tn_words_hash_long(const tn_words *words, const unsigned char *text, uint64_t size) {
    uint64_t seed = words->seed, h = tn_hash_fold(seed ^ size, 0x9e3779b97f4a7c15u);
    for (uint64_t at = 0; size - at > 8; at += 8) {
        h = tn_hash_fold(h ^ tn_hash_load(text + at), seed ^ 0xa0761d6478bd642fu);
    }
    return tn_hash_fold(h ^ tn_hash_load(text + size - 8), seed ^ 0xe7037ed1a0b428dbu);
}

static int32_t allocate(tn_words *words, uint64_t slots) {
    uint64_t bytes;
    if (__builtin_mul_overflow(slots, sizeof *words->slots, &bytes)) { return TN_E_MEMORY; }
    words->slots = tn_memory_get(words->host, bytes);
    if (!words->slots) { return TN_E_MEMORY; }
    words->mask = slots - 1;
    return TN_OK;
}

int32_t tn_words_create(tn_words *words, const tn_host *host, uint64_t expected) {
    uint64_t slots = 16;
    while (slots / 2 <= expected) { slots *= 2; }
    *words = (tn_words){.host = host};
    int32_t code = allocate(words, slots);
    words->seed = tn_hash_fold((uint64_t)(uintptr_t)words->slots, 0x8ebc6af09c88c6e3u) | 1;
    return code;
}

void tn_words_free(tn_words *words) {
    if (words->host) { words->host->free(words->host, words->slots); }
    *words = (tn_words){0};
}

static tn_word_key key_of(const tn_words *words, const unsigned char *text, uint64_t size) {
    return tn_words_key(words, text, size, text + size);
}

static int32_t grow(tn_words *words) {
    tn_word_slot *old = words->slots;
    uint64_t old_count = words->mask + 1;
    int32_t code = allocate(words, old_count * 2);
    if (code != TN_OK) {
        words->slots = old;
        return code;
    }
    for (uint64_t i = 0; i < old_count; i++) {
        const unsigned char *text = old[i].key.text;
        if (!old[i].size) { continue; }
        if (old[i].size <= TN_WORD_INLINE) { text = (const unsigned char *)&old[i].key.bytes; }
        tn_word_key key = key_of(words, text, old[i].size);
        *slot_of(words, &key) = old[i];
    }
    words->host->free(words->host, old);
    return TN_OK;
}

int32_t tn_words_put(tn_words *words, const unsigned char *text, uint32_t size, uint32_t value) {
    if (words->used * 2 >= words->mask && grow(words) != TN_OK) { return TN_E_MEMORY; }
    tn_word_key key = key_of(words, text, size);
    tn_word_slot *slot = slot_of(words, &key);
    if (!slot->size) {
        words->used++;
        slot->size = size;
        if (size <= TN_WORD_INLINE) {
            slot->key.bytes = key.bytes;
        } else {
            slot->key.text = text;
        }
    }
    slot->value = value;
    if (size > words->longest) { words->longest = size; }
    return TN_OK;
}

uint32_t tn_words_find_key(const tn_words *words, const tn_word_key *key) {
    const tn_word_slot *slot = slot_of(words, key);
    return slot->size ? slot->value : TN_WORD_NONE;
}

uint32_t tn_words_find(const tn_words *words, const unsigned char *text, uint64_t size) {
    if (size == 0 || size > words->longest) { return TN_WORD_NONE; }
    tn_word_key key = key_of(words, text, size);
    return tn_words_find_key(words, &key);
}
