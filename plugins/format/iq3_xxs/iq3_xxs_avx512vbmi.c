/* iq3_xxs_avx512vbmi.c - kernels of IQ3_XXS for AVX-512 VNNI and VBMI. */
#include "iq3_xxs_kernels.h"
#include "iq_avx512vbmi.h"

/* For each 32 columns the word of signs and scale. */
TN_INLINE __m256i open_words(const uint8_t *block) {
    return _mm256_loadu_si256((const void *)(block + 66));
}

TN_INLINE __m128i open_subs(const uint8_t *a, const uint8_t *b) {
    __m256i top = _mm256_castsi128_si256(_mm_set_epi64x(0x3f3b37332f2b2723, 0x1f1b17130f0b0703));
    return _mm256_castsi256_si128(_mm256_permutex2var_epi8(open_words(a), top, open_words(b)));
}

TN_INLINE void open_one(const uint8_t *block, __m512i *w) {
    __m512i index = _mm512_loadu_si512(block + 2);
    __mmask64 high[1] = {_mm512_movepi8_mask(index)};
    __m512i first = tn_look_up_256(tn_iq3_xxs_levels[0], index, high);
    __m512i second = tn_look_up_256(tn_iq3_xxs_levels[1], index, high);
    __m512i signs = tn_iq_signs_of_codes(_mm512_cvtepu32_epi64(open_words(block)), 0, 7);
    tn_iq3_open_levels(first, second, signs, 0x3e342c241c140c04, w); /* 4, 12, 20 ... 52, 62 */
}

TN_INLINE void open_two(const uint8_t *a, const uint8_t *b, __m512i *w) {
    open_one(a, w);
    open_one(b, w + 4);
}

static void gemv(const tn_gemv *call) {
    tn_iq_gemv_avx512(call, 98, TN_IQ_GROUPS_32, 0.25f, open_two, tn_iq_order_fours, open_subs);
}

static void unpack(const tn_unpack *call) {
    tn_iq_unpack_avx512(call, 98, TN_IQ_GROUPS_32, 0.25f, open_two, tn_iq_restore_fours, open_subs);
}

TN_GEMV_KERNEL(iq3_xxs_gemv_avx512vbmi, TN_ISA_VBMI512, TN_RANK_VBMI512, TN_FORM_I8X32,
               "iq3_xxs gemv i8x32 avx512vbmi", gemv);
TN_UNPACK_KERNEL(iq3_xxs_unpack_avx512vbmi, TN_ISA_VBMI512, TN_RANK_VBMI512, TN_PANEL_P8, 32, 0,
                 "iq3_xxs unpack p8 avx512vbmi", unpack);
