/* f32_avx512.c - kernels of F32 for AVX-512. */
#include "f32_kernels.h"
#include "float_avx512.h"

static inline __m512 load(const uint8_t *at, __mmask16 mask) {
    return mask == TN_ALL16 ? _mm512_loadu_ps(at) : _mm512_maskz_loadu_ps(mask, at);
}

static void gemv(const tn_gemv *call) {
    tn_float_gemv_avx512(call, 4, load);
}

static void blend(const tn_blend *call) {
    tn_blend_avx512(call, 4, load);
}

TN_GEMV_KERNEL(f32_gemv_avx512, TN_ISA_AVX512, TN_RANK_AVX512, TN_FORM_F32, "f32 gemv f32 avx512", gemv);
TN_BLEND_KERNEL(f32_blend_avx512, TN_ISA_AVX512, TN_RANK_AVX512, "f32 blend avx512", blend);
