/*
 * wordpiece_characters.h - what a character of the text becomes: cleaned, without accents, in lower case; and
 * whether it ends a word.
 */
#ifndef TENON_WORDPIECE_CHARACTERS_H
#define TENON_WORDPIECE_CHARACTERS_H

#include <stdint.h>

typedef struct tn_wordpiece_rules {
    uint32_t lowercase, strip_accents; /**< 0 or 1 */
} tn_wordpiece_rules;

/* What a character does. */
enum {
    TN_CHARACTER_WORD,  /**< its bytes are part of a word */
    TN_CHARACTER_ALONE, /**< ... are a word of their own */
    TN_CHARACTER_SPACE, /**< ends a word */
    TN_CHARACTER_DROP,  /**< nothing: what stands on its two sides is joined */
    TN_CHARACTER_BREAK, /**< the same, but marks are not put in order across it */
    TN_CHARACTER_PARTS  /**< becomes more than one character, or a mark that has to be put in order */
};

typedef struct tn_wordpiece_character {
    unsigned char bytes[4]; /**< what WORD and ALONE become */
    uint8_t size, kind;
    uint8_t zero[2];
} tn_wordpiece_character;

/** Characters below this are looked up in a list that a tokenizer makes when it is loaded. */
enum { TN_WORDPIECE_LISTED = 0x3400 };

/** What any character becomes. */
tn_wordpiece_character tn_wordpiece_character_of(const tn_wordpiece_rules *rules, uint32_t c);

typedef struct tn_wordpiece_part {
    uint32_t point;
    uint8_t order; /**< canonical combining class; 0 where marks are not put in order */
    uint8_t kind;  /**< TN_CHARACTER_WORD, ALONE, DROP or BREAK */
} tn_wordpiece_part;

enum { TN_WORDPIECE_PARTS = 8 };

/** The parts of a TN_CHARACTER_PARTS; returns how many. */
uint32_t tn_wordpiece_parts_of(const tn_wordpiece_rules *rules, uint32_t c,
                               tn_wordpiece_part parts[TN_WORDPIECE_PARTS]);

#endif
