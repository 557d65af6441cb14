/* q3_k_avx512.c - kernels of Q3_K for AVX-512 VNNI. */
#include "planes_avx512.h"
#include "q3_k_kernels.h"

/* The sub-scales of 6 bits, less 32, times 4: the upper bit, inverted, is the sign. */
TN_INLINE void open_heads(const tn_row_group *rows, tn_plane_heads16 *heads) {
    __m512i quarters[4], s[4], places = _mm512_set1_epi8(0x3c);
    for (uint32_t j = 0; j < 4; j++) { /* 12 bytes of sub-scales, d, and two of codes from before them */
        quarters[j] = tn_load_quarters(rows, j, 94);
        quarters[j] = _mm512_alignr_epi8(quarters[j], quarters[j], 2);
    }
    tn_turn16(quarters, s);
    for (uint32_t q = 0; q < 4; q++) { /* as q3_k_open_subs */
        __m512i low = q < 2 ? _mm512_slli_epi32(s[q], 2) : _mm512_srli_epi32(s[q - 2], 2);
        __m512i high = _mm512_slli_epi32(s[2], 6 - 2 * q);
        low = _mm512_ternarylogic_epi32(low, places, _mm512_set1_epi8((char)0x80), 0xea); /* a & b | c */
        heads->subs[q] =
            _mm512_ternarylogic_epi32(low, high, _mm512_set1_epi8((char)0xc0), 0x78); /* a ^ b & c */
    }
    heads->d = tn_lower_halves(s[3]);
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
