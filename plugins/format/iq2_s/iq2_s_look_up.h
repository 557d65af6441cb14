/* iq2_s_look_up.h - how the kernels for AVX2 and AVX-512 VNNI open blocks of IQ2_S. */
#ifndef TENON_IQ2_S_LOOK_UP_H
#define TENON_IQ2_S_LOOK_UP_H

#include "iq2_s_kernels.h"
#include "iq_look_up.h"

TN_INLINE void open_subs8(const uint8_t *const *blocks, uint32_t half, __m256i *subs) {
    tn_iq_subs_of_nibbles8(tn_iq_words8(blocks, 74 + 4 * half), 8, subs);
}

TN_INLINE uint64_t open_subs(const uint8_t *block) {
    return tn_load_u64(block + 74);
}

TN_INLINE void open_half(const uint8_t *block, uint32_t half, tn_iq_half *ready) {
    __m256i pairs = _mm256_set1_epi32(tn_load_i32(block + 66 + 4 * half)); /* of four entries a byte */
    __m256i up = _mm256_set1_epi64x(0x0004001000400100);
    __m256i bytes =
        _mm256_setr_epi64x(0x0000000000000000, 0x0101010101010101, 0x0202020202020202, 0x0303030303030303);
    __m256i high = _mm256_mullo_epi16(_mm256_shuffle_epi8(pairs, bytes), up);
    tn_iq_store_index(block + 2 + 16 * half, high, 0x300, ready->index);
    ready->signs = tn_iq_signs_of_bytes(block + 34 + 16 * half);
}

TN_INLINE void entries(const uint8_t *index, __m256i *magnitudes) {
    tn_iq2_entries(tn_iq2_s_codebook, index, tn_iq_split_words, magnitudes);
}

static const tn_iq_type type = {82, 16, 0.125f, open_half, entries, open_subs8, open_subs};
TN_IQ_BY_LOADS(type)

#endif
