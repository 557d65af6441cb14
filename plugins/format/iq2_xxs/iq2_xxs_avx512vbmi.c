/* iq2_xxs_avx512vbmi.c - kernels of IQ2_XXS for AVX-512 VNNI and VBMI. */
#include "iq2_xxs_kernels.h"
#include "iq_avx512vbmi.h"

/* For each 32 columns four indices and, above them, the word of signs and scale. */
TN_INLINE __m512i open_halves(const uint8_t *block) {
    return _mm512_loadu_si512(block + 2);
}

TN_INLINE __m128i open_subs(const uint8_t *a, const uint8_t *b) {
    __m512i top = _mm512_castsi128_si512(_mm_set_epi64x(0x7f776f675f574f47, 0x3f372f271f170f07));
    return _mm512_castsi512_si128(_mm512_permutex2var_epi8(open_halves(a), top, open_halves(b)));
}

TN_INLINE void open_two(const uint8_t *a, const uint8_t *b, __m512i *w) {
    __m512i halves_a = open_halves(a), halves_b = open_halves(b);
    __m512i low = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
    __m512i index = _mm512_permutex2var_epi32(halves_a, low, halves_b);
    __mmask64 high[1] = {_mm512_movepi8_mask(index)};
    __m512i first = tn_look_up_256(tn_iq2_xxs_levels[0], index, high);
    __m512i second = tn_look_up_256(tn_iq2_xxs_levels[1], index, high);
    __m512i signs_a = tn_iq_signs_of_codes(halves_a, 32, 7), signs_b = tn_iq_signs_of_codes(halves_b, 32, 7);
    tn_iq2_open_levels(first, second, signs_a, signs_b, w);
}

static void gemv(const tn_gemv *call) {
    tn_iq_gemv_avx512(call, 66, TN_IQ_GROUPS_32, 0.125f, open_two, tn_iq_order_fours, open_subs);
}

static void unpack(const tn_unpack *call) {
    tn_iq_unpack_avx512(call, 66, TN_IQ_GROUPS_32, 0.125f, open_two, tn_iq_restore_fours, open_subs);
}

TN_GEMV_KERNEL(iq2_xxs_gemv_avx512vbmi, TN_ISA_VBMI512, TN_RANK_VBMI512, TN_FORM_I8X32,
               "iq2_xxs gemv i8x32 avx512vbmi", gemv);
TN_UNPACK_KERNEL(iq2_xxs_unpack_avx512vbmi, TN_ISA_VBMI512, TN_RANK_VBMI512, TN_PANEL_P8, 32, 0,
                 "iq2_xxs unpack p8 avx512vbmi", unpack);
