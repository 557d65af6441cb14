/* q2_k_avx512.c - kernels of Q2_K for AVX-512 VNNI. */
#include "planes_avx512.h"
#include "q2_k_kernels.h"

TN_INLINE void open_heads(const tn_row_group *rows, tn_plane_heads16 *heads) {
    __m512i both = tn_words16(rows, 80); /* d and dmin */
    heads->d = tn_lower_halves(both);
    heads->m = _mm512_mul_ps(tn_upper_halves(both), _mm512_set1_ps(-1.0f / 16));
    heads->d_anchor = _mm512_mul_ps(heads->d, _mm512_set1_ps(0x1p23f));
    heads->m_anchor = _mm512_mul_ps(heads->m, _mm512_set1_ps(0x1p23f));
    tn_transpose16(rows, 0, heads->words);
}

/* In the lowest bits of 2^23 an integer is a float. The minimum lies above four bits, of which m knows. All
 * this is exact but that it knows no negative zero: a sum of products is the same with either. */
TN_INLINE void open_scale(const tn_plane_heads16 *heads, __m512i word, uint32_t i, __m512 *scale,
                          __m512 *minimum) {
    __m512i anchor = _mm512_castps_si512(_mm512_set1_ps(0x1p23f));
    if (i > 0) { word = _mm512_srli_epi32(word, 8 * i); }
    __m512i low = _mm512_ternarylogic_epi32(word, _mm512_set1_epi32(0x0f), anchor, 0xea); /* a & b | c */
    __m512i high = _mm512_ternarylogic_epi32(word, _mm512_set1_epi32(0xf0), anchor, 0xea);
    *scale = _mm512_fmsub_ps(heads->d, _mm512_castsi512_ps(low), heads->d_anchor);
    *minimum = _mm512_fmsub_ps(heads->m, _mm512_castsi512_ps(high), heads->m_anchor);
}

TN_INLINE void open_row_scales(const uint8_t *block, __m512 *scales, __m512 *minimums) {
    __m512i pairs = _mm512_cvtepu8_epi32(_mm_loadu_si128((const void *)block));
    __m512 d = _mm512_set1_ps(_cvtsh_ss(tn_load_u16(block + 80)));
    __m512 m = _mm512_set1_ps(-_cvtsh_ss(tn_load_u16(block + 82)));
    *scales = _mm512_mul_ps(d, _mm512_cvtepi32_ps(_mm512_and_si512(pairs, _mm512_set1_epi32(15))));
    *minimums = _mm512_mul_ps(m, _mm512_cvtepi32_ps(_mm512_srli_epi32(pairs, 4)));
}

static __attribute__((noinline)) void gemv_many(const tn_gemv *call) {
    tn_planes_gemv_many_avx512(call, Q2_K_PLANES, open_heads, open_scale);
}

static void gemv(const tn_gemv *call) {
    if (call->act_rows == 1) {
        tn_planes_gemv_one_avx512(call, Q2_K_PLANES, open_heads, open_scale);
    } else {
        gemv_many(call);
    }
}

static void unpack(const tn_unpack *call) {
    tn_planes_unpack_avx512(call, Q2_K_PLANES, open_row_scales);
}

TN_GEMV_KERNEL(q2_k_gemv_avx512, TN_ISA_VNNI512, TN_RANK_AVX512, TN_FORM_I8X32, "q2_k gemv i8x32 avx512vnni",
               gemv);
TN_UNPACK_KERNEL(q2_k_unpack_avx512, TN_ISA_VNNI512, TN_RANK_AVX512, TN_PANEL_P8, 16, 1,
                 "q2_k unpack p8 avx512vnni", unpack);
