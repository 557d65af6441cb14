/* f32_avx2.c - kernels of F32 for AVX2. */
#include "f32_kernels.h"
#include "float_avx2.h"

static inline __m256 load(const uint8_t *at) {
    return _mm256_loadu_ps((const float *)at);
}

static void gemv(const tn_gemv *call) {
    tn_float_gemv_avx2(call, 4, load);
}

static void blend(const tn_blend *call) {
    tn_blend_avx2(call, 4, load);
}

TN_GEMV_KERNEL(f32_gemv_avx2, TN_ISA_AVX2, TN_RANK_AVX2, TN_FORM_F32, "f32 gemv f32 avx2", gemv);
TN_BLEND_KERNEL(f32_blend_avx2, TN_ISA_AVX2, TN_RANK_AVX2, "f32 blend avx2", blend);
