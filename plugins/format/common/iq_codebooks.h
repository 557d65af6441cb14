/*
 * iq_codebooks.h - the codebooks of the IQ2 and IQ3 types, and the rule of their signs.
 *
 * An entry is the magnitudes of eight (IQ2) or four (IQ3) neighbouring columns, one a byte, the first in
 * the lowest. Magnitudes have levels: IQ2 8, 25, 43; IQ3_XXS 4, 12, 20, 28, 36, 44, 52, 62; IQ3_S 1, 3, 5,
 * ... 15.
 */
#ifndef TENON_IQ_CODEBOOKS_H
#define TENON_IQ_CODEBOOKS_H

#include <stdint.h>

#define TN_CODEBOOK extern __attribute__((visibility("hidden"))) const

TN_CODEBOOK uint64_t tn_iq2_xxs_codebook[256];
TN_CODEBOOK uint64_t tn_iq2_xs_codebook[512];
TN_CODEBOOK uint64_t tn_iq2_s_codebook[1024];
TN_CODEBOOK uint32_t tn_iq3_xxs_codebook[256];
TN_CODEBOOK uint32_t tn_iq3_s_codebook[512];

/*
 * The same entries as levels from 0 on, for look-ups by permutations of bytes: the first half of each
 * entry's columns in [0], the second in [1]. IQ2: four columns, two bits each, the first's lowest. IQ3: the
 * first column's in bits 0 to 2, the second's in bits 5 to 7.
 */
TN_CODEBOOK uint8_t tn_iq2_xxs_levels[2][256];
TN_CODEBOOK uint8_t tn_iq2_xs_levels[2][512];
TN_CODEBOOK uint8_t tn_iq2_s_levels[2][1024];
TN_CODEBOOK uint8_t tn_iq3_xxs_levels[2][256];
TN_CODEBOOK uint8_t tn_iq3_s_levels[2][512];

/**
 * Eight sign bits (set: negative; the first column's lowest) of a code of seven: the eighth makes their
 * number even.
 */
TN_CODEBOOK uint8_t tn_iq_signs[128];

#endif
