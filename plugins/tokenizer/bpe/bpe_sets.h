/*
 * bpe_sets.h - sets of characters that rule sets name by ranges.
 */
#ifndef TENON_BPE_SETS_H
#define TENON_BPE_SETS_H

#include "bpe_rules.h"
#include "unicode_tables.h"

/** True if the character at the start of well-formed text is of a set; its bytes. */
static inline int tn_set_has(const tn_set *set, const unsigned char *at, uint32_t *size) {
    if (*at < 0x80) { return *size = 1, (int)(set->ascii[*at / 64] >> *at % 64 & 1); }
    uint32_t class = tn_unicode_look(at, size), low = 0, high = set->count;
    uint32_t character = high ? tn_utf8_read(at, size) : 0;
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        if (set->ranges[middle][1] < character) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    int inside = low < set->count && set->ranges[low][0] <= character;
    return inside ? !set->except : (class & set->classes) != 0;
}

/* ASCII of some sets: letters; letters, digits and _; what is no white space; \p{P}; all punctuation. */
#define TN_ASCII_LETTERS                                                                                     \
    { 0, 0x07fffffe07fffffe }
#define TN_ASCII_WORD                                                                                        \
    { 0x03ff000000000000, 0x07fffffe87fffffe }
#define TN_ASCII_DIGITS                                                                                      \
    { 0x03ff000000000000, 0 }
#define TN_ASCII_DARK                                                                                        \
    { 0xfffffffeffffc1ff, 0xffffffffffffffff }
#define TN_ASCII_PUNCTUATION                                                                                 \
    { 0x8c00f7ee00000000, 0x28000000b8000001 }
#define TN_ASCII_SYMBOLS                                                                                     \
    { 0xfc00fffe00000000, 0x78000001f8000001 }

extern const tn_set tn_set_han[1];        /**< \p{Han}, the script */
extern const tn_set tn_set_cased[1];      /**< letters with case, as DeepSeek lists them */
extern const tn_set tn_set_marks[1];      /**< punctuation, as DeepSeek lists it */
extern const tn_set tn_set_wide[1];       /**< DeepSeek's CJK and Hangul, which begin at U+0800 */
extern const tn_set tn_set_ideographs[1]; /**< ideographs and kana */
extern const tn_set tn_set_asian[1];      /**< AFMoE's scripts without spaces */
extern const tn_set tn_set_east[4];       /**< Youtu's Hangul, punctuation, Bopomofo, ideographs and kana */
extern const tn_set tn_set_sentence_parts[1]; /**< what Bloom's words are made of */
extern const tn_set tn_set_falcon[1];         /**< [\p{P}$+<=>^~|`], which is all of ASCII's */
extern const tn_set tn_set_default[1];        /**< the same without the backtick */
extern const tn_set tn_set_ascii_symbols[1];  /**< [\p{P}!-/:-@\[-`{-~] */

#endif
