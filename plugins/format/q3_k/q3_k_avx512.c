/* q3_k_avx512.c - kernels of Q3_K for AVX-512 VNNI. */
#include "planes_avx512.h"
#include "q3_k_kernels.h"

/* The 32-bit word two bytes into a, over two words. */
TN_INLINE __m512i across(__m512i a, __m512i b) {
    return _mm512_or_si512(_mm512_srli_epi32(a, 16), _mm512_slli_epi32(b, 16));
}

TN_INLINE void open_heads(const tn_row_group *rows, tn_plane_heads16 *heads) {
    __m512i end[4], s[3];
    tn_transpose16(rows, 94, end); /* the last 16 bytes of the block: two of codes, the sub-scales, d */
    for (uint32_t i = 0; i < 3; i++) { s[i] = across(end[i], end[i + 1]); }
    for (uint32_t q = 0; q < 4; q++) { /* as q3_k_open_subs, but a bit higher */
        __m512i low = q < 2 ? _mm512_slli_epi32(s[q], 1) : _mm512_srli_epi32(s[q - 2], 3);
        __m512i high = q < 3 ? _mm512_slli_epi32(s[2], 5 - 2 * q) : _mm512_srli_epi32(s[2], 1);
        low = _mm512_and_si512(low, _mm512_set1_epi8(0x1e));
        heads->words[q] = _mm512_ternarylogic_epi32(low, high, _mm512_set1_epi8(0x60), 0xf8); /* a | b & c */
    }
    heads->d = tn_upper_halves(end[3]);
    heads->d_anchor = _mm512_mul_ps(heads->d, _mm512_set1_ps(64 + 32));
}

/* In the upper bits of 64's fraction an integer to 63 is added to it. All this is exact but that it knows no
 * negative zero: a sum of products is the same with either. */
TN_INLINE void open_scale(const tn_plane_heads16 *heads, __m512i word, uint32_t i, __m512 *scale,
                          __m512 *minimum) {
    (void)minimum;
    if (i < 2) { word = _mm512_slli_epi32(word, 16 - 8 * i); }
    if (i > 2) { word = _mm512_srli_epi32(word, 8); }
    word = _mm512_ternarylogic_epi32(_mm512_castps_si512(_mm512_set1_ps(64)), word,
                                     _mm512_set1_epi32(63 << 17), 0xf8);
    *scale = _mm512_fmsub_ps(heads->d, _mm512_castsi512_ps(word), heads->d_anchor);
}

TN_INLINE void open_row_scales(const uint8_t *block, __m512 *scales, __m512 *minimums) {
    uint32_t words[4];
    (void)minimums;
    q3_k_open_subs(block + 96, words);
    __m512i sub = _mm512_cvtepu8_epi32(_mm_loadu_si128((const void *)words));
    *scales = _mm512_mul_ps(_mm512_set1_ps(_cvtsh_ss(tn_load_u16(block + 108))),
                            _mm512_cvtepi32_ps(_mm512_sub_epi32(sub, _mm512_set1_epi32(32))));
}

static __attribute__((noinline)) void gemv_many(const tn_gemv *call) {
    tn_planes_gemv_many_avx512(call, Q3_K_PLANES, open_heads, open_scale);
}

static void gemv(const tn_gemv *call) {
    if (call->act_rows == 1) {
        tn_planes_gemv_one_avx512(call, Q3_K_PLANES, open_heads, open_scale);
    } else {
        gemv_many(call);
    }
}

static void unpack(const tn_unpack *call) {
    tn_planes_unpack_avx512(call, Q3_K_PLANES, open_row_scales);
}

TN_GEMV_KERNEL(q3_k_gemv_avx512, TN_ISA_VNNI512, TN_RANK_AVX512, TN_FORM_I8X32, "q3_k gemv i8x32 avx512vnni",
               gemv);
TN_UNPACK_KERNEL(q3_k_unpack_avx512, TN_ISA_VNNI512, TN_RANK_AVX512, TN_PANEL_P8, 16, 0,
                 "q3_k unpack p8 avx512vnni", unpack);
