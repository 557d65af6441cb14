/* iq2_xs_look_up.h - how the kernels for AVX2 and AVX-512 VNNI open blocks of IQ2_XS. */
#ifndef TENON_IQ2_XS_LOOK_UP_H
#define TENON_IQ2_XS_LOOK_UP_H

#include "iq2_xs_kernels.h"
#include "iq_look_up.h"

TN_INLINE void open_subs8(const uint8_t *const *blocks, uint32_t half, __m256i *subs) {
    tn_iq_subs_of_nibbles8(tn_iq_words8(blocks, 66 + 4 * half), 8, subs);
}

TN_INLINE uint64_t open_subs(const uint8_t *block) {
    return tn_load_u64(block + 66);
}

TN_INLINE void open_half(const uint8_t *block, uint32_t half, tn_iq_half *ready) {
    __m256i words = _mm256_loadu_si256((const void *)(block + 2 + 32 * half));
    _mm256_storeu_si256((void *)ready->index, _mm256_and_si256(words, _mm256_set1_epi16(511)));
    ready->signs = tn_iq_signs_of_codes(_mm256_srli_epi16(words, 9));
}

TN_INLINE void entries(const uint8_t *index, __m256i *magnitudes) {
    tn_iq2_entries(tn_iq2_xs_codebook, index, tn_iq_split_words, magnitudes);
}

static const tn_iq_type type = {74, 16, 0.125f, open_half, entries, open_subs8, open_subs};
TN_IQ_BY_LOADS(type)

#endif
