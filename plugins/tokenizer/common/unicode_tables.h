/*
 * unicode_tables.h - Unicode data in compact form. The tables are made from utf8proc when Tenon is built
 * (unicode_generate.c), so that a plugin carries only what it looks at.
 */
#ifndef TENON_UNICODE_TABLES_H
#define TENON_UNICODE_TABLES_H

#include "token_utf8.h"

/* Two stages: a code point's block of 128, then the entry in it. Block 0 is ASCII. */
enum { TN_UNICODE_BLOCK = 128, TN_UNICODE_BLOCKS = 0x110000 / TN_UNICODE_BLOCK };

/* ---- classes: general categories, with white space among the controls set apart --------------------- */

/* Numbered as utf8proc's categories; the last two are ours. */
enum {
    TN_CLASS_LU = 1,
    TN_CLASS_LL,
    TN_CLASS_LT,
    TN_CLASS_LM,
    TN_CLASS_LO,
    TN_CLASS_MN,
    TN_CLASS_MC,
    TN_CLASS_ME,
    TN_CLASS_ND,
    TN_CLASS_NL,
    TN_CLASS_NO,
    TN_CLASS_PC,
    TN_CLASS_PD,
    TN_CLASS_PS,
    TN_CLASS_PE,
    TN_CLASS_PI,
    TN_CLASS_PF,
    TN_CLASS_PO,
    TN_CLASS_SM,
    TN_CLASS_SC,
    TN_CLASS_SK,
    TN_CLASS_SO,
    TN_CLASS_ZS,
    TN_CLASS_ZL,
    TN_CLASS_ZP,
    TN_CLASS_CC,
    TN_CLASS_CF,
    TN_CLASS_CS,
    TN_CLASS_CO,
    TN_CLASS_WHITE = 30,  /* controls that are white space: TAB, VT, FF, U+0085 */
    TN_CLASS_NEWLINE = 31 /* CR, LF */
};

/* Sets of classes, as bits. */
#define TN_IN(from, to) ((2u << (to)) - (1u << (from)))
#define TN_LETTER TN_IN(TN_CLASS_LU, TN_CLASS_LO)
#define TN_MARK TN_IN(TN_CLASS_MN, TN_CLASS_ME)
#define TN_NUMBER TN_IN(TN_CLASS_ND, TN_CLASS_NO)
#define TN_PUNCTUATION TN_IN(TN_CLASS_PC, TN_CLASS_PO)
#define TN_NEWLINE (1u << TN_CLASS_NEWLINE)
#define TN_SPACE (TN_IN(TN_CLASS_ZS, TN_CLASS_ZP) | 1u << TN_CLASS_WHITE | TN_NEWLINE)

extern const uint16_t tn_unicode_blocks[TN_UNICODE_BLOCKS];
extern const uint8_t tn_unicode_classes[];

/** The class of the character at the start of well-formed text, as a bit; its bytes. */
static inline uint32_t tn_unicode_look(const unsigned char *p, uint32_t *size) {
    if (p[0] < 0x80) { return *size = 1, 1u << tn_unicode_classes[p[0]]; }
    uint32_t c = tn_utf8_read(p, size);
    uint32_t block = tn_unicode_blocks[c / TN_UNICODE_BLOCK];
    return 1u << tn_unicode_classes[block * TN_UNICODE_BLOCK + c % TN_UNICODE_BLOCK];
}

/* ---- canonical composition -------------------------------------------------------------------------- */

typedef struct tn_nfc_record {
    uint8_t order;      /**< canonical combining class */
    uint8_t may_change; /**< 1: NFC_Quick_Check is not Yes */
    uint8_t parts;      /**< characters of the full canonical decomposition; 0: does not decompose */
    uint16_t at;        /**< ... at tn_nfc_parts[at] */
} tn_nfc_record;

typedef struct tn_nfc_pair {
    uint32_t first, second, composed;
} tn_nfc_pair;

/* By first byte: the bytes of a character, and whether one that begins so may change or has an order; 1 of bytes that
 * begin none. */
extern const uint8_t tn_nfc_leads[256];
enum { TN_NFC_RESTLESS = 0x80 };
extern const uint16_t tn_nfc_blocks[TN_UNICODE_BLOCKS];
extern const uint16_t tn_nfc_numbers[]; /* number of the record */
extern const tn_nfc_record tn_nfc_records[];
extern const uint32_t tn_nfc_parts[];
extern const tn_nfc_pair tn_nfc_pairs[]; /* by first, then second; Hangul is arithmetic and not here */
extern const uint32_t tn_nfc_pair_count;

/* ---- lower case -------------------------------------------------------------------------------------- */

typedef struct tn_lower_pair {
    uint32_t upper, lower;
} tn_lower_pair;

extern const tn_lower_pair tn_lower_pairs[]; /* by upper; where lower case is one character */
extern const uint32_t tn_lower_pair_count;

#endif
