/*
 * iq_encode.h - encoders of the IQ2 and IQ3 types: one block of 256 columns at a time, searched for the least
 * sum of importance * (x - decoded)^2. `importance` NULL: all columns count the same. Numbers are finite.
 * 0: the block needs a scale beyond binary16.
 *
 * How they search: iq_encode_search.h (scales) and iq_encode_book.h (entries of the codebook).
 */
#ifndef TENON_IQ_ENCODE_H
#define TENON_IQ_ENCODE_H

#include <stdint.h>

int tn_iq2_xxs_encode(const float *x, const float *importance, uint8_t *block);
int tn_iq2_xs_encode(const float *x, const float *importance, uint8_t *block);
int tn_iq2_s_encode(const float *x, const float *importance, uint8_t *block);
int tn_iq3_xxs_encode(const float *x, const float *importance, uint8_t *block);
int tn_iq3_s_encode(const float *x, const float *importance, uint8_t *block);

#endif
