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

/** Bytes at the start that are well-formed. */
static inline uint64_t tn_utf8_sound(const unsigned char *text, uint64_t size) {
    uint64_t at = 0;
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
