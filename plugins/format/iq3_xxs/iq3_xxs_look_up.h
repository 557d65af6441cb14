/* iq3_xxs_look_up.h - how the kernels for AVX2 and AVX-512 VNNI open blocks of IQ3_XXS. */
#ifndef TENON_IQ3_XXS_LOOK_UP_H
#define TENON_IQ3_XXS_LOOK_UP_H

#include "iq3_xxs_kernels.h"

#define TN_IQ_INDEX_BYTES 32
#include "iq_look_up.h"

/* For each 32 columns there is a word of signs and, on top, the scale. */
TN_INLINE void open_subs8(const uint8_t *const *blocks, uint32_t half, __m256i *subs) {
    __m256i rows[4];
    for (uint32_t i = 0; i < 4; i++) {
        rows[i] = _mm256_set_m128i(_mm_loadu_si128((const void *)(blocks[4 + i] + 66 + 16 * half)),
                                   _mm_loadu_si128((const void *)(blocks[i] + 66 + 16 * half)));
    }
    tn_turn8(rows, subs);
    tn_iq_subs_of_words8(subs, subs);
}

TN_INLINE uint64_t open_subs(const uint8_t *block) {
    return tn_iq_subs_of_words(_mm256_loadu_si256((const void *)(block + 66)));
}

TN_INLINE void open_half(const uint8_t *block, uint32_t half, tn_iq_half *ready) {
    __m256i words = _mm256_castsi128_si256(_mm_loadu_si128((const void *)(block + 66 + 16 * half)));
    words = _mm256_permutevar8x32_epi32(words, _mm256_setr_epi32(0, 0, 1, 1, 2, 2, 3, 3));
    _mm256_storeu_si256((void *)ready->index, _mm256_loadu_si256((const void *)(block + 2 + 32 * half)));
    ready->signs = tn_iq_signs_of_words(words);
}

TN_INLINE void find(const uint8_t *index, tn_iq_found *found) {
    tn_iq3_find(tn_iq3_xxs_codebook, index, 8, tn_iq_split_bytes, found->whole);
}

static const tn_iq_type type = {98, 32, 0.25f, NULL, open_half, find, tn_iq3_entries, open_subs8, open_subs};
TN_IQ_BY_LOADS(type)

#endif
