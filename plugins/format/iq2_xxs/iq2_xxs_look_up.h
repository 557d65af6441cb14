/* iq2_xxs_look_up.h - how the kernels for AVX2 and AVX-512 VNNI open blocks of IQ2_XXS. */
#ifndef TENON_IQ2_XXS_LOOK_UP_H
#define TENON_IQ2_XXS_LOOK_UP_H

#include "iq2_xxs_kernels.h"
#include "iq_look_up.h"

/* For each 32 columns the word of signs and scale. */
TN_INLINE __m256i open_words(const uint8_t *block) {
    __m256 low = _mm256_loadu_ps((const void *)(block + 2)),
           high = _mm256_loadu_ps((const void *)(block + 34));
    return _mm256_permute4x64_epi64(_mm256_castps_si256(_mm256_shuffle_ps(low, high, 0xdd)), 0xd8);
}

TN_INLINE void open_subs8(const uint8_t *const *blocks, __m256i *words) {
    __m256i each[8];
    for (uint32_t i = 0; i < 8; i++) { each[i] = open_words(blocks[i]); }
    tn_iq_subs_of_words8(each, words);
}

TN_INLINE uint64_t open_subs(const uint8_t *block) {
    return tn_iq_subs_of_words(open_words(block));
}

TN_INLINE __m256i signs_of(const uint8_t *block) {
    return tn_iq_signs_of_words(open_words(block));
}

/* Indices are bytes of the block. */
TN_INLINE void index_of(const uint8_t *block, uint16_t *index) {
    (void)block;
    (void)index;
}

TN_INLINE __m256i entries(const uint8_t *block, const uint16_t *index, uint32_t half, uint32_t k) {
    uint32_t i[4];
    (void)index;
    for (uint32_t q = 0; q < 4; q++) { i[q] = tn_iq_byte_index(block + 2, 32 * half + 8 * q + k); }
    return tn_iq2_four(tn_iq2_xxs_codebook, i[0], i[1], i[2], i[3]);
}

static void gemv(const tn_gemv *call) {
    tn_iq_gemv_by_loads(call, 66, 32, 0.125f, signs_of, index_of, entries, open_subs8);
}

static void unpack(const tn_unpack *call) {
    tn_iq_unpack_by_loads(call, 66, 32, 0.125f, signs_of, index_of, entries, open_subs);
}

#endif
