/* iq3_xxs_avx2.c - kernels of IQ3_XXS for AVX2. */
#include "iq3_xxs_kernels.h"
#include "iq_avx2.h"

/* The words of signs and scales of half a block. */
TN_INLINE __m128i open_words(const uint8_t *block, uint32_t half) {
    return _mm_loadu_si128((const void *)(block + 66 + 16 * half));
}

TN_INLINE uint64_t open_subs(const uint8_t *block) {
    return tn_iq_subs_of_words(open_words(block, 0), open_words(block, 1));
}

TN_INLINE void open_half(const uint8_t *block, uint32_t half, __m256i *magnitudes, __m256i *signs) {
    tn_iq3_entries(tn_iq3_xxs_codebook, block, half, iq3_xxs_index, magnitudes);
    tn_iq_open_signs(tn_iq_signs_of_words(open_words(block, half)), signs);
}

static void gemv(const tn_gemv *call) {
    tn_iq_gemv_avx2(call, 98, 32, 0.25f, open_half, open_subs);
}

static void unpack(const tn_unpack *call) {
    tn_iq_unpack_avx2(call, 98, 32, 0.25f, open_half, open_subs);
}

TN_GEMV_KERNEL(iq3_xxs_gemv_avx2, TN_ISA_AVX2, TN_RANK_AVX2, TN_FORM_I8X32, "iq3_xxs gemv i8x32 avx2", gemv);
TN_UNPACK_KERNEL(iq3_xxs_unpack_avx2, TN_ISA_AVX2, TN_RANK_AVX2, TN_PANEL_P8, 32, 0, "iq3_xxs unpack p8 avx2",
                 unpack);
