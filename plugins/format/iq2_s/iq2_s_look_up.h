/* iq2_s_look_up.h - how the kernels for AVX2 and AVX-512 VNNI open blocks of IQ2_S. */
#ifndef TENON_IQ2_S_LOOK_UP_H
#define TENON_IQ2_S_LOOK_UP_H

#include "iq2_s_kernels.h"

#define TN_IQ_INDEX_BYTES 32
#include "iq_look_up.h"

TN_INLINE uint64_t open_subs(const uint8_t *block) {
    return tn_load_u64(block + 74);
}

TN_INLINE void open_halves(const uint8_t *block, tn_iq_half *halves) {
    /* entries 0 .. 7 and 16 .. 23, 8 .. 15 and 24 .. 31 */
    __m256i low = _mm256_permute4x64_epi64(_mm256_loadu_si256((const void *)(block + 2)), 0xd8);
    __m256i copy = _mm256_setr_epi64x((long long)0x0180018000800080, (long long)0x0580058004800480,
                                      (long long)0x0380038002800280, (long long)0x0780078006800680);
    __m256i pairs = _mm256_set1_epi64x((long long)tn_load_u64(block + 66)); /* of four entries a byte */
    pairs = _mm256_and_si256(_mm256_shuffle_epi8(pairs, copy), _mm256_set1_epi32((int)0xf0000f00));
    __m256i high = _mm256_mulhi_epu16(pairs, _mm256_set1_epi32(0x04104100));
    high = _mm256_and_si256(high, _mm256_set1_epi8(3));
    _mm256_storeu_si256((void *)halves[0].index, _mm256_unpacklo_epi8(low, high));
    _mm256_storeu_si256((void *)halves[1].index, _mm256_unpackhi_epi8(low, high));
    halves[0].signs = tn_iq_signs_of_bytes(block + 34);
    halves[1].signs = tn_iq_signs_of_bytes(block + 50);
}

TN_INLINE void find(const uint8_t *index, tn_iq_found *found) {
    tn_iq2_find(tn_iq2_s_codebook, index, tn_iq2_split_words, found);
}

TN_INLINE __m256i entries(const tn_iq_found *found, uint32_t k) {
    return tn_iq2_entries(tn_iq2_s_codebook, found, k);
}

static const tn_iq_type type = {82, 16, 0.125f, open_halves, NULL, find, entries, NULL, open_subs};
TN_IQ_BY_LOADS(type)

#endif
