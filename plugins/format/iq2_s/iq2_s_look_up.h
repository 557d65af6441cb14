/* iq2_s_look_up.h - how the kernels for AVX2 and AVX-512 VNNI open blocks of IQ2_S. */
#ifndef TENON_IQ2_S_LOOK_UP_H
#define TENON_IQ2_S_LOOK_UP_H

#include "iq2_s_kernels.h"
#include "iq_look_up.h"

TN_INLINE void open_subs8(const uint8_t *const *blocks, __m256i *words) {
    tn_iq_subs_of_nibbles8(blocks, 74, words);
    tn_iq_subs_of_nibbles8(blocks, 78, words + 8);
}

TN_INLINE uint64_t open_subs(const uint8_t *block) {
    return tn_load_u64(block + 74);
}

TN_INLINE __m256i signs_of(const uint8_t *block) {
    return _mm256_loadu_si256((const void *)(block + 34));
}

TN_INLINE void index_of(const uint8_t *block, uint16_t *index) {
    __m256i pairs = _mm256_set1_epi64x((long long)tn_load_u64(block + 66)); /* of four entries a byte */
    __m256i up = _mm256_set1_epi64x(0x0004001000400100);
    __m256i low =
        _mm256_setr_epi64x(0x0000000000000000, 0x0101010101010101, 0x0202020202020202, 0x0303030303030303);
    __m256i high = _mm256_add_epi8(low, _mm256_set1_epi8(4));
    low = _mm256_mullo_epi16(_mm256_shuffle_epi8(pairs, low), up);
    high = _mm256_mullo_epi16(_mm256_shuffle_epi8(pairs, high), up);
    tn_iq_store_index(block + 2, low, 0x300, index);
    tn_iq_store_index(block + 18, high, 0x300, index + 16);
}

TN_INLINE __m256i entries(const uint8_t *block, const uint16_t *index, uint32_t half, uint32_t k) {
    (void)block;
    return tn_iq2_by_index(tn_iq2_s_codebook, index, half, k);
}

static void gemv(const tn_gemv *call) {
    tn_iq_gemv_by_loads(call, 82, 16, 0.125f, signs_of, index_of, entries, open_subs8);
}

static void unpack(const tn_unpack *call) {
    tn_iq_unpack_by_loads(call, 82, 16, 0.125f, signs_of, index_of, entries, open_subs);
}

#endif
