/* iq2_xs_avx2.c - kernels of IQ2_XS for AVX2. */
#include "iq2_xs_kernels.h"
#include "iq_avx2.h"

TN_INLINE uint64_t open_subs(const uint8_t *block) {
    return tn_load_u64(block + 66);
}

TN_INLINE void open_half(const uint8_t *block, uint32_t half, __m256i *magnitudes, __m256i *signs) {
    __m256i words = _mm256_loadu_si256((const void *)(block + 2 + 32 * half));
    __m256i seven = _mm256_srli_epi16(words, 9);
    __m128i codes = _mm_packus_epi16(_mm256_castsi256_si128(seven), _mm256_extracti128_si256(seven, 1));
    tn_iq2_entries(tn_iq2_xs_codebook, block, half, iq2_xs_index, magnitudes);
    tn_iq_open_signs(tn_iq_even_signs(codes), signs);
}

static void gemv(const tn_gemv *call) {
    tn_iq_gemv_avx2(call, 74, 16, 0.125f, open_half, open_subs);
}

static void unpack(const tn_unpack *call) {
    tn_iq_unpack_avx2(call, 74, 16, 0.125f, open_half, open_subs);
}

TN_GEMV_KERNEL(iq2_xs_gemv_avx2, TN_ISA_AVX2, TN_RANK_AVX2, TN_FORM_I8X32, "iq2_xs gemv i8x32 avx2", gemv);
TN_UNPACK_KERNEL(iq2_xs_unpack_avx2, TN_ISA_AVX2, TN_RANK_AVX2, TN_PANEL_P8, 16, 0, "iq2_xs unpack p8 avx2",
                 unpack);
