/* q2_k_avx2.c - kernels of Q2_K for AVX2, and its encoder compiled for AVX2. */
#include "planes_avx2.h"
#include "q2_k_encode.h"

TN_INLINE void open_heads(const tn_row_group *rows, tn_plane_heads8 *heads) {
    tn_split_halves(tn_words8(rows, 80), &heads->d, &heads->m);
    /* The minimum's nibble is taken where it lies, above four bits. This is exact. */
    heads->m = _mm256_mul_ps(heads->m, _mm256_set1_ps(-1.0f / 16));
    tn_transpose8(rows, 0, heads->words);
}

TN_INLINE void open_scale(__m256 d, __m256 m, __m256i word, uint32_t i, __m256 *scale, __m256 *minimum) {
    __m256i low = tn_plane_byte_low(_mm256_and_si256(word, _mm256_set1_epi8(0x0f)), i);
    __m256i high = tn_plane_byte_low(_mm256_and_si256(word, _mm256_set1_epi8((char)0xf0)), i);
    *scale = _mm256_mul_ps(d, _mm256_cvtepi32_ps(low));
    *minimum = _mm256_mul_ps(m, _mm256_cvtepi32_ps(high));
}

TN_INLINE void open_row_scales(const uint8_t *block, __m256 *scales, __m256 *minimums) {
    __m256 d = _mm256_set1_ps(_cvtsh_ss(tn_load_u16(block + 80)));
    __m256 m = _mm256_set1_ps(-_cvtsh_ss(tn_load_u16(block + 82)));
    for (uint32_t i = 0; i < 2; i++) {
        __m256i pairs = _mm256_cvtepu8_epi32(_mm_loadl_epi64((const void *)(block + 8 * i)));
        scales[i] = _mm256_mul_ps(d, _mm256_cvtepi32_ps(_mm256_and_si256(pairs, _mm256_set1_epi32(15))));
        minimums[i] = _mm256_mul_ps(m, _mm256_cvtepi32_ps(_mm256_srli_epi32(pairs, 4)));
    }
}

static void gemv(const tn_gemv *call) {
    tn_planes_gemv_avx2(call, Q2_K_PLANES, open_heads, open_scale);
}

static void unpack(const tn_unpack *call) {
    tn_planes_unpack_avx2(call, Q2_K_PLANES, open_row_scales);
}

int q2_k_encode_avx2(const float *x, const float *importance, uint8_t *block) {
    return q2_k_encode_block(x, importance, block);
}

TN_GEMV_KERNEL(q2_k_gemv_avx2, TN_ISA_AVX2, TN_RANK_AVX2, TN_FORM_I8X32, "q2_k gemv i8x32 avx2", gemv);
TN_UNPACK_KERNEL(q2_k_unpack_avx2, TN_ISA_AVX2, TN_RANK_AVX2, TN_PANEL_P8, 16, 1, "q2_k unpack p8 avx2",
                 unpack);
