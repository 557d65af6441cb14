/*
 * token_words.c - open addressing with linear probing, at most half full.
 */
#include "token_words.h"

#include "tenon/abi.h"
#include "token_hash.h"
#include "token_memory.h"

#include <string.h>

enum { INLINE = 8 };

/* Up to 8 bytes as one number; with the size it says all of them. */
static inline uint64_t load_short(const unsigned char *p, uint64_t size) {
    if (size == 8) { return tn_hash_load(p); }
    if (size >= 4) {
        uint32_t low, high;
        memcpy(&low, p, 4);
        memcpy(&high, p + size - 4, 4);
        return (uint64_t)high << 32 | low;
    }
    uint64_t value = 0;
    for (uint64_t i = 0; i < size; i++) { value = value << 8 | p[i]; }
    return value;
}

/* What is looked for. */
typedef struct wanted {
    const unsigned char *text;
    uint64_t size, bytes;
} wanted;

static inline wanted want(const unsigned char *text, uint64_t size) {
    return (wanted){text, size, size <= INLINE ? load_short(text, size) : 0};
}

static inline int is_wanted(const tn_word_slot *slot, const wanted *w) {
    if (slot->size != w->size) { return 0; }
    return w->size <= INLINE ? slot->key.bytes == w->bytes : memcmp(slot->key.text, w->text, w->size) == 0;
}

/* Multiply and fold, eight bytes at a time; the seed is on both sides of each product. */
static inline uint64_t hash(uint64_t seed, const wanted *w) {
    uint64_t h = tn_hash_fold(seed ^ w->size, 0x9e3779b97f4a7c15u), rest = w->bytes;
    if (w->size > INLINE) {
        uint64_t at = 0;
        for (; w->size - at > 8; at += 8) {
            h = tn_hash_fold(h ^ tn_hash_load(w->text + at), seed ^ 0xa0761d6478bd642fu);
        }
        rest = tn_hash_load(w->text + w->size - 8);
    }
    return tn_hash_fold(h ^ rest, seed ^ 0xe7037ed1a0b428dbu);
}

static tn_word_slot *slot_of(const tn_words *words, const wanted *w) {
    uint64_t i = hash(words->seed, w) & words->mask;
    for (;; i = (i + 1) & words->mask) {
        tn_word_slot *slot = &words->slots[i];
        if (!slot->size || is_wanted(slot, w)) { return slot; }
    }
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

static int32_t grow(tn_words *words) {
    tn_word_slot *old = words->slots;
    uint64_t old_count = words->mask + 1;
    int32_t code = allocate(words, old_count * 2);
    if (code != TN_OK) {
        words->slots = old;
        return code;
    }
    for (uint64_t i = 0; i < old_count; i++) {
        if (!old[i].size) { continue; }
        wanted w = {old[i].key.text, old[i].size, old[i].key.bytes};
        *slot_of(words, &w) = old[i];
    }
    words->host->free(words->host, old);
    return TN_OK;
}

int32_t tn_words_put(tn_words *words, const unsigned char *text, uint32_t size, uint32_t value) {
    if (words->used * 2 >= words->mask && grow(words) != TN_OK) { return TN_E_MEMORY; }
    wanted w = want(text, size);
    tn_word_slot *slot = slot_of(words, &w);
    if (!slot->size) {
        words->used++;
        slot->size = size;
        if (size <= INLINE) {
            slot->key.bytes = w.bytes;
        } else {
            slot->key.text = text;
        }
    }
    slot->value = value;
    if (size > words->longest) { words->longest = size; }
    return TN_OK;
}

void tn_words_prefetch(const tn_words *words, const unsigned char *text, uint64_t size) {
    wanted w = want(text, size);
    __builtin_prefetch(&words->slots[hash(words->seed, &w) & words->mask]);
}

uint32_t tn_words_find(const tn_words *words, const unsigned char *text, uint64_t size) {
    if (size == 0 || size > words->longest) { return TN_WORD_NONE; }
    wanted w = want(text, size);
    const tn_word_slot *slot = slot_of(words, &w);
    return slot->size ? slot->value : TN_WORD_NONE;
}
