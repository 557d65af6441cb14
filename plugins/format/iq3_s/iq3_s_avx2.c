/* iq3_s_avx2.c - kernels of IQ3_S for AVX2. */
#include "iq3_s_kernels.h"
#include "iq_avx2.h"

TN_INLINE uint64_t open_subs(const uint8_t *block) {
    uint64_t nibbles = tn_load_u32(block + 106); /* to bytes */
    nibbles = (nibbles | nibbles << 16) & 0x0000ffff0000ffff;
    nibbles = (nibbles | nibbles << 8) & 0x00ff00ff00ff00ff;
    return (nibbles | nibbles << 4) & 0x0f0f0f0f0f0f0f0f;
}

TN_INLINE void open_half(const uint8_t *block, uint32_t half, __m256i *magnitudes, __m256i *signs) {
    tn_iq3_entries(tn_iq3_s_codebook, block, half, iq3_s_index, magnitudes);
    tn_iq_open_signs(_mm_loadu_si128((const void *)(block + 74 + 16 * half)), signs);
}

static void gemv(const tn_gemv *call) {
    tn_iq_gemv_avx2(call, 110, 32, 1, open_half, open_subs);
}

static void unpack(const tn_unpack *call) {
    tn_iq_unpack_avx2(call, 110, 32, 1, open_half, open_subs);
}

TN_GEMV_KERNEL(iq3_s_gemv_avx2, TN_ISA_AVX2, TN_RANK_AVX2, TN_FORM_I8X32, "iq3_s gemv i8x32 avx2", gemv);
TN_UNPACK_KERNEL(iq3_s_unpack_avx2, TN_ISA_AVX2, TN_RANK_AVX2, TN_PANEL_P8, 32, 0, "iq3_s unpack p8 avx2",
                 unpack);
