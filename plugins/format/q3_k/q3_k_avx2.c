/* q3_k_avx2.c - kernels of Q3_K for AVX2, and its encoder compiled for AVX2. */
#include "planes_avx2.h"
#include "q3_k_encode.h"

/* The 32-bit word two bytes into a, over two words. */
TN_INLINE __m256i across(__m256i a, __m256i b) {
    return _mm256_or_si256(_mm256_srli_epi32(a, 16), _mm256_slli_epi32(b, 16));
}

TN_INLINE void open_heads(const tn_row_group *rows, tn_plane_heads8 *heads) {
    __m256i end[4], s[3], nibble = _mm256_set1_epi8(0x0f), pair = _mm256_set1_epi8(0x30);
    __m256 before;
    tn_transpose8(rows, 94, end); /* the last 16 bytes of the block: two of codes, the sub-scales, d */
    for (uint32_t i = 0; i < 3; i++) { s[i] = across(end[i], end[i + 1]); }
    for (uint32_t q = 0; q < 4; q++) { /* as q3_k_open_subs, less 32 */
        int shift = 4 - 2 * (int)q;
        __m256i low = q < 2 ? s[q] : _mm256_srli_epi32(s[q - 2], 4);
        __m256i high = shift > 0 ? _mm256_slli_epi32(s[2], shift) : _mm256_srli_epi32(s[2], -shift);
        low = _mm256_or_si256(_mm256_and_si256(low, nibble), _mm256_and_si256(high, pair));
        heads->subs[q] = _mm256_sub_epi8(low, _mm256_set1_epi8(32));
        heads->minimums[q] = _mm256_setzero_si256();
    }
    tn_split_halves(end[3], &before, &heads->d);
}

static void gemv(const tn_gemv *call) {
    tn_planes_gemv_avx2(call, Q3_K_PLANES, open_heads);
}

static void unpack(const tn_unpack *call) {
    tn_planes_unpack_avx2(call, Q3_K_PLANES, q3_k_open_head);
}

int q3_k_encode_avx2(const float *x, const float *importance, uint8_t *block) {
    return q3_k_encode_block(x, importance, block);
}

TN_GEMV_KERNEL(q3_k_gemv_avx2, TN_ISA_AVX2, TN_RANK_AVX2, TN_FORM_I8X32, "q3_k gemv i8x32 avx2", gemv);
TN_UNPACK_KERNEL(q3_k_unpack_avx2, TN_ISA_AVX2, TN_RANK_AVX2, TN_PANEL_P16, 16, 0, "q3_k unpack p16 avx2",
                 unpack);
