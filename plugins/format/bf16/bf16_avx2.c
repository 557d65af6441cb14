/* bf16_avx2.c - kernels of BF16 for AVX2. */
#include "bf16_kernels.h"
#include "float_avx2.h"

static inline __m256 load(const uint8_t *at) {
    return _mm256_castsi256_ps(
        _mm256_slli_epi32(_mm256_cvtepu16_epi32(_mm_loadu_si128((const void *)at)), 16));
}

static void gemv(const tn_gemv *call) {
    tn_float_gemv_avx2(call, 2, load);
}

static void unpack(const tn_unpack *call) {
    tn_float_unpack_avx2(call, 2, load);
}

TN_GEMV_KERNEL(bf16_gemv_avx2, TN_ISA_AVX2, TN_RANK_AVX2, TN_FORM_F32, "bf16 gemv f32 avx2", gemv);
TN_UNPACK_KERNEL(bf16_unpack_avx2, TN_ISA_AVX2, TN_RANK_AVX2, TN_PANEL_F32, 1, 0, "bf16 unpack f32 avx2",
                 unpack);
