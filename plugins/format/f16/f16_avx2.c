/* f16_avx2.c - kernels of F16 for AVX2. */
#include "f16_kernels.h"
#include "float_avx2.h"

static inline __m256 load(const uint8_t *at) {
    return _mm256_cvtph_ps(_mm_loadu_si128((const void *)at));
}

void f16_decode_avx2(const void *blocks, uint64_t count, float *out) {
    const uint8_t *at = blocks;
    uint64_t i = 0;
    for (; i + 8 <= count; i += 8) { _mm256_storeu_ps(out + i, load(at + 2 * i)); }
    for (; i < count; i++) { out[i] = _cvtsh_ss(tn_load_u16(at + 2 * i)); }
}

static void gemv(const tn_gemv *call) {
    tn_float_gemv_avx2(call, 2, load);
}

static void unpack(const tn_unpack *call) {
    tn_float_unpack_avx2(call, 2, load);
}

static void blend(const tn_blend *call) {
    tn_blend_avx2(call, 2, load);
}

static void store(const float *x, uint64_t cols, void *blocks) {
    uint64_t c = 0;
    for (; c + 8 <= cols; c += 8) {
        __m128i half = _mm256_cvtps_ph(_mm256_loadu_ps(x + c), _MM_FROUND_TO_NEAREST_INT);
        _mm_storeu_si128((void *)((uint8_t *)blocks + 2 * c), half);
    }
    for (; c < cols; c++) {
        uint16_t half = _cvtss_sh(x[c], _MM_FROUND_TO_NEAREST_INT);
        memcpy((uint8_t *)blocks + 2 * c, &half, sizeof half);
    }
}

TN_GEMV_KERNEL(f16_gemv_avx2, TN_ISA_AVX2, TN_RANK_AVX2, TN_FORM_F32, "f16 gemv f32 avx2", gemv);
TN_UNPACK_KERNEL(f16_unpack_avx2, TN_ISA_AVX2, TN_RANK_AVX2, TN_PANEL_F32, 1, 0, "f16 unpack f32 avx2",
                 unpack);
TN_STORE_KERNEL(f16_store_avx2, TN_ISA_AVX2, TN_RANK_AVX2, "f16 store avx2", store);
TN_BLEND_KERNEL(f16_blend_avx2, TN_ISA_AVX2, TN_RANK_AVX2, "f16 blend avx2", blend);
