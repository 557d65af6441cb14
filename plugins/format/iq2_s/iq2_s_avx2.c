/* iq2_s_avx2.c - kernels of IQ2_S for AVX2. */
#include "iq2_s_kernels.h"
#include "iq_avx2.h"

TN_INLINE uint64_t open_subs(const uint8_t *block) {
    return tn_load_u64(block + 74);
}

TN_INLINE void open_half(const uint8_t *block, uint32_t half, __m256i *magnitudes, __m256i *signs) {
    __m256i low = _mm256_cvtepu8_epi16(_mm_loadu_si128((const void *)(block + 2 + 16 * half)));
    __m256i high = _mm256_set1_epi32(tn_load_i32(block + 66 + 4 * half)); /* to word e: byte e / 4 */
    high = _mm256_shuffle_epi8(
        high, _mm256_setr_epi64x((long long)0x8000800080008000, (long long)0x8001800180018001,
                                 (long long)0x8002800280028002, (long long)0x8003800380038003));
    high = _mm256_mullo_epi16(high, _mm256_set1_epi64x(0x0004001000400100)); /* shifted by 8, 6, 4, 2 */
    uint16_t index[16];
    _mm256_storeu_si256((void *)index,
                        _mm256_or_si256(low, _mm256_and_si256(high, _mm256_set1_epi16(0x300))));
    for (uint32_t k = 0; k < 4; k++) {
        magnitudes[k] =
            tn_iq2_entries(tn_iq2_s_codebook, index[k], index[k + 4], index[k + 8], index[k + 12]);
    }
    tn_iq_open_signs(_mm_loadu_si128((const void *)(block + 34 + 16 * half)), signs);
}

static void gemv(const tn_gemv *call) {
    tn_iq_gemv_avx2(call, 82, 16, 0.125f, open_half, open_subs);
}

static void unpack(const tn_unpack *call) {
    tn_iq_unpack_avx2(call, 82, 16, 0.125f, open_half, open_subs);
}

TN_GEMV_KERNEL(iq2_s_gemv_avx2, TN_ISA_AVX2, TN_RANK_AVX2, TN_FORM_I8X32, "iq2_s gemv i8x32 avx2", gemv);
TN_UNPACK_KERNEL(iq2_s_unpack_avx2, TN_ISA_AVX2, TN_RANK_AVX2, TN_PANEL_P8, 16, 0, "iq2_s unpack p8 avx2",
                 unpack);
