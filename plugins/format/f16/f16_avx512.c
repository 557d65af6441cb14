/* f16_avx512.c - kernels of F16 for AVX-512. */
#include "f16_kernels.h"
#include "float_avx512.h"

static inline __m512 load(const uint8_t *at, __mmask16 mask) {
    return _mm512_cvtph_ps(tn_load_halves(at, mask));
}

static void gemv(const tn_gemv *call) {
    tn_float_gemv_avx512(call, 2, load);
}

static void unpack(const tn_unpack *call) {
    tn_float_unpack_avx512(call, 2, load);
}

static void blend(const tn_blend *call) {
    tn_blend_avx512(call, 2, load);
}

static void store(const float *x, uint64_t cols, void *blocks) {
    for (uint64_t c = 0; c < cols; c += 16) {
        __mmask16 mask = tn_first_lanes(cols - c);
        __m256i half = _mm512_cvtps_ph(_mm512_maskz_loadu_ps(mask, x + c), _MM_FROUND_TO_NEAREST_INT);
        _mm256_mask_storeu_epi16((uint8_t *)blocks + 2 * c, mask, half);
    }
}

TN_GEMV_KERNEL(f16_gemv_avx512, TN_ISA_AVX512, TN_RANK_AVX512, TN_FORM_F32, "f16 gemv f32 avx512", gemv);
TN_UNPACK_KERNEL(f16_unpack_avx512, TN_ISA_AVX512, TN_RANK_AVX512, TN_PANEL_F32, 1, 0,
                 "f16 unpack f32 avx512", unpack);
TN_STORE_KERNEL(f16_store_avx512, TN_ISA_AVX512, TN_RANK_AVX512, "f16 store avx512", store);
TN_BLEND_KERNEL(f16_blend_avx512, TN_ISA_AVX512, TN_RANK_AVX512, "f16 blend avx512", blend);
