/* iq3_s_look_up.h - how the kernels for AVX2 and AVX-512 VNNI open blocks of IQ3_S. */
#ifndef TENON_IQ3_S_LOOK_UP_H
#define TENON_IQ3_S_LOOK_UP_H

#include "iq3_s_kernels.h"

#define TN_IQ_INDEX_BYTES 64
#include "iq_look_up.h"

TN_INLINE void open_subs8(const uint8_t *const *blocks, uint32_t half, __m256i *subs) {
    tn_iq_subs_of_nibbles8(_mm256_srli_epi32(tn_iq_words8(blocks, 106), 16 * (int)half), 4, subs);
}

TN_INLINE uint64_t open_subs(const uint8_t *block) {
    return tn_load_u32(block + 106);
}

TN_INLINE void open_half(const uint8_t *block, uint32_t half, tn_iq_half *ready) {
    __m256i bits = _mm256_set1_epi32(tn_load_i32(block + 66 + 4 * half)); /* of eight entries a byte */
    __m256i up = _mm256_broadcastsi128_si256(_mm_set_epi64x(0x0002000400080010, 0x0020004000800100));
    __m256i bytes = _mm256_setr_epi64x(0, 0, 0x0101010101010101, 0x0101010101010101);
#pragma GCC unroll 2
    for (uint32_t i = 0; i < 2; i++) {
        __m256i high = _mm256_shuffle_epi8(bits, _mm256_add_epi8(bytes, _mm256_set1_epi8((char)(2 * i))));
        high = _mm256_mullo_epi16(high, up);
        tn_iq_store_index(block + 2 + 32 * half + 16 * i, high, 0x100, ready->index + 32 * i);
    }
    ready->signs = tn_iq_signs_of_bytes(block + 74 + 16 * half);
}

TN_INLINE void find(const uint8_t *index, tn_iq_found *found) {
    tn_iq3_find(tn_iq3_s_codebook, index, 16, tn_iq_split_words, found->whole);
}

static const tn_iq_type type = {110, 32, 1, NULL, open_half, find, tn_iq3_entries, open_subs8, open_subs};
TN_IQ_BY_LOADS(type)

#endif
