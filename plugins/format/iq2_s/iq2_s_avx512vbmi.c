/* iq2_s_avx512vbmi.c - kernels of IQ2_S for AVX-512 VNNI and VBMI. */
#include "iq2_s_kernels.h"
#include "iq_avx512vbmi.h"

TN_INLINE __m128i open_subs(const uint8_t *a, const uint8_t *b) {
    return tn_load_eights(a + 74, b + 74);
}

TN_INLINE __m512i open_signs(const uint8_t *block) {
    return _mm512_cvtepu32_epi64(_mm256_loadu_si256((const void *)(block + 34)));
}

TN_INLINE void open_two(const uint8_t *a, const uint8_t *b, __m512i *w) {
    __m512i index = tn_load_two(a + 2, b + 2);
    uint64_t pairs_a = tn_load_u64(a + 66), pairs_b = tn_load_u64(b + 66), even = 0x5555555555555555;
    __mmask64 high[3] = {_mm512_movepi8_mask(index),
                         _pext_u64(pairs_a, even) | _pext_u64(pairs_b, even) << 32,
                         _pext_u64(pairs_a, ~even) | _pext_u64(pairs_b, ~even) << 32};
    __m512i first = tn_look_up_1024(tn_iq2_s_levels[0], index, high);
    __m512i second = tn_look_up_1024(tn_iq2_s_levels[1], index, high);
    tn_iq2_open_levels(first, second, open_signs(a), open_signs(b), w);
}

static void gemv(const tn_gemv *call) {
    tn_iq_gemv_avx512(call, 82, TN_IQ_GROUPS_16, 0.125f, open_two, tn_iq_order_fours, open_subs);
}

static void unpack(const tn_unpack *call) {
    tn_iq_unpack_avx512(call, 82, TN_IQ_GROUPS_16, 0.125f, open_two, tn_iq_restore_fours, open_subs);
}

TN_GEMV_KERNEL(iq2_s_gemv_avx512vbmi, TN_ISA_VBMI512, TN_RANK_VBMI512, TN_FORM_I8X32,
               "iq2_s gemv i8x32 avx512vbmi", gemv);
TN_UNPACK_KERNEL(iq2_s_unpack_avx512vbmi, TN_ISA_VBMI512, TN_RANK_VBMI512, TN_PANEL_P8, 16, 0,
                 "iq2_s unpack p8 avx512vbmi", unpack);
