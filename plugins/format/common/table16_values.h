/*
 * table16_values.h - the two tables of sixteen numbers that 4-bit codes may stand for, each here and nowhere
 * else, and how blocks of such codes are taken apart.
 */
#ifndef TENON_TABLE16_VALUES_H
#define TENON_TABLE16_VALUES_H

#include "format_plugin.h"

/** IQ4_NL and IQ4_XS: denser about zero, as weights are. ggml's numbers (MIT License, see NOTICE). */
static const int8_t tn_iq4_values[16] = {-127, -104, -83, -65, -49, -35, -22, -10,
                                         1,    13,   25,  38,  53,  69,  89,  113};

/** MXFP4 and NVFP4: the E2M1 numbers doubled, so that they are whole; code 8 is minus zero. */
static const int8_t tn_e2m1_values[16] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};

/** What has to be added to an E2M1 number so that it is not negative. */
enum { TN_E2M1_BIAS = 12 };

/** The numbers of 2 * half codes in `half` bytes: byte i has code i low and code half + i high. */
TN_INLINE void tn_table_nibbles(const int8_t *table, const uint8_t *at, uint32_t half, int8_t *numbers) {
    for (uint32_t i = 0; i < half; i++) {
        numbers[i] = table[at[i] & 15];
        numbers[half + i] = table[at[i] >> 4];
    }
}

/** The reverse of it, for codes. */
TN_INLINE void tn_pack_nibbles(const uint8_t *codes, uint32_t half, uint8_t *at) {
    for (uint32_t i = 0; i < half; i++) { at[i] = (uint8_t)(codes[i] | codes[half + i] << 4); }
}

#endif
