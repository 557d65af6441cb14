/* q3_k_avx512.c - kernels of Q3_K for AVX-512 VNNI. */
#include "planes_avx512.h"
#include "q3_k_kernels.h"

/* The 32-bit word two bytes into a, over two words. */
TN_INLINE __m512i across(__m512i a, __m512i b) {
    return _mm512_or_si512(_mm512_srli_epi32(a, 16), _mm512_slli_epi32(b, 16));
}

TN_INLINE void open_heads(const tn_row_group *rows, tn_plane_heads16 *heads) {
    __m512i end[4], s[3], nibble = _mm512_set1_epi8(0x0f), pair = _mm512_set1_epi8(0x30);
    tn_transpose16(rows, 94, end); /* the last 16 bytes of the block: two of codes, the sub-scales, d */
    for (uint32_t i = 0; i < 3; i++) { s[i] = across(end[i], end[i + 1]); }
    for (uint32_t q = 0; q < 4; q++) { /* as q3_k_open_subs, less 32 */
        __m512i low = q < 2 ? s[q] : _mm512_srli_epi32(s[q - 2], 4);
        __m512i high = q < 2 ? _mm512_slli_epi32(s[2], 4 - 2 * q) : _mm512_srli_epi32(s[2], 2 * q - 4);
        low = _mm512_ternarylogic_epi32(_mm512_and_si512(low, nibble), high, pair, 0xf8); /* a | b & c */
        heads->subs[q] = _mm512_sub_epi8(low, _mm512_set1_epi8(32));
        heads->minimums[q] = _mm512_setzero_si512();
    }
    heads->d = tn_upper_halves(end[3]);
}

static __attribute__((noinline)) void gemv_many(const tn_gemv *call) {
    tn_planes_gemv_many_avx512(call, Q3_K_PLANES, open_heads);
}

static void gemv(const tn_gemv *call) {
    if (call->act_rows == 1) {
        tn_planes_gemv_one_avx512(call, Q3_K_PLANES, open_heads);
    } else {
        gemv_many(call);
    }
}

static void unpack(const tn_unpack *call) {
    tn_planes_unpack_avx512(call, Q3_K_PLANES, q3_k_open_head);
}

TN_GEMV_KERNEL(q3_k_gemv_avx512, TN_ISA_VNNI512, TN_RANK_AVX512, TN_FORM_I8X32, "q3_k gemv i8x32 avx512vnni",
               gemv);
TN_UNPACK_KERNEL(q3_k_unpack_avx512, TN_ISA_VNNI512, TN_RANK_AVX512, TN_PANEL_P16, 16, 0,
                 "q3_k unpack p16 avx512vnni", unpack);
