/*
 * wordpiece_ascii.h - sixteen bytes of a text at once: how many at their start are ASCII letters and digits, in
 * lower case if asked for, and how many are white space.
 */
#ifndef TENON_WORDPIECE_ASCII_H
#define TENON_WORDPIECE_ASCII_H

#include <stdint.h>
#include <string.h>

enum { TN_ASCII_BLOCK = 16 };

/** Copies 16 bytes, capitals as lower case if `lowercase` is 0x20 and not 0. */
static inline uint32_t tn_ascii_word(const unsigned char *text, uint32_t lowercase, unsigned char *out);
/** How many of 16 bytes at the start are space, TAB, LF or CR. */
static inline uint32_t tn_ascii_spaces(const unsigned char *text);

#ifdef __SSE2__
#include <emmintrin.h>

/* Bytes from `first` on, `count` of them, as all ones. */
static inline __m128i tn_ascii_range(__m128i bytes, char first, int count) {
    __m128i moved = _mm_sub_epi8(bytes, _mm_set1_epi8((char)(first + 128)));
    return _mm_cmplt_epi8(moved, _mm_set1_epi8((char)(count - 128)));
}

static inline uint32_t tn_ascii_word(const unsigned char *text, uint32_t lowercase, unsigned char *out) {
    __m128i bytes = _mm_loadu_si128((const __m128i *)text);
    __m128i bit = _mm_set1_epi8(0x20);
    __m128i letters = tn_ascii_range(_mm_or_si128(bytes, bit), 'a', 26);
    __m128i all = _mm_or_si128(letters, tn_ascii_range(bytes, '0', 10));
    __m128i lower = _mm_and_si128(letters, _mm_set1_epi8((char)lowercase));
    _mm_storeu_si128((__m128i *)out, _mm_or_si128(bytes, lower));
    return (uint32_t)__builtin_ctz(~(uint32_t)_mm_movemask_epi8(all));
}

static inline uint32_t tn_ascii_spaces(const unsigned char *text) {
    __m128i bytes = _mm_loadu_si128((const __m128i *)text);
    __m128i all = _mm_or_si128(_mm_cmpeq_epi8(bytes, _mm_set1_epi8(' ')), tn_ascii_range(bytes, '\t', 2));
    all = _mm_or_si128(all, _mm_cmpeq_epi8(bytes, _mm_set1_epi8('\r')));
    return (uint32_t)__builtin_ctz(~(uint32_t)_mm_movemask_epi8(all));
}

#else

static inline uint32_t tn_ascii_word(const unsigned char *text, uint32_t lowercase, unsigned char *out) {
    uint32_t n = 0;
    for (; n < TN_ASCII_BLOCK; n++) {
        int letter = (unsigned char)((text[n] | 0x20) - 'a') < 26;
        if (!letter && (unsigned char)(text[n] - '0') >= 10) { break; }
        out[n] = (unsigned char)(letter ? text[n] | lowercase : text[n]);
    }
    return n;
}

static inline uint32_t tn_ascii_spaces(const unsigned char *text) {
    uint32_t n = 0;
    while (n < TN_ASCII_BLOCK && (text[n] == ' ' || text[n] == '\t' || text[n] == '\n' || text[n] == '\r')) {
        n++;
    }
    return n;
}

#endif
#endif
