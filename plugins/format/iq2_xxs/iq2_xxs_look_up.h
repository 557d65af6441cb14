/* iq2_xxs_look_up.h - how the kernels for AVX2 and AVX-512 VNNI open blocks of IQ2_XXS. */
#ifndef TENON_IQ2_XXS_LOOK_UP_H
#define TENON_IQ2_XXS_LOOK_UP_H

#include "iq2_xxs_kernels.h"

#define TN_IQ_INDEX_BYTES 32
#include "iq_look_up.h"

/* For each 32 columns there are four indices and then a word of signs and, on top, the scale. */
TN_INLINE void open_subs8(const uint8_t *const *blocks, uint32_t half, __m256i *subs) {
    __m256i rows[8], pairs[4];
    for (uint32_t i = 0; i < 8; i++) {
        rows[i] = _mm256_loadu_si256((const void *)(blocks[i] + 2 + 32 * half));
    }
    for (uint32_t m = 0; m < 4; m++) { pairs[m] = tn_odd_lanes(rows[2 * m], rows[2 * m + 1]); }
    tn_iq_rows_to_lanes(pairs, subs);
    tn_iq_subs_of_words8(subs, subs);
}

TN_INLINE uint64_t open_subs(const uint8_t *block) {
    __m256 low = _mm256_loadu_ps((const void *)(block + 2)),
           high = _mm256_loadu_ps((const void *)(block + 34));
    return tn_iq_subs_of_words(
        _mm256_permute4x64_epi64(_mm256_castps_si256(_mm256_shuffle_ps(low, high, 0xdd)), 0xd8));
}

TN_INLINE void open_half(const uint8_t *block, uint32_t half, tn_iq_half *ready) {
    __m256i both = _mm256_loadu_si256((const void *)(block + 2 + 32 * half));
    _mm256_storeu_si256((void *)ready->index, both);
    ready->signs = tn_iq_signs_of_words(both);
}

TN_INLINE void find(const uint8_t *index, tn_iq_found *found) {
    tn_iq2_find(tn_iq2_xxs_codebook, index, tn_iq_split_bytes, found);
}

TN_INLINE __m256i entries(const tn_iq_found *found, uint32_t k) {
    return tn_iq2_entries(tn_iq2_xxs_codebook, found, k);
}

static const tn_iq_type type = {66, 32, 0.125f, NULL, open_half, find, entries, open_subs8, open_subs};
TN_IQ_BY_LOADS(type)

#endif
