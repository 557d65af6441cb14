/* iq2_xs_look_up.h - how the kernels for AVX2 and AVX-512 VNNI open blocks of IQ2_XS. */
#ifndef TENON_IQ2_XS_LOOK_UP_H
#define TENON_IQ2_XS_LOOK_UP_H

#include "iq2_xs_kernels.h"
#include "iq_look_up.h"

TN_INLINE void open_subs8(const uint8_t *const *blocks, __m256i *words) {
    tn_iq_subs_of_nibbles8(blocks, 66, words);
    tn_iq_subs_of_nibbles8(blocks, 70, words + 8);
}

TN_INLINE uint64_t open_subs(const uint8_t *block) {
    return tn_load_u64(block + 66);
}

TN_INLINE __m256i signs_of(const uint8_t *block) {
    __m256i low = _mm256_loadu_si256((const void *)(block + 2));
    __m256i high = _mm256_loadu_si256((const void *)(block + 34));
    __m256i codes = _mm256_packus_epi16(_mm256_srli_epi16(low, 9), _mm256_srli_epi16(high, 9));
    return tn_iq_even_signs(_mm256_permute4x64_epi64(codes, 0xd8));
}

TN_INLINE void index_of(const uint8_t *block, uint16_t *index) {
    __m256i low = _mm256_loadu_si256((const void *)(block + 2)), nine = _mm256_set1_epi16(511);
    __m256i high = _mm256_loadu_si256((const void *)(block + 34));
    _mm256_storeu_si256((void *)index, _mm256_and_si256(low, nine));
    _mm256_storeu_si256((void *)(index + 16), _mm256_and_si256(high, nine));
}

TN_INLINE __m256i entries(const uint8_t *block, const uint16_t *index, uint32_t half, uint32_t k) {
    (void)block;
    return tn_iq2_by_index(tn_iq2_xs_codebook, index, half, k);
}

static void gemv(const tn_gemv *call) {
    tn_iq_gemv_by_loads(call, 74, 16, 0.125f, signs_of, index_of, entries, open_subs8);
}

static void unpack(const tn_unpack *call) {
    tn_iq_unpack_by_loads(call, 74, 16, 0.125f, signs_of, index_of, entries, open_subs);
}

#endif
