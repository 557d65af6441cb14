/*
 * bpe_alphabet.h - the byte alphabet of byte-level vocabularies: each byte is written as one printable
 * character.
 */
#ifndef TENON_BPE_ALPHABET_H
#define TENON_BPE_ALPHABET_H

#include <stdint.h>

/**
 * Turns an entry's text back into bytes, at most as many as the text has; returns how many. A text with a
 * character that is not of the alphabet stands for itself as a whole.
 */
uint64_t tn_alphabet_bytes(const char *text, uint64_t size, unsigned char *out);

#endif
