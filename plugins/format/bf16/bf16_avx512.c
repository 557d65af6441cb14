/* bf16_avx512.c - kernels of BF16 for AVX-512. */
#include "bf16_kernels.h"
#include "float_avx512.h"

static inline __m512 load(const uint8_t *at, __mmask16 mask) {
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(tn_load_halves(at, mask)), 16));
}

static void gemv(const tn_gemv *call) {
    tn_float_gemv_avx512(call, 2, load);
}

static void unpack(const tn_unpack *call) {
    tn_float_unpack_avx512(call, 2, load);
}

TN_GEMV_KERNEL(bf16_gemv_avx512, TN_ISA_AVX512, TN_RANK_AVX512, TN_FORM_F32, "bf16 gemv f32 avx512", gemv);
TN_UNPACK_KERNEL(bf16_unpack_avx512, TN_ISA_AVX512, TN_RANK_AVX512, TN_PANEL_F32, 1, 0,
                 "bf16 unpack f32 avx512", unpack);
