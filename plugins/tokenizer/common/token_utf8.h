/*
 * token_utf8.h - UTF-8: what is well-formed (Unicode 15, table 3-7), reading, writing.
 */
#ifndef TENON_TOKEN_UTF8_H
#define TENON_TOKEN_UTF8_H

#include <stdint.h>
#include <string.h>

/** Bytes of the well-formed character at the start of `size` bytes, 0 if there is none. */
static inline uint32_t tn_utf8_size(const unsigned char *p, uint64_t size) {
    if (!size) { return 0; }
    unsigned char lead = p[0];
    if (lead < 0x80) { return 1; }
    if (lead < 0xe0) { return lead >= 0xc2 && size >= 2 && (p[1] & 0xc0) == 0x80 ? 2 : 0; }
    unsigned char low = lead == 0xe0 ? 0xa0 : lead == 0xf0 ? 0x90 : 0x80;
    unsigned char high = lead == 0xed ? 0x9f : lead == 0xf4 ? 0x8f : 0xbf;
    if (size < 3 || p[1] < low || p[1] > high || (p[2] & 0xc0) != 0x80) { return 0; }
    if (lead < 0xf0) { return 3; }
    return lead <= 0xf4 && size >= 4 && (p[3] & 0xc0) == 0x80 ? 4 : 0;
}

/** ASCII bytes at the start. */
static inline uint64_t tn_utf8_ascii(const unsigned char *text, uint64_t size) {
    uint64_t at = 0, eight, others;
    for (; size - at >= 8; at += 8) {
        memcpy(&eight, text + at, 8);
        if ((others = eight & 0x8080808080808080u)) { return at + (uint64_t)__builtin_ctzll(others) / 8; }
    }
    while (at < size && text[at] < 0x80) { at++; }
    return at;
}

enum { TN_UTF8_GROUP = 16 };

/** 1 if a group of bytes is ASCII. */
static inline int tn_utf8_is_ascii(const unsigned char *text) {
    uint64_t eight[2];
    memcpy(eight, text, sizeof eight);
    return !((eight[0] | eight[1]) & 0x8080808080808080u);
}

/* What may follow, as the place of six bits in a row of the table: nothing, a character, 1 to 3 bytes behind the first
 * of one, and what only some bytes may follow. A row belongs to a byte: what may follow it, by what it may follow. */
enum {
    TN_UTF8_NONE = 0,
    TN_UTF8_ANY = 6,
    TN_UTF8_ONE = 12,
    TN_UTF8_TWO = 18,
    TN_UTF8_THREE = 24,
    TN_UTF8_E0 = 30,
    TN_UTF8_ED = 36,
    TN_UTF8_F0 = 42,
    TN_UTF8_F4 = 48
};
#define TN_UTF8_THEN(before, after) ((uint64_t)TN_UTF8_##after << TN_UTF8_##before)
#define TN_UTF8_INNER (TN_UTF8_THEN(ONE, ANY) | TN_UTF8_THEN(TWO, ONE) | TN_UTF8_THEN(THREE, TWO))
static const uint64_t tn_utf8_rows[256] = {
    [0x00 ... 0x7f] = TN_UTF8_THEN(ANY, ANY),
    [0x80 ... 0x8f] = TN_UTF8_INNER | TN_UTF8_THEN(ED, ONE) | TN_UTF8_THEN(F4, TWO),
    [0x90 ... 0x9f] = TN_UTF8_INNER | TN_UTF8_THEN(ED, ONE) | TN_UTF8_THEN(F0, TWO),
    [0xa0 ... 0xbf] = TN_UTF8_INNER | TN_UTF8_THEN(E0, ONE) | TN_UTF8_THEN(F0, TWO),
    [0xc2 ... 0xdf] = TN_UTF8_THEN(ANY, ONE),
    [0xe0] = TN_UTF8_THEN(ANY, E0),
    [0xe1 ... 0xec] = TN_UTF8_THEN(ANY, TWO),
    [0xed] = TN_UTF8_THEN(ANY, ED),
    [0xee ... 0xef] = TN_UTF8_THEN(ANY, TWO),
    [0xf0] = TN_UTF8_THEN(ANY, F0),
    [0xf1 ... 0xf3] = TN_UTF8_THEN(ANY, THREE),
    [0xf4] = TN_UTF8_THEN(ANY, F4),
};

/* Bytes at the start that are well-formed, as far as whole groups show without a branch for each character. */
static inline uint64_t tn_utf8_groups(const unsigned char *text, uint64_t size) {
    uint64_t sound = 0, state = TN_UTF8_ANY;
    for (uint64_t at = 0; size - at >= TN_UTF8_GROUP;) {
        if (sound != at || !tn_utf8_is_ascii(text + at)) {
            for (uint32_t i = 0; i < TN_UTF8_GROUP; i++) {
                state = tn_utf8_rows[text[at + i]] >> (state & 63);
            }
            if ((state & 63) == TN_UTF8_NONE) { break; }
        }
        at += TN_UTF8_GROUP;
        if ((state & 63) == TN_UTF8_ANY) { sound = at; }
    }
    return sound;
}

/** Bytes at the start that are well-formed. */
static inline uint64_t tn_utf8_sound(const unsigned char *text, uint64_t size) {
    uint64_t at = tn_utf8_groups(text, size);
    while ((at += tn_utf8_ascii(text + at, size - at)) < size) {
        uint32_t step = tn_utf8_size(text + at, size - at);
        if (!step) { break; }
        at += step;
    }
    return at;
}

/** The character at the start of well-formed text. */
static inline uint32_t tn_utf8_read(const unsigned char *p, uint32_t *size) {
    if (p[0] < 0x80) { return *size = 1, p[0]; }
    if (p[0] < 0xe0) { return *size = 2, (p[0] & 0x1fu) << 6 | (p[1] & 0x3fu); }
    if (p[0] < 0xf0) { return *size = 3, (p[0] & 0x0fu) << 12 | (p[1] & 0x3fu) << 6 | (p[2] & 0x3fu); }
    return *size = 4, (p[0] & 0x07u) << 18 | (p[1] & 0x3fu) << 12 | (p[2] & 0x3fu) << 6 | (p[3] & 0x3fu);
}

/** Writes a character, at most 4 bytes; returns how many. */
static inline uint32_t tn_utf8_write(unsigned char *p, uint32_t c) {
    if (c < 0x80) { return p[0] = (unsigned char)c, 1; }
    uint32_t size = c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    for (uint32_t i = size - 1; i > 0; i--, c >>= 6) { p[i] = (unsigned char)(0x80 | (c & 0x3f)); }
    p[0] = (unsigned char)(0xf00u >> size | c);
    return size;
}

#endif
