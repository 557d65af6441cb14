/* q6_k_avx2.c - kernels of Q6_K for AVX2. */
#include "groups16_avx2.h"
#include "q6_k_encode.h"

/* The codes, 0 .. 63, of columns c of four that share a byte of high bits and of two that share one of low. */
TN_INLINE __m256i join(__m256i low, __m256i high, uint32_t c) {
    if (c >= 2) { low = _mm256_srli_epi16(low, 4); }
    if (c != 2) { high = c < 2 ? _mm256_slli_epi16(high, (int)(4 - 2 * c)) : _mm256_srli_epi16(high, 2); }
    return _mm256_or_si256(_mm256_and_si256(low, _mm256_set1_epi8(0x0f)),
                           _mm256_and_si256(high, _mm256_set1_epi8(0x30)));
}

/* Columns 32 * eighth .. + 31 of a block. */
TN_INLINE __m256i open_eighth(const uint8_t *block, uint32_t eighth) {
    uint32_t n = eighth / 4, c = eighth % 4;
    __m256i low = _mm256_loadu_si256((const void *)(block + 64 * n + 32 * (c % 2)));
    __m256i high = _mm256_loadu_si256((const void *)(block + 128 + 32 * n));
    return join(low, high, c);
}

/* 16 columns of eight rows. Bytes of high bits are held in the first half of `held`, those of low ones in the
 * other. */
TN_INLINE void open_sixteen(const tn_row_group *rows, uint32_t n, uint32_t h, uint32_t c, __m256i *held,
                            __m256i *w) {
    if (c == 0) { tn_load_eights(rows, 128 + 32 * n + 16 * h, held); }
    if (c < 2) { tn_load_eights(rows, 64 * n + 32 * c + 16 * h, held + 4); }
    for (uint32_t k = 0; k < 4; k++) { w[k] = join(held[4 + k], held[k], c); }
}

TN_INLINE void open_subs(const tn_row_group *rows, __m256i *subs, __m256 *d) {
    __m256 before; /* d is the last of the block */
    tn_split_halves(tn_words8(rows, 206), &before, d);
    tn_transpose8(rows, 192, subs);
}

TN_INLINE void open_scales(const uint8_t *block, __m256 *scales) {
    __m256 d = _mm256_set1_ps(_cvtsh_ss(tn_load_u16(block + 208)));
    for (uint32_t i = 0; i < 2; i++) {
        __m256i sub = _mm256_cvtepi8_epi32(_mm_loadl_epi64((const void *)(block + 192 + 8 * i)));
        scales[i] = _mm256_mul_ps(d, _mm256_cvtepi32_ps(sub));
    }
}

static void gemv(const tn_gemv *call) {
    tn_groups16_gemv_avx2(call, 210, 32, open_eighth, open_sixteen, open_subs);
}

static void unpack(const tn_unpack *call) {
    tn_groups16_unpack_avx2(call, 210, 32, open_eighth, open_scales);
}

int q6_k_encode_avx2(const float *x, const float *importance, uint8_t *block) {
    return q6_k_encode_block(x, importance, block);
}

TN_GEMV_KERNEL(q6_k_gemv_avx2, TN_ISA_AVX2, TN_RANK_AVX2, TN_FORM_I8X32, "q6_k gemv i8x32 avx2", gemv);
TN_UNPACK_KERNEL(q6_k_unpack_avx2, TN_ISA_AVX2, TN_RANK_AVX2, TN_PANEL_P8, 16, 0, "q6_k unpack p8 avx2",
                 unpack);
