/* iq2_xs_avx512vbmi.c - kernels of IQ2_XS for AVX-512 VNNI and VBMI. */
#include "iq2_xs_kernels.h"
#include "iq_avx512vbmi.h"

TN_INLINE __m128i open_subs(const uint8_t *a, const uint8_t *b) {
    return tn_load_eights(a + 66, b + 66);
}

TN_INLINE void open_two(const uint8_t *a, const uint8_t *b, __m512i *w) {
    __m512i words_a = _mm512_loadu_si512(a + 2), words_b = _mm512_loadu_si512(b + 2);
    __m512i index = _mm512_permutex2var_epi8(words_a, tn_count_bytes(2, 64), words_b);
    __mmask64 eight_a = _mm512_test_epi16_mask(words_a, _mm512_set1_epi16(0x100));
    __mmask64 eight_b = _mm512_test_epi16_mask(words_b, _mm512_set1_epi16(0x100));
    __mmask64 high[2] = {_mm512_movepi8_mask(index), eight_a | eight_b << 32};
    __m512i first = tn_look_up_512(tn_iq2_xs_levels[0], index, high);
    __m512i second = tn_look_up_512(tn_iq2_xs_levels[1], index, high);
    __m512i signs_a = tn_iq_signs_of_codes(words_a, 9, 16), signs_b = tn_iq_signs_of_codes(words_b, 9, 16);
    tn_iq2_open_levels(first, second, signs_a, signs_b, w);
}

static void gemv(const tn_gemv *call) {
    tn_iq_gemv_avx512(call, 74, TN_IQ_GROUPS_16, 0.125f, open_two, tn_iq_order_fours, open_subs);
}

static void unpack(const tn_unpack *call) {
    tn_iq_unpack_avx512(call, 74, TN_IQ_GROUPS_16, 0.125f, open_two, tn_iq_restore_fours, open_subs);
}

TN_GEMV_KERNEL(iq2_xs_gemv_avx512vbmi, TN_ISA_VBMI512, TN_RANK_VBMI512, TN_FORM_I8X32,
               "iq2_xs gemv i8x32 avx512vbmi", gemv);
TN_UNPACK_KERNEL(iq2_xs_unpack_avx512vbmi, TN_ISA_VBMI512, TN_RANK_VBMI512, TN_PANEL_P8, 16, 0,
                 "iq2_xs unpack p8 avx512vbmi", unpack);
