/*
 * base64.c - see base64.h.
 */
#include "base64.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

char *base64_encode(const char *bytes, size_t size) {
    const unsigned char *from = (const unsigned char *)bytes;
    char *out = malloc((size / 3 + 1) * 4 + 1), *to = out;
    if (!out) { return NULL; }
    for (size_t i = 0; i < size; i += 3) {
        size_t have = size - i < 3 ? size - i : 3;
        uint32_t bits = (uint32_t)from[i] << 16;
        if (have > 1) { bits |= (uint32_t)from[i + 1] << 8; }
        if (have > 2) { bits |= from[i + 2]; }
        for (size_t k = 0; k < 4; k++) { *to++ = k <= have ? digits[bits >> (18 - 6 * k) & 63] : '='; }
    }
    *to = 0;
    return out;
}

/* The value of one character, -1 if it has none. */
static int value_of(char c) {
    if (c >= 'A' && c <= 'Z') { return c - 'A'; }
    if (c >= 'a' && c <= 'z') { return c - 'a' + 26; }
    if (c >= '0' && c <= '9') { return c - '0' + 52; }
    return c == '+' ? 62 : c == '/' ? 63 : -1;
}

/* Padding: one or two at the very end, and the bits that it leaves over are zero. */
static size_t padding_of(const char *text, size_t size) {
    if (size < 4 || text[size - 1] != '=') { return 0; }
    return text[size - 2] == '=' ? 2 : 1;
}

char *base64_decode(const char *text, size_t size, size_t *out_size, size_t *bad) {
    size_t padding = padding_of(text, size), digit_count = size - padding;
    unsigned char *out = malloc(size / 4 * 3 + 3), *to = out;
    uint32_t bits = 0, have = 0;
    *bad = 0;
    *out_size = 0;
    if (!out) { return NULL; }
    for (size_t i = 0; i < digit_count && !*bad; i++) {
        int value = value_of(text[i]);
        if (value < 0) { *bad = i + 1; }
        bits = bits << 6 | (uint32_t)(value & 63);
        have += 6;
        if (have >= 8) {
            have -= 8;
            *to++ = (unsigned char)(bits >> have);
            bits &= (1u << have) - 1;
        }
    }
    if (!*bad && (size % 4 || bits)) { *bad = size ? size : 1; }
    if (*bad) {
        free(out);
        return NULL;
    }
    *out_size = (size_t)(to - out);
    return (char *)out;
}
