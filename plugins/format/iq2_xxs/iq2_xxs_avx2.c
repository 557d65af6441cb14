/* iq2_xxs_avx2.c - kernels of IQ2_XXS for AVX2. */
#include "iq2_xxs_kernels.h"
#include "iq_avx2.h"

/* The words of signs and scales of half a block. */
TN_INLINE __m128i open_words(const uint8_t *block, uint32_t half) {
    __m256i halves = _mm256_loadu_si256((const void *)(block + 2 + 32 * half));
    return _mm256_castsi256_si128(
        _mm256_permutevar8x32_epi32(halves, _mm256_setr_epi32(1, 3, 5, 7, 1, 3, 5, 7)));
}

TN_INLINE uint64_t open_subs(const uint8_t *block) {
    return tn_iq_subs_of_words(open_words(block, 0), open_words(block, 1));
}

TN_INLINE void open_half(const uint8_t *block, uint32_t half, __m256i *magnitudes, __m256i *signs) {
    tn_iq2_entries(tn_iq2_xxs_codebook, block, half, iq2_xxs_index, magnitudes);
    tn_iq_open_signs(tn_iq_signs_of_words(open_words(block, half)), signs);
}

static void gemv(const tn_gemv *call) {
    tn_iq_gemv_avx2(call, 66, 32, 0.125f, open_half, open_subs);
}

static void unpack(const tn_unpack *call) {
    tn_iq_unpack_avx2(call, 66, 32, 0.125f, open_half, open_subs);
}

TN_GEMV_KERNEL(iq2_xxs_gemv_avx2, TN_ISA_AVX2, TN_RANK_AVX2, TN_FORM_I8X32, "iq2_xxs gemv i8x32 avx2", gemv);
TN_UNPACK_KERNEL(iq2_xxs_unpack_avx2, TN_ISA_AVX2, TN_RANK_AVX2, TN_PANEL_P8, 32, 0, "iq2_xxs unpack p8 avx2",
                 unpack);
