/*
 * wordpiece_cut.c - where a long text can be cut: behind a character that ends a word, and what is dropped
 * after it, if no special entry can reach over that place.
 */
#include "token_reach.h"
#include "token_utf8.h"
#include "wordpiece.h"

/* What a character does to the word before it. */
static int ends_word(const tn_wordpiece_rules *rules, uint32_t c) {
    tn_wordpiece_part parts[TN_WORDPIECE_PARTS];
    uint32_t i = tn_wordpiece_parts_of(rules, c, parts);
    while (i > 0 && (parts[i - 1].kind == TN_CHARACTER_DROP || parts[i - 1].kind == TN_CHARACTER_BREAK)) {
        i--;
    }
    return i > 0 && parts[i - 1].kind == TN_CHARACTER_ALONE;
}

/* SPACE: ends a word; DROP: nothing; WORD: part of one. */
static uint32_t effect(const tn_wordpiece *wp, uint32_t c) {
    switch (tn_wordpiece_character_of(&wp->rules, c).kind) {
    case TN_CHARACTER_SPACE:
    case TN_CHARACTER_ALONE: return TN_CHARACTER_SPACE;
    case TN_CHARACTER_DROP:
    case TN_CHARACTER_BREAK: return TN_CHARACTER_DROP;
    case TN_CHARACTER_PARTS: return ends_word(&wp->rules, c) ? TN_CHARACTER_SPACE : TN_CHARACTER_WORD;
    default: return TN_CHARACTER_WORD;
    }
}

/* Where the character or the stray byte begins that ends before `at`; 0 in *size for a stray byte. */
static uint64_t step_back(const unsigned char *text, uint64_t at, uint32_t *size) {
    for (uint32_t n = 1; n <= 4 && n <= at; n++) {
        *size = tn_utf8_size(text + at - n, n);
        if (*size == n) { return at - n; }
        if (text[at - n] >= 0xc0) { break; }
    }
    *size = 0;
    return at - 1;
}

/* Bytes at the end that more text could make a character. */
static uint64_t unfinished(const unsigned char *text, uint64_t size) {
    for (uint64_t n = 1; n <= 3 && n <= size; n++) {
        const unsigned char *lead = text + size - n;
        if ((*lead & 0xc0) == 0x80) { continue; }
        unsigned char whole[4] = {0x80, 0x80, 0x80, 0x80};
        memcpy(whole, lead, n);
        int begins = n == 1 ? *lead >= 0xc2 && *lead <= 0xf4 : tn_utf8_size(whole, 4) > n;
        return begins ? n : 0;
    }
    return 0;
}

/* The largest place up to `at` where no word is begun. */
static uint64_t word_border(const tn_wordpiece *wp, const unsigned char *text, uint64_t at) {
    uint64_t border = at;
    while (at > 0) {
        uint32_t size;
        uint64_t before = step_back(text, at, &size);
        uint32_t what = size ? effect(wp, tn_utf8_read(text + before, &size)) : TN_CHARACTER_DROP;
        if (what == TN_CHARACTER_SPACE) { break; }
        at = before;
        if (what == TN_CHARACTER_WORD) { border = at; }
    }
    return border;
}

uint64_t tn_wordpiece_cut(void *self, const void *tokenizer, const char *text, uint64_t size,
                          uint32_t flags) {
    (void)self;
    const tn_wordpiece *wp = tokenizer;
    const unsigned char *bytes = (const unsigned char *)text;
    uint64_t at = size - unfinished(bytes, size);
    while (at > 0) {
        uint64_t border = word_border(wp, bytes, at);
        at = tn_specials_reach(&wp->vocabulary.specials, bytes, size, border,
                               (flags & TN_ENCODE_SPECIAL) != 0, 0);
        if (at == border) { break; }
    }
    return at;
}
