/* q2_k_avx2.c - kernels of Q2_K for AVX2, and its encoder compiled for AVX2. */
#include "planes_avx2.h"
#include "q2_k_encode.h"

TN_INLINE void open_heads(const tn_row_group *rows, tn_plane_heads8 *heads) {
    __m256i words[4];
    tn_split_halves(tn_words8(rows, 80), &heads->d, &heads->m);
    heads->m = _mm256_mul_ps(heads->m, _mm256_set1_ps(-1.0f / 16)); /* exact: minimums lie four bits up */
    tn_transpose8(rows, 0, words);
    for (uint32_t q = 0; q < 4; q++) {
        heads->subs[q] = _mm256_and_si256(words[q], _mm256_set1_epi8(0x0f));
        heads->minimums[q] = _mm256_and_si256(words[q], _mm256_set1_epi8((char)0xf0));
    }
}

static void gemv(const tn_gemv *call) {
    tn_planes_gemv_avx2(call, Q2_K_PLANES, open_heads);
}

static void unpack(const tn_unpack *call) {
    tn_planes_unpack_avx2(call, Q2_K_PLANES, q2_k_open_head);
}

int q2_k_encode_avx2(const float *x, const float *importance, uint8_t *block) {
    return q2_k_encode_block(x, importance, block);
}

TN_GEMV_KERNEL(q2_k_gemv_avx2, TN_ISA_AVX2, TN_RANK_AVX2, TN_FORM_I8X32, "q2_k gemv i8x32 avx2", gemv);
TN_UNPACK_KERNEL(q2_k_unpack_avx2, TN_ISA_AVX2, TN_RANK_AVX2, TN_PANEL_P16, 16, 1, "q2_k unpack p16 avx2",
                 unpack);
