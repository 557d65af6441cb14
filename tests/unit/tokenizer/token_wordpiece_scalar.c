/*
 * token_wordpiece_scalar.c - wordpiece_ascii.h as it is without vector instructions, for
 * token_wordpiece_parts_test.c.
 */
#include <stdint.h>
#include <string.h>
#undef __SSE2__
#include "wordpiece_ascii.h"

uint32_t scalar_word(const unsigned char *text, uint32_t lowercase, unsigned char *out);
uint32_t scalar_spaces(const unsigned char *text);

uint32_t scalar_word(const unsigned char *text, uint32_t lowercase, unsigned char *out) {
    return tn_ascii_word(text, lowercase, out);
}

uint32_t scalar_spaces(const unsigned char *text) {
    return tn_ascii_spaces(text);
}
