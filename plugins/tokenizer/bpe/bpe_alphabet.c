/*
 * bpe_alphabet.c - GPT-2's byte alphabet: visible Latin-1 characters stand for their own number, the other 68
 * bytes, in ascending order, are U+0100, U+0101, ...
 */
#include "bpe_alphabet.h"

#include "token_utf8.h"

/* The byte that a character stands for, -1 if it is not of the alphabet. */
static int byte_of(uint32_t c) {
    if ((c >= 33 && c <= 126) || (c >= 161 && c <= 172) || (c >= 174 && c <= 255)) { return (int)c; }
    if (c < 0x100 || c >= 0x100 + 68) { return -1; }
    uint32_t rank = c - 0x100;
    return (int)(rank <= 32 ? rank : rank <= 66 ? rank - 33 + 127 : 173);
}

uint64_t tn_alphabet_bytes(const char *text, uint64_t size, unsigned char *out) {
    const unsigned char *from = (const unsigned char *)text;
    uint64_t count = 0;
    uint32_t step, characters;
    for (uint64_t at = 0; at < size; at += step) {
        if (from[at] >= 33 && from[at] <= 126) { /* nearly all */
            out[count++] = from[at];
            step = 1;
            continue;
        }
        step = tn_utf8_size(from + at, size - at);
        int byte = step ? byte_of(tn_utf8_read(from + at, &characters)) : -1;
        if (byte < 0) {
            memcpy(out, text, size);
            return size;
        }
        out[count++] = (unsigned char)byte;
    }
    return count;
}
