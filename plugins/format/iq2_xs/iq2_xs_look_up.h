/* iq2_xs_look_up.h - how the kernels for AVX2 and AVX-512 VNNI open blocks of IQ2_XS. */
#ifndef TENON_IQ2_XS_LOOK_UP_H
#define TENON_IQ2_XS_LOOK_UP_H

#include "iq2_xs_kernels.h"

#define TN_IQ_INDEX_BYTES 32
#include "iq_look_up.h"

TN_INLINE uint64_t open_subs(const uint8_t *block) {
    return tn_load_u64(block + 66);
}

TN_INLINE void open_half(const uint8_t *block, uint32_t half, tn_iq_half *ready) {
    __m256i words = _mm256_loadu_si256((const void *)(block + 2 + 32 * half));
    _mm256_storeu_si256((void *)ready->index, _mm256_and_si256(words, _mm256_set1_epi16(511)));
    ready->signs = tn_iq_signs_of_codes(_mm256_srli_epi16(words, 9));
}

TN_INLINE void find(const uint8_t *index, tn_iq_found *found) {
    tn_iq2_find(tn_iq2_xs_codebook, index, tn_iq2_split_words, found);
}

TN_INLINE __m256i entries(const tn_iq_found *found, uint32_t k) {
    return tn_iq2_entries(tn_iq2_xs_codebook, found, k);
}

static const tn_iq_type type = {74, 16, 0.125f, NULL, open_half, find, entries, NULL, open_subs};
TN_IQ_BY_LOADS(type)

#endif
