/* iq3_s_look_up.h - how the kernels for AVX2 and AVX-512 VNNI open blocks of IQ3_S. */
#ifndef TENON_IQ3_S_LOOK_UP_H
#define TENON_IQ3_S_LOOK_UP_H

#include "iq3_s_kernels.h"
#include "iq_look_up.h"

TN_INLINE void open_subs8(const uint8_t *const *blocks, __m256i *words) {
    tn_iq_subs_of_nibbles8(blocks, 106, words);
}

TN_INLINE uint64_t open_subs(const uint8_t *block) {
    return tn_load_u32(block + 106);
}

TN_INLINE __m256i signs_of(const uint8_t *block) {
    return _mm256_loadu_si256((const void *)(block + 74));
}

TN_INLINE void index_of(const uint8_t *block, uint16_t *index) {
    __m256i bits = _mm256_set1_epi64x((long long)tn_load_u64(block + 66)); /* of eight entries a byte */
    __m256i up = _mm256_broadcastsi128_si256(_mm_set_epi64x(0x0002000400080010, 0x0020004000800100));
#pragma GCC unroll 4
    for (uint32_t i = 0; i < 4; i++) {
        __m256i bytes = _mm256_setr_epi64x(0, 0, 0x0101010101010101, 0x0101010101010101);
        bytes = _mm256_add_epi8(bytes, _mm256_set1_epi8((char)(2 * i)));
        __m256i high = _mm256_mullo_epi16(_mm256_shuffle_epi8(bits, bytes), up);
        tn_iq_store_index(block + 2 + 16 * i, high, 0x100, index + 16 * i);
    }
}

TN_INLINE __m256i entries(const uint8_t *block, const uint16_t *index, uint32_t half, uint32_t k) {
    (void)block;
    return tn_iq3_by_index(tn_iq3_s_codebook, index, half, k);
}

static void gemv(const tn_gemv *call) {
    tn_iq_gemv_by_loads(call, 110, 32, 1, signs_of, index_of, entries, open_subs8);
}

static void unpack(const tn_unpack *call) {
    tn_iq_unpack_by_loads(call, 110, 32, 1, signs_of, index_of, entries, open_subs);
}

#endif
