/*
 * wordpiece_characters.c - Hugging Face's BertNormalizer and the word borders of its BertPreTokenizer, one
 * character at a time: clean, spaces around ideographs, NFD without Mn, lower case - in this order.
 */
#include "wordpiece_characters.h"

#include "unicode_nfd.h"

/* LATIN CAPITAL LETTER I WITH DOT ABOVE, the only one whose lower case is two characters. */
enum { DOTTED_I = 0x130, DOT_ABOVE = 0x307 };

static const uint32_t dropped_classes =
    1u << TN_CLASS_CC | 1u << TN_CLASS_CF | 1u << TN_CLASS_CO | 1u << TN_CLASS_CS | 1u << TN_CLASS_WHITE;

static uint32_t class_of(uint32_t c) {
    uint32_t block = tn_unicode_blocks[c / TN_UNICODE_BLOCK];
    return 1u << tn_unicode_classes[block * TN_UNICODE_BLOCK + c % TN_UNICODE_BLOCK];
}

/* Ideographs that stand alone. The sixth range ends the fifth's gap as Hugging Face has it. */
static int is_ideograph(uint32_t c) {
    return (c >= 0x4e00 && c <= 0x9fff) || (c >= 0x3400 && c <= 0x4dbf) || (c >= 0x20000 && c <= 0x2a6df) ||
           (c >= 0x2a700 && c <= 0x2b73f) || (c >= 0x2b740 && c <= 0x2b81f) ||
           (c >= 0x2b920 && c <= 0x2ceaf) || (c >= 0xf900 && c <= 0xfaff) || (c >= 0x2f800 && c <= 0x2fa1f);
}

static int is_punctuation(uint32_t c) {
    if (c < 0x80) {
        return (c >= 33 && c <= 47) || (c >= 58 && c <= 64) || (c >= 91 && c <= 96) || (c >= 123 && c <= 126);
    }
    return (class_of(c) & TN_PUNCTUATION) != 0;
}

/* DROP, SPACE, or WORD for what stays. */
static uint8_t clean(uint32_t c) {
    uint32_t class = class_of(c);
    if (c == '\t' || c == '\n' || c == '\r') { return TN_CHARACTER_SPACE; }
    if (c == 0 || c == 0xfffd || (class & dropped_classes)) { return TN_CHARACTER_DROP; }
    return class & TN_SPACE ? TN_CHARACTER_SPACE : TN_CHARACTER_WORD;
}

uint32_t tn_wordpiece_parts_of(const tn_wordpiece_rules *rules, uint32_t c,
                               tn_wordpiece_part parts[TN_WORDPIECE_PARTS]) {
    uint32_t points[TN_NFD_MAX] = {c}, count = 0;
    uint32_t n = rules->strip_accents ? tn_unicode_decompose(c, points) : 1;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t point = points[i], order = rules->strip_accents ? tn_unicode_order(point) : 0;
        if (rules->strip_accents && (class_of(point) & 1u << TN_CLASS_MN)) {
            parts[count++] =
                (tn_wordpiece_part){point, (uint8_t)order, order ? TN_CHARACTER_DROP : TN_CHARACTER_BREAK};
            continue;
        }
        int dotted = rules->lowercase && point == DOTTED_I;
        if (rules->lowercase) { point = dotted ? 'i' : tn_unicode_lower(point); }
        uint8_t kind = is_ideograph(c) || is_punctuation(point) ? TN_CHARACTER_ALONE : TN_CHARACTER_WORD;
        parts[count++] = (tn_wordpiece_part){point, (uint8_t)order, kind};
        if (dotted) { parts[count++] = (tn_wordpiece_part){DOT_ABOVE, 0, TN_CHARACTER_WORD}; }
    }
    return count;
}

tn_wordpiece_character tn_wordpiece_character_of(const tn_wordpiece_rules *rules, uint32_t c) {
    tn_wordpiece_character character = {.kind = clean(c)};
    if (character.kind != TN_CHARACTER_WORD) { return character; }
    tn_wordpiece_part parts[TN_WORDPIECE_PARTS];
    uint32_t count = tn_wordpiece_parts_of(rules, c, parts), kept = 0;
    character.kind = TN_CHARACTER_DROP;
    for (uint32_t i = 0; i < count; i++) {
        if (parts[i].kind == TN_CHARACTER_DROP) { continue; }
        if (parts[i].kind == TN_CHARACTER_BREAK) {
            if (!kept) { character.kind = TN_CHARACTER_BREAK; }
            continue;
        }
        character.kind = parts[i].kind;
        if (kept++ || parts[i].order) {
            character.kind = TN_CHARACTER_PARTS;
            break;
        }
        character.size = (uint8_t)tn_utf8_write(character.bytes, parts[i].point);
    }
    return character;
}
