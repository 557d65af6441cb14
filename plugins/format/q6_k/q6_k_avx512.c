/* q6_k_avx512.c - kernels of Q6_K for AVX-512 VNNI. */
#include "groups16_avx512.h"
#include "q6_k_kernels.h"

/* Columns 128 n .. + 127 of a block, as codes of 0 .. 63. The pairs of bits of both vectors are brought where
 * those of the second belong; the masks keep apart what then moves over a byte's edge. */
TN_INLINE void open_half(const uint8_t *block, uint32_t n, __m512i *w) {
    __m512i nibble = _mm512_set1_epi8(0x0f), low = _mm512_loadu_si512(block + 64 * n);
    __m512i high = _mm512_broadcast_i64x4(_mm256_loadu_si256((const void *)(block + 128 + 32 * n)));
    __asm__("" : "+v"(low)); /* not to be loaded, stored and loaded twice */
    high = _mm512_srlv_epi64(high, _mm512_setr_epi64(0, 0, 0, 0, 2, 2, 2, 2));
    high = _mm512_and_si512(high, _mm512_set1_epi8(0x33));
    w[0] = _mm512_ternarylogic_epi32(low, _mm512_slli_epi16(high, 4), nibble, 0xe4); /* c ? a : b */
    w[1] = _mm512_ternarylogic_epi32(_mm512_srli_epi16(low, 4), high, nibble, 0xe4);
}

TN_INLINE void open_subs(const tn_row_group *rows, __m512i *subs, __m512 *d) {
    *d = tn_upper_halves(tn_words16(rows, 206)); /* the last two bytes of the block */
    tn_transpose16(rows, 192, subs);
}

TN_INLINE __m512 open_scales(const uint8_t *block) {
    __m512i sub = _mm512_cvtepi8_epi32(_mm_loadu_si128((const void *)(block + 192)));
    return _mm512_mul_ps(_mm512_set1_ps(_cvtsh_ss(tn_load_u16(block + 208))), _mm512_cvtepi32_ps(sub));
}

static void gemv(const tn_gemv *call) {
    tn_groups16_gemv_avx512(call, 210, 32, open_half, open_subs);
}

static void unpack(const tn_unpack *call) {
    tn_groups16_unpack_avx512(call, 210, 32, open_half, open_scales);
}

TN_GEMV_KERNEL(q6_k_gemv_avx512, TN_ISA_VNNI512, TN_RANK_AVX512, TN_FORM_I8X32, "q6_k gemv i8x32 avx512vnni",
               gemv);
TN_UNPACK_KERNEL(q6_k_unpack_avx512, TN_ISA_VNNI512, TN_RANK_AVX512, TN_PANEL_P8, 16, 0,
                 "q6_k unpack p8 avx512vnni", unpack);
