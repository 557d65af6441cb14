/* iq2_s_avx2.c - kernels of IQ2_S for AVX2. */
#include "iq2_s_kernels.h"
#include "iq_avx2.h"

TN_INLINE uint64_t open_subs(const uint8_t *block) {
    return tn_load_u64(block + 74);
}

TN_INLINE void open_half(const uint8_t *block, uint32_t half, __m256i *magnitudes, __m256i *signs) {
    tn_iq2_entries(tn_iq2_s_codebook, block, half, iq2_s_index, magnitudes);
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
